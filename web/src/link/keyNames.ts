/** How keys are written for a person: what came back unsent must be readable, escape sequences are not. */

const symbols: Record<string, string> = {
  up: '↑',
  down: '↓',
  left: '←',
  right: '→',
  enter: '⏎',
  esc: 'Esc',
  tab: 'Tab',
  backspace: '⌫',
  delete: 'Del',
  insert: 'Ins',
  home: 'Home',
  end: 'End',
  pageup: 'PgUp',
  pagedown: 'PgDn',
  space: '␣',
}

/** The name of one key, such as "shift+tab" or "ctrl+c", as a person reads it. */
export function keyLabel(name: string): string {
  const parts = name.split('+')
  const key = parts.pop() ?? ''
  const symbol = symbols[key] ?? (/^f\d+$/.test(key) ? key.toUpperCase() : key)
  if (parts.length === 1 && parts[0] === 'ctrl' && key.length === 1) return `^${key.toUpperCase()}`
  return [...parts.map((part) => part[0]?.toUpperCase() + part.slice(1)), symbol].join('+')
}

const finals: Record<string, string> = {
  A: 'up',
  B: 'down',
  C: 'right',
  D: 'left',
  H: 'home',
  F: 'end',
  Z: 'shift+tab',
}
const tildes: Record<string, string> = { 2: 'insert', 3: 'delete', 5: 'pageup', 6: 'pagedown' }

/** Whether a string is one piece of plain text, without a control character. */
function isText(text: string): boolean {
  // eslint-disable-next-line no-control-regex
  return text !== '' && !/[\x00-\x1f\x7f-\x9f]/.test(text)
}

/** What bytes of a physical key mean: plain text, or the name of a key. */
export function readKeyBytes(data: Uint8Array): { text: string } | { key: string } {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(data)
  } catch {
    return { key: '?' }
  }
  if (isText(text)) return { text }
  if (text === '\r') return { key: 'enter' }
  if (text === '\t') return { key: 'tab' }
  if (text === '\x7f' || text === '\b') return { key: 'backspace' }
  if (text === '\x1b') return { key: 'esc' }
  const code = text.codePointAt(0) ?? 0
  if (text.length === 1 && code < 0x20) return { key: `ctrl+${String.fromCharCode(code + 0x60)}` }
  // eslint-disable-next-line no-control-regex
  const cursor = /^\x1b[[O](?:1;\d+)?([A-DFHZ])$/.exec(text)?.[1]
  if (cursor) return { key: finals[cursor] ?? '?' }
  // eslint-disable-next-line no-control-regex
  const tilde = /^\x1b\[(\d+)(?:;\d+)?~$/.exec(text)?.[1]
  if (tilde) return { key: tildes[tilde] ?? '?' }
  if (text.startsWith('\x1b') && isText(text.slice(1))) return { key: `alt+${text.slice(1)}` }
  return { key: '?' }
}
