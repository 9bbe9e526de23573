// Package store holds what every implementation of server.Store must do, as one
// suite of tests. It owns no store: each implementation is a package below, and
// its test calls Conform. Nothing but tests imports it.
package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
)

// now is a moment as stores keep it: whole milliseconds, UTC.
var now = time.Date(2026, 11, 30, 12, 0, 0, 123e6, time.UTC)

const (
	hostA    = "11111111-1111-4111-8111-111111111111"
	hostB    = "22222222-2222-4222-8222-222222222222"
	sessionA = "01jdq0000000000000000000aa"
	sessionB = "01jdq0000000000000000000bb"
)

// Conform runs the suite. open returns an empty store each time; the suite
// closes it.
func Conform(t *testing.T, open func(t *testing.T) server.Store) {
	for _, test := range []struct {
		name string
		run  func(*testing.T, *suite)
	}{
		{"hosts", hosts}, {"sessions", sessions}, {"snapshots", snapshots}, {"devices", devices}, {"logins", logins},
		{"tokens", tokens}, {"tickets", tickets}, {"codes", codes}, {"wrong codes", wrongCodes}, {"host codes", hostCodes},
		{"pairings", pairings}, {"made by", madeBy}, {"concurrent pairings", concurrentPairings},
		{"audit", audit}, {"settings", settings}, {"changed", changed}, {"concurrent tickets", concurrentTickets},
		{"cancelled context", cancelledContext},
	} {
		t.Run(test.name, func(t *testing.T) {
			store := open(t)
			t.Cleanup(func() {
				if err := store.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
			test.run(t, &suite{Store: store, t: t, ctx: t.Context()})
		})
	}
}

type suite struct {
	server.Store
	t   *testing.T
	ctx context.Context
}

func (s *suite) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.t.Fatal(err)
	}
}

func (s *suite) fails(code server.Code, err error) {
	s.t.Helper()
	if got := server.CodeOf(err); got != code {
		s.t.Fatalf("code %q (%v), want %q", got, err, code)
	}
}

func (s *suite) same(got, want any) {
	s.t.Helper()
	if !reflect.DeepEqual(got, want) {
		s.t.Fatalf("got  %+v\nwant %+v", got, want)
	}
}

func must[T any](value T, err error) func(*suite) T {
	return func(s *suite) T {
		s.t.Helper()
		s.ok(err)
		return value
	}
}

// hash makes a hash that can be told from others.
func hash(n byte) server.Hash { return server.Hash{n, 31: n} }

// enrol adds a host the only way there is: by a code.
func (s *suite) enrol(id, name string) server.HostRecord {
	s.t.Helper()
	code := server.CodeRecord{ID: "code for " + id, Secret: hash(1), Grant: grant(server.PrincipalHost, 0)}
	s.ok(s.CreateCode(s.ctx, code, 3))
	host := server.HostRecord{ID: id, Name: name, CreatedAt: now}
	token := server.TokenRecord{ID: "token of " + id, Name: "host " + name, Secret: hash(2), Host: id, CreatedAt: now}
	s.ok(s.RedeemHostCode(s.ctx, code.ID, now, host, token))
	return host
}

func grant(kind server.PrincipalKind, scopes server.Scopes) server.Grant {
	return server.Grant{Kind: kind, Scopes: scopes, CreatedBy: "console", CreatedAt: now, ExpiresAt: now.Add(5 * time.Minute)}
}

func hosts(t *testing.T, s *suite) {
	_, err := s.Host(s.ctx, hostA)
	s.fails(server.CodeUnknownHost, err)
	b := s.enrol(hostB, "beta")
	a := s.enrol(hostA, "alpha")
	s.same(must(s.Hosts(s.ctx))(s), []server.HostRecord{a, b})

	a.LastSeenAt, a.Version = now.Add(time.Minute), "1.2.3"
	s.ok(s.SeeHosts(s.ctx, []server.HostSeen{{ID: hostA, At: a.LastSeenAt, Version: a.Version}, {ID: "nobody", At: now}}))
	// An older time, from a write that was overtaken, does not turn back the clock.
	s.ok(s.SeeHosts(s.ctx, []server.HostSeen{{ID: hostA, At: now, Version: a.Version}}))
	s.same(must(s.Host(s.ctx, hostA))(s), a)

	s.ok(s.PutSession(s.ctx, record(hostA, sessionA)))
	s.ok(s.PutSnapshot(s.ctx, server.SessionKey{Host: hostA, ID: sessionA}, server.SessionSnapshot{Cols: 1, Rows: 1, At: now}))
	s.ok(s.DeleteHost(s.ctx, hostA))
	s.fails(server.CodeUnknownHost, s.DeleteHost(s.ctx, hostA))
	_, err = s.Token(s.ctx, "token of "+hostA)
	s.fails(server.CodeUnknownToken, err)
	_, err = s.Session(s.ctx, server.SessionKey{Host: hostA, ID: sessionA})
	s.fails(server.CodeUnknownSession, err)
	s.same(must(s.Hosts(s.ctx))(s), []server.HostRecord{b})
}

