import { keyName } from './keyboard'

/**
 * Direct typing from a soft keyboard (UX Appendix A). Autocorrect, suggestions, dictation and swiping edit text that
 * was sent already; no event says what they meant. So the field's content is compared with what was sent: the part that
 * differs is taken back with DEL and sent anew. The field always begins with sentinels, so that Backspace on an "empty"
 * field still changes it, and held keys repeat.
 */

/** Zero-width spaces; not characters anybody types. */
const sentinel = '\u200b'
const sentinels = 4
const padding = sentinel.repeat(sentinels)
/** A field that grew this long begins anew when nothing is being composed. */
const longest = 400

const del = '\x7f'

export interface BridgeTarget {
  /** Text to send; DEL characters in front take back what was sent before. */
  text(text: string): void
  /** A key that is not text. */
  key(name: string): void
  /** Text pasted into the field. */
  paste(text: string): void
}

/** What changes `before` into `after`, for a program that appends and takes back at the end. */
export function difference(before: string, after: string): string {
  const [old, next] = [[...before], [...after]]
  let same = 0
  while (same < old.length && same < next.length && old[same] === next[same]) same++
  return del.repeat(old.length - same) + next.slice(same).join('')
}

export interface InputBridge {
  /** Forgets what was typed: Enter, a toolbar key, a reconnect make it the program's business. */
  reset(): void
  dispose(): void
}

export function createInputBridge(field: HTMLTextAreaElement, target: BridgeTarget): InputBridge {
  let last = ''
  let composing = false
  let pendingReset = false
  const listeners = new AbortController()
  const { signal } = listeners

  function restart(): void {
    last = ''
    pendingReset = false
    field.value = padding
    field.setSelectionRange(sentinels, sentinels)
  }

  /** Never in the middle of a composition: the keyboard would compose on into the void. */
  function reset(): void {
    if (composing) pendingReset = true
    else restart()
  }

  function take(): void {
    const { value } = field
    let pad = 0
    while (pad < sentinels && value[pad] === sentinel) pad++
    const text = value.slice(pad).replaceAll(sentinel, '')
    const changed = del.repeat(sentinels - pad) + difference(last, text)
    last = text
    if (changed !== '') send(changed)
    if (composing) return
    if (pendingReset || last.length > longest) restart()
    else if (pad < sentinels) restorePadding()
  }

  function restorePadding(): void {
    const caret = field.selectionStart
    field.value = padding + last
    // The caret keeps its place in the text; a caret among the sentinels would eat them.
    const at = Math.max(sentinels, caret + sentinels)
    field.setSelectionRange(Math.min(at, field.value.length), Math.min(at, field.value.length))
  }

  /** A line break from the keyboard is the Enter key: LF is something else to a program. */
  function send(changed: string): void {
    if (!/[\n\r]/.test(changed)) return target.text(changed)
    for (const piece of changed.split(/(\r\n|\n|\r)/)) {
      if (/[\n\r]/.test(piece)) target.key('enter')
      else if (piece !== '') target.text(piece)
    }
    pendingReset = true
  }

  field.addEventListener('input', take, { signal })
  field.addEventListener('compositionstart', () => (composing = true), { signal })
  field.addEventListener(
    'compositionend',
    () => {
      composing = false
      take()
    },
    { signal },
  )
  field.addEventListener(
    'blur',
    () => {
      composing = false
      restart()
    },
    { signal },
  )
  field.addEventListener('focus', restart, { signal })
  field.addEventListener(
    'keydown',
    (event) => {
      const name = keyName(event)
      // Backspace and Enter of soft keyboards arrive as edits of the field; only a hardware key is sure to be one.
      if (name === null || name === 'backspace') return
      event.preventDefault()
      event.stopPropagation()
      target.key(name)
      reset()
    },
    { signal },
  )
  field.addEventListener(
    'paste',
    (event) => {
      event.preventDefault()
      const text = event.clipboardData?.getData('text/plain') ?? ''
      if (text !== '') target.paste(text)
      reset()
    },
    { signal },
  )
  // The selection must not reach into the sentinels, or the next letter replaces them.
  field.addEventListener(
    'selectionchange',
    () => {
      if (!composing && field.selectionStart === field.selectionEnd && field.selectionStart < sentinels) {
        field.setSelectionRange(sentinels, sentinels)
      }
    },
    { signal },
  )
  restart()

  return {
    reset,
    dispose: () => listeners.abort(),
  }
}

/** The attributes of a field for direct typing: nothing "helps", and no zoom on focus. */
export function createBridgeField(label: string): HTMLTextAreaElement {
  const field = document.createElement('textarea')
  field.className = 'term-bridge'
  field.setAttribute('aria-label', label)
  field.autocapitalize = 'none'
  field.setAttribute('autocorrect', 'off')
  field.autocomplete = 'off'
  field.spellcheck = false
  field.setAttribute('enterkeyhint', 'enter')
  return field
}
