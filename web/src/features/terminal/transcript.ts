import type { Attachment } from '@/stores/types'

/** Where the text of a session comes from. */
export interface Transcript {
  attachment: Pick<Attachment, 'page'>
  /** The text of what the terminal itself holds. */
  buffer(): string
}

/** A line above what the terminal holds. */
export interface HistoryLine {
  /** The archive's id of it; rises with time. */
  id: number
  text: string
}

export interface HistoryPage {
  /** Oldest first. */
  lines: HistoryLine[]
  more: boolean
}

/** Lines of one page. */
const pageLines = 500
/** How many lines after a line that was asked for come with it. */
const linesAfter = 200

/**
 * How many of a page's newest lines (newest first) the terminal's own text (oldest first) shows already: the place
 * where its first two lines stand in the page. Where they are not found nothing is left out.
 */
export function alreadyShown(page: readonly string[], shown: readonly string[]): number {
  const [first, second] = shown
  if (first === undefined) return 0
  for (let index = 0; index < page.length; index++) {
    const goesOn = index === 0 || second === undefined || page[index - 1] === second
    if (page[index] === first && goesOn) return index + 1
  }
  return 0
}

function textsOf(lines: readonly HistoryLine[]): string[] {
  return lines.map((line) => line.text)
}

/** A session's text from its newest line backwards, or around any line of it. */
export function createTranscript(source: Transcript) {
  let before = 0
  let first = true
  let newest = 0

  async function page(from: number): Promise<HistoryPage> {
    const answer = await source.attachment.page(from, pageLines)
    before = answer.lines.at(-1)?.id ?? before
    const lines = answer.lines.map((line) => ({
      id: line.id,
      text: line.runs
        .map((run) => run.text)
        .join('')
        .trimEnd(),
    }))
    return { lines, more: answer.more }
  }

  return {
    /** The next older lines, and whether there are more. What the terminal shows itself is left out. */
    async older(shown: readonly string[]): Promise<HistoryPage> {
      if (!first) {
        const { lines, more } = await page(before)
        return { lines: lines.reverse(), more }
      }
      let { lines, more } = await page(0)
      let skip = alreadyShown(textsOf(lines), shown)
      const firstPage = { lines, more, before }
      // The terminal may hold more than a page: go on to where its oldest line is.
      while (skip === 0 && more && lines.length < shown.length) {
        const next = await page(before)
        lines = [...lines, ...next.lines]
        more = next.more
        skip = alreadyShown(textsOf(lines), shown)
      }
      // The two do not meet; twice is better than not at all.
      if (skip === 0) ({ lines, more, before } = firstPage)
      first = false
      newest = lines[skip]?.id ?? (lines.at(-1)?.id ?? 1) - 1
      return { lines: lines.slice(skip).reverse(), more }
    },

    /** The newest line that the terminal does not show itself. */
    get newest(): number {
      return newest
    },

    /** The lines around one of them; older ones go on from there. */
    async around(id: number): Promise<HistoryPage> {
      const { lines, more } = await page(id + linesAfter)
      return { lines: lines.reverse(), more }
    },

    /** Where older lines go on. */
    get before(): number {
      return before
    },

    /** Goes on there again. */
    goBackTo(line: number): void {
      before = line
    },
  }
}
