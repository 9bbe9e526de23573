package auth

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"sync"
	"time"

	"github.com/agent-helm/agent-helm/internal/logging"
	"github.com/agent-helm/agent-helm/server"
)

// Lifetimes and limits. The reasons stand in THREATS S-13, S-16, S-17, S-21.
const (
	TicketLifetime = 10 * time.Minute
	CodeLifetime   = 5 * time.Minute
	MaxLiveCodes   = 3
	wrongCodeLimit = 10

	// DeviceIdle and DeviceAbsolute end a device over TLS or loopback;
	// InsecureLifetime is both for one that was paired over plain HTTP.
	DeviceIdle       = 90 * 24 * time.Hour
	DeviceAbsolute   = 365 * 24 * time.Hour
	InsecureLifetime = 24 * time.Hour
	rotateAfter      = 24 * time.Hour
	// rotateGrace is how long a replaced cookie still works: requests that were
	// under way when the new one arrived.
	rotateGrace = time.Minute

	// codeAnswerTime is how long a refused code takes, whatever the reason.
	// Longer than a synchronous write, so that it does not show whether one was
	// made.
	codeAnswerTime = 250 * time.Millisecond

	// seenEvery is how often "last seen" times are written, all in one write.
	seenEvery = 10 * time.Minute
	// revokeEvery is how soon what another process revoked takes effect on open
	// sockets, and recheckEvery how often everybody is looked up all the same.
	// What expires ends by itself, at its moment.
	revokeEvery  = 500 * time.Millisecond
	recheckEvery = time.Minute
)

// Service checks and mints credentials. Its methods are safe for concurrent use.
type Service struct {
	store   server.Store
	key     Key
	log     *slog.Logger
	cookies map[Transport]*cookieStore
	// limits bounds guesses of codes, alerts audit lines that anybody can cause,
	// requests what hosts ask for, and floods the lines about those that ask more.
	limits, alerts   limiter[netip.Prefix]
	requests, floods limiter[string]

	mu      sync.Mutex
	devices map[string]time.Time // last seen, not yet written; guarded by mu
	tokens  map[string]time.Time // last used, not yet written; guarded by mu
	rotated map[server.Hash]time.Time
	live    map[*liveEntry]struct{} // guarded by mu
}

// New returns a Service on store. The caller starts Run where sockets live.
func New(store server.Store, key Key, log *slog.Logger) *Service {
	s := &Service{
		store:   store,
		key:     key,
		log:     log,
		cookies: map[Transport]*cookieStore{},
		devices: map[string]time.Time{},
		tokens:  map[string]time.Time{},
		rotated: map[server.Hash]time.Time{},
		live:    map[*liveEntry]struct{}{},

		limits:   limiter[netip.Prefix]{each: triesPerAddress, inAll: triesInAll, window: triesWindow},
		alerts:   limiter[netip.Prefix]{each: triesPerAddress, inAll: triesInAll, window: triesWindow},
		requests: limiter[string]{each: pairingsPerHost, inAll: pairingsInAll, window: pairingWindow},
		floods:   limiter[string]{each: 1, inAll: pairingsInAll, window: pairingWindow},
	}
	for _, transport := range []Transport{TransportTLS, TransportLoopback, TransportLAN} {
		s.cookies[transport] = newCookieStore(key, transport)
	}
	return s
}

// Run writes what was seen, cuts sockets that were revoked by another process
// or have expired, and returns after a last write when ctx ends.
func (s *Service) Run(ctx context.Context) {
	poll := time.NewTicker(revokeEvery)
	defer poll.Stop()
	seen := time.NewTicker(seenEvery)
	defer seen.Stop()
	recheck := time.NewTicker(recheckEvery)
	defer recheck.Stop()
	var version int64
	for {
		select {
		case <-ctx.Done():
			// A few rows; the process is about to end and must not hang on a disk.
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			s.flushSeen(last)
			cancel()
			return
		case <-seen.C:
			s.flushSeen(ctx)
		case <-recheck.C:
			s.recheck(ctx)
		case <-poll.C:
			if !s.hasLive() {
				continue
			}
			now, err := s.store.Changed(ctx)
			if err != nil {
				s.logUnlessDone(ctx, "watching for revocations failed", err)
				continue
			}
			if now != version {
				version = now
				s.recheck(ctx)
			}
		}
	}
}

func (s *Service) logUnlessDone(ctx context.Context, message string, err error) {
	if ctx.Err() == nil {
		s.log.Error(message, logging.KeyError, err)
	}
}

// flushSeen writes the times at which devices and tokens were seen.
func (s *Service) flushSeen(ctx context.Context) {
	s.mu.Lock()
	devices, tokens := s.devices, s.tokens
	s.devices, s.tokens = map[string]time.Time{}, map[string]time.Time{}
	for id, at := range s.rotated {
		if time.Since(at) > rotateGrace {
			delete(s.rotated, id)
		}
	}
	s.mu.Unlock()
	var errs []error
	if len(devices) > 0 {
		errs = append(errs, s.store.SeeDevices(ctx, devices))
	}
	if len(tokens) > 0 {
		errs = append(errs, s.store.SeeTokens(ctx, tokens))
	}
	if err := errors.Join(errs...); err != nil {
		s.log.Error("writing last-seen times failed", logging.KeyError, err)
	}
}

func (s *Service) sawDevice(id string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.devices[id] = at
}

func (s *Service) sawToken(id string, at time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[id] = at
}

// lastSeen is the newest of what is stored and what is not yet written.
func (s *Service) lastSeen(device server.DeviceRecord) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.devices[device.ID]; ok && at.After(device.LastSeenAt) {
		return at
	}
	return device.LastSeenAt
}

// AuditLines lists audit lines, newest first.
func (s *Service) AuditLines(ctx context.Context, query server.AuditQuery) ([]server.AuditRecord, error) {
	return s.store.Audit(ctx, query)
}

// Audit appends a line about what the context's principal did. A line that
// cannot be written is logged; the deed stands.
func (s *Service) Audit(ctx context.Context, action, target, detail string) {
	record := server.AuditRecord{Action: action, Target: target, Detail: detail}
	if p, ok := server.PrincipalFrom(ctx); ok {
		record.Kind, record.Who, record.Name = p.Kind, p.ID, p.Name
	}
	s.audit(ctx, record)
}

// AuditBy is Audit for what somebody did earlier, or over a socket.
func (s *Service) AuditBy(ctx context.Context, by server.Actor, action, target, detail string) {
	s.audit(ctx, server.AuditRecord{Action: action, Kind: by.Kind, Who: by.ID, Name: by.Name, Address: by.Address, Target: target, Detail: detail})
}

func (s *Service) audit(ctx context.Context, record server.AuditRecord) {
	record.At = time.Now()
	if record.Address == "" {
		record.Address = server.AddressFrom(ctx)
	}
	// What was done is told even when the one who did it has hung up.
	if err := s.store.AppendAudit(context.WithoutCancel(ctx), record); err != nil {
		s.log.Error("audit line not written", "action", record.Action, logging.KeyError, err)
	}
}
