import { WireError } from './bytes'
import { Shape } from './json'

/** A text in one style: internal/vt's Run. Colours are "" (default), "0" … "255" (palette) or "#rrggbb". */
export interface Run {
  text: string
  fg: string
  bg: string
  underlineColor: string
  /** 0 none, 1 single, 2 double, 3 curly, 4 dotted, 5 dashed. */
  underline: number
  bold: boolean
  dim: boolean
  italic: boolean
  inverse: boolean
  hidden: boolean
  strike: boolean
  overline: boolean
  /** The target of a hyperlink, whatever its scheme; empty for none. */
  link: string
}

/** One logical line of a session's archive. */
export interface PageLine {
  /** Never changes and is never used again; rises with time. */
  id: number
  runs: Run[]
  /** It scrolled off the alternate screen. */
  alternate: boolean
  /** Its end is still on the screen. */
  open: boolean
}

/** A piece of a session's archive, newest line first. */
export interface Page {
  lines: PageLine[]
  /** Older lines exist: ask for those before the last one. */
  more: boolean
}

const colour = /^(?:|\d{1,3}|#[0-9a-f]{6})$/

/** Reads a page. Colours go into styles, so they are checked to be nothing but colours. */
export function parsePage(value: unknown): Page {
  const from = Shape.of(value, 'page')
  return { lines: from.list('lines', parseLine), more: from.boolean('more') }
}

function parseLine(value: unknown): PageLine {
  const from = Shape.of(value, 'page.line')
  return {
    id: from.number('id'),
    runs: from.list('runs', parseRun),
    alternate: from.boolean('alt'),
    open: from.boolean('open'),
  }
}

function parseRun(value: unknown): Run {
  const from = Shape.of(value, 'page.run')
  const colourOf = (name: string) => {
    const text = from.string(name, '')
    if (!colour.test(text)) throw new WireError('malformed', `page.run.${name}`)
    return text
  }
  return {
    text: from.string('t', ''),
    fg: colourOf('fg'),
    bg: colourOf('bg'),
    underlineColor: colourOf('ulc'),
    underline: from.number('ul', 0),
    bold: from.boolean('bold'),
    dim: from.boolean('dim'),
    italic: from.boolean('italic'),
    inverse: from.boolean('inverse'),
    hidden: from.boolean('hidden'),
    strike: from.boolean('strike'),
    overline: from.boolean('overline'),
    link: from.string('link', ''),
  }
}
