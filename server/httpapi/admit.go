package httpapi

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"

	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/auth"
)

// access says who may use a route. The zero value lets any device or token in,
// whatever its scopes; a host only where it is named.
type access struct {
	// public needs no credential and looks at none.
	public bool
	// host lets the host principal in, and nobody else.
	host bool
	// scopes are needed by everybody but hosts.
	scopes server.Scopes
	// unbound refuses principals that are bound to some sessions.
	unbound bool
	// socket marks a WebSocket: for a cookie the origin is required although
	// the method is GET, and the proof comes in the first frame.
	socket bool
}

// call is what handlers may want to know of their request.
type call struct {
	w          http.ResponseWriter
	r          *http.Request
	transport  auth.Transport
	principal  server.Principal
	credential auth.Credential
}

type (
	callKey      struct{}
	transportKey struct{}
)

func withTransport(ctx context.Context, transport auth.Transport) context.Context {
	return context.WithValue(ctx, transportKey{}, transport)
}

func transportFrom(ctx context.Context) auth.Transport {
	transport, _ := ctx.Value(transportKey{}).(auth.Transport)
	return transport
}

// callFrom is the request behind a handler's context. Every route is admitted
// before it is handled, so it is always there.
func callFrom(ctx context.Context) *call {
	c, _ := ctx.Value(callKey{}).(*call)
	return c
}

// admit decides whether a request may use a route, and returns the context for
// its handler.
func (a *API) admit(w http.ResponseWriter, r *http.Request, needed access) (context.Context, error) {
	c := &call{w: w, r: r, transport: transportFrom(r.Context())}
	ctx := context.WithValue(r.Context(), callKey{}, c)
	if needed.public {
		return ctx, nil
	}
	var err error
	c.principal, c.credential, err = a.auth.Authenticate(r, c.transport)
	if err != nil {
		if server.CodeOf(err) == server.CodeRevoked && c.credential.Cookie {
			return nil, a.wipe(c, err)
		}
		return nil, err
	}
	authenticated(r.Context())
	if c.credential.Cookie {
		if err := a.checkCookieRequest(c, needed); err != nil {
			return nil, err
		}
	}
	if err := checkAccess(c.principal, needed); err != nil {
		return nil, err
	}
	return server.WithPrincipal(ctx, c.principal), nil
}

// wipe tells a revoked browser to forget what it kept: pages, drafts, worker.
func (a *API) wipe(c *call, reason error) error {
	c.w.Header().Set("Clear-Site-Data", `"cache", "storage"`)
	if err := a.auth.ClearCookie(c.w, c.r, c.transport); err != nil {
		a.log.Debug("clearing a revoked cookie failed", "error", err)
	}
	return reason
}

// checkCookieRequest is what a cookie does not prove: that the page which made
// the browser send it is ours. Browsers send cookies with requests of pages on
// other ports and sibling names, and to servers there (THREATS S-8).
func (a *API) checkCookieRequest(c *call, needed access) error {
	unsafe := c.r.Method != http.MethodGet && c.r.Method != http.MethodHead
	// An origin that is there was compared with ours by the guard already.
	if (unsafe || needed.socket) && c.r.Header.Get("Origin") == "" {
		return server.NewError(server.CodeOrigin)
	}
	switch c.r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin":
	case "none": // typed or opened by the person: only ever a GET
		if unsafe || needed.socket {
			return server.NewError(server.CodeOrigin)
		}
	default:
		return server.NewError(server.CodeOrigin)
	}
	if needed.socket || !c.transport.NeedsProof() {
		return nil
	}
	return a.auth.CheckProof(c.r.Context(), c.principal, c.r.Header.Get(auth.ProofHeader))
}

func checkAccess(p server.Principal, needed access) error {
	if isHost := p.Kind == server.PrincipalHost; isHost != needed.host {
		if isHost {
			return server.Errorf(server.CodeForbidden, "a host's token speaks for its own host only, on /api/hosts/link")
		}
		return server.Errorf(server.CodeForbidden, "this is for enrolled hosts: use the token that POST /api/hosts/register returned")
	}
	if needed.host {
		return nil
	}
	if err := p.Require(needed.scopes); err != nil {
		return err
	}
	if needed.unbound && !p.Binding.IsZero() {
		return server.Errorf(server.CodeForbidden, "%s is bound to single sessions, and this reaches beyond them", p.Name)
	}
	return nil
}

const accessMetadata = "access"

// authorize is admit for huma's operations.
func (a *API) authorize(ctx huma.Context, next func(huma.Context)) {
	r, w := humachi.Unwrap(ctx)
	needed, ok := ctx.Operation().Metadata[accessMetadata].(access)
	if !ok { // cannot happen: route sets it; refuse rather than admit
		a.fail(w, r, server.NewError(server.CodeForbidden))
		return
	}
	admitted, err := a.admit(w, r, needed)
	if err != nil {
		a.fail(w, r, err)
		return
	}
	if !needed.public {
		// A call that waits for a host ends when its caller is revoked.
		held, release := a.auth.Hold(admitted, callFrom(admitted).principal)
		defer release()
		admitted = held
	}
	next(huma.WithContext(ctx, admitted))
}
