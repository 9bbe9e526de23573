import type { AuditLine, Token } from '@/stores/types'
import type { MockServer } from './server'

const day = 86_400_000
/** How many lines the mock's audit begins with. */
const mostLines = 120

/** Devices, tokens and the audit of the mock: what the server keeps of who may come in. */
export class MockAccess {
  private readonly tokens: Token[] = [
    {
      id: 't1',
      name: 'nightly-report',
      scopes: ['read'],
      created_by: 'console',
      created_ms: 12 * day,
      last_used_ms: 9 * 3_600_000,
      expires_ms: 18 * day,
    },
    {
      id: 't2',
      name: 'answers-for-refactor-auth',
      scopes: ['read', 'answer'],
      created_by: 'device This phone',
      created_ms: 3_600_000,
      last_used_ms: -1,
      expires_ms: -1,
      sessions: [{ host: 'mac-mini', id: 'refactor-auth' }],
    },
  ]
  private readonly lines: AuditLine[] = auditLines()

  constructor(private readonly server: MockServer) {}

  /** Whether a request is answered here. Without a connection or a pairing, and for all else, the server answers. */
  answers(path: string, { method }: Request): boolean {
    if (this.server.down || !this.server.scene.paired) return false
    return (
      /^\/(tokens|audit)\b/.test(path) ||
      path === '/devices/revoke' ||
      (method === 'PATCH' && /^\/devices\//.test(path))
    )
  }

  async fetch(path: string, asked: Request): Promise<Response> {
    const { method } = asked
    const query = new URL(asked.url).searchParams
    const text = await asked.text()
    const body: unknown = text === '' ? null : JSON.parse(text)
    this.server.requests.push({ method, path: path + (query.size > 0 ? `?${query}` : ''), body })
    if (method === 'PATCH')
      return this.rename(path.slice('/devices/'.length), (body as { name: string }).name)
    if (!this.server.scopes.includes('admin'))
      return Response.json({ code: 'forbidden', detail: 'This needs the scope admin.' }, { status: 403 })
    if (path === '/devices/revoke') {
      const { devices } = this
      const others = devices.filter((device) => !device.current).length
      devices.splice(0, devices.length, ...devices.filter((device) => device.current))
      return Response.json({ revoked: others })
    }
    if (path === '/audit') return Response.json(this.page(query))
    if (path === '/audit/export') {
      const lines = this.matching(query).map((line) => `${JSON.stringify(line)}\n`)
      return new Response(lines.join(''), { headers: { 'Content-Type': 'application/jsonl' } })
    }
    if (path === '/tokens' && method === 'POST') return this.create(body as Partial<Token> & { name: string })
    if (method === 'DELETE') {
      const index = this.tokens.findIndex((token) => path === `/tokens/${token.id}`)
      this.tokens.splice(index, 1)
      return new Response(null, { status: 204 })
    }
    return Response.json({ items: this.tokens, next: null })
  }

  private get devices(): { id: string; name: string; current: boolean }[] {
    return this.server['devices']
  }

  private rename(id: string, name: string): Response {
    const device = this.devices.find((each) => each.id === id)
    if (!device)
      return Response.json({ code: 'unknown_device', detail: 'There is no such device.' }, { status: 404 })
    device.name = name
    return new Response(null, { status: 204 })
  }

  private create({ name, scopes = [], sessions, expires_ms }: Partial<Token> & { name: string }): Response {
    if (this.tokens.some((token) => token.name === name))
      return Response.json(
        { code: 'name_taken', detail: `There is a token ${name} already.` },
        { status: 409 },
      )
    const token: Token = {
      id: `t${this.tokens.length + 1}`,
      name,
      scopes,
      created_by: 'device This phone',
      created_ms: 0,
      last_used_ms: -1,
      expires_ms: expires_ms || -1,
      ...(sessions ? { sessions } : {}),
    }
    this.tokens.push(token)
    const secret = 'ah_mock_0123456789abcdefghijklmnopqrstuvwxyzABCDEF'
    return Response.json({ token, text: secret }, { status: 201 })
  }

  private matching(query: URLSearchParams): AuditLine[] {
    const [action, who, target] = ['action', 'who', 'target'].map((name) => query.get(name))
    return this.lines.filter(
      (line) =>
        (!action || line.action === action || line.action.startsWith(`${action}.`)) &&
        (!who || line.who === who) &&
        (!target || line.target === target),
    )
  }

  private page(query: URLSearchParams): { items: AuditLine[]; next: string | null } {
    const before = Number(query.get('cursor') ?? Infinity)
    const limit = Number(query.get('limit') ?? 100)
    const rest = this.matching(query).filter(({ id }) => id < before)
    const items = rest.slice(0, limit)
    return { items, next: rest.length > limit ? String(items.at(-1)?.id) : null }
  }
}

/** Every sentence once, then days of ordinary ones. */
function auditLines(): AuditLine[] {
  const phone = { kind: 'device', who: 'd1', name: 'This phone', address: '127.0.0.1' }
  const laptop = { kind: 'device', who: 'd2', name: 'Firefox on Linux', address: '192.0.2.7' }
  const server = { kind: 'console', name: 'console' }
  const stranger = { address: '203.0.113.9' }
  const host = { kind: 'host', who: 'build-01', name: 'build-01', address: '192.0.2.20' }
  const newest: Partial<AuditLine>[] = [
    { ...phone, action: 'token.created', target: 't2', detail: 'answers-for-refactor-auth: read,answer' },
    {
      ...phone,
      action: 'guest.invited',
      target: 'mac-mini/refactor-auth',
      detail: 'until 2026-12-01T14:00:00Z',
    },
    { ...stranger, action: 'code.failed' },
    { ...stranger, action: 'code.cancelled', detail: 'too many wrong tries: every code is void' },
    { ...host, action: 'pairing.requested', target: 'K7QP', detail: 'read,input' },
    { ...phone, action: 'pairing.confirmed', target: 'K7QP', detail: 'host build-01: read,input' },
    {
      ...laptop,
      action: 'device.paired',
      target: 'd2',
      detail: 'link made by console: read,input,answer,exec,admin',
    },
    { ...laptop, action: 'session.started', target: 'mac-mini/refactor-auth', detail: 'claude' },
    { ...laptop, action: 'session.signalled', target: 'mac-mini/api-server', detail: 'ctrl-c' },
    { ...server, action: 'link.made', detail: 'read,input,answer,exec,admin' },
    { ...phone, action: 'device.revoked', target: 'd0', detail: 'Old tablet' },
    {
      kind: 'device',
      who: 'd0',
      name: 'Old tablet',
      address: '198.51.100.4',
      action: 'login.replayed',
      target: 'd0',
    },
  ]
  const now = Date.now()
  return Array.from({ length: mostLines }, (_, index) => {
    const ago = index * index * 4 * 60_000
    const line = newest[index] ?? {
      ...(index % 3 === 0 ? phone : laptop),
      action: 'session.size_owner',
      target: index % 2 === 0 ? 'mac-mini/api-server' : 'mac-mini/refactor-auth',
    }
    return { id: mostLines - index, at: new Date(now - ago).toISOString(), ago_ms: ago, action: '', ...line }
  })
}
