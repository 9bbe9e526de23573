import type { AuditLine } from '@/stores/types'

export interface Day {
  /** A key that does not change: the local date. */
  key: string
  label: string
  lines: AuditLine[]
}

function dateKey(date: Date): string {
  return `${date.getFullYear()}-${date.getMonth() + 1}-${date.getDate()}`
}

/** Lines under the days on which they were written, by this device's calendar; the order of lines stays. */
export function byDay(lines: readonly AuditLine[], now: number): Day[] {
  const days: Day[] = []
  const today = new Date(now)
  const yesterday = new Date(today.getFullYear(), today.getMonth(), today.getDate() - 1)
  for (const line of lines) {
    const date = new Date(line.at)
    const key = dateKey(date)
    let day = days.at(-1)
    if (day?.key !== key) {
      const sameYear = date.getFullYear() === today.getFullYear()
      const written = date.toLocaleDateString(undefined, {
        weekday: 'short',
        day: 'numeric',
        month: 'short',
        ...(sameYear ? {} : { year: 'numeric' }),
      })
      const label = key === dateKey(today) ? 'Today' : key === dateKey(yesterday) ? `Yesterday` : written
      day = { key, label, lines: [] }
      days.push(day)
    }
    day.lines.push(line)
  }
  return days
}

/** The clock reading of a line. */
export function clockOf(line: AuditLine): string {
  return new Date(line.at).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' })
}
