package hostlink

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"
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
}

// Handler serves the uplinks of hosts.
type Handler struct {
	config Config
	logger *slog.Logger
	ctx    context.Context // ends with Shutdown
	stop   context.CancelCauseFunc
	links  sync.WaitGroup
	// stateLimit bounds the states of one link in bytes.
	stateLimit int

	mu      sync.Mutex
	closing bool // guarded by mu
}

// New makes a Handler. The caller shuts it down.
func New(c Config) *Handler {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	h := &Handler{config: c, logger: c.Logger, stateLimit: wire.MaxState}
	h.ctx, h.stop = context.WithCancelCause(context.Background())
	return h
}

// Shutdown tells every host that the server restarts and waits, until ctx ends,
// for the links to close.
func (h *Handler) Shutdown(ctx context.Context) error {
	h.mu.Lock()
	h.closing = true
	h.mu.Unlock()
	h.stop(server.NewError(server.CodeRestarting))
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		h.links.Wait()
	}()
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// begin counts a link that Shutdown waits for.
func (h *Handler) begin() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closing {
		return false
	}
	h.links.Add(1)
	return true
}

// Serve is one host's link, until it ends. The caller has authenticated the
// host. When the request's context ends with a *server.Error as its cause, the
// host is told that.
func (h *Handler) Serve(w http.ResponseWriter, r *http.Request, host server.Principal) {
	if !h.begin() {
		http.Error(w, server.CodeRestarting.Sentence(), server.CodeRestarting.Status())
		return
	}
	defer h.links.Done()
	s, err := socket.Accept(w, r, socket.Options{Queue: queueSize, Eager: true})
	if err != nil {
		h.logger.Debug("host link not opened", logging.KeyHost, host.ID, logging.KeyError, err.Error())
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(h.ctx, func() { cancel(context.Cause(h.ctx)) })()
	l := newLink(h, s, host, r.RemoteAddr, cancel)
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
