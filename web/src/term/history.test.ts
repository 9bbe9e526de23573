import type { Page, PageLine } from '@/wire'
import { describe, expect, it, vi } from 'vitest'
import { History, lineText, overlap } from './history'

const run = (text: string, change: object = {}) => ({
  text,
  fg: '',
  bg: '',
  underlineColor: '',
  underline: 0,
  bold: false,
  dim: false,
  italic: false,
  inverse: false,
  hidden: false,
  strike: false,
  overline: false,
  link: '',
  ...change,
})
const line = (id: number, text = `line ${id}`): PageLine => ({
  id,
  runs: [run(text)],
  alternate: false,
  open: false,
})

describe('overlap', () => {
  it('leaves out what the terminal shows already', () => {
    expect(overlap(['d', 'c', 'b', 'a'], ['d', 'c'])).toBe(2)
    expect(overlap(['d', 'c'], ['d', 'c', 'b'])).toBe(2)
    expect(overlap(['d', 'c'], [])).toBe(0)
  })

  it('allows for a server that is ahead', () => {
    expect(overlap(['f', 'e', 'd', 'c', 'b'], ['d', 'c'])).toBe(4)
  })

  it('goes by the oldest local line where the archive left out what was printed twice', () => {
    expect(overlap(['frame', 'start', 'old'], ['frame', 'frame', 'start'])).toBe(2)
  })

  it('would rather show twice than lose', () => {
    expect(overlap(['x', 'y'], ['a', 'b'])).toBe(0)
  })
})

/** A server with an archive of lines 1 to `newest`. */
function archive(newest: number) {
  const asked: number[] = []
  return {
    asked,
    grow: (by: number) => (newest += by),
    page(before: number, max: number): Promise<Page> {
      asked.push(before)
      const top = before === 0 ? newest : before - 1
      const lines = Array.from({ length: Math.max(0, Math.min(max, top)) }, (_, i) => line(top - i))
      return Promise.resolve({ lines, more: top > max })
    },
  }
}

const texts = (history: History) => [...history.element.children].map((row) => row.textContent)

describe('History', () => {
  it('fetches the newest first, then what is older, without the lines the terminal has', async () => {
    const server = archive(450)
    const history = new History({
      page: server.page,
      local: () => ['line 449', 'line 450'],
      changed: () => undefined,
    })
    await history.load()
    expect(texts(history).at(-1)).toBe('line 448')
    await history.load()
    await history.load()
    expect(texts(history)).toEqual(Array.from({ length: 448 }, (_, i) => `line ${i + 1}`))
    expect(history.isComplete).toBe(true)
    const requests = server.asked.length
    await history.load()
    expect(server.asked).toHaveLength(requests)
  })

  it('keeps lines that leave the terminal until the server’s are there, each once', async () => {
    const server = archive(10)
    let local = ['line 9', 'line 10']
    const history = new History({ page: server.page, local: () => local, changed: () => undefined })
    await history.load()
    history.keep([line(0, 'line 9'), line(0, 'line 10')])
    local = []
    expect(texts(history).slice(-2)).toEqual(['line 9', 'line 10'])
    server.grow(3)
    await history.load()
    expect(texts(history)).toEqual(Array.from({ length: 13 }, (_, i) => `line ${i + 1}`))
  })

  it('asks once at a time, and not again at once after a failure', async () => {
    const page = vi.fn(() => Promise.reject<Page>(new Error('offline')))
    const history = new History({ page, local: () => [], changed: () => undefined })
    await Promise.all([history.load(), history.load()])
    await history.load()
    expect(page).toHaveBeenCalledTimes(1)
    expect(history.isLoading).toBe(false)
  })

  it('never makes markup of what a program wrote', async () => {
    const page = (): Promise<Page> =>
      Promise.resolve({
        lines: [{ ...line(1), runs: [run('<img src=x onerror=alert(1)>', { bold: true }), run('<b>')] }],
        more: false,
      })
    const history = new History({ page, local: () => [], changed: () => undefined })
    await history.load()
    expect(history.element.querySelector('img, b')).toBeNull()
    expect(texts(history)).toEqual(['<img src=x onerror=alert(1)><b>'])
  })

  it('shows the styles of a run', async () => {
    const styled = run('x', {
      fg: '196',
      bg: '#010203',
      inverse: true,
      bold: true,
      underline: 3,
      strike: true,
    })
    const page = (): Promise<Page> =>
      Promise.resolve({ lines: [{ ...line(1), runs: [styled] }], more: false })
    const history = new History({ page, local: () => [], changed: () => undefined })
    await history.load()
    const { style } = history.element.querySelector('span') as HTMLElement
    expect(style.color).toBe('#010203')
    expect(style.backgroundColor).toBe('rgb(255 0 0)')
    expect(style.fontWeight).toBe('bold')
    expect(style.textDecorationLine).toBe('underline line-through')
    expect(style.textDecorationStyle).toBe('wavy')
  })
})

describe('lineText', () => {
  it('drops the blanks at the end', () => {
    expect(lineText({ ...line(1), runs: [run('a '), run('b  ')] })).toBe('a b')
  })
})
