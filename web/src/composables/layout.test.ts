import { describe, expect, it } from 'vitest'
import { layout, type ViewportReading } from './layout'

const phone: ViewportReading = {
  innerHeight: 844,
  vvHeight: 844,
  vvOffsetTop: 0,
  scale: 1,
  editableFocused: false,
  safeBottom: 34,
}

describe('layout', () => {
  it('fills the window and keeps the safe area while no keyboard is up', () => {
    expect(layout(phone)).toEqual({ keyboardOpen: false, height: 844, translateY: 0, safeBottom: 34 })
  })

  it('follows the visible part while the keyboard is up', () => {
    const reading = { ...phone, vvHeight: 508.4, vvOffsetTop: 40, editableFocused: true }
    expect(layout(reading)).toEqual({ keyboardOpen: true, height: 508, translateY: 40, safeBottom: 0 })
  })

  it('ignores a stale offset once the keyboard is gone', () => {
    expect(layout({ ...phone, vvOffsetTop: 210 }).translateY).toBe(0)
  })

  it.each([
    ['nothing editable is focused', { vvHeight: 500 }],
    ['the page is zoomed', { vvHeight: 500, editableFocused: true, scale: 1.5 }],
    ['only a toolbar went away', { vvHeight: 744, editableFocused: true }],
  ])('sees no keyboard when %s', (_, change) => {
    expect(layout({ ...phone, ...change }).keyboardOpen).toBe(false)
  })

  it('is right where the browser resizes the window itself', () => {
    const resized = { ...phone, innerHeight: 508, vvHeight: 508, editableFocused: true }
    expect(layout(resized)).toMatchObject({ keyboardOpen: false, height: 508 })
  })
})
