import { WireError } from './bytes'
import { Shape } from './json'

/** A run of one style in a line of history. Colours are CSS colours or palette indices; absent means the default. */
export interface PageRun {
  text: string
  fg: string | number | null
  bg: string | number | null
  bold: boolean
  dim: boolean
  italic: boolean
  underline: boolean
  inverse: boolean
  strike: boolean
  hidden: boolean
}

/** A logical line of history: what a program wrote between two line ends, however often the screen wrapped it. */
export interface PageLine {
  id: number
  runs: PageRun[]
}

/** Lines of history, newest first. */
export interface Page {
  lines: PageLine[]
  /** What to ask for next: lines above this id; 0 when there are none. */
  before: number
}

export function parsePage(value: unknown): Page {
  const from = Shape.of(value, 'page')
  return { lines: from.list('lines', parseLine), before: from.number('before', 0) }
}

function parseLine(value: unknown): PageLine {
  const from = Shape.of(value, 'page.line')
  return { id: from.number('id'), runs: from.list('runs', parseRun) }
}

function parseRun(value: unknown): PageRun {
  const from = Shape.of(value, 'page.run')
  const colour = (name: string): string | number | null => {
    const raw = from.raw(name)
    if (raw === undefined || raw === null) return null
    if (typeof raw === 'string' || typeof raw === 'number') return raw
    throw new WireError('malformed', `page.run.${name}`)
  }
  return {
    text: from.string('text', ''),
    fg: colour('fg'),
    bg: colour('bg'),
    bold: from.boolean('bold'),
    dim: from.boolean('dim'),
    italic: from.boolean('italic'),
    underline: from.boolean('underline'),
    inverse: from.boolean('inverse'),
    strike: from.boolean('strike'),
    hidden: from.boolean('hidden'),
  }
}
