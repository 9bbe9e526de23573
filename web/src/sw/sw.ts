/**
 * The service worker: keeps the app's own files so that it opens without a network. It never touches /api:
 * what the server says is live or absent, never a cached copy. An update waits until the app says so
 * (composables/useAppUpdate.ts).
 */
import { cleanupOutdatedCaches, matchPrecache, precacheAndRoute } from 'workbox-precaching'

declare const self: ServiceWorkerGlobalScope & { __WB_MANIFEST: { url: string; revision: string | null }[] }

cleanupOutdatedCaches()
precacheAndRoute(self.__WB_MANIFEST)

/** Paths the worker leaves to the network, whole. */
const networkOnly = /^\/(api(\/|$)|check$|version\.json$|sw\.js$)/

self.addEventListener('fetch', (event) => {
  const url = new URL(event.request.url)
  if (
    event.request.mode !== 'navigate' ||
    url.origin !== self.location.origin ||
    networkOnly.test(url.pathname)
  )
    return
  // Every screen is the same page: the cached shell answers first, the network only if it is missing.
  event.respondWith(matchPrecache('/index.html').then((shell) => shell ?? fetch(event.request)))
})

self.addEventListener('message', (event) => {
  if ((event.data as { type?: unknown } | null)?.type === 'SKIP_WAITING') void self.skipWaiting()
})

self.addEventListener('activate', (event) => {
  event.waitUntil(self.clients.claim())
})
