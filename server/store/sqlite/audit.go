package sqlite

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/agent-helm/agent-helm/server"
)

const auditColumns = "id, at, action, kind, who, name, address, target, detail"

func scanAudit(row scanner) (server.AuditRecord, error) { return scanAuditAnd(row) }

func scanAuditAnd(row scanner, extra ...any) (server.AuditRecord, error) {
	var r server.AuditRecord
	var at int64
	err := row.Scan(append([]any{&r.ID, &at, &r.Action, &r.Kind, &r.Who, &r.Name, &r.Address, &r.Target, &r.Detail}, extra...)...)
	r.At = fromMilliseconds(at)
	return r, err
}

// AppendAudit adds a line. The id is the predecessor's plus one, so that a
// line cut from the end shows as well once there is a copy elsewhere.
func (s *Store) AppendAudit(ctx context.Context, r server.AuditRecord) error {
	return s.write(ctx, "append audit line", func(tx *sql.Tx) error {
		var last int64
		var previous []byte
		err := tx.QueryRowContext(ctx, "SELECT id, chain FROM audit ORDER BY id DESC LIMIT 1").Scan(&last, &previous)
		if err != nil && !errors.Is(err, sql.ErrNoRows) {
			return err
		}
		r.ID = last + 1
		chain, err := chainOf(previous, r)
		if err != nil {
			return err
		}
		const insert = "INSERT INTO audit (" + auditColumns + ", chain) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
		_, err = tx.ExecContext(ctx, insert, r.ID, milliseconds(r.At), r.Action, string(r.Kind), r.Who, r.Name, r.Address, r.Target, r.Detail, chain)
		return err
	})
}

// Audit lists the lines that a query names, newest first.
func (s *Store) Audit(ctx context.Context, q server.AuditQuery) ([]server.AuditRecord, error) {
	const query = "SELECT " + auditColumns + " FROM audit WHERE (?1 = 0 OR id < ?1)" +
		" AND (?2 = '' OR action = ?2 OR substr(action, 1, length(?2) + 1) = ?2 || '.')" +
		" AND (?3 = '' OR who = ?3) AND (?4 = '' OR target = ?4) ORDER BY id DESC LIMIT ?5"
	return list(ctx, s.reader, "list audit lines", scanAudit, query, q.Before, q.Action, q.Who, q.Target, q.Max)
}

// VerifyAudit recomputes the chain from the first line.
func (s *Store) VerifyAudit(ctx context.Context) (int64, error) {
	rows, err := s.reader.QueryContext(ctx, "SELECT "+auditColumns+", chain FROM audit ORDER BY id")
	if err != nil {
		return 0, fmt.Errorf("verify audit lines: %w", err)
	}
	defer rows.Close()
	var previous []byte
	for expected := int64(1); rows.Next(); expected++ {
		var stored []byte
		record, err := scanAuditAnd(rows, &stored)
		if err != nil {
			return 0, fmt.Errorf("verify audit lines: %w", err)
		}
		chain, err := chainOf(previous, record)
		if err != nil {
			return 0, err
		}
		if record.ID != expected || subtle.ConstantTimeCompare(chain, stored) != 1 {
			return expected, nil
		}
		previous = stored
	}
	if err := rows.Err(); err != nil {
		return 0, fmt.Errorf("verify audit lines: %w", err)
	}
	return 0, nil
}

func chainOf(previous []byte, r server.AuditRecord) ([]byte, error) {
	r.At = fromMilliseconds(milliseconds(r.At)) // as it will be read back
	line, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode audit line: %w", err)
	}
	sum := sha256.New()
	sum.Write(previous)
	sum.Write(line)
	return sum.Sum(nil), nil
}

// Setting reads a setting.
func (s *Store) Setting(ctx context.Context, key string) (string, error) {
	var value string
	err := s.reader.QueryRowContext(ctx, "SELECT value FROM settings WHERE key = ?", key).Scan(&value)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read setting: %w", err)
	}
	return value, nil
}

// PutSetting writes a setting.
func (s *Store) PutSetting(ctx context.Context, key, value string) error {
	return s.write(ctx, "write setting", func(tx *sql.Tx) error {
		const upsert = "INSERT INTO settings (key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
		_, err := tx.ExecContext(ctx, upsert, key, value)
		return err
	})
}
