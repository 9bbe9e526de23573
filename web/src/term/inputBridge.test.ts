import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { createBridgeField, createInputBridge, difference, type InputBridge } from './inputBridge'

/** What a program that edits one line shows after these bytes. */
function net(sent: string): string {
  let line = ''
  for (const character of sent)
    line = character === '\x7f' ? [...line].slice(0, -1).join('') : line + character
  return line
}

let field: HTMLTextAreaElement
let bridge: InputBridge
let sent: string
let keys: string[]
let pastes: string[]

beforeEach(() => {
  field = createBridgeField('Terminal input')
  document.body.append(field)
  sent = ''
  keys = []
  pastes = []
  bridge = createInputBridge(field, {
    text: (text) => (sent += text),
    key: (name) => keys.push(name),
    paste: (text) => pastes.push(text),
  })
})
afterEach(() => {
  bridge.dispose()
  field.remove()
})

// What a soft keyboard does to a field, in Chrome on Android's order of events: keydown 229, edit, input, keyup.
const keydown = () =>
  field.dispatchEvent(new KeyboardEvent('keydown', { key: 'Unidentified', keyCode: 229, bubbles: true }))
const edited = () => field.dispatchEvent(new Event('input', { bubbles: true }))

function insert(text: string): void {
  keydown()
  const [from, to] = [field.selectionStart, field.selectionEnd]
  field.value = field.value.slice(0, from) + text + field.value.slice(to)
  field.setSelectionRange(from + text.length, from + text.length)
  edited()
}

function remove(characters = 1): void {
  keydown()
  const to = field.selectionStart
  const from = Math.max(0, to - characters)
  field.value = field.value.slice(0, from) + field.value.slice(to)
  field.setSelectionRange(from, from)
  edited()
}

/** Replaces the last characters, as a suggestion, autocorrect or dictation does: one edit. */
function replace(characters: number, text: string): void {
  field.setSelectionRange(field.value.length - characters, field.value.length)
  insert(text)
}

function caretTo(character: number): void {
  const at = 4 + character
  field.setSelectionRange(at, at)
}

function compose(action: () => void): void {
  field.dispatchEvent(new Event('compositionstart'))
  action()
  field.dispatchEvent(new Event('compositionend'))
}

const type = (text: string) => [...text].forEach((letter) => insert(letter))

describe('inputBridge/the ten rows of UX 2.3', () => {
  const rows: [string, () => void, string][] = [
    ['1 typing', () => type('hello wor'), 'hello wor'],
    [
      '2 very fast: the events come after all the edits',
      () => {
        field.value += 'abc'
        field.setSelectionRange(7, 7)
        keydown()
        edited()
        edited()
        edited()
      },
      'abc',
    ],
    ['3 a suggestion', () => (type('hello wor'), replace(3, 'world ')), 'hello world '],
    ['4 the full stop of two spaces', () => (type('hi '), replace(1, '. ')), 'hi. '],
    ['5 autocorrect', () => (type('teh'), replace(3, 'the'), insert(' ')), 'the '],
    ['6 a letter in the middle', () => (type('hello wor'), caretTo(5), insert('X')), 'helloX wor'],
    [
      '7 the same in a repeated word',
      () => (type('hello hello'), caretTo(5), insert('o'), insert('k')),
      'hellook hello',
    ],
    [
      '8 dictation that changes its mind',
      () => compose(() => (insert('det'), replace(3, 'determine'), replace(9, 'determines if'))),
      'determines if',
    ],
    ['9 a word deleted by a swipe', () => (type('foo bar'), remove(3)), 'foo '],
    ['10 Backspace on an empty field', () => remove(), '\x7f'],
  ]
  for (const [name, action, expected] of rows) {
    it(name, () => {
      action()
      if (expected === '\x7f') expect(sent).toBe('\x7f')
      else expect(net(sent)).toBe(expected)
    })
  }
})

describe('inputBridge', () => {
  it('sends one DEL for every Backspace that is held', () => {
    for (let i = 0; i < 20; i++) remove()
    expect(sent).toBe('\x7f'.repeat(20))
  })

  it('sends only what is new', () => {
    type('ab')
    expect(sent).toBe('ab')
    sent = ''
    replace(1, 'c')
    expect(sent).toBe('\x7fc')
  })

  it('sends a composition as it grows and nothing at its end', () => {
    compose(() => {
      insert('か')
      replace(1, 'かん')
      replace(2, '漢')
    })
    expect(net(sent)).toBe('漢')
  })

  it('takes back whole characters, not halves of them', () => {
    insert('a😀')
    expect(difference('a😀', 'a😁')).toBe('\x7f😁')
    remove(2)
    expect(net(sent)).toBe('a')
  })

  it('turns a line break into the Enter key and begins anew', () => {
    type('ls')
    insert('\n')
    expect(keys).toEqual(['enter'])
    sent = ''
    remove()
    expect(sent).toBe('\x7f')
  })

  it('begins anew when told, but never in a composition', () => {
    field.dispatchEvent(new Event('compositionstart'))
    insert('ni')
    bridge.reset()
    expect(field.value).toContain('ni')
    replace(2, '你')
    field.dispatchEvent(new Event('compositionend'))
    expect(net(sent)).toBe('你')
    expect(field.value.replaceAll('\u200b', '')).toBe('')
  })

  it('begins anew after it lost the focus', () => {
    type('abc')
    field.dispatchEvent(new Event('blur'))
    sent = ''
    type('d')
    expect(sent).toBe('d')
  })

  it('sends hardware keys by name, and takes nothing of the field for them', () => {
    for (const init of [{ key: 'ArrowUp' }, { key: 'c', ctrlKey: true }, { key: 'Tab', shiftKey: true }]) {
      const event = new KeyboardEvent('keydown', { ...init, bubbles: true, cancelable: true })
      field.dispatchEvent(event)
      expect(event.defaultPrevented).toBe(true)
    }
    expect(keys).toEqual(['up', 'ctrl+c', 'shift+tab'])
    expect(sent).toBe('')
  })

  it('gives a paste away whole', () => {
    const event = new Event('paste', { cancelable: true })
    Object.assign(event, { clipboardData: { getData: () => 'two\nlines' } })
    field.dispatchEvent(event)
    expect(pastes).toEqual(['two\nlines'])
    expect(sent).toBe('')
  })

  it('keeps the field short', () => {
    type('x'.repeat(500))
    expect(field.value.length).toBeLessThan(420)
    expect(sent).toBe('x'.repeat(500))
  })
})
