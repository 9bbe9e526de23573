import type { Terminal } from '@xterm/xterm'

/**
 * What xterm.js 6.0.0 does not survive, and this server's copy does: internal/vt/testdata/oracle/README.md has the
 * table, found by playing hostile streams to both. Programs write what they like, so all of it is kept from xterm here.
 * This reaches into xterm's internals, which its public interface neither shows nor promises; the version is pinned and
 * the tests fail where one of them is missing.
 */

interface Line {
  isWrapped: boolean
  getString(x: number): string
  _combined: Record<number, string>
  addCodepointToCell(index: number, code: number, width: number): void
  copyCellsFrom(source: Line, from: number, to: number, length: number, reverse: boolean): void
}

interface Lines {
  length: number
  maxLength: number
  get(index: number): Line | undefined
  set?: (index: number, line: Line) => void
}

interface Buffer {
  lines: Lines
  x: number
  y: number
  ybase: number
}

interface Params {
  /** Can be written to; what later handlers read. */
  params: Int32Array
}

interface Core {
  cols: number
  rows: number
  buffers: { normal: Buffer; alt: Buffer; active: Buffer }
  _inputHandler: {
    parse(data: unknown, resumed?: unknown): unknown
    _parser: {
      registerCsiHandler(
        id: { prefix?: string; final: string },
        handler: (params: Params) => boolean,
      ): unknown
    }
    _restrictCursor(last: number): void
    _eraseInBufferLine(y: number, from: number, to: number, unwrap: boolean, keepProtected: boolean): void
    _resetBufferLine(y: number, keepProtected: boolean): void
    _dirtyRowTracker: { markRangeDirty(from: number, to: number): void }
  }
}

function coreOf(term: Terminal): Core {
  return (term as unknown as { _core: Core })._core
}

/** Repetitions and characters in a cell that internal/vt allows; the screen is the same only with its bounds. */
const mostRepeats = (cols: number) => Math.min(1000, Math.max(16, cols))
const mostInCell = 32

/**
 * Keeps a terminal from hanging or breaking over what a program writes. `failed` is called when a write broke off all
 * the same: the picture is wrong then, and what comes next is drawn again only because the fault was caught.
 */
export function safeguard(term: Terminal, failed: () => void): void {
  const core = coreOf(term)
  const handler = core._inputHandler
  capCounts(core)
  for (const prefix of ['', '?']) {
    handler._parser.registerCsiHandler({ ...(prefix === '' ? {} : { prefix }), final: 'J' }, ({ params }) =>
      eraseAbove(core, params[0] ?? 0, prefix === '?'),
    )
  }
  const line = core.buffers.normal.lines.get(0)
  if (line) mendLines(Object.getPrototypeOf(line) as Line)

  const parse = handler.parse.bind(handler)
  handler.parse = (data, resumed) => {
    try {
      return parse(data, resumed)
    } catch {
      // Out of here xterm's queue would keep this piece at its head and never take another.
      failed()
      return undefined
    }
  }
}

/** Bounds counts that xterm turns into as many turns of a loop. Beyond the screen more makes no difference. */
function capCounts(core: Core): void {
  const { _parser: parser } = core._inputHandler
  const cap = (finals: string, limit: () => number) => {
    for (const final of finals) {
      parser.registerCsiHandler({ final }, ({ params }) => {
        params[0] = Math.min(params[0] ?? 0, limit())
        return false
      })
    }
  }
  cap('SLMT', () => core.rows)
  cap('IZXP@', () => core.cols)
  cap('b', () => mostRepeats(core.cols))
}

/**
 * Erases up to the cursor where it stands in the last column: xterm clears the wrap of a wrong line there, and throws
 * in the last row. False leaves everything else to xterm.
 */
function eraseAbove(core: Core, what: number, keepProtected: boolean): boolean {
  const { active } = core.buffers
  if (what !== 1 || active.x + 1 < core.cols) return false
  const handler = core._inputHandler
  handler._restrictCursor(core.cols)
  handler._eraseInBufferLine(active.y, 0, active.x + 1, true, keepProtected)
  const next = active.y + 1 < core.rows ? active.lines.get(active.ybase + active.y + 1) : undefined
  if (next) next.isWrapped = false
  for (let y = 0; y < active.y; y++) handler._resetBufferLine(y, keepProtected)
  handler._dirtyRowTracker.markRangeDirty(0, active.y)
  return true
}

const mended = new WeakSet<Line>()

/** Bounds the characters of a cell, and keeps rewrapping from giving one cell's characters to another. */
function mendLines(prototype: Line): void {
  if (mended.has(prototype)) return
  mended.add(prototype)
  const { addCodepointToCell: add, copyCellsFrom: copy } = prototype
  prototype.addCodepointToCell = function (index, code, width) {
    const text = this._combined[index]
    // A stale text may lie under a cell of one character: add() then begins it anew.
    if (text !== undefined && text.length >= mostInCell && this.getString(index) === text) {
      if ([...text].length >= mostInCell) return
    }
    add.call(this, index, code, width)
  }
  prototype.copyCellsFrom = function (source, from, to, length, reverse) {
    // Inside one line xterm would copy what it has just overwritten, and it copies more than length.
    const texts = { ...source._combined }
    const before = { ...this._combined }
    copy.call(this, source, from, to, length, reverse)
    for (const name of Object.keys(this._combined)) {
      const index = Number(name)
      const text = index >= to && index < to + length ? texts[index - to + from] : before[index]
      if (text === undefined) delete this._combined[index]
      else this._combined[index] = text
    }
  }
}

/**
 * Gives a terminal another size. False when xterm could not: the terminal is empty then, has the size, and needs a
 * repaint.
 */
export function resizeSafely(term: Terminal, cols: number, rows: number): boolean {
  const core = coreOf(term)
  const { lines } = core.buffers.normal
  const set = lines.set
  // Rewrapping beyond the scrollback writes lines in front of the first, which wrap around and overwrite the last.
  lines.set = (index, line) => {
    if (index >= 0) set?.call(lines, index, line)
  }
  let intact = true
  try {
    term.resize(cols, rows)
  } catch {
    intact = false
  }
  delete lines.set
  if (!intact) {
    term.reset()
    // Nobody was told of the size, and the same size again would tell nobody: there and back.
    term.resize(cols, rows === 1 ? 2 : rows - 1)
    term.resize(cols, rows)
  }
  // A hidden alternate screen that shrank would have a scrollback.
  const { alt } = core.buffers
  if (alt.lines.length === 0) alt.lines.maxLength = term.rows
  return intact
}
