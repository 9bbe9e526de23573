import { onScopeDispose, shallowRef, watch, type ShallowRef } from 'vue'

/**
 * Follows a list, but not while a finger or a button is down: rows must not move under a tap. What came meanwhile is
 * shown at the next release.
 */
export function useSettled<T>(source: () => T): Readonly<ShallowRef<T>> {
  const settled = shallowRef(source())
  let down = false
  let waiting = false

  watch(source, (value) => {
    if (down) waiting = true
    else settled.value = value
  })

  const press = () => {
    down = true
  }
  const release = () => {
    down = false
    if (waiting) settled.value = source()
    waiting = false
  }
  document.addEventListener('pointerdown', press, { capture: true, passive: true })
  for (const type of ['pointerup', 'pointercancel']) document.addEventListener(type, release, true)
  onScopeDispose(() => {
    document.removeEventListener('pointerdown', press, { capture: true })
    for (const type of ['pointerup', 'pointercancel']) document.removeEventListener(type, release, true)
  })
  return settled
}
