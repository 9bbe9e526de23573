import { describe, expect, it } from 'vitest'
import type { Session } from '@/stores/types'
import { listGroups, type GroupName } from './groups'
import { matches, origin, stateDetail } from './rowText'

const session = {
  name: 'api-server',
  agent: 'claude',
  command: '/usr/bin/claude --resume',
  host_name: 'mac-mini',
  cwd: '/home/me/src/api',
  state: 'running',
  online: true,
  input_blocked: false,
  lost_reason: '',
  status: { kind: 'working', text: 'running go vet', source: 'program' },
  last_line: 'ok',
} as Session

describe('a row says', () => {
  it('what runs where', () => {
    expect(origin(session)).toBe('claude · mac-mini')
    expect(origin({ ...session, agent: '' })).toBe('claude · mac-mini')
    expect(origin({ ...session, agent: '', command: '' })).toBe('shell · mac-mini')
  })

  it.each([
    ['what the program says of itself', {}, 'running go vet'],
    ['the last line when it says nothing', { status: { ...session.status, text: '' } }, 'ok'],
    [
      'that it waits for a prompt',
      { status: { kind: 'waiting', text: '', source: 'activity' } },
      'for your next prompt',
    ],
    ['when its host was last seen', { online: false }, 'last seen 65 minutes ago'],
    ['why it is lost', { state: 'lost', lost_reason: 'the host restarted' }, 'the host restarted'],
    ['that it does not read', { input_blocked: true }, 'does not read what is typed'],
  ])('%s', (_, change, text) => {
    expect(stateDetail({ ...session, ...change } as Session, 3_900_000)).toBe(text)
  })
})

describe('the search', () => {
  it('wants every word, anywhere, in any case', () => {
    expect(matches(session, 'API mac')).toBe(true)
    expect(matches(session, 'src claude')).toBe(true)
    expect(matches(session, 'api build-01')).toBe(false)
  })
})

describe('the groups', () => {
  it('come most urgent first, without empty ones', () => {
    const groups: Record<GroupName, Session[]> = {
      ended: [session],
      idle: [],
      working: [session],
      offline: [],
      your_turn: [],
      needs_you: [session],
    }
    expect(listGroups(groups, () => true).map((group) => group.name)).toEqual([
      'needs_you',
      'working',
      'ended',
    ])
    expect(listGroups(groups, () => false)).toEqual([])
  })
})
