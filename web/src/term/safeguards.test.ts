import { Unicode11Addon } from '@xterm/addon-unicode11'
import { Terminal } from '@xterm/headless'
import type { Terminal as BrowserTerminal } from '@xterm/xterm'
import { beforeEach, describe, expect, it } from 'vitest'
import { bufferText } from './cells'
import { createScreen } from './picture'
import { resizeSafely } from './safeguards'
import { swallowQueries } from './swallow'
import type { Screen } from '@/link'

let term: Terminal
let screen: Screen
function open(cols: number, rows: number, scrollback = 100): void {
  term = new Terminal({ allowProposedApi: true, cols, rows, scrollback, logLevel: 'off' })
  term.loadAddon(new Unicode11Addon())
  term.unicode.activeVersion = '11'
  swallowQueries(term.parser)
  // Headless has all of the terminal that drawing needs, and no element.
  screen = createScreen(term as unknown as BrowserTerminal, {
    leaving: () => undefined,
    repainted: () => undefined,
    resized: () => undefined,
  })
}
beforeEach(() => open(10, 4))

const encoder = new TextEncoder()
const write = (data: string | Uint8Array) =>
  new Promise<boolean>((resolve) =>
    screen.write(typeof data === 'string' ? encoder.encode(data) : data, resolve),
  )
const text = () => bufferText(term.buffer.active)
const isWrapped = (y: number) => term.buffer.active.getLine(y)?.isWrapped

describe('ED 1 with the cursor in the last column', () => {
  for (const final of ['J', '?J']) {
    const erase = `\x1b[${final.replace('J', '1J')}`

    it(`erases in the last row, and the terminal goes on (${final})`, async () => {
      await write(`one\r\ntwo\r\nthree\r\n0123456789${erase}`)
      expect(text()).toBe('')
      expect(await write('\x1b[Hafter')).toBe(true)
      expect(text()).toBe('after')
    })

    it(`ends the wrap into the row below, and no other (${final})`, async () => {
      await write(`x\r\n`.repeat(3))
      await write(`\x1b[1;1Habcdefghijklm\x1b[3;1Habcdefghijklm\x1b[1;10H${erase}`)
      expect([isWrapped(1), isWrapped(3)]).toEqual([false, true])
    })
  }

  it('spares protected cells where it is selective', async () => {
    await write('\x1b[1"qab\x1b[0"qcd\x1b[1;10H\x1b[?1J')
    expect(text()).toBe('ab')
  })

  it('is as ever elsewhere', async () => {
    await write('abcdef\r\nabcdef\x1b[2;3H\x1b[1J')
    expect(text()).toBe('\n   def')
  })
})

describe('counts', () => {
  for (const final of ['S', 'T', 'L', 'M', 'I', 'Z', 'b', 'X', 'P', '@', ' @', ' A', "'}", "'~"]) {
    it(`end beyond the screen: ${final}`, async () => {
      await write(`abc\x1b[2147483647${final}`)
      expect(await write('\x1b[Hstill here')).toBe(true)
      expect(text()).toContain('still here'.slice(0, 10))
    })
  }

  it('of repeated characters end where the host ends them', async () => {
    await write('\x1b[2J\x1b[Ha\x1b[999b')
    expect(text().replace(/\s/g, '')).toHaveLength(17)
  })

  it('of the screen and below are untouched', async () => {
    await write('1\r\n2\r\n3\r\n4\x1b[2S')
    expect(text()).toBe('3\n4')
    await write('\x1b[2Ja\x1b[12b')
    expect(text()).toContain('aaa')
    expect(text().replace(/\s/g, '')).toHaveLength(13)
  })

  it('of characters in one cell end at 32', async () => {
    await write(`a${'\u0301'.repeat(5000)}b`)
    expect([...(term.buffer.active.getLine(0)?.getCell(0)?.getChars() ?? '')]).toHaveLength(32)
    await write(`\x1b[2147483647b`)
    expect(term.buffer.active.getLine(0)?.getCell(1)?.getChars()).toBe('b')
  })
})

describe('a resize', () => {
  it('keeps the characters of neighbouring cells apart', async () => {
    const line = 'e\u0301a\u0302o\u0303u\u0304i\u0306x'
    await write(`${line}${line}${line}\r\n`)
    for (const cols of [9, 8, 4, 7, 3, 20, 5]) screen.resize(cols, 4)
    expect(text().replaceAll('\n', '')).toBe(`${line}${line}${line}`)
  })

  it('that overflows the scrollback leaves the bottom as it is', async () => {
    open(40, 4, 5)
    await write(`${'x'.repeat(39)}\r\n`.repeat(12) + 'end')
    screen.resize(4, 4)
    expect(text().split('\n').at(-1)).toBe('end')
  })

  it('of a hidden alternate screen gives it no scrollback', async () => {
    open(20, 10)
    screen.resize(20, 4)
    await write('\x1b[?1049h' + 'line\r\n'.repeat(30))
    expect(term.buffer.active.length).toBe(4)
  })

  it('over half of a wide character fails, and what comes next is drawn', async () => {
    open(6, 1, 20)
    await write('\x1b[1Kabc漢字漢字漢漢字漢字漢abc\x1b[@')
    screen.resize(5, 2)
    await write('\x1b[A\r\n\x1b[D\x1b[@\x1b[2C\x1b[@')
    expect(screen.resize(6, 2)).toBe(false)
    expect([term.cols, term.rows, text()]).toEqual([6, 2, ''])
    expect(await write('next')).toBe(true)
    expect(text()).toBe('next')
  })

  it('that fails leaves an empty terminal of that size, which draws on', async () => {
    const sizes: string[] = []
    term.onResize(({ cols, rows }) => sizes.push(`${cols}x${rows}`))
    await write('before')
    // A fault in the middle of rewrapping, whatever its reason.
    const { normal } = (term as unknown as { _core: { buffers: { normal: object } } })._core.buffers
    Object.assign(normal, {
      _reflow() {
        throw new Error('half of a wide character')
      },
    })
    expect(screen.resize(7, 3)).toBe(false)
    expect([term.cols, term.rows, sizes.at(-1), text()]).toEqual([7, 3, '7x3', ''])
    await write('after')
    expect(text()).toBe('after')
  })
})

