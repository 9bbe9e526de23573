import type { Host, Session } from '@/wire'

/** What a mock server tells. */
export interface Scene {
  hosts: Host[]
  sessions: Session[]
  /** The socket opens, or not. */
  reachable: boolean
  /** This browser is paired. */
  paired: boolean
  /** It is a guest of this session, for an hour. */
  guest?: { host: string; id: string }
  /** What it may do; everything a phone of one's own usually may when absent. */
  scopes?: string[]
}

const minute = 60_000
const hour = 60 * minute

function host(id: string, online: boolean, sessions: number): Host {
  return {
    id,
    name: id,
    online,
    connected_ms: online ? 26 * hour : 0,
    last_seen_ms: online ? 0 : 65 * minute,
    created_ms: 40 * 24 * hour,
    version: '1.0.0',
    sessions,
    problem: '',
  }
}

function session(id: string, hostId: string, change: Partial<Session>): Session {
  return {
    id,
    host: hostId,
    host_name: hostId,
    name: id,
    command: change.agent || 'bash',
    cwd: '~/src/api-server',
    agent: '',
    state: 'running',
    exit: null,
    lost_reason: '',
    online: true,
    last_seen_ms: 0,
    cols: 54,
    rows: 34,
    created_ms: 3 * hour,
    active_ms: 0,
    title: '',
    status: { kind: 'idle', text: '', source: 'activity' },
    last_line: '',
    prompt: null,
    bell: 0,
    viewers: 1,
    size_owner: { kind: 'none', mine: false },
    input_blocked: false,
    warning: '',
    ...change,
  }
}

const hosts = [host('mac-mini', true, 4), host('build-01', true, 3), host('nas', false, 1)]

const sessions = [
  session('api-server', 'mac-mini', {
    agent: 'claude',
    active_ms: 48_000,
    status: { kind: 'needs_you', text: '', source: 'screen' },
    last_line: '3. No, and tell Claude what to do (esc)',
    prompt: {
      id: 'p1',
      question: 'Do you want to proceed?',
      options: [
        { key: '1', label: 'Yes' },
        { key: '2', label: 'Yes, and don’t ask again for go test' },
        { key: '3', label: 'No, and tell Claude what to do' },
      ],
    },
  }),
  session('web-shop', 'build-01', {
    agent: 'gemini',
    active_ms: 4 * minute,
    status: { kind: 'needs_you', text: '', source: 'screen' },
    prompt: {
      id: 'p2',
      question: 'Which database for the tests?',
      options: [
        { key: '1', label: 'SQLite' },
        { key: '2', label: 'Postgres' },
      ],
    },
  }),
  session('refactor-auth', 'mac-mini', {
    agent: 'claude',
    active_ms: 2 * minute,
    status: { kind: 'working', text: 'running go vet ./…', source: 'program' },
  }),
  session('docs-pass', 'build-01', {
    agent: 'gemini',
    active_ms: 11 * minute,
    status: { kind: 'working', text: 'editing docs/api.md', source: 'title' },
  }),
  session('bump-deps', 'mac-mini', {
    agent: 'claude',
    active_ms: 9 * minute,
    status: { kind: 'done', text: '14 packages updated, tests pass', source: 'program' },
  }),
  session('landing-copy', 'build-01', {
    agent: 'codex',
    active_ms: hour,
    status: { kind: 'waiting', text: '', source: 'activity' },
  }),
  session('a-session-with-a-very-long-name-that-somebody-typed-on-a-desk', 'mac-mini', {
    active_ms: 3 * hour,
    last_line: '~/src $',
  }),
  session('media-index', 'nas', {
    agent: 'codex',
    online: false,
    last_seen_ms: 65 * minute,
    active_ms: 66 * minute,
    status: { kind: 'working', text: 'indexing', source: 'title' },
  }),
  session('release-notes', 'build-01', {
    agent: 'claude',
    state: 'exited',
    exit: { code: 1, signal: '' },
    active_ms: 5 * hour,
    status: { kind: 'ended', text: '', source: 'activity' },
    last_line: 'error: no such tag v1.2',
  }),
  session('old-shell', 'mac-mini', {
    state: 'lost',
    lost_reason: 'the host restarted',
    active_ms: 26 * hour,
    status: { kind: 'ended', text: '', source: 'activity' },
  }),
]

export const scenes: Record<string, Scene> = {
  full: { hosts, sessions, reachable: true, paired: true },
  empty: { hosts, sessions: [], reachable: true, paired: true },
  'no-hosts': { hosts: [], sessions: [], reachable: true, paired: true },
  unreachable: { hosts: [], sessions: [], reachable: false, paired: true },
  guest: {
    hosts: [],
    sessions: sessions.filter((each) => each.id === 'refactor-auth'),
    reachable: true,
    paired: true,
    guest: { host: 'mac-mini', id: 'refactor-auth' },
  },
  limited: { hosts, sessions, reachable: true, paired: true, scopes: ['read', 'input'] },
  unpaired: { hosts: [], sessions: [], reachable: true, paired: false },
}
