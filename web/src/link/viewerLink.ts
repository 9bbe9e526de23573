import {
  close,
  parseDevice,
  parseHost,
  parsePairing,
  parseSession,
  parseSnapshot,
  sessionKey,
  Shape,
  toHex,
  WireError,
  type Frame,
  type FrameOf,
  type Host,
  type PairedDevice,
  type PairingRequest,
  type Session,
  type Snapshot,
} from '@/wire'
import { Attachment } from './attachment'
import { Connection, type Ending, type OpenSocket, type Sendable } from './connection'
import { Emitter } from './emitter'
import { now } from './clock'

export type LinkStatus =
  | 'connecting' // for the first time
  | 'live'
  | 'reconnecting' // the picture may be old, we are at it
  | 'offline' // no network, or the server does not answer
  | 'signed_out'
  | 'revoked'
  | 'update_needed'

export interface Welcome {
  version: string
  /** Another instance means that the server was restarted. */
  instance: string
  device: string
  scopes: string[]
}

export type LinkEvent =
  | { kind: 'snapshot'; snapshot: Snapshot }
  | { kind: 'host'; host: Host }
  | { kind: 'host_removed'; id: string }
  | { kind: 'session'; session: Session }
  | { kind: 'session_removed'; host: string; id: string }
  | { kind: 'device'; device: PairedDevice }
  | { kind: 'pairing'; pairing: PairingRequest }
  | { kind: 'pairing_removed'; id: string }

export interface LinkEvents {
  status: LinkStatus
  /** The moment (Date.now) of a sign of life from the server. */
  alive: number
  roundTrip: number
  welcome: Welcome
  event: LinkEvent
  /** The close code with which a connection ended. */
  closed: number
  /** A fault of the connection that the server explained. */
  problem: { code: string; message: string }
}

export interface LinkOptions {
  /** ws:// or wss:// address of /api/ws. */
  url: string
  /** The app's version, for display. */
  version: string
  /** The second credential of a cookie session, empty when there is none. */
  proof(): string
  /** Asked when a connection ended before the server said welcome: is it us, or the network? */
  access(): Promise<'granted' | 'signed_out' | 'revoked' | 'unreachable'>
  openSocket?: OpenSocket
  random?(): number
}

/** How long the first connection after a resume may take, and any other. */
const resumeTimeout = 8_000
const connectTimeout = 5_000
const backoffFirst = 500
const backoffMost = 15_000
/** A hidden page keeps its socket this long. */
const hiddenFor = 30_000
const presenceEvery = 15_000
const watchEvery = 2_000
/** A watch that comes this much late means that the device slept. */
const timeJump = 5_000
/** Several signs of one return (visible, pageshow, online) start one connection. */
const sameResume = 400
/** Attempts without an answer after which we no longer say "reconnecting". */
const offlineAfter = 2

/**
 * The one socket of the app, for all sessions. It is reopened, never repaired: whenever the page comes back, the
 * network returns or time has jumped, the old socket counts as dead whatever it says of itself (UX §7.1). It tries for
 * ever, except when the answer was a refusal that trying again cannot change.
 */
export class ViewerLink {
  private readonly emitter = new Emitter<LinkEvents>()
  private readonly attachments = new Set<Attachment>()
  private readonly online = new Map<string, boolean>()
  private readonly sessions = new Map<string, Session>()
  private connection: Connection | null = null
  private current: LinkStatus = 'connecting'
  private running = false
  private refused = false
  private everLive = false
  private attempt = 0
  private silentAttempts = 0
  private connectingSince = -Infinity
  private restartAfter: number | null = null
  private lastHandle = 0
  private lastWatch = 0
  private retryTimer: ReturnType<typeof setTimeout> | undefined
  private hideTimer: ReturnType<typeof setTimeout> | undefined
  private watcher: ReturnType<typeof setInterval> | undefined
  private presence: ReturnType<typeof setInterval> | undefined
  private readonly random: () => number
  private readonly openSocket: OpenSocket
  private readonly listeners = new AbortController()

