import {
  forgetSession,
  inviteGuest,
  removeHost,
  renameSession,
  searchSession,
  sessionText,
  startSession,
  stopSession,
  type StartOptions,
  type Stop,
} from '@/api'
import type { LinkEvent } from '@/link'
import { parseSnapshot, sessionKey, type Host, type Session, type StatusKind } from '@/wire'
import { defineStore } from 'pinia'
import { computed, ref, shallowRef, watch } from 'vue'
import { useLinkStore } from './link'
import { readJSON, remove, writeJSON } from './storage'

export interface SessionGroups {
  needs_you: Session[]
  working: Session[]
  your_turn: Session[]
  idle: Session[]
  ended: Session[]
  offline: Session[]
}

const cacheName = 'agent-helm.sessions'
/** The cache is written this long after a change, once for many changes. */
const cacheDelay = 2_000
const cacheMost = 200

const order: readonly (keyof SessionGroups)[] = [
  'needs_you',
  'working',
  'your_turn',
  'idle',
  'offline',
  'ended',
]

const groupOfStatus: Record<StatusKind, keyof SessionGroups> = {
  needs_you: 'needs_you',
  working: 'working',
  waiting: 'your_turn',
  done: 'your_turn',
  failed: 'your_turn',
  idle: 'idle',
  ended: 'ended',
}

/** Where a session stands in the list. A host that is away makes no statement about what its sessions do. */
export function groupOf(session: Session): keyof SessionGroups {
  if (session.state !== 'running') return 'ended'
  if (!session.online) return 'offline'
  return groupOfStatus[session.status.kind]
}

/** The order of the list (UX LST-1): by group, then by what moved last, then by a name that does not change. */
function compare(a: Row, b: Row): number {
  return (
    order.indexOf(groupOf(a.session)) - order.indexOf(groupOf(b.session)) ||
    b.activeAt - a.activeAt ||
    sessionKey(a.session).localeCompare(sessionKey(b.session))
  )
}

/** A session with its ages turned into moments, so that sorting does not depend on when an event came. */
interface Row {
  session: Session
  /** When the last output came (Date.now), to five seconds: busy sessions do not swap places all the time. */
  activeAt: number
}

function rowOf(session: Session): Row {
  const activeAt = Date.now() - session.active_ms
  return { session, activeAt: Math.floor(activeAt / 5000) * 5000 }
}

/** All sessions on all hosts, as the server tells them, or as they were when it last did. */
export const useSessionsStore = defineStore('sessions', () => {
  const link = useLinkStore()
  const rows = shallowRef(new Map<string, Row>())
  const hostsById = shallowRef(new Map<string, Host>())
  /** Whether the server's own list is shown; before that it is the cached one. */
  const loaded = ref(false)
  /** When (Date.now) the shown list was current, if it comes from the cache. */
  const snapshotAt = ref<number | null>(null)

  const sessions = computed(() => [...rows.value.values()].sort(compare).map((row) => row.session))
  const hosts = computed(() =>
    [...hostsById.value.values()].sort((a, b) => a.name.localeCompare(b.name) || a.id.localeCompare(b.id)),
  )
  const groups = computed(() => {
    const groups: SessionGroups = {
      needs_you: [],
      working: [],
      your_turn: [],
      idle: [],
      ended: [],
      offline: [],
    }
    for (const session of sessions.value) groups[groupOf(session)].push(session)
    return groups
  })

  readCache()
  link.onEvent(take)
  watch(
    () => link.status,
    (status) => {
      if (status === 'signed_out' || status === 'revoked') clear()
    },
  )

  function take(event: LinkEvent): void {
    if (event.kind === 'device' || event.kind === 'pairing' || event.kind === 'pairing_removed') return
    const nextRows = new Map(rows.value)
    const nextHosts = new Map(hostsById.value)
    switch (event.kind) {
      case 'snapshot':
        nextRows.clear()
        nextHosts.clear()
        for (const host of event.snapshot.hosts) nextHosts.set(host.id, host)
        for (const session of event.snapshot.sessions) nextRows.set(sessionKey(session), rowOf(session))
        loaded.value = true
        snapshotAt.value = null
        break
      case 'host':
        nextHosts.set(event.host.id, event.host)
        break
      case 'host_removed':
        nextHosts.delete(event.id)
        break
      case 'session':
        nextRows.set(sessionKey(event.session), rowOf(event.session))
        break
      case 'session_removed':
        nextRows.delete(sessionKey(event))
    }
    rows.value = nextRows
    hostsById.value = nextHosts
    writeCacheSoon()
  }

  // --- the list without a network ---------------------------------------------------------------------------------

  let cacheTimer: ReturnType<typeof setTimeout> | undefined

  function readCache(): void {
    const cached = readJSON(cacheName) as { at?: unknown; snapshot?: unknown } | null
    if (typeof cached?.at !== 'number') return
    try {
      const { hosts: cachedHosts, sessions: cachedSessions } = parseSnapshot(cached.snapshot)
      const age = Math.max(0, Date.now() - cached.at)
      const aged = cachedSessions.map((session) => ({
        ...session,
        active_ms: session.active_ms + age,
        created_ms: session.created_ms + age,
      }))
      rows.value = new Map(aged.map((session) => [sessionKey(session), rowOf(session)]))
      hostsById.value = new Map(cachedHosts.map((host) => [host.id, host]))
      snapshotAt.value = cached.at
    } catch {
      remove(cacheName)
    }
  }

  function writeCacheSoon(): void {
    cacheTimer ??= setTimeout(() => {
      cacheTimer = undefined
      const snapshot = { hosts: hosts.value, sessions: sessions.value.slice(0, cacheMost) }
      writeJSON(cacheName, { at: Date.now(), snapshot })
    }, cacheDelay)
  }

  /** Empties the list and its cache: this device is nobody here any more. */
  function clear(): void {
    clearTimeout(cacheTimer)
    cacheTimer = undefined
    rows.value = new Map()
    hostsById.value = new Map()
    loaded.value = false
    snapshotAt.value = null
    remove(cacheName)
  }

  // --- what a person does -----------------------------------------------------------------------------------------

  function byKey(host: string, id: string): Session | undefined {
    return rows.value.get(sessionKey({ host, id }))?.session
  }

  const rename = (host: string, id: string, name: string): Promise<void> => renameSession(host, id, name)
  function stop(host: string, id: string, how: Stop): Promise<void> {
    // To the server, killing what has ended means forgetting it; that is never what Stop means.
    if (how === 'kill' && byKey(host, id)?.state !== 'running') return Promise.resolve()
    return stopSession(host, id, how)
  }
  const kill = (host: string, id: string): Promise<void> => stop(host, id, 'kill')
  const forget = (host: string, id: string): Promise<void> => forgetSession(host, id)
  /** Starts a session and returns its id. */
  const start = (host: string, options: StartOptions): Promise<string> => startSession(host, options)

  return {
    sessions,
    hosts,
    loaded,
    snapshotAt,
    groups,
    byKey,
    rename,
    kill,
    stop,
    forget,
    start,
    text: sessionText,
    search: searchSession,
    inviteGuest,
    removeHost,
    clear,
  }
})
