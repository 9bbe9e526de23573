import { describe, expect, it } from 'vitest'
import { hitsInBuffer, hitsInHistory, offsets } from './find'

describe('finding', () => {
  it('finds what the terminal holds, newest first, whatever the capitals', () => {
    expect(hitsInBuffer(['Go test', 'x', 'go vet && GO run'], 'go')).toEqual([
      { in: 'buffer', line: 2, start: 10, end: 12 },
      { in: 'buffer', line: 2, start: 0, end: 2 },
      { in: 'buffer', line: 0, start: 0, end: 2 },
    ])
  })

  it('takes the text as text, not as a pattern', () => {
    expect(hitsInBuffer(['a.b', 'axb', '[x](y) {1}|^$\\ - /'], 'a.b')).toHaveLength(1)
    for (const wanted of ['[x](y)', '{1}|^$\\', '- /', '?', '*', '+'])
      expect(hitsInBuffer([`before ${wanted} after`], wanted)).toHaveLength(1)
  })

  it('leaves to the terminal what it holds itself', () => {
    const match = (line: number) => ({
      line,
      row: -1,
      column: 0,
      rune: 3,
      runes: 2,
      cell: 3,
      cells: 2,
      text: '',
      text_start: 0, // prettier-ignore
    })
    const found = { items: [match(9), match(5), match(2)], next: null, complete: true }
    expect(hitsInHistory(found, 5)).toEqual([
      { in: 'history', line: 5, start: 3, end: 5 },
      { in: 'history', line: 2, start: 3, end: 5 },
    ])
  })

  it('counts code points as the server does', () => {
    expect(offsets('a🙂bc', 1, 3)).toEqual({ start: 1, end: 4 })
    expect(offsets('abc', 2, 3)).toEqual({ start: 2, end: 3 })
    expect(offsets('abc', 7, 9)).toEqual({ start: 3, end: 3 })
  })
})
