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

/** One piece of what was typed: plain text, or a key by name. */
export type Piece = { text: string } | { key: string }

// An escape sequence, a key with Alt, a control character, or a run of text.
const pieces =
  // eslint-disable-next-line no-control-regex
  /\x1b(?:\[[0-9;?<>]*[@-~]|O[@-~]|[^\x00-\x1f\x7f])?|[\x00-\x1f\x7f-\x9f]|[^\x00-\x1f\x7f-\x9f]+/gu

/** What typed bytes mean, piece by piece. */
export function readBytes(data: Uint8Array): Piece[] {
  let text: string
  try {
    text = new TextDecoder('utf-8', { fatal: true }).decode(data)
  } catch {
    return [{ key: '?' }]
  }
  return [...text.matchAll(pieces)].map(([piece]) => readPiece(piece))
}

function readPiece(piece: string): Piece {
  const code = piece.codePointAt(0) ?? 0
  if (code >= 0x20 && code !== 0x7f && (code < 0x80 || code > 0x9f)) return { text: piece }
  if (piece === '\r') return { key: 'enter' }
  if (piece === '\t') return { key: 'tab' }
  if (piece === '\x7f' || piece === '\b') return { key: 'backspace' }
  if (piece === '\x1b') return { key: 'esc' }
  if (piece.length === 1) return { key: code < 0x20 ? `ctrl+${String.fromCharCode(code + 0x60)}` : '?' }
  const cursor = /^.[[O][\d;]*([A-DFHZ])$/.exec(piece)?.[1]
  if (cursor !== undefined) return { key: finals[cursor] ?? '?' }
  const tilde = /^.\[(\d+)(?:;\d+)?~$/.exec(piece)?.[1]
  if (tilde !== undefined) return { key: tildes[tilde] ?? '?' }
  return { key: piece.length === 2 ? `alt+${piece.slice(1)}` : '?' }
}
