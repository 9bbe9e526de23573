import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { Stream, type Screen } from './stream'

/** A screen that notes what it is asked to do; writes are done when the test says so. */
function fakeScreen() {
  const log: string[] = []
  const waiting: ((intact: boolean) => void)[] = []
  const state = { resizes: true }
  const decoder = new TextDecoder()
  const screen: Screen = {
    write(data, done) {
      log.push(data.length > 20 ? `write ${data.length}` : `write ${decoder.decode(data)}`)
      waiting.push(done)
    },
    resize(cols, rows) {
      log.push(`resize ${cols}x${rows}`)
      return state.resizes
    },
    reset: () => void log.push('reset'),
    repaint(data, cols, rows, done) {
      log.push(`repaint ${cols}x${rows} ${decoder.decode(data)}`)
      waiting.push(done)
    },
  }
  return { screen, state, log, waiting, finish: (intact = true) => waiting.shift()?.(intact) }
}

function setup() {
  const drawn: number[] = []
  const holes: (number | null)[] = []
  const stream = new Stream({
    drawn: (offset) => drawn.push(offset),
    hole: () => holes.push(stream.from?.offset ?? null),
    size: () => undefined,
  })
  const fake = fakeScreen()
  stream.setScreen(fake.screen)
  return { stream, drawn, holes, ...fake }
}

const encoder = new TextEncoder()
const output = (offset: number, text: string) => ({
  type: 'output' as const,
  handle: 1,
  offset,
  data: encoder.encode(text),
})
const resize = (offset: number, ordinal: number, cols: number, rows: number) => ({
  type: 'resize' as const,
  handle: 1,
  offset,
  ordinal,
  cols,
  rows,
})
const repaint = (offset: number, marks: number, text: string) => ({
  type: 'repaint' as const,
  handle: 1,
  position: { offset, marks },
  cols: 80,
  rows: 24,
  data: encoder.encode(text),
})

let frames: FrameRequestCallback[]
beforeEach(() => {
  frames = []
  vi.stubGlobal('requestAnimationFrame', (callback: FrameRequestCallback) => frames.push(callback))
  vi.stubGlobal('cancelAnimationFrame', () => undefined)
})
const nextFrame = () => frames.splice(0).forEach((callback) => callback(0))

