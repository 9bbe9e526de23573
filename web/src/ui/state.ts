import type { IconName } from './icons'

/** How a state looks: a word, an icon and a tone, always together. */
export interface StateLook {
  word: string
  icon: IconName
  tone: 'need' | 'work' | 'wait' | 'done' | 'fail' | 'away'
}

/** What of a session decides its look. */
export interface StateInput {
  state: 'running' | 'exited' | 'lost'
  exit: { code: number; signal: string } | null
  online: boolean
  status: { kind: string }
  prompt: object | null
}

const byKind: Record<string, StateLook> = {
  working: { word: 'Working', icon: 'work', tone: 'work' },
  waiting: { word: 'Waiting', icon: 'wait', tone: 'wait' },
  needs_you: { word: 'Needs you', icon: 'bell', tone: 'need' },
  idle: { word: 'Idle', icon: 'idle', tone: 'away' },
  done: { word: 'Done', icon: 'done', tone: 'done' },
  failed: { word: 'Failed', icon: 'fail', tone: 'fail' },
  ended: { word: 'Ended', icon: 'xc', tone: 'away' },
}

/** The look of a session. It describes the session, never this device's own connection. */
export function stateLook(session: StateInput): StateLook {
  if (session.state === 'lost') return { word: 'Lost', icon: 'fail', tone: 'fail' }
  if (session.state === 'exited') return endedLook(session.exit)
  if (!session.online) return { word: 'Offline', icon: 'away', tone: 'away' }
  if (session.status.kind === 'needs_you' && session.prompt)
    return { word: 'Question', icon: 'ask', tone: 'need' }
  return byKind[session.status.kind] ?? { word: 'Idle', icon: 'idle', tone: 'away' }
}

function endedLook(exit: StateInput['exit']): StateLook {
  if (exit?.signal) return { word: `Ended by ${exit.signal}`, icon: 'xc', tone: 'away' }
  if (exit && exit.code !== 0) return { word: `Ended with ${exit.code}`, icon: 'fail', tone: 'fail' }
  return { word: 'Ended', icon: 'xc', tone: 'away' }
}
