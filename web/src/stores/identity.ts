import { redeemCode, redeemTicket, whoAmI, type Me } from '@/api'
import { defineStore } from 'pinia'
import { computed, shallowRef, watch } from 'vue'
import { useLinkStore } from './link'
import { readJSON, remove, writeJSON } from './storage'

/** The one session that a guest may watch. */
export interface GuestSession {
  host: string
  id: string
}

/** What this browser was to the server when it last asked, kept for the time in which it is nobody any more. */
interface Pairing {
  /** The device's id; empty when an older version stored this. */
  id: string
  name: string
  scopes: string[]
  guest: GuestSession | null
  /** When (Date.now) it ends at the latest; null when the server set no end. */
  endsAt: number | null
  insecure: boolean
}

/** Why this browser is nobody to the server. */
export type Ended =
  'never_paired' | 'signed_out' | 'left_untold' | 'left_listed' | 'expired' | 'revoked' | 'guest_over'

const leaving = { told: 'signed_out', owed: 'left_untold', listed: 'left_listed' } as const

const storedAs = 'agent-helm.pairing'
/** Clocks of server and browser drift apart by less than this until a pairing ends, in ms. */
const slack = 60_000

function readPairing(): Pairing | null {
  const stored = readJSON(storedAs) as Partial<Pairing> | null
  if (typeof stored?.name !== 'string' || !Array.isArray(stored.scopes)) return null
  const guest = stored.guest
  return {
    id: typeof stored.id === 'string' ? stored.id : '',
    name: stored.name,
    scopes: stored.scopes.filter((scope) => typeof scope === 'string'),
    guest: typeof guest?.host === 'string' && typeof guest.id === 'string' ? guest : null,
    endsAt: typeof stored.endsAt === 'number' ? stored.endsAt : null,
    insecure: stored.insecure === true,
  }
}

function pairingOf(me: Me): Pairing {
  const bound = me.bound ? me.sessions?.[0] : undefined
  return {
    id: me.id,
    name: me.name,
    scopes: me.scopes,
    guest: bound ? { host: bound.host, id: bound.id } : null,
    endsAt: me.expires_ms < 0 ? null : Date.now() + me.expires_ms,
    insecure: me.insecure,
  }
}

/**
 * Who this browser is to the server: what it may do, until when, and, once it is nobody, why. The server decides every
 * request by itself; this only keeps screens from offering what it would refuse.
 */
export const useIdentityStore = defineStore('identity', () => {
  const link = useLinkStore()
  const pairing = shallowRef(readPairing())

  const scopes = computed(() => link.me?.scopes ?? pairing.value?.scopes ?? [])
  /** The session of a guest, who sees nothing else; null for a device of one's own. */
  const guest = computed(() => pairing.value?.guest ?? null)
  const endsAt = computed(() => pairing.value?.endsAt ?? null)

  /** Whether the server would let this browser do that. Before anything is known of it: yes. */
  function may(scope: 'read' | 'input' | 'answer' | 'exec' | 'admin'): boolean {
    const known = scopes.value
    if (link.me === null && pairing.value === null) return true
    return known.includes(scope) || known.includes('admin')
  }

  const ended = computed<Ended | null>(() => {
    if (link.status !== 'signed_out' && link.status !== 'revoked') return null
    if (link.left) return leaving[link.signedOut]
    const was = pairing.value
    const overdue = was?.endsAt != null && was.endsAt <= Date.now() + slack
    if (was?.guest && (link.status === 'signed_out' || overdue)) return 'guest_over'
    if (link.status === 'revoked') return overdue ? 'expired' : 'revoked'
    return was === null ? 'never_paired' : 'expired'
  })

  /** Asks the server. Where it does not answer, what was known stays. */
  async function refresh(): Promise<void> {
    let me: Me
    try {
      me = await whoAmI()
    } catch {
      return
    }
    pairing.value = pairingOf(me)
    writeJSON(storedAs, pairing.value)
  }

  async function pairWithTicket(ticket: string, name: string): Promise<void> {
    await redeemTicket(ticket, name)
    await begin()
  }

  async function pairWithCode(code: string, name: string): Promise<void> {
    await redeemCode(code, name)
    await begin()
  }

  /** What we may see is known before anything is shown. */
  async function begin(): Promise<void> {
    await refresh()
    link.start()
  }

  watch(
    () => link.status,
    (status) => {
      if (status === 'live') void refresh()
      // Nothing of it stays on a device that lost its access; the screen that explains goes on from memory.
      if (status === 'revoked' || link.left) remove(storedAs)
    },
    { immediate: true },
  )

  return { scopes, guest, endsAt, ended, pairing, may, refresh, pairWithTicket, pairWithCode }
})
