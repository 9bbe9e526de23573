package auth

import (
	"context"
	"strings"
	"time"

	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/server"
)

// Bounds of what hosts may ask (THREATS S-2): a host makes no codes, so all that
// a hostile one can do is to ask, and that is seldom enough to be read.
const (
	// PairingLifetime is how long a request waits for somebody to decide.
	PairingLifetime = 5 * time.Minute
	// maxPairings is how many requests of all hosts wait at once.
	maxPairings = 8
	// pairingsPerHost and pairingsInAll are how many may be made in a pairingWindow.
	pairingsPerHost = 3
	pairingsInAll   = 20
	pairingWindow   = 10 * time.Minute
	// pairingPoll is how soon a decision of another process, the console, shows.
	pairingPoll = 500 * time.Millisecond
	// pairingIDLength is long enough that two live requests are told apart.
	pairingIDLength = 4
)

// RequestPairing notes that a host asks for the code of a new device. Nothing is
// made before somebody with the scope admin confirms it. It fails with
// CodeForbidden for whoever is no host, with CodeInvalid, and with CodeLimit for
// a host that asks too often.
func (s *Service) RequestPairing(ctx context.Context, host server.Principal, scopes server.Scopes) (server.PairingRecord, error) {
	if host.Kind != server.PrincipalHost {
		return server.PairingRecord{}, server.Errorf(server.CodeForbidden, "only a host asks for a code: everybody else makes one")
	}
	if scopes == 0 {
		return server.PairingRecord{}, server.Errorf(server.CodeInvalid, "a device needs at least one scope: read, input, answer, exec or admin")
	}
	now := time.Now()
	line := server.AuditRecord{Kind: host.Kind, Who: host.ID, Name: host.Name, Address: untrusted.Clean(server.AddressFrom(ctx), server.MaxName)}
	if !s.requests.allow(now, host.ID) {
		if s.floods.allow(now, host.ID) {
			line.Action, line.Detail = server.AuditPairingFlood, "this host asks for codes too often"
			s.audit(ctx, line)
		}
		return server.PairingRecord{}, server.Errorf(server.CodeLimit, "this host has asked %d times in %d minutes: wait a while, or make a code with agent-helm-server pair", pairingsPerHost, int(pairingWindow/time.Minute))
	}
	record := server.PairingRecord{ID: draw(pairingIDLength), Host: host.ID, HostName: host.Name, Scopes: scopes, Address: line.Address,
		CreatedAt: now, ExpiresAt: now.Add(PairingLifetime), State: server.PairingWaiting}
	err := s.store.CreatePairing(ctx, record, maxPairings)
	for server.CodeOf(err) == server.CodeConflict { // the id is one of the last day's
		record.ID = draw(pairingIDLength)
		err = s.store.CreatePairing(ctx, record, maxPairings)
	}
	if err != nil {
		return server.PairingRecord{}, err
	}
	line.Action, line.Target, line.Detail = server.AuditPairingAsked, record.ID, scopes.String()
	s.audit(ctx, line)
	return record, nil
}

// AwaitPairing waits until somebody decided a request, and then makes the code.
// The code is in its result and nowhere else. When ctx ends, the request does
// too. It fails with CodeForbidden when the request was denied, with CodeTimeout
// when nobody decided, with CodeUnknownPairing when it was withdrawn, and with
// CodeLimit when too many codes are live.
func (s *Service) AwaitPairing(ctx context.Context, id string) (code string, record server.CodeRecord, err error) {
	poll := time.NewTicker(pairingPoll)
	defer poll.Stop()
	for {
		request, err := s.store.Pairing(ctx, id)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			return "", server.CodeRecord{}, err
		case request.State == server.PairingConfirmed:
			return s.createCode(ctx, request.DecidedBy, server.Grant{Kind: server.PrincipalDevice, Scopes: request.Scopes,
				Minter: request.DecidedBy.ID, CreatedBy: Minter{request.DecidedBy}.label() + " for host " + request.HostName})
		case request.State == server.PairingDenied:
			return "", server.CodeRecord{}, server.Errorf(server.CodeForbidden, "the request was denied by %s", Minter{request.DecidedBy}.label())
		case request.State == server.PairingCancelled:
			return "", server.CodeRecord{}, server.NewError(server.CodeUnknownPairing)
		case !time.Now().Before(request.ExpiresAt):
			return "", server.CodeRecord{}, server.Errorf(server.CodeTimeout, "nobody confirmed the request in time: ask again when a device with the scope admin is at hand")
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			// Whoever asked is gone. A confirmation that comes now must find nothing.
			ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
			defer cancel()
			_, err := s.store.DecidePairing(ending, id, time.Now(), server.PairingCancelled, request.Scopes, server.Principal{})
			if err != nil && server.CodeOf(err) != server.CodeUnknownPairing {
				s.log.Error("a request for a code could not be withdrawn", "id", id, "error", err)
			}
			return "", server.CodeRecord{}, server.Errorf(server.CodeUnknownPairing, "the request was withdrawn")
		}
	}
}

// Pairings lists the requests that wait for a decision, oldest first.
func (s *Service) Pairings(ctx context.Context) ([]server.PairingRecord, error) {
	return s.store.Pairings(ctx, time.Now())
}

// ConfirmPairing lets a host's request have its code, with the scopes that were
// asked for, or with others when scopes is not zero; never with more than the
// minter has. It fails with CodeForbidden and CodeUnknownPairing.
func (s *Service) ConfirmPairing(ctx context.Context, by Minter, id string, scopes server.Scopes) (server.PairingRecord, error) {
	record, err := s.waitingPairing(ctx, id)
	if err != nil {
		return record, err
	}
	if scopes == 0 {
		scopes = record.Scopes
	}
	if err := by.mayDecide(scopes); err != nil {
		return record, err
	}
	record, err = s.store.DecidePairing(ctx, record.ID, time.Now(), server.PairingConfirmed, scopes, by.Principal)
	if err != nil {
		return record, err
	}
	s.audit(ctx, by.line(server.AuditPairingGiven, record.ID, "host "+record.HostName+": "+scopes.String()))
	return record, nil
}

// DenyPairing refuses a host's request. It fails with CodeForbidden and
// CodeUnknownPairing.
func (s *Service) DenyPairing(ctx context.Context, by Minter, id string) (server.PairingRecord, error) {
	record, err := s.waitingPairing(ctx, id)
	if err != nil {
		return record, err
	}
	if err := by.mayDecide(server.ScopeAdmin); err != nil {
		return record, err
	}
	record, err = s.store.DecidePairing(ctx, record.ID, time.Now(), server.PairingDenied, record.Scopes, by.Principal)
	if err != nil {
		return record, err
	}
	s.audit(ctx, by.line(server.AuditPairingDenied, record.ID, "host "+record.HostName))
	return record, nil
}

// mayDecide is mayGive for codes, which reach every session: whoever sees some
// only gives none.
func (m Minter) mayDecide(scopes server.Scopes) error {
	if !m.Binding.IsZero() {
		return server.Errorf(server.CodeForbidden, "whoever sees single sessions only lets nobody in")
	}
	return m.mayGive(scopes)
}

func (s *Service) waitingPairing(ctx context.Context, id string) (server.PairingRecord, error) {
	// People type it: in small letters, with a space.
	record, err := s.store.Pairing(ctx, strings.ToUpper(strings.TrimSpace(id)))
	if err == nil && (record.State != server.PairingWaiting || !time.Now().Before(record.ExpiresAt)) {
		return record, server.NewError(server.CodeUnknownPairing)
	}
	return record, err
}
