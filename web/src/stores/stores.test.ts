import {
  now,
  type Attachment,
  type KeptBatch,
  type LinkEvent,
  type PendingInput,
  type ReturnedInput,
} from '@/link'
import { inputKind, parseSession, type Session } from '@/wire'
import { createPinia, setActivePinia } from 'pinia'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { useDraftsStore } from './drafts'
import { useLinkStore } from './link'
import { usePrefsStore } from './prefs'
import { groupOf, useSessionsStore } from './sessions'

/** A socket that never opens: these tests are about the stores. */
class SilentSocket {
  binaryType = 'blob'
  onopen = null
  onmessage = null
  onclose = null
  onerror = null
  send(): void {}
  close(): void {}
}

beforeEach(() => {
  localStorage.clear()
  vi.stubGlobal('WebSocket', SilentSocket)
  setActivePinia(createPinia())
})
afterEach(() => localStorage.clear())

const input = (id: number, text: string, kind: PendingInput['kind'] = inputKind.bytes): PendingInput => ({
  id,
  kind,
  data: new TextEncoder().encode(text),
  typedAt: id,
  prompt: '',
  state: 'waiting',
})
const back = (reason: ReturnedInput['reason'], ...inputs: PendingInput[]): ReturnedInput => ({
  inputs,
  text: 'not used',
  reason,
})

