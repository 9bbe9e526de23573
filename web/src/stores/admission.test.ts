import { parseDevice, parsePairing } from '@/wire'
import { createPinia, setActivePinia } from 'pinia'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { nextTick } from 'vue'
import { useDraftsStore } from './drafts'
import { useIdentityStore } from './identity'
import { useLinkStore } from './link'
import { useNewcomersStore } from './newcomers'
import { usePairingsStore } from './pairings'

/** A socket that never opens: what the server says comes by HTTP, and as events by hand. */
class SilentSocket {
  binaryType = 'blob'
  onopen = null
  onmessage = null
  onclose = null
  onerror = null
  send(): void {}
  close(): void {}
}

let answers: Record<string, [status: number, body: unknown]>
let asked: string[]
const hour = 3_600_000
const me = {
  kind: 'device',
  id: 'd1',
  name: 'This phone',
  scopes: ['read', 'input', 'admin'],
  bound: false,
  expires_ms: 90 * 24 * hour,
  insecure: false,
  version: '1',
  url: 'https://helm.example',
}
const device = (id: string, age: number, more: object = {}) => ({
  id,
  name: `device ${id}`,
  address: '192.0.2.1',
  created_ms: age,
  current: false,
  ...more,
})

beforeEach(() => {
  localStorage.clear()
  asked = []
  answers = {
    '/api/me': [200, me],
    '/api/pairings': [200, { items: [] }],
    '/api/devices': [200, { items: [] }],
  }
  vi.stubGlobal('WebSocket', SilentSocket)
  vi.stubGlobal('fetch', async (request: Request) => {
    const { pathname } = new URL(request.url)
    asked.push(`${request.method} ${pathname}`)
    const [status, body] = answers[pathname] ?? [200, {}]
    return new Response(status === 204 ? null : JSON.stringify(body), {
      status,
      headers: { 'Content-Type': 'application/json' },
    })
  })
  setActivePinia(createPinia())
})
afterEach(() => localStorage.clear())

/** Lets what was asked by HTTP be answered. */
async function settled() {
  for (let turn = 0; turn < 20; turn++) await nextTick()
  await new Promise((resolve) => setTimeout(resolve))
}

async function live() {
  useLinkStore().status = 'live'
  await settled()
}

describe('who this browser is', () => {
  it('knows over a reload what it may do, and until when', async () => {
    useIdentityStore()
    await live()
    setActivePinia(createPinia())
    const identity = useIdentityStore()
    expect(identity.pairing).toMatchObject({ name: 'This phone', guest: null })
    expect(identity.may('exec')).toBe(true)
    expect(identity.endsAt).toBeGreaterThan(Date.now() + 89 * 24 * hour)
  })

  it('offers a guest nothing but its session', async () => {
    const sessions = [{ host: 'h', id: 's' }]
    answers['/api/me'] = [200, { ...me, scopes: ['read'], bound: true, sessions, expires_ms: hour }]
    const identity = useIdentityStore()
    await live()
    expect(identity.guest).toEqual({ host: 'h', id: 's' })
    expect(identity.may('read')).toBe(true)
    expect(identity.may('input')).toBe(false)
    expect(identity.may('admin')).toBe(false)
  })

  it.each([
    ['a browser that was never paired', null, 'signed_out', 'never_paired'],
    ['a sign-in that ran out', {}, 'signed_out', 'expired'],
    ['a device that was revoked', {}, 'revoked', 'revoked'],
    [
      'a guest whose time is over',
      { bound: true, sessions: [{ host: 'h', id: 's' }] },
      'signed_out',
      'guest_over',
    ],
    ['a guest who was ended', { bound: true, sessions: [{ host: 'h', id: 's' }] }, 'revoked', 'revoked'],
  ] as const)('tells %s', async (_what, was, status, why) => {
    const identity = useIdentityStore()
    if (was !== null) {
      answers['/api/me'] = [200, { ...me, ...was }]
      await live()
    }
    expect(identity.ended).toBeNull()
    useLinkStore().status = status
    expect(identity.ended).toBe(why)
  })

  it('reads nothing from storage that it did not write', () => {
    for (const stored of ['7', '{"name":1}', '{"name":"n","scopes":[1],"guest":{"host":3}}']) {
      localStorage.setItem('agent-helm.pairing', stored)
      setActivePinia(createPinia())
      expect(useIdentityStore().guest).toBeNull()
    }
  })
})

