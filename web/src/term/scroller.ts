/**
 * One scroll position over three things that lie above each other: pages of history, the terminal's own scrollback, and
 * a grid that may be taller than the screen. Pure arithmetic; the adapter gives the sizes and applies the result.
 */
export interface ScrollSizes {
  /** Pixels of the visible area. */
  view: number
  /** Pixels of the terminal's grid. */
  grid: number
  /** Pixels of history rows above the terminal. */
  history: number
  /** Pixels of one row. */
  row: number
  /** Lines above the grid in the terminal's scrollback, and the first line that it shows now. */
  base: number
  shown: number
}

export interface ScrollChange {
  /** Lines to scroll inside the terminal; negative is up. */
  lines: number
  /** Where the terminal's top edge stands, in pixels below the top of the view. */
  top: number
}

/**
 * Moves the picture by pixels: positive moves it down and shows what is older. `rest` carries what was too little for a
 * line to the next call.
 */
export function scrollBy(
  pixels: number,
  top: number,
  rest: number,
  sizes: ScrollSizes,
): ScrollChange & { rest: number } {
  const lowest = lowestTop(sizes)
  let left = pixels + rest
  let lines = 0
  const highest = (shown: number) => (shown === 0 ? Math.max(sizes.history, 0) : 0)
  if (left > 0) {
    // First the top of the grid comes into view, then the scrollback, then the history.
    const toGrid = Math.min(left, Math.max(0, -top))
    top += toGrid
    left -= toGrid
    const up = Math.min(sizes.shown, Math.floor(left / sizes.row))
    lines -= up
    left -= up * sizes.row
    if (sizes.shown - up === 0) {
      const into = Math.min(left, Math.max(0, highest(0) - top))
      top += into
      left = 0
    }
  } else if (left < 0) {
    const outOfHistory = Math.min(-left, Math.max(0, top))
    top -= outOfHistory
    left += outOfHistory
    const down = Math.min(sizes.base - sizes.shown, Math.floor(-left / sizes.row))
    lines = down
    left += down * sizes.row
    if (sizes.shown + down === sizes.base) {
      top = Math.max(lowest, top + left)
      left = 0
    }
  }
  return { lines, top: clampTop(top, sizes, sizes.shown + lines), rest: left }
}

/** The top edge at which the last row of the grid stands on the bottom of the view. */
export function lowestTop(sizes: Pick<ScrollSizes, 'view' | 'grid'>): number {
  return Math.min(0, sizes.view - sizes.grid)
}

export function clampTop(top: number, sizes: ScrollSizes, shown = sizes.shown): number {
  return Math.min(shown === 0 ? sizes.history : 0, Math.max(lowestTop(sizes), top))
}

/** Speed of a flick that goes on after the finger left: it falls by this factor in every 16 ms. */
const friction = 0.95
/** Pixels per millisecond below which it stops. */
const slowest = 0.02

/** The next step of a flick: how far it goes in `elapsed` milliseconds, and its speed then; speed 0 ends it. */
export function coast(speed: number, elapsed: number): { distance: number; speed: number } {
  const next = speed * friction ** (elapsed / 16)
  const distance = ((speed + next) / 2) * elapsed
  return { distance, speed: Math.abs(next) < slowest ? 0 : next }
}
