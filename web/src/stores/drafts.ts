import {
  describeInputs,
  readKept,
  storeKept,
  type Attachment,
  type KeptBatch,
  type PendingInput,
  type ReturnedInput,
  type ReturnReason,
} from '@/link'
import { defineStore } from 'pinia'
import { onScopeDispose, reactive } from 'vue'
import { names, readJSON, remove, writeJSON } from './storage'

/** Text that was on its way to a program and came back. */
export interface Returned {
  text: string
  /** Why, as a sentence for the person. */
  why: string
  reason: ReturnReason
}

interface Draft {
  text: string
  returned: Returned | null
  /** When it was last written to (Date.now), to know which is the oldest. */
  at: number
}

const prefix = 'agent-helm.draft.'
const onTheWay = 'agent-helm.on-the-way.'
/** Tells this page's entries from those of pages that are gone. */
const page = crypto.getRandomValues(new Uint32Array(1))[0]
/** Drafts kept in this browser; the one not touched for the longest goes first. */
const mostDrafts = 100
/** The longest text that is kept across a reload, in characters. */
const longestKept = 200_000

const sentences: Record<ReturnReason, string> = {
  offline: 'Not sent: there was no connection.',
  late: 'Not sent: the connection came back too late to type it safely.',
  changed: 'Not sent: the question on screen had changed.',
  host_offline: 'Not sent: the host is not connected.',
  blocked: 'Not sent: the program does not read its input.',
  ended: 'Not sent: the program has ended.',
  forbidden: 'Not sent: this device may not type here.',
  invalid: 'Not sent: the program cannot take this.',
  too_large: 'Not sent: this is too long for one message.',
  refused: 'Not sent: the host did not take it.',
  unconfirmed: 'It is not known whether this arrived. Look before you send it again.',
  page_closed: 'Not sent: the page was closed before it arrived.',
}

function isDraft(value: unknown): value is Draft {
  const draft = value as Draft | null
  return (
    typeof draft === 'object' &&
    draft !== null &&
    typeof draft.text === 'string' &&
    typeof draft.at === 'number'
  )
}

function load(): Record<string, Draft> {
  const drafts: Record<string, Draft> = {}
  for (const name of names(prefix)) {
    const value = readJSON(name)
    if (isDraft(value))
      drafts[name.slice(prefix.length)] = { text: value.text, returned: value.returned ?? null, at: value.at }
    else remove(name)
  }
  const byAge = Object.entries(drafts).sort(([, a], [, b]) => b.at - a.at)
  for (const [key] of byAge.slice(mostDrafts)) {
    delete drafts[key]
    remove(prefix + key)
  }
  return drafts
}

/**
 * What the person wrote and has not sent, and what was sent and came back, per session. Written to storage with every
 * change: phones end pages without asking.
 */
