import { describe, expect, it } from 'vitest'
import { alreadyShown, createTranscript } from './transcript'

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

describe('a transcript', () => {
  /** An archive of lines "line 1" … "line count", of which a page gives at most 500. */
  function transcript(count: number) {
    const page = (before: number, max: number) => {
      const newest = before === 0 ? count : before - 1
      const ids = Array.from({ length: Math.max(0, Math.min(max, newest)) }, (_, i) => newest - i)
      const lines = ids.map((id) => ({
        id,
        alternate: false,
        open: false,
        runs: [{ text: `line ${id}` }],
      }))
      return Promise.resolve({ lines, more: (ids.at(-1) ?? 1) > 1 })
    }
    return createTranscript({ attachment: { page }, buffer: () => '' } as unknown as Parameters<
      typeof createTranscript
    >[0])
  }
  const held = (from: number, to: number) =>
    Array.from({ length: to - from + 1 }, (_, i) => `line ${from + i}`)

  it('begins above what the terminal holds, however much that is', async () => {
    const lines = transcript(3000)
    const first = await lines.older([...held(1801, 3000), 'on the screen'])
    expect(first.lines.at(-1)).toEqual({ id: 1800, text: 'line 1800' })
    expect(lines.newest).toBe(1800)
    const second = await lines.older([])
    expect(second.lines.at(-1)?.id).toBe((first.lines[0]?.id ?? 0) - 1)
  })

  it('shows the newest page once when the two do not meet', async () => {
    const lines = transcript(3000)
    const first = await lines.older(Array.from({ length: 2000 }, () => 'of another screen'))
    expect(first.lines.at(-1)?.id).toBe(3000)
    expect(first.lines).toHaveLength(500)
    expect((await lines.older([])).lines.at(-1)?.id).toBe(2500)
  })

  it('shows the lines around any other, and goes on upwards from there', async () => {
    const lines = transcript(9000)
    await lines.older(['nothing in common'])
    const back = lines.before
    const around = await lines.around(3000)
    expect(around.lines.some((line) => line.id === 3000)).toBe(true)
    expect(around.lines.at(-1)?.id).toBe(3199)
    expect((await lines.older([])).lines.at(-1)?.id).toBe((around.lines[0]?.id ?? 0) - 1)
    lines.goBackTo(back)
    expect((await lines.older([])).lines.at(-1)?.id).toBe(back - 1)
  })
})
