import { nothing, part, request, textField } from './client'
import { ApiError, unreachable } from './errors'
import { saveProof } from './proof'

/** Redeems the single-use ticket of a link and signs this browser in under name. */
export async function redeemTicket(ticket: string, name: string): Promise<void> {
  saveProof(await request('POST', '/pair', textField('proof'), { ticket, name }))
}

/** Redeems a pairing code; spaces, dashes and case do not matter. */
export async function redeemCode(code: string, name: string): Promise<void> {
  const plain = code.replace(/[\s-]/g, '').toUpperCase()
  saveProof(await request('POST', '/pair', textField('proof'), { code: plain, name }))
}

/** Whether this browser's credential is good. */
export async function access(): Promise<'granted' | 'denied' | 'unreachable'> {
  try {
    await request('GET', '/me', nothing)
    return 'granted'
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.code === unreachable || error.status >= 500) return 'unreachable'
    return error.status === 401 || error.status === 403 ? 'denied' : 'unreachable'
  }
}

/** Ends this browser's session on the server. */
export async function signOut(device: string): Promise<void> {
  await request('DELETE', `/devices/${part(device)}`, nothing)
}
