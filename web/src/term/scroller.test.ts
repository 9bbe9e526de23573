import { describe, expect, it } from 'vitest'
import { coast, scrollBy, type ScrollSizes } from './scroller'

const sizes = (change: Partial<ScrollSizes> = {}): ScrollSizes => ({
  view: 400,
  grid: 400,
  history: 0,
  row: 20,
  base: 100,
  shown: 100,
  ...change,
})

describe('scrollBy', () => {
  it('scrolls one line for every row dragged and keeps the rest', () => {
    expect(scrollBy(15, 0, 0, sizes())).toMatchObject({ lines: 0, rest: 15 })
    expect(scrollBy(15, 0, 15, sizes())).toMatchObject({ lines: -1, rest: 10 })
    expect(scrollBy(-45, 0, 0, sizes({ shown: 50 }))).toMatchObject({ lines: 2, rest: -5 })
  })

  it('adds up to what was dragged, however it is cut', () => {
    let [top, rest, shown] = [0, 0, 100]
    for (let i = 0; i < 100; i++) {
      const change = scrollBy(3.3, top, rest, sizes({ shown }))
      top = change.top
      rest = change.rest
      shown += change.lines
    }
    expect(shown).toBe(100 - Math.floor(330 / 20))
  })

  it('shows the top of a tall grid before the scrollback, and goes back the same way', () => {
    const tall = sizes({ grid: 600 })
    const up = scrollBy(250, -200, 0, tall)
    expect(up).toMatchObject({ top: 0, lines: -2 })
    expect(scrollBy(-250, 0, up.rest, { ...tall, shown: 98 })).toMatchObject({ top: -200, lines: 2 })
  })

  it('shows history only above the whole scrollback', () => {
    const at = sizes({ history: 500, shown: 2 })
    expect(scrollBy(100, 0, 0, at)).toMatchObject({ lines: -2, top: 60 })
    expect(scrollBy(1000, 60, 0, { ...at, shown: 0 })).toMatchObject({ lines: 0, top: 500 })
    expect(scrollBy(-600, 500, 0, { ...at, shown: 0 })).toMatchObject({ lines: 5, top: 0 })
  })

  it('stops at both ends', () => {
    expect(scrollBy(-500, 0, 0, sizes())).toMatchObject({ lines: 0, top: 0, rest: 0 })
    expect(scrollBy(5000, 0, 0, sizes())).toMatchObject({ lines: -100, top: 0, rest: 0 })
  })
})

describe('coast', () => {
  it('slows down and ends', () => {
    let [speed, far, steps] = [2, 0, 0]
    while (speed !== 0 && steps < 1000) {
      const next = coast(speed, 16)
      expect(Math.abs(next.speed)).toBeLessThan(Math.abs(speed))
      far += next.distance
      speed = next.speed
      steps++
    }
    expect(steps).toBeLessThan(200)
    expect(far).toBeGreaterThan(200)
  })
})
