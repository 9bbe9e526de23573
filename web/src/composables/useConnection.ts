import { computed, type ComputedRef } from 'vue'
import { useLinkStore } from '@/stores/link'
import { span } from './time'
import { useNow } from './useNow'

/** Without a sign of life for this long, what is shown is not called live. */
const staleAfter = 20_000

const titles = {
  lost: 'Reconnecting',
  limit: 'Open in too many places: close agent-helm in other tabs',
  slow: 'The connection was too slow: reconnecting',
  restarting: 'The server restarts',
}

export interface Connection {
  /** What to say of the connection; null while all is well. */
  trouble: ComputedRef<Trouble | null>
  live: ComputedRef<boolean>
}

export interface Trouble {
  title: string
  /** The age of what is seen. */
  detail?: string
  kind: 'connecting' | 'reconnecting' | 'offline'
}

/**
 * This device's own connection in words, with the age of what is on screen. `what` names it: "screen", "list";
 * `cachedAt` is when it was current if it came from the cache.
 */
export function useConnection(what: string, cachedAt: () => number | null = () => null): Connection {
  const link = useLinkStore()
  const now = useNow(1000)

  const live = computed(
    () => link.status === 'live' && link.lastLiveAt !== null && now.value - link.lastLiveAt <= staleAfter,
  )

  const trouble = computed<Trouble | null>(() => {
    if (live.value) return null
    const currentAt = link.lastLiveAt ?? cachedAt()
    const age = currentAt === null ? undefined : `${what} is ${span(now.value - currentAt)} old`
    if (link.status === 'offline') return { title: 'Offline', detail: age, kind: 'offline' }
    if (link.status === 'connecting' && link.lastLiveAt === null) {
      return { title: 'Connecting', detail: age, kind: 'connecting' }
    }
    return { title: titles[link.closedWith ?? 'lost'], detail: age, kind: 'reconnecting' }
  })

  return { trouble, live }
}
