import { describe, expect, it } from 'vitest'
import { alreadyShown } from './transcript'

describe('where a page meets the terminal', () => {
  const page = ['e', 'd', 'c', 'b', 'a'] // newest first

  it('leaves out the lines that the terminal holds itself', () => {
    expect(alreadyShown(page, ['d', 'e', 'screen'])).toBe(2)
  })

  it('leaves out one line when only that one left the screen', () => {
    expect(alreadyShown(page, ['e', 'screen'])).toBe(1)
  })

  it('is not taken in by the same text elsewhere', () => {
    expect(alreadyShown(['$', 'ls', '$', 'pwd'], ['$', 'ls', '$'])).toBe(1)
    expect(alreadyShown(['ok', 'b', 'x', 'b', 'a'], ['b', 'ok'])).toBe(2)
  })

  it('leaves out nothing when the two do not meet', () => {
    expect(alreadyShown(page, ['z'])).toBe(0)
    expect(alreadyShown(page, [])).toBe(0)
  })
})
