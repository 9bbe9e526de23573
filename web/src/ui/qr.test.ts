import { describe, expect, it } from 'vitest'
import { qrModules, qrPath } from './qr'

const drawn = (text: string) => qrModules(text).map((row) => row.map((dark) => (dark ? '#' : '.')).join(''))

describe('a QR code', () => {
  it('is this one', () => {
    expect(drawn('agent-helm')).toMatchInlineSnapshot(`
      [
        "#######.###.#.#######",
        "#.....#.#.#...#.....#",
        "#.###.#...##..#.###.#",
        "#.###.#.#.#.#.#.###.#",
        "#.###.#..##...#.###.#",
        "#.....#...#...#.....#",
        "#######.#.#.#.#######",
        "........##...........",
        "#.##.###......#..#.##",
        "....##..#.#.##.####.#",
        ".##.#.#.#...####..###",
        "...##..#..#.#...##...",
        ".####.#.####..###....",
        "........#.#..#..#....",
        "#######.##...#.###...",
        "#.....#.#..###...##.#",
        "#.###.#...##...####..",
        "#.###.#.#.#...#..###.",
        "#.###.#.#..#.#.#.....",
        "#.....#...###.#.....#",
        "#######.#..###.####..",
      ]
    `)
  })

  it('grows with the text, up to its limit', () => {
    expect(qrModules('x').length).toBe(21)
    expect(qrModules('x'.repeat(100)).length).toBe(41)
    expect(qrModules('x'.repeat(287)).length).toBe(65)
    expect(() => qrModules('x'.repeat(288))).toThrow(RangeError)
    // Letters outside ASCII count as their bytes.
    expect(() => qrModules('ü'.repeat(144))).toThrow(RangeError)
  })

  it('is drawn as one path, a square for every dark module', () => {
    const { size, path } = qrPath('agent-helm')
    const dark = drawn('agent-helm').join('').split('#').length - 1
    expect(size).toBe(21)
    expect(path.split('M')).toHaveLength(dark + 1)
  })
})
