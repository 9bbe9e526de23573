import {
  cutPreamble,
  decodeAll,
  encode,
  encodePreamble,
  inputKind,
  ownerKind,
  sessionKey,
  type Frame,
  type FrameOf,
  type Session,
} from '@/wire'
import type { Scene } from './scenes'
import { screenOf } from './screens'

type Answer = Parameters<typeof encode>[number]

/** Lines of every session's history. */
const mockLines = 3000

/** An input as the mock's program got it. */
export interface TypedInput {
  session: string
  kind: keyof typeof inputKind
  text: string
}

const decoder = new TextDecoder()
const encoder = new TextEncoder()

/**
 * The server's side of the viewer dialect, in the page: it speaks the real protocol to the real link, so that
 * everything above the socket is what ships. Tests steer it through `window.mock`.
 */
export class MockServer {
  readonly typed: TypedInput[] = []
  readonly requests: { method: string; path: string; body: unknown }[] = []
  readonly resizes: { session: string; cols: number; rows: number }[] = []
  private readonly sockets = new Set<MockSocket>()
  /** Why this browser is nobody any more: the code that the API answers with. */
  private refusal = 'unauthenticated'
  /** They outlive a reload, as a server's do. */
  private readonly devices = (JSON.parse(sessionStorage.getItem('mock.devices') ?? 'null') ??
    devices) as typeof devices
  /** While true nothing connects and what is connected is dead. */
  down = false

  constructor(readonly scene: Scene) {
    this.down = !scene.reachable
  }

  /** Cuts every connection; with `stay` no new one comes up. */
  cut(stay = false): void {
    this.down = stay
    for (const socket of [...this.sockets]) socket.die()
  }

  restore(): void {
    this.down = false
  }

  /** Changes a session and tells everybody. */
  change(id: string, change: Partial<Session>): void {
    const index = this.scene.sessions.findIndex((session) => session.id === id)
    const old = this.scene.sessions[index]
    if (!old) throw new Error(`no session ${id}`)
    this.scene.sessions[index] = { ...old, ...change }
    this.tell({ type: 'event', kind: 'session', body: this.scene.sessions[index] })
  }

  /** A host is enrolled, or connects. */
  host(name: string, online: boolean): void {
    const body = {
      ...this.scene.hosts[0],
      id: name,
      name,
      online,
      sessions: 0,
      last_seen_ms: online ? 0 : -1,
    }
    this.tell({ type: 'event', kind: 'host', body })
  }

  /** Ends this browser's access while it is connected. */
  end(why: 'revoked' | 'unauthenticated'): void {
    this.scene.paired = false
    this.refusal = why
    for (const socket of [...this.sockets]) socket.die(4003)
  }

  /** Another device is paired, and everybody is told. */
  pair(device: { id: string; name: string; address: string; guest?: boolean }): void {
    const { guest, ...shown } = device
    const body = {
      current: false,
      created_ms: 0,
      insecure: false,
      last_seen_ms: 0,
      expires_ms: 3_600_000,
      scopes: guest ? ['read'] : ['read', 'input', 'admin'],
      ...(guest ? { sessions: [{ host: 'mac-mini', id: 'refactor-auth' }] } : {}),
      ...shown,
    }
    this.devices.push(body)
    this.keepDevices()
    this.tell({ type: 'event', kind: 'device', body })
  }

  /** A host asks for the code of a new device. */
  ask(id: string, hostName: string): void {
    const scopes = ['read', 'input', 'answer']
    const body = {
      id,
      host: hostName,
      host_name: hostName,
      address: '192.0.2.20',
      scopes,
      expires_ms: 240_000,
    }
    this.tell({ type: 'event', kind: 'pairing', body })
  }

  private keepDevices(): void {
    sessionStorage.setItem('mock.devices', JSON.stringify(this.devices))
  }

  /** Lets a session's program print. */
  print(id: string, text: string): void {
    for (const socket of this.sockets) socket.print(id, encoder.encode(text))
  }

  private tell(frame: Answer): void {
    for (const socket of this.sockets) socket.send_(frame)
  }

  add(socket: MockSocket): void {
    this.sockets.add(socket)
  }

  remove(socket: MockSocket): void {
    this.sockets.delete(socket)
  }

