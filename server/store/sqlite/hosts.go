package sqlite

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/agent-helm/agent-helm/server"
)

type scanner interface{ Scan(targets ...any) error }

const hostColumns = "id, name, created_at, last_seen_at, version"

func scanHost(row scanner) (server.HostRecord, error) {
	var host server.HostRecord
	var created, seen int64
	err := row.Scan(&host.ID, &host.Name, &created, &seen, &host.Version)
	host.CreatedAt, host.LastSeenAt = fromMilliseconds(created), fromMilliseconds(seen)
	return host, err
}

// Host finds a host by id.
func (s *Store) Host(ctx context.Context, id string) (server.HostRecord, error) {
	host, err := scanHost(s.reader.QueryRowContext(ctx, "SELECT "+hostColumns+" FROM hosts WHERE id = ?", id))
	return host, orCode(err, server.CodeUnknownHost, "read host")
}

// Hosts lists all, by name.
func (s *Store) Hosts(ctx context.Context) ([]server.HostRecord, error) {
	return list(ctx, s.reader, "list hosts", scanHost, "SELECT "+hostColumns+" FROM hosts ORDER BY name, id")
}

// SeeHosts records when hosts were last connected.
func (s *Store) SeeHosts(ctx context.Context, seen []server.HostSeen) error {
	return s.write(ctx, "record hosts seen", func(tx *sql.Tx) error {
		for _, host := range seen {
			const update = "UPDATE hosts SET last_seen_at = max(last_seen_at, ?), version = ? WHERE id = ?"
			if _, err := tx.ExecContext(ctx, update, milliseconds(host.At), host.Version, host.ID); err != nil {
				return err
			}
		}
		return nil
	})
}

// DeleteHost removes a host and, by cascade, its token and sessions.
func (s *Store) DeleteHost(ctx context.Context, id string) error {
	return s.write(ctx, "delete host", func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, "DELETE FROM hosts WHERE id = ?", id)
		if err != nil {
			return err
		}
		return needRow(result, server.CodeUnknownHost)
	})
}

func insertHost(ctx context.Context, tx *sql.Tx, host server.HostRecord) error {
	const insert = "INSERT INTO hosts (" + hostColumns + ") VALUES (?, ?, ?, ?, ?)"
	_, err := tx.ExecContext(ctx, insert, host.ID, host.Name, milliseconds(host.CreatedAt), milliseconds(host.LastSeenAt), host.Version)
	if isUnique(err) {
		return server.Errorf(server.CodeNameTaken, "There is a host named %s already: choose another name, or remove that one first.", host.Name)
	}
	return err
}

// list runs a query and scans every row. The result is never nil.
func list[T any](ctx context.Context, db *sql.DB, what string, scan func(scanner) (T, error), query string, args ...any) ([]T, error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	defer rows.Close()
	items := []T{}
	for rows.Next() {
		item, err := scan(rows)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		items = append(items, item)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	return items, nil
}
