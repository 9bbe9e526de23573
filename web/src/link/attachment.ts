import {
  claimReason,
  inputKind,
  ownerKind,
  parsePage,
  type ClaimReason,
  type Frame,
  type FrameOf,
  type InputKind,
  type Page,
  type Session,
} from '@/wire'
import type { Sendable } from './connection'
import { Emitter } from './emitter'
import { InputQueue, textBytes, type KeptBatch, type PendingInput, type ReturnedInput } from './inputQueue'
import { Stream, type Screen } from './stream'
import { now } from './clock'

export type Phase = 'attaching' | 'live' | 'stale' | 'ended'

/** What is known of an attachment now. A new object with every change, so that it fits into a shallowRef. */
export interface AttachmentState {
  /** attaching: nothing shown yet. stale: the last picture stays and is not up to date. ended: the program is gone. */
  readonly phase: Phase
  /** The grid that is shown; 0 × 0 before there is one. */
  readonly cols: number
  readonly rows: number
  /** Who owns the size of the session. */
  readonly owner: 'viewer' | 'local' | 'none'
  /** Whether this attachment owns it. */
  readonly mine: boolean
  /** The last input of the present client id that reached the program. */
  readonly applied: number
  /** Input not known to have reached the program, oldest first. */
  readonly pending: readonly PendingInput[]
  /** How the program ended, once it has. */
  readonly exit: { code: number; signal: string } | null
  /** Why the server does not show the session, if it does not. */
  readonly problem: { code: string; message: string } | null
}

export interface AttachmentEvents {
  state: AttachmentState
  /** Input that will not be written and is the person's again. */
  returned: ReturnedInput
  /** An input reached the program. */
  applied: number
  /** It is over; nothing more comes of it. */
  released: void
}

/** What an attachment needs of the link that carries it. */
export interface Carrier {
  send(...frames: Sendable[]): boolean
  nextHandle(): number
  /** Milliseconds since the connection was opened. */
  age(): number
  visible(): boolean
  focused(): boolean
  randomId(): string
  released(attachment: Attachment): void
}

/** How long a page of history may take, in milliseconds. */
const pageTimeout = 15_000
/** How long a disposed attachment waits for the word on its last input. */
const lingerFor = 12_000
/** A claim that follows the owner's own window waits for it to come to rest. */
const resizeDelay = 250
/** A claim made by typing is not repeated before this. */
const typingClaimEvery = 5_000

/**
 * One session on one screen: its bytes to the terminal, the person's input back. It outlives connections; the link
 * tells it when one comes and goes. Bytes never become reactive: they go from the frame to the screen.
 */
export class Attachment {
  private readonly emitter = new Emitter<AttachmentEvents>()
  private readonly stream: Stream
  private readonly inputs: InputQueue
  /** Names this attachment as a source of presence and an owner of the size. */
  private readonly client: string
  private handle = 0
  private connected = false
  private attached = false
  private disposed = false
  private linger: ReturnType<typeof setTimeout> | undefined
  private current: AttachmentState = {
    phase: 'attaching',
    cols: 0,
    rows: 0,
    owner: 'none',
    mine: false,
    applied: 0,
    pending: [],
    exit: null,
    problem: null,
  }
  private watchOnly = false
  private measure: (() => { cols: number; rows: number } | null) | null = null
  private claimed: { cols: number; rows: number } | null = null
  private claimTimer: ReturnType<typeof setTimeout> | undefined
  private lastTypingClaim = -Infinity
  private pages = new Map<number, { resolve(page: Page): void; reject(error: Error): void }>()
  private lastRequest = 0

  constructor(
    private readonly carrier: Carrier,
    readonly host: string,
    readonly session: string,
  ) {
    this.client = carrier.randomId()
    let firstClient: string | null = this.client
    this.inputs = new InputQueue({
      now,
      // The first source of input is the attachment itself; only a retired id is replaced.
      newClient: () => {
        const id = firstClient ?? carrier.randomId()
        firstClient = null
        return id
      },
      send: (input) =>
        void carrier.send({ type: 'input', handle: this.handle, sent: carrier.age(), ...input }),
      retire: (client) => void carrier.send({ type: 'retire', handle: this.handle, client }),
      changed: () => this.inputsChanged(),
      returned: (returned) => this.emitter.emit('returned', returned),
      applied: (id) => this.emitter.emit('applied', id),
    })
    this.stream = new Stream({
      drawn: (offset) => {
        if (this.attached) carrier.send({ type: 'ack', handle: this.handle, offset })
      },
      hole: () => this.reattach(),
      size: (cols, rows) => this.set({ cols, rows }),
    })
  }

  get state(): AttachmentState {
    return this.current
  }

