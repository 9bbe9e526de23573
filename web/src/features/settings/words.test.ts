import { describe, expect, it } from 'vitest'
import { sessionNames } from './sessionNames'
import { ago, mayText, until } from './words'

describe('words', () => {
  it('says scopes from the least to the most, and admin as everything', () => {
    expect(mayText([])).toBe('Nothing')
    expect(mayText(['answer', 'read'])).toBe('See, answer')
    expect(mayText(['read', 'input', 'answer', 'exec'])).toBe('See, type, answer, run commands')
    expect(mayText(['read', 'admin'])).toBe('Everything, also let others in')
    expect(mayText(['unheard-of'])).toBe('Nothing')
  })

  it('says how long ago, and until when with a clock for what ends soon', () => {
    expect(ago(0, 59_000)).toBe('just now')
    expect(ago(0, 7_200_000)).toBe('2 hours ago')
    expect(until(3_600_000, 0)).toMatch(/\d:\d\d/)
    expect(until(90 * 86_400_000, 0)).not.toMatch(/:/)
  })

  it('names sessions, and says of those it does not know that they are gone', () => {
    expect(sessionNames([{ host: 'h', id: 's' }], () => undefined)).toBe('a session that is gone')
  })
})
