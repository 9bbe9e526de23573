import type { Session } from '@/stores/types'
import { span } from '@/composables/time'

/** "claude · mac-mini"; what runs and where. */
export function origin(session: Session): string {
  const program = session.agent || session.command.split(/\s+/)[0]?.split('/').pop() || 'shell'
  return `${program} · ${session.host_name}`
}

/** What the state word is followed by in a list. */
export function stateDetail(session: Session, lastSeen: number): string {
  if (session.state === 'lost') return session.lost_reason || 'its process is gone'
  if (!session.online && session.state === 'running') return `last seen ${span(lastSeen)} ago`
  if (session.input_blocked) return 'does not read what is typed'
  if (session.status.kind === 'waiting' && session.status.text === '') return 'for your next prompt'
  return session.status.text || session.last_line
}

/** Whether a session is one that the words of a search mean: each must be in its name, program, host or directory. */
export function matches(session: Session, query: string): boolean {
  const text = [session.name, session.agent, session.command, session.host_name, session.cwd]
    .join(' ')
    .toLowerCase()
  return query
    .toLowerCase()
    .split(/\s+/)
    .every((word) => text.includes(word))
}
