package httpapi

import (
	"context"
	"net/http"

	"github.com/agent-helm/agent-helm/server"
)

func (a *API) serveViewer(w http.ResponseWriter, r *http.Request) {
	c := callFrom(r.Context())
	ctx, release := a.auth.Track(r.Context(), c.principal)
	defer release()
	viewer := Viewer{Principal: c.principal}
	if c.credential.Cookie && c.transport.NeedsProof() {
		viewer.CheckProof = func(ctx context.Context, proof string) error { return a.auth.CheckProof(ctx, c.principal, proof) }
	}
	a.sockets.ServeViewer(w, r.WithContext(ctx), viewer)
}

func (a *API) serveHost(w http.ResponseWriter, r *http.Request) {
	principal, ok := server.PrincipalFrom(r.Context())
	if !ok { // cannot happen: admit sets it
		a.fail(w, r, server.NewError(server.CodeUnauthenticated))
		return
	}
	ctx, release := a.auth.Track(r.Context(), principal)
	defer release()
	a.sockets.ServeHost(w, r.WithContext(ctx), principal)
}