describe('drafts of a device that lost its access', () => {
  it('leave storage, stay in the page, and are stored again once it is back', () => {
    const drafts = useDraftsStore()
    drafts.set('h/s', 'half a thought')
    drafts.conceal()
    drafts.set('h/t', 'another')
    expect(JSON.stringify({ ...localStorage })).not.toMatch(/thought|another/)
    expect(drafts.text('h/s')).toBe('half a thought')
    drafts.restore()
    setActivePinia(createPinia())
    expect(useDraftsStore().text('h/s')).toBe('half a thought')
    expect(useDraftsStore().text('h/t')).toBe('another')
  })
})

describe('new devices', () => {
  it('are found when they came while this one was away, and only those that came after it', async () => {
    answers['/api/devices'] = [
      200,
      {
        items: [
          device('d1', 10 * hour, { current: true }),
          device('older', 20 * hour),
          device('newer', hour),
          device('guest', 1000, { sessions: [{ host: 'h', id: 's' }] }),
        ],
      },
    ]
    const newcomers = useNewcomersStore()
    await live()
    expect(newcomers.waiting.map(({ id, guest }) => [id, guest])).toEqual([
      ['newer', false],
      ['guest', true],
    ])
  })

  it('wait over a reload until they were looked at, and are gone with their access', async () => {
    const mine = device('d1', 10 * hour, { current: true })
    answers['/api/devices'] = [200, { items: [mine, device('a', 1000), device('b', 1000)] }]
    useNewcomersStore()
    await live()
    setActivePinia(createPinia())
    const newcomers = useNewcomersStore()
    expect(newcomers.waiting.map(({ id }) => id)).toEqual(['a', 'b'])
    newcomers.accept('a')
    await newcomers.look()
    expect(newcomers.waiting.map(({ id }) => id)).toEqual(['b'])
    answers['/api/devices'] = [200, { items: [mine] }]
    await newcomers.look()
    expect(newcomers.waiting).toEqual([])
  })

  it('stay when they could not be revoked, and go when somebody else was faster', async () => {
    answers['/api/devices'] = [
      200,
      { items: [device('d1', hour, { current: true }), device('a', 1000), device('b', 1000)] },
    ]
    const newcomers = useNewcomersStore()
    await live()
    answers['/api/devices/a'] = [403, { code: 'forbidden', detail: 'no' }]
    await expect(newcomers.revoke('a')).rejects.toThrow('no')
    expect(newcomers.waiting).toHaveLength(2)
    answers['/api/devices/b'] = [404, { code: 'unknown_device', detail: 'gone' }]
    await newcomers.revoke('b')
    expect(newcomers.waiting.map(({ id }) => id)).toEqual(['a'])
  })

  it('are not asked for by who may not revoke them', async () => {
    answers['/api/me'] = [200, { ...me, scopes: ['read'] }]
    useIdentityStore()
    await live()
    useLinkStore().status = 'reconnecting'
    asked.length = 0
    useNewcomersStore()
    usePairingsStore()
    await live()
    expect(asked).not.toContain('GET /api/devices')
    expect(asked).not.toContain('GET /api/pairings')
  })
})

describe('requests of hosts', () => {
  const request = { id: 'K7QP', host: 'h', host_name: 'nas', address: '', scopes: ['read'], expires_ms: 1000 }

  it('are decided once; one that is gone is dropped, and its sentence is told', async () => {
    answers['/api/pairings'] = [
      200,
      { items: [request, { ...request, id: '2XYZ' }, { ...request, id: 'WAIT' }] },
    ]
    const pairings = usePairingsStore()
    await live()
    answers['/api/pairings/K7QP/confirm'] = [204, null]
    await pairings.confirm('K7QP')
    answers['/api/pairings/2XYZ/deny'] = [404, { code: 'unknown_pairing', detail: 'decided already' }]
    await expect(pairings.deny('2XYZ')).rejects.toThrow('decided already')
    answers['/api/pairings/WAIT/deny'] = [500, { code: 'internal', detail: 'try again' }]
    await expect(pairings.deny('WAIT')).rejects.toThrow('try again')
    expect(pairings.waiting.map(({ id }) => id)).toEqual(['WAIT'])
  })
})

describe('what comes over the socket', () => {
  it('is read field by field', () => {
    expect(parseDevice({ ...device('d', 5), sessions: [{}], scopes: ['read'] })).toEqual({
      id: 'd',
      name: 'device d',
      address: '192.0.2.1',
      created_ms: 5,
      guest: true,
    })
    expect(() => parseDevice({ name: 'n' })).toThrow()
    expect(parsePairing({ id: 'K7QP', scopes: ['read', 7] })).toMatchObject({
      host_name: '',
      scopes: ['read'],
    })
  })
})
