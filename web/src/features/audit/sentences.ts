import type { AuditLine } from '@/stores/types'
import type { IconName } from '@/ui/icons'

/** Names for the ids that lines hold. What is gone has none any more. */
export interface Names {
  /** This device's id. */
  me: string
  /** The name of a device, token or host. */
  of(id: string): string | undefined
  /** The name of a session, by its key host/id. */
  session(key: string): string | undefined
}

export interface Sentence {
  /** Who did it, set apart; the sentence goes on with text. */
  who: string
  text: string
  icon: IconName
  /** Somebody was refused, or something may be wrong. */
  bad?: boolean
}

const scopeNames: Record<string, string> = {
  read: 'see',
  input: 'type',
  answer: 'answer',
  exec: 'run commands',
  admin: 'manage access',
}

/** "read,input" in words; admin holds all others. */
function may(list: string): string {
  const scopes = list.split(',').map((scope) => scope.trim())
  if (scopes.includes('admin')) return 'may do everything'
  const words = scopes.map((scope) => scopeNames[scope]).filter(Boolean)
  return words.length === 0 ? '' : `may ${words.join(', ')}`
}

/** What stands before and after the last ": " of a detail. */
function parts(detail: string): [string, string] {
  const at = detail.lastIndexOf(': ')
  return at < 0 ? [detail, ''] : [detail.slice(0, at), detail.slice(at + 2)]
}

function clock(detail: string): string {
  const end = new Date(detail.replace(/^until /, ''))
  return Number.isNaN(end.getTime())
    ? ''
    : `until ${end.toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit' })}`
}

function join(...pieces: string[]): string {
  return pieces.filter((piece) => piece !== '').join(', ')
}

type Teller = (line: AuditLine, names: Names) => { text: string; icon: IconName; bad?: boolean }

const target = (line: AuditLine, names: Names) => names.of(line.target ?? '') ?? ''
const session = (line: AuditLine, names: Names) =>
  names.session(line.target ?? '') ?? 'a session that is gone'

