package auth

import (
	"context"
	"strings"
	"time"

	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/server"
)

// Minter is who makes a link, code or token: never more than it has itself.
type Minter struct {
	server.Principal
}

// Console is the minter behind a command on the data directory.
func Console() Minter {
	return Minter{server.Principal{Kind: server.PrincipalConsole, Name: "console", Scopes: server.AllScopes}}
}

// MinterOf is the minter for a request's principal.
func MinterOf(p server.Principal) Minter { return Minter{p} }

// label is how a minter is shown beside what it made.
func (m Minter) label() string {
	if m.Kind == server.PrincipalConsole {
		return "console"
	}
	return string(m.Kind) + " " + m.Name
}

// mayGive fails with CodeForbidden unless the minter is an admin that has what
// it gives (THREATS S-2). A host never is.
func (m Minter) mayGive(scopes server.Scopes) error {
	if m.Kind == server.PrincipalHost {
		return server.Errorf(server.CodeForbidden, "a host's token makes no codes, links or tokens: do it on the server or on a device with the scope admin")
	}
	if err := m.Require(server.ScopeAdmin); err != nil {
		return err
	}
	return m.Require(scopes)
}

// TokenRequest asks for a script's token.
type TokenRequest struct {
	// Name is shown in lists; no two live tokens share one.
	Name    string
	Scopes  server.Scopes
	Binding server.Binding
	// Lifetime 0 is without end.
	Lifetime time.Duration
}

// CreateToken makes a bearer token. The text is returned once and stored
// nowhere. It fails with CodeForbidden, CodeInvalid or CodeNameTaken.
func (s *Service) CreateToken(ctx context.Context, by Minter, request TokenRequest) (server.TokenRecord, string, error) {
	if request.Scopes == 0 {
		return server.TokenRecord{}, "", server.Errorf(server.CodeInvalid, "a token needs at least one scope: read, input, answer, exec or admin")
	}
	if request.Lifetime < 0 {
		return server.TokenRecord{}, "", server.Errorf(server.CodeInvalid, "a token's lifetime cannot be negative")
	}
	if err := by.mayGive(request.Scopes); err != nil {
		return server.TokenRecord{}, "", err
	}
	name, err := cleanName(request.Name, "token")
	if err != nil {
		return server.TokenRecord{}, "", err
	}
	binding, err := narrow(by.Binding, request.Binding)
	if err != nil {
		return server.TokenRecord{}, "", err
	}
	now := time.Now()
	record, text := newToken(name, now)
	record.Scopes, record.Binding, record.CreatedBy = request.Scopes, binding, by.label()
	record.Minter = by.ID
	if request.Lifetime > 0 {
		record.ExpiresAt = now.Add(request.Lifetime)
	}
	if err := s.store.CreateToken(ctx, record); err != nil {
		return server.TokenRecord{}, "", err
	}
	s.audit(ctx, by.line(server.AuditTokenCreated, record.ID, name+": "+record.Scopes.String()))
	return record, text, nil
}

// narrow is the binding that a minter may give: inside its own.
func narrow(own, asked server.Binding) (server.Binding, error) {
	if asked.IsZero() {
		return own, nil
	}
	for _, key := range asked.Sessions {
		if !own.Allows(key) {
			return server.Binding{}, server.NewError(server.CodeUnknownSession)
		}
	}
	return asked, nil
}

func (m Minter) line(action, target, detail string) server.AuditRecord {
	return server.AuditRecord{Action: action, Kind: m.Kind, Who: m.ID, Name: m.Name, Target: target, Detail: detail}
}

func newToken(name string, now time.Time) (server.TokenRecord, string) {
	id, secret := randomText(tokenIDBytes), randomText(tokenSecretBytes)
	return server.TokenRecord{ID: id, Name: name, Secret: hashOf(secret), CreatedAt: now}, formatToken(id, secret)
}

func cleanName(name, what string) (string, error) {
	cleaned := untrusted.Clean(name, server.MaxName)
	if cleaned == "" {
		return "", server.Errorf(server.CodeInvalid, "a %s needs a name", what)
	}
	return cleaned, nil
}

