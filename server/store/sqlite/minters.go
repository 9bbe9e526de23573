package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/agent-helm/agent-helm/server"
)

// RevokeMadeBy ends what a device or token made, and what that made in turn.
func (s *Store) RevokeMadeBy(ctx context.Context, minter string, at time.Time) ([]server.Principal, error) {
	var revoked []server.Principal
	err := s.write(ctx, "revoke what was made", func(tx *sql.Tx) error {
		revoked = nil
		for pending := []string{minter}; len(pending) > 0; pending = pending[1:] {
			if err := spoilMadeBy(ctx, tx, pending[0], at); err != nil {
				return err
			}
			for kind, query := range map[server.PrincipalKind]string{
				server.PrincipalToken: "UPDATE tokens SET revoked_at = ? WHERE minter = ? AND revoked_at = 0 AND host_id IS NULL RETURNING id, name",
				// Whoever sees all sessions was let in by a person, to stay.
				server.PrincipalDevice: "UPDATE devices SET revoked_at = ? WHERE minter = ? AND revoked_at = 0 AND binding <> '{}' RETURNING id, name",
			} {
				ended, err := revokeReturning(ctx, tx, kind, query, at, pending[0])
				if err != nil {
					return err
				}
				for _, p := range ended {
					pending = append(pending, p.ID)
				}
				revoked = append(revoked, ended...)
			}
		}
		return nil
	})
	return revoked, err
}

func revokeReturning(ctx context.Context, tx *sql.Tx, kind server.PrincipalKind, query string, at time.Time, minter string) ([]server.Principal, error) {
	rows, err := tx.QueryContext(ctx, query, milliseconds(at), minter)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var ended []server.Principal
	for rows.Next() {
		p := server.Principal{Kind: kind}
		if err := rows.Scan(&p.ID, &p.Name); err != nil {
			return nil, err
		}
		ended = append(ended, p)
	}
	return ended, rows.Err()
}

// spoilMadeBy ends links, codes and confirmations that were not used yet.
func spoilMadeBy(ctx context.Context, tx *sql.Tx, minter string, at time.Time) error {
	for _, update := range []string{
		"UPDATE tickets SET expires_at = min(expires_at, ?) WHERE minter = ? AND used_at = 0",
		"UPDATE codes SET cancelled_at = ? WHERE minter = ? AND used_at = 0 AND cancelled_at = 0",
		// A confirmation that was not picked up has made no code yet.
		"UPDATE pairings SET state = 'cancelled', expires_at = min(expires_at, ?) WHERE decided_by = ? AND state = 'confirmed'",
	} {
		if _, err := tx.ExecContext(ctx, update, milliseconds(at), minter); err != nil {
			return err
		}
	}
	return nil
}
