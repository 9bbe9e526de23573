import { listDevices, revokeDevice, ApiError } from '@/api'
import { defineStore } from 'pinia'
import { computed, onScopeDispose, ref, watch } from 'vue'
import { useIdentityStore } from './identity'
import { useLinkStore } from './link'
import { readJSON, remove, writeJSON } from './storage'

/** A device that came in and that nobody on this one has looked at yet. */
export interface Newcomer {
  id: string
  name: string
  address: string
  /** When (Date.now) it was paired. */
  at: number
  /** Somebody with a link to watch one session. */
  guest: boolean
}

const storedAs = 'agent-helm.newcomers'
/** A device that was paired while this one was away is announced for this long. */
const announcedFor = 24 * 3_600_000
const mostWaiting = 20
/** Ids of devices that were looked at; the oldest go first. */
const mostSeen = 200

interface Stored {
  waiting: Newcomer[]
  seen: string[]
}

function isNewcomer(value: unknown): value is Newcomer {
  const device = value as Newcomer | null
  return (
    typeof device?.id === 'string' &&
    typeof device.name === 'string' &&
    typeof device.address === 'string' &&
    typeof device.at === 'number' &&
    typeof device.guest === 'boolean'
  )
}

function load(): Stored {
  const stored = readJSON(storedAs) as Partial<Stored> | null
  return {
    waiting: Array.isArray(stored?.waiting) ? stored.waiting.filter(isNewcomer) : [],
    seen: Array.isArray(stored?.seen) ? stored.seen.filter((id) => typeof id === 'string') : [],
  }
}

/**
 * Devices that were paired, as told by the server at once, or found in its list after this one was away. Each waits,
 * over reloads, until a person said that it was theirs or ended its access.
 */
export const useNewcomersStore = defineStore('newcomers', () => {
  const link = useLinkStore()
  const identity = useIdentityStore()
  const stored = ref(load())
  const waiting = computed(() => stored.value.waiting)

  function save(next: Stored): void {
    stored.value = { waiting: next.waiting.slice(-mostWaiting), seen: next.seen.slice(-mostSeen) }
    if (next.waiting.length + next.seen.length > 0) writeJSON(storedAs, stored.value)
    else remove(storedAs)
  }

  function announce(newcomer: Newcomer): void {
    const { waiting, seen } = stored.value
    if (seen.includes(newcomer.id) || waiting.some((each) => each.id === newcomer.id)) return
    save({ waiting: [...waiting, newcomer], seen })
  }

  /** It was the person's own doing: nothing more is said of it. */
  function accept(id: string): void {
    const { waiting, seen } = stored.value
    save({ waiting: waiting.filter((each) => each.id !== id), seen: [...seen, id] })
  }

  /** Ends its access. One that is gone already is as good. */
  async function revoke(id: string): Promise<void> {
    try {
      await revokeDevice(id)
    } catch (error) {
      if (!(error instanceof ApiError) || error.code !== 'unknown_device') throw error
    }
    accept(id)
  }

  /** Looks for those that came while this device was away, and drops those that are gone. */
  async function look(): Promise<void> {
    const devices = await listDevices()
    const here = devices.find((device) => device.current)
    const { waiting, seen } = stored.value
    save({ waiting: waiting.filter(({ id }) => devices.some((device) => device.id === id)), seen })
    for (const device of devices) {
      const recent = device.created_ms < Math.min(announcedFor, here?.created_ms ?? 0)
      if (device.current || !recent) continue
      announce({
        id: device.id,
        name: device.name,
        address: device.address,
        at: Date.now() - device.created_ms,
        guest: (device.sessions?.length ?? 0) > 0,
      })
    }
  }

  link.onEvent((event) => {
    if (event.kind !== 'device') return
    const { id, name, address, guest, created_ms: age } = event.device
    announce({ id, name, address, guest, at: Date.now() - age })
  })
  watch(
    () => link.status === 'live' && identity.guest === null && identity.may('admin'),
    (asked) => {
      // Not reachable just now: the next connection asks again.
      if (asked) look().catch(() => undefined)
    },
    { immediate: true },
  )
  watch(
    () => link.status,
    (status) => {
      if (status === 'signed_out' || status === 'revoked') save({ waiting: [], seen: [] })
    },
  )

  // What was settled in one tab is settled in the others.
  const listeners = new AbortController()
  window.addEventListener(
    'storage',
    (change) => {
      if (change.key === storedAs) stored.value = load()
    },
    { signal: listeners.signal },
  )
  onScopeDispose(() => listeners.abort())

  return { waiting, accept, revoke, look }
})
