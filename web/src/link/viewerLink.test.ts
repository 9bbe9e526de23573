import {
  close,
  cutPreamble,
  decodeAll,
  encode,
  encodePreamble,
  inputStatus,
  type Frame,
  type FrameOf,
  type FrameType,
} from '@/wire'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Sendable, Socket } from './connection'
import type { Screen } from './stream'
import { ViewerLink, type LinkOptions, type LinkStatus } from './viewerLink'

/** The server's end of a socket, driven by the test. */
class FakeSocket implements Socket {
  binaryType: BinaryType = 'blob'
  onopen: ((event: Event) => void) | null = null
  onmessage: ((event: MessageEvent) => void) | null = null
  onclose: ((event: CloseEvent) => void) | null = null
  onerror: ((event: Event) => void) | null = null
  readonly sent: Frame[] = []
  closed = false
  private first = true
  private greeted = false

  constructor(
    readonly url: string,
    readonly protocol: string,
  ) {}

  send(data: ArrayBufferView<ArrayBuffer>): void {
    let bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength) as Uint8Array
    if (this.first) bytes = cutPreamble(bytes)
    this.first = false
    this.sent.push(...decodeAll(bytes))
  }

  close(): void {
    this.closed = true // and no event: as with a socket that died in sleep
  }

  open(): void {
    this.onopen?.(new Event('open'))
  }

  receive(...frames: Sendable[]): void {
    const message = encode(...frames)
    const whole = this.greeted ? message : Uint8Array.from([...encodePreamble(), ...message])
    this.greeted = true
    this.onmessage?.(new MessageEvent('message', { data: whole.buffer }))
  }

  welcome(): void {
    this.open()
    this.receive({
      type: 'viewer_welcome',
      version: '1',
      instance: 'i',
      device: 'd',
      scopes: ['read', 'input'],
    })
  }

  end(code: number): void {
    this.onclose?.(Object.assign(new Event('close'), { code }) as CloseEvent)
  }

  of<T extends FrameType>(type: T): FrameOf<T>[] {
    return this.sent.filter((frame): frame is FrameOf<T> => frame.type === type)
  }
}

let sockets: FakeSocket[]
let links: ViewerLink[]
let visibility: DocumentVisibilityState
const socket = () => sockets.at(-1) as FakeSocket

function setup(options: Partial<LinkOptions> = {}) {
  const statuses: LinkStatus[] = []
  const link = new ViewerLink({
    url: 'wss://helm.test/api/ws',
    version: 'test',
    proof: () => 'proof',
    access: () => Promise.resolve('unreachable'),
    openSocket: (url, protocol) => {
      const opened = new FakeSocket(url, protocol)
      sockets.push(opened)
      return opened
    },
    random: () => 0,
    ...options,
  })
  link.on('status', (status) => statuses.push(status))
  links.push(link)
  return { link, statuses }
}

function setVisible(visible: boolean): void {
  visibility = visible ? 'visible' : 'hidden'
  document.dispatchEvent(new Event('visibilitychange'))
}

const blank: Screen = {
  write: (_data, done) => done(true),
  resize: () => true,
  reset: () => undefined,
  repaint: (_data, _cols, _rows, done) => done(),
}

const session = (change: object = {}) => ({
  id: 's1',
  host: 'h1',
  online: true,
  state: 'running',
  status: { kind: 'working', text: '', source: 'activity' },
  ...change,
})

/** The server's side of attaching: a repaint at an offset, then live. */
function serveAttach(at = 100, prompt = ''): number {
  const attach = socket().of('attach').at(-1)
  if (!attach) throw new Error('nothing was attached')
  const { handle } = attach
  socket().receive(
    { type: 'attached', handle, mode: 'repaint', cols: 80, rows: 24, prompt },
    {
      type: 'repaint',
      handle,
      position: { offset: at, marks: 0 },
      cols: 80,
      rows: 24,
      data: new Uint8Array(),
    },
    { type: 'live', handle, position: { offset: at, marks: 0 } },
  )
  return handle
}

/** The clock of the link never goes back, so every test begins later than the one before ended. */
let epoch = Date.now()

beforeEach(() => {
  vi.useFakeTimers()
  vi.setSystemTime((epoch += 24 * 3_600_000))
  sockets = []
  links = []
  visibility = 'visible'
  vi.spyOn(document, 'visibilityState', 'get').mockImplementation(() => visibility)
  vi.spyOn(document, 'hasFocus').mockReturnValue(true)
})
afterEach(() => {
  for (const link of links) link.dispose()
  vi.useRealTimers()
})

