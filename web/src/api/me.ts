import { answer, api } from './client'
import type { components } from './schema'

/** Who this browser is to the server. */
export type Me = components['schemas']['MeOutputBody']

/** Asks who this browser is and what it may do. */
export function whoAmI(): Promise<Me> {
  return answer(api.GET('/api/me'))
}