describe('a write that fails', () => {
  it('says so once, and the next is drawn', async () => {
    const stop = term.parser.registerCsiHandler({ final: 'm' }, () => {
      throw new Error('a fault')
    })
    expect(await write('a\x1b[mb')).toBe(false)
    stop.dispose()
    expect(await write('\x18\x1b[Hc')).toBe(true)
    expect(text()[0]).toBe('c')
  })
})

describe('hostile streams', () => {
  function generator(seed: number): (below: number) => number {
    return (below) => {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
      return Math.floor((seed / 2 ** 32) * below)
    }
  }

  /** Bytes that know the grammar of terminals and none of its manners. */
  function hostile(random: (below: number) => number): Uint8Array {
    const pick = <T>(from: readonly T[]): T => from[random(from.length)] as T
    const counts = [
      '',
      '0',
      '1',
      '2',
      '3',
      '7',
      '80',
      '1000',
      '65536',
      '2147483647',
      '99999999999',
      ':',
      '1:2:3',
      ';;',
    ]
    const texts = [
      'a',
      'word ',
      '漢',
      '🎉',
      '👩‍💻',
      'e\u0301',
      '\u0301',
      '\u200d',
      '\ufe0f',
      '\r',
      '\n',
      '\t',
      '\b',
      '\x0e',
      '\x7f',
      '\u0085',
    ]
    const pieces: number[] = []
    for (let i = 0; i < 60; i++) {
      switch (random(8)) {
        case 0:
        case 1:
          pieces.push(...encoder.encode(pick(texts).repeat(1 + random(12))))
          break
        case 2:
        case 3:
        case 4: {
          const params = Array.from({ length: random(4) }, () => pick(counts)).join(';')
          const prefix = pick(['', '', '', '?', '>', '<', '='])
          const middle = pick(['', '', '', '', ' ', '!', '"', '$', "'", '#'])
          pieces.push(...encoder.encode(`\x1b[${prefix}${params}${middle}`), 0x40 + random(63))
          break
        }
        case 5: {
          const modes = [
            '?1049',
            '?1047',
            '?47',
            '?6',
            '?7',
            '?45',
            '?69',
            '?2026',
            '4',
            '20',
            '?1',
            '?5',
            '?1000',
            '?1006',
          ]
          pieces.push(...encoder.encode(`\x1b[${pick(modes)}${pick(['h', 'l'])}`))
          break
        }
        case 6: {
          const strings = [
            ']0;t',
            ']8;;http://x/',
            ']4;1;rgb:1/2/3',
            ']52;c;YQ==',
            'P$q',
            'Pq',
            '_x',
            '^x',
            '(0',
            ')B',
            'c',
            '7',
            '8',
            'M',
            'D',
            'E',
            'H',
            '#8',
            'n',
            'o',
            '=',
            '>',
            'N',
          ]
          pieces.push(...encoder.encode(`\x1b${pick(strings)}${pick(['', '\x07', '\x1b\\', '\x18'])}`))
          break
        }
        default:
          for (let n = random(6); n > 0; n--) pieces.push(random(256))
      }
    }
    return Uint8Array.from(pieces)
  }

  it('are survived: every write ends, sizes change meanwhile, and what comes after is drawn', async () => {
    for (let seed = 1; seed <= 150; seed++) {
      const random = generator(seed)
      open(2 + random(60), 1 + random(20), random(2) * 50)
      for (let round = 0; round < 6; round++) {
        const data = hostile(random)
        const at = random(data.length + 1)
        expect(await write(data.subarray(0, at)), `seed ${seed}`).toBe(true)
        expect(await write(data.subarray(at)), `seed ${seed}`).toBe(true)
        if (random(3) === 0) screen.resize(2 + random(60), 1 + random(20))
      }
      screen.resize(40, 5)
      // Cancelled, and with everything that bends output set back.
      expect(await write('\x18\x1b\\\x1b[?1049l\x1bc'), `seed ${seed}`).toBe(true)
      await write('later writes')
      expect(text(), `seed ${seed}`).toBe('later writes')
    }
  }, 60_000)

  it('would not be, without the safeguards', async () => {
    const bare = new Terminal({ allowProposedApi: true, cols: 10, rows: 2, logLevel: 'off' })
    const core = (bare as unknown as { _core: { writeSync(data: string): void } })._core
    expect(() => core.writeSync('\x1b[2;10H\x1b[1J')).toThrow()
    expect(resizeSafely(bare as unknown as BrowserTerminal, 5, 2)).toBe(true)
  })
})
