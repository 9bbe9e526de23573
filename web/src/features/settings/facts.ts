import type { KnownDevice, KnownToken } from '@/stores/access'
import type { Session } from '@/stores/types'
import { sessionNames } from './sessionNames'
import { ago, day, dayAndTime, mayText, until } from './words'

export interface Fact {
  name: string
  value: string
}

/** All that the server says of a device. */
export function deviceFacts(device: KnownDevice, now: number): Fact[] {
  return [
    { name: 'Kind', value: device.insecure ? 'Browser, paired without HTTPS' : 'Browser' },
    { name: 'May', value: mayText(device.scopes) },
    { name: 'Last here', value: ago(device.seenAt, now) },
    { name: 'Paired', value: dayAndTime(device.createdAt) },
    { name: 'From', value: device.address || 'An unknown address' },
    { name: 'Signed in until', value: until(device.endsAt, now) },
  ]
}

/** All that the server says of a token. */
export function tokenFacts(
  token: KnownToken,
  now: number,
  byKey: (host: string, id: string) => Session | undefined,
): Fact[] {
  return [
    { name: 'Kind', value: 'Token for scripts' },
    { name: 'May', value: mayText(token.scopes) },
    { name: 'Reaches', value: token.sessions ? sessionNames(token.sessions, byKey) : 'All sessions' },
    { name: 'Last used', value: token.usedAt === null ? 'Never' : ago(token.usedAt, now) },
    { name: 'Made', value: `${day(token.createdAt)} by ${token.created_by}` },
    { name: 'Lives until', value: token.endsAt === null ? 'Somebody ends it' : until(token.endsAt, now) },
  ]
}
