package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/agent-helm/agent-helm/server"
)

const deviceColumns = "d.id, d.name, d.scopes, d.binding, d.proof, d.created_at, d.last_seen_at, d.expires_at, d.insecure, d.address, d.tailnet, d.revoked_at, d.minter"

// keepReplaced is how long a replaced login is remembered, to notice that a
// copy of it is used: as long as a cookie can live unused.
const keepReplaced = 90 * 24 * time.Hour

// grantScan reads the columns that devices, tokens, tickets and codes share.
type grantScan struct {
	scopes, binding string
}

func (g grantScan) values() (server.Scopes, server.Binding, error) {
	scopes, err := scopesFromText(g.scopes)
	if err != nil {
		return 0, server.Binding{}, err
	}
	var binding server.Binding
	if err := json.Unmarshal([]byte(g.binding), &binding); err != nil {
		return 0, server.Binding{}, fmt.Errorf("binding: %w", err)
	}
	return scopes, binding, nil
}

func scopesFromText(text string) (server.Scopes, error) {
	if text == "" {
		return 0, nil
	}
	return server.ParseScopes(text)
}

func bindingText(b server.Binding) (string, error) {
	text, err := json.Marshal(b)
	return string(text), err
}

// hashInto checks the length of a stored hash.
func hashInto(target *server.Hash, stored []byte) error {
	if len(stored) != len(target) {
		return fmt.Errorf("stored hash has %d bytes", len(stored))
	}
	copy(target[:], stored)
	return nil
}

// scanDeviceAnd scans a device, and extra columns after it.
func scanDeviceAnd(row scanner, extra ...any) (server.DeviceRecord, error) {
	var d server.DeviceRecord
	var grant grantScan
	var proof []byte
	var created, seen, expires, revoked int64
	targets := append([]any{&d.ID, &d.Name, &grant.scopes, &grant.binding, &proof, &created, &seen, &expires, &d.Insecure, &d.Address, &d.Tailnet, &revoked, &d.Minter}, extra...)
	if err := row.Scan(targets...); err != nil {
		return d, err
	}
	var err error
	if d.Scopes, d.Binding, err = grant.values(); err != nil {
		return d, err
	}
	d.CreatedAt, d.LastSeenAt = fromMilliseconds(created), fromMilliseconds(seen)
	d.ExpiresAt, d.RevokedAt = fromMilliseconds(expires), fromMilliseconds(revoked)
	return d, hashInto(&d.Proof, proof)
}

func scanDevice(row scanner) (server.DeviceRecord, error) { return scanDeviceAnd(row) }

// Device finds a device by id, revoked or not.
func (s *Store) Device(ctx context.Context, id string) (server.DeviceRecord, error) {
	device, err := scanDevice(s.reader.QueryRowContext(ctx, "SELECT "+deviceColumns+" FROM devices d WHERE d.id = ?", id))
	return device, orCode(err, server.CodeUnknownDevice, "read device")
}

// Devices lists those that are not revoked.
func (s *Store) Devices(ctx context.Context) ([]server.DeviceRecord, error) {
	return list(ctx, s.reader, "list devices", scanDevice,
		"SELECT "+deviceColumns+" FROM devices d WHERE d.revoked_at = 0 ORDER BY d.created_at DESC, d.id")
}

// RevokeDevice marks a device.
func (s *Store) RevokeDevice(ctx context.Context, id string, at time.Time) error {
	return s.write(ctx, "revoke device", func(tx *sql.Tx) error {
		const update = "UPDATE devices SET revoked_at = CASE revoked_at WHEN 0 THEN ? ELSE revoked_at END WHERE id = ?"
		result, err := tx.ExecContext(ctx, update, milliseconds(at), id)
		if err != nil {
			return err
		}
		return needRow(result, server.CodeUnknownDevice)
	})
}

// RenameDevice gives a device another name.
func (s *Store) RenameDevice(ctx context.Context, id, name string) error {
	return s.write(ctx, "rename device", func(tx *sql.Tx) error {
		result, err := tx.ExecContext(ctx, "UPDATE devices SET name = ? WHERE id = ? AND revoked_at = 0", name, id)
		if err != nil {
			return err
		}
		return needRow(result, server.CodeUnknownDevice)
	})
}

// SeeDevices records when devices and their newest logins were last here.
func (s *Store) SeeDevices(ctx context.Context, seen map[string]time.Time) error {
	return s.write(ctx, "record devices seen", func(tx *sql.Tx) error {
		for id, at := range seen {
			if _, err := tx.ExecContext(ctx, "UPDATE devices SET last_seen_at = max(last_seen_at, ?) WHERE id = ?", milliseconds(at), id); err != nil {
				return err
			}
			const update = "UPDATE logins SET last_seen_at = max(last_seen_at, ?) WHERE device_id = ? AND replaced_at = 0"
			if _, err := tx.ExecContext(ctx, update, milliseconds(at), id); err != nil {
				return err
			}
		}
		return nil
	})
}