export const useDraftsStore = defineStore('drafts', () => {
  const drafts = reactive(load())
  let concealed = false
  /** What came back since the page was loaded, as input, so that pieces read as one text in the order of typing. */
  const pieces = new Map<string, { before: string; inputs: PendingInput[] }>()

  function change(key: string, with_: (draft: Draft) => Draft): void {
    const draft = { ...with_(drafts[key] ?? { text: '', returned: null, at: 0 }), at: Date.now() }
    if (draft.text === '' && draft.returned === null) {
      delete drafts[key]
      remove(prefix + key)
      return
    }
    drafts[key] = draft
    store(key, draft)
  }

  function store(key: string, draft: Draft): void {
    if (!concealed) writeJSON(prefix + key, { ...draft, text: draft.text.slice(0, longestKept) })
  }

  /**
   * Takes everything out of storage: this device lost its access, and may be in other hands. The open page keeps it, so
   * that pairing again right here loses nothing.
   */
  function conceal(): void {
    concealed = true
    for (const name of [...names(prefix), ...names(onTheWay)]) remove(name)
  }

  /** This device is somebody again: what the page kept is stored once more. */
  function restore(): void {
    if (!concealed) return
    concealed = false
    for (const [key, draft] of Object.entries(drafts)) store(key, draft)
  }

  /** The draft of a session. */
  function text(key: string): string {
    return drafts[key]?.text ?? ''
  }

  function set(key: string, text: string): void {
    change(key, (draft) => ({ ...draft, text }))
  }

  /** Text that came back unsent, or null. */
  function returned(key: string): string | null {
    return drafts[key]?.returned?.text ?? null
  }

  /** Why it came back, as a sentence, or null. */
  function why(key: string): string | null {
    return drafts[key]?.returned?.why ?? null
  }

  /** Puts what came back into the draft, in front of what was written since. */
  function takeReturned(key: string): void {
    pieces.delete(key)
    change(key, (draft) => {
      const back = draft.returned?.text ?? ''
      return { ...draft, text: [back, draft.text].filter((part) => part !== '').join('\n'), returned: null }
    })
  }

  function dropReturned(key: string): void {
    pieces.delete(key)
    change(key, (draft) => ({ ...draft, returned: null }))
  }

  /** Takes input that a link handed back. */
  function giveBack(key: string, back: ReturnedInput): void {
    change(key, (draft) => {
      const known = draft.returned === null ? undefined : pieces.get(key)
      const before = known?.before ?? draft.returned?.text ?? ''
      const inputs = [...(known?.inputs ?? []), ...back.inputs].sort(
        (a, b) => a.typedAt - b.typedAt || a.id - b.id,
      )
      pieces.set(key, { before, inputs })
      const text = [before, describeInputs(inputs)].filter((part) => part !== '').join('\n')
      return { ...draft, returned: { text, why: sentences[back.reason], reason: back.reason } }
    })
  }

  // --- input on its way when the page ends ----------------------------------------------------------------------------

  /** Attachments with input that may be on its way. */
  const followed = new Map<Attachment, string>()
  /** What pages that are gone had on its way, until the session is opened and its holder can be asked. */
  const left = new Map<string, KeptBatch[]>()
  /** Attachments that ask for what a page left. */
  const asking = new Set<Attachment>()

  /** Receives what comes back of an attachment's input, until it is released. */
  function follow(key: string, attachment: Attachment): void {
    followed.set(attachment, key)
    attachment.on('returned', (back) => giveBack(key, back))
    attachment.on('released', () => {
      followed.delete(attachment)
      if (asking.delete(attachment)) keepOnTheWay()
    })
    attachment.on('state', ({ pending }) => {
      const asked = asking.has(attachment)
      if (asked && !pending.some((input) => input.state === 'unconfirmed')) asking.delete(attachment)
      if (asked || document.visibilityState === 'hidden') keepOnTheWay()
    })
    const batches = left.get(key)
    if (batches === undefined) return
    left.delete(key)
    asking.add(attachment)
    attachment.adopt(batches)
  }

  /**
   * A hidden page may be ended without a word; what is on its way then must not vanish with it. A shown page keeps only
   * what it has from another.
   */
  function keepOnTheWay(): void {
    const hidden = document.visibilityState === 'hidden'
    keep([...followed.keys()].filter((attachment) => hidden || asking.has(attachment)))
  }

  function keep(attachments: Attachment[]): void {
    const all = new Map([...left].map(([key, batches]) => [key, [...batches]]))
    for (const attachment of attachments) {
      const key = followed.get(attachment) ?? ''
      if (attachment.kept.length > 0) all.set(key, [...(all.get(key) ?? []), ...attachment.kept])
    }
    if (all.size === 0) return remove(onTheWay + page)
    if (concealed) return
    const entries = [...all].map(([key, batches]) => {
      const text = describeInputs(batches.flatMap((batch) => batch.inputs))
      return [key, storeKept(batches) ?? text] as const
    })
    writeJSON(onTheWay + page, Object.fromEntries(entries))
  }

  /** Takes over what pages that are gone had on its way. */
  function recover(): void {
    const gone = names(onTheWay)
    const stored = gone.map(readJSON)
    for (const kept of stored) {
      if (typeof kept !== 'object' || kept === null) continue
      for (const [key, value] of Object.entries(kept)) {
        const batches = readKept(value)
        if (batches) left.set(key, [...(left.get(key) ?? []), ...batches])
        // Too much to be kept as it was: nobody can say any more what became of it.
        else if (typeof value === 'string') giveBackText(key, value)
      }
    }
    // First under this page's name, then away under the others.
    keep([])
    for (const name of gone) if (name !== onTheWay + page) remove(name)
  }

  function giveBackText(key: string, text: string): void {
    change(key, (draft) => ({
      ...draft,
      returned: {
        text: [draft.returned?.text ?? '', text].filter((part) => part !== '').join('\n'),
        why: sentences.unconfirmed,
        reason: 'unconfirmed',
      },
    }))
  }

  recover()
  const listeners = new AbortController()
  const { signal } = listeners
  document.addEventListener('visibilitychange', keepOnTheWay, { signal })
  window.addEventListener('pagehide', () => keep([...followed.keys()]), { signal })
  window.addEventListener('pageshow', keepOnTheWay, { signal })
  onScopeDispose(() => listeners.abort())

  /** Whether anything unsent is here; the app does not reload itself then. */
  function anyText(): boolean {
    return Object.values(drafts).some((draft) => draft.text !== '' || draft.returned !== null)
  }

  /** The sessions for which something unsent is here, what a closed page left included. */
  function unsent(): string[] {
    const written = Object.entries(drafts).filter(([, draft]) => draft.text !== '' || draft.returned !== null)
    return [...new Set([...written.map(([key]) => key), ...left.keys()])]
  }

  /** Forgets everything unsent, in the page and in storage. */
  function wipe(): void {
    for (const key of Object.keys(drafts)) delete drafts[key]
    pieces.clear()
    left.clear()
    conceal()
  }

  function forget(key: string): void {
    change(key, () => ({ text: '', returned: null, at: 0 }))
  }

  return {
    text,
    set,
    returned,
    why,
    takeReturned,
    dropReturned,
    giveBack,
    follow,
    anyText,
    unsent,
    wipe,
    forget,
    conceal,
    restore,
  }
})