  /** Calls listener for every event of that name; the returned function ends it. */
  on<Name extends keyof AttachmentEvents>(
    name: Name,
    listener: (payload: AttachmentEvents[Name]) => void,
  ): () => void {
    return this.emitter.on(name, listener)
  }

  /** Draws the session on screen from now on, in the place of any other; null draws nothing. */
  display(screen: Screen | null): void {
    if (!this.disposed) this.stream.setScreen(screen)
  }

  // --- input -----------------------------------------------------------------------------------------------------

  /** This device may look and not type: no input is taken and no size is claimed. */
  setWatchOnly(watchOnly: boolean): void {
    this.watchOnly = watchOnly
  }

  /** Typed text, as it is. */
  text(text: string): number {
    return this.input(inputKind.bytes, textBytes(text))
  }

  /** The bytes of a physical key. */
  bytes(data: Uint8Array): number {
    return this.input(inputKind.bytes, data)
  }

  /** Named keys such as "up" or "ctrl+c", pressed one after the other. */
  keys(names: readonly string[]): number {
    return this.input(inputKind.keys, textBytes(names.join(' ')))
  }

  /** Text for the program to take as a paste. */
  paste(text: string): number {
    return this.input(inputKind.paste, textBytes(text))
  }

  /** Text followed by Enter, as one operation. */
  submit(text: string): number {
    return this.input(inputKind.submit, textBytes(text))
  }

  /** What is not known to have reached the program, for the page that comes after this one. */
  get kept(): KeptBatch[] {
    return this.inputs.kept
  }

  /** Takes over what a page that is gone had on its way to this session: the holder says what became of it. */
  adopt(batches: readonly KeptBatch[]): void {
    this.inputs.adopt(batches)
  }

  private input(kind: InputKind, data: Uint8Array): number {
    if (this.watchOnly) return 0
    this.claimByTyping()
    return this.inputs.add(kind, data)
  }

  // --- size ------------------------------------------------------------------------------------------------------

  /** Tells how a claim finds the size that fits this screen. */
  setMeasure(measure: (() => { cols: number; rows: number } | null) | null): void {
    this.measure = measure
  }

  /** Asks for the size, because the person wants the session to fit this screen. */
  claimSize(cols: number, rows: number): void {
    this.claim(claimReason.fit, cols, rows)
  }

  /** Gives the size back to whoever had it before. */
  releaseSize(): void {
    this.claimed = null
    if (this.attached) this.carrier.send({ type: 'release_size', handle: this.handle, client: this.client })
  }

  /** The screen has another size now; the session follows if this attachment owns its size. */
  resized(cols: number, rows: number): void {
    clearTimeout(this.claimTimer)
    this.claimTimer = setTimeout(() => {
      const same = this.claimed?.cols === cols && this.claimed.rows === rows
      if (this.current.mine && !same) this.claim(claimReason.resize, cols, rows)
    }, resizeDelay)
  }

  private claim(reason: ClaimReason, cols: number, rows: number): void {
    if (!this.attached || this.watchOnly || cols < 1 || rows < 1) return
    this.claimed = { cols, rows }
    this.carrier.send({ type: 'claim_size', handle: this.handle, client: this.client, reason, cols, rows })
  }

  private claimByTyping(): void {
    if (!this.attached || this.current.mine || this.current.owner !== 'none') return
    if (now() - this.lastTypingClaim < typingClaimEvery) return
    const size = this.measure?.() ?? null
    if (size === null) return
    this.lastTypingClaim = now()
    this.claim(claimReason.typing, size.cols, size.rows)
  }

  // --- history ---------------------------------------------------------------------------------------------------

  /** Asks for at most max lines of history above the line `before`; 0 asks for the newest. */
  page(before: number, max: number): Promise<Page> {
    const request = ++this.lastRequest
    const sent =
      this.attached && this.carrier.send({ type: 'page', handle: this.handle, request, before, max })
    if (!sent) return Promise.reject(new Error('Not connected.'))
    return new Promise<Page>((resolve, reject) => {
      const timer = setTimeout(
        () => settle(() => reject(new Error('The history did not come in time.'))),
        pageTimeout,
      )
      const settle = (end: () => void) => {
        clearTimeout(timer)
        this.pages.delete(request)
        end()
      }
      this.pages.set(request, {
        resolve: (page) => settle(() => resolve(page)),
        reject: (error) => settle(() => reject(error)),
      })
    })
  }

  /** Ends the attachment. Input on its way is followed to its end for a moment, then handed back. */
  dispose(): void {
    if (this.disposed) return
    this.disposed = true
    this.stream.dispose()
    clearTimeout(this.claimTimer)
    this.failPages()
    if (this.inputs.idle) this.finish()
    else this.linger = setTimeout(() => this.finish(), lingerFor)
  }

