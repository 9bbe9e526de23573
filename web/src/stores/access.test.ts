import { createPinia, setActivePinia } from 'pinia'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { redeemCode, storedDebt } from '@/api'
import { useAccessStore } from './access'
import { useDraftsStore } from './drafts'
import { useIdentityStore } from './identity'
import { useLinkStore } from './link'

class SilentSocket {
  static opened = 0
  binaryType = 'blob'
  onopen = null
  onmessage = null
  onclose = null
  onerror = null
  constructor() {
    SilentSocket.opened++
  }
  send(): void {}
  close(): void {}
}

/** What the server answers by path, and the paths it was asked for. */
let answers: Record<string, () => Response>
let paths: string[]
const status =
  (code: number, problem = '') =>
  () =>
    new Response(code === 204 ? null : JSON.stringify({ code: problem }), { status: code })
const unreachable = () => {
  throw new TypeError('no network')
}

beforeEach(() => {
  localStorage.clear()
  SilentSocket.opened = 0
  answers = {}
  paths = []
  vi.stubGlobal('WebSocket', SilentSocket)
  vi.stubGlobal('fetch', async (request: Request) => {
    const path = new URL(request.url).pathname.slice('/api'.length)
    paths.push(path)
    return (answers[path] ?? unreachable)()
  })
  setActivePinia(createPinia())
})
afterEach(() => localStorage.clear())

describe('signing out', () => {
  it('leaves nothing in storage or in the page once the server knows', async () => {
    answers['/signout'] = status(204)
    useDraftsStore().set('h/s', 'half a thought')
    localStorage.setItem('agent-helm.proof', 'secret')
    expect(useDraftsStore().unsent()).toEqual(['h/s'])
    expect(await useAccessStore().signOutAndWipe()).toBe('told')
    expect(localStorage.length).toBe(0)
    expect(useDraftsStore().text('h/s')).toBe('')
    expect(useIdentityStore().ended).toBe('signed_out')
  })

  it('owes the server what it could not be told, and lets the cookie be used for nothing else', async () => {
    useDraftsStore().set('h/s', 'half a thought')
    expect(await useAccessStore().signOutAndWipe()).toBe('owed')
    expect(Object.keys(localStorage)).toEqual([storedDebt])
    expect(useIdentityStore().ended).toBe('left_untold')

    // The next start tries to tell it, and does not connect.
    setActivePinia(createPinia())
    useLinkStore().start()
    expect(useLinkStore().status).toBe('signed_out')
    await vi.waitFor(() => expect(paths).toEqual(['/signout', '/signout']))
    expect(SilentSocket.opened).toBe(0)

    answers['/signout'] = status(204)
    window.dispatchEvent(new Event('online'))
    await vi.waitFor(() => expect(useIdentityStore().ended).toBe('signed_out'))
    expect(localStorage.length).toBe(0)
  })

  it('takes a refusal for an answer: there is nothing left to end', async () => {
    answers['/signout'] = status(401, 'revoked')
    expect(await useAccessStore().signOutAndWipe()).toBe('told')
    expect(localStorage.length).toBe(0)
  })

  it('says that the server still lists what can prove itself no more', async () => {
    localStorage.setItem(storedDebt, '1')
    answers['/signout'] = status(403, 'proof_required')
    useLinkStore().start()
    expect(useIdentityStore().ended).toBe('left_untold')
    await vi.waitFor(() => expect(useIdentityStore().ended).toBe('left_listed'))
    expect(localStorage.length).toBe(0)
  })

  it('is told before a new pairing, never instead of it', async () => {
    localStorage.setItem(storedDebt, '1')
    answers['/signout'] = status(204)
    answers['/pair'] = () => Response.json({ proof: 'p' })
    await redeemCode('AB3X9K', 'phone')
    expect(paths).toEqual(['/signout', '/pair'])
    expect(localStorage.getItem(storedDebt)).toBeNull()
  })

  it('is never done with the cookie of a new pairing', async () => {
    localStorage.setItem(storedDebt, '1')
    answers['/signout'] = status(503)
    answers['/pair'] = () => Response.json({ proof: 'p' })
    await redeemCode('AB3X9K', 'phone')
    useLinkStore().start()
    expect(useLinkStore().status).toBe('connecting')
    expect(paths).toEqual(['/signout', '/pair'])
  })

  it('follows another tab that signed out without the server', async () => {
    const link = useLinkStore()
    useDraftsStore().set('h/s', 'half a thought')
    link.start()
    localStorage.setItem(storedDebt, '1')
    window.dispatchEvent(new StorageEvent('storage', { key: storedDebt, newValue: '1' }))
    expect(link.status).toBe('signed_out')
    expect(useDraftsStore().unsent()).toEqual([])
  })
})

describe('the lists', () => {
  const device = { id: 'd2', name: 'Laptop', scopes: ['read'], address: '', insecure: false, current: false }
  const ages = { created_ms: 1000, last_seen_ms: 500, expires_ms: 2000 }

  it('turn ages into moments, and tell guests from devices', async () => {
    answers['/devices'] = () =>
      Response.json({
        items: [
          { ...device, ...ages },
          { ...device, ...ages, id: 'g', sessions: [{ host: 'h', id: 's' }] },
          { ...device, ...ages, id: 'd1', current: true },
        ],
        next: null,
      })
    answers['/tokens'] = () =>
      Response.json({
        items: [
          {
            id: 't',
            name: 'ci',
            scopes: [],
            created_by: '',
            created_ms: 0,
            last_used_ms: -1,
            expires_ms: -1,
          },
        ],
        next: null,
      })
    const store = useAccessStore()
    await store.load()
    expect(store.own?.id).toBe('d1')
    expect(store.others.map(({ id }) => id)).toEqual(['d2'])
    expect(store.guests.map(({ id }) => id)).toEqual(['g'])
    expect(store.own!.seenAt - store.own!.createdAt).toBe(500)
    expect(store.tokens).toMatchObject([{ usedAt: null, endsAt: null }])
  })

  it('stay when a later answer does not come, with the reason', async () => {
    answers['/devices'] = answers['/tokens'] = () => Response.json({ items: [], next: null })
    const store = useAccessStore()
    await store.load()
    answers = {}
    await store.load()
    expect(store.devices).toEqual([])
    expect(store.failure).toBe('The server could not be reached.')
  })
})
