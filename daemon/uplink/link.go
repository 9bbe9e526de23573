package uplink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/coder/websocket"
	"golang.org/x/sync/errgroup"
)

const (
	// writeTimeout bounds one message on its way into the socket; a server that
	// is stopped or behind a black hole costs the link and nothing else.
	writeTimeout = wire.HeartbeatTimeout
	// helloTimeout bounds what the holders may take to describe their sessions
	// before the hello goes out without the rest.
	helloTimeout = 2 * time.Second
	// readerGrace is how long a failed write waits for the reader's reason.
	readerGrace = time.Second
	// maxCalls bounds the calls of the server that run at once.
	maxCalls = 16
	// callTimeout bounds one call.
	callTimeout = 30 * time.Second
)

// errSlept ends a link whose age says nothing any more: what the socket still
// holds may have been typed long ago. The senders have it and decide anew.
var errSlept = errors.New("the computer slept or its clock was set")

// errPairingChanged ends a link because this host was paired anew, or unpaired.
var errPairingChanged = errors.New("this host's pairing changed")

var errSilent = fmt.Errorf("the server was silent for %v", wire.HeartbeatTimeout)

// errProtocol is a fault in what the server sent.
type errProtocol struct{ err error }

func (e *errProtocol) Error() string { return "the server sent something wrong: " + e.err.Error() }
func (e *errProtocol) Unwrap() error { return e.err }

// link is one connection to the server, from hello to its end.
type link struct {
	// static
	u      *Uplink
	config daemon.HostConfig
	socket *websocket.Conn
	box    *outbox
	opened time.Time
	proved func()
	calls  chan struct{} // a slot per running call

	// owned by the reader
	delay    wire.Delay
	sleep    sleepWatch
	welcomed bool

	// restart is what the server said of its return, and problem its last
	// sentence on the link as a whole; read after run.
	restart time.Duration
	problem string

	mu       sync.Mutex
	sessions map[uint32]*session
	byID     map[string]*session
	handles  uint32
	// pings that wait for their Pong, by nonce.
	pings map[uint64]time.Time
	nonce uint64

	group *errgroup.Group
	// ready is closed once the server said welcome.
	ready chan struct{}
}

func newLink(u *Uplink, config daemon.HostConfig, socket *websocket.Conn, proved func()) *link {
	return &link{
		u: u, config: config, socket: socket, box: newOutbox(time.Now), opened: time.Now(), proved: proved,
		calls:    make(chan struct{}, maxCalls),
		sessions: make(map[uint32]*session), byID: make(map[string]*session),
		pings: make(map[uint64]time.Time), ready: make(chan struct{}),
	}
}

func milliseconds(d time.Duration) uint32 {
	return uint32(min(max(d.Milliseconds(), 0), 1<<32-1))
}

// run serves the link until it ends and returns why, after all its goroutines.
func (l *link) run(ctx context.Context) error {
	defer l.socket.CloseNow() //nolint:errcheck // it is closed already, or of no use any more
	changes, unsubscribe := l.u.options.Sessions.Subscribe()
	defer unsubscribe()
	hello, err := l.hello(ctx)
	if err == nil {
		err = l.box.send(hello)
	}
	if err != nil {
		l.closeSessions()
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	l.group = group
	group.Go(func() error {
		err := l.read(ctx)
		l.complain(err)
		return err
	})
	group.Go(func() error { return l.write(ctx) })
	group.Go(func() error { return l.heartbeat(ctx) })
	group.Go(func() error { return l.manage(ctx, changes) })
	for _, s := range l.snapshot() {
		group.Go(func() error { return s.run(ctx) })
	}
	group.Go(func() error {
		// Ends every wait that no context reaches.
		<-ctx.Done()
		l.box.fail(context.Cause(ctx))
		return nil
	})
	return group.Wait()
}

// complain closes the socket with a code when the server misbehaved. It has to
// happen before the others are told to end, because a write that is cut short
// closes the socket without one.
func (l *link) complain(err error) {
	var protocol *errProtocol
	if !errors.As(err, &protocol) {
		return
	}
	code := websocket.StatusCode(wire.CloseProtocol)
	if errors.Is(err, wire.ErrVersion) {
		code = wire.CloseVersion
	}
	_ = l.socket.Close(code, "") // telling it is a courtesy
}

func (l *link) snapshot() []*session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Values(l.sessions))
}