// Tokens lists the live tokens of scripts.
func (s *Service) Tokens(ctx context.Context) ([]server.TokenRecord, error) {
	tokens, err := s.store.Tokens(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range tokens {
		if at, ok := s.tokens[tokens[i].ID]; ok && at.After(tokens[i].LastUsedAt) {
			tokens[i].LastUsedAt = at
		}
	}
	return tokens, err
}

// RevokeToken ends a token, what it has open, and what it made. It fails with
// CodeUnknownToken, also for a host's token: that ends with its host.
func (s *Service) RevokeToken(ctx context.Context, by Minter, id string) error {
	ctx = context.WithoutCancel(ctx) // a token may revoke itself
	record, err := s.store.Token(ctx, id)
	if err != nil {
		return err
	}
	if record.Host != "" {
		return server.NewError(server.CodeUnknownToken)
	}
	if err := s.store.RevokeToken(ctx, id, time.Now()); err != nil {
		return err
	}
	s.cut(server.PrincipalToken, id)
	s.audit(ctx, by.line(server.AuditTokenRevoked, id, record.Name))
	return s.revokeMadeBy(ctx, by, id, "token "+record.Name)
}

// revokeMadeBy ends what a device or token made, which was revoked.
func (s *Service) revokeMadeBy(ctx context.Context, by Minter, id, name string) error {
	ended, err := s.store.RevokeMadeBy(ctx, id, time.Now())
	if err != nil {
		return err
	}
	for _, p := range ended {
		s.cut(p.Kind, p.ID)
		action := server.AuditDeviceRevoked
		if p.Kind == server.PrincipalToken {
			action = server.AuditTokenRevoked
		}
		s.audit(ctx, by.line(action, p.ID, p.Name+", made by "+name))
	}
	return nil
}

// RemoveHost ends a host's token and connection, and forgets its sessions. It
// fails with CodeUnknownHost.
func (s *Service) RemoveHost(ctx context.Context, by Minter, id string) error {
	record, err := s.store.Host(ctx, id)
	if err != nil {
		return err
	}
	if err := s.store.DeleteHost(ctx, id); err != nil {
		return err
	}
	s.cut(server.PrincipalHost, id)
	s.audit(ctx, by.line(server.AuditHostRemoved, id, record.Name))
	return nil
}

// bearer checks an Authorization header. It fails with CodeUnauthenticated, or
// with CodeRevoked when the token is right but has ended.
func (s *Service) bearer(ctx context.Context, header string) (server.Principal, error) {
	scheme, text, ok := strings.Cut(header, " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") {
		return server.Principal{}, server.Errorf(server.CodeUnauthenticated, "send the token as Authorization: Bearer ah_…")
	}
	id, secret, ok := parseToken(strings.TrimSpace(text))
	if !ok {
		return server.Principal{}, server.Errorf(server.CodeUnauthenticated, "this is not an agent-helm token: make one with agent-helm-server token create")
	}
	record, err := s.store.Token(ctx, id)
	if err != nil && server.CodeOf(err) != server.CodeUnknownToken {
		return server.Principal{}, err
	}
	// For an unknown id the comparison is with the zero hash, and takes as long.
	if !sameHash(record.Secret, hashOf(secret)) || err != nil {
		return server.Principal{}, server.Errorf(server.CodeUnauthenticated, "the token is not known here: make one with agent-helm-server token create")
	}
	now := time.Now()
	if err := tokenUsable(record, now); err != nil {
		return server.Principal{}, err
	}
	if record.Host != "" {
		host, err := s.store.Host(ctx, record.Host)
		if err != nil {
			return server.Principal{}, server.NewError(server.CodeRevoked)
		}
		return server.Principal{Kind: server.PrincipalHost, ID: host.ID, Name: host.Name}, nil
	}
	s.sawToken(record.ID, now)
	return server.Principal{Kind: server.PrincipalToken, ID: record.ID, Name: record.Name, Scopes: record.Scopes, Binding: record.Binding, ExpiresAt: record.ExpiresAt}, nil
}

func tokenUsable(token server.TokenRecord, now time.Time) error {
	if !token.RevokedAt.IsZero() {
		return server.Errorf(server.CodeRevoked, "the token %s was revoked: make a new one with agent-helm-server token create", token.Name)
	}
	if !token.ExpiresAt.IsZero() && !now.Before(token.ExpiresAt) {
		return server.Errorf(server.CodeRevoked, "the token %s has expired: make a new one with agent-helm-server token create", token.Name)
	}
	return nil
}
