import { itemsOf, nothing, part, request, textField } from './client'
import { ApiError } from './errors'
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

export type Access = 'granted' | 'signed_out' | 'revoked' | 'unreachable'

/** Whether this browser's credential is good. */
export async function access(): Promise<Access> {
  try {
    await request('GET', '/me', nothing)
    return 'granted'
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.code === 'revoked') return 'revoked'
    // A proof that is missing or wrong is a credential like any other: only pairing again helps.
    return error.status === 401 || error.code === 'proof_required' ? 'signed_out' : 'unreachable'
  }
}

/** Ends this browser's session on the server. */
export async function signOut(): Promise<void> {
  await request('POST', '/signout', nothing)
}

/** What a code admits. */
export type CodeKind = 'device' | 'host'

export interface Code {
  id: string
  code: string
  /** The server's address, to be typed beside the code. */
  url: string
  expires_ms: number
}

/** Makes a six-character code that admits one device or host. */
export function createCode(kind: CodeKind): Promise<Code> {
  return request('POST', '/codes', readCode, { kind })
}

function readCode(value: unknown): Code {
  const expires =
    typeof value === 'object' && value !== null ? (value as Record<string, unknown>).expires_ms : 0
  return {
    id: textField('id')(value),
    code: textField('code')(value),
    url: textField('url')(value),
    expires_ms: typeof expires === 'number' ? expires : 0,
  }
}

export type CodeState = 'live' | 'used' | 'expired' | 'cancelled'

/** What became of a code. */
export async function codeState(id: string): Promise<CodeState> {
  const state = await request('GET', `/codes/${part(id)}`, textField('state'))
  return (['live', 'used', 'expired', 'cancelled'] as const).find((known) => known === state) ?? 'expired'
}

export interface Device {
  id: string
  name: string
  scopes: string[]
  created_ms: number
  last_seen_ms: number
  address: string
  /** Whether it is this one. */
  current: boolean
}

/** The paired browsers. */
export function listDevices(): Promise<Device[]> {
  return request('GET', '/devices', (value) => itemsOf(value).map(readDevice))
}

function readDevice(item: Record<string, unknown>): Device {
  const number = (name: string) => (typeof item[name] === 'number' ? (item[name] as number) : 0)
  return {
    id: textField('id')(item),
    name: textField('name')(item),
    scopes: Array.isArray(item.scopes) ? item.scopes.filter((scope) => typeof scope === 'string') : [],
    created_ms: number('created_ms'),
    last_seen_ms: number('last_seen_ms'),
    address: textField('address')(item),
    current: item.current === true,
  }
}

/** Revokes a device; its open sockets end at once. */
export function revokeDevice(id: string): Promise<void> {
  return request('DELETE', `/devices/${part(id)}`, nothing)
}

/** Removes a host, its token and its sessions. */
export function removeHost(id: string): Promise<void> {
  return request('DELETE', `/hosts/${part(id)}`, nothing)
}