func (l *link) closeSessions() {
	for _, s := range l.snapshot() {
		s.closeFirst()
	}
}

// hello lists the sessions and asks their holders, at once, for what they hold.
func (l *link) hello(ctx context.Context) (*wire.HostHello, error) {
	list, err := l.u.options.Sessions.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	list = limitSessions(list)
	l.u.forgetOthers(list)
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	infos := make([]wire.SessionInfo, len(list))
	var group errgroup.Group
	for i, item := range list {
		s := l.add(item)
		group.Go(func() error {
			infos[i] = s.describe(ctx, item)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	l.u.change(func(s *Status) { s.Sessions = len(list) })
	return &wire.HostHello{
		Instance: l.u.instance, Version: l.u.options.Version, VT: l.u.options.VT,
		Capabilities: l.capabilities(), Sessions: l.fitting(infos),
	}, nil
}

// fitting is the announcements that one frame takes. The rest are announced
// one by one after the welcome, as if they had just begun.
func (l *link) fitting(infos []wire.SessionInfo) []wire.SessionInfo {
	const room = wire.MaxFrame / 2
	size := 0
	for i, info := range infos {
		if encoded, err := json.Marshal(info); err == nil {
			size += len(encoded)
		}
		if size > room {
			for _, late := range infos[i:] {
				l.drop(l.session(late.Handle))
			}
			return infos[:i]
		}
	}
	return infos
}

// maxAnnounced bounds the sessions of one hello: those that run, and the newest
// of those that ended, so that the hello always fits into a frame.
const maxAnnounced = 4 * daemon.MaxSessions

func limitSessions(list []daemon.Session) []daemon.Session {
	list = slices.Clone(list)
	for i := 0; i < len(list) && len(list) > maxAnnounced; {
		if list[i].State == daemon.StateRunning {
			i++
			continue
		}
		list = slices.Delete(list, i, i+1)
	}
	return list[:min(len(list), maxAnnounced)]
}

// add makes the link's side of a session and gives it a handle.
func (l *link) add(item daemon.Session) *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.handles++
	s := newSession(l, item.ID, l.handles)
	l.sessions[s.handle] = s
	l.byID[s.id] = s
	return s
}

func (l *link) session(handle uint32) *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sessions[handle]
}

// drop forgets a session, which ends by itself once cancelled.
func (l *link) drop(s *session) {
	l.mu.Lock()
	delete(l.sessions, s.handle)
	delete(l.byID, s.id)
	l.mu.Unlock()
	s.stop()
	s.closeFirst()
	l.box.remove(s.lane)
	l.u.warn("session "+s.id, "")
}

// capabilities is what the policy lets the server use.
func (l *link) capabilities() []string {
	policy := l.u.policy()
	var list []string
	if policy.Watch {
		list = append(list, "watch")
	}
	if policy.Input {
		list = append(list, "input")
	}
	switch policy.Start {
	case daemon.StartKnown:
		list = append(list, "start")
	case daemon.StartAny:
		list = append(list, "start", "start-any")
	}
	return list
}

// write is the only goroutine that writes to the socket.
func (l *link) write(ctx context.Context) error {
	buffer := wire.AppendPreamble(make([]byte, 0, 64<<10))
	var reports []written
	for {
		var err error
		buffer, reports, err = l.box.next(ctx, buffer, reports[:0], l.stamp)
		if err != nil {
			return err
		}
		writing, cancel := context.WithTimeout(ctx, writeTimeout)
		err = l.socket.Write(writing, websocket.MessageBinary, buffer)
		cancel()
		if err != nil {
			if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
				return errPeerStopped
			}
			return l.afterReader(ctx, fmt.Errorf("write to server: %w", err))
		}
		l.box.wrote(reports)
		if cap(buffer) > wire.MaxFrame/2 {
			// A page made it large; the next messages are small again.
			buffer = make([]byte, 0, 64<<10)
		}
		buffer = buffer[:0]
	}
}

// afterReader gives the reader a moment to report the server's own reason,
// which is better than that a write failed, and returns err otherwise.
func (l *link) afterReader(ctx context.Context, err error) error {
	timer := time.NewTimer(readerGrace)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return err
}

