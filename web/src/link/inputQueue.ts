import { inputLifetime, inputStatus, maxInput, type InputKind } from '@/wire'
import { describeInputs } from './returned'

/** One thing a person did that is not known to have reached the program yet. */
export interface PendingInput {
  /** Rises with every input of the attachment. */
  readonly id: number
  readonly kind: InputKind
  readonly data: Uint8Array
  /** When it was typed, on the clock of now(). */
  readonly typedAt: number
  /** The id of the dialog that was on screen then, empty for none. */
  readonly prompt: string
  /**
   * waiting: not sent yet, goes out when the connection is back in time. sent: on its way. unconfirmed: may or may not
   * have arrived; the holder is being asked.
   */
  readonly state: 'waiting' | 'sent' | 'unconfirmed'
}

/** Why input came back. */
export type ReturnReason =
  | 'offline' // not connected, and not back in time
  | 'late' // older than ten seconds when the connection was back
  | 'changed' // the dialog on screen was another one when the connection was back
  | 'host_offline'
  | 'blocked' // the program does not read its input
  | 'ended'
  | 'forbidden'
  | 'invalid'
  | 'too_large'
  | 'refused'
  | 'unconfirmed' // nobody could say any more whether it arrived
  | 'page_closed' // the page ended before the holder had it

/** Input that was not written to the program and is the person's again. */
export interface ReturnedInput {
  inputs: PendingInput[]
  /** The inputs as a person reads them. */
  text: string
  reason: ReturnReason
}

/** The inputs of one client id, as a page that ends leaves them to the next. */
export interface KeptBatch {
  client: string
  reason: ReturnReason | null
  inputs: KeptInput[]
}

export interface KeptInput {
  seq: number
  kind: InputKind
  data: Uint8Array
  /** On the clock of now(). */
  typedAt: number
  prompt: string
  /** It is certain that the program did not and will not get it. */
  lost: boolean
}

export interface InputQueueOptions {
  now(): number
  newClient(): string
  /** Sends one input on the open attachment. */
  send(input: { client: string; seq: number; kind: number; age: number; data: Uint8Array }): void
  retire(client: string): void
  changed(): void
  returned(returned: ReturnedInput): void
  applied(id: number): void
}

interface Item {
  id: number
  seq: number
  kind: InputKind
  data: Uint8Array
  typedAt: number
  prompt: string
  /** How often it was sent, and how often the server had nobody to pass it to. */
  sent: number
  turnedAway: number
  /** The holder said that nothing of it was or will be written. */
  refused: boolean
}

/** Whether it is certain that the program did not and will not get it. */
function lost(item: Item): boolean {
  return item.refused || item.turnedAway >= item.sent
}

/** The inputs of one client id. */
interface Batch {
  client: string
  items: Item[]
  lastSeq: number
  applied: number
  /** Set when the id is being retired; items wait for the answer. */
  reason: ReturnReason | null
  /** Left by a page that is gone: nothing typed on this one was typed behind it. */
  adopted: boolean
}

/** Bounds of what may wait unacknowledged. More is handed back at once. */
const maxPending = 512
const maxPendingBytes = 1 << 20

/**
 * How long input may stay unanswered on an open connection before it is sent again, in milliseconds; doubled each time
 * up to the second. What is between the server and the holder breaks without our noticing, and sending again is free of
 * effects. More than resendBytes is not repeated on a guess: it may simply take its time.
 */
const firstPatience = 1000
const lastPatience = 4000
const resendBytes = 16 << 10

/** The shortest time between two fillings of a gap, in milliseconds. */
const gapPause = 250

const reasons: Record<number, ReturnReason> = {
  [inputStatus.late]: 'late',
  [inputStatus.blocked]: 'blocked',
  [inputStatus.ended]: 'ended',
  [inputStatus.hostOffline]: 'host_offline',
  [inputStatus.forbidden]: 'forbidden',
  [inputStatus.invalid]: 'invalid',
}

