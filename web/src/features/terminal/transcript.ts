import type { Attachment } from '@/stores/types'

/** Where the text of a session comes from. */
export interface Transcript {
  attachment: Pick<Attachment, 'page'>
  /** The text of what the terminal itself holds. */
  buffer(): string
}

/** Lines of one page. */
const pageLines = 500

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

/** A session's text from its newest line backwards. */
export function createTranscript(source: Transcript) {
  let before = 0
  let first = true

  return {
    /** The next older lines, oldest first, and whether there are more. */
    async older(shown: readonly string[]): Promise<{ lines: string[]; more: boolean }> {
      const page = await source.attachment.page(before, pageLines)
      before = page.lines.at(-1)?.id ?? before
      const texts = page.lines.map((line) =>
        line.runs
          .map((run) => run.text)
          .join('')
          .trimEnd(),
      )
      const skip = first ? alreadyShown(texts, shown) : 0
      first = false
      return { lines: texts.slice(skip).reverse(), more: page.more }
    },
  }
}
