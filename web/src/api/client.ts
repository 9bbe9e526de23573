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
  const { status, text } = await send(method, path, 'application/json', body)
  try {
    return read(text === '' ? null : JSON.parse(text))
  } catch {
    throw new ApiError(status, 'not_json', 'The answer did not come from agent-helm.')
  }
}

/** Gets plain text. */
export async function requestText(path: string): Promise<string> {
  return (await send('GET', path, 'text/plain')).text
}

async function send(
  method: Method,
  path: string,
  accept: string,
  body?: object,
): Promise<{ status: number; text: string }> {
  const headers: Record<string, string> = { Accept: accept }
  if (body !== undefined) headers['Content-Type'] = 'application/json'
  const proof = loadProof()
  if (proof !== '') headers['X-Agent-Helm-Proof'] = proof
  const init: RequestInit = { method, headers, credentials: 'same-origin', cache: 'no-store' }
  if (body !== undefined) init.body = JSON.stringify(body)
  try {
    const response = await fetch(`/api${path}`, init)
    const text = await response.text()
    if (response.ok) return { status: response.status, text }
    throw problemOf(response.status, text)
  } catch (error) {
    if (error instanceof ApiError) throw error
    throw new ApiError(0, unreachable, 'The server could not be reached.')
  }
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

/** The items of a list's answer. */
export function itemsOf(value: unknown): Record<string, unknown>[] {
  const items =
    typeof value === 'object' && value !== null ? (value as Record<string, unknown>).items : undefined
  if (!Array.isArray(items)) return []
  return items.filter((item): item is Record<string, unknown> => typeof item === 'object' && item !== null)
}
