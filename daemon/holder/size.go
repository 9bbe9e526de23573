package holder

import (
	"slices"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/wire"
)

const (
	// maxClaims bounds the owners that are remembered beneath the present one.
	maxClaims = 16
	// maxPresences bounds the clients whose presence is remembered; the one
	// that was silent longest goes.
	maxPresences = 256
)

// claim is one client's hold on the size.
type claim struct {
	client     wire.ClientID
	kind       wire.OwnerKind
	cols, rows uint16
}

// presence is what is known of the person at a client.
type presence struct {
	kind             wire.OwnerKind
	visible, focused bool
	// alive is the last sign of life of any kind, typed the last input.
	alive, typed time.Time
	// attached says that a local terminal's connection is open.
	attached bool
}

// sizes decides who owns the terminal's size (DESIGN §3 "Size"). Only an
// explicit claim changes it: watching and attaching do not. A claim is taken
// when the person asked for it, or when no owner is present; it ends by
// release, or when a viewer was silent for PresenceLifetime, or when a local
// terminal detached, and the previous owner's size returns. It keeps no clock
// and no timer: every method takes the time. Guarded by the session's lock.
type sizes struct {
	// base is the size when nobody owns it: that of the start, or the last one
	// of a local owner, because nobody gains by a change when a desk leaves.
	baseCols, baseRows uint16
	claims             []claim // the last is the owner
	clients            map[wire.ClientID]*presence
}

func newSizes(cols, rows uint16) *sizes {
	return &sizes{baseCols: cols, baseRows: rows, clients: make(map[wire.ClientID]*presence)}
}

// owner is the present owner, of kind OwnerNone when there is none, with the
// size that holds.
func (s *sizes) owner() claim {
	if n := len(s.claims); n > 0 {
		return s.claims[n-1]
	}
	return claim{kind: wire.OwnerNone, cols: s.baseCols, rows: s.baseRows}
}

// attach says that a client speaks on a connection of this kind.
func (s *sizes) attach(client wire.ClientID, kind wire.OwnerKind, now time.Time) *presence {
	p := s.clients[client]
	if p == nil {
		s.makeRoom()
		p = &presence{kind: kind}
		s.clients[client] = p
	}
	p.alive = now
	if kind == wire.OwnerLocal {
		p.kind, p.attached = kind, true
	}
	return p
}

// makeRoom forgets the client that was silent longest and owns nothing.
func (s *sizes) makeRoom() {
	if len(s.clients) < maxPresences {
		return
	}
	var oldest wire.ClientID
	var since time.Time
	for client, p := range s.clients {
		if !p.attached && !s.holds(client) && (since.IsZero() || p.alive.Before(since)) {
			oldest, since = client, p.alive
		}
	}
	delete(s.clients, oldest)
}

func (s *sizes) holds(client wire.ClientID) bool {
	return slices.ContainsFunc(s.claims, func(c claim) bool { return c.client == client })
}

// claim asks for the size and says whether the owner or its size changed.
func (s *sizes) claim(client wire.ClientID, kind wire.OwnerKind, reason wire.ClaimReason, cols, rows uint16, now time.Time) bool {
	s.attach(client, kind, now)
	before := s.owner()
	if reason != wire.ClaimResize {
		s.clients[client].typed = now // somebody pressed a key for it
	}
	switch reason {
	case wire.ClaimFit:
		s.take(claim{client, kind, cols, rows})
	case wire.ClaimTyping, wire.ClaimAttach:
		if before.client == client || !s.ownerPresent(now) {
			s.take(claim{client, kind, cols, rows})
		}
	case wire.ClaimResize:
		for i := range s.claims {
			if s.claims[i].client == client {
				s.claims[i].cols, s.claims[i].rows = cols, rows
			}
		}
	}
	s.keepLocalSize()
	return s.owner() != before
}

// take puts a claim on top of the others.
func (s *sizes) take(c claim) {
	s.claims = slices.DeleteFunc(s.claims, func(old claim) bool { return old.client == c.client })
	s.claims = append(s.claims, c)
	if len(s.claims) > maxClaims {
		s.claims = slices.Delete(s.claims, 0, 1)
	}
}

