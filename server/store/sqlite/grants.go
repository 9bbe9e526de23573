package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"time"

	"github.com/agent-helm/agent-helm/server"
)

// keepSpent is how long tickets and codes stay after their end, so that a late
// second use can be told what became of the first.
const keepSpent = 24 * time.Hour

// maxWrongFrom bounds the list of addresses beside a code, in bytes.
const maxWrongFrom = 400

// CreateTicket adds a ticket and forgets those long gone.
func (s *Store) CreateTicket(ctx context.Context, ticket server.TicketRecord) error {
	return s.write(ctx, "create ticket", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM tickets WHERE expires_at < ?", milliseconds(ticket.CreatedAt.Add(-keepSpent))); err != nil {
			return err
		}
		binding, err := bindingText(ticket.Binding)
		if err != nil {
			return err
		}
		const insert = "INSERT INTO tickets (secret, kind, scopes, binding, created_by, created_at, expires_at, device_until, minter) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
		_, err = tx.ExecContext(ctx, insert, ticket.Secret[:], string(ticket.Kind), ticket.Scopes.String(), binding, ticket.CreatedBy,
			milliseconds(ticket.CreatedAt), milliseconds(ticket.ExpiresAt), milliseconds(ticket.Until), ticket.Minter)
		return err
	})
}

// RedeemTicket uses a ticket and creates the device and its login.
func (s *Store) RedeemTicket(ctx context.Context, secret server.Hash, now time.Time, limit server.Scopes, device server.DeviceRecord, login server.LoginRecord) (server.TicketRecord, error) {
	var ticket server.TicketRecord
	err := s.write(ctx, "redeem ticket", func(tx *sql.Tx) error {
		const query = "SELECT kind, scopes, binding, created_by, created_at, expires_at, device_until, used_at, used_by, used_from, minter FROM tickets WHERE secret = ?"
		var err error
		ticket, err = scanTicket(tx.QueryRowContext(ctx, query, secret[:]))
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return server.NewError(server.CodeTicketInvalid)
		case err != nil:
			return err
		case !ticket.UsedAt.IsZero():
			return server.NewError(server.CodeTicketUsed)
		case !now.Before(ticket.ExpiresAt) || ticket.Kind != server.PrincipalDevice:
			return server.NewError(server.CodeTicketInvalid)
		}
		const update = "UPDATE tickets SET used_at = ?, used_by = ?, used_from = ? WHERE secret = ?"
		if _, err := tx.ExecContext(ctx, update, milliseconds(now), device.Name, device.Address, secret[:]); err != nil {
			return err
		}
		device.Scopes, device.Binding, device.Minter = ticket.Scopes.Limit(limit), ticket.Binding, ticket.Minter
		if !ticket.Until.IsZero() && ticket.Until.Before(device.ExpiresAt) {
			device.ExpiresAt = ticket.Until
		}
		return insertDevice(ctx, tx, device, login)
	})
	ticket.Secret = secret
	return ticket, err
}

func scanTicket(row scanner) (server.TicketRecord, error) {
	var t server.TicketRecord
	var grant grantScan
	var created, expires, until, used int64
	if err := row.Scan(&t.Kind, &grant.scopes, &grant.binding, &t.CreatedBy, &created, &expires, &until, &used, &t.UsedBy, &t.UsedFrom, &t.Minter); err != nil {
		return t, err
	}
	t.CreatedAt, t.ExpiresAt, t.UsedAt = fromMilliseconds(created), fromMilliseconds(expires), fromMilliseconds(used)
	t.Until = fromMilliseconds(until)
	var err error
	t.Scopes, t.Binding, err = grant.values()
	return t, err
}

const (
	codeColumns = "id, secret, kind, scopes, binding, created_by, created_at, expires_at, wrong_tries, wrong_from, used_at, used_by, cancelled_at, minter"
	codeIsLive  = "used_at = 0 AND cancelled_at = 0 AND expires_at > ?"
)

func scanCode(row scanner) (server.CodeRecord, error) {
	var c server.CodeRecord
	var grant grantScan
	var secret []byte
	var created, expires, used, cancelled int64
	if err := row.Scan(&c.ID, &secret, &c.Kind, &grant.scopes, &grant.binding, &c.CreatedBy, &created, &expires, &c.WrongTries, &c.CancelledFrom, &used, &c.UsedBy, &cancelled, &c.Minter); err != nil {
		return c, err
	}
	c.CreatedAt, c.ExpiresAt = fromMilliseconds(created), fromMilliseconds(expires)
	c.UsedAt, c.CancelledAt = fromMilliseconds(used), fromMilliseconds(cancelled)
	if c.CancelledAt.IsZero() {
		c.CancelledFrom = ""
	}
	var err error
	if c.Scopes, c.Binding, err = grant.values(); err != nil {
		return c, err
	}
	return c, hashInto(&c.Secret, secret)
}