  private finish(): void {
    clearTimeout(this.linger)
    this.inputs.dispose()
    if (this.connected) this.carrier.send({ type: 'detach', handle: this.handle })
    this.connected = this.attached = false
    this.carrier.released(this)
    this.emitter.emit('released', undefined)
    this.emitter.clear()
  }

  // --- for the link ----------------------------------------------------------------------------------------------

  /** There is a connection: ask for the session from where the screen stands. */
  connect(): void {
    this.connected = true
    this.request()
  }

  /** The connection is gone. */
  disconnect(): void {
    this.connected = this.attached = false
    this.inputs.closed()
    this.stream.detach()
    this.failPages()
    if (this.current.phase === 'live') this.set({ phase: 'stale' })
  }

  private request(): void {
    this.handle = this.carrier.nextHandle()
    this.attached = false
    this.stream.attached()
    this.carrier.send({
      type: 'attach',
      handle: this.handle,
      host: this.host,
      session: this.session,
      from: this.stream.from,
      client: this.client,
      visible: this.carrier.visible(),
    })
  }

  private reattach(): void {
    if (!this.connected || this.disposed) return
    this.carrier.send({ type: 'detach', handle: this.handle })
    this.inputs.closed()
    if (this.current.phase === 'live') this.set({ phase: 'stale' })
    this.request()
  }

  /** Whether frames of this handle are for this attachment. */
  hasHandle(handle: number): boolean {
    return this.connected && handle === this.handle
  }

  setVisible(visible: boolean): void {
    this.stream.setPaused(!visible)
    if (visible && this.stream.needsAttach) this.reattach()
    this.sendPresence()
  }

  /** A sign of life of the person in front of this screen. */
  sendPresence(): void {
    if (!this.attached || this.disposed) return
    const visible = this.carrier.visible()
    this.carrier.send({
      type: 'presence',
      handle: this.handle,
      client: this.client,
      visible,
      focused: visible && this.carrier.focused(),
    })
  }

  /** What the server says of the session, apart from its bytes. */
  sessionChanged(session: Session, wasOnline: boolean): void {
    this.inputs.setPrompt(session.prompt?.id ?? '')
    if (session.online && !wasOnline) this.inputs.hostBack()
    if (session.state !== 'running' && this.current.phase !== 'ended') {
      this.set({ phase: 'ended', exit: session.exit })
    }
  }

  takeAck(frame: FrameOf<'input_ack'>): boolean {
    const taken = this.inputs.acked(frame.client, frame.seq, frame.status)
    if (taken && this.disposed && this.inputs.idle) this.finish()
    return taken
  }

  takeFrame(frame: Frame): void {
    switch (frame.type) {
      case 'attached':
        this.attached = true
        // Nobody owns the size unless the server says so in the next frame.
        this.set({ problem: null, owner: 'none', mine: false })
        this.inputs.opened(frame.prompt)
        this.sendPresence()
        return
      case 'output':
        return this.stream.output(frame)
      case 'resize':
        return this.stream.resize(frame)
      case 'reset':
        return this.stream.reset(frame)
      case 'repaint':
        return this.stream.repaint(frame)
      case 'live':
        if (this.current.phase !== 'ended') this.set({ phase: 'live' })
        return
      case 'exit':
        this.set({ phase: 'ended', exit: { code: frame.code, signal: frame.signal } })
        return
      case 'size_owner':
        return this.takeOwner(frame)
      case 'page_reply':
        return this.takePage(frame)
      case 'problem':
        this.set({
          problem: { code: frame.code, message: frame.message },
          phase: this.current.phase === 'live' ? 'stale' : this.current.phase,
        })
        return
      default: // a gap is followed by a repaint, which says all that is needed
    }
  }

  private takeOwner(frame: FrameOf<'size_owner'>): void {
    const mine = frame.kind === ownerKind.viewer && frame.client === this.client
    if (mine) this.claimed = { cols: frame.cols, rows: frame.rows }
    else this.claimed = null
    const owner =
      frame.kind === ownerKind.viewer ? 'viewer' : frame.kind === ownerKind.local ? 'local' : 'none'
    this.set({ owner, mine })
  }

  private takePage(frame: FrameOf<'page_reply'>): void {
    const waiting = this.pages.get(frame.request)
    if (frame.error !== '') return waiting?.reject(new Error(frame.error))
    try {
      waiting?.resolve(parsePage(frame.body))
    } catch (error) {
      waiting?.reject(error instanceof Error ? error : new Error('The history could not be read.'))
    }
  }

  private failPages(): void {
    for (const { reject } of [...this.pages.values()]) reject(new Error('Not connected.'))
  }

  private inputsChanged(): void {
    this.set({ applied: this.inputs.applied, pending: this.inputs.pending })
  }

  private set(change: Partial<AttachmentState>): void {
    this.current = { ...this.current, ...change }
    this.emitter.emit('state', this.current)
  }
}