func record(host, id string) server.SessionRecord {
	return server.SessionRecord{
		SessionKey: server.SessionKey{Host: host, ID: id}, Name: "build", Command: "make all", Cwd: "/src", Agent: "shell",
		State: server.StateRunning, Cols: 80, Rows: 24, CreatedAt: now, ActiveAt: now.Add(time.Second),
		Title: "make", LastLine: "ok 你好 🙂", Status: server.Status{Kind: server.StatusWorking, Text: "building", Source: server.SourceTitle}, Bell: 3,
	}
}

func sessions(t *testing.T, s *suite) {
	s.fails(server.CodeUnknownHost, s.PutSession(s.ctx, record(hostA, sessionA)))
	s.enrol(hostA, "alpha")
	s.enrol(hostB, "beta")
	s.same(must(s.Sessions(s.ctx))(s), []server.SessionRecord{})
	first, second, other := record(hostA, sessionA), record(hostA, sessionB), record(hostB, sessionA)
	for _, r := range []server.SessionRecord{first, second, other} {
		s.ok(s.PutSession(s.ctx, r))
	}
	s.same(must(s.Sessions(s.ctx))(s), []server.SessionRecord{second, first, other})

	first.State, first.Exit, first.EndedAt = server.StateExited, &server.Exit{Code: -1, Signal: "SIGKILL"}, now.Add(time.Hour)
	first.Bell = math.MaxUint64
	s.ok(s.PutSession(s.ctx, first))
	s.same(must(s.Session(s.ctx, first.SessionKey))(s), first)
	first.State, first.Exit, first.LostReason = server.StateLost, nil, "the machine restarted"
	s.ok(s.PutSession(s.ctx, first))
	s.same(must(s.Session(s.ctx, first.SessionKey))(s), first)
	s.same(must(s.Session(s.ctx, other.SessionKey))(s), other)

	s.ok(s.DeleteSession(s.ctx, first.SessionKey))
	s.fails(server.CodeUnknownSession, s.DeleteSession(s.ctx, first.SessionKey))
	s.same(must(s.Sessions(s.ctx))(s), []server.SessionRecord{second, other})
}

func snapshots(t *testing.T, s *suite) {
	same := func(got, want server.SessionSnapshot) {
		t.Helper()
		if !bytes.Equal(got.Data, want.Data) { // megabytes: not for a diff
			t.Fatalf("data of %d bytes is not the %d that were stored", len(got.Data), len(want.Data))
		}
		got.Data, want.Data = nil, nil
		s.same(got, want)
	}
	key := server.SessionKey{Host: hostA, ID: sessionA}
	snapshot := server.SessionSnapshot{Position: wire.Position{Offset: math.MaxUint64, Marks: math.MaxUint32}, Cols: 1000, Rows: 1, VT: 7, Data: bytes.Repeat([]byte{0, 0xff}, 1<<20), At: now}
	s.fails(server.CodeUnknownSession, s.PutSnapshot(s.ctx, key, snapshot))
	s.enrol(hostA, "alpha")
	s.ok(s.PutSession(s.ctx, record(hostA, sessionA)))
	_, err := s.Snapshot(s.ctx, key)
	s.fails(server.CodeUnknownSession, err)
	s.ok(s.PutSnapshot(s.ctx, key, snapshot))
	same(must(s.Snapshot(s.ctx, key))(s), snapshot)
	// A new record leaves the snapshot; a new snapshot replaces it.
	s.ok(s.PutSession(s.ctx, record(hostA, sessionA)))
	same(must(s.Snapshot(s.ctx, key))(s), snapshot)
	snapshot.Data, snapshot.Position = nil, wire.Position{}
	s.ok(s.PutSnapshot(s.ctx, key, snapshot))
	same(must(s.Snapshot(s.ctx, key))(s), snapshot)
	s.ok(s.DeleteSession(s.ctx, key))
	_, err = s.Snapshot(s.ctx, key)
	s.fails(server.CodeUnknownSession, err)
}

