import type { Screen } from '@/link'
import { Terminal } from '@xterm/headless'
import type { Terminal as BrowserTerminal } from '@xterm/xterm'
import { beforeEach, describe, expect, it } from 'vitest'
import { bufferText, scrollbackLines, scrollbackTexts } from './cells'
import { createScreen } from './picture'

let term: Terminal
let screen: Screen
beforeEach(() => {
  term = new Terminal({ allowProposedApi: true, cols: 40, rows: 5, scrollback: 100, logLevel: 'off' })
  // Headless has all of the terminal that drawing needs, and no element.
  screen = createScreen(term as unknown as BrowserTerminal, {
    leaving: () => undefined,
    repainted: () => undefined,
    resized: () => undefined,
  })
})

const encoder = new TextEncoder()
const write = (data: string | Uint8Array) => new Promise<void>((resolve) => term.write(data, resolve))
function repaint(data: string, cols = 40, rows = 5): Promise<void> {
  return new Promise<void>((resolve) => screen.repaint(encoder.encode(data), cols, rows, () => resolve()))
}

describe('repaint', () => {
  for (const [name, before] of [
    ['an unfinished control sequence', '\x1b[12;'],
    ['an unfinished OSC string', '\x1b]0;title without end'],
    ['an unfinished DCS string', '\x1bP$q'],
    ['an escape alone', '\x1b'],
    ['half a character', Uint8Array.of(0xe6, 0xbc)],
    ['half a C1 control', Uint8Array.of(0xc2)],
  ] as const) {
    it(`begins clean after ${name}`, async () => {
      await write(before)
      await repaint('hello')
      expect(bufferText(term.buffer.active)).toBe('hello')
    })
  }

  it('leaves no mode, margin, charset or screen behind', async () => {
    await write('\x1b[?1049h\x1b[2;3r\x1b[?6h\x1b(0\x1b[31m\x1b[?2004h\x1b[?1000h\x1b[4h\x1b[3;3Hold')
    await repaint('qqq', 30, 4)
    expect([term.cols, term.rows, term.buffer.active.type]).toEqual([30, 4, 'normal'])
    expect(bufferText(term.buffer.active)).toBe('qqq')
    expect(term.modes).toMatchObject({
      bracketedPasteMode: false,
      mouseTrackingMode: 'none',
      insertMode: false,
    })
    expect(term.buffer.active.getLine(0)?.getCell(0)?.isFgDefault()).toBe(true)
  })
})

describe('scrollback', () => {
  it('reads logical lines, styled and plain', async () => {
    await write(
      '\x1b[1;31mred\x1b[0m and plain\r\n' + 'x'.repeat(50) + '\r\n\r\nlast\r\n1\r\n2\r\n3\r\n4\r\n5',
    )
    const texts = scrollbackTexts(term.buffer.normal)
    expect(texts.slice(0, 3)).toEqual(['red and plain', 'x'.repeat(50), ''])
    const lines = scrollbackLines(term.buffer.normal, 100)
    expect(lines.map((line) => line.runs.map((run) => run.text).join(''))).toEqual(texts)
    expect(lines[0]?.runs[0]).toMatchObject({ text: 'red', fg: '1', bold: true })
    expect(lines[0]?.runs[1]).toMatchObject({ text: ' and plain', fg: '', bold: false })
  })
})
