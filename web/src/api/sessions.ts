import { answer, api } from './client'
import type { components } from './schema'

/** What to start; exactly one of agent and argv is given. */
export type StartOptions = components['schemas']['StartInputBody']

/** How a session is stopped, from the gentlest to the last resort. */
export type Stop = 'esc' | 'ctrl-c' | 'kill'

const of = (host: string, id: string) => ({ path: { id }, query: { host } })

/** Starts a session on a host and returns its id. */
export async function startSession(host: string, body: StartOptions): Promise<string> {
  return (await answer(api.POST('/api/hosts/{host}/sessions', { params: { path: { host } }, body }))).id
}

export async function renameSession(host: string, id: string, name: string): Promise<void> {
  await answer(api.PATCH('/api/sessions/{id}', { params: of(host, id), body: { name } }))
}

/**
 * Stops what a session does, without needing the socket. Kill hangs up the program's whole process group, and kills it
 * five seconds later.
 */
export async function stopSession(host: string, id: string, how: Stop): Promise<void> {
  const params = of(host, id)
  if (how === 'kill') await answer(api.DELETE('/api/sessions/{id}', { params }))
  else await answer(api.POST('/api/sessions/{id}/signal', { params, body: { signal: how } }))
}

/** Removes an ended session, with its last screen and its history, for good. */
export async function forgetSession(host: string, id: string): Promise<void> {
  await answer(api.DELETE('/api/sessions/{id}', { params: of(host, id) }))
}

export type Found = components['schemas']['Found']
export type Match = components['schemas']['Match']

/** Looks for a text in a session's screen and history, newest first; cursor goes on where an answer ended. */
export function searchSession(
  host: string,
  id: string,
  text: string,
  options: { cursor?: string; signal?: AbortSignal } = {},
): Promise<Found> {
  const { cursor, signal } = options
  const query = { host, q: text, limit: 200, ...(cursor === undefined ? {} : { cursor }) }
  const params = { path: { id }, query }
  return answer(api.GET('/api/sessions/{id}/search', { params, ...(signal ? { signal } : {}) }))
}

/** The screen as plain text, for reading and copying. */
export async function sessionText(host: string, id: string): Promise<string> {
  const params = { path: { id }, query: { host, format: 'text' as const } }
  const text: unknown = await answer(api.GET('/api/sessions/{id}/screen', { params, parseAs: 'text' }))
  return typeof text === 'string' ? text : ''
}