describe('drafts', () => {
  it('survives a reload with every letter', () => {
    useDraftsStore().set('h/s', 'hel')
    useDraftsStore().set('h/s', 'hello')
    setActivePinia(createPinia())
    expect(useDraftsStore().text('h/s')).toBe('hello')
    useDraftsStore().set('h/s', '')
    setActivePinia(createPinia())
    expect(useDraftsStore().text('h/s')).toBe('')
    expect(localStorage.length).toBe(0)
  })

  it('reads pieces that come back one by one as one text, in the order of typing', () => {
    const drafts = useDraftsStore()
    drafts.giveBack('h/s', back('offline', input(2, 's')))
    drafts.giveBack('h/s', back('offline', input(3, 'up enter', inputKind.keys)))
    drafts.giveBack('h/s', back('late', input(1, 'l')))
    expect(drafts.returned('h/s')).toBe('ls 2 keys (↑ ⏎)')
    expect(drafts.why('h/s')).toMatch(/too late/)
  })

  it('puts what came back in front of what was written since, and forgets it', () => {
    const drafts = useDraftsStore()
    drafts.set('h/s', 'new')
    drafts.giveBack('h/s', back('host_offline', input(1, 'old', inputKind.submit)))
    setActivePinia(createPinia())
    const again = useDraftsStore()
    expect(again.returned('h/s')).toBe('old')
    again.giveBack('h/s', back('blocked', input(1, 'later')))
    expect(again.returned('h/s')).toBe('old\nlater')
    again.takeReturned('h/s')
    expect(again.text('h/s')).toBe('old\nlater\nnew')
    expect(again.returned('h/s')).toBeNull()
    expect(again.anyText()).toBe(true)
  })

  describe('what was on its way when the page ended', () => {
    const kept = (text: string, lost = false): KeptBatch => ({
      client: '0123456789abcdef0123456789abcdef',
      reason: null,
      inputs: [
        {
          seq: 3,
          kind: inputKind.submit,
          data: new TextEncoder().encode(text),
          typedAt: now(),
          prompt: 'p',
          lost,
        },
      ],
    })
    function fakeAttachment(...batches: KeptBatch[]) {
      const adopted: KeptBatch[] = []
      const listeners = new Map<string, (payload: unknown) => void>()
      const attachment = {
        kept: batches,
        on: (name: string, listener: () => void) => listeners.set(name, listener),
        adopt(left: KeptBatch[]) {
          adopted.push(...left)
          batches.push(...left)
        },
      }
      const state = (...pending: { state: string }[]) => listeners.get('state')?.({ pending })
      return { attachment: attachment as unknown as Attachment, adopted, batches, listeners, state }
    }
    function nextPage() {
      setActivePinia(createPinia())
      return useDraftsStore()
    }

    it('is asked for by the next page, on the session it was for', () => {
      useDraftsStore().follow('h/s', fakeAttachment(kept('rm -r build')).attachment)
      window.dispatchEvent(new Event('pagehide'))
      const drafts = nextPage()
      const other = fakeAttachment()
      drafts.follow('h/other', other.attachment)
      expect(other.adopted).toEqual([])
      const same = fakeAttachment()
      drafts.follow('h/s', same.attachment)
      const [batch] = same.adopted
      const { typedAt, ...input } = kept('rm -r build').inputs[0]!
      expect(batch).toMatchObject({ client: kept('').client, inputs: [input] })
      expect(Math.abs((batch?.inputs[0]?.typedAt ?? 0) - typedAt)).toBeLessThan(60_000)
      expect(drafts.returned('h/s')).toBeNull()
    })

    it('waits through pages on which its session is not opened, and through one that ends while asking', () => {
      useDraftsStore().follow('h/s', fakeAttachment(kept('text')).attachment)
      window.dispatchEvent(new Event('pagehide'))
      nextPage()
      window.dispatchEvent(new Event('pagehide'))
      const third = fakeAttachment()
      nextPage().follow('h/s', third.attachment)
      third.state({ state: 'unconfirmed' })
      const fourth = fakeAttachment()
      nextPage().follow('h/s', fourth.attachment)
      expect(fourth.adopted).toHaveLength(1)
      fourth.batches.length = 0
      fourth.state()
      expect(localStorage.length).toBe(0)
    })

    it('comes back as text when it is too much', () => {
      useDraftsStore().follow('h/s', fakeAttachment(kept('x'.repeat(300_000))).attachment)
      window.dispatchEvent(new Event('pagehide'))
      const drafts = nextPage()
      expect(drafts.returned('h/s')).toHaveLength(300_000)
      expect(drafts.why('h/s')).toMatch(/not known/)
    })

    it('is not believed when it is anything else', () => {
      const bad = [{ client: 'x', reason: null, inputs: [] }]
      localStorage.setItem('agent-helm.on-the-way.7', JSON.stringify({ 'h/s': bad, 'h/t': 7 }))
      const next = fakeAttachment()
      nextPage().follow('h/s', next.attachment)
      expect([next.adopted, localStorage.length]).toEqual([[], 0])
    })
  })

  it('keeps no more than a hundred, and drops what it cannot read', () => {
    vi.useFakeTimers()
    for (let i = 0; i < 120; i++) {
      vi.advanceTimersByTime(10)
      useDraftsStore().set(`h/${i}`, 'x')
    }
    vi.useRealTimers()
    localStorage.setItem('agent-helm.draft.h/bad', '{"text":7}')
    setActivePinia(createPinia())
    const drafts = useDraftsStore()
    expect(drafts.text('h/19')).toBe('')
    expect(drafts.text('h/20')).toBe('x')
    expect(localStorage.getItem('agent-helm.draft.h/bad')).toBeNull()
  })
})

describe('prefs', () => {
  it('survives a reload and believes nothing of another type', () => {
    const prefs = usePrefsStore()
    prefs.theme = 'light'
    prefs.setFontSize(99)
    prefs.setDirect('h/s', true)
    setActivePinia(createPinia())
    const again = usePrefsStore()
    expect([again.theme, again.fontSize, again.isDirect('h/s')]).toEqual(['light', 24, true])
    localStorage.setItem('agent-helm.prefs', '{"theme":"pink","fontSize":"big","renderer":"x","extra":1}')
    setActivePinia(createPinia())
    expect(usePrefsStore().theme).toBe('system')
    expect(usePrefsStore().renderer).toBe('dom')
    expect(usePrefsStore().fontSize).toBeLessThan(20)
  })
})

