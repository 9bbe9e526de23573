import type { FrameOf, Position } from '@/wire'
import { now } from './clock'
import { unfinishedCharacter } from './utf8'

/** What draws a session: an adapter over a terminal emulator. Calls come one at a time, each after the last is done. */
export interface Screen {
  /**
   * Draws data, which ends with a whole character. `intact` false says that the emulator failed over it, so that what
   * is shown is wrong.
   */
  write(data: Uint8Array, done: (intact: boolean) => void): void
  /** Returns false when the emulator failed and the picture is lost. */
  resize(cols: number, rows: number): boolean
  /** Back to the first state of a terminal. */
  reset(): void
  /** Replaces everything shown by what data draws on a new terminal; the old picture stays until then. */
  repaint(data: Uint8Array, cols: number, rows: number, done: () => void): void
}

type Step =
  | { kind: 'output'; data: Uint8Array }
  | { kind: 'resize'; ordinal: number; cols: number; rows: number }
  | { kind: 'reset'; ordinal: number }
  | { kind: 'repaint'; position: Position; cols: number; rows: number; data: Uint8Array }

export interface StreamEvents {
  /** Everything below offset is drawn. */
  drawn(offset: number): void
  /** Bytes are missing: the stream must be asked for again from `from`. */
  hole(): void
  /** The grid that is now shown. */
  size(cols: number, rows: number): void
}

/** Bytes written to the terminal in one frame of the display. */
const bytesPerFrame = 64 << 10
/** Bytes that may wait to be drawn; the server's window is smaller, so more means a peer that ignores it. */
const maxQueued = 8 << 20
/** A screen that failed is drawn anew not more often than this, in milliseconds, whatever the program writes. */
const mendEvery = 1000

const nothing = new Uint8Array(0)

/**
 * The way of a session's bytes to the screen: trims what is there already, finds holes, applies a resize between the
 * bytes it stands between, and never has more than one write in the emulator, so that a write callback says exactly
 * what is drawn. While paused it takes nothing and keeps nothing.
 */
export class Stream {
  private screen: Screen | null = null
  /** What has arrived, steps in the queue included. */
  private received: Position | null = null
  /** What the screen was given. */
  private submitted: Position | null = null
  private queue: Step[] = []
  private queued = 0
  /** The beginning of a character whose end has not come: received, not submitted. */
  private tail: Uint8Array = nothing
  private busy = false
  private paused = false
  private deaf = false
  /** The screen was exchanged: what was drawn on the old one must be asked for again. */
  private empty = false
  private budget = bytesPerFrame
  private frame: number | null = null
  private generation = 0
  private mending: ReturnType<typeof setTimeout> | undefined
  private mendedAt = -Infinity

  constructor(private readonly events: StreamEvents) {}

  /** From where to go on: what the screen was given, or null when it shows nothing yet. */
  get from(): Position | null {
    return this.submitted
  }

  /** Gives the stream a screen, or takes it away. A new screen is empty and needs a repaint. */
  setScreen(screen: Screen | null): void {
    if (screen === this.screen) return
    this.generation++
    this.busy = false
    this.screen = screen
    if (this.submitted !== null) {
      this.drop()
      this.submitted = this.received = null
      this.empty = true
    }
    if (this.empty && screen !== null) this.events.hole()
    else this.pump()
  }

  /** Begins anew after an attach: frames that follow go on from `from`, or begin with a repaint. */
  attached(): void {
    this.drop()
    this.received = this.submitted
    this.deaf = this.paused
    this.empty = false
  }

  /** Frames until the next attached() are of a stream that is over. */
  detach(): void {
    this.drop()
    this.received = this.submitted
    this.deaf = true
  }

  /** Whether frames are let go by, so that the stream must be asked for again before it goes on. */
  get needsAttach(): boolean {
    return this.deaf
  }

  /** While the page is hidden nothing is written and nothing is kept. */
  setPaused(paused: boolean): void {
    this.paused = paused
    if (paused) this.detach()
  }

  output(frame: FrameOf<'output'>): void {
    if (this.deaf || this.received === null) return
    const end = frame.offset + frame.data.length
    if (frame.offset > this.received.offset) return this.lost()
    if (end <= this.received.offset) return
    const data = frame.data.subarray(this.received.offset - frame.offset)
    this.received = { ...this.received, offset: end }
    this.push({ kind: 'output', data }, data.length)
  }

  resize(frame: FrameOf<'resize'>): void {
    const { ordinal, cols, rows } = frame
    if (this.mark(frame)) this.push({ kind: 'resize', ordinal, cols, rows }, 0)
  }

  reset(frame: FrameOf<'reset'>): void {
    if (this.mark(frame)) this.push({ kind: 'reset', ordinal: frame.ordinal }, 0)
  }

  repaint(frame: FrameOf<'repaint'>): void {
    if (this.deaf) return
    this.drop()
    const { position, cols, rows, data } = frame
    this.received = position
    this.push({ kind: 'repaint', position, cols, rows, data }, data.length)
  }

