import { answer, api } from './client'
import type { components } from './schema'

export type Pairing = components['schemas']['Pairing']

/** Hosts that ask for the code of a new device, oldest first. */
export async function listPairings(): Promise<Pairing[]> {
  return (await answer(api.GET('/api/pairings'))).items
}

/** Lets the host show a code for what it asked for. */
export async function confirmPairing(id: string): Promise<void> {
  await answer(api.POST('/api/pairings/{id}/confirm', { params: { path: { id } }, body: {} }))
}

/** Refuses the host's request; it gets no code. */
export async function denyPairing(id: string): Promise<void> {
  await answer(api.POST('/api/pairings/{id}/deny', { params: { path: { id } } }))
}
