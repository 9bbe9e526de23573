import { describe, expect, it } from 'vitest'
import { stateLook, type StateInput } from './state'

const running: StateInput = {
  state: 'running',
  exit: null,
  online: true,
  status: { kind: 'working' },
  prompt: null,
}

describe('the look of a session', () => {
  it.each([
    ['working', {}, 'Working', 'work'],
    ['asking with a menu', { status: { kind: 'needs_you' }, prompt: {} }, 'Question', 'need'],
    ['asking for attention', { status: { kind: 'needs_you' } }, 'Needs you', 'need'],
    ['of a kind from a newer server', { status: { kind: 'dreaming' } }, 'Idle', 'away'],
    ['on a host that is away', { online: false }, 'Offline', 'away'],
    ['ended well', { state: 'exited', exit: { code: 0, signal: '' } }, 'Ended', 'away'],
    ['ended badly', { state: 'exited', exit: { code: 2, signal: '' } }, 'Ended with 2', 'fail'],
    ['killed', { state: 'exited', exit: { code: 0, signal: 'SIGKILL' } }, 'Ended by SIGKILL', 'away'],
    ['lost', { state: 'lost', online: false }, 'Lost', 'fail'],
  ] as const)('that is %s', (_, change, word, tone) => {
    expect(stateLook({ ...running, ...change } as StateInput)).toMatchObject({ word, tone })
  })

  it('only what needs the person is amber', () => {
    const kinds = ['working', 'waiting', 'idle', 'done', 'failed', 'ended']
    const tones = kinds.map((kind) => stateLook({ ...running, status: { kind } }).tone)
    expect(tones).not.toContain('need')
  })
})
