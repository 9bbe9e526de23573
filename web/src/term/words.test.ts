import { Terminal } from '@xterm/headless'
import { describe, expect, it } from 'vitest'
import { urlAt, urlSpans, wordAt } from './words'

async function show(text: string, cols = 30): Promise<Terminal> {
  const term = new Terminal({ allowProposedApi: true, cols, rows: 10 })
  await new Promise<void>((resolve) => term.write(text, resolve))
  return term
}

describe('wordAt', () => {
  it('takes paths and names whole, and nothing on blank', async () => {
    const { buffer } = await show('see src/term/words.ts:12 now')
    expect(wordAt(buffer.active, 8, 0, 30)).toEqual({ text: 'src/term/words.ts:12', x: 4, y: 0, cells: 20 })
    expect(wordAt(buffer.active, 3, 0, 30)).toBeNull()
    expect(wordAt(buffer.active, 5, 5, 30)).toBeNull()
  })

  it('counts the cells of wide characters', async () => {
    const { buffer } = await show('漢字 ok')
    expect(wordAt(buffer.active, 1, 0, 30)).toEqual({ text: '漢字', x: 0, y: 0, cells: 4 })
  })
})

describe('urlAt', () => {
  it('finds an address that is wrapped over rows, from any of them', async () => {
    const url = 'https://example.org/a/very/long/path?with=query#and'
    const { buffer } = await show(`go to ${url}, please`)
    for (const [x, y] of [
      [6, 0],
      [29, 0],
      [0, 1],
      [26, 1],
    ] as const)
      expect(urlAt(buffer.active, x, y, 30)).toBe(url)
    expect(urlAt(buffer.active, 0, 0, 30)).toBeNull()
    expect(urlAt(buffer.active, 28, 1, 30)).toBeNull()
  })

  it('leaves the sentence its punctuation', async () => {
    const { buffer } = await show('(see https://a.test/b_(c)). And http://d.test!', 80)
    expect(urlSpans(buffer.active, 0, 80).map(({ text }) => text)).toEqual([
      'https://a.test/b_(c)',
      'http://d.test',
    ])
  })

  it('knows no other schemes', async () => {
    const { buffer } = await show('javascript:alert(1) file:///etc/passwd ftp://x.test', 80)
    expect(urlSpans(buffer.active, 0, 80)).toEqual([])
  })
})
