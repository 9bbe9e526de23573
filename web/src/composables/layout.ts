/** What the browser reports of window and visual viewport, in CSS px. */
export interface ViewportReading {
  innerHeight: number
  /** visualViewport.height, .offsetTop and .scale. */
  vvHeight: number
  vvOffsetTop: number
  scale: number
  /** Whether a field that raises the on-screen keyboard has focus. */
  editableFocused: boolean
  /** env(safe-area-inset-bottom). */
  safeBottom: number
}

export interface Layout {
  keyboardOpen: boolean
  /** Height of the app in px: the visible part while the keyboard is up. */
  height: number
  /** How far the app must move down to stay in the visible part. */
  translateY: number
  /** Space to leave at the bottom; none over a keyboard. */
  safeBottom: number
}

/** Less than this is a browser toolbar, not a keyboard. */
const smallestKeyboard = 120

/**
 * Decides where the app stands. A keyboard is open only if something editable is focused, the page is not zoomed
 * and the visible part lost more than a toolbar's height. With it closed the offset is ignored: iOS leaves a
 * stale one behind.
 */
export function layout(reading: ViewportReading): Layout {
  const unzoomed = Math.abs(reading.scale - 1) < 0.01
  const keyboardOpen =
    reading.editableFocused && unzoomed && reading.innerHeight - reading.vvHeight > smallestKeyboard
  if (!keyboardOpen) {
    return { keyboardOpen, height: reading.innerHeight, translateY: 0, safeBottom: reading.safeBottom }
  }
  return {
    keyboardOpen,
    height: Math.round(reading.vvHeight),
    translateY: Math.max(0, Math.round(reading.vvOffsetTop)),
    safeBottom: 0,
  }
}
