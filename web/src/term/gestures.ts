import type { Terminal } from '@xterm/xterm'
import { hyperlinkAt } from './links'
import { createTouchLayer } from './touch'
import type { TerminalEvents } from './terminal'
import { cellSize, type Viewport } from './viewport'
import { urlAt, wordAt } from './words'

export interface GestureTarget {
  coarse: boolean
  fullScreenPages: boolean
  /** Runs a handler of ours in which xterm may send. */
  during(action: () => void): void
  press(name: string): void
  openLink(text: string): void
  emit<Name extends 'tap' | 'doubleTap' | 'fullScreenDrag'>(name: Name, payload: TerminalEvents[Name]): void
  /** A finger selected something. xterm says so itself, but not when it is what was selected last. */
  selected(): void
  toggleFit(): void
  pinch(factor: number, start: number): void
  pinchEnd(): void
  fontSize(): number
}

/** A page key is sent for every so much of the view's height that was dragged. */
const pageDrag = 0.4

/** Touch and wheel on the terminal. */
export function bindGestures(
  container: HTMLElement,
  term: Terminal,
  viewport: Viewport,
  target: GestureTarget,
): { dispose(): void } {
  let wheelRest = 0
  let pageRest = 0
  let offered = false
  let pinchBase = 0
  let anchor: { x: number; y: number; cells: number } | null = null

  /** The cell under a point of the page; y counts from the beginning of the buffer. */
  function cellAt(x: number, y: number): { x: number; y: number } | null {
    const cell = cellSize(term)
    const box = term.element?.querySelector('.xterm-screen')?.getBoundingClientRect()
    if (cell === null || box === undefined) return null
    const column = Math.floor((x - box.left) / cell.width)
    const row = Math.floor((y - box.top) / cell.height)
    if (column < 0 || row < 0 || column >= term.cols || row >= term.rows) return null
    return { x: column, y: row + term.buffer.active.viewportY }
  }

  function drag(dx: number, dy: number, x: number, y: number): void {
    if (term.buffer.active.type === 'normal' || !fullScreen(dy, x, y)) viewport.move(dx, dy)
    else if (dx !== 0) viewport.move(dx, 0)
  }

  /** A drag in a program that fills the screen (UX SCR-3, SCR-4); false when the picture itself can still move. */
  function fullScreen(dy: number, x: number, y: number): boolean {
    if (term.modes.mouseTrackingMode !== 'none') {
      wheel(dy, x, y)
      return true
    }
    if (viewport.move(0, dy)) return true
    if (target.fullScreenPages) {
      pageRest += dy
      const step = container.clientHeight * pageDrag
      while (Math.abs(pageRest) >= step) {
        target.press(pageRest > 0 ? 'pageup' : 'pagedown')
        pageRest -= Math.sign(pageRest) * step
      }
    } else if (!offered && Math.abs(dy) > 0) {
      offered = true
      target.emit('fullScreenDrag', undefined)
    }
    return true
  }

  /** One notch of a wheel for every row dragged, at the touched cell, in the encoding the program asked for. */
  function wheel(dy: number, x: number, y: number): void {
    const row = cellSize(term)?.height ?? 0
    if (row === 0) return
    wheelRest += dy
    while (Math.abs(wheelRest) >= row) {
      const up = wheelRest > 0
      wheelRest -= up ? row : -row
      const notch = new WheelEvent('wheel', {
        deltaY: up ? -1 : 1,
        deltaMode: WheelEvent.DOM_DELTA_LINE,
        clientX: x,
        clientY: y,
        bubbles: true,
        cancelable: true,
      })
      target.during(() => term.element?.dispatchEvent(notch))
    }
  }

  let lastPoint = { x: 0, y: 0 }
  const touch = createTouchLayer(container, {
    drag(dx, dy, x, y) {
      lastPoint = { x, y }
      drag(dx, dy, x, y)
    },
    flick: (dy) => drag(0, dy, lastPoint.x, lastPoint.y),
    tap(x, y) {
      offered = false
      pageRest = wheelRest = 0
      if (term.hasSelection()) return term.clearSelection()
      const at = cellAt(x, y)
      const url = at && (hyperlinkAt(term, at.x, at.y) ?? urlAt(term.buffer.active, at.x, at.y, term.cols))
      if (url) target.openLink(url)
      else target.emit('tap', { x, y })
    },
    doubleTap(x, y) {
      target.toggleFit()
      target.emit('doubleTap', { x, y })
    },
    longPress(x, y) {
      const at = cellAt(x, y)
      const word = at && wordAt(term.buffer.active, at.x, at.y, term.cols)
      anchor = word ? { x: word.x, y: word.y, cells: word.cells } : at && { ...at, cells: 1 }
      if (anchor === null) return
      term.select(anchor.x, anchor.y, anchor.cells)
      target.selected()
    },
    select(x, y) {
      const at = cellAt(x, y)
      if (at === null || anchor === null) return
      const index = at.y * term.cols + at.x
      const first = anchor.y * term.cols + anchor.x
      const from = Math.min(first, index)
      const to = Math.max(first + anchor.cells, index + 1)
      term.select(from % term.cols, Math.floor(from / term.cols), to - from)
      target.selected()
    },
    selectEnd: () => undefined,
    pinch(factor) {
      if (pinchBase === 0) pinchBase = target.fontSize()
      target.pinch(factor, pinchBase)
    },
    pinchEnd() {
      pinchBase = 0
      target.pinchEnd()
    },
  })

  const listeners = new AbortController()
  container.addEventListener(
    'wheel',
    (event) => {
      // A program that listens to the mouse gets the wheel from xterm; zooming stays the browser's.
      const ours = term.buffer.active.type === 'normal' && term.modes.mouseTrackingMode === 'none'
      if (!event.isTrusted || event.ctrlKey || !ours) return
      event.preventDefault()
      event.stopPropagation()
      const row = cellSize(term)?.height ?? 16
      const unit =
        event.deltaMode === WheelEvent.DOM_DELTA_LINE
          ? row
          : event.deltaMode === WheelEvent.DOM_DELTA_PAGE
            ? container.clientHeight
            : 1
      const [dx, dy] = event.shiftKey ? [event.deltaY, 0] : [event.deltaX, event.deltaY]
      viewport.move(-dx * unit, -dy * unit)
    },
    { capture: true, passive: false, signal: listeners.signal },
  )

  return {
    dispose() {
      listeners.abort()
      touch.dispose()
    },
  }
}
