import { computed, onScopeDispose, shallowRef, watch, type ComputedRef, type ShallowRef } from 'vue'
import { useIdentityStore } from '@/stores/identity'
import { useLinkStore } from '@/stores/link'
import { useSessionsStore } from '@/stores/sessions'
import { sessionKey, type Attachment, type AttachmentState, type Session } from '@/stores/types'

/** Inputs that may be on their way before a held key waits for them. */
const mostInFlight = 8
/** A second ^C within this many ms is a bounce: agents quit on two. */
const doubleFire = 300

export interface OpenSession {
  key: string
  session: ComputedRef<Session | undefined>
  attachment: Attachment
  state: Readonly<ShallowRef<AttachmentState>>
  /** Whether this device may type here; without it the attachment takes no input. */
  mayType: ComputedRef<boolean>
  /** Presses a key by name. */
  press(name: string): void
  mayRepeat(): boolean
}

/** Opens a session on this screen for as long as the calling scope lives. */
export function useSession(host: string, id: string): OpenSession {
  const link = useLinkStore()
  const identity = useIdentityStore()
  const sessions = useSessionsStore()
  const attachment = link.attach(host, id)
  const state = shallowRef(attachment.state)
  attachment.on('state', (next) => {
    state.value = next
  })
  const mayType = computed(() => identity.may('input'))
  watch(mayType, (may) => attachment.setWatchOnly(!may), { immediate: true })
  onScopeDispose(() => attachment.dispose())

  let interruptedAt = -Infinity

  function press(name: string) {
    if (name === 'ctrl+c') {
      const now = performance.now()
      if (now - interruptedAt < doubleFire) return
      interruptedAt = now
    }
    attachment.keys([name])
  }

  return {
    key: sessionKey({ host, id }),
    session: computed(() => sessions.byKey(host, id)),
    attachment,
    state,
    mayType,
    press,
    mayRepeat: () => link.status === 'live' && state.value.pending.length < mostInFlight,
  }
}
