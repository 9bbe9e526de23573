package main

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/agent-helm/agent-helm/internal/buildinfo"
	"github.com/agent-helm/agent-helm/internal/logging"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/fleet"
	"github.com/agent-helm/agent-helm/server/hostlink"
	"github.com/agent-helm/agent-helm/server/httpapi"
	"github.com/agent-helm/agent-helm/server/session"
	"github.com/agent-helm/agent-helm/server/viewer"
)

// fleetAdapter is the fleet as server/httpapi wants it: the same calls in terms
// that do not name the fleet's types.
type fleetAdapter struct{ *fleet.Fleet }

var _ httpapi.Fleet = fleetAdapter{}

// Input implements httpapi.Fleet.
func (f fleetAdapter) Input(ctx context.Context, key server.SessionKey, input httpapi.Input) error {
	return f.Fleet.Input(ctx, key, fleet.Input{Kind: input.Kind, Data: input.Data, Idempotency: input.Idempotency})
}

// Screen implements httpapi.Fleet.
func (f fleetAdapter) Screen(ctx context.Context, key server.SessionKey, format string) ([]byte, error) {
	return f.Fleet.Screen(ctx, key, session.Format(format))
}

// Subscribe implements httpapi.Fleet.
func (f fleetAdapter) Subscribe(p server.Principal) httpapi.Subscription {
	return f.Fleet.Subscribe(p)
}

// sockets are the two WebSocket ends as server/httpapi wants them.
type sockets struct {
	logger  *slog.Logger
	hosts   *hostlink.Handler
	viewers *viewer.Handler
}

var _ httpapi.Sockets = (*sockets)(nil)

func newSockets(registry *fleet.Fleet, pairer hostlink.Pairer, address func() string, logger *slog.Logger) *sockets {
	// Random, so that a reconnecting peer sees that the server started anew.
	instance := rand.Text()
	return &sockets{
		logger:  logger,
		hosts:   hostlink.New(hostlink.Config{Fleet: registry, Logger: logger, Version: buildinfo.Version(), Instance: instance, Pairer: pairer, Address: address}),
		viewers: viewer.New(viewer.Config{Fleet: registry, Logger: logger, Version: buildinfo.Version(), Instance: instance, CheckProof: checkProof}),
	}
}

// shutdown tells both kinds of peer to come back soon, and waits.
func (s *sockets) shutdown(ctx context.Context) {
	waited := make(chan error, 2)
	go func() { waited <- s.hosts.Shutdown(ctx) }()
	go func() { waited <- s.viewers.Shutdown(ctx) }()
	if err := errors.Join(<-waited, <-waited); err != nil {
		s.logger.Warn("sockets cut off at shutdown", logging.KeyError, err.Error())
	}
}

// ServeHost implements httpapi.Sockets.
func (s *sockets) ServeHost(w http.ResponseWriter, r *http.Request, host server.Principal) {
	s.hosts.Serve(w, r, host)
}

type proofKey struct{}

// ServeViewer implements httpapi.Sockets. Whether a proof is needed is a matter
// of the single request, so the check travels in its context.
func (s *sockets) ServeViewer(w http.ResponseWriter, r *http.Request, v httpapi.Viewer) {
	s.viewers.Serve(w, r.WithContext(context.WithValue(r.Context(), proofKey{}, v.CheckProof)), v.Principal)
}

func checkProof(ctx context.Context, _ server.Principal, proof string) error {
	check, _ := ctx.Value(proofKey{}).(func(context.Context, string) error)
	if check == nil {
		return nil
	}
	return check(ctx, proof)
}

// reconcileEvery is how soon a host that a command removed leaves the list.
const reconcileEvery = time.Second

// reconcileHosts drops hosts that another process removed from the store, until
// ctx ends. server/auth has cut their links by then.
func reconcileHosts(ctx context.Context, store server.Store, registry *fleet.Fleet, logger *slog.Logger) {
	ticker := time.NewTicker(reconcileEvery)
	defer ticker.Stop()
	var seen int64
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		version, err := store.Changed(ctx)
		if err == nil && version != seen {
			seen = version
			err = dropRemoved(ctx, store, registry)
		}
		if err != nil && ctx.Err() == nil {
			logger.Error("looking for removed hosts failed", logging.KeyError, err.Error())
		}
	}
}

func dropRemoved(ctx context.Context, store server.HostStore, registry *fleet.Fleet) error {
	// The registry is read first: a host that is enrolled in between is in the
	// store before it is there.
	known := registry.Hosts()
	records, err := store.Hosts(ctx)
	if err != nil {
		return err
	}
	stored := make(map[string]bool, len(records))
	for _, record := range records {
		stored[record.ID] = true
	}
	for _, host := range known {
		if !stored[host.ID] {
			registry.RemoveHost(ctx, host.ID)
		}
	}
	return nil
}
