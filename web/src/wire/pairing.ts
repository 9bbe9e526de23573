import { Shape } from './json'

/** A host's request for the code of a new device, which an administrator confirms or denies. */
export interface PairingRequest {
  /** Four characters, which the host's terminal shows as well. */
  id: string
  host: string
  host_name: string
  /** Where the host is connected from; for display only. */
  address: string
  /** What the new device shall be able to do. */
  scopes: string[]
  /** Milliseconds for which it still waits. */
  expires_ms: number
}

export function parsePairing(value: unknown): PairingRequest {
  const from = Shape.of(value, 'pairing')
  return {
    id: from.string('id'),
    host: from.string('host', ''),
    host_name: from.string('host_name', ''),
    address: from.string('address', ''),
    scopes: from
      .list('scopes', (scope) => (typeof scope === 'string' ? scope : ''))
      .filter((scope) => scope !== ''),
    expires_ms: from.number('expires_ms', 0),
  }
}