describe('Stream', () => {
  it('takes nothing before a repaint says where it begins', () => {
    const { stream, log, drawn, finish } = setup()
    stream.attached()
    stream.output(output(0, 'lost'))
    stream.repaint(repaint(100, 2, 'picture'))
    finish()
    stream.output(output(100, 'more'))
    finish()
    expect(log).toEqual(['repaint 80x24 picture', 'write more'])
    expect(drawn).toEqual([100, 104])
    expect(stream.from).toEqual({ offset: 104, marks: 2 })
  })

  it('trims what it has and ignores what is all old', () => {
    const { stream, log, finish } = setup()
    stream.repaint(repaint(10, 0, ''))
    finish()
    stream.output(output(10, 'abc'))
    finish()
    stream.output(output(8, 'xxabcdef'))
    finish()
    stream.output(output(11, 'bc'))
    expect(log.slice(1)).toEqual(['write abc', 'write f'.replace('f', 'def')])
  })

  it('asks again from what the screen was given when bytes are missing, and is deaf until then', () => {
    const { stream, log, holes, finish } = setup()
    stream.repaint(repaint(10, 0, ''))
    finish()
    stream.output(output(10, 'abc'))
    stream.output(output(13, 'queued'))
    stream.output(output(25, 'far'))
    expect(holes).toEqual([13])
    stream.output(output(13, 'ignored'))
    finish()
    expect(log.slice(1)).toEqual(['write abc'])
    stream.attached()
    stream.output(output(13, 'again'))
    expect(log.at(-1)).toBe('write again')
  })

  it('applies a resize after the byte before it is drawn', () => {
    const { stream, log, finish } = setup()
    stream.repaint(repaint(0, 0, ''))
    finish()
    stream.output(output(0, 'a'))
    stream.resize(resize(1, 1, 100, 30))
    stream.output(output(1, 'b'))
    expect(log.slice(1)).toEqual(['write a'])
    finish()
    expect(log.slice(1)).toEqual(['write a', 'resize 100x30', 'write b'])
    expect(stream.from).toEqual({ offset: 2, marks: 1 })
  })

  it('ignores marks it has, and takes one ahead of its bytes for a hole', () => {
    const { stream, log, holes, finish } = setup()
    stream.repaint(repaint(5, 3, ''))
    finish()
    stream.resize(resize(5, 3, 1, 1))
    stream.resize(resize(5, 2, 2, 2))
    expect(log).toHaveLength(1)
    stream.resize(resize(9, 4, 3, 3))
    expect(holes).toEqual([5])
  })

  it('drops what waits when a repaint comes, but lets the write in the terminal end first', () => {
    const { stream, log, drawn, finish } = setup()
    stream.repaint(repaint(0, 0, ''))
    finish()
    stream.output(output(0, 'a'))
    stream.output(output(1, 'waits'))
    stream.repaint(repaint(500, 1, 'new'))
    expect(log.slice(1)).toEqual(['write a'])
    finish()
    expect(log.slice(1)).toEqual(['write a', 'repaint 80x24 new'])
    finish()
    expect(drawn).toEqual([0, 1, 500])
  })

  it('writes at once while the frame has room, and at most 64 KiB in one', () => {
    const { stream, log, finish } = setup()
    stream.repaint(repaint(0, 0, ''))
    finish()
    stream.output(output(0, 'x'.repeat(100_000)))
    finish()
    expect(log.slice(1)).toEqual(['write 65536'])
    nextFrame()
    expect(log.slice(1)).toEqual(['write 65536', `write ${100_000 - 65536}`])
    finish()
    stream.output(output(100_000, 'key'))
    expect(log.at(-1)).toBe('write key')
  })

  it('joins outputs that waited for the same write', () => {
    const { stream, log, finish } = setup()
    stream.repaint(repaint(0, 0, ''))
    for (const [index, letter] of ['a', 'b', 'c'].entries()) stream.output(output(index, letter))
    finish()
    expect(log.at(-1)).toBe('write abc')
  })

  it('keeps nothing while paused and goes on from the screen afterwards', () => {
    const { stream, log, finish } = setup()
    stream.repaint(repaint(0, 0, ''))
    finish()
    stream.output(output(0, 'a'))
    stream.output(output(1, 'b'))
    stream.setPaused(true)
    finish()
    stream.output(output(2, 'c'))
    stream.repaint(repaint(50, 0, 'no'))
    expect(log.slice(1)).toEqual(['write a'])
    stream.setPaused(false)
    expect(stream.needsAttach).toBe(true)
    expect(stream.from).toEqual({ offset: 1, marks: 0 })
    stream.attached()
    stream.output(output(1, 'bc'))
    expect(log.at(-1)).toBe('write bc')
  })

  it('asks for a repaint when the screen was exchanged, and ignores callbacks of the old one', () => {
    const { stream, holes, drawn, finish } = setup()
    stream.repaint(repaint(0, 0, ''))
    finish()
    stream.output(output(0, 'a'))
    stream.setScreen(null)
    finish()
    expect(drawn).toEqual([0])
    const second = fakeScreen()
    stream.setScreen(second.screen)
    expect(holes).toEqual([null])
    stream.attached()
    stream.repaint(repaint(7, 0, 'whole'))
    expect(second.log).toEqual(['repaint 80x24 whole'])
  })

  it('keeps a repaint that came before there was a screen', () => {
    const stream = new Stream({ drawn: () => undefined, hole: () => undefined, size: () => undefined })
    stream.attached()
    stream.repaint(repaint(3, 0, 'early'))
    stream.output(output(3, 'x'))
    const { screen, log, finish } = fakeScreen()
    stream.setScreen(screen)
    finish()
    expect(log).toEqual(['repaint 80x24 early', 'write x'])
  })

  describe('characters that were cut', () => {
    const bytes = (offset: number, ...data: number[]) => ({
      ...output(offset, ''),
      data: Uint8Array.from(data),
    })

    it('are written whole, and neither counted nor acknowledged before', () => {
      const { stream, log, drawn, finish } = setup()
      stream.repaint(repaint(0, 0, ''))
      finish()
      stream.output(bytes(0, 0x61, 0xe2, 0x80))
      finish()
      expect([stream.from?.offset, drawn.at(-1)]).toEqual([1, 1])
      stream.output(bytes(3, 0x9c, 0x62))
      finish()
      expect(log.slice(1)).toEqual(['write a', 'write “b'])
      expect([stream.from?.offset, drawn.at(-1)]).toEqual([5, 5])
    })

    it('wait for the rest when nothing else is to be drawn', () => {
      const { stream, log, waiting } = setup()
      stream.repaint(repaint(0, 0, ''))
      waiting.shift()?.(true)
      for (const [offset, byte] of [0xf0, 0x9f, 0x8e].entries()) stream.output(bytes(offset, byte))
      expect([log.length, waiting.length, stream.from?.offset]).toEqual([1, 0, 0])
      stream.output(bytes(3, 0x89))
      expect(log.at(-1)).toBe('write 🎉')
    })

    it('are sent again after a break', () => {
      const { stream, log, finish } = setup()
      stream.repaint(repaint(0, 0, ''))
      finish()
      stream.output(bytes(0, 0xe2, 0x80))
      stream.detach()
      expect(stream.from?.offset).toBe(0)
      stream.attached()
      stream.output(bytes(0, 0xe2, 0x80, 0x9c))
      expect(log.at(-1)).toBe('write “')
    })

    it('go on behind a resize, and end with a reset', () => {
      const { stream, log, finish } = setup()
      stream.repaint(repaint(0, 0, ''))
      finish()
      stream.output(bytes(0, 0xe2))
      stream.resize(resize(1, 1, 100, 30))
      stream.output(bytes(1, 0x80, 0x9c, 0xe2))
      finish()
      expect(log.slice(1)).toEqual(['resize 100x30', 'write “'])
      expect(stream.from).toEqual({ offset: 3, marks: 1 })
      stream.reset({ type: 'reset', handle: 1, offset: 4, ordinal: 2 })
      expect(stream.from).toEqual({ offset: 4, marks: 2 })
      stream.output(output(4, 'b'))
      expect(log.slice(3)).toEqual(['reset', 'write b'])
    })

    it('go on behind a repaint that ends in one', () => {
      const { stream, log, drawn, finish } = setup()
      stream.repaint({ ...repaint(50, 1, ''), data: Uint8Array.from([0x61, 0xe2, 0x80]) })
      finish()
      expect([stream.from?.offset, drawn.at(-1)]).toEqual([48, 50])
      stream.output(bytes(50, 0x9c))
      finish()
      expect(log).toEqual(['repaint 80x24 a', 'write “'])
      expect([stream.from?.offset, drawn.at(-1)]).toEqual([51, 51])
    })
  })

  describe('a screen that failed', () => {
    beforeEach(() => void vi.useFakeTimers())
    afterEach(() => void vi.useRealTimers())

    function failing() {
      const all = setup()
      all.stream.repaint(repaint(0, 0, ''))
      all.finish()
      return all
    }

    it('over a write is drawn anew, and goes on meanwhile', () => {
      const { stream, log, holes, finish } = failing()
      stream.output(output(0, 'a'))
      finish(false)
      stream.output(output(1, 'b'))
      expect(log.at(-1)).toBe('write b')
      vi.runOnlyPendingTimers()
      expect(holes).toEqual([null])
      stream.attached()
      stream.repaint(repaint(9, 0, 'whole'))
      finish()
      expect(log.at(-1)).toBe('repaint 80x24 whole')
    })

    it('over a resize is drawn anew', () => {
      const { stream, state, holes } = failing()
      state.resizes = false
      stream.resize(resize(0, 1, 5, 5))
      vi.runOnlyPendingTimers()
      expect(holes).toEqual([null])
    })

    it('again and again is drawn anew once in a second', () => {
      const { stream, holes, finish } = failing()
      const fail = () => {
        stream.attached()
        stream.repaint(repaint(0, 0, ''))
        finish()
        stream.output(output(0, 'a'))
        finish(false)
      }
      fail()
      vi.advanceTimersByTime(0)
      expect(holes).toHaveLength(1)
      fail()
      fail()
      vi.advanceTimersByTime(999)
      expect(holes).toHaveLength(1)
      vi.advanceTimersByTime(1)
      expect(holes).toHaveLength(2)
    })

    it('over a repaint is not drawn anew: the next would fail as well', () => {
      const { stream, holes, finish } = setup()
      stream.repaint(repaint(0, 0, ''))
      finish(false)
      vi.runAllTimers()
      expect(holes).toEqual([])
    })

    it('while the page is hidden is drawn anew when it is shown', () => {
      const { stream, holes, finish } = failing()
      stream.output(output(0, 'a'))
      stream.setPaused(true)
      finish(false)
      vi.runOnlyPendingTimers()
      expect([holes, stream.from, stream.needsAttach]).toEqual([[], null, true])
    })
  })
})
