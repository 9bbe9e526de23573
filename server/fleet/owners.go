package fleet

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/session"
)

// Ownership tells that somebody took over a session: its size, or its input,
// which is to be the first who types after somebody else. It says nothing of
// what was typed.
type Ownership struct {
	Session server.SessionKey
	// Action is server.AuditSizeOwner or AuditInputOwner.
	Action string
	By     server.Actor
	Detail string
}

const (
	// ownerInterval is how often somebody is told of at most: of two who type in
	// turns each now and then, and in the end who was last.
	ownerInterval = 10 * time.Second
	// ownersPerHost and ownersAtOnce bound what one host can make us tell, on
	// average in an interval and at once: a host says who owns its sizes.
	ownersPerHost = 5
	ownersAtOnce  = 40
	// maxOwners bounds those of one session who wait to be told of; of more the
	// oldest is dropped.
	maxOwners = 16
)

// ownerKey is a kind of ownership of a session.
type ownerKey struct {
	session server.SessionKey
	action  string
}

// owned is what is known of an ownership.
type owned struct {
	now server.Actor // the zero value when there is nobody
	// told says when somebody was last told of, for those of the last interval.
	told map[identity]time.Time
	// queue holds changes that were not told yet, oldest first.
	queue []Ownership
}

type identity struct {
	kind server.PrincipalKind
	id   string
}

func identityOf(a server.Actor) identity { return identity{a.Kind, a.ID} }

// owners reports changes of ownership, on a goroutine of its own, boundedly.
type owners struct {
	// Static.
	report func(Ownership) // nil: nobody wants to know
	wake   chan struct{}
	done   chan struct{}

	mu     sync.Mutex
	known  map[ownerKey]*owned
	budget map[string]*bucket // by host
}

// bucket holds how many more reports a host may cause.
type bucket struct {
	left float64
	at   time.Time
}

func newOwners(report func(Ownership)) *owners {
	return &owners{report: report, wake: make(chan struct{}, 1), done: make(chan struct{}),
		known: map[ownerKey]*owned{}, budget: map[string]*bucket{}}
}

// note takes who owns something now; a By without a kind is nobody, which is not
// reported by itself.
func (o *owners) note(now Ownership) {
	if o.report == nil {
		return
	}
	key := ownerKey{now.Session, now.Action}
	o.mu.Lock()
	defer o.mu.Unlock()
	entry := o.known[key]
	if entry == nil {
		entry = &owned{told: map[identity]time.Time{}}
		o.known[key] = entry
	}
	if now.By.Same(entry.now) {
		return
	}
	entry.now = now.By
	if now.By.Kind == "" {
		return
	}
	// One that waits already moves to the end, where it belongs now.
	entry.queue = slices.DeleteFunc(entry.queue, func(other Ownership) bool { return other.By.Same(now.By) })
	entry.queue = append(entry.queue, now)
	if len(entry.queue) > maxOwners {
		entry.queue = slices.Delete(entry.queue, 0, 1)
	}
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// forget drops what is known of a session that is gone.
func (o *owners) forget(key server.SessionKey) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.known, ownerKey{key, server.AuditSizeOwner})
	delete(o.known, ownerKey{key, server.AuditInputOwner})
}

// forgetHost drops the budget of a host that was removed.
func (o *owners) forgetHost(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.budget, id)
}

// run reports until stop is closed.
func (o *owners) run(stop <-chan struct{}) {
	defer close(o.done)
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-o.wake:
		case <-timer.C:
		case <-stop:
			return
		}
		ready, next := o.collect(time.Now())
		for _, ownership := range ready {
			o.report(ownership)
		}
		if next > 0 {
			timer.Reset(next)
		}
	}
}

// collect takes what may be reported now, and says when to look again; 0 when
// nothing waits.
func (o *owners) collect(now time.Time) (ready []Ownership, next time.Duration) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for key, entry := range o.known {
		for who, at := range entry.told {
			if now.Sub(at) >= ownerInterval {
				delete(entry.told, who)
			}
		}
		waiting := entry.queue[:0]
		for _, change := range entry.queue {
			at, recently := entry.told[identityOf(change.By)]
			wait := ownerInterval - now.Sub(at)
			switch {
			case recently && !change.By.Same(entry.now):
				continue // was told of a moment ago, and is not the last
			case recently:
			default:
				if wait = o.spend(key.session.Host, now); wait == 0 {
					entry.told[identityOf(change.By)] = now
					ready = append(ready, change)
					continue
				}
			}
			waiting = append(waiting, change)
			if next == 0 || wait < next {
				next = wait
			}
		}
		entry.queue = waiting
	}
	return ready, next
}

// spend takes one report out of a host's budget, or says how long to wait for it.
// The caller holds mu.
func (o *owners) spend(host string, now time.Time) time.Duration {
	const each = ownerInterval / ownersPerHost
	b := o.budget[host]
	if b == nil {
		b = &bucket{left: ownersAtOnce, at: now}
		o.budget[host] = b
	}
	b.left = min(b.left+float64(now.Sub(b.at))/float64(each), ownersAtOnce)
	b.at = now
	if b.left < 1 {
		return each
	}
	b.left--
	return 0
}

// sizeOwned notes who decides a session's size, as its host says. The caller
// holds Fleet.mu.
func (f *Fleet) sizeOwned(e *entry, before, now session.Summary) {
	if before.Owner == now.Owner && before.Session.SizeOwner.Kind == now.Session.SizeOwner.Kind {
		return
	}
	ownership := Ownership{Session: e.key, Action: server.AuditSizeOwner, Detail: fmt.Sprintf("%d×%d", now.Session.Cols, now.Session.Rows)}
	switch now.Session.SizeOwner.Kind {
	case server.OwnerViewer:
		by, ok := e.actor(now.Owner)
		if !ok {
			return // nobody we know: a client of before this server's start
		}
		ownership.By = by
	case server.OwnerLocal:
		ownership.By = server.Actor{Kind: server.PrincipalHost, ID: e.key.Host, Name: now.Session.HostName}
		ownership.Detail += ", a terminal on the host"
	case server.OwnerNone:
	}
	f.owners.note(ownership)
}

// actor is who uses a client id.
func (e *entry) actor(client wire.ClientID) (server.Actor, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if r := e.receivers[client]; r != nil {
		return r.actor(), true
	}
	by, ok := e.claims[client]
	return by, ok
}

// maxClaims bounds the clients of one session that claimed its size over HTTP
// and are remembered.
const maxClaims = 16

// claimed remembers who claimed the size as a client.
func (e *entry) claimed(client wire.ClientID, by server.Actor) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.claims) >= maxClaims {
		clear(e.claims)
	}
	e.claims[client] = by
}