  /** Answers a request to /api. */
  async fetch(path: string, asked: Request): Promise<Response> {
    const { method } = asked
    const text = await asked.text()
    const body: unknown = text === '' ? null : JSON.parse(text)
    this.requests.push({ method, path, body })
    if (this.down && !path.includes('/signal?')) throw new TypeError('the mock server is down')
    if (path === '/pair') {
      const { code, ticket } = body as { code?: string; ticket?: string }
      if (code !== 'AB3X9K' && ticket !== 'good') {
        return problem(
          401,
          'code_unknown',
          'This code is wrong or was used already. Make a new one on the server.',
        )
      }
      this.scene.paired = true
      return Response.json({ proof: 'mock' })
    }
    if (!this.scene.paired) return problem(401, this.refusal, 'Pair this device first.')
    if (path === '/me') return Response.json(this.me())
    if (path === '/signout') this.scene.paired = false
    const revoked = /^\/devices\/(.+)$/.exec(path)
    if (revoked && method === 'DELETE') {
      const index = this.devices.findIndex((device) => device.id === revoked[1])
      if (index < 0) return problem(404, 'unknown_device', 'There is no such device.')
      this.devices.splice(index, 1)
      this.keepDevices()
    }
    if (/^\/sessions\/[^/]+\/guests/.test(path)) {
      const { expires_ms } = body as { expires_ms: number }
      const url = `${location.origin}/#t=guest-of-this-session`
      return Response.json({ url, expires_ms, open_ms: 600_000 }, { status: 201 })
    }
    if (/^\/sessions\/[^/]+\/search/.test(path)) return Response.json(this.search(path))
    if (path.endsWith('/sessions') && method === 'POST') return Response.json({ id: 'refactor-auth' })
    if (path === '/codes') {
      return Response.json({ id: 'c1', code: 'K7QP2M', expires_ms: 600_000, url: location.origin })
    }
    if (path.startsWith('/codes/'))
      return Response.json({ id: 'c1', state: 'live', expires_ms: 600_000, wrong_tries: 0 })
    if (path === '/pairings') return Response.json({ items: [], next: null })
    if (path === '/pairings/GONE/confirm') {
      return problem(404, 'unknown_pairing', 'This request was decided already, or its time is up.')
    }
    if (path === '/devices') return Response.json({ items: this.devices, next: null })
    return Response.json({})
  }

  get scopes(): string[] {
    return this.scene.scopes ?? (this.scene.guest ? ['read'] : ['read', 'input', 'admin'])
  }

  private me(): unknown {
    const { guest } = this.scene
    return {
      kind: 'device',
      id: 'd1',
      name: 'This phone',
      scopes: this.scopes,
      bound: guest !== undefined,
      ...(guest ? { sessions: [guest] } : {}),
      expires_ms: guest ? 3_600_000 : 90 * 86_400_000,
      insecure: false,
      version: '1.0.0',
      url: location.origin,
    }
  }

  /** Looks through the mock's archive, newest first, ten at a time. */
  private search(path: string): unknown {
    const query = new URL(path, location.origin).searchParams
    const wanted = (query.get('q') ?? '').toLowerCase()
    const { lines } = this.page(Number(query.get('cursor') ?? 0), mockLines)
    const items = lines.flatMap(({ id, runs }) => {
      const text = runs[0]?.t ?? ''
      const rune = text.toLowerCase().indexOf(wanted)
      const at = { row: -1, column: 0, rune, runes: wanted.length, cell: rune, cells: wanted.length }
      return rune < 0 ? [] : [{ line: id, ...at, text, text_start: 0 }]
    })
    const rest = items.length > 10
    return { items: items.slice(0, 10), next: rest ? String(items[9]?.line) : null, complete: true }
  }

  sessionFor(frame: FrameOf<'attach'>): Session | undefined {
    return this.scene.sessions.find((session) => sessionKey(session) === `${frame.host}/${frame.session}`)
  }

  page(before: number, max: number): { lines: { id: number; runs: { t: string }[] }[]; more: boolean } {
    const newest = before === 0 ? mockLines : Math.min(mockLines, before - 1)
    const lines = Array.from({ length: Math.max(0, Math.min(max, newest)) }, (_, i) => ({
      id: newest - i,
      alt: false,
      open: false,
      runs: [{ t: `ok  example.com/api/internal/pkg${newest - i}  0.${(newest - i) % 900}s` }],
    }))
    return { lines, more: lines.length < newest }
  }
}

const devices = [
  { id: 'd1', name: 'This phone', current: true },
  { id: 'd2', name: 'Firefox on Linux', current: false },
].map((device) => ({
  address: '127.0.0.1',
  created_ms: 86_400_000,
  insecure: false,
  last_seen_ms: 7_200_000,
  expires_ms: 90 * 86_400_000,
  scopes: ['read', 'input', 'admin'],
  ...device,
}))

function problem(status: number, code: string, detail: string): Response {
  return Response.json({ code, detail }, { status })
}

/** Stands in for WebSocket. */
export class MockSocket {
  static server: MockServer
  binaryType: BinaryType = 'arraybuffer'
  onopen: ((event: Event) => void) | null = null
  onmessage: ((event: MessageEvent) => void) | null = null
  onclose: ((event: CloseEvent) => void) | null = null
  onerror: ((event: Event) => void) | null = null
  private greeted = false
  private readonly handles = new Map<number, { session: Session; offset: number }>()
  private readonly server = MockSocket.server

