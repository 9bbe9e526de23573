package sqlite

import (
	"context"
	"database/sql"
	"time"

	"github.com/agent-helm/agent-helm/server"
)

const tokenColumns = "id, name, secret, host_id, scopes, binding, created_by, created_at, last_used_at, expires_at, revoked_at, minter"

func scanToken(row scanner) (server.TokenRecord, error) {
	var t server.TokenRecord
	var grant grantScan
	var secret []byte
	var host sql.NullString
	var created, used, expires, revoked int64
	if err := row.Scan(&t.ID, &t.Name, &secret, &host, &grant.scopes, &grant.binding, &t.CreatedBy, &created, &used, &expires, &revoked, &t.Minter); err != nil {
		return t, err
	}
	var err error
	if t.Scopes, t.Binding, err = grant.values(); err != nil {
		return t, err
	}
	t.Host = host.String
	t.CreatedAt, t.LastUsedAt = fromMilliseconds(created), fromMilliseconds(used)
	t.ExpiresAt, t.RevokedAt = fromMilliseconds(expires), fromMilliseconds(revoked)
	return t, hashInto(&t.Secret, secret)
}

// CreateToken adds a token.
func (s *Store) CreateToken(ctx context.Context, token server.TokenRecord) error {
	return s.write(ctx, "create token", func(tx *sql.Tx) error { return insertToken(ctx, tx, token) })
}

func insertToken(ctx context.Context, tx *sql.Tx, t server.TokenRecord) error {
	binding, err := bindingText(t.Binding)
	if err != nil {
		return err
	}
	const insert = "INSERT INTO tokens (" + tokenColumns + ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
	_, err = tx.ExecContext(ctx, insert, t.ID, t.Name, t.Secret[:], sql.NullString{String: t.Host, Valid: t.Host != ""}, t.Scopes.String(),
		binding, t.CreatedBy, milliseconds(t.CreatedAt), milliseconds(t.LastUsedAt), milliseconds(t.ExpiresAt), milliseconds(t.RevokedAt), t.Minter)
	switch {
	case isUnique(err):
		return server.Errorf(server.CodeNameTaken, "There is a token named %s already: choose another name, or revoke that one first.", t.Name)
	case isForeignKey(err):
		return server.NewError(server.CodeUnknownHost)
	}
	return err
}

// Token finds a token by its public id, revoked or not.
func (s *Store) Token(ctx context.Context, id string) (server.TokenRecord, error) {
	token, err := scanToken(s.reader.QueryRowContext(ctx, "SELECT "+tokenColumns+" FROM tokens WHERE id = ?", id))
	return token, orCode(err, server.CodeUnknownToken, "read token")
}

// Tokens lists the live tokens of scripts.
func (s *Store) Tokens(ctx context.Context) ([]server.TokenRecord, error) {
	return list(ctx, s.reader, "list tokens", scanToken,
		"SELECT "+tokenColumns+" FROM tokens WHERE revoked_at = 0 AND host_id IS NULL ORDER BY created_at DESC, id")
}

// RevokeToken marks a token.
func (s *Store) RevokeToken(ctx context.Context, id string, at time.Time) error {
	return s.write(ctx, "revoke token", func(tx *sql.Tx) error {
		const update = "UPDATE tokens SET revoked_at = CASE revoked_at WHEN 0 THEN ? ELSE revoked_at END WHERE id = ?"
		result, err := tx.ExecContext(ctx, update, milliseconds(at), id)
		if err != nil {
			return err
		}
		return needRow(result, server.CodeUnknownToken)
	})
}

// SeeTokens records when tokens were last used.
func (s *Store) SeeTokens(ctx context.Context, seen map[string]time.Time) error {
	return s.write(ctx, "record tokens seen", func(tx *sql.Tx) error {
		for id, at := range seen {
			if _, err := tx.ExecContext(ctx, "UPDATE tokens SET last_used_at = max(last_used_at, ?) WHERE id = ?", milliseconds(at), id); err != nil {
				return err
			}
		}
		return nil
	})
}
