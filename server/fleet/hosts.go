package fleet

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/agent-helm/agent-helm/internal/logging"
	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/session"
)

const (
	// aliveTimeout is how long a host's present link may take to show a sign of
	// life while another one asks for its place.
	aliveTimeout = 3 * time.Second
	// problemLifetime is how long a refused second daemon is shown.
	problemLifetime = 10 * time.Minute
)

// Link is a connected host. Its methods do not block, but for Call and Alive.
type Link interface {
	// Instance is the daemon process's own random name.
	Instance() string
	// Describe says in a few words which daemon it is: version, age, address.
	Describe() string
	// Send queues a control frame. false: the link is closing or its queue is
	// full, nothing was queued.
	Send(f wire.Frame) bool
	// Input queues an input that was received at a moment; the link adds the
	// time it waits to its age. false as in Send.
	Input(f wire.Input, received time.Time) bool
	// Upstream is the way back for one session's stream.
	Upstream(handle uint32) session.Upstream
	// Call calls a method of the host and decodes its result, if not nil.
	Call(ctx context.Context, method string, params, result any) error
	// Alive asks for a sign of life and reports whether one came before ctx
	// ended.
	Alive(ctx context.Context) bool
	// Close ends the link with a reason that the host is told.
	Close(reason *server.Error)
}

// Connection is one link's place in the fleet. Its methods are called by one
// goroutine, the link's reader.
type Connection struct {
	fleet  *Fleet
	host   string
	link   Link
	routes map[uint32]*connected
}

// connected is a session that a link carries.
type connected struct {
	entry    *entry
	route    *route
	upstream session.Upstream
}

// Connect gives a host's link its place. Of two links with the same instance
// the newer one wins; a link of another instance is refused with
// CodeDuplicateHost while the present one is alive. The welcome says for every
// announced session from where to send it.
func (f *Fleet) Connect(ctx context.Context, hostID string, link Link, hello *wire.HostHello) (*Connection, *wire.HostWelcome, error) {
	name, err := f.take(ctx, hostID, link, hello)
	if err != nil {
		return nil, nil, err
	}
	c := &Connection{fleet: f, host: hostID, link: link, routes: map[uint32]*connected{}}
	welcome := &wire.HostWelcome{Host: name, Resume: []wire.SessionResume{}}
	announced := map[string]bool{}
	for _, info := range hello.Sessions {
		resume, err := c.Open(ctx, info)
		if err != nil {
			c.Close()
			return nil, nil, err
		}
		if resume.Refused == "" {
			announced[info.ID] = true
		}
		welcome.Resume = append(welcome.Resume, resume)
	}
	f.loseUnannounced(hostID, announced)
	return c, welcome, nil
}

// take makes link the host's link.
func (f *Fleet) take(ctx context.Context, hostID string, link Link, hello *wire.HostHello) (name string, err error) {
	version := untrusted.Clean(hello.Version, server.MaxName)
	var dead Link // was asked and gave no sign of life
	for {
		f.mu.Lock()
		h, ok := f.hosts[hostID]
		if !ok || f.closed {
			closed := f.closed
			f.mu.Unlock()
			if closed {
				return "", server.NewError(server.CodeRestarting)
			}
			return "", server.NewError(server.CodeUnknownHost)
		}
		old := h.link
		if old == nil || old == dead || old.Instance() == link.Instance() {
			now := time.Now()
			h.link, h.connectedAt = link, now
			h.record.LastSeenAt, h.record.Version = now, version
			if old != nil {
				// Two daemons are no problem any more.
				h.problem = ""
			}
			name = h.record.Name
			f.publishHost(h)
			f.mu.Unlock()
			if old != nil {
				old.Close(server.Errorf(server.CodeConflict, "a newer connection of this host took over"))
			}
			f.saver.seen(hostID, now, version)
			f.logger.Info("host connected", logging.KeyHost, hostID, "version", version)
			return name, nil
		}
		f.mu.Unlock()
		probe, cancel := context.WithTimeout(ctx, aliveTimeout)
		alive := old.Alive(probe)
		cancel()
		if ctx.Err() != nil {
			return "", context.Cause(ctx)
		}
		if alive {
			refusal := server.Errorf(server.CodeDuplicateHost,
				"another daemon uses this host's token: connected is %s; refused is %s. Stop one, or enrol it as a host of its own", old.Describe(), link.Describe())
			f.refused(hostID, refusal.Message)
			return "", refusal
		}
		dead = old
	}
}

