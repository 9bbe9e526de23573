package fleet

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
)

// maxDirty is how many things may have changed before a subscriber that did not
// ask meanwhile is given a new snapshot instead.
const maxDirty = 512

// maxSnapshot bounds the sessions of one snapshot in bytes of JSON: a frame,
// less room for the hosts.
const maxSnapshot = wire.MaxFrame / 2

// change is one change of the registry as subscribers are told of it. The body
// of a session or host event is encoded once for all of them.
type change struct {
	kind string
	key  server.SessionKey // of a session; only Host for a host
	body *body             // nil for removals
	host *server.Host      // for a host
	// session and owner are set for a session.
	session *server.Session
	owner   wire.ClientID
	device  *server.Device // for a new device
	pairing string         // the id of a host's request for a code
}

// body is JSON that is encoded by whoever needs it first.
type body struct {
	once  sync.Once
	value any
	json  json.RawMessage
	err   error
}

func (b *body) encode() (json.RawMessage, error) {
	b.once.Do(func() { b.json, b.err = json.Marshal(b.value) })
	return b.json, b.err
}

// id tells what a change is about; a later change of the same thing replaces an
// earlier one.
func (c change) id() server.SessionKey {
	if c.device != nil {
		return server.SessionKey{Host: "device " + c.device.ID} // no host's id has a space
	}
	if c.pairing != "" {
		return server.SessionKey{Host: "pairing " + c.pairing}
	}
	return c.key
}

// AnnounceDevice tells everybody who could revoke it, itself apart, of a device
// that was paired just now.
func (f *Fleet) AnnounceDevice(device server.Device) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.publish(change{kind: wire.EventDevice, device: &device, body: &body{value: &device}})
}

// AnnouncePairing tells everybody who could confirm it of a host's request for a
// code.
func (f *Fleet) AnnouncePairing(request server.Pairing) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.publish(change{kind: wire.EventPairing, pairing: request.ID, body: &body{value: &request}})
}

// PairingOver tells those who were told of a request that it needs no decision
// any more.
func (f *Fleet) PairingOver(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.publish(change{kind: wire.EventPairingRemoved, pairing: id, body: &body{value: struct {
		ID string `json:"id"`
	}{id}}})
}

// publishSession tells of a session as it is now. The caller holds mu.
func (f *Fleet) publishSession(e *entry) {
	if len(f.subscriptions) == 0 {
		return
	}
	item := e.summary.At(time.Now())
	f.publish(change{kind: wire.EventSession, key: e.key, session: &item, owner: e.summary.Owner, body: &body{value: &item}})
}

// publishHost tells of a host as it is now. The caller holds mu.
func (f *Fleet) publishHost(h *host) {
	if len(f.subscriptions) == 0 {
		return
	}
	item := f.shownHost(h, time.Now(), everySession)
	f.publish(change{kind: wire.EventHost, key: server.SessionKey{Host: item.ID}, host: &item, body: &body{value: &item}})
}

// publish hands a change to every subscriber that may see it. The caller holds
// mu.
func (f *Fleet) publish(c change) {
	for s := range f.subscriptions {
		if s.allowed(c) {
			s.put(c)
		}
	}
}

// Subscription is one subscriber to the changes of the registry. It gets one
// snapshot and then what changed, the newest state of each thing only; when it
// does not ask for long, it gets a new snapshot. Next is called by one
// goroutine.
type Subscription struct {
	// Static.
	fleet     *Fleet
	principal server.Principal
	owns      func(wire.ClientID) bool
	notify    func() // must not block
	wake      chan struct{}

	mu       sync.Mutex
	snapshot bool                         // a snapshot is due; guarded by mu
	order    []server.SessionKey          // guarded by mu
	dirty    map[server.SessionKey]change // guarded by mu
	// shown is what a principal that sees only some sessions was last told of
	// each host. Owned by Next.
	shown map[string]server.Host
}

