import { coast } from './scroller'

/**
 * All touch on the terminal (UX §3.3). xterm's own touch code differs from version to version and types arrow keys into
 * full-screen programs, so its element never sees a touch: listeners stand on the container, in the capture phase.
 */
export interface TouchHandlers {
  /** A finger moved by so many pixels; x and y are where it is. Returns whether anything moved, for the flick. */
  drag(dx: number, dy: number, x: number, y: number): void
  /** The finger left with this speed, in pixels per millisecond; called step by step until it rests. */
  flick(dy: number): void
  tap(x: number, y: number): void
  doubleTap(x: number, y: number): void
  longPress(x: number, y: number): void
  /** A long press that moves on, to extend the selection. */
  select(x: number, y: number): void
  selectEnd(): void
  pinch(factor: number): void
  pinchEnd(): void
}

/** Movement below this is not a drag. */
const slop = 10
const longPressAfter = 500
const doubleTapWithin = 280
/** A finger that rested this long before it left does not throw. */
const pausedAfter = 90
/** The system's own edges. */
const sideEdge = 24
const bottomEdge = 20

interface Point {
  x: number
  y: number
  at: number
}

type Mode = 'none' | 'undecided' | 'drag' | 'select' | 'pinch' | 'ignore'

export function createTouchLayer(container: HTMLElement, handlers: TouchHandlers): { dispose(): void } {
  const listeners = new AbortController()
  const options = { capture: true, passive: false, signal: listeners.signal }
  let mode: Mode = 'none'
  let start: Point = { x: 0, y: 0, at: 0 }
  let last: Point = start
  let trail: Point[] = []
  let pinchStart = 0
  let press: ReturnType<typeof setTimeout> | undefined
  let lastTap: Point | null = null
  let frame = 0

  const point = (touch: Touch): Point => ({ x: touch.clientX, y: touch.clientY, at: performance.now() })
  const distance = (touches: TouchList) => {
    const [a, b] = [touches[0], touches[1]]
    return a && b ? Math.hypot(a.clientX - b.clientX, a.clientY - b.clientY) : 0
  }
  /** Nothing of xterm's may see the event, nor may the browser make a click, a scroll or a selection of it. */
  const own = (event: TouchEvent) => {
    event.stopPropagation()
    if (event.cancelable) event.preventDefault()
  }

  function atEdge({ x, y }: Point): boolean {
    const box = container.getBoundingClientRect()
    const bottom = window.innerHeight - y < bottomEdge && box.bottom >= window.innerHeight
    return x < sideEdge || x > window.innerWidth - sideEdge || bottom
  }

  function stopCoasting(): boolean {
    const was = frame !== 0
    cancelAnimationFrame(frame)
    frame = 0
    return was
  }

  function begin(event: TouchEvent): void {
    const first = event.touches[0]
    if (first === undefined) return
    const wasCoasting = stopCoasting()
    clearTimeout(press)
    if (event.touches.length > 1) {
      own(event)
      if (mode === 'select') handlers.selectEnd()
      mode = 'pinch'
      pinchStart = distance(event.touches)
      return
    }
    start = last = point(first)
    trail = [start]
    if (atEdge(start)) {
      mode = 'ignore'
      return
    }
    own(event)
    // A touch that stops a flick is not a tap.
    mode = wasCoasting ? 'drag' : 'undecided'
    press = setTimeout(() => {
      if (mode !== 'undecided') return
      mode = 'select'
      handlers.longPress(start.x, start.y)
    }, longPressAfter)
  }

  function move(event: TouchEvent): void {
    const first = event.touches[0]
    if (first === undefined || mode === 'ignore' || mode === 'none') return
    own(event)
    if (mode === 'pinch') {
      if (event.touches.length > 1 && pinchStart > 0) handlers.pinch(distance(event.touches) / pinchStart)
      return
    }
    const now = point(first)
    if (mode === 'select') return handlers.select(now.x, now.y)
    if (mode === 'undecided') {
      if (Math.hypot(now.x - start.x, now.y - start.y) < slop) return
      clearTimeout(press)
      mode = 'drag'
    }
    handlers.drag(now.x - last.x, now.y - last.y, now.x, now.y)
    last = now
    trail = [...trail.filter((earlier) => now.at - earlier.at < 100), now]
  }

  function end(event: TouchEvent): void {
    clearTimeout(press)
    if (mode === 'ignore') {
      if (event.touches.length === 0) mode = 'none'
      return
    }
    if (mode === 'none') return
    own(event)
    if (event.touches.length > 0) return
    const was = mode
    mode = 'none'
    if (was === 'pinch') handlers.pinchEnd()
    else if (was === 'select') handlers.selectEnd()
    else if (was === 'drag') release()
    else if (event.type === 'touchend') tapped()
  }

  function tapped(): void {
    const double =
      lastTap !== null &&
      start.at - lastTap.at < doubleTapWithin &&
      Math.hypot(start.x - lastTap.x, start.y - lastTap.y) < 3 * slop
    lastTap = double ? null : start
    // In the event itself: only there may a page raise the keyboard.
    if (double) handlers.doubleTap(start.x, start.y)
    else handlers.tap(start.x, start.y)
  }

  function release(): void {
    const now = performance.now()
    const oldest = trail[0]
    const newest = trail.at(-1)
    if (oldest === undefined || newest === undefined || now - newest.at > pausedAfter) return
    const elapsed = newest.at - oldest.at
    if (elapsed < 8) return
    let speed = (newest.y - oldest.y) / elapsed
    if (Math.abs(speed) < 0.15) return
    let at = now
    const step = () => {
      const time = performance.now()
      const next = coast(speed, time - at)
      at = time
      speed = next.speed
      handlers.flick(next.distance)
      frame = speed === 0 ? 0 : requestAnimationFrame(step)
    }
    frame = requestAnimationFrame(step)
  }

  container.addEventListener('touchstart', begin, options)
  container.addEventListener('touchmove', move, options)
  container.addEventListener('touchend', end, options)
  container.addEventListener('touchcancel', end, options)

  return {
    dispose() {
      stopCoasting()
      clearTimeout(press)
      listeners.abort()
    },
  }
}
