import {
  close,
  cutPreamble,
  decodeAll,
  encode,
  encodePreamble,
  heartbeat,
  subprotocol,
  WireError,
  type Frame,
  type FrameOf,
} from '@/wire'
import { now } from './clock'

/** A frame that may be sent. */
export type Sendable = Exclude<Frame, { type: 'unknown' }>

/** The part of WebSocket that a connection needs. */
export interface Socket {
  binaryType: BinaryType
  onopen: ((event: Event) => void) | null
  onmessage: ((event: MessageEvent) => void) | null
  onclose: ((event: CloseEvent) => void) | null
  onerror: ((event: Event) => void) | null
  send(data: ArrayBufferView<ArrayBuffer>): void
  close(code?: number, reason?: string): void
}

export type OpenSocket = (url: string, protocol: string) => Socket

/** How a connection came to its end: the close code, and whether the server had said welcome before. */
export interface Ending {
  code: number
  welcomed: boolean
}

export interface ConnectionEvents {
  welcome(frame: FrameOf<'viewer_welcome'>): void
  frame(frame: Frame): void
  /** A frame of any kind came. */
  alive(): void
  /** A ping has gone unanswered for long enough to say so (true), or something came after all (false). */
  doubt(doubted: boolean): void
  roundTrip(ms: number): void
  ended(ending: Ending): void
}

/** After a ping: when to stop claiming to be live, and when to give the connection up. */
const doubtAfter = 5_000
const silenceAfter = 10_000

/** The code of an end that no close frame explained. */
const abnormal = 1006

/**
 * One WebSocket, from opening to its end. After abandon() nothing of it is heard any more, whatever the browser still
 * reports: close() has no effect on sockets that died in sleep, so its events are never waited for.
 */
export class Connection {
  private readonly socket: Socket
  private events: ConnectionEvents | null
  private opened = 0
  private sawPreamble = false
  private welcomed = false
  private doubted = false
  private timeout: ReturnType<typeof setTimeout> | undefined
  private pinger: ReturnType<typeof setInterval> | undefined
  private doubter: ReturnType<typeof setTimeout> | undefined
  private silencer: ReturnType<typeof setTimeout> | undefined
  private nonce = 0n
  private readonly pings = new Map<bigint, number>()

  constructor(
    url: string,
    hello: Omit<FrameOf<'viewer_hello'>, 'type'>,
    timeoutMs: number,
    events: ConnectionEvents,
    openSocket: OpenSocket,
  ) {
    this.events = events
    this.socket = openSocket(url, subprotocol)
    this.socket.binaryType = 'arraybuffer'
    this.timeout = setTimeout(() => this.end(abnormal), timeoutMs)
    this.socket.onopen = () => {
      if (this.events === null) return
      this.opened = now()
      const message = encode({ type: 'viewer_hello', ...hello })
      const preamble = encodePreamble()
      const first = new Uint8Array(preamble.length + message.length)
      first.set(preamble)
      first.set(message, preamble.length)
      this.socket.send(first)
    }
    this.socket.onmessage = (event) => this.message(event.data)
    this.socket.onclose = (event) => this.end(event.code)
    this.socket.onerror = () => undefined // a close follows
  }

  get isWelcome(): boolean {
    return this.welcomed && this.events !== null
  }

  /** Milliseconds since the connection was opened, as Ping and Input carry them. */
  get age(): number {
    return Math.max(0, Math.round(now() - this.opened))
  }

  /** Sends frames as one message; false when the connection is not (or no longer) there. */
  send(...frames: Sendable[]): boolean {
    if (!this.isWelcome) return false
    this.socket.send(encode(...frames))
    return true
  }

  /** Drops the connection without waiting for anything. */
  abandon(code = 1000): void {
    if (this.events === null) return
    this.events = null
    clearTimeout(this.timeout)
    clearInterval(this.pinger)
    clearTimeout(this.doubter)
    clearTimeout(this.silencer)
    this.socket.onopen = this.socket.onmessage = this.socket.onclose = this.socket.onerror = null
    try {
      this.socket.close(code)
    } catch {
      // A socket that cannot be closed is forgotten all the same.
    }
  }

  /** Asks for a sign of life now, besides the regular ones. */
  ping(): void {
    this.nonce += 1n
    if (!this.send({ type: 'ping', nonce: this.nonce, sent: this.age })) return
    this.pings.set(this.nonce, now())
    this.doubter ??= setTimeout(() => {
      this.doubted = true
      this.events?.doubt(true)
    }, doubtAfter)
    this.silencer ??= setTimeout(() => this.end(abnormal), silenceAfter)
  }

  private end(code: number): void {
    const events = this.events
    if (events === null) return
    const ending = { code, welcomed: this.welcomed }
    this.abandon(code === close.protocol ? close.protocol : 1000)
    events.ended(ending)
  }

  private message(data: unknown): void {
    if (this.events === null) return
    if (!(data instanceof ArrayBuffer)) return this.end(close.protocol)
    let frames: Frame[]
    try {
      let bytes: Uint8Array = new Uint8Array(data)
      if (!this.sawPreamble) {
        bytes = cutPreamble(bytes)
        this.sawPreamble = true
      }
      frames = decodeAll(bytes)
    } catch (error) {
      if (!(error instanceof WireError)) throw error
      return this.end(error.reason === 'version' ? close.version : close.protocol)
    }
    this.heard()
    // A handler may abandon the connection; the frames behind that one are then nobody's.
    for (const frame of frames) this.take(frame)
  }

  private heard(): void {
    clearTimeout(this.doubter)
    clearTimeout(this.silencer)
    this.doubter = this.silencer = undefined
    if (this.doubted) {
      this.doubted = false
      this.events?.doubt(false)
    }
    this.events?.alive()
  }

  private take(frame: Frame): void {
    switch (frame.type) {
      case 'viewer_welcome':
        if (this.welcomed || this.events === null) return
        this.welcomed = true
        clearTimeout(this.timeout)
        this.pinger = setInterval(() => this.ping(), heartbeat)
        this.events.welcome(frame)
        this.ping()
        return
      case 'ping':
        this.send({ type: 'pong', nonce: frame.nonce, sent: this.age })
        return
      case 'pong': {
        const at = this.pings.get(frame.nonce)
        this.pings.clear()
        if (at !== undefined) this.events?.roundTrip(now() - at)
        return
      }
      default:
        this.events?.frame(frame)
    }
  }
}