// Subscribe gives p the changes that it may see, by Next. The caller closes the
// subscription.
func (f *Fleet) Subscribe(p server.Principal) *Subscription {
	return f.subscribe(p, func(wire.ClientID) bool { return false }, nil)
}

// SubscribeViewer is Subscribe for a viewer. owns says which clients are its
// own, so that it is told of a size that is its own; notify is called, and must
// not block, when Take has something.
func (f *Fleet) SubscribeViewer(p server.Principal, owns func(wire.ClientID) bool, notify func()) *Subscription {
	return f.subscribe(p, owns, notify)
}

func (f *Fleet) subscribe(p server.Principal, owns func(wire.ClientID) bool, notify func()) *Subscription {
	s := &Subscription{
		fleet: f, principal: p, owns: owns, snapshot: true,
		wake:  make(chan struct{}, 1),
		dirty: map[server.SessionKey]change{},
		shown: map[string]server.Host{},
	}
	s.notify = notify
	if notify == nil {
		s.notify = func() {
			select {
			case s.wake <- struct{}{}:
			default:
			}
		}
	}
	s.notify()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.subscriptions[s] = struct{}{}
	return s
}

// Close ends the subscription. Next fails from then on only by its context.
func (s *Subscription) Close() {
	s.fleet.mu.Lock()
	defer s.fleet.mu.Unlock()
	delete(s.fleet.subscriptions, s)
}

// Next waits for changes and returns them as events: at first and after an
// overflow one snapshot. It fails with the cause of ctx, or with CodeRestarting
// when the fleet closes.
func (s *Subscription) Next(ctx context.Context) ([]wire.Event, error) {
	for {
		select {
		case <-s.wake:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-s.fleet.ctx.Done():
			return nil, context.Cause(s.fleet.ctx)
		}
		events, err := s.Take()
		if err != nil || len(events) > 0 {
			return events, err
		}
	}
}

// Take returns what there is without waiting, which may be nothing.
func (s *Subscription) Take() ([]wire.Event, error) {
	s.mu.Lock()
	snapshot := s.snapshot
	s.mu.Unlock()
	if snapshot {
		return s.takeSnapshot()
	}
	s.mu.Lock()
	changes := make([]change, 0, len(s.order))
	for _, id := range s.order {
		changes = append(changes, s.dirty[id])
	}
	s.order = s.order[:0]
	clear(s.dirty)
	s.mu.Unlock()
	var events []wire.Event
	for _, c := range changes {
		event, show, err := s.event(c)
		if err != nil {
			return nil, err
		}
		if show {
			events = append(events, event)
		}
	}
	return events, nil
}

// put notes a change. The caller holds Fleet.mu.
func (s *Subscription) put(c change) {
	s.mu.Lock()
	if !s.snapshot {
		id := c.id()
		if _, known := s.dirty[id]; !known {
			s.order = append(s.order, id)
		}
		s.dirty[id] = c
		if len(s.order) > maxDirty {
			s.snapshot, s.order = true, nil
			clear(s.dirty)
		}
	}
	s.mu.Unlock()
	s.notify()
}

// takeSnapshot is everything that the subscriber may see. Changes from before
// are in it, changes from now on come after it. Sessions beyond what fits into
// one frame follow as changes.
func (s *Subscription) takeSnapshot() ([]wire.Event, error) {
	f := s.fleet
	f.mu.Lock()
	sessions := f.listSessions(s.principal.CanSee)
	for i := range sessions {
		if owner := f.sessions[sessions[i].Key()].summary.Owner; !owner.IsZero() && s.owns(owner) {
			sessions[i].SizeOwner.Mine = true
		}
	}
	hosts := f.listHosts(s.canSeeHost, s.principal.CanSee)
	s.mu.Lock()
	s.snapshot, s.order = false, nil
	clear(s.dirty)
	s.mu.Unlock()
	f.mu.Unlock()
	if !s.principal.Binding.IsZero() {
		for i := range hosts {
			hosts[i].Problem = ""
			s.shown[hosts[i].ID] = timeless(hosts[i])
		}
	}
	items := make([]json.RawMessage, 0, len(sessions))
	var events []wire.Event
	size := 0
	for _, item := range sessions {
		data, err := json.Marshal(item)
		if err != nil {
			return nil, fmt.Errorf("encode snapshot: %w", err)
		}
		if size += len(data); size <= maxSnapshot {
			items = append(items, data)
		} else {
			events = append(events, wire.Event{Kind: wire.EventSession, Body: data})
		}
	}
	data, err := json.Marshal(struct {
		Hosts    []server.Host     `json:"hosts"`
		Sessions []json.RawMessage `json:"sessions"`
	}{hosts, items})
	if err != nil {
		return nil, fmt.Errorf("encode snapshot: %w", err)
	}
	return append([]wire.Event{{Kind: wire.EventSnapshot, Body: data}}, events...), nil
}