// pairing is a ticket with the rows that redeeming it creates.
func (s *suite) pairing(n byte) (server.TicketRecord, server.DeviceRecord, server.LoginRecord) {
	ticket := server.TicketRecord{Secret: hash(n), Grant: grant(server.PrincipalDevice, server.ScopeRead|server.ScopeInput)}
	ticket.Binding = server.Binding{Sessions: []server.SessionKey{{Host: hostA, ID: sessionA}}}
	device := server.DeviceRecord{ID: fmt.Sprint("device ", n), Name: "Pixel", Proof: hash(n + 100), CreatedAt: now, LastSeenAt: now,
		ExpiresAt: now.Add(time.Hour), Address: "192.0.2.7", Insecure: n%2 == 0}
	if n%2 == 0 {
		device.Tailnet = "alice@example.com"
	}
	login := server.LoginRecord{ID: hash(n + 50), CreatedAt: now, LastSeenAt: now}
	return ticket, device, login
}

// pair makes a device by a ticket.
func (s *suite) pair(n byte) (server.DeviceRecord, server.LoginRecord) {
	s.t.Helper()
	ticket, device, login := s.pairing(n)
	s.ok(s.CreateTicket(s.ctx, ticket))
	_, err := s.RedeemTicket(s.ctx, ticket.Secret, now, server.AllScopes, device, login)
	s.ok(err)
	device.Scopes, device.Binding, login.Device = ticket.Scopes, ticket.Binding, device.ID
	return device, login
}

func devices(t *testing.T, s *suite) {
	_, err := s.Device(s.ctx, "nobody")
	s.fails(server.CodeUnknownDevice, err)
	a, _ := s.pair(1)
	b, _ := s.pair(2)
	s.same(must(s.Devices(s.ctx))(s), []server.DeviceRecord{a, b})
	a.LastSeenAt = now.Add(time.Minute)
	s.ok(s.SeeDevices(s.ctx, map[string]time.Time{a.ID: a.LastSeenAt, "nobody": now}))
	s.same(must(s.Device(s.ctx, a.ID))(s), a)

	s.ok(s.RenameDevice(s.ctx, b.ID, "Tablet"))
	b.Name = "Tablet"
	if got := must(s.Device(s.ctx, b.ID))(s); got.Name != "Tablet" {
		t.Errorf("the device is called %q", got.Name)
	}
	s.ok(s.RevokeDevice(s.ctx, b.ID, now))
	s.fails(server.CodeUnknownDevice, s.RenameDevice(s.ctx, b.ID, "again"))
	s.ok(s.RevokeDevice(s.ctx, b.ID, now.Add(time.Hour)))
	b.RevokedAt = now
	s.same(must(s.Device(s.ctx, b.ID))(s), b)
	s.same(must(s.Devices(s.ctx))(s), []server.DeviceRecord{a})
	s.fails(server.CodeUnknownDevice, s.RevokeDevice(s.ctx, "nobody", now))
}

func logins(t *testing.T, s *suite) {
	device, first := s.pair(1)
	login := func(id server.Hash) (server.LoginRecord, server.DeviceRecord) {
		t.Helper()
		l, d, err := s.Login(s.ctx, id)
		s.ok(err)
		return l, d
	}
	gotLogin, gotDevice := login(first.ID)
	s.same(gotLogin, first)
	s.same(gotDevice, device)
	_, _, err := s.Login(s.ctx, hash(99))
	s.fails(server.CodeUnauthenticated, err)

	second := server.LoginRecord{ID: hash(71), Device: device.ID, CreatedAt: now, LastSeenAt: now, Replaces: first.ID}
	sibling := second
	sibling.ID = hash(72)
	s.ok(s.AddLogin(s.ctx, second))
	s.ok(s.AddLogin(s.ctx, sibling)) // the answer with the first successor was lost
	gotLogin, _ = login(first.ID)
	s.same(gotLogin, first)
	s.ok(s.ConfirmLogin(s.ctx, sibling.ID, now))
	s.ok(s.ConfirmLogin(s.ctx, sibling.ID, now.Add(time.Hour)))
	first.ReplacedAt = now
	gotLogin, _ = login(first.ID)
	s.same(gotLogin, first)
	sibling.Replaces = server.Hash{}
	gotLogin, _ = login(sibling.ID)
	s.same(gotLogin, sibling)
	_, _, err = s.Login(s.ctx, second.ID)
	s.fails(server.CodeUnauthenticated, err)

	s.fails(server.CodeConflict, s.AddLogin(s.ctx, server.LoginRecord{ID: hash(73), Device: device.ID, Replaces: first.ID}))
	s.fails(server.CodeConflict, s.AddLogin(s.ctx, server.LoginRecord{ID: hash(74), Device: "nobody", Replaces: sibling.ID}))

	s.ok(s.SeeDevices(s.ctx, map[string]time.Time{device.ID: now.Add(time.Hour)}))
	gotLogin, _ = login(sibling.ID)
	if !gotLogin.LastSeenAt.Equal(now.Add(time.Hour)) {
		t.Errorf("the newest login was last seen at %v", gotLogin.LastSeenAt)
	}
	s.ok(s.RevokeDevice(s.ctx, device.ID, now))
	if _, device := login(sibling.ID); device.RevokedAt.IsZero() {
		t.Error("the login of a revoked device does not say so")
	}
}

