import { describe, expect, it } from 'vitest'
import { keyName } from './keyboard'

const key = (key: string, change: object = {}) =>
  keyName({
    key,
    ctrlKey: false,
    altKey: false,
    shiftKey: false,
    metaKey: false,
    isComposing: false,
    ...change,
  })

describe('keyName', () => {
  it('names keys that are not text', () => {
    expect(key('ArrowLeft')).toBe('left')
    expect(key('Escape')).toBe('esc')
    expect(key('F5')).toBe('f5')
    expect(key('Tab', { shiftKey: true })).toBe('shift+tab')
    expect(key('ArrowUp', { ctrlKey: true, altKey: true })).toBe('ctrl+alt+up')
  })

  it('goes by the key, so that an iPad’s Ctrl-C is one (INP-14)', () => {
    expect(key('c', { ctrlKey: true, keyCode: 13 })).toBe('ctrl+c')
    expect(key('C', { ctrlKey: true })).toBe('ctrl+c')
    expect(key('[', { ctrlKey: true })).toBe('ctrl+[')
    expect(key(' ', { ctrlKey: true })).toBe('ctrl+space')
  })

  it('leaves text, AltGr, compositions and the browser’s own keys alone', () => {
    expect(key('a')).toBeNull()
    expect(key('€', { ctrlKey: true, altKey: true })).toBeNull()
    expect(key('v', { metaKey: true })).toBeNull()
    expect(key('Enter', { isComposing: true })).toBeNull()
    expect(key('Unidentified')).toBeNull()
    expect(key('Shift', { shiftKey: true })).toBeNull()
  })
})