// refused shows a second daemon on the host's row.
func (f *Fleet) refused(hostID, message string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if h := f.hosts[hostID]; h != nil {
		h.problem, h.problemAt = untrusted.Clean(message, server.MaxText), time.Now()
		f.publishHost(h)
	}
}

// loseUnannounced marks what should run but is no longer known to its host.
// Ended sessions stay until a person forgets them.
func (f *Fleet) loseUnannounced(hostID string, announced map[string]bool) {
	f.mu.Lock()
	var lost []*entry
	for key, e := range f.sessions {
		if key.Host == hostID && !announced[key.ID] && !e.summary.Session.State.Ended() {
			lost = append(lost, e)
		}
	}
	f.mu.Unlock()
	for _, e := range lost {
		e.session.Lose("its host no longer knows it")
	}
}

// Open takes a session that the host announced. A session that cannot be taken
// is refused in the answer; an error ends the link.
func (c *Connection) Open(ctx context.Context, info wire.SessionInfo) (wire.SessionResume, error) {
	refuse := func(reason string) (wire.SessionResume, error) {
		return wire.SessionResume{Handle: info.Handle, Refused: reason}, nil
	}
	switch {
	case !server.ValidSessionID(info.ID):
		return refuse("the session id is not of the form that hosts give")
	case info.End.Offset < info.Start.Offset || info.End.Marks < info.Start.Marks:
		return refuse("the log ends before it starts")
	case info.Cols < 1 || info.Rows < 1 || info.Cols > wire.MaxColumns || info.Rows > wire.MaxRows:
		return refuse("the terminal's size is out of bounds")
	case c.routes[info.Handle] != nil:
		return refuse("the handle is taken")
	}
	for _, r := range c.routes {
		if r.entry.key.ID == info.ID {
			return refuse("the session is announced twice")
		}
	}
	e, err := c.fleet.admit(ctx, server.SessionKey{Host: c.host, ID: info.ID}, info)
	if err != nil {
		return refuse(err.Error())
	}
	if e == nil {
		return wire.SessionResume{}, server.NewError(server.CodeRestarting)
	}
	r := &connected{entry: e, route: &route{link: c.link, handle: info.Handle}, upstream: c.link.Upstream(info.Handle)}
	resume, err := e.session.Connect(ctx, r.upstream, info)
	if err != nil {
		return wire.SessionResume{}, noSession(err)
	}
	e.route.Store(r.route)
	c.routes[info.Handle] = r
	return resume, nil
}

