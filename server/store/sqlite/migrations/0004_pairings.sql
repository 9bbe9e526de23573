-- A host's request for the code of a new device. No code or its hash is here:
-- that is made once somebody confirmed.
CREATE TABLE pairings (
    id           TEXT PRIMARY KEY,              -- four characters, shown on both screens
    host_id      TEXT NOT NULL REFERENCES hosts (id) ON DELETE CASCADE,
    scopes       TEXT NOT NULL,                 -- asked for; granted, once confirmed
    address      TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    state        TEXT NOT NULL CHECK (state IN ('waiting', 'confirmed', 'denied', 'cancelled')),
    decided_kind TEXT NOT NULL DEFAULT '',
    decided_by   TEXT NOT NULL DEFAULT '',
    decided_name TEXT NOT NULL DEFAULT ''
) STRICT, WITHOUT ROWID;
