import createClient from 'openapi-fetch'
import { ApiError, problemOf, unreachable } from './errors'
import { loadProof } from './proof'
import type { paths } from './schema'

/** The server's API, typed by the description that the server itself gives. */
export const api = createClient<paths>({
  baseUrl: window.location.origin,
  credentials: 'same-origin',
  cache: 'no-store',
  // Looked up with every call, so that it can be replaced.
  fetch: (request) => fetch(request),
})

api.use({
  onRequest({ request }) {
    const proof = loadProof()
    if (proof !== '') request.headers.set('X-Agent-Helm-Proof', proof)
    return request
  },
})

interface Outcome<T> {
  data?: T
  error?: unknown
  response: Response
}

/** Waits for an answer. A refusal, and no answer at all, are ApiErrors with a sentence for the person. */
export async function answer<T>(call: Promise<Outcome<T>>): Promise<T> {
  let outcome: Outcome<T>
  try {
    outcome = await call
  } catch (error) {
    if (error instanceof SyntaxError)
      throw new ApiError(200, 'not_json', 'The answer did not come from agent-helm.')
    throw new ApiError(0, unreachable, 'The server could not be reached.')
  }
  const { data, error, response } = outcome
  if (!response.ok) throw problemOf(response.status, error)
  return data as T
}
