/** A span in the words of a list: "now", "12 s", "4m", "3h", "2d". */
export function shortSpan(ms: number): string {
  const seconds = Math.max(0, Math.floor(ms / 1000))
  if (seconds < 5) return 'now'
  if (seconds < 60) return `${seconds}s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)}h`
  return `${Math.floor(seconds / 86_400)}d`
}

/** A span in the words of a sentence: "12 s", "4 minutes", "1 hour". */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000))
  if (seconds < 60) return `${seconds} s`
  if (seconds < 5400) return count(Math.round(seconds / 60), 'minute')
  if (seconds < 129_600) return count(Math.round(seconds / 3600), 'hour')
  return count(Math.round(seconds / 86_400), 'day')
}

/** "1 session", "3 sessions". */
export function count(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? '' : 's'}`
}

/** A moment as a clock reading when it was less than 20 hours ago, else as a date. */
export function moment(time: number, now: number): string {
  const date = new Date(time)
  if (now - time < 72_000_000)
    return date.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' })
  return date.toLocaleDateString(undefined, { day: 'numeric', month: 'short' })
}
