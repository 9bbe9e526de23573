/**
 * Which build this is and which one the server has. version.json always comes from the network, past the service
 * worker, so it tells a stale app from a fresh one.
 */
export const builtFrom = __COMMIT__

/** The commit of the app that the server has now; null when it cannot be asked. */
export async function servedFrom(): Promise<string | null> {
  try {
    const response = await fetch('/version.json', { cache: 'no-store' })
    const body = (await response.json()) as { commit?: unknown }
    return typeof body.commit === 'string' ? body.commit : null
  } catch {
    return null
  }
}

/** Takes the app from the server anew: without workers and caches, but with everything that was written in it. */
export async function installAnew(): Promise<void> {
  const workers = (await navigator.serviceWorker?.getRegistrations()) ?? []
  await Promise.all(workers.map((worker) => worker.unregister()))
  const names = 'caches' in window ? await caches.keys() : []
  await Promise.all(names.map((name) => caches.delete(name)))
  location.reload()
}
