import type { Found } from '@/stores/types'

/** A place where the text stands: in what the terminal holds, or in a line above it. */
export type Hit =
  | { in: 'buffer'; line: number; start: number; end: number }
  | { in: 'history'; line: number; start: number; end: number }

/** Places of a text in lines, newest first, with offsets in UTF-16 units. Capitals make no difference. */
export function hitsInBuffer(lines: readonly string[], wanted: string): Hit[] {
  if (wanted === '') return []
  const pattern = new RegExp(wanted.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'), 'giu')
  const hits: Hit[] = []
  lines.forEach((text, line) => {
    for (const { index, 0: found } of text.matchAll(pattern)) {
      if (found !== '') hits.push({ in: 'buffer', line, start: index, end: index + found.length })
    }
  })
  return hits.reverse()
}

/**
 * The matches of an answer that stand above what the terminal holds: up to the line `newest`. Offsets stay in code
 * points, as the server counts; see offsets.
 */
export function hitsInHistory(found: Found, newest: number): Hit[] {
  return found.items
    .filter((match) => match.line <= newest)
    .map(({ line, rune, runes }) => ({ in: 'history', line, start: rune, end: rune + runes }))
}

/** Where code points from start to end stand in a text, in UTF-16 units. */
export function offsets(text: string, start: number, end: number): { start: number; end: number } {
  let point = 0
  let unit = 0
  const range = { start: text.length, end: text.length }
  for (const character of text) {
    if (point === start) range.start = unit
    if (point === end) {
      range.end = unit
      break
    }
    point++
    unit += character.length
  }
  return range
}