  dispose(): void {
    this.generation++
    clearTimeout(this.mending)
    this.screen = null
    this.detach()
    if (this.frame !== null) cancelAnimationFrame(this.frame)
  }

  /** Whether a mark is new and in its place. */
  private mark(frame: { offset: number; ordinal: number }): boolean {
    if (this.deaf || this.received === null || frame.ordinal <= this.received.marks) return false
    if (frame.offset > this.received.offset) {
      this.lost()
      return false
    }
    this.received = { ...this.received, marks: frame.ordinal }
    return true
  }

  private lost(): void {
    this.detach()
    this.events.hole()
  }

  private drop(): void {
    this.queue = []
    this.queued = 0
    this.tail = nothing
  }

  /** What the screen shows is wrong: it is asked for anew. */
  private broken(): void {
    this.mending ??= setTimeout(
      () => {
        this.mending = undefined
        this.mendedAt = now()
        this.detach()
        this.submitted = this.received = null
        // A paused stream is asked for anyway, and from the beginning now.
        if (!this.paused) this.events.hole()
      },
      Math.max(0, this.mendedAt + mendEvery - now()),
    )
  }

  private push(step: Step, bytes: number): void {
    if (this.queued + bytes > maxQueued) return this.lost()
    this.queue.push(step)
    this.queued += bytes
    this.pump()
  }

  private pump(): void {
    const screen = this.screen
    if (screen === null || this.paused) return
    while (!this.busy) {
      const step = this.queue[0]
      if (step === undefined) return
      if (step.kind === 'output' && this.budget <= 0) return this.nextFrame()
      if (step.kind === 'output') this.write(screen)
      else this.apply(screen, step)
    }
  }

  private nextFrame(): void {
    this.frame ??= requestAnimationFrame(() => {
      this.frame = null
      this.budget = bytesPerFrame
      this.pump()
    })
  }

  /**
   * Writes the outputs at the head of the queue as one piece, as far as this frame's budget goes. The beginning of a
   * character at its end waits for the rest: emulators lose characters that were cut.
   */
  private write(screen: Screen): void {
    const pieces = [this.tail]
    let length = 0
    for (let step = this.queue[0]; step?.kind === 'output' && this.budget > 0; step = this.queue[0]) {
      const piece = step.data.subarray(0, this.budget)
      pieces.push(piece)
      length += piece.length
      this.budget -= piece.length
      if (piece.length < step.data.length) step.data = step.data.subarray(piece.length)
      else this.queue.shift()
    }
    this.queued -= length
    // The budget is given back with the next frame, also when this write does not use it up.
    this.nextFrame()
    const whole = this.holdBack(join(pieces, this.tail.length + length))
    if (whole.length === 0) return
    const before = this.submitted ?? { offset: 0, marks: 0 }
    const offset = before.offset + whole.length
    this.submitted = { ...before, offset }
    screen.write(
      whole,
      this.whenDrawn(offset, () => this.broken()),
    )
  }

  /** Keeps the unfinished end of data as the tail and returns what is before it. */
  private holdBack(data: Uint8Array): Uint8Array {
    const end = data.length - unfinishedCharacter(data)
    this.tail = data.slice(end)
    return data.subarray(0, end)
  }

  private apply(screen: Screen, step: Exclude<Step, { kind: 'output' }>): void {
    this.queue.shift()
    switch (step.kind) {
      case 'resize':
        this.submitted = { offset: this.submitted?.offset ?? 0, marks: step.ordinal }
        if (!screen.resize(step.cols, step.rows)) this.broken()
        this.events.size(step.cols, step.rows)
        return
      case 'reset':
        // A new terminal knows nothing of half a character.
        this.submitted = { offset: (this.submitted?.offset ?? 0) + this.tail.length, marks: step.ordinal }
        this.tail = nothing
        screen.reset()
        return
      case 'repaint': {
        this.queued -= step.data.length
        const { offset, marks } = step.position
        const whole = this.holdBack(step.data)
        // The picture ends inside a character when the stream does: with the same bytes.
        this.submitted = { offset: offset - this.tail.length, marks }
        screen.repaint(whole, step.cols, step.rows, this.whenDrawn(offset))
        this.events.size(step.cols, step.rows)
      }
    }
  }

  private whenDrawn(offset: number, failed?: () => void): (intact?: boolean) => void {
    const { generation } = this
    this.busy = true
    return (intact = true) => {
      if (generation !== this.generation) return
      this.busy = false
      this.events.drawn(offset)
      if (!intact) failed?.()
      this.pump()
    }
  }
}

function join(pieces: Uint8Array[], length: number): Uint8Array {
  const filled = pieces.filter((piece) => piece.length > 0)
  if (filled.length === 1 && filled[0]) return filled[0]
  const whole = new Uint8Array(length)
  let at = 0
  for (const piece of pieces) {
    whole.set(piece, at)
    at += piece.length
  }
  return whole
}