// admit finds the session or makes it, within the host's limits. Neither an
// entry nor an error: the host or the fleet is gone.
func (f *Fleet) admit(ctx context.Context, key server.SessionKey, info wire.SessionInfo) (*entry, error) {
	f.mu.Lock()
	h := f.hosts[key.Host]
	e, known := f.sessions[key]
	if h == nil || f.closed || known {
		f.mu.Unlock()
		return e, nil
	}
	running, listed := 0, 0
	var oldest *entry // of those that have ended
	for other, e := range f.sessions {
		if other.Host != key.Host {
			continue
		}
		listed++
		if !e.summary.Session.State.Ended() {
			running++
		} else if oldest == nil || e.summary.EndedAt.Before(oldest.summary.EndedAt) {
			oldest = e
		}
	}
	ended := server.SessionState(info.Meta.State).Ended()
	switch {
	case !ended && running >= MaxSessions:
		f.mu.Unlock()
		return nil, server.Errorf(server.CodeLimit, "this host runs %d sessions, which is the limit", running)
	case ended && listed >= MaxListed:
		f.mu.Unlock()
		return nil, server.Errorf(server.CodeLimit, "%d sessions of this host are listed, which is the limit: forget some", listed)
	case listed < MaxListed:
		oldest = nil
	default:
		f.dropEntry(oldest) // there is one: fewer than MaxSessions run
	}
	e = f.add(h, session.KnownFrom(key, info, time.Now()))
	f.publishSession(e)
	f.publishHost(h)
	f.mu.Unlock()
	if oldest != nil {
		if err := f.bury(ctx, oldest); err != nil {
			f.logger.Error("old session not deleted", logging.KeySession, oldest.key.ID, logging.KeyError, err.Error())
		}
	}
	return e, nil
}

// Carries says whether a handle is that of a session.
func (c *Connection) Carries(handle uint32) bool { return c.routes[handle] != nil }

// Update takes the host's new word on a session. Unknown handles are ignored:
// the session may have been forgotten meanwhile.
func (c *Connection) Update(ctx context.Context, handle uint32, meta wire.SessionMeta) {
	if r := c.routes[handle]; r != nil {
		// It fails when the session was forgotten or the link ends.
		r.entry.session.Update(ctx, meta) //nolint:errcheck // see above
	}
}

// Forgotten takes a session out that a person on the host had forgotten.
func (c *Connection) Forgotten(ctx context.Context, handle uint32) error {
	r := c.routes[handle]
	if r == nil {
		return nil
	}
	delete(c.routes, handle)
	r.entry.route.CompareAndSwap(r.route, nil)
	err := c.fleet.remove(ctx, r.entry.key)
	if server.CodeOf(err) == server.CodeUnknownSession {
		return nil
	}
	return err
}

// Feed takes in a frame of a session's stream. It waits while the session is
// busy. Unknown handles are ignored.
func (c *Connection) Feed(handle uint32, f wire.Frame) {
	if r := c.routes[handle]; r != nil {
		r.entry.session.Feed(f)
	}
}

// InputAck takes the holder's word on an input to whom it concerns.
func (c *Connection) InputAck(ack wire.InputAck) {
	if r := c.routes[ack.Handle]; r != nil {
		if typist, other := r.entry.acknowledged(ack); other {
			c.fleet.owners.note(Ownership{Session: r.entry.key, Action: server.AuditInputOwner, By: typist})
		}
	}
}

// Close takes the link out of its place, unless another one has it already.
func (c *Connection) Close() {
	f := c.fleet
	for _, r := range c.routes {
		if r.entry.route.CompareAndSwap(r.route, nil) {
			r.entry.offline()
		}
		r.entry.session.Disconnect(r.upstream)
		f.saver.parted(r.entry)
	}
	clear(c.routes)
	now := time.Now()
	f.mu.Lock()
	h := f.hosts[c.host]
	left := h != nil && h.link == c.link
	var version string
	if left {
		h.link = nil
		h.record.LastSeenAt = now
		version = h.record.Version
		f.publishHost(h)
	}
	f.mu.Unlock()
	if left {
		f.saver.seen(c.host, now, version)
		f.logger.Info("host disconnected", logging.KeyHost, c.host)
	}
}

// AddHost takes a host that was enrolled, or renamed.
func (f *Fleet) AddHost(record server.HostRecord) {
	f.mu.Lock()
	h, known := f.hosts[record.ID]
	if !known {
		h = &host{record: record}
		f.hosts[record.ID] = h
	}
	var renamed []*entry
	if h.record.Name != record.Name {
		h.record.Name = record.Name
		for key, e := range f.sessions {
			if key.Host == record.ID {
				renamed = append(renamed, e)
			}
		}
	}
	f.publishHost(h)
	f.mu.Unlock()
	for _, e := range renamed {
		e.session.Rename(record.Name)
	}
}

