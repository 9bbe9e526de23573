import { computed, type ComputedRef } from 'vue'
import { useRoute, useRouter } from 'vue-router'

export interface Sheets {
  /** The sheet that is open, or none. */
  open: ComputedRef<string | null>
  /** The id of what it is about, or none. */
  id: ComputedRef<string | null>
  /** Opens a sheet, or puts it in the place of the one that is open. */
  show(name: string, id?: string): void
  close(): void
}

/** The sheets of a screen with many: one at a time, one entry of the history for it. */
export function useSheets(): Sheets {
  const route = useRoute()
  const router = useRouter()
  const word = (value: unknown) => (typeof value === 'string' ? value : null)
  const open = computed(() => word(route.query.sheet))
  const id = computed(() => word(route.query.id))

  function show(name: string, about?: string) {
    const query = { ...route.query, sheet: name, id: about }
    const layered: boolean = open.value === null || history.state?.layered === true
    void router[open.value === null ? 'push' : 'replace']({ query, state: { layered } })
  }

  function close() {
    if (open.value === null) return
    if (history.state?.layered) router.back()
    else void router.replace({ query: { ...route.query, sheet: undefined, id: undefined } })
  }

  return { open, id, show, close }
}
