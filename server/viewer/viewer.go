package viewer

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"

	"github.com/agent-helm/agent-helm/internal/logging"
	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/fleet"
	"github.com/agent-helm/agent-helm/server/socket"
)

// Limits of one principal and one connection (DESIGN §8).
const (
	// MaxSockets is how many sockets a principal may have open.
	MaxSockets = 8
	// MaxAttachments is how many sessions one socket may show.
	MaxAttachments = 64
	// maxPages is how many pages one socket may wait for.
	maxPages = 8
)

// queueSize bounds the control frames that wait for one viewer, in bytes. They
// answer its own frames, so one that does not read them is closed.
const queueSize = 1 << 20

// Config is what a Handler works with.
type Config struct {
	Fleet *fleet.Fleet
	// Logger gets why connections end; nil discards.
	Logger *slog.Logger
	// Version and Instance are this server's, for ViewerWelcome.
	Version, Instance string
	// CheckProof checks the second credential of a cookie session, for
	// principals of the kind PrincipalDevice (THREATS S-8). nil: there is none
	// to check.
	CheckProof func(ctx context.Context, p server.Principal, proof string) error
}

// Handler serves the sockets of viewers.
type Handler struct {
	config Config
	logger *slog.Logger
	// Lifetime is that of the sockets.
	*socket.Lifetime

	mu   sync.Mutex
	open map[string]int // sockets by principal; guarded by mu
}

// New makes a Handler. The caller shuts it down.
func New(c Config) *Handler {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &Handler{config: c, logger: c.Logger, Lifetime: socket.NewLifetime(), open: map[string]int{}}
}

// Serve is one viewer's socket, until it ends. The caller has authenticated the
// principal and checked where the request comes from. When the request's
// context ends with a *server.Error as its cause, the viewer is told that.
func (h *Handler) Serve(w http.ResponseWriter, r *http.Request, p server.Principal) {
	ctx, cancel, end, ok := h.Begin(w, r)
	if !ok {
		return
	}
	defer end()
	s, err := socket.Accept(w, r, socket.Options{Queue: queueSize})
	if err != nil {
		h.logger.Debug("viewer socket not opened", logging.KeyDevice, p.ID, logging.KeyError, err.Error())
		return
	}
	if err := h.enter(p); err != nil {
		s.Refuse(err)
		h.logger.Info("viewer socket refused", logging.KeyDevice, p.ID, logging.KeyError, err.Error())
		return
	}
	defer h.leave(p)
	c := newConn(h, s, p, ctx, cancel)
	err = s.Run(ctx, c, c.take)
	c.end()
	level := slog.LevelDebug
	if e, ok := errors.AsType[*server.Error](err); ok && e.Code != server.CodeRestarting {
		level = slog.LevelInfo
	}
	h.logger.Log(context.WithoutCancel(ctx), level, "viewer socket ended", logging.KeyDevice, p.ID, logging.KeyError, untrusted.Clean(err.Error(), server.MaxText))
}

func principalName(p server.Principal) string { return string(p.Kind) + " " + p.ID }

// enter counts a socket. It fails with CodeForbidden for a principal that may
// not see anything, and with CodeLimit for one that has enough sockets.
func (h *Handler) enter(p server.Principal) error {
	if p.Kind == server.PrincipalHost {
		return server.Errorf(server.CodeForbidden, "a host's token does not open a viewer: pair a device, or make a token with agent-helm-server token create")
	}
	if err := p.Require(server.ScopeRead); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	name := principalName(p)
	if h.open[name] >= MaxSockets {
		return server.Errorf(server.CodeLimit, "%s has %d windows open already: close one", p.Name, MaxSockets)
	}
	h.open[name]++
	return nil
}

func (h *Handler) leave(p server.Principal) {
	h.mu.Lock()
	defer h.mu.Unlock()
	name := principalName(p)
	if h.open[name]--; h.open[name] <= 0 {
		delete(h.open, name)
	}
}

// welcome answers a hello.
func (h *Handler) welcome(p server.Principal) *wire.ViewerWelcome {
	return &wire.ViewerWelcome{Version: h.config.Version, Instance: h.config.Instance, Device: p.Name, Scopes: p.Scopes.Names()}
}