const session = (id: string, change: Partial<Record<keyof Session, unknown>> = {}): Session =>
  parseSession({ id, host: 'h', online: true, status: { kind: 'idle' }, ...change })

describe('sessions', () => {
  /** A sessions store whose link says what the test wants. */
  function setup() {
    const link = useLinkStore()
    let tell: (event: LinkEvent) => void = () => undefined
    vi.spyOn(link, 'onEvent').mockImplementation((listener) => {
      tell = listener
      return () => undefined
    })
    return { store: useSessionsStore(), tell: (event: LinkEvent) => tell(event) }
  }

  it('sorts by who needs the person, then by what moved last', () => {
    const { store, tell } = setup()
    const sessions = [
      session('ended', { state: 'exited' }),
      session('away', { online: false, status: { kind: 'needs_you' } }),
      session('idle'),
      session('turn', { status: { kind: 'done' } }),
      session('old', { status: { kind: 'working' }, active_ms: 60_000 }),
      session('fresh', { status: { kind: 'working' }, active_ms: 10 }),
      session('ask', { status: { kind: 'needs_you' } }),
    ]
    tell({ kind: 'snapshot', snapshot: { hosts: [], sessions } })
    expect(store.sessions.map(({ id }) => id)).toEqual([
      'ask',
      'fresh',
      'old',
      'turn',
      'idle',
      'away',
      'ended',
    ])
    expect(store.groups.your_turn.map(({ id }) => id)).toEqual(['turn'])
    expect(store.loaded).toBe(true)
  })

  it('groups by what is known, not by what a host that is away said last', () => {
    expect(groupOf(session('s', { online: false, status: { kind: 'working' } }))).toBe('offline')
    expect(groupOf(session('s', { state: 'lost', online: false }))).toBe('ended')
    expect(groupOf(session('s', { status: { kind: 'failed' } }))).toBe('your_turn')
  })

  it('applies changes, twice without harm', () => {
    const { store, tell } = setup()
    tell({ kind: 'session', session: session('a') })
    tell({ kind: 'session', session: session('a', { name: 'new' }) })
    tell({ kind: 'session', session: session('b') })
    tell({ kind: 'session_removed', host: 'h', id: 'b' })
    tell({ kind: 'session_removed', host: 'h', id: 'b' })
    expect(store.sessions.map(({ id, name }) => [id, name])).toEqual([['a', 'new']])
    expect(store.byKey('h', 'a')?.name).toBe('new')
  })

  it('shows the last list, with its age, before the server is there', () => {
    vi.useFakeTimers()
    const first = setup()
    first.tell({ kind: 'snapshot', snapshot: { hosts: [], sessions: [session('a', { active_ms: 1000 })] } })
    vi.advanceTimersByTime(2_000)
    const savedAt = Date.now()
    vi.advanceTimersByTime(60_000)
    setActivePinia(createPinia())
    const { store, tell } = setup()
    expect(store.loaded).toBe(false)
    expect(store.snapshotAt).toBe(savedAt)
    expect(store.byKey('h', 'a')?.active_ms).toBe(61_000)
    tell({ kind: 'snapshot', snapshot: { hosts: [], sessions: [] } })
    expect([store.snapshotAt, store.sessions.length]).toEqual([null, 0])
    store.clear()
    vi.useRealTimers()
    expect(localStorage.getItem('agent-helm.sessions')).toBeNull()
  })

  it('never lets Stop forget a session that ended meanwhile', async () => {
    const asked = vi.fn(() => Promise.resolve(new Response('{}')))
    vi.stubGlobal('fetch', asked)
    const { store, tell } = setup()
    tell({ kind: 'session', session: session('a', { state: 'exited' }) })
    await store.stop('h', 'a', 'kill')
    expect(asked).not.toHaveBeenCalled()
  })
})
