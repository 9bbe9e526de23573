import { Shape } from './json'

/** A device that was paired just now, as those who could revoke it are told. */
export interface PairedDevice {
  id: string
  name: string
  /** Where it was paired from; for display only. */
  address: string
  /** Milliseconds since it was paired. */
  created_ms: number
  /** It may watch single sessions only, for a while. */
  guest: boolean
}

export function parseDevice(value: unknown): PairedDevice {
  const from = Shape.of(value, 'device')
  return {
    id: from.string('id'),
    name: from.string('name', ''),
    address: from.string('address', ''),
    created_ms: from.number('created_ms', 0),
    guest: from.list('sessions', (session) => session).length > 0,
  }
}
