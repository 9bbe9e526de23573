import { describe, expect, it } from 'vitest'
import type { AuditLine } from '@/stores/types'
import { byDay } from './days'
import { kinds, sentenceOf, type Names } from './sentences'

const names: Names = {
  me: 'd1',
  of: (id) => ({ d1: 'Pocket', d2: 'Laptop', h1: 'mac-mini' })[id],
  session: (key) => (key === 'h1/s1' ? 'refactor-auth' : undefined),
}
const line = (action: string, more: Partial<AuditLine> = {}): AuditLine => ({
  id: 1,
  at: '2026-12-01T12:00:00Z',
  ago_ms: 0,
  action,
  ...more,
})
function told(action: string, more: Partial<AuditLine> = {}): string {
  const { who, text } = sentenceOf(line(action, more), names)
  return `${who} ${text}`
}

describe('sentences', () => {
  const device = { kind: 'device', who: 'd2', name: 'Old name' }
  for (const [action, more, expected] of [
    [
      'device.paired',
      { ...device, detail: 'code: read,input' },
      'Laptop was paired with a code, may see, type',
    ],
    [
      'device.paired',
      { ...device, detail: 'link made by device Pocket: read,input,answer,exec,admin' },
      'Laptop was paired by a link made by device Pocket, may do everything',
    ],
    ['device.revoked', { ...device, target: 'd9', detail: 'Tablet' }, 'Laptop ended the access of Tablet'],
    ['device.revoked', { ...device, target: 'd1' }, 'Laptop ended the access of Pocket'],
    ['device.renamed', { ...device, detail: 'a is now b' }, 'Laptop renamed a device: a is now b'],
    [
      'token.created',
      { kind: 'device', who: 'd1', detail: 'x: y: read' },
      'This device made the token x: y, may see',
    ],
    ['session.killed', { ...device, target: 'h1/s1' }, 'Laptop killed refactor-auth'],
    ['session.killed', { ...device, target: 'h1/gone' }, 'Laptop killed a session that is gone'],
    ['session.started', { ...device, target: 'h1/gone', detail: 'htop' }, 'Laptop started htop'],
    ['code.made', { kind: 'console', detail: 'host: ' }, 'The server’s console made a code for a new host'],
    ['code.failed', { address: '203.0.113.9' }, 'Somebody typed a wrong code'],
    [
      'ticket.failed',
      { detail: 'a used link was opened again; it was used by Pocket' },
      'Somebody opened a link that was used already, by Pocket',
    ],
    [
      'pairing.denied',
      { ...device, detail: 'host mac-mini' },
      'Laptop refused the request of host mac-mini for a code',
    ],
    ['host.enrolled', { kind: 'host', who: 'h1', name: 'mac-mini' }, 'Host mac-mini was added as a host'],
    ['audit.exported', { kind: 'token', who: 't1', name: 'ci' }, 'Token ci exported the audit'],
  ] as [string, Partial<AuditLine>, string][]) {
    it(`${action}: ${expected}`, () => expect(told(action, more)).toBe(expected))
  }

  it('shows an action of a newer server as it came', () => {
    expect(told('moon.landed', { ...device, detail: 'softly' })).toBe('Laptop moon.landed: softly')
    expect(told('constructor')).toBe('Somebody constructor')
  })

  it('marks what was refused, and only that', () => {
    expect(sentenceOf(line('code.failed'), names).bad).toBe(true)
    expect(sentenceOf(line('token.created'), names).bad).toBeUndefined()
  })

  it('has a filter for every first word it knows', () => {
    const words = new Set(kinds.map(({ value }) => value))
    for (const action of [
      'login.replayed',
      'pairing.refused',
      'proxy.ignored',
      'guest.invited',
      'ticket.failed',
    ])
      expect(words).toContain(action.split('.')[0])
  })
})

describe('days', () => {
  it('puts lines under today, yesterday and dates, in the order they came', () => {
    const at = (year: number, month: number, day: number, id: number): AuditLine => ({
      ...line('code.failed'),
      id,
      at: new Date(year, month - 1, day, 23, 59).toISOString(),
    })
    const now = new Date(2026, 0, 2, 0, 1).getTime()
    const days = byDay([at(2026, 1, 2, 5), at(2026, 1, 2, 4), at(2026, 1, 1, 3), at(2025, 12, 31, 2)], now)
    expect(days.map(({ label }) => label)).toEqual(['Today', 'Yesterday', expect.stringContaining('2025')])
    expect(days.map(({ lines }) => lines.map(({ id }) => id))).toEqual([[5, 4], [3], [2]])
  })
})