func tokens(t *testing.T, s *suite) {
	token := server.TokenRecord{ID: "t1", Name: "ci", Secret: hash(1), Scopes: server.ScopeRead, CreatedBy: "console", CreatedAt: now, ExpiresAt: now.Add(time.Hour),
		Binding: server.Binding{Sessions: []server.SessionKey{{Host: hostA, ID: sessionA}}}}
	s.ok(s.CreateToken(s.ctx, token))
	again := token
	again.ID = "t2"
	s.fails(server.CodeNameTaken, s.CreateToken(s.ctx, again))
	s.same(must(s.Token(s.ctx, "t1"))(s), token)
	token.LastUsedAt = now.Add(time.Minute)
	s.ok(s.SeeTokens(s.ctx, map[string]time.Time{"t1": token.LastUsedAt, "nobody": now}))
	s.enrol(hostA, "alpha") // its token is not listed
	s.same(must(s.Tokens(s.ctx))(s), []server.TokenRecord{token})

	s.ok(s.RevokeToken(s.ctx, "t1", now))
	s.ok(s.RevokeToken(s.ctx, "t1", now.Add(time.Hour)))
	token.RevokedAt = now
	s.same(must(s.Token(s.ctx, "t1"))(s), token)
	s.same(must(s.Tokens(s.ctx))(s), []server.TokenRecord{})
	s.ok(s.CreateToken(s.ctx, again)) // the name is free again
	s.fails(server.CodeUnknownToken, s.RevokeToken(s.ctx, "nobody", now))
	_, err := s.Token(s.ctx, "nobody")
	s.fails(server.CodeUnknownToken, err)
	s.fails(server.CodeUnknownHost, s.CreateToken(s.ctx, server.TokenRecord{ID: "t3", Name: "x", Host: hostB, CreatedAt: now}))
}

func tickets(t *testing.T, s *suite) {
	ticket, device, login := s.pairing(1)
	s.ok(s.CreateTicket(s.ctx, ticket))
	redeem := func(secret server.Hash, at time.Time, limit server.Scopes) (server.TicketRecord, error) {
		return s.RedeemTicket(s.ctx, secret, at, limit, device, login)
	}
	_, err := redeem(hash(99), now, server.AllScopes)
	s.fails(server.CodeTicketInvalid, err)
	_, err = redeem(ticket.Secret, ticket.ExpiresAt, server.AllScopes)
	s.fails(server.CodeTicketInvalid, err)
	s.same(must(s.Devices(s.ctx))(s), []server.DeviceRecord{})

	_, err = redeem(ticket.Secret, now, server.ScopeRead)
	s.ok(err)
	if got := must(s.Device(s.ctx, device.ID))(s); got.Scopes != server.ScopeRead || !got.Binding.Allows(server.SessionKey{Host: hostA, ID: sessionA}) {
		t.Errorf("device has scopes %v, binding %v", got.Scopes, got.Binding)
	}
	if got := must(s.Device(s.ctx, device.ID))(s); !got.ExpiresAt.Equal(device.ExpiresAt) {
		t.Errorf("the device ends at %v, want %v", got.ExpiresAt, device.ExpiresAt)
	}
	brief, guest, entry := s.pairing(3)
	brief.Until = now.Add(time.Minute)
	s.ok(s.CreateTicket(s.ctx, brief))
	_ = must(s.RedeemTicket(s.ctx, brief.Secret, now, server.AllScopes, guest, entry))(s)
	if got := must(s.Device(s.ctx, guest.ID))(s); !got.ExpiresAt.Equal(brief.Until) {
		t.Errorf("the guest ends at %v, want %v", got.ExpiresAt, brief.Until)
	}
	used, err := redeem(ticket.Secret, now.Add(time.Minute), server.AllScopes)
	s.fails(server.CodeTicketUsed, err)
	if !used.UsedAt.Equal(now) || used.UsedBy != device.Name || used.UsedFrom != device.Address {
		t.Errorf("used at %v by %q from %q", used.UsedAt, used.UsedBy, used.UsedFrom)
	}
	// Also after its end: the person should hear that it was used.
	_, err = redeem(ticket.Secret, ticket.ExpiresAt.Add(time.Hour), server.AllScopes)
	s.fails(server.CodeTicketUsed, err)
	// Long after, it is forgotten when another is made.
	later, _, _ := s.pairing(2)
	later.CreatedAt = ticket.ExpiresAt.Add(48 * time.Hour)
	later.ExpiresAt = later.CreatedAt.Add(time.Minute)
	s.ok(s.CreateTicket(s.ctx, later))
	_, err = redeem(ticket.Secret, now, server.AllScopes)
	s.fails(server.CodeTicketInvalid, err)
}