describe('ViewerLink/opening', () => {
  it('says hello with its proof and becomes live with the welcome', () => {
    const { link, statuses } = setup()
    link.start()
    expect(socket().protocol).toBe('agent-helm.v1')
    expect(link.status).toBe('connecting')
    socket().open()
    expect(socket().sent).toEqual([{ type: 'viewer_hello', version: 'test', proof: 'proof', visible: true }])
    socket().receive({ type: 'viewer_welcome', version: '1', instance: 'i', device: 'd', scopes: [] })
    expect(statuses).toEqual(['live'])
  })

  it('gives up an attempt after 8 s, the next ones after 5 s, with growing pauses and for ever', () => {
    const { link } = setup()
    link.start()
    vi.advanceTimersByTime(7_999)
    expect(socket().closed).toBe(false)
    vi.advanceTimersByTime(1)
    expect(socket().closed).toBe(true)
    let pause = 500
    for (let attempt = 2; attempt < 12; attempt++) {
      vi.advanceTimersByTime(pause - 1)
      expect(sockets).toHaveLength(attempt - 1)
      vi.advanceTimersByTime(1)
      expect(sockets).toHaveLength(attempt)
      vi.advanceTimersByTime(5_000)
      pause = Math.min(15_000, pause * 2)
    }
    expect(link.status).toBe('offline')
  })

  it('waits for the page to be shown', () => {
    visibility = 'hidden'
    const { link } = setup()
    link.start()
    expect(sockets).toHaveLength(0)
    setVisible(true)
    expect(sockets).toHaveLength(1)
  })
})

describe('ViewerLink/resume', () => {
  it('opens a new socket when the page is shown, although the old one looks open', () => {
    const { link } = setup()
    link.start()
    socket().welcome()
    vi.advanceTimersByTime(1000)
    setVisible(false)
    vi.advanceTimersByTime(1000)
    setVisible(true)
    expect(sockets).toHaveLength(2)
    expect(sockets[0]?.closed).toBe(true)
  })

  it('hears nothing of an old socket', () => {
    const { link, statuses } = setup()
    link.start()
    socket().welcome()
    const old = socket()
    const { onmessage, onclose } = old
    vi.advanceTimersByTime(1000)
    window.dispatchEvent(new Event('online'))
    socket().welcome()
    statuses.length = 0
    expect([old.onopen, old.onmessage, old.onclose]).toEqual([null, null, null])
    onmessage?.(new MessageEvent('message', { data: new Uint8Array([1, 2, 3]).buffer }))
    onclose?.(Object.assign(new Event('close'), { code: close.unauthorized }) as CloseEvent)
    expect(statuses).toEqual([])
    expect(sockets).toHaveLength(2)
  })

  it('makes one attempt of several signs of one return', () => {
    const { link } = setup()
    link.start()
    socket().welcome()
    vi.advanceTimersByTime(1000)
    setVisible(false)
    setVisible(true)
    window.dispatchEvent(Object.assign(new Event('pageshow'), { persisted: true }))
    window.dispatchEvent(new Event('online'))
    expect(sockets).toHaveLength(2)
  })

  it('notices that the device slept', () => {
    const { link } = setup()
    link.start()
    socket().welcome()
    vi.advanceTimersByTime(4000)
    expect(sockets).toHaveLength(1)
    vi.setSystemTime(Date.now() + 60_000)
    vi.advanceTimersByTime(2000)
    expect(sockets).toHaveLength(2)
  })

  it('closes the socket after 30 s hidden, and at once when the page leaves', () => {
    const { link } = setup()
    link.start()
    socket().welcome()
    setVisible(false)
    for (const ms of [9_000, 10_000, 10_000]) {
      answerPings()
      vi.advanceTimersByTime(ms)
    }
    expect(socket().closed).toBe(false)
    vi.advanceTimersByTime(1_000)
    expect(socket().closed).toBe(true)
    vi.advanceTimersByTime(600_000)
    expect(sockets).toHaveLength(1)
    setVisible(true)
    socket().welcome()
    window.dispatchEvent(new Event('pagehide'))
    expect(socket().closed).toBe(true)
  })

  function answerPings(): void {
    for (const ping of socket().of('ping')) socket().receive({ type: 'pong', nonce: ping.nonce, sent: 0 })
  }

  it('is not live after 5 s without an answer and gives up after 10 s', () => {
    const { link } = setup()
    link.start()
    socket().welcome()
    answerPings()
    vi.advanceTimersByTime(15_000 + 4_999)
    expect(link.status).toBe('live')
    vi.advanceTimersByTime(1)
    expect(link.status).toBe('reconnecting')
    socket().receive({ type: 'pong', nonce: 1n, sent: 0 })
    expect(link.status).toBe('live')
    vi.advanceTimersByTime(10_000 + 10_000)
    expect(sockets[0]?.closed).toBe(true)
    expect(link.status).toBe('reconnecting')
    vi.advanceTimersByTime(500)
    expect(sockets).toHaveLength(2)
  })

  it('answers pings', () => {
    const { link } = setup()
    link.start()
    socket().welcome()
    socket().receive({ type: 'ping', nonce: 77n, sent: 5 })
    expect(socket().of('pong')).toMatchObject([{ nonce: 77n }])
  })
})