// RemoveHost takes a host out that was deleted from the store, with its link
// and its sessions.
func (f *Fleet) RemoveHost(ctx context.Context, id string) {
	f.mu.Lock()
	h, ok := f.hosts[id]
	if !ok {
		f.mu.Unlock()
		return
	}
	delete(f.hosts, id)
	f.owners.forgetHost(id)
	var keys []server.SessionKey
	for key := range f.sessions {
		if key.Host == id {
			keys = append(keys, key)
		}
	}
	f.publish(change{kind: wire.EventHostRemoved, key: server.SessionKey{Host: id}})
	f.mu.Unlock()
	if h.link != nil {
		h.link.Close(server.NewError(server.CodeRevoked))
	}
	for _, key := range keys {
		if err := f.remove(ctx, key); err != nil && server.CodeOf(err) != server.CodeUnknownSession {
			f.logger.Error("session of a removed host not deleted", logging.KeyHost, id, logging.KeySession, key.ID, logging.KeyError, err.Error())
		}
	}
}

// Host is one host as it is shown. It fails with CodeUnknownHost.
func (f *Fleet) Host(id string) (server.Host, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h, ok := f.hosts[id]
	if !ok {
		return server.Host{}, server.NewError(server.CodeUnknownHost)
	}
	return f.shownHost(h, time.Now(), everySession), nil
}

// Hosts lists all hosts by name.
func (f *Fleet) Hosts() []server.Host {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.listHosts(func(string) bool { return true }, everySession)
}

func everySession(server.SessionKey) bool { return true }

// listHosts lists the hosts that allowed takes. The caller holds mu.
func (f *Fleet) listHosts(allowed func(id string) bool, counted func(server.SessionKey) bool) []server.Host {
	list := make([]server.Host, 0, len(f.hosts))
	now := time.Now()
	for id, h := range f.hosts {
		if allowed(id) {
			list = append(list, f.shownHost(h, now, counted))
		}
	}
	slices.SortFunc(list, func(a, b server.Host) int {
		if c := strings.Compare(a.Name, b.Name); c != 0 {
			return c
		}
		return strings.Compare(a.ID, b.ID)
	})
	return list
}

// shownHost is a host as it is shown, with the running sessions that counted
// takes. The caller holds mu.
func (f *Fleet) shownHost(h *host, now time.Time, counted func(server.SessionKey) bool) server.Host {
	item := server.Host{
		ID: h.record.ID, Name: h.record.Name,
		Online:     h.link != nil,
		LastSeenMS: -1,
		CreatedMS:  max(now.Sub(h.record.CreatedAt).Milliseconds(), 0),
		Version:    untrusted.Text(h.record.Version),
	}
	switch {
	case item.Online:
		item.ConnectedMS, item.LastSeenMS = now.Sub(h.connectedAt).Milliseconds(), 0
	case !h.record.LastSeenAt.IsZero():
		item.LastSeenMS = max(now.Sub(h.record.LastSeenAt).Milliseconds(), 1)
	}
	if h.problem != "" && now.Sub(h.problemAt) < problemLifetime {
		item.Problem = untrusted.Text(h.problem)
	}
	for key, e := range f.sessions {
		if key.Host == item.ID && !e.summary.Session.State.Ended() && counted(key) {
			item.Sessions++
		}
	}
	return item
}

// link is a host's link. It fails with CodeUnknownHost or CodeHostOffline.
func (f *Fleet) link(hostID string) (Link, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	h, ok := f.hosts[hostID]
	switch {
	case !ok:
		return nil, server.NewError(server.CodeUnknownHost)
	case h.link == nil:
		return nil, server.NewError(server.CodeHostOffline)
	}
	return h.link, nil
}
