import { computed, type ComputedRef, type WritableComputedRef } from 'vue'
import { useRoute, useRouter } from 'vue-router'
import type { AuditFilter } from '@/stores/types'

export interface ChosenFilter {
  filter: ComputedRef<AuditFilter>
  /** Each is empty when it does not narrow. */
  kind: WritableComputedRef<string>
  who: WritableComputedRef<string>
  session: WritableComputedRef<string>
  active: ComputedRef<boolean>
  clear(): void
}

/** What the audit is narrowed to. It stands in the address, so that a reload and a link keep it. */
export function useAuditFilter(): ChosenFilter {
  const route = useRoute()
  const router = useRouter()

  function parameter(name: string) {
    return computed({
      get: () => (typeof route.query[name] === 'string' ? route.query[name] : ''),
      set: (value) => void router.replace({ query: { ...route.query, [name]: value || undefined } }),
    })
  }
  const kind = parameter('kind')
  const who = parameter('who')
  const session = parameter('session')
  const filter = computed<AuditFilter>(() => ({
    ...(kind.value === '' ? {} : { action: kind.value }),
    ...(who.value === '' ? {} : { who: who.value }),
    ...(session.value === '' ? {} : { target: session.value }),
  }))

  return {
    filter,
    kind,
    who,
    session,
    active: computed(() => Object.keys(filter.value).length > 0),
    clear: () => void router.replace({ query: {} }),
  }
}