describe('ViewerLink/ends', () => {
  for (const [code, status] of [
    [close.version, 'update_needed'],
    [close.forbidden, 'revoked'],
    [close.unauthorized, 'signed_out'],
  ] as const) {
    it(`stops at ${code} with ${status} until it is asked again`, () => {
      const { link } = setup()
      link.start()
      socket().open()
      socket().end(code)
      expect(link.status).toBe(status)
      vi.advanceTimersByTime(60_000)
      window.dispatchEvent(new Event('online'))
      expect(sockets).toHaveLength(1)
      link.retry()
      expect(sockets).toHaveLength(2)
    })
  }

  for (const answer of ['signed_out', 'revoked'] as const) {
    it(`claims nothing before the server has said why it ended a live connection: ${answer}`, async () => {
      const { link, statuses } = setup({ access: () => Promise.resolve(answer) })
      const closed: number[] = []
      link.on('closed', (code) => closed.push(code))
      link.start()
      socket().welcome()
      socket().end(close.unauthorized)
      expect(link.status).toBe('reconnecting')
      await vi.advanceTimersByTimeAsync(0)
      expect(statuses).toEqual(['live', 'reconnecting', answer])
      expect(closed).toEqual([close.unauthorized])
      await vi.advanceTimersByTimeAsync(60_000)
      expect(sockets).toHaveLength(1)
    })
  }

  it('tries again when the server cannot say why it ended a live connection', async () => {
    const { link } = setup()
    link.start()
    socket().welcome()
    socket().end(close.unauthorized)
    await vi.advanceTimersByTimeAsync(1_000)
    expect(sockets).toHaveLength(2)
    expect(link.status).toBe('reconnecting')
  })

  for (const answer of ['signed_out', 'revoked'] as const) {
    it(`asks over HTTP why it was refused, and stops when the answer is ${answer}`, async () => {
      const { link } = setup({ access: () => Promise.resolve(answer) })
      link.start()
      socket().end(1006)
      await vi.advanceTimersByTimeAsync(0)
      expect(link.status).toBe(answer)
      await vi.advanceTimersByTimeAsync(60_000)
      expect(sockets).toHaveLength(1)
    })
  }

  it('asks for an update when the server speaks another version', () => {
    const { link } = setup()
    link.start()
    socket().open()
    socket().onmessage?.(
      new MessageEvent('message', { data: Uint8Array.of(0x41, 0x48, 0x4c, 0x4d, 2, 0).buffer }),
    )
    expect(link.status).toBe('update_needed')
  })

  it('comes back when a restarting server said so', () => {
    const { link } = setup()
    link.start()
    socket().welcome()
    socket().receive({ type: 'restarting', afterMs: 3000 })
    socket().end(close.restarting)
    vi.advanceTimersByTime(2_999)
    expect(sockets).toHaveLength(1)
    vi.advanceTimersByTime(1)
    expect(sockets).toHaveLength(2)
  })

  it('pauses longer and longer when the server throws it out', () => {
    const { link } = setup()
    link.start()
    for (const pause of [500, 1000, 2000]) {
      const before = sockets.length
      socket().welcome()
      socket().end(close.slow)
      vi.advanceTimersByTime(pause - 1)
      expect(sockets).toHaveLength(before)
      vi.advanceTimersByTime(1)
      expect(sockets).toHaveLength(before + 1)
    }
  })

  it('reconnects after garbage', () => {
    const { link } = setup()
    link.start()
    socket().welcome()
    socket().onmessage?.(new MessageEvent('message', { data: Uint8Array.of(0x11, 0xff).buffer }))
    expect(link.status).toBe('reconnecting')
    vi.advanceTimersByTime(500)
    expect(sockets).toHaveLength(2)
  })
})

