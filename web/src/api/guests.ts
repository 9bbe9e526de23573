import { answer, api } from './client'
import type { components } from './schema'

export type GuestLink = components['schemas']['InviteGuestOutputBody']

/** Makes a link with which one browser may watch this session, and nothing else, for so many milliseconds from now. */
export function inviteGuest(host: string, id: string, expiresMs: number): Promise<GuestLink> {
  const params = { path: { id }, query: { host } }
  return answer(api.POST('/api/sessions/{id}/guests', { params, body: { expires_ms: expiresMs } }))
}
