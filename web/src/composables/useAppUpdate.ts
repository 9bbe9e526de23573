import { onScopeDispose, readonly, ref, type Ref } from 'vue'
import { trustedWorkerUrl } from '@/trustedTypes'
import { builtFrom, installAnew, servedFrom } from '@/version'

/** How often a running app looks for a newer one, in ms. */
const checkEvery = 3_600_000
/** The new worker takes over within this many ms, else the page reloads anyway. */
const takeOverWithin = 2000
/** In the session's storage while an accepted update is under way. */
const updating = 'agent-helm.updating'

export interface AppUpdate {
  /** A newer app is downloaded and waits. */
  ready: Readonly<Ref<boolean>>
  /** False where there is no service worker: plain HTTP, private windows. */
  isSupported: boolean
  check(): Promise<void>
  /** Starts the newer app. It reloads the page: call it only from a person's own tap. */
  accept(): void
}

/**
 * Registers the service worker and watches for a newer one: on load, when the app becomes visible, and hourly.
 * It never reloads by itself.
 */
export function useAppUpdate(reload: () => void = () => location.reload()): AppUpdate {
  const ready = ref(false)
  const isSupported = 'serviceWorker' in navigator
  let registration: ServiceWorkerRegistration | undefined

  function watchWaiting(found: ServiceWorkerRegistration) {
    // Without a controller this is the first install, not an update.
    if (found.waiting && navigator.serviceWorker.controller) ready.value = true
    found.installing?.addEventListener('statechange', () => {
      if (found.waiting && navigator.serviceWorker.controller) ready.value = true
    })
  }

  async function register() {
    try {
      const registered = await navigator.serviceWorker.register(trustedWorkerUrl())
      watchWaiting(registered)
      registered.addEventListener('updatefound', () => watchWaiting(registered))
      registration = registered
    } catch {
      // Blocked by the browser or its settings: the app works without it.
    }
  }

  async function check() {
    try {
      await registration?.update()
    } catch {
      // Offline; the next check comes.
    }
  }

  /** Some browsers keep serving the old app from an old worker after the reload; once, everything is taken anew. */
  async function checkUpdated() {
    if (sessionStorage.getItem(updating) === null) return
    sessionStorage.removeItem(updating)
    const served = await servedFrom()
    if (served !== null && served !== builtFrom) await installAnew()
  }

  function accept() {
    sessionStorage.setItem(updating, builtFrom)
    let done = false
    const once = () => {
      if (done) return
      done = true
      reload()
    }
    navigator.serviceWorker.addEventListener('controllerchange', once)
    registration?.waiting?.postMessage({ type: 'SKIP_WAITING' })
    setTimeout(once, takeOverWithin)
  }

  if (isSupported && import.meta.env.PROD) {
    void checkUpdated()
    void register()
    const onVisible = () => {
      if (!document.hidden) void check()
    }
    document.addEventListener('visibilitychange', onVisible)
    const timer = setInterval(() => void check(), checkEvery)
    onScopeDispose(() => {
      document.removeEventListener('visibilitychange', onVisible)
      clearInterval(timer)
    })
  }
  return { ready: readonly(ready), isSupported, check, accept }
}
