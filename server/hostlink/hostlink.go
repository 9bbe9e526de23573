package hostlink

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/agent-helm/agent-helm/internal/logging"
	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/fleet"
	"github.com/agent-helm/agent-helm/server/socket"
)

// queueSize bounds the frames that wait for one host, in bytes. A host that
// takes no input for so long is as good as absent: the next one is refused.
const queueSize = 2 << 20

// Config is what a Handler works with.
type Config struct {
	Fleet *fleet.Fleet
	// Logger gets why links end; nil discards.
	Logger *slog.Logger
	// Version and Instance are this server's, for HostWelcome.
	Version, Instance string
	// Pairer decides what hosts ask for; nil: hosts cannot ask.
	Pairer Pairer
	// Address is the server's, for browsers; needed with Pairer.
	Address func() string
}

// Handler serves the uplinks of hosts.
type Handler struct {
	config Config
	logger *slog.Logger
	// Lifetime is that of the links.
	*socket.Lifetime
	// stateLimit bounds the states of one link in bytes.
	stateLimit int
}

// New makes a Handler. The caller shuts it down.
func New(c Config) *Handler {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return &Handler{config: c, logger: c.Logger, Lifetime: socket.NewLifetime(), stateLimit: wire.MaxState}
}

// Serve is one host's link, until it ends. The caller has authenticated the
// host. When the request's context ends with a *server.Error as its cause, the
// host is told that.
func (h *Handler) Serve(w http.ResponseWriter, r *http.Request, host server.Principal) {
	ctx, cancel, end, ok := h.Begin(w, r)
	if !ok {
		return
	}
	defer end()
	s, err := socket.Accept(w, r, socket.Options{Queue: queueSize, Eager: true})
	if err != nil {
		h.logger.Debug("host link not opened", logging.KeyHost, host.ID, logging.KeyError, err.Error())
		return
	}
	l := newLink(r.Context(), h, s, host, r.RemoteAddr, cancel)
	err = s.Run(ctx, l, l.take)
	l.end(err)
	level := slog.LevelInfo
	if e, ok := errors.AsType[*server.Error](err); ok && e.Code != server.CodeRestarting {
		level = slog.LevelWarn
	}
	h.logger.Log(context.WithoutCancel(ctx), level, "host link ended", logging.KeyHost, host.ID, logging.KeyAddress, r.RemoteAddr, logging.KeyError, untrusted.Clean(err.Error(), server.MaxText))
}

// welcome completes the fleet's answer to a hello.
func (h *Handler) welcome(w *wire.HostWelcome) *wire.HostWelcome {
	w.Instance, w.Version = h.config.Instance, h.config.Version
	if h.config.Pairer != nil {
		w.Capabilities = []string{wire.CapabilityPairing}
	}
	return w
}

// limiter is a bucket of announcements. It belongs to the link's reader.
type limiter struct {
	tokens float64
	at     time.Time
}

const (
	eventsPerSecond = 20
	eventsAtOnce    = 4 * fleet.MaxSessions // what a daemon that starts up may say
)

func newLimiter(now time.Time) limiter { return limiter{tokens: eventsAtOnce, at: now} }

// take uses one token and returns how long to wait for it.
func (l *limiter) take(now time.Time) time.Duration {
	l.tokens = min(l.tokens+now.Sub(l.at).Seconds()*eventsPerSecond, eventsAtOnce)
	l.at = now
	l.tokens--
	if l.tokens >= 0 {
		return 0
	}
	return time.Duration(-l.tokens / eventsPerSecond * float64(time.Second))
}