/**
 * The person's side of "nothing is doubled, nothing vanishes, nothing arrives by surprise" (DESIGN §1.2).
 *
 * Inputs of one client id carry seq 1, 2, 3… and stay here until the holder says Applied. After a break, a gap, or
 * without an answer they are sent again, unchanged, only while every one of them is younger than ten seconds and the
 * dialog that the person saw is still up. Otherwise the id is retired: the holder answers with the last seq it applied and refuses the id for ever,
 * and what is above goes back to the person. While that answer is open new input goes back as well, because it was
 * typed behind the one that failed.
 */
export class InputQueue {
  private active: Batch
  private retiring: Batch[] = []
  private open = false
  private closedAt: number
  private prompt = ''
  private nextId = 1
  private timer: ReturnType<typeof setTimeout> | undefined
  private patience = firstPatience
  private filledAt = -gapPause
  private disposed = false

  constructor(private readonly options: InputQueueOptions) {
    this.active = this.newBatch()
    this.closedAt = options.now()
  }

  /** The id that new input gets. */
  get client(): string {
    return this.active.client
  }

  /** The last seq of the present id that the holder has applied. */
  get applied(): number {
    return this.active.applied
  }

  get pending(): PendingInput[] {
    const waiting = this.retiring.flatMap((batch) => batch.items.map((item) => this.view(item, true)))
    return [...waiting, ...this.active.items.map((item) => this.view(item, false))]
  }

  get idle(): boolean {
    return this.active.items.length === 0 && this.retiring.length === 0
  }

  /** Takes an input and returns its id. It is sent now, or waits, or is handed back at once. */
  add(kind: InputKind, data: Uint8Array): number {
    const item: Item = {
      id: this.nextId++,
      seq: this.active.lastSeq + 1,
      kind,
      data,
      typedAt: this.options.now(),
      prompt: this.prompt,
      sent: 0,
      turnedAway: 0,
      refused: false,
    }
    const barrier = this.barrier(item)
    if (barrier !== null) {
      this.giveBack([item], barrier)
      return item.id
    }
    this.active.lastSeq = item.seq
    this.active.items.push(item)
    if (this.open) this.send(this.active, item)
    this.schedule()
    this.options.changed()
    return item.id
  }

  private barrier(item: Item): ReturnReason | null {
    if (item.data.length > maxInput) return 'too_large'
    const waiting = this.retiring.find((batch) => !batch.adopted && !this.expired(batch))
    if (waiting?.reason) return waiting.reason
    const bytes = this.active.items.reduce((sum, other) => sum + other.data.length, item.data.length)
    if (this.active.items.length >= maxPending || bytes > maxPendingBytes) return 'blocked'
    if (!this.open && this.options.now() - this.closedAt >= inputLifetime) return 'offline'
    return null
  }

  /** Whether everything of a batch is too old for any holder to write it, so that new input need not wait for it. */
  private expired(batch: Batch): boolean {
    const newest = batch.items.at(-1)
    return newest === undefined || this.age(newest) >= inputLifetime
  }

  /** What is here, for the page that comes after this one. */
  get kept(): KeptBatch[] {
    return [...this.retiring, this.active]
      .filter((batch) => batch.items.length > 0)
      .map(({ client, reason, items }) => ({
        client,
        reason,
        inputs: items.map((item) => {
          const { seq, kind, data, typedAt, prompt } = item
          return { seq, kind, data, typedAt, prompt, lost: lost(item) }
        }),
      }))
  }

  /**
   * Takes over what a page that is gone had here. Its ids are retired before this page sends anything; the answers say
   * what had arrived, and the rest comes back.
   */
  adopt(batches: readonly KeptBatch[]): void {
    for (const { client, reason, inputs } of batches) {
      const items = inputs.map(({ lost: isLost, ...input }) => ({
        ...input,
        id: this.nextId++,
        sent: isLost ? 0 : 1,
        turnedAway: 0,
        refused: false,
      }))
      const batch: Batch = {
        client,
        items,
        lastSeq: items.at(-1)?.seq ?? 0,
        applied: 0,
        reason: reason ?? 'page_closed',
        adopted: true,
      }
      if (items.every(lost)) {
        this.giveBack(items, 'page_closed')
      } else {
        this.retiring.push(batch)
        if (this.open) this.options.retire(client)
      }
    }
    this.options.changed()
  }

