import type { Session } from '@/stores/types'

export type GroupName = 'needs_you' | 'working' | 'your_turn' | 'idle' | 'ended' | 'offline'

export interface Group {
  name: GroupName
  title: string
  sessions: Session[]
}

const titles: Record<GroupName, string> = {
  needs_you: 'Needs you',
  working: 'Working',
  your_turn: 'Your turn',
  idle: 'Idle',
  offline: 'Offline',
  ended: 'Ended',
}

/** The store's groups as a list, most urgent first, empty ones left out, only sessions that `keep` wants. */
export function listGroups(
  groups: Record<GroupName, Session[]>,
  keep: (session: Session) => boolean,
): Group[] {
  return (Object.keys(titles) as GroupName[])
    .map((name) => ({ name, title: titles[name], sessions: groups[name].filter(keep) }))
    .filter((group) => group.sessions.length > 0)
}
