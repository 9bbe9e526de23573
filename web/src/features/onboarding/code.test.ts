import { describe, expect, it } from 'vitest'
import { normalizeCode } from './code'

describe('a pairing code', () => {
  it.each([
    ['ab3x9k', 'AB3X9K'],
    [' AB3-X9K\n', 'AB3X9K'],
    ['ab 3x 9k 77', 'AB3X9K'],
    ['–', ''],
  ])('%j means %j', (typed, code) => expect(normalizeCode(typed)).toBe(code))
})
