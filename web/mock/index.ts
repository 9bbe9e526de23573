import { MockAccess } from './access'
import { scenes } from './scenes'
import { MockServer, MockSocket } from './server'

/**
 * Puts a server into the page, for work on screens and for their tests (`npm run dev:mock`). Only main.ts imports it,
 * and only in mode `mock`, so nothing of it is in a real build. `?scene=` chooses what it tells.
 */
export function installMock(): void {
  const wanted =
    new URLSearchParams(location.search).get('scene') ?? sessionStorage.getItem('mock.scene') ?? 'full'
  sessionStorage.setItem('mock.scene', wanted)
  const server = new MockServer(structuredClone(scenes[wanted] ?? scenes['full']!))
  const access = new MockAccess(server)
  MockSocket.server = server

  const realFetch = globalThis.fetch.bind(globalThis)
  globalThis.fetch = (input, init) => {
    const asked = new Request(input instanceof URL ? input.href : input, init)
    const url = new URL(asked.url)
    if (!url.pathname.startsWith('/api/')) return realFetch(input, init)
    const path = url.pathname.slice(4)
    return access.answers(path, asked) ? access.fetch(path, asked) : server.fetch(path + url.search, asked)
  }
  ;(globalThis as { WebSocket: unknown }).WebSocket = MockSocket
  Object.assign(window, { mock: server })
}
