import {
  access,
  codeState,
  createCode,
  listDevices,
  loadProof,
  onSignOutElsewhere,
  outcomeOf,
  oweSignOut,
  owesSignOut,
  revokeDevice,
  saveProof,
  settleSignOut,
  signOut as endSession,
  type SignOutOutcome,
} from '@/api'
import { ViewerLink, type Attachment, type LinkEvent, type LinkStatus } from '@/link'
import { close, sessionKey } from '@/wire'
import { defineStore } from 'pinia'
import { onScopeDispose, ref, shallowRef } from 'vue'
import { useDraftsStore } from './drafts'

/** What the server says with the code of a close. */
export type CloseReason = 'limit' | 'slow' | 'restarting'

const closeReasons: Record<number, CloseReason> = {
  [close.limit]: 'limit',
  [close.slow]: 'slow',
  [close.restarting]: 'restarting',
}

function socketUrl(): string {
  const { protocol, host } = window.location
  return `${protocol === 'https:' ? 'wss' : 'ws'}://${host}/api/ws`
}

/**
 * The connection of this app to its server: who we are to it and whether it is there. Bytes do not pass through here;
 * attachments carry them.
 */
export const useLinkStore = defineStore('link', () => {
  const drafts = useDraftsStore()
  const status = ref<LinkStatus>('connecting')
  /** When (Date.now) the server last gave a sign of life. */
  const lastLiveAt = ref<number | null>(null)
  /** Milliseconds to the server and back, once measured. */
  const rttMs = ref<number | null>(null)
  const serverVersion = ref('')
  /** Plain HTTP: no notifications, no installation, no clipboard by button. */
  const insecure = ref(!window.isSecureContext)
  const me = shallowRef<{ device: string; scopes: string[] } | null>(null)
  /** Whether this device signed out by itself, on purpose. */
  const left = ref(false)
  /** What the server knows of that. */
  const signedOut = ref<SignOutOutcome>('told')
  /** Why the server ended the last connection, where a person can do something with that; null while one is up. */
  const closedWith = ref<CloseReason | null>(null)
  /** The last fault that the server explained. */
  const problem = shallowRef<{ code: string; message: string } | null>(null)

  const link = new ViewerLink({ url: socketUrl(), version: __COMMIT__, proof: loadProof, access })
  link.on('status', (now) => {
    status.value = now
    if (now === 'revoked') drafts.conceal()
    if (now !== 'live') return
    problem.value = closedWith.value = null
    left.value = false
    drafts.restore()
  })
  // Once a second is enough for an age that is shown in seconds, and keeps a busy stream out of the renderer.
  link.on('alive', (at) => {
    if (lastLiveAt.value === null || at - lastLiveAt.value >= 1000) lastLiveAt.value = at
  })
  link.on('roundTrip', (ms) => (rttMs.value = Math.round(ms)))
  link.on('welcome', (welcome) => {
    serverVersion.value = welcome.version
    me.value = { device: welcome.device, scopes: welcome.scopes }
  })
  link.on('closed', (code) => (closedWith.value = closeReasons[code] ?? null))
  link.on('problem', (fault) => (problem.value = fault))
  const listeners = new AbortController()
  onSignOutElsewhere(stayOut, listeners.signal)
  window.addEventListener('online', () => signedOut.value === 'owed' && void settle(), {
    signal: listeners.signal,
  })
  onScopeDispose(() => {
    listeners.abort()
    link.dispose()
  })

  /** Connects, and stays connected until signOut. A browser that owes the server its signing out does only that. */
  function start(): void {
    if (owesSignOut()) return stayOut()
    link.start()
  }

  /** Ends everything here; the cookie that remains is used for nothing but telling the server. */
  function stayOut(): void {
    drafts.wipe()
    leave('owed')
    void settle()
  }

  async function settle(): Promise<void> {
    signedOut.value = await settleSignOut()
  }

  function leave(outcome: SignOutOutcome): void {
    saveProof('')
    me.value = null
    left.value = true
    signedOut.value = outcome
    link.stop('signed_out')
  }

  /** Tries now. */
  function retry(): void {
    link.retry()
  }

  /** Ends this device's access on the server, then here. Fails when the server cannot be told. */
  async function signOut(): Promise<void> {
    await endSession()
    leave('told')
  }

  /**
   * Ends this device's access here whether or not the server can be told; what it could not be told it is told later.
   * Everything unsent is forgotten.
   */
  async function signOutAnyway(): Promise<SignOutOutcome> {
    let outcome: SignOutOutcome = 'told'
    try {
      await endSession()
    } catch (error) {
      outcome = outcomeOf(error)
    }
    if (outcome === 'owed') oweSignOut()
    drafts.wipe()
    leave(outcome)
    return outcome
  }

  /** Opens a session; what its input hands back goes to the drafts. The caller disposes it. */
  function attach(host: string, id: string): Attachment {
    const attachment = link.attach(host, id)
    drafts.follow(sessionKey({ host, id }), attachment)
    return attachment
  }

  /** Calls listener with every change of hosts and sessions. */
  function onEvent(listener: (event: LinkEvent) => void): () => void {
    return link.on('event', listener)
  }

  return {
    status,
    lastLiveAt,
    rttMs,
    serverVersion,
    insecure,
    me,
    left,
    signedOut,
    closedWith,
    problem,
    start,
    retry,
    signOut,
    signOutAnyway,
    createCode,
    codeState,
    listDevices,
    revokeDevice,
    attach,
    onEvent,
  }
})