func codes(t *testing.T, s *suite) {
	code := server.CodeRecord{ID: "c1", Secret: hash(1), Grant: grant(server.PrincipalDevice, server.ScopeRead)}
	s.ok(s.CreateCode(s.ctx, code, 2))
	other := server.CodeRecord{ID: "c2", Secret: hash(2), Grant: grant(server.PrincipalDevice, server.ScopeRead)}
	other.CreatedAt = now.Add(time.Second)
	s.ok(s.CreateCode(s.ctx, other, 2))
	third := server.CodeRecord{ID: "c3", Secret: hash(3), Grant: grant(server.PrincipalHost, 0)}
	s.fails(server.CodeLimit, s.CreateCode(s.ctx, third, 2))
	s.same(must(s.LiveCodes(s.ctx, now))(s), []server.CodeRecord{code, other})
	s.same(must(s.LiveCodes(s.ctx, code.ExpiresAt))(s), []server.CodeRecord{})

	_, device, login := s.pairing(1)
	device.Scopes = server.ScopeRead
	s.fails(server.CodePairCode, s.RedeemDeviceCode(s.ctx, "nobody", now, device, login))
	s.fails(server.CodePairCode, s.RedeemDeviceCode(s.ctx, code.ID, code.ExpiresAt, device, login))
	s.ok(s.RedeemDeviceCode(s.ctx, code.ID, now, device, login))
	s.same(must(s.Device(s.ctx, device.ID))(s), device)
	_, again, secondLogin := s.pairing(3)
	s.fails(server.CodePairCode, s.RedeemDeviceCode(s.ctx, code.ID, now, again, secondLogin))
	code.UsedAt, code.UsedBy = now, device.Name
	s.same(must(s.Code(s.ctx, code.ID))(s), code)
	s.ok(s.CreateCode(s.ctx, third, 2)) // there is room again
	s.fails(server.CodePairCode, s.RedeemDeviceCode(s.ctx, third.ID, now, again, secondLogin))
	_, err := s.Code(s.ctx, "nobody")
	s.fails(server.CodeNotFound, err)
}

func hostCodes(t *testing.T, s *suite) {
	s.enrol(hostA, "alpha")
	code := server.CodeRecord{ID: "c1", Secret: hash(1), Grant: grant(server.PrincipalHost, 0)}
	s.ok(s.CreateCode(s.ctx, code, 3))
	host := server.HostRecord{ID: hostB, Name: "alpha", CreatedAt: now}
	token := server.TokenRecord{ID: "t", Name: "host alpha", Secret: hash(2), Host: hostB, CreatedAt: now}
	s.fails(server.CodeNameTaken, s.RedeemHostCode(s.ctx, code.ID, now, host, token))
	// Nothing of it happened: the code is still good, the host is not there.
	s.same(must(s.LiveCodes(s.ctx, now))(s), []server.CodeRecord{code})
	_, err := s.Host(s.ctx, hostB)
	s.fails(server.CodeUnknownHost, err)
	host.Name = "beta"
	s.ok(s.RedeemHostCode(s.ctx, code.ID, now, host, token))
	s.same(must(s.Host(s.ctx, hostB))(s), host)
	s.same(must(s.Token(s.ctx, "t"))(s), token)
	device := server.CodeRecord{ID: "c2", Secret: hash(3), Grant: grant(server.PrincipalDevice, server.ScopeRead)}
	s.ok(s.CreateCode(s.ctx, device, 3))
	host.ID, host.Name, token.ID, token.Host = "33333333-3333-4333-8333-333333333333", "gamma", "t2", "33333333-3333-4333-8333-333333333333"
	s.fails(server.CodePairCode, s.RedeemHostCode(s.ctx, device.ID, now, host, token))
}

