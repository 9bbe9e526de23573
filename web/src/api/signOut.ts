import { answer, api } from './client'
import { ApiError } from './errors'

/**
 * A browser that signed out while the server was away still has its cookie, which scripts cannot delete. This one word in
 * storage keeps it from being used for anything but telling the server.
 */
export const storedDebt = 'agent-helm.sign-out-owed'
/** How long the server has for an answer, in ms; a dead network may give none at all. */
const patience = 8000

/** Ends this browser's session on the server. */
export async function signOut(): Promise<void> {
  await answer(api.POST('/api/signout', { signal: AbortSignal.timeout(patience) }))
}

/** Whether this browser has signed out and the server does not know. */
export function owesSignOut(): boolean {
  try {
    return localStorage.getItem(storedDebt) !== null
  } catch {
    return false
  }
}

/** Remembers to tell the server. */
export function oweSignOut(): void {
  try {
    localStorage.setItem(storedDebt, '1')
  } catch {
    // Without storage nothing of this device outlives the page but its cookie.
  }
}

/**
 * What became of a signing out: the server knows; it is told later; or it is not told at all, because over plain HTTP the
 * cookie alone proves nothing and what goes with it was deleted. Nobody can use that device, but it stays in the list.
 */
export type SignOutOutcome = 'told' | 'owed' | 'listed'

export function outcomeOf(error: unknown): SignOutOutcome {
  if (!(error instanceof ApiError)) return 'owed'
  // Whom the server does not know it does not list.
  if (error.status === 401) return 'told'
  return error.status === 403 ? 'listed' : 'owed'
}

/** Tells the server what it is owed, if anything. */
export async function settleSignOut(): Promise<SignOutOutcome> {
  if (!owesSignOut()) return 'told'
  let outcome: SignOutOutcome = 'told'
  try {
    await signOut()
  } catch (error) {
    outcome = outcomeOf(error)
  }
  if (outcome !== 'owed') forgetSignOut()
  return outcome
}

/** A new pairing has replaced the cookie with which the debt could be paid; with the new one it must not be. */
export function forgetSignOut(): void {
  try {
    localStorage.removeItem(storedDebt)
  } catch {
    // Without storage there is no debt.
  }
}

/** Calls listener when another tab of this browser has signed out without the server. */
export function onSignOutElsewhere(listener: () => void, signal: AbortSignal): void {
  window.addEventListener('storage', (change) => change.key === storedDebt && owesSignOut() && listener(), {
    signal,
  })
}
