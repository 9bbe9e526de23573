package socket

import (
	"context"
	"net/http"
	"sync"

	"github.com/agent-helm/agent-helm/server"
)

// Lifetime is what the sockets of one kind have in common: they end together,
// and a shutdown waits for them. The zero value is not usable; see NewLifetime.
type Lifetime struct {
	ctx     context.Context // ends with Shutdown
	stop    context.CancelCauseFunc
	sockets sync.WaitGroup

	mu      sync.Mutex
	closing bool // guarded by mu
}

// NewLifetime begins one. The caller shuts it down.
func NewLifetime() *Lifetime {
	l := &Lifetime{}
	l.ctx, l.stop = context.WithCancelCause(context.Background())
	return l
}

// Begin counts a socket in, for which Shutdown waits until end was called. Its
// context is the request's, and ends with Shutdown as well. false: the server
// is shutting down, and the request was answered so.
func (l *Lifetime) Begin(w http.ResponseWriter, r *http.Request) (ctx context.Context, cancel context.CancelCauseFunc, end func(), ok bool) {
	l.mu.Lock()
	closing := l.closing
	if !closing {
		l.sockets.Add(1)
	}
	l.mu.Unlock()
	if closing {
		http.Error(w, server.CodeRestarting.Sentence(), server.CodeRestarting.Status())
		return nil, nil, nil, false
	}
	ctx, cancel = context.WithCancelCause(r.Context())
	unlink := context.AfterFunc(l.ctx, func() { cancel(context.Cause(l.ctx)) })
	return ctx, cancel, func() {
		unlink()
		cancel(nil)
		l.sockets.Done()
	}, true
}

// Shutdown ends every socket with CodeRestarting, lets no new one begin, and
// waits for the last, or for ctx.
func (l *Lifetime) Shutdown(ctx context.Context) error {
	l.mu.Lock()
	l.closing = true
	l.mu.Unlock()
	l.stop(server.NewError(server.CodeRestarting))
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		l.sockets.Wait()
	}()
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