func wrongCodes(t *testing.T, s *suite) {
	wrong := func(from string) bool {
		t.Helper()
		cancelled, err := s.WrongCode(s.ctx, now, from, 3)
		s.ok(err)
		return cancelled
	}
	if wrong("192.0.2.1") {
		t.Error("cancelled when none was live")
	}
	code := server.CodeRecord{ID: "c1", Secret: hash(1), Grant: grant(server.PrincipalDevice, server.ScopeRead)}
	s.ok(s.CreateCode(s.ctx, code, 3))
	if wrong("192.0.2.1") || wrong("192.0.2.2") {
		t.Error("cancelled too early")
	}
	late := server.CodeRecord{ID: "c2", Secret: hash(2), Grant: grant(server.PrincipalHost, 0)}
	s.ok(s.CreateCode(s.ctx, late, 3)) // does not start the count again
	if !wrong("192.0.2.1") {
		t.Error("not cancelled at the limit")
	}
	s.same(must(s.LiveCodes(s.ctx, now))(s), []server.CodeRecord{})
	got := must(s.Code(s.ctx, "c1"))(s)
	if got.WrongTries != 3 || !got.CancelledAt.Equal(now) || got.CancelledFrom != "192.0.2.1, 192.0.2.2" {
		t.Errorf("after cancelling: %d tries, at %v, from %q", got.WrongTries, got.CancelledAt, got.CancelledFrom)
	}
	if got := must(s.Code(s.ctx, "c2"))(s); got.CancelledAt.IsZero() {
		t.Error("the other live code was not cancelled")
	}
	_, device, login := s.pairing(1)
	s.fails(server.CodePairCode, s.RedeemDeviceCode(s.ctx, "c1", now, device, login))
	if wrong("192.0.2.1") {
		t.Error("cancelled again")
	}
}

func pairings(t *testing.T, s *suite) {
	s.enrol(hostA, "alpha")
	s.enrol(hostB, "beta")
	first := server.PairingRecord{ID: "AAAA", Host: hostA, HostName: "alpha", Scopes: server.ScopeRead | server.ScopeInput, Address: "192.0.2.7",
		CreatedAt: now, ExpiresAt: now.Add(time.Minute), State: server.PairingWaiting}
	s.ok(s.CreatePairing(s.ctx, first, 2))
	s.same(must(s.Pairing(s.ctx, "AAAA"))(s), first)
	other := first
	other.ID, other.Host, other.HostName, other.CreatedAt = "BBBB", hostB, "beta", now.Add(time.Second)
	taken := other
	taken.ID = first.ID
	s.fails(server.CodeConflict, s.CreatePairing(s.ctx, taken, 2))
	s.fails(server.CodeLimit, s.CreatePairing(s.ctx, other, 1))
	s.ok(s.CreatePairing(s.ctx, other, 2))
	s.same(must(s.Pairings(s.ctx, now))(s), []server.PairingRecord{first, other})
	stranger := other
	stranger.ID, stranger.Host = "CCCC", "33333333-3333-4333-8333-333333333333"
	s.fails(server.CodeUnknownHost, s.CreatePairing(s.ctx, stranger, 9))
	// A second one of a host takes the place of its first.
	second := first
	second.ID, second.CreatedAt = "DDDD", now.Add(2*time.Second)
	s.ok(s.CreatePairing(s.ctx, second, 2))
	s.same(must(s.Pairings(s.ctx, now))(s), []server.PairingRecord{other, second})
	s.same(must(s.Pairing(s.ctx, "AAAA"))(s).State, server.PairingCancelled)
	by := server.Principal{Kind: server.PrincipalDevice, ID: "d1", Name: "Pixel"}
	for _, id := range []string{"AAAA", "ZZZZ"} {
		_, err := s.DecidePairing(s.ctx, id, now, server.PairingConfirmed, server.ScopeRead, by)
		s.fails(server.CodeUnknownPairing, err)
	}
	confirmed := second
	confirmed.State, confirmed.Scopes, confirmed.DecidedBy = server.PairingConfirmed, server.ScopeRead, by
	s.same(must(s.DecidePairing(s.ctx, "DDDD", now, server.PairingConfirmed, server.ScopeRead, by))(s), confirmed)
	s.same(must(s.Pairing(s.ctx, "DDDD"))(s), confirmed)
	_, err := s.DecidePairing(s.ctx, "DDDD", now, server.PairingDenied, 0, by)
	s.fails(server.CodeUnknownPairing, err)
	_, err = s.DecidePairing(s.ctx, "BBBB", other.ExpiresAt, server.PairingConfirmed, server.ScopeRead, by)
	s.fails(server.CodeUnknownPairing, err)
	s.same(must(s.Pairings(s.ctx, other.ExpiresAt))(s), []server.PairingRecord{})
	s.ok(s.DeleteHost(s.ctx, hostB))
	_, err = s.Pairing(s.ctx, "BBBB")
	s.fails(server.CodeUnknownPairing, err)
}