  constructor(private readonly options: LinkOptions) {
    this.random = options.random ?? Math.random
    this.openSocket = options.openSocket ?? ((url, protocol) => new WebSocket(url, protocol))
  }

  get status(): LinkStatus {
    return this.current
  }

  /** Calls listener for every event of that name; the returned function ends it. */
  on<Name extends keyof LinkEvents>(name: Name, listener: (payload: LinkEvents[Name]) => void): () => void {
    return this.emitter.on(name, listener)
  }

  /** Begins, or begins again after stop or a refusal. */
  start(): void {
    if (!this.running) {
      this.running = true
      this.listen()
    }
    this.resume(true)
  }

  /** Ends the connection and does not look for another. */
  stop(status: LinkStatus = 'signed_out'): void {
    this.running = false
    this.drop()
    clearTimeout(this.retryTimer)
    clearInterval(this.watcher)
    clearInterval(this.presence)
    this.watcher = this.presence = undefined
    this.setStatus(status)
  }

  /** Tries now, because the person asked for it. */
  retry(): void {
    if (this.running) this.resume(true)
    else this.start()
  }

  /** Ends everything, listeners included. */
  dispose(): void {
    this.stop()
    this.listeners.abort()
    for (const attachment of [...this.attachments]) attachment.dispose()
    this.emitter.clear()
  }

  /** Opens a session on a screen. */
  attach(host: string, session: string): Attachment {
    const attachment = new Attachment(
      {
        send: (...frames) => this.send(...frames),
        nextHandle: () => ++this.lastHandle,
        age: () => this.connection?.age ?? 0,
        visible: () => this.visible,
        focused: () => document.hasFocus(),
        randomId: () => toHex(crypto.getRandomValues(new Uint8Array(16))),
        released: (released) => void this.attachments.delete(released),
      },
      host,
      session,
    )
    this.attachments.add(attachment)
    attachment.setVisible(this.visible)
    const known = this.sessions.get(sessionKey({ host, id: session }))
    if (known) attachment.sessionChanged(known, known.online)
    if (this.connection?.isWelcome) attachment.connect()
    return attachment
  }

  private get visible(): boolean {
    return document.visibilityState !== 'hidden'
  }

  private send(...frames: Sendable[]): boolean {
    return this.connection?.send(...frames) ?? false
  }

  // --- the page --------------------------------------------------------------------------------------------------

  private listening = false

  private listen(): void {
    if (this.listening) return
    this.listening = true
    const { signal } = this.listeners
    document.addEventListener('visibilitychange', () => (this.visible ? this.shown() : this.hidden()), {
      signal,
    })
    window.addEventListener('pageshow', (event) => event.persisted && this.shown(), { signal })
    // A page with an open socket is not kept for "back"; without one it comes back whole.
    window.addEventListener('pagehide', () => this.drop(), { signal })
    window.addEventListener('online', () => this.resume(), { signal })
    window.addEventListener('offline', () => this.running && this.everLive && this.setStatus('offline'), {
      signal,
    })
    const presence = () => this.sendPresence()
    window.addEventListener('focus', presence, { signal })
    window.addEventListener('blur', presence, { signal })
  }

  private shown(): void {
    clearTimeout(this.hideTimer)
    this.resume()
    for (const attachment of this.attachments) attachment.setVisible(true)
  }

  private hidden(): void {
    clearTimeout(this.retryTimer)
    clearInterval(this.watcher)
    this.watcher = undefined
    for (const attachment of this.attachments) attachment.setVisible(false)
    clearTimeout(this.hideTimer)
    this.hideTimer = setTimeout(() => this.drop(), hiddenFor)
  }

  private sendPresence(): void {
    if (!this.connection?.isWelcome) return
    for (const attachment of this.attachments) attachment.sendPresence()
  }

