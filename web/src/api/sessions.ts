import { nothing, part, request, requestText, textField } from './client'

export interface StartOptions {
  name?: string
  /** The name of a known agent; exactly one of agent and argv is given. */
  agent?: string
  argv?: string[]
  cwd?: string
  cols?: number
  rows?: number
}

function path(host: string, id: string): string {
  return `/sessions/${part(id)}?host=${part(host)}`
}

/** Starts a session on a host and returns its id. */
export function startSession(host: string, options: StartOptions): Promise<string> {
  return request('POST', `/hosts/${part(host)}/sessions`, textField('id'), options)
}

export function renameSession(host: string, id: string, name: string): Promise<void> {
  return request('PATCH', path(host, id), nothing, { name })
}

/** How a session is stopped, from the gentlest to the last resort. */
export type Stop = 'esc' | 'ctrl-c' | 'kill'

/**
 * Stops what a session does, without needing the socket. Kill hangs up the program's whole process group, and kills it
 * five seconds later.
 */
export function stopSession(host: string, id: string, how: Stop): Promise<void> {
  if (how === 'kill') return request('DELETE', path(host, id), nothing)
  return request('POST', `/sessions/${part(id)}/signal?host=${part(host)}`, nothing, { signal: how })
}

/** Removes an ended session, with its last screen and its history, for good. */
export function forgetSession(host: string, id: string): Promise<void> {
  return request('DELETE', path(host, id), nothing)
}

/** The screen and what is above it as plain text, for reading and copying. */
export async function sessionText(host: string, id: string): Promise<string> {
  return requestText(`/sessions/${part(id)}/screen?format=text&host=${part(host)}`)
}
