import type { Terminal } from '@xterm/xterm'
import type { History } from './history'
import { clampTop, lowestTop, scrollBy, type ScrollSizes } from './scroller'

export interface CellSize {
  width: number
  height: number
}

/** The size of a cell as xterm draws it; its public interface does not tell. */
export function cellSize(term: Terminal): CellSize | null {
  const core = (
    term as unknown as { _core?: { _renderService?: { dimensions?: { css?: { cell?: CellSize } } } } }
  )._core
  const cell = core?._renderService?.dimensions?.css?.cell
  return cell && cell.width > 0 && cell.height > 0 ? { width: cell.width, height: cell.height } : null
}

/**
 * Where the terminal stands in its container. The grid is the session's, not the container's: it may be wider and
 * taller, and is moved, not resized. Following means that the newest rows are in view and stay so.
 */
export class Viewport {
  private top = 0
  private left = 0
  private rest = 0
  private following = true
  /** While content is exchanged: how far the top of the screen was below the top of the view. */
  private held: number | null = null
  private marker: { line: number; isDisposed: boolean; dispose(): void } | null = null

  constructor(
    private readonly term: Terminal,
    private readonly container: HTMLElement,
    private readonly stage: HTMLElement,
    private readonly history: History,
    /** Tells how many lines came since the person scrolled up, or null while following. */
    private readonly moved: (newLines: number | null) => void,
  ) {}

  get isFollowing(): boolean {
    return this.following
  }

  /** Whether the grid is wider than the container. */
  get isWide(): boolean {
    const cell = cellSize(this.term)
    return cell !== null && cell.width * this.term.cols > this.container.clientWidth + 1
  }

  private sizes(): ScrollSizes | null {
    const cell = cellSize(this.term)
    if (cell === null) return null
    const buffer = this.term.buffer.active
    return {
      view: this.container.clientHeight,
      grid: cell.height * this.term.rows,
      history: buffer.type === 'normal' ? this.history.height : 0,
      row: cell.height,
      base: buffer.baseY,
      shown: buffer.viewportY,
    }
  }

  /** Moves the picture by pixels; positive down and right. Returns whether it moved. */
  move(dx: number, dy: number): boolean {
    const sizes = this.sizes()
    if (sizes === null || this.held !== null) return false
    const before = { top: this.top, left: this.left }
    const change = scrollBy(dy, this.top, this.rest, sizes)
    this.rest = change.rest
    if (change.lines !== 0) this.term.scrollLines(change.lines)
    this.top = change.top
    this.left += dx
    const buffer = this.term.buffer.active
    const nearTop = buffer.viewportY === 0 && this.top > sizes.history - 1.5 * sizes.view
    if (dy > 0 && buffer.type === 'normal' && nearTop) void this.history.load()
    this.setFollowing(buffer.viewportY === buffer.baseY && this.top <= this.followTop(sizes) + 1)
    this.apply(sizes)
    return change.lines !== 0 || this.top !== before.top || this.left !== before.left
  }

  toBottom(): void {
    this.rest = 0
    this.term.scrollToBottom()
    this.setFollowing(true)
    this.layout()
  }

  /** History rows were put between what is shown and the terminal: the picture stays where it is. */
  insertedBelow(pixels: number): void {
    if (this.held !== null) return
    if (this.top > 0) this.top += pixels
    this.layout()
  }

  /** Leaves everything where it is while the terminal's content is exchanged. */
  hold(): void {
    const sizes = this.sizes()
    const above = sizes === null ? 0 : (sizes.base - sizes.shown) * sizes.row
    this.held ??= this.top + above
  }

  /** The new content is there. Who was reading what is history now, keeps it in view. */
  release(): void {
    if (this.held === null) return
    const { held } = this
    this.held = null
    if (!this.following) this.top = held
    this.layout()
  }

  /** Stands everything in its place again after a change of size, content or cursor. */
  layout(): void {
    const sizes = this.sizes()
    if (sizes === null || this.held !== null) return
    if (this.following) {
      this.top = this.followTop(sizes)
    } else if (this.top > 0 && sizes.shown > 0) {
      // The terminal scrolled under a person who reads the history above it.
      this.term.scrollToLine(0)
      sizes.shown = 0
    }
    this.apply(sizes)
    if (!this.following) this.moved(this.newLines())
  }

  /** The last rows are in view, unless that would hide the cursor's. */
  private followTop(sizes: ScrollSizes): number {
    const lowest = lowestTop(sizes)
    return Math.max(lowest, Math.min(0, -this.term.buffer.active.cursorY * sizes.row))
  }

  private apply(sizes: ScrollSizes): void {
    const cell = cellSize(this.term)
    if (cell === null) return
    const narrowest = Math.min(0, this.container.clientWidth - cell.width * this.term.cols)
    this.left = Math.min(0, Math.max(narrowest, this.left))
    this.top = clampTop(this.top, sizes, this.term.buffer.active.viewportY)
    this.stage.style.transform = `translate(${Math.round(this.left)}px, ${Math.round(this.top)}px)`
    this.stage.style.width = `${Math.ceil(cell.width * this.term.cols)}px`
    this.history.element.style.lineHeight = `${cell.height}px`
    this.history.element.style.setProperty('--term-row', `${cell.height}px`)
  }

  private setFollowing(following: boolean): void {
    if (following === this.following) return
    this.following = following
    this.marker?.dispose()
    this.marker = following ? null : (this.term.registerMarker(0) ?? null)
    this.moved(following ? null : 0)
  }

  private newLines(): number {
    const buffer = this.term.buffer.active
    if (this.marker === null || this.marker.isDisposed || buffer.type !== 'normal') return 0
    return Math.max(0, buffer.baseY + buffer.cursorY - this.marker.line)
  }
}
