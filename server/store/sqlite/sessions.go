package sqlite

import (
	"context"
	"database/sql"

	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/server"
)

const sessionColumns = `host_id, id, name, command, cwd, agent, state, exit_code, exit_signal, lost_reason, cols, rows,
	created_at, active_at, ended_at, title, last_line, status_kind, status_text, status_source, bell`

func scanSession(row scanner) (server.SessionRecord, error) {
	var r server.SessionRecord
	var exitCode sql.NullInt64
	var exitSignal sql.NullString
	var created, active, ended, bell int64
	var statusText string
	err := row.Scan(&r.Host, &r.ID, &r.Name, &r.Command, &r.Cwd, &r.Agent, &r.State, &exitCode, &exitSignal, &r.LostReason,
		&r.Cols, &r.Rows, &created, &active, &ended, &r.Title, &r.LastLine, &r.Status.Kind, &statusText, &r.Status.Source, &bell)
	if exitCode.Valid {
		r.Exit = &server.Exit{Code: int(exitCode.Int64), Signal: untrusted.Text(exitSignal.String)}
	}
	r.CreatedAt, r.ActiveAt, r.EndedAt = fromMilliseconds(created), fromMilliseconds(active), fromMilliseconds(ended)
	r.Status.Text = untrusted.Text(statusText)
	r.Bell = uint64(bell)
	return r, err
}

// PutSession creates or replaces a record.
func (s *Store) PutSession(ctx context.Context, r server.SessionRecord) error {
	var exitCode sql.NullInt64
	var exitSignal sql.NullString
	if r.Exit != nil {
		exitCode = sql.NullInt64{Int64: int64(r.Exit.Code), Valid: true}
		exitSignal = sql.NullString{String: r.Exit.Signal.String(), Valid: true}
	}
	return s.write(ctx, "put session", func(tx *sql.Tx) error {
		const upsert = "INSERT INTO sessions (" + sessionColumns + `) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (host_id, id) DO UPDATE SET name = excluded.name, command = excluded.command, cwd = excluded.cwd,
			agent = excluded.agent, state = excluded.state, exit_code = excluded.exit_code, exit_signal = excluded.exit_signal,
			lost_reason = excluded.lost_reason, cols = excluded.cols, rows = excluded.rows, created_at = excluded.created_at,
			active_at = excluded.active_at, ended_at = excluded.ended_at, title = excluded.title, last_line = excluded.last_line,
			status_kind = excluded.status_kind, status_text = excluded.status_text, status_source = excluded.status_source,
			bell = excluded.bell`
		_, err := tx.ExecContext(ctx, upsert, r.Host, r.ID, r.Name, r.Command, r.Cwd, r.Agent, string(r.State), exitCode, exitSignal,
			r.LostReason, r.Cols, r.Rows, milliseconds(r.CreatedAt), milliseconds(r.ActiveAt), milliseconds(r.EndedAt), r.Title,
			r.LastLine, string(r.Status.Kind), r.Status.Text.String(), string(r.Status.Source), int64(r.Bell))
		if isForeignKey(err) {
			return server.NewError(server.CodeUnknownHost)
		}
		return err
	})
}

// Session finds a session by key.
func (s *Store) Session(ctx context.Context, key server.SessionKey) (server.SessionRecord, error) {
	const query = "SELECT " + sessionColumns + " FROM sessions WHERE host_id = ? AND id = ?"
	record, err := scanSession(s.reader.QueryRowContext(ctx, query, key.Host, key.ID))
	return record, orCode(err, server.CodeUnknownSession, "read session")
}

// Sessions lists all, newest id first.
func (s *Store) Sessions(ctx context.Context) ([]server.SessionRecord, error) {
	const query = "SELECT " + sessionColumns + " FROM sessions ORDER BY id DESC, host_id"
	return list(ctx, s.reader, "list sessions", scanSession, query)
}

// PutSnapshot replaces a session's snapshot.
func (s *Store) PutSnapshot(ctx context.Context, key server.SessionKey, snapshot server.SessionSnapshot) error {
	return s.write(ctx, "put snapshot", func(tx *sql.Tx) error {
		const upsert = `INSERT INTO snapshots (host_id, session_id, position, marks, cols, rows, vt, data, taken_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (host_id, session_id) DO UPDATE SET position = excluded.position, marks = excluded.marks,
			cols = excluded.cols, rows = excluded.rows, vt = excluded.vt, data = excluded.data, taken_at = excluded.taken_at`
		data := snapshot.Data
		if data == nil {
			data = []byte{} // a nil slice would be NULL
		}
		// SQLite's integers are signed; the cast keeps all 64 bits.
		_, err := tx.ExecContext(ctx, upsert, key.Host, key.ID, int64(snapshot.Position.Offset), snapshot.Position.Marks,
			snapshot.Cols, snapshot.Rows, snapshot.VT, data, milliseconds(snapshot.At))
		if isForeignKey(err) {
			return server.NewError(server.CodeUnknownSession)
		}
		return err
	})
}

// Snapshot reads a session's snapshot.
func (s *Store) Snapshot(ctx context.Context, key server.SessionKey) (server.SessionSnapshot, error) {
	const query = "SELECT position, marks, cols, rows, vt, data, taken_at FROM snapshots WHERE host_id = ? AND session_id = ?"
	var snapshot server.SessionSnapshot
	var offset, taken int64
	err := s.reader.QueryRowContext(ctx, query, key.Host, key.ID).Scan(&offset, &snapshot.Position.Marks,
		&snapshot.Cols, &snapshot.Rows, &snapshot.VT, &snapshot.Data, &taken)
	snapshot.Position.Offset = uint64(offset)
	snapshot.At = fromMilliseconds(taken)
	return snapshot, orCode(err, server.CodeUnknownSession, "read snapshot")
}

// DeleteSession removes a session and, by cascade, its snapshot.
func (s *Store) DeleteSession(ctx context.Context, key server.SessionKey) error {
	return s.write(ctx, "delete session", func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, "DELETE FROM sessions WHERE host_id = ? AND id = ?", key.Host, key.ID)
		if err != nil {
			return err
		}
		return needRow(result, server.CodeUnknownSession)
	})
}
