import { confirmPairing, denyPairing, listPairings, ApiError } from '@/api'
import type { PairingRequest } from '@/wire'
import { defineStore } from 'pinia'
import { computed, shallowRef, watch } from 'vue'
import { useIdentityStore } from './identity'
import { useLinkStore } from './link'

/** A request that waits for a person. */
export interface WaitingPairing extends PairingRequest {
  /** When (Date.now) it ends by itself. */
  endsAt: number
}

/** Hosts that ask for the code of a new device, as those who may decide are told. */
export const usePairingsStore = defineStore('pairings', () => {
  const link = useLinkStore()
  const identity = useIdentityStore()
  const byId = shallowRef<ReadonlyMap<string, WaitingPairing>>(new Map())
  /** Oldest first. */
  const waiting = computed(() => [...byId.value.values()])

  function put(request: PairingRequest): void {
    byId.value = new Map(byId.value).set(request.id, { ...request, endsAt: Date.now() + request.expires_ms })
  }

  function drop(id: string): void {
    const next = new Map(byId.value)
    if (next.delete(id)) byId.value = next
  }

  async function load(): Promise<void> {
    const found = await listPairings()
    byId.value = new Map()
    found.forEach(put)
  }

  /** Decides. One that somebody else decided meanwhile, or that ended, is gone: the sentence says so. */
  async function decide(id: string, with_: (id: string) => Promise<void>): Promise<void> {
    try {
      await with_(id)
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) drop(id)
      throw error
    }
    drop(id)
  }

  link.onEvent((event) => {
    if (event.kind === 'pairing') put(event.pairing)
    else if (event.kind === 'pairing_removed') drop(event.id)
  })
  watch(
    () => link.status === 'live' && identity.guest === null && identity.may('admin'),
    (asked) => {
      if (!asked) byId.value = new Map()
      // An older server has none; one that is not reachable just now is asked by the next connection.
      else load().catch(() => undefined)
    },
    { immediate: true },
  )

  return {
    waiting,
    confirm: (id: string) => decide(id, confirmPairing),
    deny: (id: string) => decide(id, denyPairing),
  }
})
