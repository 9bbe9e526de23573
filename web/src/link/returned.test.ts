import { inputKind, type InputKind } from '@/wire'
import { describe, expect, it } from 'vitest'
import { textBytes } from './inputQueue'
import { keyLabel } from './keyNames'
import { describeInputs } from './returned'

const { bytes, keys, paste, submit } = inputKind
const inputs = (...list: [InputKind, string][]) =>
  list.map(([kind, text]) => ({ kind, data: textBytes(text) }))

describe('describeInputs', () => {
  for (const [name, list, text] of [
    ['typed letters', inputs([bytes, 'l'], [bytes, 's']), 'ls'],
    ['keys', inputs([keys, 'up'], [keys, 'up'], [keys, 'enter']), '3 keys (↑ ↑ ⏎)'],
    ['one key', inputs([keys, 'shift+tab']), '1 key (Shift+Tab)'],
    ['several keys in one input', inputs([keys, 'esc esc']), '2 keys (Esc Esc)'],
    ['text, then Enter', inputs([bytes, 'ls'], [bytes, '\r']), 'ls 1 key (⏎)'],
    ['text and Enter in one input', inputs([bytes, '12\r']), '12 1 key (⏎)'],
    ['a sequence of sequences', inputs([bytes, '\x1b[A\x1b[1;5C\x1b[5~\x01é']), '4 keys (↑ → PgUp ^A)\né'],
    ['corrections', inputs([bytes, 'teh'], [bytes, '\x7f'], [bytes, '\x7f'], [bytes, 'he']), 'the'],
    ['backspace with nothing before it', inputs([bytes, '\x7f']), '1 key (⌫)'],
    ['control keys', inputs([bytes, '\x03'], [keys, 'ctrl+d']), '2 keys (^C ^D)'],
    ['arrows of either mode', inputs([bytes, '\x1b[A'], [bytes, '\x1bOB']), '2 keys (↑ ↓)'],
    ['meta', inputs([bytes, '\x1bb']), '1 key (Alt+b)'],
    ['a paste', inputs([paste, 'a\nb']), 'a\nb'],
    ['messages', inputs([submit, 'first'], [submit, 'second']), 'first\nsecond'],
    ['bytes that are no text', [{ kind: bytes, data: Uint8Array.of(0xff) }], '1 key (?)'],
    ['nothing', [], ''],
  ] as const) {
    it(`writes ${name} for a person`, () => expect(describeInputs(list)).toBe(text))
  }

  it('names keys', () => {
    expect(['f5', 'ctrl+c', 'ctrl+up', 'alt+b', 'pageup'].map(keyLabel)).toEqual([
      'F5',
      '^C',
      'Ctrl+↑',
      'Alt+b',
      'PgUp',
    ])
  })
})
