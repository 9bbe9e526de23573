import { ApiError, problemOf, unreachable } from './errors'
import { loadProof } from './proof'

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/**
 * One request to the server. A refusal, and no answer at all, are ApiErrors with a sentence for the person. `read`
 * turns the JSON of a success into what the caller asked for, and so decides what is believed.
 */
export async function request<T>(
  method: Method,
  path: string,
  read: (value: unknown) => T,
  body?: object,
): Promise<T> {
  const headers: Record<string, string> = { Accept: 'application/json' }
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  const proof = loadProof()
  if (proof !== '') headers['X-Agent-Helm-Proof'] = proof
  const init: RequestInit = { method, headers, credentials: 'same-origin', cache: 'no-store' }
  if (body !== undefined) init.body = JSON.stringify(body)
  let response: Response
  let text: string
  try {
    response = await fetch(`/api${path}`, init)
    text = await response.text()
  } catch {
    throw new ApiError(0, unreachable, 'The server could not be reached.')
  }
  let value: unknown = null
  try {
    value = text === '' ? null : JSON.parse(text)
  } catch {
    if (response.ok)
      throw new ApiError(response.status, 'not_json', 'The answer did not come from agent-helm.')
  }
  if (!response.ok) throw problemOf(response.status, value)
  return read(value)
}

/** For answers whose content does not matter. */
export function nothing(): void {}

function field(value: unknown, name: string): string {
  const found =
    typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined
  return typeof found === 'string' ? found : ''
}

/** A reader of one text field of the answer. */
export function textField(name: string): (value: unknown) => string {
  return (value) => field(value, name)
}

/** One piece of a path. */
export function part(text: string): string {
  return encodeURIComponent(text)
}