// stamp sets what a frame says of the moment it is sent.
func (l *link) stamp(f wire.Frame) {
	switch f := f.(type) {
	case *wire.Ping:
		f.Sent = milliseconds(time.Since(l.opened))
		if !isProbe(f.Nonce) {
			l.mu.Lock()
			l.pings[f.Nonce] = time.Now()
			l.mu.Unlock()
		}
	case *wire.Pong:
		f.Sent = milliseconds(time.Since(l.opened))
	}
}

// ping queues a heartbeat.
func (l *link) ping() error {
	l.mu.Lock()
	l.nonce++
	nonce := l.nonce
	l.mu.Unlock()
	return l.box.send(&wire.Ping{Nonce: nonce})
}

// heartbeat pings at once after the welcome, whose Pong proves the round trip,
// and then regularly. It also looks whether the link is still wanted.
func (l *link) heartbeat(ctx context.Context) error {
	ticker := time.NewTicker(wire.Heartbeat)
	defer ticker.Stop()
	select {
	case <-l.ready:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	if err := l.ping(); err != nil {
		return err
	}
	for {
		select {
		case <-ticker.C:
			if err := l.ping(); err != nil {
				return err
			}
		case <-l.u.nudged:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err := l.stillWanted(); err != nil {
			return err
		}
	}
}

// stillWanted ends a link that the policy forbids now, or that belongs to
// another pairing than this host's present one.
func (l *link) stillWanted() error {
	if !l.u.policy().Watch {
		return &refusal{errNotWatched}
	}
	config, err := l.u.options.Config()
	switch {
	case errors.Is(err, daemon.ErrNotPaired):
		return errPairingChanged
	case err != nil:
		// A damaged file says nothing about the link; the next attempt tells of it.
		return nil
	case config != l.config:
		return errPairingChanged
	}
	return nil
}

// manage announces sessions that come, change and go.
func (l *link) manage(ctx context.Context, changes <-chan struct{}) error {
	select {
	case <-l.ready:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for {
		if err := l.compare(ctx); err != nil {
			return err
		}
		select {
		case <-changes:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (l *link) compare(ctx context.Context) error {
	list, err := l.u.options.Sessions.List(ctx)
	if err != nil {
		// What is announced stays; a list that fails says nothing of sessions.
		l.u.warn("sessions", err.Error())
		return nil
	}
	l.u.warn("sessions", "")
	present := make(map[string]bool, len(list))
	for _, item := range list {
		present[item.ID] = true
	}
	list = limitSessions(list)
	for _, item := range list {
		l.mu.Lock()
		s := l.byID[item.ID]
		l.mu.Unlock()
		if s != nil {
			if err := s.listed(item.Meta(time.Now())); err != nil {
				return err
			}
			continue
		}
		s = l.add(item)
		describing, cancel := context.WithTimeout(ctx, helloTimeout)
		info := s.describe(describing, item)
		cancel()
		if err := l.box.send(&wire.SessionOpen{SessionInfo: info}); err != nil {
			s.closeFirst()
			return err
		}
		l.group.Go(func() error { return s.run(ctx) })
	}
	for _, s := range l.snapshot() {
		if !present[s.id] {
			l.drop(s)
			if err := l.box.send(&wire.SessionClosed{Handle: s.handle}); err != nil {
				return err
			}
		}
	}
	l.u.change(func(s *Status) { s.Sessions = len(list) })
	return nil
}

// read is the only goroutine that reads from the socket. It waits for nobody.
func (l *link) read(ctx context.Context) error {
	first := true
	for {
		limit := wire.HeartbeatTimeout
		if first {
			limit = wire.AuthTimeout
		}
		reading, cancel := context.WithTimeout(ctx, limit)
		kind, message, err := l.socket.Read(reading)
		cancel()
		switch {
		case err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
			if first {
				return fmt.Errorf("the server did not say welcome within %v", limit)
			}
			return errSilent
		case err != nil:
			return fmt.Errorf("read from server: %w", err)
		case kind != websocket.MessageBinary:
			return &errProtocol{errors.New("a message that is not binary")}
		}
		if first {
			if message, _, err = wire.CutPreamble(message); err != nil {
				return &errProtocol{err}
			}
			first = false
		}
		arrived := time.Now()
		if l.sleep.slept(elapsed(l.opened, arrived)) {
			return errSlept
		}
		if err := wire.DecodeAll(message, func(f wire.Frame) error { return l.take(ctx, f, arrived) }); err != nil {
			if errors.Is(err, wire.ErrTruncated) || errors.Is(err, wire.ErrTooLarge) || errors.Is(err, wire.ErrMalformed) {
				return &errProtocol{err}
			}
			return err
		}
	}
}

// take acts on one frame of the server.
func (l *link) take(ctx context.Context, f wire.Frame, arrived time.Time) error {
	if welcome, ok := f.(*wire.HostWelcome); ok {
		return l.welcome(welcome)
	}
	switch f := f.(type) {
	case *wire.Ping:
		l.delay.Observe(f.Sent, arrived.Sub(l.opened))
		return l.box.send(&wire.Pong{Nonce: f.Nonce})
	case *wire.Pong:
		l.pong(f, arrived)
		return nil
	case *wire.Restarting:
		l.restart = min(max(time.Duration(f.AfterMS)*time.Millisecond, 0), refusedMax)
		return nil
	case *wire.Problem:
		message := daemon.CleanText(f.Message, 400)
		if f.Handle == 0 {
			l.problem = message // the close that follows says what kind it is
			return nil
		}
		l.u.log.Warn("server reported a problem", "session", l.sessionID(f.Handle), "problem", daemon.CleanText(f.Code, 64), "message", message)
		return nil
	}
	if !l.welcomed {
		if _, unknown := f.(*wire.Unknown); unknown {
			return nil
		}
		return &errProtocol{fmt.Errorf("%s before the welcome", f.Type())}
	}
	switch f := f.(type) {
	case *wire.SessionResume:
		return l.resume(*f)
	case *wire.Ack:
		if s := l.session(f.Handle); s != nil {
			l.box.acknowledge(s.lane, f.Offset)
		}
	case *wire.Input:
		return l.input(f, arrived)
	case *wire.Retire:
		return l.retire(f, arrived)
	case *wire.ClaimSize:
		l.passOn(f.Handle, f, arrived)
	case *wire.ReleaseSize:
		l.passOn(f.Handle, f, arrived)
	case *wire.Presence:
		l.passOn(f.Handle, f, arrived)
	case *wire.RPC:
		return l.call(ctx, f)
	}
	// Anything else is of a newer version, or not for a host: ignored.
	return nil
}

func (l *link) welcome(f *wire.HostWelcome) error {
	if l.welcomed {
		return &errProtocol{errors.New("a second welcome")}
	}
	l.welcomed = true
	name := daemon.CleanText(f.Host, daemon.MaxNameRunes)
	l.u.change(func(s *Status) {
		s.State = StateConnected
		if name != "" {
			s.Host = name
		}
	})
	l.u.log.Info("uplink connected", "server_version", daemon.CleanText(f.Version, 64))
	for _, resume := range f.Resume {
		if err := l.resume(resume); err != nil {
			return err
		}
	}
	close(l.ready)
	return nil
}

func (l *link) resume(r wire.SessionResume) error {
	s := l.session(r.Handle)
	if s == nil {
		return nil // closed meanwhile
	}
	if r.Refused != "" {
		l.u.warn("session "+s.id, "the server refuses it: "+daemon.CleanText(r.Refused, 200))
		return nil
	}
	l.u.warn("session "+s.id, "")
	s.resumeFrom(r)
	return nil
}

func (l *link) pong(f *wire.Pong, arrived time.Time) {
	if isProbe(f.Nonce) {
		l.box.settle(f.Nonce)
		return
	}
	l.mu.Lock()
	sent, waiting := l.pings[f.Nonce]
	// Later pings prove the earlier ones.
	maps.DeleteFunc(l.pings, func(nonce uint64, _ time.Time) bool { return nonce <= f.Nonce })
	l.mu.Unlock()
	if !waiting {
		return
	}
	l.proved()
	l.box.roundTrip(arrived.Sub(sent))
	l.u.change(func(s *Status) {
		s.RTTMS = float64(arrived.Sub(sent).Microseconds()) / 1000
		s.LastError, s.Attempts = "", 0
	})
}
