package auth

import (
	"context"
	"time"

	"github.com/agent-helm/agent-helm/server"
)

// liveEntry is one socket or stream that a principal has open.
type liveEntry struct {
	principal server.Principal
	cancel    context.CancelCauseFunc
}

// Track returns a context for a socket or stream of p that ends, with an Error
// of CodeRevoked as its cause, when p is revoked, removed or expires. Call
// release when the socket is gone.
func (s *Service) Track(ctx context.Context, p server.Principal) (tracked context.Context, release func()) {
	tracked, cancel, release := s.hold(ctx, p)
	// Revoked between the check of the request and now: the next recheck may be
	// a minute away, so look once more.
	if err := s.check(ctx, p); err != nil {
		cancel(err)
	}
	return tracked, release
}

// Hold is Track for a call that was authenticated just now and answers within
// seconds: it costs no look into the store.
func (s *Service) Hold(ctx context.Context, p server.Principal) (held context.Context, release func()) {
	held, _, release = s.hold(ctx, p)
	return held, release
}

func (s *Service) hold(ctx context.Context, p server.Principal) (held context.Context, cancel context.CancelCauseFunc, release func()) {
	held, cancel = context.WithCancelCause(ctx)
	entry := &liveEntry{principal: p, cancel: cancel}
	s.mu.Lock()
	s.live[entry] = struct{}{}
	s.mu.Unlock()
	expire := func() bool { return true }
	if !p.ExpiresAt.IsZero() {
		expire = time.AfterFunc(time.Until(p.ExpiresAt), func() {
			cancel(server.Errorf(server.CodeRevoked, "the time of %s is over: pair again, or make a new token", p.Name))
		}).Stop
	}
	return held, cancel, func() {
		expire()
		s.mu.Lock()
		delete(s.live, entry)
		s.mu.Unlock()
		cancel(nil)
	}
}

func (s *Service) hasLive() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.live) > 0
}

// cut ends everything that a principal has open.
func (s *Service) cut(kind server.PrincipalKind, id string) {
	s.cutWhere(func(p server.Principal) error {
		if p.Kind == kind && p.ID == id {
			return server.NewError(server.CodeRevoked)
		}
		return nil
	})
}

func (s *Service) cutWhere(reason func(server.Principal) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for entry := range s.live {
		if err := reason(entry.principal); err != nil {
			entry.cancel(err)
		}
	}
}

// recheck looks up everybody who has something open.
func (s *Service) recheck(ctx context.Context) {
	s.mu.Lock()
	type identity struct {
		kind server.PrincipalKind
		id   string
	}
	who := map[identity]server.Principal{}
	for entry := range s.live {
		who[identity{entry.principal.Kind, entry.principal.ID}] = entry.principal
	}
	s.mu.Unlock()
	for _, p := range who {
		err := s.check(ctx, p)
		switch server.CodeOf(err) {
		case "":
		case server.CodeInternal:
			// A store that cannot be read revokes nobody.
			s.logUnlessDone(ctx, "checking an open socket failed", err)
		default:
			s.log.Info("open sockets cut", "kind", string(p.Kind), "id", p.ID)
			s.cut(p.Kind, p.ID)
		}
	}
}

// check says whether a principal may still be here. It fails with CodeRevoked
// when not, and with another code when the store could not say.
func (s *Service) check(ctx context.Context, p server.Principal) error {
	now := time.Now()
	switch p.Kind {
	case server.PrincipalDevice:
		device, err := s.store.Device(ctx, p.ID)
		switch {
		case server.CodeOf(err) == server.CodeUnknownDevice:
			return server.NewError(server.CodeRevoked)
		case err != nil:
			return err
		case !device.RevokedAt.IsZero() || !now.Before(device.ExpiresAt):
			return server.NewError(server.CodeRevoked)
		}
		s.sawDevice(p.ID, now)
	case server.PrincipalToken:
		token, err := s.store.Token(ctx, p.ID)
		switch {
		case server.CodeOf(err) == server.CodeUnknownToken:
			return server.NewError(server.CodeRevoked)
		case err != nil:
			return err
		}
		return tokenUsable(token, now)
	case server.PrincipalHost:
		_, err := s.store.Host(ctx, p.ID)
		if server.CodeOf(err) == server.CodeUnknownHost {
			return server.NewError(server.CodeRevoked)
		}
		return err
	}
	return nil
}
