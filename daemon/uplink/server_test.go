package uplink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/coder/websocket"
)

const testToken = "ah_test_secret"

// fakeServer speaks the server's half of the wire by a script. It keeps what
// it has of each session across connections, as a server does, and notes every
// breach of the stream's rules.
type fakeServer struct {
	mu      sync.Mutex
	changed chan struct{}
	copies  map[string]*serverCopy
	faults  []string
	hellos  []*wire.HostHello
	links   int // connections that said hello
	live    *serverLink
	pending *serverLink // said hello, and may wait for the welcome

	// script
	refuse     func(w http.ResponseWriter) bool
	silent     bool // never welcomes
	noAcks     bool
	noPongs    bool
	closeCode  websocket.StatusCode // closes right after the welcome
	afterHello []wire.Frame
	forget     bool     // asks for a state of every session
	can        []string // capabilities of the welcome
	lenient    bool     // drops what does not fit, without calling it a fault
}

// serverCopy is what the server has of one session.
type serverCopy struct {
	handle   uint32
	position wire.Position
	data     []byte
	state    []byte // of a State under way
	gaps     int
	states   int
	exit     *wire.Exit
	meta     wire.SessionMeta
	closed   bool
	resizes  int
	needs    bool
}

type serverLink struct {
	socket *websocket.Conn
	opened time.Time
	acks   []*wire.InputAck
	frames []wire.Frame // everything but stream frames, in order
	order  []wire.Frame // everything
	byID   map[uint32]string
	ended  error
}

func newFakeServer() *fakeServer {
	return &fakeServer{changed: make(chan struct{}), copies: make(map[string]*serverCopy)}
}

