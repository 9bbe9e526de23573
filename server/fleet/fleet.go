package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/session"
)

// Limits of one host (DESIGN §8).
const (
	// MaxSessions is how many of its sessions may run.
	MaxSessions = 64
	// MaxListed is how many of its sessions are kept, ended ones included.
	MaxListed = 256
)

// Store is the part of the server's store that a Fleet uses.
type Store interface {
	server.HostStore
	server.SessionStore
}

// Config is what a Fleet works with.
type Config struct {
	Store Store
	// Logger gets faults and who comes and goes; nil discards.
	Logger *slog.Logger
	// RingBytes is how many of the newest bytes of each session are kept for
	// viewers while output comes; 0 is 4 MiB.
	RingBytes int
	// Owned is told, one at a time, who took over a session; it may block. nil:
	// nobody wants to know.
	Owned func(Ownership)
}

// Fleet is the registry. Its methods are safe for concurrent use.
type Fleet struct {
	// Static.
	config Config
	logger *slog.Logger
	ctx    context.Context // ends with Close
	stop   context.CancelCauseFunc
	saver  *saver
	owners *owners

	// Guarded by mu.
	mu            sync.Mutex
	hosts         map[string]*host
	sessions      map[server.SessionKey]*entry
	incumbents    map[string]server.SessionKey // by bare id
	subscriptions map[*Subscription]struct{}
	closed        bool
}

// host is an enrolled host. Guarded by Fleet.mu.
type host struct {
	record      server.HostRecord
	link        Link // nil while offline
	connectedAt time.Time
	problem     string
	problemAt   time.Time
}

// entry is a session in the registry.
type entry struct {
	// Static.
	key     server.SessionKey
	session *session.Session

	// summary is the session's last report. Guarded by Fleet.mu.
	summary session.Summary
	// route is the way to its host, nil while that is offline.
	route atomic.Pointer[route]

	mu          sync.Mutex
	receivers   map[wire.ClientID]receiver // guarded by mu
	attachments map[*Attachment]struct{}   // guarded by mu
	typist      server.Actor               // who typed last; guarded by mu
	// claims are the clients that claimed the size over HTTP; guarded by mu.
	claims map[wire.ClientID]server.Actor
	gone   bool // guarded by mu
}

// route is where a session's frames to its host go.
type route struct {
	link   Link
	handle uint32
}

// Open reads the registry from the store: every host is offline and every
// session shows its last screen until its host connects.
func Open(ctx context.Context, c Config) (*Fleet, error) {
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	hosts, err := c.Store.Hosts(ctx)
	if err != nil {
		return nil, fmt.Errorf("read hosts: %w", err)
	}
	records, err := c.Store.Sessions(ctx)
	if err != nil {
		return nil, fmt.Errorf("read sessions: %w", err)
	}
	f := &Fleet{
		config:        c,
		logger:        c.Logger,
		hosts:         map[string]*host{},
		sessions:      map[server.SessionKey]*entry{},
		incumbents:    map[string]server.SessionKey{},
		subscriptions: map[*Subscription]struct{}{},
	}
	f.ctx, f.stop = context.WithCancelCause(context.Background())
	f.saver = newSaver(f)
	f.owners = newOwners(c.Owned)
	for _, record := range hosts {
		f.hosts[record.ID] = &host{record: record}
	}
	// Oldest first: the incumbent of a bare id is the one that came first.
	slices.SortStableFunc(records, func(a, b server.SessionRecord) int { return a.CreatedAt.Compare(b.CreatedAt) })
	for _, record := range records {
		h, ok := f.hosts[record.Host]
		if !ok {
			continue
		}
		e := f.add(h, session.Known{Record: record, SeenAt: h.record.LastSeenAt})
		f.saver.known(e, record)
	}
	go f.saver.run()
	go f.owners.run(f.ctx.Done())
	return f, nil
}

// Close ends the fleet: links are closed, everything that is unsaved is saved
// until ctx ends, subscriptions end with CodeRestarting.
func (f *Fleet) Close(ctx context.Context) error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return nil
	}
	f.closed = true
	entries := f.entries()
	var links []Link
	for _, h := range f.hosts {
		if h.link != nil {
			links = append(links, h.link)
		}
	}
	f.mu.Unlock()
	f.stop(server.NewError(server.CodeRestarting))
	for _, link := range links {
		link.Close(server.NewError(server.CodeRestarting))
	}
	<-f.owners.done
	err := f.saver.finish(ctx, entries)
	for _, e := range entries {
		e.leave()
		e.session.Close()
	}
	if err != nil {
		return fmt.Errorf("save sessions: %w", err)
	}
	return nil
}

// entries lists the registry. The caller holds mu.
func (f *Fleet) entries() []*entry {
	entries := make([]*entry, 0, len(f.sessions))
	for _, e := range f.sessions {
		entries = append(entries, e)
	}
	return entries
}

