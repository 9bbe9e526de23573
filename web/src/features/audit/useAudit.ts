import { computed, ref, shallowRef, watch, type ComputedRef, type Ref } from 'vue'
import { useAccessStore } from '@/stores/access'
import type { AuditFilter, AuditLine } from '@/stores/types'

export interface Audit {
  lines: Readonly<Ref<AuditLine[]>>
  /** Whether the first answer for this filter is here. */
  loaded: Readonly<Ref<boolean>>
  /** Whether older lines are being asked for. */
  loadingOlder: Readonly<Ref<boolean>>
  hasOlder: ComputedRef<boolean>
  /** When (Date.now) the newest lines were asked for last, with an answer. */
  loadedAt: Readonly<Ref<number | null>>
  failure: Readonly<Ref<string>>
  /** Asks for the newest lines; those that are shown stay. */
  refresh(): Promise<void>
  older(): Promise<void>
}

/** The audit through a filter, a page at a time. A change of the filter begins anew; late answers to an old one are dropped. */
export function useAudit(filter: () => AuditFilter): Audit {
  const access = useAccessStore()
  const lines = shallowRef<AuditLine[]>([])
  const next = ref<string | null>(null)
  const loaded = ref(false)
  const loadingOlder = ref(false)
  const loadedAt = ref<number | null>(null)
  const failure = ref('')
  let turn = 0

  function explain(error: unknown) {
    failure.value = error instanceof Error ? error.message : String(error)
  }

  async function refresh() {
    const mine = turn
    try {
      const page = await access.auditPage(filter())
      if (mine !== turn) return
      const newest = lines.value[0]?.id ?? 0
      const fresh = page.lines.filter((line) => line.id > newest)
      // More came meanwhile than fits a page: what is between is not known, so the list begins anew.
      const gap = fresh.length === page.lines.length && page.next !== null
      if (!loaded.value || gap) {
        lines.value = page.lines
        next.value = page.next
      } else if (fresh.length > 0) {
        lines.value = [...fresh, ...lines.value]
      }
      loaded.value = true
      loadedAt.value = Date.now()
      failure.value = ''
    } catch (error) {
      if (mine === turn) explain(error)
    }
  }

  async function older() {
    const cursor = next.value
    if (cursor === null || loadingOlder.value) return
    const mine = turn
    loadingOlder.value = true
    try {
      const page = await access.auditPage(filter(), cursor)
      if (mine !== turn || next.value !== cursor) return
      lines.value = [...lines.value, ...page.lines]
      next.value = page.next
      failure.value = ''
    } catch (error) {
      if (mine === turn) explain(error)
    } finally {
      if (mine === turn) loadingOlder.value = false
    }
  }

  watch(
    () => JSON.stringify(filter()),
    () => {
      turn++
      lines.value = []
      next.value = null
      loaded.value = loadingOlder.value = false
      failure.value = ''
      void refresh()
    },
  )

  return {
    lines,
    loaded,
    loadingOlder,
    hasOlder: computed(() => next.value !== null),
    loadedAt,
    failure,
    refresh,
    older,
  }
}
