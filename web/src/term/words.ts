/** A line of a terminal's buffer, as far as finding words needs it. */
export interface BufferLines {
  getLine(y: number): { isWrapped: boolean; length: number; getCell(x: number): Cell | undefined } | undefined
}
interface Cell {
  getChars(): string
  getWidth(): number
}

interface Glyph {
  text: string
  x: number
  y: number
}

/** At most this many rows are joined when a line is followed over its wraps. */
const mostRows = 40

/** The characters of the whole logical line that row y is part of. */
function logicalLine(lines: BufferLines, y: number, cols: number): Glyph[] {
  let first = y
  while (first > 0 && y - first < mostRows && lines.getLine(first)?.isWrapped) first--
  const glyphs: Glyph[] = []
  for (let row = first; row - first < mostRows; row++) {
    const line = lines.getLine(row)
    if (line === undefined || (row > first && !line.isWrapped)) break
    for (let x = 0; x < Math.min(cols, line.length); x++) {
      const cell = line.getCell(x)
      if (cell === undefined || cell.getWidth() === 0) continue
      glyphs.push({ text: cell.getChars() || ' ', x, y: row })
    }
  }
  return glyphs
}

/** The index of the character at or left of a cell. */
function indexAt(glyphs: Glyph[], x: number, y: number): number {
  return glyphs.findLastIndex((glyph) => glyph.y === y && glyph.x <= x)
}

export interface Span {
  text: string
  /** The first cell. */
  x: number
  y: number
  /** How many cells, over the ends of rows too. */
  cells: number
}

function span(glyphs: Glyph[], from: number, to: number, cols: number): Span | null {
  const [first, last] = [glyphs[from], glyphs[to - 1]]
  if (first === undefined || last === undefined) return null
  const next = glyphs[to]
  const lastWidth = next !== undefined && next.y === last.y ? next.x - last.x : 1
  const text = glyphs
    .slice(from, to)
    .map((glyph) => glyph.text)
    .join('')
  return { text, x: first.x, y: first.y, cells: (last.y - first.y) * cols + last.x - first.x + lastWidth }
}

const wordCharacter = /[\p{L}\p{N}\p{M}_\-./~@:+=%#?&]/u

/** The word at a cell, or null on blank. Paths and names with dots and dashes are one word. */
export function wordAt(lines: BufferLines, x: number, y: number, cols: number): Span | null {
  const glyphs = logicalLine(lines, y, cols)
  const at = indexAt(glyphs, x, y)
  const isWord = (index: number) => wordCharacter.test(glyphs[index]?.text ?? ' ')
  if (at < 0 || glyphs[at]?.text.trim() === '') return null
  if (!isWord(at)) return span(glyphs, at, at + 1, cols)
  let from = at
  let to = at + 1
  while (from > 0 && isWord(from - 1)) from--
  while (to < glyphs.length && isWord(to)) to++
  return span(glyphs, from, to, cols)
}

const url = /https?:\/\/[^\s"'<>`|\\^{}\u2500-\u257f]+/gi

/** The addresses in the logical line that row y is part of; http and https only. */
export function urlSpans(lines: BufferLines, y: number, cols: number): Span[] {
  const glyphs = logicalLine(lines, y, cols)
  // The glyph at every position of the joined text.
  const glyphAt: number[] = []
  let text = ''
  glyphs.forEach((glyph, index) => {
    for (let i = 0; i < glyph.text.length; i++) glyphAt.push(index)
    text += glyph.text
  })
  return [...text.matchAll(url)].flatMap((match) => {
    const found = trimUrl(match[0])
    const [from, last] = [glyphAt[match.index], glyphAt[match.index + found.length - 1]]
    const place = from === undefined || last === undefined ? null : span(glyphs, from, last + 1, cols)
    return place === null ? [] : [place]
  })
}

/** The address at a cell, also when it is wrapped over rows. */
export function urlAt(lines: BufferLines, x: number, y: number, cols: number): string | null {
  const index = y * cols + x
  const hit = urlSpans(lines, y, cols).find((place) => {
    const first = place.y * cols + place.x
    return index >= first && index < first + place.cells
  })
  return hit?.text ?? null
}

/** Punctuation at the end belongs to the sentence, and a bracket that was not opened inside as well. */
function trimUrl(text: string): string {
  for (;;) {
    const shorter = text.replace(/[.,;:!?]+$/, '')
    const unopened = /[)\]]$/.test(shorter) && count(shorter, /[([]/g) < count(shorter, /[)\]]/g)
    const next = unopened ? shorter.slice(0, -1) : shorter
    if (next === text) return text
    text = next
  }
}

function count(text: string, pattern: RegExp): number {
  return text.match(pattern)?.length ?? 0
}
