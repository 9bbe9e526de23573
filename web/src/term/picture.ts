import type { Screen } from '@/link'
import type { Terminal } from '@xterm/xterm'

/**
 * Draws an attachment's stream into xterm. A repaint is one visible change: until the new picture is complete a still
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
  return {
    write: (data, done) => term.write(data, done),
    resize(cols, rows) {
      term.resize(cols, rows)
      hooks.resized()
    },
    reset() {
      term.reset()
      term.write(Uint8Array.of(0x18))
    },
    repaint(data, cols, rows, done) {
      const thaw = freeze(term)
      hooks.leaving()
      term.reset()
      term.resize(cols, rows)
      // reset() leaves the parser inside whatever sequence was unfinished; CAN ends it without effect.
      term.write(Uint8Array.of(0x18))
      term.write(data, () => {
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