  /** Notices that the device slept although the page was never told. */
  private watch(): void {
    if (this.watcher !== undefined) return
    this.lastWatch = now()
    this.watcher = setInterval(() => {
      const late = now() - this.lastWatch - watchEvery
      this.lastWatch = now()
      if (late > timeJump) this.resume()
    }, watchEvery)
  }

  // --- the connection --------------------------------------------------------------------------------------------

  /** The old socket counts as dead; a new one is opened at once. */
  private resume(asked = false): void {
    if (!this.running || (this.refused && !asked) || !this.visible) return
    const justBegun = this.connection?.isWelcome === false && now() - this.connectingSince < sameResume
    if (!asked && justBegun) return
    this.refused = false
    this.attempt = 0
    this.watch()
    this.connect(resumeTimeout)
  }

  private connect(timeout: number): void {
    this.drop()
    clearTimeout(this.retryTimer)
    this.connectingSince = now()
    if (!this.everLive) this.setStatus(this.silentAttempts >= offlineAfter ? 'offline' : 'connecting')
    else if (this.current !== 'offline') this.setStatus('reconnecting')
    const hello = { version: this.options.version, proof: this.options.proof(), visible: this.visible }
    const connection = new Connection(
      this.options.url,
      hello,
      timeout,
      {
        welcome: (frame) => this.welcome(frame),
        frame: (frame) => this.take(frame),
        alive: () => this.emitter.emit('alive', Date.now()),
        doubt: (doubted) => this.setStatus(doubted ? 'reconnecting' : 'live'),
        roundTrip: (ms) => this.emitter.emit('roundTrip', ms),
        ended: (ending) => {
          if (this.connection === connection) this.ended(ending)
        },
      },
      this.openSocket,
    )
    this.connection = connection
  }

  /** Leaves the connection, if there is one, without waiting for it. */
  private drop(): void {
    const { connection } = this
    this.connection = null
    connection?.abandon()
    clearInterval(this.presence)
    this.presence = undefined
    if (connection === null) return
    for (const attachment of this.attachments) attachment.disconnect()
    if (this.current === 'live') this.setStatus('reconnecting')
  }

  private welcome(frame: FrameOf<'viewer_welcome'>): void {
    this.everLive = true
    this.silentAttempts = 0
    this.restartAfter = null
    const { version, instance, device, scopes } = frame
    this.emitter.emit('welcome', { version, instance, device, scopes })
    this.setStatus('live')
    this.presence = setInterval(() => this.visible && this.sendPresence(), presenceEvery)
    for (const attachment of this.attachments) attachment.connect()
  }

  private ended({ code, welcomed }: Ending): void {
    this.drop()
    this.emitter.emit('closed', code)
    if (code === close.version) return this.refuse('update_needed')
    if (code === close.forbidden) return this.refuse('revoked')
    if (code === close.unauthorized) {
      // Never let in, or expired, or revoked: only the server can say which.
      if (this.everLive) this.setStatus('reconnecting')
      else this.refuse('signed_out')
      void this.askAccess().then((answered) => {
        if (!answered && this.everLive && this.running && this.connection === null) this.scheduleRetry()
      })
      return
    }
    const ownFault =
      code === close.slow || code === close.limit || code === close.replaced || code === close.protocol
    if (welcomed && !ownFault) this.attempt = 0
    if (!welcomed) {
      this.silentAttempts++
      void this.askAccess()
    }
    this.setStatus(this.lostStatus())
    if (code === close.restarting && this.restartAfter === null) this.restartAfter = backoffFirst
    if (this.visible) this.scheduleRetry()
  }

  private lostStatus(): LinkStatus {
    if (!navigator.onLine || this.silentAttempts >= offlineAfter) return 'offline'
    return this.everLive ? 'reconnecting' : 'connecting'
  }