// add makes a session and its entry. During Open nobody else is there; later
// the caller holds mu.
func (f *Fleet) add(h *host, known session.Known) *entry {
	key := known.Record.SessionKey
	e := &entry{key: key, receivers: map[wire.ClientID]receiver{}, attachments: map[*Attachment]struct{}{}, claims: map[wire.ClientID]server.Actor{}}
	e.session = session.New(session.Config{
		Key: key, HostName: h.record.Name, Ring: f.config.RingBytes,
		Changed: func(summary session.Summary) { f.sessionChanged(e, summary) },
		Load: func(ctx context.Context) (server.SessionSnapshot, error) {
			return f.config.Store.Snapshot(ctx, key)
		},
		Logger: f.logger,
	}, known)
	e.summary = session.SummaryOf(known, h.record.Name)
	f.sessions[key] = e
	if _, taken := f.incumbents[key.ID]; !taken {
		f.incumbents[key.ID] = key
	}
	return e
}

// sessionChanged is called on the session's goroutine.
func (f *Fleet) sessionChanged(e *entry, summary session.Summary) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.sessions[e.key] != e {
		return
	}
	running := !e.summary.Session.State.Ended()
	f.sizeOwned(e, e.summary, summary)
	e.summary = summary
	f.saver.changed(e, summary)
	f.publishSession(e)
	if h := f.hosts[e.key.Host]; h != nil && running == summary.Session.State.Ended() {
		f.publishHost(h)
	}
}

// remove takes a session out of the registry and out of the store.
func (f *Fleet) remove(ctx context.Context, key server.SessionKey) error {
	f.mu.Lock()
	e, ok := f.sessions[key]
	if ok {
		f.dropEntry(e)
	}
	f.mu.Unlock()
	if !ok {
		return server.NewError(server.CodeUnknownSession)
	}
	return f.bury(ctx, e)
}

// bury ends a session that was dropped from the registry.
func (f *Fleet) bury(ctx context.Context, e *entry) error {
	e.leave()
	e.session.Close()
	f.saver.forget(e)
	if err := f.config.Store.DeleteSession(ctx, e.key); err != nil && !errors.Is(err, server.NewError(server.CodeUnknownSession)) {
		return fmt.Errorf("delete session: %w", err)
	}
	return nil
}

// dropEntry removes an entry from the maps and tells of it; the next host that has the same
// bare id becomes its incumbent. The caller holds mu.
func (f *Fleet) dropEntry(e *entry) {
	delete(f.sessions, e.key)
	f.owners.forget(e.key)
	f.publish(change{kind: wire.EventSessionRemoved, key: e.key})
	if h := f.hosts[e.key.Host]; h != nil {
		f.publishHost(h)
	}
	if f.incumbents[e.key.ID] != e.key {
		return
	}
	delete(f.incumbents, e.key.ID)
	var next *entry
	for key, other := range f.sessions {
		if key.ID == e.key.ID && (next == nil || other.summary.CreatedAt.Before(next.summary.CreatedAt)) {
			next = other
		}
	}
	if next != nil {
		f.incumbents[e.key.ID] = next.key
	}
}

// Find names a session by its id and, if host is not empty, its host's id. A
// bare id means the session that had it first. It fails with
// CodeUnknownSession.
func (f *Fleet) Find(host, id string) (server.SessionKey, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key := server.SessionKey{Host: host, ID: id}
	if host == "" {
		key = f.incumbents[id]
	}
	if _, ok := f.sessions[key]; !ok {
		return server.SessionKey{}, server.NewError(server.CodeUnknownSession)
	}
	return key, nil
}

func (f *Fleet) entry(key server.SessionKey) (*entry, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.sessions[key]
	if !ok {
		return nil, server.NewError(server.CodeUnknownSession)
	}
	return e, nil
}

// Session is one session as it is shown. It fails with CodeUnknownSession.
func (f *Fleet) Session(key server.SessionKey) (server.Session, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	e, ok := f.sessions[key]
	if !ok {
		return server.Session{}, server.NewError(server.CodeUnknownSession)
	}
	return e.summary.At(time.Now()), nil
}

// Sessions lists all sessions of all hosts, newest id first.
func (f *Fleet) Sessions() []server.Session {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.listSessions(func(server.SessionKey) bool { return true })
}

// listSessions lists the sessions that allowed takes. The caller holds mu.
func (f *Fleet) listSessions(allowed func(server.SessionKey) bool) []server.Session {
	list := make([]server.Session, 0, len(f.sessions))
	now := time.Now()
	for key, e := range f.sessions {
		if allowed(key) {
			list = append(list, e.summary.At(now))
		}
	}
	slices.SortFunc(list, func(a, b server.Session) int {
		return cmp.Or(cmp.Compare(b.ID, a.ID), cmp.Compare(a.Host, b.Host))
	})
	return list
}

// Screen writes a session's screen down.
func (f *Fleet) Screen(ctx context.Context, key server.SessionKey, format session.Format) ([]byte, error) {
	e, err := f.entry(key)
	if err != nil {
		return nil, err
	}
	data, err := e.session.Screen(ctx, format)
	return data, noSession(err)
}

// Watching is how many people look at a session now (NET-10).
func (f *Fleet) Watching(ctx context.Context, key server.SessionKey) (int, error) {
	e, err := f.entry(key)
	if err != nil {
		return 0, err
	}
	n, err := e.session.Watching(ctx)
	return n, noSession(err)
}

// noSession turns the end of a session while it was asked into its code.
func noSession(err error) error {
	if errors.Is(err, session.ErrClosed) {
		return server.NewError(server.CodeUnknownSession)
	}
	return err
}
