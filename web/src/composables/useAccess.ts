import { computed, onMounted, onScopeDispose, watch } from 'vue'
import { useAccessStore } from '@/stores/access'
import { useIdentityStore } from '@/stores/identity'
import { useLinkStore } from '@/stores/link'

/**
 * Keeps the lists of devices and tokens fresh while a screen shows them: with every new device, connection and return to
 * the page. A device that may not see them asks for nothing; what it may, the connection says.
 */
export function useAccess(): ReturnType<typeof useAccessStore> {
  const store = useAccessStore()
  const link = useLinkStore()
  const identity = useIdentityStore()
  const asks = computed(() => link.status === 'live' && identity.may('admin'))

  function refresh() {
    if (asks.value && document.visibilityState !== 'hidden') void store.load()
  }

  onMounted(refresh)
  watch(asks, refresh)
  onScopeDispose(link.onEvent((event) => event.kind === 'device' && refresh()))
  document.addEventListener('visibilitychange', refresh)
  onScopeDispose(() => document.removeEventListener('visibilitychange', refresh))
  return store
}
