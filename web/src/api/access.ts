import { answer, api } from './client'
import { ApiError } from './errors'
import { saveProof } from './proof'
import { forgetSignOut, settleSignOut } from './signOut'
import type { components } from './schema'

/** Redeems the single-use ticket of a link and signs this browser in under name. */
export async function redeemTicket(ticket: string, name: string): Promise<void> {
  await settleSignOut()
  const { proof } = await answer(api.POST('/api/pair', { body: { ticket, name } }))
  forgetSignOut()
  saveProof(proof)
}

/** Redeems a pairing code; spaces, dashes and case do not matter. */
export async function redeemCode(code: string, name: string): Promise<void> {
  await settleSignOut()
  const plain = code.replace(/[\s-]/g, '').toUpperCase()
  const { proof } = await answer(api.POST('/api/pair', { body: { code: plain, name } }))
  forgetSignOut()
  saveProof(proof)
}

export type Access = 'granted' | 'signed_out' | 'revoked' | 'unreachable'

/** Whether this browser's credential is good. */
export async function access(): Promise<Access> {
  try {
    await answer(api.GET('/api/me'))
    return 'granted'
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.code === 'revoked') return 'revoked'
    // A proof that is missing or wrong is a credential like any other: only pairing again helps.
    return error.status === 401 || error.code === 'proof_required' ? 'signed_out' : 'unreachable'
  }
}

export type Code = components['schemas']['CreateCodeOutputBody']
export type CodeKind = 'device' | 'host'
export type CodeState = components['schemas']['CodeOutputBody']['state']
export type Device = components['schemas']['Device']
export type Token = components['schemas']['Token']
/** A token's own text beside it; the server shows it this once. */
export type NewToken = components['schemas']['CreateTokenOutputBody']
export type TokenOptions = components['schemas']['CreateTokenInputBody']

/** Makes a six-character code that admits one device or host. */
export function createCode(kind: CodeKind): Promise<Code> {
  return answer(api.POST('/api/codes', { body: { kind } }))
}

/** What became of a code. */
export async function codeState(id: string): Promise<CodeState> {
  return (await answer(api.GET('/api/codes/{id}', { params: { path: { id } } }))).state
}

/** The paired browsers. */
export async function listDevices(): Promise<Device[]> {
  return (await answer(api.GET('/api/devices'))).items
}

/** Revokes a device; its open sockets end at once. */
export async function revokeDevice(id: string): Promise<void> {
  await answer(api.DELETE('/api/devices/{id}', { params: { path: { id } } }))
}

/** Gives a device another name. Any device may rename itself. */
export async function renameDevice(id: string, name: string): Promise<void> {
  await answer(api.PATCH('/api/devices/{id}', { params: { path: { id } }, body: { name } }))
}

/** Revokes every device but this one, guests included. Returns how many there were. */
export async function revokeOtherDevices(): Promise<number> {
  return (await answer(api.POST('/api/devices/revoke'))).revoked
}

/** The live tokens of scripts. */
export async function listTokens(): Promise<Token[]> {
  return (await answer(api.GET('/api/tokens'))).items
}

/** Makes a token for a script. */
export function createToken(options: TokenOptions): Promise<NewToken> {
  return answer(api.POST('/api/tokens', { body: options }))
}

/** Revokes a token; what it has open ends at once. */
export async function revokeToken(id: string): Promise<void> {
  await answer(api.DELETE('/api/tokens/{id}', { params: { path: { id } } }))
}

/** Removes a host, its token and its sessions. */
export async function removeHost(host: string): Promise<void> {
  await answer(api.DELETE('/api/hosts/{host}', { params: { path: { host } } }))
}
