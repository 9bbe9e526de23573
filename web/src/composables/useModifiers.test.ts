import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { useModifiers } from './useModifiers'

describe('sticky modifiers', () => {
  beforeEach(() => {
    vi.useFakeTimers()
    vi.setSystemTime(1_000_000)
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  it('one tap arms the next key only', () => {
    const modifiers = useModifiers()
    modifiers.tap('ctrl')
    expect(modifiers.state.ctrl).toBe('next')
    expect(modifiers.apply('up')).toBe('ctrl+up')
    expect(modifiers.apply('up')).toBe('up')
  })

  it('a quick second tap locks, the next one lets go', () => {
    const modifiers = useModifiers()
    modifiers.tap('alt')
    vi.advanceTimersByTime(200)
    modifiers.tap('alt')
    expect(modifiers.state.alt).toBe('lock')
    expect([modifiers.apply('b'), modifiers.apply('f')]).toEqual(['alt+b', 'alt+f'])
    vi.advanceTimersByTime(1000)
    modifiers.tap('alt')
    expect(modifiers.state.alt).toBe('off')
  })

  it('a slow second tap takes it back', () => {
    const modifiers = useModifiers()
    modifiers.tap('ctrl')
    vi.advanceTimersByTime(800)
    modifiers.tap('ctrl')
    expect(modifiers.armed.value).toBe(false)
  })

  it('combines in one order, and text disarms only what was armed for one key', () => {
    const modifiers = useModifiers()
    modifiers.tap('alt')
    modifiers.lock('ctrl')
    expect(modifiers.apply('left')).toBe('ctrl+alt+left')
    modifiers.tap('alt')
    modifiers.disarm()
    expect(modifiers.state).toEqual({ ctrl: 'lock', alt: 'off' })
  })
})