func (s *sizes) keepLocalSize() {
	if owner := s.owner(); owner.kind == wire.OwnerLocal {
		s.baseCols, s.baseRows = owner.cols, owner.rows
	}
}

// release gives a client's claim back and says whether anything changed.
func (s *sizes) release(client wire.ClientID) bool {
	before := s.owner()
	s.claims = slices.DeleteFunc(s.claims, func(c claim) bool { return c.client == client })
	s.keepLocalSize()
	return s.owner() != before
}

// detach says that the connection of local clients closed. Viewers live on
// behind a daemon that comes back, until their presence expires.
func (s *sizes) detach(client wire.ClientID) bool {
	p := s.clients[client]
	if p == nil || p.kind != wire.OwnerLocal {
		return false
	}
	delete(s.clients, client)
	return s.release(client)
}

// presence takes a sign of life. One that is neither visible nor focused says
// that the person left a viewer: the lease runs on to its end, but anybody who
// types takes the size.
func (s *sizes) presence(client wire.ClientID, kind wire.OwnerKind, visible, focused bool, now time.Time) {
	p := s.clients[client]
	if p == nil {
		p = s.attach(client, kind, now)
	}
	p.visible, p.focused = visible, focused
	if visible || focused {
		p.alive = now
	} else if p.kind != wire.OwnerLocal {
		p.typed = time.Time{}
	}
}

// typed takes note of input, which is a sign of life.
func (s *sizes) typed(client wire.ClientID, kind wire.OwnerKind, now time.Time) {
	p := s.attach(client, kind, now)
	p.typed = now
}

// present says whether a person is at the client.
func (s *sizes) present(client wire.ClientID, now time.Time) bool {
	p := s.clients[client]
	switch {
	case p == nil:
		return false
	case p.kind == wire.OwnerLocal:
		return p.attached && (p.focused || within(p.typed, daemon.LocalTypingLease, now))
	}
	// Typing and claiming show a person as well as saying "visible" does.
	return within(p.alive, wire.PresenceLifetime, now) && (p.visible || p.focused || within(p.typed, wire.PresenceLifetime, now))
}

func within(since time.Time, lifetime time.Duration, now time.Time) bool {
	return !since.IsZero() && now.Before(since.Add(lifetime))
}

func (s *sizes) ownerPresent(now time.Time) bool {
	owner := s.owner()
	return owner.kind != wire.OwnerNone && s.present(owner.client, now)
}

// leased says whether a claim still stands.
func (s *sizes) leased(c claim, now time.Time) bool {
	p := s.clients[c.client]
	if p == nil {
		return false
	}
	if p.kind == wire.OwnerLocal {
		return p.attached
	}
	return within(p.alive, wire.PresenceLifetime, now)
}

// expire ends the leases that ran out, forgets silent viewers and says whether
// anything changed.
func (s *sizes) expire(now time.Time) bool {
	before := s.owner()
	s.claims = slices.DeleteFunc(s.claims, func(c claim) bool { return !s.leased(c, now) })
	for client, p := range s.clients {
		if p.kind != wire.OwnerLocal && !within(p.alive, wire.PresenceLifetime, now) {
			delete(s.clients, client)
		}
	}
	s.keepLocalSize()
	return s.owner() != before
}

// nextExpiry is when expire should be called next; zero when there is nothing
// to expire.
func (s *sizes) nextExpiry() time.Time {
	var next time.Time
	for _, p := range s.clients {
		if end := p.alive.Add(wire.PresenceLifetime); p.kind != wire.OwnerLocal && (next.IsZero() || end.Before(next)) {
			next = end
		}
	}
	return next
}

// focused says whether the terminal has the focus anywhere.
func (s *sizes) focused(now time.Time) bool {
	for _, p := range s.clients {
		if p.focused && (p.kind == wire.OwnerLocal || within(p.alive, wire.PresenceLifetime, now)) {
			return true
		}
	}
	return false
}
