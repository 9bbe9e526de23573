package httpapi

import (
	"context"
	"sync"

	"github.com/agent-helm/agent-helm/server"
)

// maxGateWaiting is how many requests of a principal may wait for its turn: a
// person who types on does not wait for answers.
const maxGateWaiting = 4

// gate lets one request of a kind through at a time for each principal.
type gate struct {
	// what is refused, for the sentence.
	what string

	mu    sync.Mutex
	turns map[string]*turn // guarded by mu, by principal
}

type turn struct {
	free chan struct{} // holds one token while nobody has the turn
	// users have the turn or wait for it. Guarded by the gate's mu.
	users int
}

// enter waits for the principal's turn, which release gives back. It fails with
// CodeLimit when too many wait already, or with the cause of ctx.
func (g *gate) enter(ctx context.Context, p server.Principal) (release func(), err error) {
	name := string(p.Kind) + "\x00" + p.ID
	g.mu.Lock()
	t := g.turns[name]
	if t == nil {
		t = &turn{free: make(chan struct{}, 1)}
		t.free <- struct{}{}
		if g.turns == nil {
			g.turns = make(map[string]*turn)
		}
		g.turns[name] = t
	}
	if t.users > maxGateWaiting {
		g.mu.Unlock()
		return nil, server.Errorf(server.CodeLimit, "%s at a time: wait for the answer to the others", g.what)
	}
	t.users++
	g.mu.Unlock()
	select {
	case <-t.free:
		return sync.OnceFunc(func() { g.leave(name, t, true) }), nil
	case <-ctx.Done():
		g.leave(name, t, false)
		return nil, context.Cause(ctx)
	}
}

func (g *gate) leave(name string, t *turn, had bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if had {
		t.free <- struct{}{}
	}
	if t.users--; t.users == 0 {
		delete(g.turns, name)
	}
}