describe('ViewerLink/events', () => {
  it('tells of hosts and sessions, and leaves out what it cannot read', () => {
    const { link } = setup()
    const events: unknown[] = []
    link.on('event', (event) => events.push(event))
    link.start()
    socket().welcome()
    socket().receive(
      {
        type: 'event',
        kind: 'snapshot',
        body: { hosts: [{ id: 'h1' }, 7], sessions: [session(), { id: 3 }] },
      },
      { type: 'event', kind: 'session_removed', body: { host: 'h1', id: 's1' } },
      { type: 'event', kind: 'of_the_future', body: {} },
      { type: 'event', kind: 'session', body: { id: 'no host' } },
    )
    expect(events).toMatchObject([
      { kind: 'snapshot', snapshot: { hosts: [{ id: 'h1' }], sessions: [{ id: 's1', host: 'h1' }] } },
      { kind: 'session_removed', host: 'h1', id: 's1' },
    ])
  })
})

describe('Attachment', () => {
  function attached(prompt = '') {
    const { link } = setup()
    link.start()
    socket().welcome()
    const attachment = link.attach('h1', 's1')
    attachment.display(blank)
    const handle = serveAttach(100, prompt)
    const returned: { text: string; reason: string }[] = []
    attachment.on('returned', ({ text, reason }) => returned.push({ text, reason }))
    return { link, attachment, handle, returned }
  }

  /** Loses the connection and has the next one welcomed. */
  function reconnect(): void {
    socket().end(1006)
    vi.advanceTimersByTime(500)
    socket().welcome()
  }

  it('shows the session and acknowledges what is drawn', () => {
    const { attachment, handle } = attached()
    expect(attachment.state).toMatchObject({ phase: 'live', cols: 80, rows: 24 })
    socket().receive({ type: 'output', handle, offset: 100, data: Uint8Array.of(65, 66) })
    expect(socket().of('ack')).toMatchObject([{ offset: 100 }, { handle, offset: 102 }])
    expect(socket().of('attach')[0]?.from).toBeNull()
    expect(socket().of('presence')).toMatchObject([{ handle, visible: true, focused: true }])
  })

  it('goes on from where the screen stands after a break, on a new handle', () => {
    const { attachment, handle } = attached()
    socket().receive({ type: 'output', handle, offset: 100, data: Uint8Array.of(65) })
    const old = socket()
    reconnect()
    expect(attachment.state.phase).toBe('stale')
    const [attach] = socket().of('attach')
    expect(attach).toMatchObject({ from: { offset: 101, marks: 0 }, client: old.of('attach')[0]?.client })
    expect(attach?.handle).not.toBe(handle)
    socket().receive({ type: 'live', handle, position: { offset: 1, marks: 0 } })
    expect(attachment.state.phase).toBe('stale')
  })

  it('attaches again when bytes are missing', () => {
    const { handle } = attached()
    socket().receive({ type: 'output', handle, offset: 200, data: Uint8Array.of(65) })
    expect(socket().of('detach')).toMatchObject([{ handle }])
    expect(socket().of('attach')[1]).toMatchObject({ from: { offset: 100, marks: 0 } })
  })

  it('draws nothing while hidden and asks again when shown', () => {
    const { handle } = attached()
    setVisible(false)
    expect(socket().of('presence').at(-1)).toMatchObject({ visible: false })
    socket().receive({ type: 'output', handle, offset: 100, data: Uint8Array.of(65) })
    expect(socket().of('ack')).toHaveLength(1)
    setVisible(true)
    socket().welcome()
    expect(socket().of('attach')[0]?.from).toEqual({ offset: 100, marks: 0 })
  })

  it('tells every 15 s that somebody is here', () => {
    attached()
    vi.advanceTimersByTime(14_000)
    socket().receive({ type: 'pong', nonce: 1n, sent: 0 })
    vi.advanceTimersByTime(1_000)
    expect(socket().of('presence')).toHaveLength(2)
  })

  it('sends input with its age and sends it again, the same, after a short break', () => {
    const { attachment } = attached()
    attachment.text('a')
    attachment.keys(['up', 'enter'])
    const [first, second] = socket().of('input')
    expect([first?.seq, second?.seq]).toEqual([1, 2])
    expect(new TextDecoder().decode(second?.data)).toBe('up enter')
    reconnect()
    expect(socket().of('input')).toEqual([])
    serveAttach()
    const again = socket().of('input')
    expect(again.map(({ client, seq, age }) => [client, seq, age])).toEqual([
      [first?.client, 1, 500],
      [first?.client, 2, 500],
    ])
    socket().receive({
      type: 'input_ack',
      handle: 99,
      client: again[0]?.client ?? '',
      seq: 2,
      status: inputStatus.applied,
    })
    expect(attachment.state.pending).toEqual([])
    expect(attachment.state.applied).toBe(2)
  })

  it('hands input back when the dialog changed meanwhile', () => {
    const { attachment, returned } = attached('allow-1')
    attachment.keys(['y'])
    const client = socket().of('input')[0]?.client ?? ''
    reconnect()
    serveAttach(100, 'allow-2')
    expect(socket().of('input')).toEqual([])
    expect(socket().of('retire')).toMatchObject([{ client }])
    socket().receive({ type: 'input_ack', handle: 0, client, seq: 0, status: inputStatus.retired })
    expect(returned).toEqual([{ text: '1 key (y)', reason: 'changed' }])
  })

  it('learns of the dialog from session events too', () => {
    const { attachment } = attached()
    socket().receive({
      type: 'event',
      kind: 'session',
      body: session({ prompt: { id: 'p', question: '', options: [] } }),
    })
    attachment.keys(['1'])
    reconnect()
    serveAttach(100, 'p')
    expect(socket().of('input')).toHaveLength(1)
  })

  it('sends again what was on its way when the host is back', () => {
    const { attachment } = attached()
    socket().receive({ type: 'event', kind: 'session', body: session() })
    attachment.text('x')
    attachment.text('y')
    const client = socket().of('input')[0]?.client ?? ''
    socket().receive({ type: 'input_ack', handle: 0, client, seq: 2, status: inputStatus.hostOffline })
    socket().receive({ type: 'event', kind: 'session', body: session({ online: false }) })
    expect(socket().of('input')).toHaveLength(2)
    socket().receive({ type: 'event', kind: 'session', body: session() })
    expect(socket().of('input')).toHaveLength(4)
    expect(socket().of('retire')).toEqual([])
  })

  it('follows input to its end after it was disposed, then leaves', () => {
    const { attachment, handle } = attached()
    attachment.submit('last words')
    const client = socket().of('input')[0]?.client ?? ''
    attachment.dispose()
    expect(socket().of('detach')).toEqual([])
    socket().receive({ type: 'input_ack', handle, client, seq: 1, status: inputStatus.applied })
    expect(socket().of('detach')).toMatchObject([{ handle }])
  })

  it('claims the size by typing only where nobody owns it', () => {
    const { attachment, handle } = attached()
    attachment.setMeasure(() => ({ cols: 54, rows: 30 }))
    attachment.text('a')
    attachment.text('b')
    expect(socket().of('claim_size')).toMatchObject([{ handle, cols: 54, rows: 30, reason: 1 }])
    const client = socket().of('claim_size')[0]?.client ?? ''
    socket().receive({ type: 'size_owner', handle, client, kind: 1, cols: 54, rows: 30 })
    expect(attachment.state).toMatchObject({ owner: 'viewer', mine: true })
    attachment.resized(60, 30)
    attachment.resized(61, 30)
    vi.advanceTimersByTime(250)
    expect(socket().of('claim_size').slice(1)).toMatchObject([{ cols: 61, reason: 3 }])
    socket().receive({ type: 'size_owner', handle, client: '00'.repeat(16), kind: 2, cols: 100, rows: 40 })
    expect(attachment.state).toMatchObject({ owner: 'local', mine: false })
    attachment.resized(62, 30)
    vi.advanceTimersByTime(10_000)
    attachment.text('c')
    expect(socket().of('claim_size')).toHaveLength(2)
  })

  it('gets pages, and fails those that nobody answers', async () => {
    const { attachment, handle } = attached()
    const page = attachment.page(0, 10)
    const lost = attachment.page(5, 10)
    const [first] = socket().of('page')
    socket().receive({
      type: 'page_reply',
      handle,
      request: first?.request ?? 0,
      body: { lines: [{ id: 7, runs: [{ t: 'hi' }] }], more: true },
      error: '',
    })
    await expect(page).resolves.toMatchObject({ lines: [{ id: 7, runs: [{ text: 'hi' }] }], more: true })
    socket().end(1006)
    await expect(lost).rejects.toThrow('Not connected')
    await expect(attachment.page(1, 1)).rejects.toThrow('Not connected')
  })

  it('shows how the program ended, and why there is nothing to show', () => {
    const { attachment, handle } = attached()
    socket().receive({ type: 'problem', handle, code: 'forbidden', message: 'no' })
    expect(attachment.state).toMatchObject({ phase: 'stale', problem: { code: 'forbidden', message: 'no' } })
    socket().receive({ type: 'exit', handle, offset: 100, code: 3, signal: '' })
    expect(attachment.state).toMatchObject({ phase: 'ended', exit: { code: 3, signal: '' } })
  })
})
