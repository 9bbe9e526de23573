import { computed, type ComputedRef } from 'vue'
import { useRoute, useRouter } from 'vue-router'

/**
 * A sheet or sub-view as one entry of the history (`?sheet=name`): Android's back and iOS's edge swipe close the
 * top-most thing first, and a reload keeps it.
 */
export function useSheet(
  name: string,
  parameter = 'sheet',
): { open: ComputedRef<boolean>; show(): void; close(): void } {
  const route = useRoute()
  const router = useRouter()
  const open = computed(() => route.query[parameter] === name)

  function show() {
    if (open.value) return
    void router.push({ query: { ...route.query, [parameter]: name }, state: { layered: true } })
  }

  function close() {
    if (!open.value) return
    // Opened from within: go back to what is under it. Opened by address: there is nothing under it, replace.
    if (history.state?.layered) router.back()
    else void router.replace({ query: { ...route.query, [parameter]: undefined } })
  }

  return { open, show, close }
}