  /** The dialog on screen changed. */
  setPrompt(prompt: string): void {
    this.prompt = prompt
  }

  /** The attachment is (again) there, with this dialog on screen. */
  opened(prompt: string): void {
    this.open = true
    this.prompt = prompt
    this.patience = firstPatience
    this.sendAgain()
    this.schedule()
    this.options.changed()
  }

  /** Repeats what was not answered, or begins to take it back where it may no longer be sent. */
  private sendAgain(): void {
    for (const batch of this.retiring) this.options.retire(batch.client)
    const { items } = this.active
    if (items.some((item) => this.age(item) >= inputLifetime)) {
      this.retireActive(items.every((item) => item.sent > 0 && lost(item)) ? 'host_offline' : 'late')
    } else if (items.some((item) => item.prompt !== this.prompt)) this.retireActive('changed')
    else for (const item of items) this.send(this.active, item)
  }

  /**
   * An input was lost between server and holder: all again, in order. Every input behind the gap is refused with it, so
   * only the first answer of a moment counts.
   */
  private fillGap(): void {
    const now = this.options.now()
    if (now - this.filledAt < gapPause) return
    this.filledAt = now
    this.sendAgain()
  }

  /** The attachment is gone; whether what was sent has arrived is not known. */
  closed(): void {
    if (!this.open) return
    this.open = false
    this.closedAt = this.options.now()
    this.schedule()
  }

  /** The session's host is back: what could not be asked before is asked now. */
  hostBack(): void {
    if (!this.open) return
    this.patience = firstPatience
    this.sendAgain()
    this.schedule()
    this.options.changed()
  }

  /** Takes an InputAck; false when the client is not one of this queue. */
  acked(client: string, seq: number, status: number): boolean {
    const batch = [this.active, ...this.retiring].find((candidate) => candidate.client === client)
    if (batch === undefined) return false
    if (status === inputStatus.applied) this.applyUpTo(batch, seq)
    else if (status === inputStatus.retired) this.retired(batch, seq)
    else this.refused(batch, seq, status)
    this.schedule()
    this.options.changed()
    return true
  }

  /** Hands everything back that is still here; the attachment is at its end. */
  dispose(): void {
    if (this.disposed) return
    this.disposed = true
    clearTimeout(this.timer)
    const batches = [...this.retiring, this.active]
    this.retiring = []
    for (const batch of batches) {
      if (this.open && batch.items.some((item) => item.sent > 0)) this.options.retire(batch.client)
      this.giveBack(
        batch.items.filter((item) => !lost(item)),
        'unconfirmed',
      )
      this.giveBack(batch.items.filter(lost), batch.reason ?? 'offline')
    }
    this.active = this.newBatch()
  }

  private newBatch(): Batch {
    return {
      client: this.options.newClient(),
      items: [],
      lastSeq: 0,
      applied: 0,
      reason: null,
      adopted: false,
    }
  }

  private view(item: Item, retiring: boolean): PendingInput {
    const { id, kind, data, typedAt, prompt } = item
    const state = retiring ? 'unconfirmed' : item.sent > 0 ? 'sent' : 'waiting'
    return { id, kind, data, typedAt, prompt, state }
  }

  private age(item: Item): number {
    return Math.max(0, Math.round(this.options.now() - item.typedAt))
  }

  private send(batch: Batch, item: Item): void {
    item.sent++
    const { seq, kind, data } = item
    this.options.send({ client: batch.client, seq, kind, age: this.age(item), data })
  }

  private applyUpTo(batch: Batch, seq: number): void {
    batch.applied = Math.max(batch.applied, seq)
    const done = batch.items.filter((item) => item.seq <= seq)
    batch.items = batch.items.filter((item) => item.seq > seq)
    for (const item of done) this.options.applied(item.id)
  }

