import { describe, expect, it } from 'vitest'
import { count, shortSpan, span } from './time'

describe('spans of time', () => {
  it.each([
    [-50, 'now'],
    [4999, 'now'],
    [12_000, '12s'],
    [59_999, '59s'],
    [60_000, '1m'],
    [3_599_000, '59m'],
    [3_600_000, '1h'],
    [90_000_000, '1d'],
  ])('%d ms is short for %s', (ms, text) => expect(shortSpan(ms)).toBe(text))

  it.each([
    [0, '0 s'],
    [12_400, '12 s'],
    [60_000, '1 minute'],
    [3_900_000, '65 minutes'],
    [7_200_000, '2 hours'],
    [172_800_000, '2 days'],
  ])('%d ms is said as %s', (ms, text) => expect(span(ms)).toBe(text))

  it('counts in words', () => {
    expect([count(0, 'host'), count(1, 'host'), count(2, 'host')]).toEqual(['0 hosts', '1 host', '2 hosts'])
  })
})