  private scheduleRetry(): void {
    const pause = this.restartAfter ?? Math.min(backoffMost, backoffFirst * 2 ** Math.min(this.attempt, 10))
    this.restartAfter = null
    this.attempt++
    clearTimeout(this.retryTimer)
    this.retryTimer = setTimeout(() => this.connect(connectTimeout), pause * (1 + 0.3 * this.random()))
  }

  private refuse(status: LinkStatus): void {
    this.refused = true
    clearTimeout(this.retryTimer)
    this.setStatus(status)
  }

  /**
   * A refused upgrade looks like a dead network to a WebSocket; a plain request tells them apart. False when it brought
   * no refusal either.
   */
  private async askAccess(): Promise<boolean> {
    const access = await this.options.access().catch(() => 'unreachable' as const)
    if (!this.running || this.connection?.isWelcome) return true
    if (access !== 'signed_out' && access !== 'revoked') return false
    this.drop()
    this.refuse(access)
    return true
  }

  private setStatus(status: LinkStatus): void {
    if (status === this.current) return
    this.current = status
    this.emitter.emit('status', status)
  }

  // --- frames ----------------------------------------------------------------------------------------------------

  private take(frame: Frame): void {
    switch (frame.type) {
      case 'event':
        return this.takeEvent(frame)
      case 'restarting':
        this.restartAfter = frame.afterMs
        return
      case 'input_ack':
        for (const attachment of this.attachments) if (attachment.takeAck(frame)) return
        return
      case 'problem':
        if (frame.handle !== 0) return this.route(frame.handle, frame)
        this.emitter.emit('problem', { code: frame.code, message: frame.message })
        return
      case 'attached':
      case 'live':
      case 'output':
      case 'resize':
      case 'reset':
      case 'repaint':
      case 'exit':
      case 'size_owner':
      case 'page_reply':
        return this.route(frame.handle, frame)
      default: // not for a viewer
    }
  }

  private route(handle: number, frame: Frame): void {
    for (const attachment of this.attachments) {
      if (attachment.hasHandle(handle)) return attachment.takeFrame(frame)
    }
  }

  private takeEvent(frame: FrameOf<'event'>): void {
    let event: LinkEvent | null
    try {
      event = readEvent(frame)
    } catch (error) {
      if (!(error instanceof WireError)) throw error
      this.emitter.emit('problem', {
        code: 'invalid',
        message: 'The server sent an event this version cannot read.',
      })
      return
    }
    if (event === null) return
    if (event.kind === 'snapshot') {
      this.sessions.clear()
      for (const session of event.snapshot.sessions) this.sessionChanged(session)
    } else if (event.kind === 'session') {
      this.sessionChanged(event.session)
    } else if (event.kind === 'session_removed') {
      this.sessions.delete(sessionKey(event))
      this.online.delete(sessionKey(event))
    }
    this.emitter.emit('event', event)
  }

  private sessionChanged(session: Session): void {
    const key = sessionKey(session)
    const wasOnline = this.online.get(key) ?? session.online
    this.online.set(key, session.online)
    this.sessions.set(key, session)
    for (const attachment of this.attachments) {
      if (attachment.host === session.host && attachment.session === session.id) {
        attachment.sessionChanged(session, wasOnline)
      }
    }
  }
}

function readEvent({ kind, body }: FrameOf<'event'>): LinkEvent | null {
  switch (kind) {
    case 'snapshot':
      return { kind, snapshot: parseSnapshot(body) }
    case 'host':
      return { kind, host: parseHost(body) }
    case 'host_removed':
      return { kind, id: Shape.of(body, 'event').string('id') }
    case 'session':
      return { kind, session: parseSession(body) }
    case 'device':
      return { kind, device: parseDevice(body) }
    case 'pairing':
      return { kind, pairing: parsePairing(body) }
    case 'pairing_removed':
      return { kind, id: Shape.of(body, 'event').string('id') }
    case 'session_removed': {
      const from = Shape.of(body, 'event')
      return { kind, host: from.string('host'), id: from.string('id') }
    }
    default:
      return null // of a newer server
  }
}