// CreateCode adds a code unless maxLive are live.
func (s *Store) CreateCode(ctx context.Context, code server.CodeRecord, maxLive int) error {
	return s.write(ctx, "create code", func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, "DELETE FROM codes WHERE expires_at < ?", milliseconds(code.CreatedAt.Add(-keepSpent))); err != nil {
			return err
		}
		var live int
		if err := tx.QueryRowContext(ctx, "SELECT count(*) FROM codes WHERE "+codeIsLive, milliseconds(code.CreatedAt)).Scan(&live); err != nil {
			return err
		}
		if live >= maxLive {
			return server.Errorf(server.CodeLimit, "%d codes are waiting to be used: use one, or wait until one expires.", live)
		}
		binding, err := bindingText(code.Binding)
		if err != nil {
			return err
		}
		const insert = "INSERT INTO codes (id, secret, kind, scopes, binding, created_by, created_at, expires_at, minter) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
		_, err = tx.ExecContext(ctx, insert, code.ID, code.Secret[:], string(code.Kind), code.Scopes.String(), binding, code.CreatedBy,
			milliseconds(code.CreatedAt), milliseconds(code.ExpiresAt), code.Minter)
		return err
	})
}

// LiveCodes lists the codes that can be used.
func (s *Store) LiveCodes(ctx context.Context, now time.Time) ([]server.CodeRecord, error) {
	return list(ctx, s.reader, "list codes", scanCode, "SELECT "+codeColumns+" FROM codes WHERE "+codeIsLive+" ORDER BY created_at, id", milliseconds(now))
}

// Code finds a code by id, live or not.
func (s *Store) Code(ctx context.Context, id string) (server.CodeRecord, error) {
	code, err := scanCode(s.reader.QueryRowContext(ctx, "SELECT "+codeColumns+" FROM codes WHERE id = ?", id))
	return code, orCode(err, server.CodeNotFound, "read code")
}

// RedeemDeviceCode uses a code and creates the device and its login.
func (s *Store) RedeemDeviceCode(ctx context.Context, id string, now time.Time, device server.DeviceRecord, login server.LoginRecord) error {
	return s.write(ctx, "redeem code", func(tx *sql.Tx) error {
		if err := useCode(ctx, tx, id, server.PrincipalDevice, now, device.Name); err != nil {
			return err
		}
		return insertDevice(ctx, tx, device, login)
	})
}

// RedeemHostCode uses a code and creates the host and its token.
func (s *Store) RedeemHostCode(ctx context.Context, id string, now time.Time, host server.HostRecord, token server.TokenRecord) error {
	return s.write(ctx, "redeem code", func(tx *sql.Tx) error {
		if err := useCode(ctx, tx, id, server.PrincipalHost, now, host.Name); err != nil {
			return err
		}
		if err := insertHost(ctx, tx, host); err != nil {
			return err
		}
		return insertToken(ctx, tx, token)
	})
}

func useCode(ctx context.Context, tx *sql.Tx, id string, kind server.PrincipalKind, now time.Time, by string) error {
	const update = "UPDATE codes SET used_at = ?, used_by = ? WHERE id = ? AND kind = ? AND " + codeIsLive
	result, err := tx.ExecContext(ctx, update, milliseconds(now), by, id, string(kind), milliseconds(now))
	if err != nil {
		return err
	}
	return needRow(result, server.CodePairCode)
}

// WrongCode counts a wrong try and cancels when there were too many.
func (s *Store) WrongCode(ctx context.Context, now time.Time, from string, limit int) (cancelled bool, err error) {
	err = s.write(ctx, "count wrong code", func(tx *sql.Tx) error {
		cancelled = false
		var tries sql.NullInt64
		var seen sql.NullString
		const query = "SELECT max(wrong_tries), group_concat(wrong_from, ', ') FROM codes WHERE " + codeIsLive
		if err := tx.QueryRowContext(ctx, query, milliseconds(now)).Scan(&tries, &seen); err != nil {
			return err
		}
		if !tries.Valid {
			return nil
		}
		cancelled = tries.Int64+1 >= int64(limit)
		var at int64
		if cancelled {
			at = milliseconds(now)
		}
		const update = "UPDATE codes SET wrong_tries = wrong_tries + 1, wrong_from = ?, cancelled_at = ? WHERE " + codeIsLive
		_, err := tx.ExecContext(ctx, update, addAddress(seen.String, from), at, milliseconds(now))
		return err
	})
	return cancelled, err
}

// addAddress adds one to a list that repeats nothing and stays bounded.
func addAddress(seen, address string) string {
	var list []string
	size := 0
	for entry := range strings.SplitSeq(seen+", "+address, ", ") {
		if entry == "" || contains(list, entry) || size+len(entry) > maxWrongFrom {
			continue
		}
		list = append(list, entry)
		size += len(entry) + 2
	}
	return strings.Join(list, ", ")
}

func contains(list []string, entry string) bool {
	for _, other := range list {
		if other == entry {
			return true
		}
	}
	return false
}
