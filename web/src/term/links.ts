import type { ILinkProvider, Terminal } from '@xterm/xterm'
import { urlSpans } from './words'

/** The address if it may be opened at all: http and https only, whatever the program wrote. */
export function safeLink(text: string): string | null {
  try {
    const url = new URL(text)
    return url.protocol === 'http:' || url.protocol === 'https:' ? url.href : null
  } catch {
    return null
  }
}

/** The target of the hyperlink (OSC 8) at a cell, which its text may disguise. xterm's public interface has no word for it. */
export function hyperlinkAt(term: Terminal, x: number, y: number): string | null {
  const cell = term.buffer.active.getLine(y)?.getCell(x) as { extended?: { urlId?: number } } | undefined
  const id = cell?.extended?.urlId
  if (id === undefined || id === 0) return null
  const core = (
    term as unknown as {
      _core?: { _oscLinkService?: { getLinkData?(id: number): { uri: string } | undefined } }
    }
  )._core
  return core?._oscLinkService?.getLinkData?.(id)?.uri ?? null
}

/** Finds addresses in the text for the mouse pointer, over the wraps of a line too. */
export function linkProvider(term: Terminal, open: (text: string) => void): ILinkProvider {
  return {
    provideLinks(row, callback) {
      const y = row - 1
      const spans = urlSpans(term.buffer.active, y, term.cols)
      callback(
        spans.map(({ text, x, y: first, cells }) => {
          const last = x + cells - 1
          return {
            text,
            range: {
              start: { x: x + 1, y: first + 1 },
              end: { x: (last % term.cols) + 1, y: first + Math.floor(last / term.cols) + 1 },
            },
            activate: (_event, link) => open(link),
          }
        }),
      )
    },
  }
}
