package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/agent-helm/agent-helm/server"
)

const (
	pairingColumns = "p.id, p.host_id, h.name, p.scopes, p.address, p.created_at, p.expires_at, p.state, p.decided_kind, p.decided_by, p.decided_name"
	pairingQuery   = "SELECT " + pairingColumns + " FROM pairings p JOIN hosts h ON h.id = p.host_id"
	pairingWaits   = "state = 'waiting' AND expires_at > ?"
)

func scanPairing(row scanner) (server.PairingRecord, error) {
	var p server.PairingRecord
	var scopes string
	var created, expires int64
	if err := row.Scan(&p.ID, &p.Host, &p.HostName, &scopes, &p.Address, &created, &expires, &p.State, &p.DecidedBy.Kind, &p.DecidedBy.ID, &p.DecidedBy.Name); err != nil {
		return p, err
	}
	p.CreatedAt, p.ExpiresAt = fromMilliseconds(created), fromMilliseconds(expires)
	var err error
	p.Scopes, err = scopesFromText(scopes)
	return p, err
}

// CreatePairing adds a request unless maxWaiting wait, and forgets old ones.
func (s *Store) CreatePairing(ctx context.Context, record server.PairingRecord, maxWaiting int) error {
	return s.write(ctx, "create pairing request", func(tx *sql.Tx) error {
		now := milliseconds(record.CreatedAt)
		if _, err := tx.ExecContext(ctx, "DELETE FROM pairings WHERE expires_at < ?", milliseconds(record.CreatedAt.Add(-keepSpent))); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, "UPDATE pairings SET state = 'cancelled' WHERE host_id = ? AND state = 'waiting'", record.Host); err != nil {
			return err
		}
		var waiting, taken, enrolled int
		const count = "SELECT (SELECT count(*) FROM pairings WHERE " + pairingWaits + "), (SELECT count(*) FROM pairings WHERE id = ?), (SELECT count(*) FROM hosts WHERE id = ?)"
		if err := tx.QueryRowContext(ctx, count, now, record.ID, record.Host).Scan(&waiting, &taken, &enrolled); err != nil {
			return err
		}
		switch {
		case enrolled == 0:
			return server.NewError(server.CodeUnknownHost)
		case taken > 0:
			return server.NewError(server.CodeConflict)
		case waiting >= maxWaiting:
			return server.Errorf(server.CodeLimit, "%d requests of hosts wait to be confirmed: confirm or deny some first", waiting)
		}
		const insert = "INSERT INTO pairings (id, host_id, scopes, address, created_at, expires_at, state) VALUES (?, ?, ?, ?, ?, ?, 'waiting')"
		_, err := tx.ExecContext(ctx, insert, record.ID, record.Host, record.Scopes.String(), record.Address, now, milliseconds(record.ExpiresAt))
		return err
	})
}

// Pairing finds a request by id, whatever became of it.
func (s *Store) Pairing(ctx context.Context, id string) (server.PairingRecord, error) {
	record, err := scanPairing(s.reader.QueryRowContext(ctx, pairingQuery+" WHERE p.id = ?", id))
	return record, orCode(err, server.CodeUnknownPairing, "read pairing request")
}

// Pairings lists the requests that wait.
func (s *Store) Pairings(ctx context.Context, now time.Time) ([]server.PairingRecord, error) {
	return list(ctx, s.reader, "list pairing requests", scanPairing, pairingQuery+" WHERE p."+pairingWaits+" ORDER BY p.created_at, p.id", milliseconds(now))
}

// DecidePairing decides a request that waits.
func (s *Store) DecidePairing(ctx context.Context, id string, now time.Time, state server.PairingState, scopes server.Scopes, by server.Principal) (server.PairingRecord, error) {
	var record server.PairingRecord
	err := s.write(ctx, "decide pairing request", func(tx *sql.Tx) error {
		const update = "UPDATE pairings SET state = ?, scopes = ?, decided_kind = ?, decided_by = ?, decided_name = ? WHERE id = ? AND " + pairingWaits
		result, err := tx.ExecContext(ctx, update, string(state), scopes.String(), string(by.Kind), by.ID, by.Name, id, milliseconds(now))
		if err != nil {
			return err
		}
		if err := needRow(result, server.CodeUnknownPairing); err != nil {
			return err
		}
		record, err = scanPairing(tx.QueryRowContext(ctx, pairingQuery+" WHERE p.id = ?", id))
		return err
	})
	return record, err
}