/** Actions that this version knows; the names are the server's. */
const tellers: Record<string, Teller> = {
  'device.paired': ({ detail = '' }) => {
    const [by, scopes] = parts(detail)
    return {
      text: join(
        `was paired by ${by.replace(/^link/, 'a link')}`.replace(/by code$/, 'with a code'),
        may(scopes),
      ),
      icon: 'phone',
    }
  },
  'device.revoked': (line, names) => ({
    text: `ended the access of ${line.detail || target(line, names) || 'a device'}`,
    icon: 'xc',
  }),
  'device.renamed': ({ detail = '' }) => ({ text: `renamed a device: ${detail}`, icon: 'pen' }),
  'device.signed_out': () => ({ text: 'signed out', icon: 'power' }),
  'login.replayed': () => ({
    text: 'was revoked by the server: an old copy of its sign-in was used, so somebody may have copied it',
    icon: 'fail',
    bad: true,
  }),
  'link.made': ({ detail = '' }) => ({
    text: join('made a link for a new device', may(detail)),
    icon: 'link',
  }),
  'guest.invited': (line, names) => ({
    text: join(`made a link to watch ${session(line, names)}`, clock(line.detail ?? '')),
    icon: 'eye',
  }),
  'code.made': ({ detail = '' }) => {
    const [kind, scopes] = parts(detail)
    return {
      text: join(`made a code for a new ${kind.replace(/:.*/, '') || 'device'}`, may(scopes)),
      icon: 'lock',
    }
  },
  'code.failed': () => ({ text: 'typed a wrong code', icon: 'fail', bad: true }),
  'code.cancelled': () => ({
    text: 'typed too many wrong codes: every open code was made void',
    icon: 'fail',
    bad: true,
  }),
  'ticket.failed': ({ detail = '' }) => ({
    text: join(
      'opened a link that was used already',
      /used by (.+)$/.exec(detail)?.[1] ? `by ${/used by (.+)$/.exec(detail)?.[1]}` : '',
    ),
    icon: 'fail',
    bad: true,
  }),
  'pairing.requested': ({ detail = '' }) => ({
    text: join('asked for a code for a new device', may(detail).replace(/^may/, 'which may')),
    icon: 'phone',
  }),
  'pairing.confirmed': ({ detail = '' }) => {
    const [host, scopes] = parts(detail)
    return { text: join(`gave ${host} a code for a new device`, may(scopes)), icon: 'check' }
  },
  'pairing.denied': ({ detail = '' }) => ({
    text: `refused the request of ${detail || 'a host'} for a code`,
    icon: 'xc',
  }),
  'pairing.refused': () => ({
    text: 'asked for codes too often and was not heard',
    icon: 'fail',
    bad: true,
  }),
  'host.enrolled': () => ({ text: 'was added as a host', icon: 'host' }),
  'host.removed': (line, names) => ({
    text: `removed the host ${line.detail || target(line, names)}`,
    icon: 'host',
  }),
  'token.created': ({ detail = '' }) => {
    const [name, scopes] = parts(detail)
    return { text: join(`made the token ${name}`, may(scopes)), icon: 'braces' }
  },
  'token.revoked': (line, names) => ({
    text: `ended the token ${line.detail || target(line, names)}`,
    icon: 'braces',
  }),
  'session.started': (line, names) => {
    const name = names.session(line.target ?? '')
    const command = line.detail ?? ''
    return {
      text: name
        ? `started ${name}${command && name !== command ? ` (${command})` : ''}`
        : `started ${command || 'a session'}`,
      icon: 'sessions',
    }
  },
  'session.killed': (line, names) => ({ text: `killed ${session(line, names)}`, icon: 'stop' }),
  'session.signalled': (line, names) => ({
    text: `sent ${line.detail || 'a signal'} to ${session(line, names)}`,
    icon: 'bolt',
  }),
  'session.forgotten': (line, names) => ({
    text: `took ${session(line, names)} off the list`,
    icon: 'minus',
  }),
  'session.renamed': (line) => ({ text: `named a session ${line.detail ?? ''}`, icon: 'pen' }),
  'session.size_owner': (line, names) => ({
    text: `set the size of ${session(line, names)}`,
    icon: 'ext',
  }),
  'session.input_owner': (line, names) => ({
    text: `took the keyboard of ${session(line, names)}`,
    icon: 'kb',
  }),
  'audit.exported': () => ({ text: 'exported the audit', icon: 'log' }),
  'proxy.ignored': () => ({
    text: 'sent headers that name a caller, and is not a trusted proxy: they were ignored',
    icon: 'fail',
    bad: true,
  }),
}

function actor(line: AuditLine, { me, of }: Names): string {
  if (line.kind === 'console') return 'The server’s console'
  if (line.who !== undefined && line.who !== '' && line.who === me) return 'This device'
  // The name that it has now is the one that the person knows.
  const name = (line.who && of(line.who)) || line.name
  if (!name) return 'Somebody'
  return line.kind === 'token' ? `Token ${name}` : line.kind === 'host' ? `Host ${name}` : name
}

/** A line as a sentence. An action that this version does not know is shown as it came. */
export function sentenceOf(line: AuditLine, names: Names): Sentence {
  const tell = Object.hasOwn(tellers, line.action) ? tellers[line.action] : undefined
  const who = actor(line, names)
  if (tell) return { who, ...tell(line, names) }
  return { who, text: [line.action, line.detail].filter(Boolean).join(': '), icon: 'log' }
}

/** What lines are filtered by: an action's first word, as the server takes it. */
export const kinds: readonly { value: string; label: string }[] = [
  { value: '', label: 'Everything' },
  { value: 'device', label: 'Devices' },
  { value: 'code', label: 'Codes' },
  { value: 'link', label: 'Pairing links' },
  { value: 'ticket', label: 'Used links opened again' },
  { value: 'pairing', label: 'Hosts’ requests' },
  { value: 'guest', label: 'Guest links' },
  { value: 'token', label: 'Tokens' },
  { value: 'host', label: 'Hosts' },
  { value: 'session', label: 'Sessions' },
  { value: 'login', label: 'Copied sign-ins' },
  { value: 'proxy', label: 'Proxies' },
  { value: 'audit', label: 'The audit itself' },
]
