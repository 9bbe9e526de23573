import type { Screen } from '@/link'
import type { Terminal } from '@xterm/xterm'
import { resizeSafely, safeguard } from './safeguards'

/**
 * Draws an attachment's stream into xterm; one of these to a terminal. A repaint is one visible change: until the new picture is complete a still
 * copy of the old one stands in front of it, so that a reconnect neither clears nor replays anything before the eyes.
 */
export function createScreen(
  term: Terminal,
  hooks: {
    /** The scrollback is about to go. */
    leaving(): void
    /** A new picture is shown. */
    repainted(): void
    resized(): void
  },
): Screen {
  let failed = false
  safeguard(term, () => (failed = true))
  /** Takes the still copy away that stands in front of a terminal that lost its picture. */
  let thawLost: (() => void) | null = null

  return {
    write(data, done) {
      term.write(data, () => {
        const intact = !failed
        failed = false
        done(intact)
      })
    },
    resize(cols, rows) {
      const thaw = freeze(term)
      const intact = resizeSafely(term, cols, rows)
      if (intact || thawLost !== null) thaw()
      else thawLost = thaw
      hooks.resized()
      return intact
    },
    reset() {
      term.reset()
      term.write(Uint8Array.of(0x18))
    },
    repaint(data, cols, rows, done) {
      const thaw = thawLost ?? freeze(term)
      thawLost = null
      hooks.leaving()
      term.reset()
      resizeSafely(term, cols, rows)
      // reset() leaves the parser inside whatever sequence was unfinished; CAN ends it without effect.
      term.write(Uint8Array.of(0x18))
      term.write(data, () => {
        failed = false
        hooks.repainted()
        // xterm draws in the next frame; what is drawn is seen after it. A terminal out of view never reports drawing.
        requestAnimationFrame(() => requestAnimationFrame(thaw))
        done()
      })
    },
  }
}

/** Puts a still copy of the picture in front of the terminal; the returned function takes it away. */
function freeze(term: Terminal): () => void {
  const screen = term.element?.querySelector('.xterm-screen')
  if (!(screen instanceof HTMLElement)) return () => undefined
  const copy = screen.cloneNode(true) as HTMLElement
  copy.querySelectorAll('style, .xterm-helpers').forEach((element) => element.remove())
  const copies = copy.querySelectorAll('canvas')
  screen.querySelectorAll('canvas').forEach((canvas, index) => {
    copies[index]?.getContext('2d')?.drawImage(canvas, 0, 0)
  })
  copy.classList.add('term-frozen')
  copy.setAttribute('aria-hidden', 'true')
  screen.parentElement?.append(copy)
  return () => copy.remove()
}
