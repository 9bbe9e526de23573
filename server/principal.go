package server

import (
	"context"
	"time"
)

// PrincipalKind is what sort of credential a request came with.
type PrincipalKind string

// Kinds of principal. There is none for "local": no request is trusted for its
// source address (THREATS S-19).
const (
	PrincipalDevice PrincipalKind = "device" // a paired browser, by cookie
	PrincipalToken  PrincipalKind = "token"  // a script, by bearer token
	PrincipalHost   PrincipalKind = "host"   // an enrolled host, by bearer token
	// PrincipalConsole is whoever runs agent-helm-server on the data directory.
	// No request ever has it; it stands in audit lines and as a minter of codes.
	PrincipalConsole PrincipalKind = "console"
)

// Binding narrows a principal to some sessions. The zero value narrows nothing.
type Binding struct {
	Sessions []SessionKey `json:"sessions,omitempty"`
}

// IsZero says that nothing is narrowed.
func (b Binding) IsZero() bool { return len(b.Sessions) == 0 }

// Allows says whether a session is inside the binding.
func (b Binding) Allows(key SessionKey) bool {
	if b.IsZero() {
		return true
	}
	for _, bound := range b.Sessions {
		if bound == key {
			return true
		}
	}
	return false
}

// Principal is who makes a request and what they may do. A host principal has
// no scopes: it speaks for its own host and sessions and mints nothing.
type Principal struct {
	Kind PrincipalKind
	// ID is the device's, token's or host's id.
	ID string
	// Name was given by the person who paired or created it, cleaned.
	Name    string
	Scopes  Scopes
	Binding Binding
	// ExpiresAt is when the credential ends at the latest; zero: never.
	ExpiresAt time.Time
	// Insecure is set when the request came over plain HTTP off loopback. Scopes
	// are already limited to InsecureScopes then.
	Insecure bool
}

// Require fails with CodeForbidden, naming the scope, unless the principal has
// every scope of needed.
func (p Principal) Require(needed Scopes) error {
	if p.Scopes.Has(needed) {
		return nil
	}
	if p.Insecure && !needed.Within(InsecureScopes) {
		return Errorf(CodeForbidden, "this needs the scope %s, which plain HTTP never gives: use https, or run it on the server itself", needed)
	}
	return Errorf(CodeForbidden, "this needs the scope %s, and %s has %s", needed, p.Name, orNone(p.Scopes))
}

// RequireSession is Require for one session. A session outside the principal's
// binding does not exist for it: CodeUnknownSession.
func (p Principal) RequireSession(needed Scopes, key SessionKey) error {
	if err := p.Require(needed); err != nil {
		return err
	}
	if !p.Binding.Allows(key) {
		return NewError(CodeUnknownSession)
	}
	return nil
}

// CanSee says whether the principal may be told of a session at all: lists,
// events and screens.
func (p Principal) CanSee(key SessionKey) bool {
	return p.Scopes.Has(ScopeRead) && p.Binding.Allows(key)
}

func orNone(s Scopes) string {
	if s == 0 {
		return "none"
	}
	return s.String()
}

type principalKey struct{}

// WithPrincipal returns a context that carries p.
func WithPrincipal(ctx context.Context, p Principal) context.Context {
	return context.WithValue(ctx, principalKey{}, p)
}

// PrincipalFrom returns the principal of a request, or false when the request
// was not authenticated.
func PrincipalFrom(ctx context.Context) (Principal, bool) {
	p, ok := ctx.Value(principalKey{}).(Principal)
	return p, ok
}

type addressKey struct{}

// WithAddress returns a context that carries the peer's address, for limits,
// audit lines and display only.
func WithAddress(ctx context.Context, address string) context.Context {
	return context.WithValue(ctx, addressKey{}, address)
}

// AddressFrom is the peer's address, empty when there is none.
func AddressFrom(ctx context.Context) string {
	address, _ := ctx.Value(addressKey{}).(string)
	return address
}

// Actor is who did something and from where, for audit lines.
type Actor struct {
	Kind     PrincipalKind
	ID, Name string
	Address  string
}

// ActorFrom is who makes a request; the zero value when that is unknown.
func ActorFrom(ctx context.Context) Actor {
	p, _ := PrincipalFrom(ctx)
	return ActorOf(p, AddressFrom(ctx))
}

// ActorOf is a principal at an address.
func ActorOf(p Principal, address string) Actor {
	return Actor{Kind: p.Kind, ID: p.ID, Name: p.Name, Address: address}
}

// Same says whether two actors are one, wherever they act from.
func (a Actor) Same(b Actor) bool { return a.Kind == b.Kind && a.ID == b.ID }
