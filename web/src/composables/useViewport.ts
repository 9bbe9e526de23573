import { inject, onScopeDispose, provide, shallowRef, type InjectionKey, type ShallowRef } from 'vue'
import { layout, type Layout } from './layout'

const editable =
  'textarea, select, [contenteditable="true"], input:not([type="checkbox"], [type="radio"], [type="range"])'

/** The window as it is without a keyboard, as far as seen, and the width it was seen at. */
let rest = { width: 0, height: 0 }

function read(): Layout {
  const root = document.documentElement
  const viewport = window.visualViewport
  const editableFocused = document.activeElement?.matches(editable) ?? false
  if (!editableFocused || rest.width !== window.innerWidth)
    rest = { width: window.innerWidth, height: window.innerHeight }
  // A field focused again while the keyboard was still leaving: the window was not at rest yet.
  rest.height = Math.max(rest.height, window.innerHeight)
  return layout({
    // Browsers that resize the window for the keyboard hide it from this reading; what was there before shows it.
    innerHeight: editableFocused ? rest.height : window.innerHeight,
    vvHeight: viewport?.height ?? window.innerHeight,
    vvOffsetTop: viewport?.offsetTop ?? 0,
    scale: viewport?.scale ?? 1,
    editableFocused,
    safeBottom: Number.parseFloat(getComputedStyle(root).getPropertyValue('--safe-b')) || 0,
  })
}

type Viewport = Readonly<ShallowRef<Layout>>
const key: InjectionKey<Viewport> = Symbol('viewport')

/**
 * Follows window, visual viewport and keyboard, at most once a frame, and gives the result to CSS:
 * `--app-height`, `--app-shift`, and `data-keyboard` on the root element.
 * Called once by App.
 */
export function provideViewport(): void {
  const root = document.documentElement
  const viewport = shallowRef<Layout>(read())
  let frame = 0

  function apply() {
    frame = 0
    const next = read()
    const wasOpen = viewport.value.keyboardOpen
    viewport.value = next
    root.style.setProperty('--app-height', `${next.height}px`)
    root.style.setProperty('--app-shift', `${next.translateY}px`)
    root.toggleAttribute('data-keyboard', next.keyboardOpen)
    // iOS leaves the page scrolled when the keyboard goes.
    if (wasOpen && !next.keyboardOpen) window.scrollTo(0, 0)
  }

  function schedule() {
    if (frame === 0) frame = requestAnimationFrame(apply)
  }

  const stop = new AbortController()
  const { signal } = stop
  for (const type of ['resize', 'orientationchange', 'pageshow'])
    window.addEventListener(type, schedule, { signal })
  for (const type of ['focusin', 'focusout', 'visibilitychange'])
    document.addEventListener(type, schedule, { signal })
  for (const type of ['resize', 'scroll']) window.visualViewport?.addEventListener(type, schedule, { signal })
  apply()

  onScopeDispose(() => {
    stop.abort()
    cancelAnimationFrame(frame)
  })
  provide(key, viewport)
}

/** Where the app stands now, and whether the OS keyboard is up. */
export function useViewport(): Viewport {
  const viewport = inject(key)
  if (!viewport) throw new Error('useViewport needs provideViewport in a parent')
  return viewport
}
