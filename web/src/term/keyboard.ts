/**
 * Hardware keys by name, for where xterm's own keyboard is not used. Decided by `key`, never by `keyCode`: iPads report
 * Ctrl-C with the code of Enter.
 */
const names: Record<string, string> = {
  ArrowUp: 'up',
  ArrowDown: 'down',
  ArrowLeft: 'left',
  ArrowRight: 'right',
  Enter: 'enter',
  Escape: 'esc',
  Tab: 'tab',
  Backspace: 'backspace',
  Delete: 'delete',
  Insert: 'insert',
  Home: 'home',
  End: 'end',
  PageUp: 'pageup',
  PageDown: 'pagedown',
}

export interface Key {
  key: string
  ctrlKey: boolean
  altKey: boolean
  shiftKey: boolean
  metaKey: boolean
  isComposing: boolean
}

/** The name of a key that is not text, or null when the key is text or the browser's own. */
export function keyName(event: Key): string | null {
  if (event.isComposing || event.metaKey || event.key === 'Unidentified' || event.key === 'Process')
    return null
  const named =
    names[event.key] ?? (/^F([1-9]|1[0-2])$/.test(event.key) ? event.key.toLowerCase() : undefined)
  if (named !== undefined) return [...modifiers(event, true), named].join('+')
  const single = [...event.key].length === 1
  if (!single || !event.ctrlKey) return null
  // AltGr is reported as Ctrl+Alt and makes text.
  if (event.altKey) return null
  const key = event.key === ' ' ? 'space' : event.key.toLowerCase()
  return [...modifiers(event, false), key].join('+')
}

function modifiers(event: Key, shift: boolean): string[] {
  return [
    ...(event.ctrlKey ? ['ctrl'] : []),
    ...(event.altKey ? ['alt'] : []),
    ...(shift && event.shiftKey ? ['shift'] : []),
  ]
}
