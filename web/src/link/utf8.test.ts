import { describe, expect, it } from 'vitest'
import { unfinishedCharacter } from './utf8'

const unfinished = (...bytes: number[]) => unfinishedCharacter(Uint8Array.from(bytes))

describe('unfinishedCharacter', () => {
  it('finds the beginning of a character at every cut', () => {
    for (const character of ['é', '“', '€', '漢', '🎉']) {
      const bytes = new TextEncoder().encode(`a${character}`)
      for (let end = 1; end < bytes.length; end++) {
        expect(unfinishedCharacter(bytes.subarray(0, end))).toBe(end - 1)
      }
      expect(unfinishedCharacter(bytes)).toBe(0)
    }
  })

  it('waits for nothing behind bytes that are no UTF-8', () => {
    expect(unfinished()).toBe(0)
    expect(unfinished(0x80)).toBe(0)
    expect(unfinished(0x80, 0x80, 0x80, 0x80)).toBe(0)
    expect(unfinished(0xff)).toBe(0)
    expect(unfinished(0xf8, 0x80)).toBe(0)
    expect(unfinished(0xe2, 0x80, 0x41)).toBe(0)
    expect(unfinished(0xc3, 0xa9, 0x80)).toBe(0)
  })
})