// event encodes a change for this subscriber; show is false when it is none for
// it.
func (s *Subscription) event(c change) (event wire.Event, show bool, err error) {
	event.Kind = c.kind
	switch {
	case c.kind == wire.EventSessionRemoved:
		event.Body, err = json.Marshal(struct {
			Host string `json:"host"`
			ID   string `json:"id"`
		}{c.key.Host, c.key.ID})
	case c.kind == wire.EventHostRemoved:
		event.Body, err = json.Marshal(struct {
			ID string `json:"id"`
		}{c.key.Host})
	case c.session != nil && !c.owner.IsZero() && s.owns(c.owner):
		own := *c.session
		own.SizeOwner.Mine = true
		event.Body, err = json.Marshal(own)
	case c.host != nil && !s.principal.Binding.IsZero():
		return s.boundHost(c)
	default:
		event.Body, err = c.body.encode()
	}
	if err != nil {
		return event, false, fmt.Errorf("encode event: %w", err)
	}
	return event, true, nil
}

// boundHost tells a principal that sees only some sessions of a host. What goes
// on in other sessions must not show, not even as an event without news
// (THREATS S-9).
func (s *Subscription) boundHost(c change) (event wire.Event, show bool, err error) {
	item := *c.host
	item.Problem = ""
	item.Sessions = s.countSessions(item.ID)
	if before, ok := s.shown[item.ID]; ok && before == timeless(item) {
		return event, false, nil
	}
	s.shown[item.ID] = timeless(item)
	data, err := json.Marshal(item)
	if err != nil {
		return event, false, fmt.Errorf("encode event: %w", err)
	}
	return wire.Event{Kind: c.kind, Body: data}, true, nil
}

func (s *Subscription) countSessions(host string) (n int) {
	s.fleet.mu.Lock()
	defer s.fleet.mu.Unlock()
	for key, e := range s.fleet.sessions {
		if key.Host == host && !e.summary.Session.State.Ended() && s.principal.CanSee(key) {
			n++
		}
	}
	return n
}

// timeless is a host without what changes by itself.
func timeless(h server.Host) server.Host {
	h.ConnectedMS, h.LastSeenMS, h.CreatedMS = 0, 0, 0
	return h
}

// allowed says whether the principal may be told of a change at all.
func (s *Subscription) allowed(c change) bool {
	if c.device != nil || c.pairing != "" {
		p := s.principal
		return p.Scopes.Has(server.ScopeAdmin) && p.Binding.IsZero() && (c.device == nil || p.Kind != server.PrincipalDevice || p.ID != c.device.ID)
	}
	if c.key.ID != "" {
		return s.principal.CanSee(c.key)
	}
	return s.canSeeHost(c.key.Host)
}

func (s *Subscription) canSeeHost(id string) bool {
	p := s.principal
	if !p.Scopes.Has(server.ScopeRead) {
		return false
	}
	if p.Binding.IsZero() {
		return true
	}
	for _, key := range p.Binding.Sessions {
		if key.Host == id {
			return true
		}
	}
	return false
}
