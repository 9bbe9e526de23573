/** A database that another tab holds open is deleted when that closes it; nobody waits for that longer, in ms. */
const patience = 3000

function deleteDatabase(name: string): Promise<void> {
  return new Promise((resolve) => {
    const request = indexedDB.deleteDatabase(name)
    request.onsuccess = request.onerror = request.onblocked = () => resolve()
    setTimeout(resolve, patience)
  })
}

async function databases(): Promise<void> {
  if (!('indexedDB' in window) || !('databases' in indexedDB)) return
  const found = await indexedDB.databases()
  await Promise.all(found.map(({ name }) => name && deleteDatabase(name)))
}

async function workers(): Promise<void> {
  const found = (await navigator.serviceWorker?.getRegistrations()) ?? []
  await Promise.all(found.map((worker) => worker.unregister()))
}

async function cached(): Promise<void> {
  if (!('caches' in window)) return
  await Promise.all((await caches.keys()).map((name) => caches.delete(name)))
}

function storage(area: 'localStorage' | 'sessionStorage', keep: string): void {
  try {
    const kept = window[area].getItem(keep)
    window[area].clear()
    if (kept !== null) window[area].setItem(keep, kept)
  } catch {
    // A browser that forbids storage has none to clear.
  }
}

/**
 * Removes everything this app ever put into the browser: storage, databases, caches, the service worker. `keep` is the
 * one name in storage that stays. What cannot be removed does not keep the rest.
 */
export async function wipeBrowser(keep: string): Promise<void> {
  storage('localStorage', keep)
  storage('sessionStorage', keep)
  await Promise.allSettled([workers().then(cached), databases()])
}
