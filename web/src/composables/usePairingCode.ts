import { computed, onScopeDispose, ref, shallowRef, type ComputedRef, type Ref } from 'vue'
import { useLinkStore } from '@/stores/link'
import type { Code, CodeKind } from '@/stores/types'
import { useNow } from './useNow'

/** How often the server is asked whether the code was used, in ms. */
const askEvery = 2000

export type PairingState = 'making' | 'live' | 'used' | 'expired' | 'cancelled' | 'failed'

export interface PairingCode {
  code: Readonly<Ref<Code | null>>
  state: Readonly<Ref<PairingState>>
  /** Ms until it ends. */
  left: ComputedRef<number>
  /** Why there is no code. */
  failure: Readonly<Ref<string>>
  /** Makes a new one. */
  renew(): Promise<void>
}

/** A code that admits one device or host, watched until it is used or over. */
export function usePairingCode(kind: CodeKind): PairingCode {
  const link = useLinkStore()
  const now = useNow(1000)
  const code = shallowRef<Code | null>(null)
  const state = ref<PairingState>('making')
  const failure = ref('')
  let endsAt = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let over = false

  async function renew() {
    clearTimeout(timer)
    state.value = 'making'
    failure.value = ''
    try {
      const made = await link.createCode(kind)
      code.value = made
      endsAt = Date.now() + made.expires_ms
      state.value = 'live'
      watchSoon(made.id)
    } catch (error) {
      state.value = 'failed'
      failure.value = error instanceof Error ? error.message : String(error)
    }
  }

  function watchSoon(id: string) {
    if (!over) timer = setTimeout(() => void ask(id), askEvery)
  }

  async function ask(id: string) {
    try {
      const answer = await link.codeState(id)
      if (code.value?.id === id) state.value = answer
    } catch {
      // Unreachable for now; the code itself does not change by that.
    }
    if (code.value?.id === id && state.value === 'live') watchSoon(id)
  }

  onScopeDispose(() => {
    over = true
    clearTimeout(timer)
  })
  void renew()
  return { code, state, failure, renew, left: computed(() => Math.max(0, endsAt - now.value)) }
}