  constructor() {
    if (this.server.down) {
      queueMicrotask(() => this.onclose?.(new CloseEvent('close', { code: 1006 })))
      return
    }
    this.server.add(this)
    queueMicrotask(() => this.onopen?.(new Event('open')))
  }

  close(): void {
    this.server.remove(this)
  }

  die(code = 1006): void {
    this.server.remove(this)
    this.onclose?.(new CloseEvent('close', { code }))
  }

  send(data: ArrayBufferView<ArrayBuffer>): void {
    let bytes = new Uint8Array(data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength))
    if (!this.greeted) bytes = cutPreamble(bytes) as typeof bytes
    for (const frame of decodeAll(bytes)) this.take(frame)
  }

  /** Sends frames, later in this turn, as a network would. */
  send_(...frames: Answer[]): void {
    const message = encode(...frames)
    let all: Uint8Array<ArrayBuffer> = message
    if (!this.greeted) {
      this.greeted = true
      const preamble = encodePreamble()
      all = new Uint8Array(preamble.length + message.length)
      all.set(preamble)
      all.set(message, preamble.length)
    }
    queueMicrotask(() => this.onmessage?.(new MessageEvent('message', { data: all.buffer })))
  }

  print(id: string, data: Uint8Array): void {
    for (const [handle, open] of this.handles) {
      if (open.session.id !== id) continue
      this.send_({ type: 'output', handle, offset: open.offset, data })
      open.offset += data.length
    }
  }

  private take(frame: Frame): void {
    switch (frame.type) {
      case 'viewer_hello': {
        if (!this.server.scene.paired) {
          this.onclose?.(new CloseEvent('close', { code: 4003 }))
          return
        }
        const { hosts, sessions } = this.server.scene
        this.send_(
          {
            type: 'viewer_welcome',
            version: '1.0.0',
            instance: 'mock',
            device: 'This phone',
            scopes: this.server.scopes,
          },
          { type: 'event', kind: 'snapshot', body: { hosts, sessions } },
        )
        return
      }
      case 'ping':
        this.send_({ type: 'pong', nonce: frame.nonce, sent: frame.sent })
        return
      case 'attach':
        this.attach(frame)
        return
      case 'detach':
        this.handles.delete(frame.handle)
        return
      case 'input':
        this.input(frame)
        return
      case 'claim_size':
        this.claim(frame)
        return
      case 'release_size':
        this.send_({
          type: 'size_owner',
          handle: frame.handle,
          client: frame.client,
          kind: ownerKind.none,
          cols: 0,
          rows: 0,
        })
        return
      case 'page':
        this.send_({
          type: 'page_reply',
          handle: frame.handle,
          request: frame.request,
          body: this.server.page(frame.before, frame.max),
          error: '',
        })
        return
      default: // presence, acks and retirements change nothing here
    }
  }

  private attach(frame: FrameOf<'attach'>): void {
    const session = this.server.sessionFor(frame)
    if (!session) {
      this.send_({
        type: 'problem',
        handle: frame.handle,
        code: 'session_unknown',
        message: 'This session does not exist any more.',
      })
      return
    }
    const { cols, rows } = session
    const data = encoder.encode(screenOf(session.id))
    this.handles.set(frame.handle, { session, offset: 0 })
    const position = { offset: 0, marks: 0 }
    const kind = session.size_owner.kind
    this.send_(
      {
        type: 'attached',
        handle: frame.handle,
        mode: 'repaint',
        cols,
        rows,
        prompt: session.prompt?.id ?? '',
      },
      { type: 'repaint', handle: frame.handle, position, cols, rows, data },
      {
        type: 'size_owner',
        handle: frame.handle,
        client: '00'.repeat(16),
        kind: ownerKind[kind],
        cols,
        rows,
      },
      { type: 'live', handle: frame.handle, position },
    )
  }

  private input(frame: FrameOf<'input'>): void {
    const open = this.handles.get(frame.handle)
    const kinds = Object.keys(inputKind) as (keyof typeof inputKind)[]
    this.server.typed.push({
      session: open?.session.id ?? '',
      kind: kinds[frame.kind] ?? 'bytes',
      text: decoder.decode(frame.data),
    })
    this.send_({ type: 'input_ack', handle: frame.handle, client: frame.client, seq: frame.seq, status: 0 })
  }

  private claim(frame: FrameOf<'claim_size'>): void {
    const open = this.handles.get(frame.handle)
    if (!open) return
    const { cols, rows, client, handle } = frame
    this.server.resizes.push({ session: open.session.id, cols, rows })
    this.send_(
      { type: 'size_owner', handle, client, kind: ownerKind.viewer, cols, rows },
      {
        type: 'repaint',
        handle,
        position: { offset: open.offset, marks: 0 },
        cols,
        rows,
        data: encoder.encode(screenOf(open.session.id)),
      },
    )
  }
}