func audit(t *testing.T, s *suite) {
	s.same(must(s.VerifyAudit(s.ctx))(s), int64(0))
	var want []server.AuditRecord
	for i := range int64(5) {
		line := server.AuditRecord{At: now.Add(time.Duration(i) * time.Second), Action: server.AuditKill, Kind: server.PrincipalToken, Who: "t1", Name: "ci",
			Address: "192.0.2.7", Target: hostA, Detail: fmt.Sprint(i)}
		s.ok(s.AppendAudit(s.ctx, line))
		line.ID = i + 1
		want = append([]server.AuditRecord{line}, want...)
	}
	s.same(must(s.Audit(s.ctx, server.AuditQuery{Max: 10}))(s), want)
	s.same(must(s.Audit(s.ctx, server.AuditQuery{Before: 4, Max: 2}))(s), want[2:4])
	other := server.AuditRecord{At: now, Action: server.AuditDeviceRevoked, Kind: server.PrincipalDevice, Who: "d1", Target: "d2"}
	s.ok(s.AppendAudit(s.ctx, other))
	other.ID = 6
	for _, query := range []server.AuditQuery{{Action: server.AuditDeviceRevoked}, {Action: "device"}, {Who: "d1"}, {Target: "d2"}, {Action: "device", Who: "d1", Target: "d2"}} {
		query.Max = 10
		s.same(must(s.Audit(s.ctx, query))(s), []server.AuditRecord{other})
	}
	for _, query := range []server.AuditQuery{{Action: "dev"}, {Action: "device.%"}, {Who: "d2"}, {Action: "session", Who: "d1"}} {
		query.Max = 10
		s.same(must(s.Audit(s.ctx, query))(s), []server.AuditRecord{})
	}
	s.same(must(s.VerifyAudit(s.ctx))(s), int64(0))
}

func settings(t *testing.T, s *suite) {
	s.same(must(s.Setting(s.ctx, "url"))(s), "")
	s.ok(s.PutSetting(s.ctx, "url", "a"))
	s.ok(s.PutSetting(s.ctx, "url", "b"))
	s.same(must(s.Setting(s.ctx, "url"))(s), "b")
}

func changed(t *testing.T, s *suite) {
	before := must(s.Changed(s.ctx))(s)
	must(s.Setting(s.ctx, "url"))(s)
	if after := must(s.Changed(s.ctx))(s); after != before {
		t.Error("a read looks like a change")
	}
	s.ok(s.PutSetting(s.ctx, "url", "a"))
	if after := must(s.Changed(s.ctx))(s); after == before {
		t.Error("a write does not show")
	}
}

