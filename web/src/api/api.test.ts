import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  access,
  ApiError,
  forgetSession,
  loadProof,
  redeemCode,
  redeemTicket,
  sessionText,
  stopSession,
} from '.'

interface Seen {
  method: string
  url: string
  body: string
  proof: string | null
}

let seen: Seen[]
function serve(status: number, body: unknown, type = 'application/json'): void {
  vi.stubGlobal('fetch', async (request: Request) => {
    seen.push({
      method: request.method,
      url: request.url.replace(window.location.origin, ''),
      body: await request.text(),
      proof: request.headers.get('X-Agent-Helm-Proof'),
    })
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return new Response(status === 204 ? null : text, { status, headers: { 'Content-Type': type } })
  })
}

beforeEach(() => {
  seen = []
  localStorage.clear()
})
afterEach(() => localStorage.clear())

describe('access', () => {
  it('redeems a ticket in the body and keeps the proof', async () => {
    serve(200, { device: 'd', name: 'n', scopes: [], proof: 'secret', insecure: false })
    await redeemTicket('t1', 'phone')
    expect(seen).toMatchObject([{ method: 'POST', url: '/api/pair', proof: null }])
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({ ticket: 't1', name: 'phone' })
    expect(loadProof()).toBe('secret')
    await access()
    expect(seen[1]?.proof).toBe('secret')
  })

  it('takes a code however it is written', async () => {
    serve(200, { proof: 'p' })
    await redeemCode(' k7q-p2m ', 'phone')
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({ code: 'K7QP2M', name: 'phone' })
  })

  for (const [status, code, expected] of [
    [200, '', 'granted'],
    [401, 'unauthenticated', 'signed_out'],
    [401, 'revoked', 'revoked'],
    [403, 'proof_required', 'signed_out'],
    [403, 'origin_refused', 'unreachable'],
    [503, 'restarting', 'unreachable'],
  ] as const) {
    it(`reads ${status} ${code} as ${expected}`, async () => {
      serve(status, { code, detail: 'because' })
      expect(await access()).toBe(expected)
    })
  }

  it('calls a network that is not there unreachable', async () => {
    vi.stubGlobal('fetch', () => Promise.reject(new TypeError('offline')))
    expect(await access()).toBe('unreachable')
  })
})

describe('sessions', () => {
  it('names host and session, and signals or kills', async () => {
    serve(204, '')
    await stopSession('h 1', 's1', 'ctrl-c')
    expect(seen[0]).toMatchObject({ method: 'POST', url: '/api/sessions/s1/signal?host=h%201' })
    expect(JSON.parse(seen[0]?.body ?? '')).toEqual({ signal: 'ctrl-c' })
    serve(200, { done: 'killed' })
    await stopSession('h', 's1', 'kill')
    await forgetSession('h', 's1')
    expect(seen.slice(1).map(({ method, url }) => `${method} ${url}`)).toEqual([
      'DELETE /api/sessions/s1?host=h',
      'DELETE /api/sessions/s1?host=h',
    ])
  })

  it('gets a screen as text', async () => {
    serve(200, 'line\n', 'text/plain')
    expect(await sessionText('h', 's')).toBe('line\n')
  })
})

describe('errors', () => {
  it('carries the server’s code and sentence', async () => {
    serve(503, { code: 'host_offline', detail: 'The host is not connected.' }, 'application/problem+json')
    const failed = await stopSession('h', 's', 'esc').catch((error: unknown) => error)
    expect(failed).toBeInstanceOf(ApiError)
    expect(failed).toMatchObject({ status: 503, code: 'host_offline', message: 'The host is not connected.' })
  })

  it('finds a sentence for what did not come from the server', async () => {
    serve(502, '<html>Bad gateway</html>', 'text/html')
    await expect(stopSession('h', 's', 'esc')).rejects.toMatchObject({ code: 'http_502', message: /502/ })
  })
})