func (s *fakeServer) broadcast() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// wait blocks until condition, called with the mutex held, is true.
func (s *fakeServer) wait(t testing.TB, what string, condition func() bool) {
	t.Helper()
	timeout := time.NewTimer(2 * time.Minute)
	defer timeout.Stop()
	for {
		s.mu.Lock()
		done, changed := condition(), s.changed
		faults := s.faults
		s.mu.Unlock()
		if len(faults) > 0 {
			t.Fatalf("stream rules broken: %q", faults)
		}
		if done {
			return
		}
		select {
		case <-changed:
		case <-timeout.C:
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func (s *fakeServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != linkPath {
		http.NotFound(w, r)
		return
	}
	s.mu.Lock()
	refuse := s.refuse
	s.mu.Unlock()
	if refuse != nil && refuse(w) {
		return
	}
	if r.Header.Get("Authorization") != "Bearer "+testToken {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	socket, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	socket.SetReadLimit(wire.MaxMessage)
	l := &serverLink{socket: socket, opened: time.Now(), byID: make(map[uint32]string)}
	err = s.serve(r.Context(), l)
	s.mu.Lock()
	l.ended = err
	s.broadcast()
	s.mu.Unlock()
	socket.CloseNow()
}

func (l *serverLink) send(ctx context.Context, preamble bool, frames ...wire.Frame) error {
	var message []byte
	if preamble {
		message = wire.AppendPreamble(nil)
	}
	message, err := wire.AppendAll(message, frames...)
	if err != nil {
		return err
	}
	return l.socket.Write(ctx, websocket.MessageBinary, message)
}

func (s *fakeServer) serve(ctx context.Context, l *serverLink) error {
	first := true
	for {
		_, message, err := l.socket.Read(ctx)
		if err != nil {
			return err
		}
		if len(message) > wire.MaxMessage {
			return errors.New("message too large")
		}
		if first {
			if message, _, err = wire.CutPreamble(message); err != nil {
				return err
			}
			first = false
		}
		var replies []wire.Frame
		hello := false
		s.mu.Lock()
		err = wire.DecodeAll(message, func(f wire.Frame) error {
			if _, ok := f.(*wire.HostHello); ok {
				hello = true
			}
			replies = append(replies, s.take(l, f)...)
			return nil
		})
		silent, code, extra := s.silent, s.closeCode, s.afterHello
		s.broadcast()
		s.mu.Unlock()
		if err != nil {
			return err
		}
		if silent {
			continue
		}
		if hello {
			replies = append(replies, extra...)
		}
		if len(replies) > 0 {
			if err := l.send(ctx, hello, replies...); err != nil {
				return err
			}
		}
		if hello {
			// From here on the test may send, too.
			s.mu.Lock()
			s.live = l
			s.broadcast()
			s.mu.Unlock()
		}
		if hello && code != 0 {
			return l.socket.Close(code, "scripted")
		}
	}
}

func (s *fakeServer) fault(format string, args ...any) {
	if s.lenient {
		return
	}
	s.faults = append(s.faults, fmt.Sprintf(format, args...))
}

func (s *fakeServer) open(l *serverLink, info wire.SessionInfo) wire.SessionResume {
	c := s.copies[info.ID]
	if c == nil || s.forget {
		c = &serverCopy{needs: s.forget}
		s.copies[info.ID] = c
	}
	if len(c.state) > 0 || c.needs {
		c.state, c.needs = nil, true
	}
	c.handle, c.meta = info.Handle, info.Meta
	l.byID[info.Handle] = info.ID
	return wire.SessionResume{Handle: info.Handle, From: c.position, State: c.needs}
}

// take applies a frame; the caller holds the mutex.
func (s *fakeServer) take(l *serverLink, f wire.Frame) []wire.Frame {
	l.order = append(l.order, f)
	copyOf := func(handle uint32) *serverCopy {
		c := s.copies[l.byID[handle]]
		if c == nil {
			s.fault("%s for unknown handle %d", f.Type(), handle)
			return &serverCopy{}
		}
		return c
	}
	ack := func(handle uint32, c *serverCopy) []wire.Frame {
		if s.noAcks {
			return nil
		}
		return []wire.Frame{&wire.Ack{Handle: handle, Offset: c.position.Offset}}
	}
	switch f := f.(type) {
	case *wire.HostHello:
		s.hellos = append(s.hellos, f)
		s.links++
		s.pending = l
		welcome := &wire.HostWelcome{Instance: "s", Version: "test", Host: "named by server", Capabilities: s.can}
		for _, info := range f.Sessions {
			welcome.Resume = append(welcome.Resume, s.open(l, info))
		}
		return []wire.Frame{welcome}
	case *wire.SessionOpen:
		resume := s.open(l, f.SessionInfo)
		return []wire.Frame{&resume}
	case *wire.Output:
		c := copyOf(f.Handle)
		end := f.Offset + uint64(len(f.Data))
		switch {
		case c.needs:
			s.fault("output at %d where a state was due", f.Offset)
		case f.Offset > c.position.Offset:
			s.fault("hole: output at %d after %d", f.Offset, c.position.Offset)
		case end > c.position.Offset:
			c.data = append(c.data, f.Data[c.position.Offset-f.Offset:]...)
			c.position.Offset = end
		}
		return ack(f.Handle, c)
	case *wire.Resize:
		c := copyOf(f.Handle)
		switch {
		case f.Ordinal <= c.position.Marks:
		case f.Ordinal != c.position.Marks+1 || f.Offset != c.position.Offset:
			s.fault("mark %d at %d after %v", f.Ordinal, f.Offset, c.position)
		default:
			c.position.Marks = f.Ordinal
			c.resizes++
		}
	case *wire.Gap:
		c := copyOf(f.Handle)
		if f.Offset > c.position.Offset {
			s.fault("gap at %d after %d", f.Offset, c.position.Offset)
		}
		c.gaps++
		c.needs = true
	case *wire.State:
		c := copyOf(f.Handle)
		if f.First {
			c.state = nil
		}
		c.state = append(c.state, f.Data...)
		c.needs = true
		if f.Last {
			c.data = bytes.TrimPrefix(c.state, []byte("state:"))
			c.position, c.state, c.needs = f.Position, nil, false
			c.states++
			return ack(f.Handle, c)
		}
	case *wire.Exit:
		copyOf(f.Handle).exit = f
	case *wire.SessionUpdate:
		copyOf(f.Handle).meta = f.Meta
	case *wire.SessionClosed:
		copyOf(f.Handle).closed = true
	case *wire.InputAck:
		l.acks = append(l.acks, f)
	case *wire.Ping:
		if !s.noPongs {
			return []wire.Frame{&wire.Pong{Nonce: f.Nonce}}
		}
	}
	l.frames = append(l.frames, f)
	return nil
}

// send writes frames to the host over the live link.
func (s *fakeServer) send(t testing.TB, frames ...wire.Frame) {
	t.Helper()
	s.mu.Lock()
	l := s.live
	s.mu.Unlock()
	if err := l.send(t.Context(), false, frames...); err != nil {
		t.Fatalf("send to host: %v", err)
	}
}

// The following read what the server has, while it may go on.

func (s *fakeServer) acks() []*wire.InputAck {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.live.acks)
}

func (s *fakeServer) copy(id string) serverCopy {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *s.copies[id]
}

func (s *fakeServer) linked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.links
}

func (s *fakeServer) current() *serverLink {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live
}

// handle is a session's handle on the live link.
func (s *fakeServer) handle(id string) uint32 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.copies[id].handle
}

// host is an uplink with its fakes, running.
type rig struct {
	server *fakeServer
	host   *fakeHost
	net    *memNet
	uplink *Uplink
	policy *daemon.Policy
	stop   func()
	log    io.Writer

	mu sync.Mutex
}

func (r *rig) setPolicy(p daemon.Policy) {
	r.mu.Lock()
	defer r.mu.Unlock()
	*r.policy = p
}

// newRig makes everything; start runs the uplink, stop ends it and waits.
func newRig(t testing.TB) *rig {
	t.Helper()
	policy := daemon.DefaultPolicy()
	r := &rig{server: newFakeServer(), host: newFakeHost(), net: newMemNet(), policy: &policy, log: t.Output()}
	httpServer := &http.Server{Handler: r.server, ErrorLog: log.New(io.Discard, "", 0)}
	served := make(chan struct{})
	go func() {
		defer close(served)
		if err := httpServer.Serve(r.net); !errors.Is(err, http.ErrServerClosed) && !errors.Is(err, net.ErrClosed) {
			t.Errorf("serve: %v", err)
		}
	}()
	r.make()
	t.Cleanup(func() {
		if r.stop != nil {
			r.stop()
		}
		httpServer.Close()
		r.net.Close()
		<-served
	})
	return r
}

func (r *rig) make() {
	r.uplink = New(Options{
		Config: func() (daemon.HostConfig, error) {
			return daemon.HostConfig{Server: "http://127.0.0.1:1", HostID: "h", Name: "configured", Token: testToken}, nil
		},
		Policy: func() (daemon.Policy, error) {
			r.mu.Lock()
			defer r.mu.Unlock()
			return *r.policy, nil
		},
		Sessions: r.host, Version: "test", Dial: r.net.dial, Logger: slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
}

func (r *rig) start(t testing.TB) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.uplink.Run(ctx)
	}()
	r.stop = func() {
		cancel()
		<-ended
		r.stop = nil
	}
}

func (r *rig) connected(t testing.TB) {
	t.Helper()
	r.server.wait(t, "a welcome", func() bool { return r.server.live != nil })
}

func closeStatus(err error) int { return int(websocket.CloseStatus(err)) }
