import { onScopeDispose } from 'vue'

/** Timing of a held key, in ms (Termux and Blink users know these). */
const firstDelay = 400
const slowInterval = 80
const fastInterval = 40
const fastAfter = 1000

/**
 * Repeats an action while a key is held. `mayRepeat` is asked before each repetition, so that a slow link never
 * overshoots. It stops on release, when the page is hidden or loses focus, and with its scope.
 */
export function useHoldRepeat(mayRepeat: () => boolean): { start(action: () => void): void; stop(): void } {
  let timer: ReturnType<typeof setTimeout> | undefined

  function stop() {
    clearTimeout(timer)
    timer = undefined
  }

  function start(action: () => void) {
    stop()
    action()
    let held = firstDelay
    const repeat = () => {
      if (mayRepeat()) action()
      const interval = held - firstDelay >= fastAfter ? fastInterval : slowInterval
      held += interval
      timer = setTimeout(repeat, interval)
    }
    timer = setTimeout(repeat, firstDelay)
  }

  window.addEventListener('blur', stop)
  document.addEventListener('visibilitychange', stop)
  onScopeDispose(() => {
    stop()
    window.removeEventListener('blur', stop)
    document.removeEventListener('visibilitychange', stop)
  })
  return { start, stop }
}
