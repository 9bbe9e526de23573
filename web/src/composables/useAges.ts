import { toRaw } from 'vue'
import type { Host, Session } from '@/stores/types'
import { useNow } from './useNow'

/**
 * Ages that go on ageing. The server says how long ago something was when it said so; each object it sent is one such
 * moment, remembered here without changing it.
 */
const heardAt = new WeakMap<object, number>()

/** Ages of sessions and hosts in ms, as of now, ticking every `interval` ms. */
export function useAges(interval = 5000) {
  const now = useNow(interval)

  function since(object: Session | Host): number {
    const raw = toRaw(object)
    let heard = heardAt.get(raw)
    if (heard === undefined) {
      heard = Date.now()
      heardAt.set(raw, heard)
    }
    return Math.max(0, Math.max(now.value, heard) - heard)
  }

  return {
    now,
    /** Since the session's last output. */
    active: (session: Session) => session.active_ms + since(session),
    created: (session: Session) => session.created_ms + since(session),
    /** Since the host was last heard of; meaningful while it is offline. */
    lastSeen: (object: Session | Host) => object.last_seen_ms + since(object),
  }
}
