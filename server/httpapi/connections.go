package httpapi

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/agent-helm/agent-helm/server/auth"
)

// Limits of connections that have not shown a credential (THREATS S-31).
const (
	maxStrangers           = 64
	maxStrangersPerAddress = 16
	// strangerIdle is how long such a connection may rest between requests.
	strangerIdle = 10 * time.Second
)

// Connections limits what strangers can hold open. A connection stops being a
// stranger's with its first authenticated request. Use its three hooks on one
// http.Server. Where a limit is reached, the stranger that has rested longest
// between requests makes room, so that a proxy's pool of connections or a page
// that loads many files is never refused; where none rests, the new connection
// is closed unanswered and costs nothing.
type Connections struct {
	mu        sync.Mutex
	strangers map[*conn]struct{}   // guarded by mu
	perPeer   map[netip.Prefix]int // guarded by mu
}

// conn is a connection as Connections knows it.
type conn struct {
	net.Conn
	owner *Connections
	peer  netip.Prefix
	// Guarded by owner.mu. idle runs while the connection rests, since restsAt.
	stranger bool
	idle     *time.Timer
	restsAt  time.Time
}

// NetConn is the connection below, as tls.Conn has it.
func (c *conn) NetConn() net.Conn { return c.Conn }

// Listener wraps the listener that the server accepts from.
func (c *Connections) Listener(l net.Listener) net.Listener {
	return &limitedListener{Listener: l, owner: c}
}

type limitedListener struct {
	net.Listener
	owner *Connections
}

// Accept returns the next connection within the limits.
func (l *limitedListener) Accept() (net.Conn, error) {
	for {
		accepted, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if tracked := l.owner.admit(accepted); tracked != nil {
			return tracked, nil
		}
		accepted.Close()
	}
}

func (c *Connections) admit(accepted net.Conn) *conn {
	peer := auth.NetworkOf(accepted.RemoteAddr().String())
	tracked := &conn{Conn: accepted, owner: c, peer: peer}
	admitted, evicted := c.enter(tracked)
	if evicted != nil {
		evicted.Close()
	}
	if !admitted {
		return nil
	}
	return tracked
}

// enter counts a new stranger, and names the one that has to go for it.
func (c *Connections) enter(tracked *conn) (admitted bool, evicted *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.strangers == nil {
		c.strangers, c.perPeer = map[*conn]struct{}{}, map[netip.Prefix]int{}
	}
	// Behind a unix socket stands a proxy, and everybody behind that: they have
	// no addresses here, and only the limit of all holds.
	crowded := tracked.peer.IsValid() && c.perPeer[tracked.peer] >= maxStrangersPerAddress
	if crowded || len(c.strangers) >= maxStrangers {
		for other := range c.strangers {
			rests := other.idle != nil && (!crowded || other.peer == tracked.peer)
			if rests && (evicted == nil || other.restsAt.Before(evicted.restsAt)) {
				evicted = other
			}
		}
		if evicted == nil {
			return false, nil
		}
		c.forget(evicted)
	}
	tracked.stranger = true
	c.strangers[tracked] = struct{}{}
	c.perPeer[tracked.peer]++
	return true, evicted
}

// Close gives the stranger's place back.
func (c *conn) Close() error {
	c.owner.release(c)
	return c.Conn.Close()
}

// release counts a connection as a stranger's no longer.
func (c *Connections) release(tracked *conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.forget(tracked)
}

// forget takes a connection out of the count. The caller holds mu.
func (c *Connections) forget(tracked *conn) {
	if tracked.idle != nil {
		tracked.idle.Stop()
		tracked.idle = nil
	}
	if !tracked.stranger {
		return
	}
	tracked.stranger = false
	delete(c.strangers, tracked)
	if c.perPeer[tracked.peer]--; c.perPeer[tracked.peer] <= 0 {
		delete(c.perPeer, tracked.peer)
	}
}

type connKey struct{}

// Context is http.Server.ConnContext.
func (c *Connections) Context(ctx context.Context, accepted net.Conn) context.Context {
	if tracked := trackedOf(accepted); tracked != nil {
		return context.WithValue(ctx, connKey{}, tracked)
	}
	return ctx
}

// State is http.Server.ConnState: strangers do not rest here.
func (c *Connections) State(accepted net.Conn, state http.ConnState) {
	tracked := trackedOf(accepted)
	if tracked == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if tracked.idle != nil {
		tracked.idle.Stop()
		tracked.idle = nil
	}
	if state == http.StateIdle && tracked.stranger {
		tracked.restsAt = time.Now()
		tracked.idle = time.AfterFunc(strangerIdle, func() { tracked.Close() })
	}
}

// trackedOf finds our connection inside one that TLS wraps.
func trackedOf(accepted net.Conn) *conn {
	if tracked, ok := accepted.(*conn); ok {
		return tracked
	}
	if wrapper, ok := accepted.(interface{ NetConn() net.Conn }); ok {
		accepted = wrapper.NetConn()
	}
	tracked, _ := accepted.(*conn)
	return tracked
}

// authenticated marks the connection of a request.
func authenticated(ctx context.Context) {
	if tracked, ok := ctx.Value(connKey{}).(*conn); ok {
		tracked.owner.release(tracked)
	}
}
