/** A refusal or fault of the server: a stable code, and a sentence for the person that says what to do. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  constructor(
    /** The HTTP status, 0 when there was no answer. */
    readonly status: number,
    readonly code: string,
    message: string,
  ) {
    super(message)
  }
}

/** The code of an ApiError that never got an answer. */
export const unreachable = 'unreachable'

/** Reads a problem document (RFC 9457), or whatever a proxy put in its place. A sentence comes out. */
export function problemOf(status: number, body: unknown): ApiError {
  const fields = typeof body === 'object' && body !== null ? (body as Record<string, unknown>) : {}
  const text = (name: string) => (typeof fields[name] === 'string' ? fields[name] : '')
  const message = text('detail') || text('message') || text('title')
  return new ApiError(status, text('code') || `http_${status}`, message || `The server answered ${status}.`)
}