// Login finds a login and its device.
func (s *Store) Login(ctx context.Context, id server.Hash) (server.LoginRecord, server.DeviceRecord, error) {
	const query = "SELECT " + deviceColumns + `, l.created_at, l.last_seen_at, l.replaced_at, l.replaces
		FROM logins l JOIN devices d ON d.id = l.device_id WHERE l.id = ?`
	login := server.LoginRecord{ID: id}
	var created, seen, replaced int64
	var replaces []byte
	device, err := scanDeviceAnd(s.reader.QueryRowContext(ctx, query, id[:]), &created, &seen, &replaced, &replaces)
	if err != nil {
		return server.LoginRecord{}, server.DeviceRecord{}, orCode(err, server.CodeUnauthenticated, "read login")
	}
	login.Device = device.ID
	login.CreatedAt, login.LastSeenAt, login.ReplacedAt = fromMilliseconds(created), fromMilliseconds(seen), fromMilliseconds(replaced)
	if replaces != nil {
		if err := hashInto(&login.Replaces, replaces); err != nil {
			return server.LoginRecord{}, server.DeviceRecord{}, fmt.Errorf("read login: %w", err)
		}
	}
	return login, device, nil
}

// AddLogin adds the successor of a login.
func (s *Store) AddLogin(ctx context.Context, login server.LoginRecord) error {
	return s.write(ctx, "add login", func(tx *sql.Tx) error {
		var live int
		const query = "SELECT count(*) FROM logins WHERE id = ? AND device_id = ? AND replaced_at = 0"
		if err := tx.QueryRowContext(ctx, query, login.Replaces[:], login.Device).Scan(&live); err != nil {
			return err
		}
		if live == 0 {
			return server.NewError(server.CodeConflict)
		}
		return insertLogin(ctx, tx, login)
	})
}

// ConfirmLogin records the first use of a successor.
func (s *Store) ConfirmLogin(ctx context.Context, id server.Hash, at time.Time) error {
	return s.write(ctx, "confirm login", func(tx *sql.Tx) error {
		var replaces []byte
		var device string
		err := tx.QueryRowContext(ctx, "SELECT device_id, replaces FROM logins WHERE id = ?", id[:]).Scan(&device, &replaces)
		if errors.Is(err, sql.ErrNoRows) || err == nil && replaces == nil {
			return nil
		}
		if err != nil {
			return err
		}
		for _, step := range []struct {
			statement string
			args      []any
		}{
			{"UPDATE logins SET replaced_at = ? WHERE id = ? AND replaced_at = 0", []any{milliseconds(at), replaces}},
			{"DELETE FROM logins WHERE device_id = ? AND replaces = ? AND id <> ?", []any{device, replaces, id[:]}},
			{"UPDATE logins SET replaces = NULL WHERE id = ?", []any{id[:]}},
			{"DELETE FROM logins WHERE device_id = ? AND replaced_at <> 0 AND replaced_at < ?", []any{device, milliseconds(at.Add(-keepReplaced))}},
		} {
			if _, err := tx.ExecContext(ctx, step.statement, step.args...); err != nil {
				return err
			}
		}
		return nil
	})
}

func insertDevice(ctx context.Context, tx *sql.Tx, d server.DeviceRecord, login server.LoginRecord) error {
	binding, err := bindingText(d.Binding)
	if err != nil {
		return err
	}
	const insert = `INSERT INTO devices (id, name, scopes, binding, proof, created_at, last_seen_at, expires_at, insecure, address, tailnet, revoked_at, minter)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?)`
	_, err = tx.ExecContext(ctx, insert, d.ID, d.Name, d.Scopes.String(), binding, d.Proof[:], milliseconds(d.CreatedAt),
		milliseconds(d.LastSeenAt), milliseconds(d.ExpiresAt), d.Insecure, d.Address, d.Tailnet, d.Minter)
	if err != nil {
		return err
	}
	login.Device = d.ID
	return insertLogin(ctx, tx, login)
}

func insertLogin(ctx context.Context, tx *sql.Tx, login server.LoginRecord) error {
	var replaces []byte
	if login.Replaces != (server.Hash{}) {
		replaces = login.Replaces[:]
	}
	const insert = "INSERT INTO logins (id, device_id, created_at, last_seen_at, replaces) VALUES (?, ?, ?, ?, ?)"
	_, err := tx.ExecContext(ctx, insert, login.ID[:], login.Device, milliseconds(login.CreatedAt), milliseconds(login.LastSeenAt), replaces)
	return err
}
