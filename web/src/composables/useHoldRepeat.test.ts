import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { effectScope, type EffectScope } from 'vue'
import { useHoldRepeat } from './useHoldRepeat'

describe('a held key', () => {
  let scope: EffectScope
  let allowed: boolean
  let hold: ReturnType<typeof useHoldRepeat>
  const action = vi.fn()

  beforeEach(() => {
    vi.useFakeTimers()
    action.mockReset()
    allowed = true
    scope = effectScope()
    hold = scope.run(() => useHoldRepeat(() => allowed))!
  })
  afterEach(() => {
    scope.stop()
    vi.useRealTimers()
  })

  it('acts at once, then after 400 ms every 80 ms, then every 40 ms', () => {
    hold.start(action)
    expect(action).toHaveBeenCalledTimes(1)
    vi.advanceTimersByTime(399)
    expect(action).toHaveBeenCalledTimes(1)
    vi.advanceTimersByTime(1)
    expect(action).toHaveBeenCalledTimes(2)
    vi.advanceTimersByTime(80 * 12)
    expect(action).toHaveBeenCalledTimes(14)
    vi.advanceTimersByTime(80 + 400)
    expect(action.mock.calls.length).toBeGreaterThanOrEqual(24)
  })

  it('stops on release', () => {
    hold.start(action)
    hold.stop()
    vi.advanceTimersByTime(5000)
    expect(action).toHaveBeenCalledTimes(1)
  })

  it('stops when the window loses focus', () => {
    hold.start(action)
    window.dispatchEvent(new Event('blur'))
    vi.advanceTimersByTime(5000)
    expect(action).toHaveBeenCalledTimes(1)
  })

  it('pauses while too much is unacknowledged, and goes on afterwards', () => {
    hold.start(action)
    allowed = false
    vi.advanceTimersByTime(2000)
    expect(action).toHaveBeenCalledTimes(1)
    allowed = true
    vi.advanceTimersByTime(80)
    expect(action.mock.calls.length).toBeGreaterThan(1)
  })

  it('stops with its scope', () => {
    hold.start(action)
    scope.stop()
    vi.advanceTimersByTime(5000)
    expect(action).toHaveBeenCalledTimes(1)
  })
})
