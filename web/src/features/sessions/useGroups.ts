import { computed, ref, type ComputedRef, type Ref } from 'vue'
import { useSettled } from '@/composables/useSettled'
import { useSessionsStore } from '@/stores/sessions'
import { listGroups, type Group } from './groups'
import { matches } from './rowText'

/** The groups of a session list, filtered by `query`, steady under a finger. */
export function useGroups(): { groups: ComputedRef<Group[]>; query: Ref<string> } {
  const store = useSessionsStore()
  const query = ref('')
  const settled = useSettled(() => ({ ...store.groups }))
  const groups = computed(() => {
    const wanted = query.value.trim()
    return listGroups(settled.value, (session) => wanted === '' || matches(session, wanted))
  })
  return { groups, query }
}