// madeBy: revoking somebody reaches what they made, and what that made, and
// nobody whom they let in to stay.
func madeBy(t *testing.T, s *suite) {
	s.enrol(hostA, "alpha")
	token := func(id, minter string) server.TokenRecord {
		record := server.TokenRecord{ID: id, Name: id, Secret: hash(9), Scopes: server.AllScopes, CreatedAt: now, Minter: minter}
		s.ok(s.CreateToken(s.ctx, record))
		return record
	}
	s.same(must(s.Token(s.ctx, token("of-nobody", "").ID))(s).Minter, "")
	token("first", "phone")
	token("second", "first")
	bound := server.Binding{Sessions: []server.SessionKey{{Host: hostA, ID: sessionA}}}
	pair := func(n byte, minter string, binding server.Binding) string {
		ticket, device, login := s.pairing(n)
		ticket.Minter, ticket.Binding = minter, binding
		s.ok(s.CreateTicket(s.ctx, ticket))
		must(s.RedeemTicket(s.ctx, ticket.Secret, now, server.AllScopes, device, login))(s)
		s.same(must(s.Device(s.ctx, device.ID))(s).Minter, minter)
		return device.ID
	}
	guest, grandchild, stays, other := pair(1, "phone", bound), pair(2, "second", bound), pair(3, "phone", server.Binding{}), pair(4, "tablet", bound)
	unused, unusedDevice, unusedLogin := s.pairing(5)
	unused.Minter = "second"
	s.ok(s.CreateTicket(s.ctx, unused))
	code := server.CodeRecord{ID: "c1", Secret: hash(1), Grant: grant(server.PrincipalDevice, server.ScopeRead)}
	code.Minter = "phone"
	s.ok(s.CreateCode(s.ctx, code, 3))
	s.same(must(s.Code(s.ctx, "c1"))(s), code)
	s.ok(s.CreatePairing(s.ctx, server.PairingRecord{ID: "AAAA", Host: hostA, Scopes: server.ScopeRead, CreatedAt: now, ExpiresAt: now.Add(time.Minute)}, 2))
	must(s.DecidePairing(s.ctx, "AAAA", now, server.PairingConfirmed, server.ScopeRead, server.Principal{Kind: server.PrincipalDevice, ID: "phone"}))(s)

	at := now.Add(time.Second)
	ended := map[string]server.PrincipalKind{}
	for _, p := range must(s.RevokeMadeBy(s.ctx, "phone", at))(s) {
		ended[p.ID] = p.Kind
		if p.Name == "" {
			t.Errorf("%s has no name", p.ID)
		}
	}
	s.same(ended, map[string]server.PrincipalKind{"first": server.PrincipalToken, "second": server.PrincipalToken,
		guest: server.PrincipalDevice, grandchild: server.PrincipalDevice})
	for _, id := range []string{guest, grandchild} {
		s.same(must(s.Device(s.ctx, id))(s).RevokedAt, at)
	}
	for _, id := range []string{stays, other} {
		s.same(must(s.Device(s.ctx, id))(s).RevokedAt, time.Time{})
	}
	s.same(must(s.Token(s.ctx, "second"))(s).RevokedAt, at)
	s.same(must(s.Token(s.ctx, "of-nobody"))(s).RevokedAt, time.Time{})
	_, err := s.RedeemTicket(s.ctx, unused.Secret, at, server.AllScopes, unusedDevice, unusedLogin)
	s.fails(server.CodeTicketInvalid, err)
	s.same(must(s.LiveCodes(s.ctx, at))(s), []server.CodeRecord{})
	s.same(must(s.Pairing(s.ctx, "AAAA"))(s).State, server.PairingCancelled)
	s.same(len(must(s.RevokeMadeBy(s.ctx, "phone", at))(s)), 0)
}

// concurrentPairings: of many that decide one request at once, one does.
func concurrentPairings(t *testing.T, s *suite) {
	s.enrol(hostA, "alpha")
	s.ok(s.CreatePairing(s.ctx, server.PairingRecord{ID: "AAAA", Host: hostA, Scopes: server.ScopeRead, CreatedAt: now, ExpiresAt: now.Add(time.Minute)}, 2))
	const callers = 16
	results := make([]error, callers)
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			_, results[i] = s.DecidePairing(s.ctx, "AAAA", now, []server.PairingState{server.PairingConfirmed, server.PairingDenied}[i%2], 0, server.Principal{})
		})
	}
	group.Wait()
	won := 0
	for _, err := range results {
		if err == nil {
			won++
		} else if !errors.Is(err, server.NewError(server.CodeUnknownPairing)) {
			t.Errorf("loser: %v", err)
		}
	}
	if won != 1 {
		t.Errorf("%d decided", won)
	}
}

// concurrentTickets: of many that redeem one ticket at once, one wins.
func concurrentTickets(t *testing.T, s *suite) {
	ticket, _, _ := s.pairing(1)
	s.ok(s.CreateTicket(s.ctx, ticket))
	const callers = 16
	results := make([]error, callers)
	var group sync.WaitGroup
	for i := range callers {
		group.Go(func() {
			_, device, login := s.pairing(byte(i))
			_, results[i] = s.RedeemTicket(s.ctx, ticket.Secret, now, server.AllScopes, device, login)
		})
	}
	group.Wait()
	won := 0
	for _, err := range results {
		switch {
		case err == nil:
			won++
		case !errors.Is(err, server.NewError(server.CodeTicketUsed)):
			t.Errorf("loser: %v", err)
		}
	}
	if devices := must(s.Devices(s.ctx))(s); won != 1 || len(devices) != 1 {
		t.Errorf("%d won, %d devices", won, len(devices))
	}
}

func cancelledContext(t *testing.T, s *suite) {
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	if err := s.PutSetting(ctx, "url", "a"); !errors.Is(err, context.Canceled) {
		t.Errorf("write with a cancelled context: %v", err)
	}
	s.same(must(s.Setting(s.ctx, "url"))(s), "")
}
