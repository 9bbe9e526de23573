import { Terminal } from '@xterm/headless'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { guardInput } from './inputGuard'
import { queryTable } from './queries'
import { swallowQueries } from './swallow'

const write = (term: Terminal, data: string | Uint8Array) =>
  new Promise<void>((resolve) => term.write(data, resolve))

let term: Terminal
let sent: string[]
beforeEach(() => {
  sent = []
  term = new Terminal({ allowProposedApi: true, cols: 80, rows: 24, logLevel: 'off' })
})
afterEach(() => term.dispose())

describe('swallowQueries', () => {
  beforeEach(() => {
    term.onData((data) => sent.push(data))
    term.onBinary((data) => sent.push(data))
  })

  it('is needed: xterm answers by itself', async () => {
    await write(term, '\x1b[c\x1b[6n')
    expect(sent).not.toEqual([])
  })

  it('covers the table, which is not empty', () => {
    expect(queryTable.length).toBeGreaterThan(20)
  })

  for (const row of queryTable) {
    it(`leaves xterm nothing to answer: ${row.name}`, async () => {
      swallowQueries(term.parser)
      await write(term, row.query)
      await write(term, `${row.query}\x1b\\x`)
      expect(sent).toEqual([])
    })
  }

  it('answers nothing that xterm itself knows to ask, in any parameters', async () => {
    swallowQueries(term.parser)
    const asks = [
      'c',
      '>c',
      '=c',
      '>q',
      '?u',
      'x',
      '"q',
      '18t',
      '14t',
      '19t',
      '21t',
      '5n',
      '6n',
      '?6n',
      '?15n',
      '?996n',
    ]
    for (const ask of asks) await write(term, `\x1b[${ask}\x1b[0${ask}\x9b${ask}`)
    const modes = Array.from({ length: 3000 }, (_, mode) => `\x1b[?${mode}$p\x1b[${mode}$p`)
    await write(term, modes.join(''))
    for (const ask of ['m', 'r', ' q', '"p', '"q', 's', 'x'])
      await write(term, `\x1bP$q${ask}\x1b\\\x90$q${ask}\x9c`)
    for (let number = 0; number < 120; number++)
      await write(term, `\x1b]${number};?\x07\x1b]${number};1;?\x1b\\`)
    await write(term, '\x1bZ\x05\x1b[?1004h\x1b[?1000h\x1b[?1006h')
    expect(sent).toEqual([])
  })

  it('still lets programs set colours', async () => {
    swallowQueries(term.parser)
    const colours: unknown[] = []
    const core = (
      term as unknown as { _core: { _inputHandler: { onColor(listener: (event: unknown) => void): void } } }
    )._core
    core._inputHandler.onColor((event) => colours.push(event))
    await write(term, '\x1b]4;1;rgb:ff/00/00\x07\x1b]11;#102030\x1b\\')
    expect(colours).toHaveLength(2)
  })
})

describe('guardInput', () => {
  let surface: EventTarget
  let guard: ReturnType<typeof guardInput>
  const forwarded: string[] = []
  const bare = (type: string, change: object = {}) => Object.assign(new Event(type), change)

  beforeEach(() => {
    forwarded.length = 0
    surface = new EventTarget()
    guard = guardInput(term, surface, () => true, {
      text: (data) => forwarded.push(data),
      binary: (data) => forwarded.push(data),
    })
  })
  afterEach(() => guard.dispose())

  /** What xterm does with a key: it sends from inside a listener of the event. */
  function press(data: string, type = 'keydown'): void {
    const listener = () => term.input(data)
    surface.addEventListener(type, listener, { once: true })
    surface.dispatchEvent(bare(type))
  }

  it('forwards what is sent while a key, the mouse or the wheel is dispatched', () => {
    for (const type of ['keydown', 'keypress', 'input', 'mousedown', 'wheel']) press(type, type)
    expect(forwarded).toEqual(['keydown', 'keypress', 'input', 'mousedown', 'wheel'])
  })

  it('forwards nothing afterwards, however soon', async () => {
    press('a')
    term.input('b')
    await Promise.resolve()
    term.input('c')
    expect(forwarded).toEqual(['a'])
  })

  it('forwards nothing of events elsewhere', () => {
    guard.dispose()
    guard = guardInput(term, surface, () => false, {
      text: (data) => forwarded.push(data),
      binary: () => undefined,
    })
    press('a')
    expect(forwarded).toEqual([])
  })

  it('forwards inside our own handlers, and not after one that failed', () => {
    guard.during(() => term.input('wheel'))
    expect(() =>
      guard.during(() => {
        throw new Error('handler')
      }),
    ).toThrow()
    term.input('later')
    expect(forwarded).toEqual(['wheel'])
  })

  it('forwards the text of an ended composition once, and only that text', () => {
    surface.dispatchEvent(bare('compositionend', { data: '漢字' }))
    term.input('\x1b[?1;2c')
    term.input('漢字')
    term.input('漢字')
    expect(forwarded).toEqual(['漢字'])
  })

  it('forgets a composition that was never sent', () => {
    vi.useFakeTimers()
    surface.dispatchEvent(bare('compositionend', { data: 'x' }))
    vi.advanceTimersByTime(1000)
    term.input('x')
    vi.useRealTimers()
    expect(forwarded).toEqual([])
  })

  it('never reports the focus', () => {
    press('\x1b[I')
    press('\x1b[O')
    expect(forwarded).toEqual([])
  })

  it('types nothing whatever the program writes, queries and random bytes alike', async () => {
    swallowQueries(term.parser)
    let seed = 5
    const random = (below: number) => {
      seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0
      return Math.floor((seed / 2 ** 32) * below)
    }
    const queries = queryTable.map((row) => row.query)
    const pieces = [
      '\x1b',
      '\x1b[',
      '\x9b',
      '\x1bP',
      '\x90',
      '\x1b]',
      '\x9d',
      ';',
      '?',
      '$',
      '>',
      'c',
      'n',
      'q',
      '\x9c',
      '\x1b\\',
      '\x18',
    ]
    const encoder = new TextEncoder()
    for (let round = 0; round < 400; round++) {
      const bytes: number[] = []
      for (let i = 0; i < 200; i++) {
        const kind = random(4)
        if (kind === 0) bytes.push(...encoder.encode(queries[random(queries.length)]))
        else if (kind === 1) bytes.push(...encoder.encode(pieces[random(pieces.length)]))
        else bytes.push(random(256))
      }
      // Cut anywhere, with events going on in between that are not a person's.
      const cut = random(bytes.length)
      await write(term, Uint8Array.from(bytes.slice(0, cut)))
      surface.dispatchEvent(bare('mousemove'))
      await write(term, Uint8Array.from(bytes.slice(cut)))
    }
    expect(forwarded).toEqual([])
  })
})
