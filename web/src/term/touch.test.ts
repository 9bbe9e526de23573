import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createTouchLayer, type TouchHandlers } from './touch'

let container: HTMLElement
let inner: HTMLElement
let log: string[]
let layer: { dispose(): void }

beforeEach(() => {
  vi.useFakeTimers({
    toFake: ['setTimeout', 'clearTimeout', 'performance', 'requestAnimationFrame', 'cancelAnimationFrame'],
  })
  container = document.createElement('div')
  inner = document.createElement('div')
  container.append(inner)
  document.body.append(container)
  Object.assign(window, { innerWidth: 390, innerHeight: 700 })
  vi.spyOn(container, 'getBoundingClientRect').mockReturnValue({ bottom: 600 } as DOMRect)
  log = []
  const note =
    (name: string) =>
    (...values: number[]) =>
      void log.push([name, ...values.map((n) => Math.round(n * 10) / 10)].join(' '))
  layer = createTouchLayer(
    container,
    Object.fromEntries(
      ['drag', 'flick', 'tap', 'doubleTap', 'longPress', 'select', 'selectEnd', 'pinch', 'pinchEnd'].map(
        (name) => [name, note(name)],
      ),
    ) as unknown as TouchHandlers,
  )
})
afterEach(() => {
  layer.dispose()
  container.remove()
  vi.useRealTimers()
})

/** A touch event with fingers at these places. */
function touch(type: string, ...fingers: [number, number][]): Event {
  const touches = fingers.map(([clientX, clientY]) => ({ clientX, clientY }))
  const event = Object.assign(new Event(type, { bubbles: true, cancelable: true }), { touches })
  inner.dispatchEvent(event)
  return event
}

const wait = (ms: number) => vi.advanceTimersByTime(ms)

describe('touch layer', () => {
  it('lets nothing of a touch through to the terminal or the browser', () => {
    const reached = vi.fn()
    for (const type of ['touchstart', 'touchmove', 'touchend']) inner.addEventListener(type, reached)
    const events = [touch('touchstart', [100, 100]), touch('touchmove', [100, 150]), touch('touchend')]
    expect(reached).not.toHaveBeenCalled()
    expect(events.every((event) => event.defaultPrevented)).toBe(true)
  })

  it('calls a tap inside the touchend, where the keyboard may be raised', () => {
    touch('touchstart', [100, 100])
    touch('touchmove', [104, 103])
    expect(log).toEqual([])
    touch('touchend')
    expect(log).toEqual(['tap 100 100'])
  })

  it('tells a double tap', () => {
    for (let i = 0; i < 2; i++) {
      touch('touchstart', [100, 100])
      touch('touchend')
      wait(100)
    }
    expect(log).toEqual(['tap 100 100', 'doubleTap 100 100'])
  })

  it('drags from the first movement beyond the slop, and never taps then', () => {
    touch('touchstart', [100, 100])
    touch('touchmove', [100, 111])
    touch('touchmove', [98, 131])
    wait(200)
    touch('touchend')
    wait(1000)
    expect(log).toEqual(['drag 0 11 100 111', 'drag -2 20 98 131'])
  })

  it('coasts after a flick, and a touch stops it without a tap', () => {
    touch('touchstart', [100, 100])
    for (let y = 110; y <= 200; y += 15) {
      wait(16)
      touch('touchmove', [100, y])
    }
    touch('touchend')
    log.length = 0
    wait(100)
    expect(log.length).toBeGreaterThan(3)
    expect(log.every((entry) => entry.startsWith('flick'))).toBe(true)
    log.length = 0
    touch('touchstart', [100, 100])
    touch('touchend')
    wait(1000)
    expect(log).toEqual([])
  })

  it('selects after 500 ms without moving', () => {
    touch('touchstart', [100, 100])
    wait(499)
    expect(log).toEqual([])
    wait(1)
    touch('touchmove', [150, 100])
    touch('touchend')
    expect(log).toEqual(['longPress 100 100', 'select 150 100', 'selectEnd'])
  })

  it('pinches with two fingers and neither taps nor drags', () => {
    touch('touchstart', [100, 100])
    touch('touchstart', [100, 100], [200, 100])
    touch('touchmove', [50, 100], [250, 100])
    touch('touchend', [50, 100])
    touch('touchend')
    expect(log).toEqual(['pinch 2', 'pinchEnd'])
  })

  it('leaves the edges to the system', () => {
    for (const [x, y] of [
      [10, 300],
      [380, 300],
    ] as const) {
      const event = touch('touchstart', [x, y])
      touch('touchmove', [x + 50, y])
      touch('touchend')
      expect(event.defaultPrevented).toBe(false)
    }
    expect(log).toEqual([])
  })

  it('forgets a touch that was cancelled', () => {
    touch('touchstart', [100, 100])
    touch('touchcancel')
    wait(1000)
    expect(log).toEqual([])
  })
})