  private retired(batch: Batch, seq: number): void {
    this.applyUpTo(batch, seq)
    const rest = batch.items
    this.forget(batch)
    this.giveBack(rest, batch.reason ?? 'refused')
  }

  private refused(batch: Batch, seq: number, status: number): void {
    const reason = reasons[status] ?? 'refused'
    if (status === inputStatus.gap) this.applyUpTo(batch, seq)
    // A holder that does not know a client lacks its first input.
    const missing = { [inputStatus.gap]: seq + 1, [inputStatus.unknownClient]: 1 }[status]
    if (missing !== undefined && batch === this.active && batch.items[0]?.seq === missing) {
      this.fillGap()
      return
    }
    // The rest of a retired batch is told by the answer to Retire.
    if (status === inputStatus.gap && batch !== this.active) return
    for (const item of batch.items) {
      if (item.seq !== seq) continue
      if (status === inputStatus.hostOffline) item.turnedAway++
      else item.refused = true
    }
    if (batch === this.active) {
      // A host that was just restarted is back in a moment; what is young enough is tried again.
      if (status !== inputStatus.hostOffline) this.retireActive(reason)
    } else if (batch.items.every(lost)) this.release(batch)
    else if (seq === 0 && status === inputStatus.ended) {
      // The answer to a retirement whose holder is gone: nobody can say more.
      this.forget(batch)
      this.giveBack(batch.items, 'unconfirmed')
    }
  }

  /** Ends the use of the present id. What was never sent or was refused comes back now, the rest with the answer. */
  private retireActive(reason: ReturnReason): void {
    const batch = this.active
    batch.reason = reason
    this.active = this.newBatch()
    if (batch.lastSeq === 0) return
    const open = batch.items.some((item) => !lost(item))
    if (open) {
      this.retiring.push(batch)
      if (this.open) this.options.retire(batch.client)
      return
    }
    if (this.open && batch.items.some((item) => item.sent > 0)) this.options.retire(batch.client)
    this.giveBack(batch.items, reason)
  }

  private release(batch: Batch): void {
    this.forget(batch)
    this.giveBack(batch.items, batch.reason ?? 'refused')
  }

  private forget(batch: Batch): void {
    if (batch === this.active) this.active = this.newBatch()
    else this.retiring = this.retiring.filter((other) => other !== batch)
  }

  private giveBack(items: Item[], reason: ReturnReason): void {
    if (items.length === 0) return
    const inputs = items.map((item) => this.view(item, false))
    this.options.returned({ inputs, text: describeInputs(inputs), reason })
  }

  /** While nothing can be sent, input turns ten seconds old by itself; otherwise what is not answered is repeated. */
  private schedule(): void {
    clearTimeout(this.timer)
    const oldest = this.active.items[0]
    if (this.disposed || oldest === undefined) {
      this.patience = firstPatience
      return
    }
    const left = Math.max(0, inputLifetime - this.age(oldest))
    if (!this.open) this.timer = setTimeout(() => this.expire(), left)
    else this.timer = setTimeout(() => this.unanswered(), Math.min(left, this.patience))
  }

  private unanswered(): void {
    const oldest = this.active.items[0]
    if (!this.open || oldest === undefined) return
    this.patience = Math.min(2 * this.patience, lastPatience)
    const bytes = this.active.items.reduce((sum, item) => sum + item.data.length, 0)
    if (bytes <= resendBytes || this.age(oldest) >= inputLifetime) {
      this.sendAgain()
      this.options.changed()
    }
    this.schedule()
  }

  private expire(): void {
    if (this.open || this.active.items.length === 0) return
    const batch = this.active
    // The tail that no one has sent is certainly not written; only the head needs the holder's word.
    const tail = batch.items.filter(lost)
    batch.items = batch.items.filter((item) => !lost(item))
    this.active = this.newBatch()
    if (batch.items.length > 0) {
      batch.reason = 'late'
      this.retiring.push(batch)
    }
    this.giveBack(tail, 'offline')
    this.options.changed()
  }
}

/** The bytes of a text input. */
export function textBytes(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}
