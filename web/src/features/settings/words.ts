import { span } from '@/composables/time'

export type Scope = 'read' | 'input' | 'answer' | 'exec' | 'admin'

/** What a scope lets one do, from the least to the most. */
export const scopeWords: readonly { scope: Scope; short: string; label: string; note: string }[] = [
  { scope: 'read', short: 'see', label: 'See', note: 'Sessions, their screens and their history.' },
  { scope: 'input', short: 'type', label: 'Type', note: 'Also stop, rename and resize; start known agents.' },
  { scope: 'answer', short: 'answer', label: 'Answer', note: 'Allow or deny what an agent asks.' },
  { scope: 'exec', short: 'run commands', label: 'Run commands', note: 'Start any program on a host.' },
  {
    scope: 'admin',
    short: 'manage access',
    label: 'Manage access',
    note: 'Let others in; all of the above too.',
  },
]

/** Scopes as words: "See, type, answer". */
export function mayText(scopes: readonly string[]): string {
  if (scopes.includes('admin')) return 'Everything, also let others in'
  const words = scopeWords.filter(({ scope }) => scopes.includes(scope)).map(({ short }) => short)
  const text = words.join(', ')
  return text === '' ? 'Nothing' : text[0]!.toUpperCase() + text.slice(1)
}

/** How long ago something was: "just now", "2 hours ago". */
export function ago(time: number, now: number): string {
  return now - time < 60_000 ? 'just now' : `${span(now - time)} ago`
}

/** A day with its year, "12 Nov 2026". */
export function day(time: number): string {
  return new Date(time).toLocaleDateString(undefined, { day: 'numeric', month: 'short', year: 'numeric' })
}

/** A day and a clock reading, "12 Nov 2026, 14:05". */
export function dayAndTime(time: number): string {
  const clock = new Date(time).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' })
  return `${day(time)}, ${clock}`
}

/** Until when something lasts: a clock reading for what ends within a day. */
export function until(time: number, now: number): string {
  return time - now < 86_400_000 ? dayAndTime(time) : day(time)
}
