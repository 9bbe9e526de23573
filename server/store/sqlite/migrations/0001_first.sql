-- Times are milliseconds since 1970, 0 where there is none. Secrets are hashes.

CREATE TABLE hosts (
    id           TEXT PRIMARY KEY,              -- a UUID
    name         TEXT NOT NULL UNIQUE,
    created_at   INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL DEFAULT 0,
    version      TEXT NOT NULL DEFAULT ''
) STRICT;

CREATE TABLE sessions (
    host_id       TEXT NOT NULL REFERENCES hosts (id) ON DELETE CASCADE,
    id            TEXT NOT NULL,                -- unique inside its host only
    name          TEXT NOT NULL,
    command       TEXT NOT NULL,
    cwd           TEXT NOT NULL,
    agent         TEXT NOT NULL,
    state         TEXT NOT NULL CHECK (state IN ('running', 'exited', 'lost')),
    exit_code     INTEGER,                      -- both null unless state is 'exited'
    exit_signal   TEXT,
    lost_reason   TEXT NOT NULL,
    cols          INTEGER NOT NULL,
    rows          INTEGER NOT NULL,
    created_at    INTEGER NOT NULL,
    active_at     INTEGER NOT NULL,
    ended_at      INTEGER NOT NULL,
    title         TEXT NOT NULL,
    last_line     TEXT NOT NULL,
    status_kind   TEXT NOT NULL,
    status_text   TEXT NOT NULL,
    status_source TEXT NOT NULL,
    bell          INTEGER NOT NULL,
    PRIMARY KEY (host_id, id)
) STRICT, WITHOUT ROWID;

-- Apart from sessions, so that listing never reads a blob.
CREATE TABLE snapshots (
    host_id    TEXT NOT NULL,
    session_id TEXT NOT NULL,
    position   INTEGER NOT NULL,                -- bytes of output
    marks      INTEGER NOT NULL,
    cols       INTEGER NOT NULL,
    rows       INTEGER NOT NULL,
    vt         INTEGER NOT NULL,                -- version of the state's format
    data       BLOB NOT NULL,
    taken_at   INTEGER NOT NULL,
    PRIMARY KEY (host_id, session_id),
    FOREIGN KEY (host_id, session_id) REFERENCES sessions (host_id, id) ON DELETE CASCADE
) STRICT;

CREATE TABLE devices (
    id           TEXT PRIMARY KEY,
    name         TEXT NOT NULL,
    scopes       TEXT NOT NULL,                 -- comma-separated names
    binding      TEXT NOT NULL,                 -- JSON
    proof        BLOB NOT NULL,
    created_at   INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    insecure     INTEGER NOT NULL,
    address      TEXT NOT NULL,
    revoked_at   INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE logins (
    id           BLOB PRIMARY KEY,
    device_id    TEXT NOT NULL REFERENCES devices (id) ON DELETE CASCADE,
    created_at   INTEGER NOT NULL,
    last_seen_at INTEGER NOT NULL,
    replaces     BLOB,                          -- the login to take over from, null once that is done
    replaced_at  INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;
CREATE INDEX logins_by_device ON logins (device_id);

CREATE TABLE tokens (
    id           TEXT PRIMARY KEY,              -- the public part
    name         TEXT NOT NULL,
    secret       BLOB NOT NULL,
    host_id      TEXT REFERENCES hosts (id) ON DELETE CASCADE,  -- null for a script's token
    scopes       TEXT NOT NULL,
    binding      TEXT NOT NULL,
    created_by   TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL DEFAULT 0,
    expires_at   INTEGER NOT NULL DEFAULT 0,
    revoked_at   INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE UNIQUE INDEX tokens_live_name ON tokens (name) WHERE revoked_at = 0 AND host_id IS NULL;
CREATE INDEX tokens_by_host ON tokens (host_id) WHERE host_id IS NOT NULL;

CREATE TABLE tickets (
    secret     BLOB PRIMARY KEY,
    kind       TEXT NOT NULL CHECK (kind IN ('device', 'host')),
    scopes     TEXT NOT NULL,
    binding    TEXT NOT NULL,
    created_by TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at    INTEGER NOT NULL DEFAULT 0,
    used_by    TEXT NOT NULL DEFAULT '',
    used_from  TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;

CREATE TABLE codes (
    id             TEXT PRIMARY KEY,
    secret         BLOB NOT NULL,
    kind           TEXT NOT NULL CHECK (kind IN ('device', 'host')),
    scopes         TEXT NOT NULL,
    binding        TEXT NOT NULL,
    created_by     TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    expires_at     INTEGER NOT NULL,
    wrong_tries    INTEGER NOT NULL DEFAULT 0,
    wrong_from     TEXT NOT NULL DEFAULT '',
    used_at        INTEGER NOT NULL DEFAULT 0,
    used_by        TEXT NOT NULL DEFAULT '',
    cancelled_at   INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

CREATE TABLE audit (
    id      INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    action  TEXT NOT NULL,
    kind    TEXT NOT NULL,
    who     TEXT NOT NULL,
    name    TEXT NOT NULL,
    address TEXT NOT NULL,
    target  TEXT NOT NULL,
    detail  TEXT NOT NULL,
    chain   BLOB NOT NULL                       -- SHA-256 over the predecessor's chain and this line
) STRICT;
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit
    BEGIN SELECT RAISE(ABORT, 'audit lines are never changed'); END;
CREATE TRIGGER audit_is_not_removed BEFORE DELETE ON audit
    BEGIN SELECT RAISE(ABORT, 'audit lines are never removed'); END;

CREATE TABLE settings (
    key   TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
