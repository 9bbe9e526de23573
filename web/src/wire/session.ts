import { WireError } from './bytes'
import { Shape } from './json'

/**
 * What the server says of a session, in its events and in the HTTP API alike. The text in it comes from programs and
 * hosts: it is capped and cleaned by the server, shown as text, and believed for nothing.
 */
export interface Session {
  id: string
  /** The host's id; a session's key is (host, id). */
  host: string
  host_name: string
  name: string
  command: string
  cwd: string
  agent: string
  state: SessionState
  exit: { code: number; signal: string } | null
  /** Why the session is lost, when it is. */
  lost_reason: string
  /** Whether the host is connected now. */
  online: boolean
  /** Milliseconds since the host was last heard of, when it is offline. */
  last_seen_ms: number
  cols: number
  rows: number
  /** Milliseconds since the start. */
  created_ms: number
  /** Milliseconds since the last output. */
  active_ms: number
  title: string
  status: SessionStatus
  last_line: string
  prompt: Prompt | null
  /** Counts bells. */
  bell: number
  viewers: number
  size_owner: { kind: 'viewer' | 'local' | 'none'; mine: boolean }
  /** The program does not read its input. */
  input_blocked: boolean
  /** A fault on the host that the person should know, empty when there is none. */
  warning: string
}

export type SessionState = 'running' | 'exited' | 'lost'
export type StatusKind = 'working' | 'waiting' | 'needs_you' | 'idle' | 'done' | 'failed' | 'ended'

export interface SessionStatus {
  kind: StatusKind
  text: string
  /** Where the status was read; what only the screen says is unverified. */
  source: 'program' | 'screen' | 'title' | 'activity'
}

/** A question with its answers, seen on the session's screen. */
export interface Prompt {
  id: string
  question: string
  options: { key: string; label: string }[]
}

export interface Host {
  id: string
  name: string
  online: boolean
  /** Milliseconds since it connected; 0 while it is offline. */
  connected_ms: number
  /** Milliseconds since it was last connected; 0 while it is online, −1 when it never was. */
  last_seen_ms: number
  /** Milliseconds since it was enrolled. */
  created_ms: number
  /** The daemon's version, empty when it never connected. */
  version: string
  /** How many of its sessions run. */
  sessions: number
  /** A standing fault, such as a second daemon with the same token; empty when there is none. */
  problem: string
}

/** The whole of what a viewer may see. */
export interface Snapshot {
  hosts: Host[]
  sessions: Session[]
}

/** A session's name across hosts. */
export function sessionKey(session: { host: string; id: string }): string {
  return `${session.host}/${session.id}`
}

const states = ['running', 'exited', 'lost'] as const
const kinds = ['working', 'waiting', 'needs_you', 'idle', 'done', 'failed', 'ended'] as const
const sources = ['program', 'screen', 'title', 'activity'] as const
const owners = ['viewer', 'local', 'none'] as const

/** Reads one session; fields this version does not know are left out. */
export function parseSession(value: unknown): Session {
  const from = Shape.of(value, 'session')
  return {
    id: from.string('id'),
    host: from.string('host'),
    host_name: from.string('host_name', ''),
    name: from.string('name', ''),
    command: from.string('command', ''),
    cwd: from.string('cwd', ''),
    agent: from.string('agent', ''),
    state: from.word('state', states, 'running'),
    exit: from.optional('exit', (exit) => {
      const fields = Shape.of(exit, 'session.exit')
      return { code: fields.number('code', 0), signal: fields.string('signal', '') }
    }),
    lost_reason: from.string('lost_reason', ''),
    online: from.boolean('online'),
    last_seen_ms: from.number('last_seen_ms', 0),
    cols: from.number('cols', 0),
    rows: from.number('rows', 0),
    created_ms: from.number('created_ms', 0),
    active_ms: from.number('active_ms', 0),
    title: from.string('title', ''),
    status: from.optional('status', parseStatus) ?? { kind: 'idle', text: '', source: 'activity' },
    last_line: from.string('last_line', ''),
    prompt: from.optional('prompt', parsePrompt),
    bell: from.number('bell', 0),
    viewers: from.number('viewers', 0),
    size_owner: from.optional('size_owner', parseOwner) ?? { kind: 'none', mine: false },
    input_blocked: from.boolean('input_blocked'),
    warning: from.string('warning', ''),
  }
}

function parseStatus(value: unknown): SessionStatus {
  const from = Shape.of(value, 'session.status')
  return {
    kind: from.word('kind', kinds, 'idle'),
    text: from.string('text', ''),
    source: from.word('source', sources, 'activity'),
  }
}

function parsePrompt(value: unknown): Prompt {
  const from = Shape.of(value, 'session.prompt')
  return {
    id: from.string('id'),
    question: from.string('question', ''),
    options: from.list('options', (option) => {
      const fields = Shape.of(option, 'session.prompt.option')
      return { key: fields.string('key'), label: fields.string('label', '') }
    }),
  }
}

function parseOwner(value: unknown): Session['size_owner'] {
  const from = Shape.of(value, 'session.size_owner')
  return { kind: from.word('kind', owners, 'none'), mine: from.boolean('mine') }
}

export function parseHost(value: unknown): Host {
  const from = Shape.of(value, 'host')
  return {
    id: from.string('id'),
    name: from.string('name', ''),
    online: from.boolean('online'),
    connected_ms: from.number('connected_ms', 0),
    last_seen_ms: from.number('last_seen_ms', 0),
    created_ms: from.number('created_ms', 0),
    version: from.string('version', ''),
    sessions: from.number('sessions', 0),
    problem: from.string('problem', ''),
  }
}

/** Reads a snapshot. An item that cannot be read is left out; it must not hide the others. */
export function parseSnapshot(value: unknown): Snapshot {
  const from = Shape.of(value, 'snapshot')
  return {
    hosts: from.list('hosts', readable(parseHost)).filter((host) => host !== null),
    sessions: from.list('sessions', readable(parseSession)).filter((session) => session !== null),
  }
}

function readable<T>(parse: (value: unknown) => T): (value: unknown) => T | null {
  return (value) => {
    try {
      return parse(value)
    } catch (error) {
      if (error instanceof WireError) return null
      throw error
    }
  }
}
