import { onScopeDispose, readonly, ref, type Ref } from 'vue'

/** The time in ms, advanced every `interval` ms while the page is visible, and at once when it becomes so. */
export function useNow(interval: number): Readonly<Ref<number>> {
  const now = ref(Date.now())
  const tick = () => {
    if (!document.hidden) now.value = Date.now()
  }
  const timer = setInterval(tick, interval)
  document.addEventListener('visibilitychange', tick)
  onScopeDispose(() => {
    clearInterval(timer)
    document.removeEventListener('visibilitychange', tick)
  })
  return readonly(now)
}
