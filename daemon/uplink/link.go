package uplink

import (
	"context"
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
	// asked are this host's own calls that the server has not answered, by id.
	asked map[uint64]chan *wire.RPCReply
	asks  uint64
	// pings that wait for their Pong, by nonce.
	pings map[uint64]time.Time
	nonce uint64

	// out is held by who writes to the socket: most often the writer, and a
	// session's forwarder when little output comes and nothing waits.
	out     sync.Mutex
	buffer  []byte    // of the next message; owned by out
	reports []written // as above
	broken  error     // as above

	group *errgroup.Group
	ctx   context.Context // the link's own, set by run
	// ready is closed once the server said welcome, with what it can do.
	ready     chan struct{}
	serverCan []string
}

func newLink(u *Uplink, config daemon.HostConfig, socket *websocket.Conn, proved func()) *link {
	return &link{
		u: u, config: config, socket: socket, box: newOutbox(time.Now), opened: time.Now(), proved: proved,
		calls:    make(chan struct{}, maxCalls),
		sessions: make(map[uint32]*session), byID: make(map[string]*session),
		asked: make(map[uint64]chan *wire.RPCReply),
		pings: make(map[uint64]time.Time), ready: make(chan struct{}),
		buffer: wire.AppendPreamble(make([]byte, 0, 64<<10)),
	}
}

func milliseconds(d time.Duration) uint32 {
	return uint32(min(max(d.Milliseconds(), 0), 1<<32-1))
}

// run serves the link until it ends and returns why, after all its goroutines.
func (l *link) run(ctx context.Context) error {
	defer l.socket.CloseNow()
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
	l.group, l.ctx = group, ctx
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

// write sends what there is to send until the link ends.
func (l *link) write(ctx context.Context) error {
	for {
		l.out.Lock()
		more, err := l.writeMessage()
		l.out.Unlock()
		if err != nil {
			return l.afterReader(ctx, err)
		}
		if more {
			continue
		}
		if err := l.box.wait(ctx); err != nil {
			return err
		}
	}
}

// writeNow sends what there is, if nobody else is at it, without the way
// through the writer; its failure is the writer's to report.
func (l *link) writeNow() {
	if l.out.TryLock() {
		_, err := l.writeMessage()
		l.out.Unlock()
		if err == nil && !l.box.waits() {
			return
		}
	}
	l.box.wake()
}

// writeMessage sends one message and says whether there was any. The caller
// holds out. After a failure it fails for ever.
func (l *link) writeMessage() (more bool, err error) {
	if l.broken != nil {
		return false, l.broken
	}
	before := len(l.buffer)
	l.buffer, l.reports, err = l.box.take(l.buffer, l.reports[:0], l.stamp)
	if err != nil || len(l.buffer) == before {
		return false, err
	}
	writing, cancel := context.WithTimeout(l.ctx, writeTimeout)
	err = l.socket.Write(writing, websocket.MessageBinary, l.buffer)
	cancel()
	if err != nil {
		l.broken = fmt.Errorf("write to server: %w", err)
		if l.ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
			l.broken = errPeerStopped
		}
		return false, l.broken
	}
	l.box.wrote(l.reports)
	l.buffer = l.buffer[:0]
	if cap(l.buffer) > wire.MaxFrame/2 {
		// A page made it large; the next messages are small again.
		l.buffer = make([]byte, 0, 64<<10)
	}
	return true, nil
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
