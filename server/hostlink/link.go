package hostlink

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/fleet"
	"github.com/agent-helm/agent-helm/server/session"
	"github.com/agent-helm/agent-helm/server/socket"
)

const (
	// maxCalls bounds the calls that one host has not answered yet.
	maxCalls = 256
	// maxParams bounds the parameters of one call in bytes of JSON.
	maxParams = 256 << 10
	// maxInstance bounds a daemon's name for itself, in bytes.
	maxInstance = 128
)

// link is one host's connection. It is the fleet's Link and the socket's
// Source.
type link struct {
	handler *Handler
	socket  *socket.Socket
	host    server.Principal
	address string
	cancel  context.CancelCauseFunc
	ctx     context.Context // ends with the link
	done    context.CancelFunc
	acks    acknowledger

	// Owned by the reader.
	connection *fleet.Connection
	limiter    limiter
	states     map[uint32]int // bytes of each session's newest state
	stateBytes int

	instance, version string // set before the fleet knows the link

	mu    sync.Mutex
	call  uint64                        // guarded by mu
	calls map[uint64]chan wire.RPCReply // guarded by mu; nil once the link ended
	// alive are those who wait for a sign of life; closed with the next frame.
	alive chan struct{} // guarded by mu
	// asked is the host's newest request for a code; nil when there was none.
	asked *pairing       // guarded by mu
	tasks sync.WaitGroup // what serves the host's requests; end waits
}

// newLink takes the values of ctx, such as the peer's address, not its end.
func newLink(ctx context.Context, h *Handler, s *socket.Socket, host server.Principal, address string, cancel context.CancelCauseFunc) *link {
	l := &link{
		handler: h, socket: s, host: host, address: address, cancel: cancel,
		limiter: newLimiter(time.Now()),
		states:  map[uint32]int{},
		calls:   map[uint64]chan wire.RPCReply{},
	}
	l.ctx, l.done = context.WithCancel(context.WithoutCancel(ctx))
	l.acks.init(s)
	return l
}

// end takes the link out of the fleet and fails what waits for the host.
func (l *link) end(error) {
	l.done()
	l.mu.Lock()
	calls := l.calls
	l.calls = nil
	l.mu.Unlock()
	for _, reply := range calls {
		close(reply)
	}
	l.acks.stop()
	if l.connection != nil {
		l.connection.Close()
	}
	l.tasks.Wait()
}

// take takes one frame of the host.
func (l *link) take(f wire.Frame) error {
	l.sign()
	if l.connection == nil {
		hello, ok := f.(*wire.HostHello)
		if !ok {
			return socket.Malformed(fmt.Errorf("%s before HostHello: %w", f.Type(), wire.ErrMalformed))
		}
		return l.hello(hello)
	}
	switch f := f.(type) {
	case *wire.Output:
		l.connection.Feed(f.Handle, f)
	case *wire.Resize:
		l.connection.Feed(f.Handle, f)
	case *wire.Reset:
		l.connection.Feed(f.Handle, f)
	case *wire.Gap:
		l.connection.Feed(f.Handle, f)
	case *wire.Exit:
		l.connection.Feed(f.Handle, f)
	case *wire.SizeOwner:
		l.connection.Feed(f.Handle, f)
	case *wire.State:
		return l.state(f)
	case *wire.InputAck:
		l.connection.InputAck(*f)
	case *wire.SessionOpen:
		return l.open(f)
	case *wire.SessionUpdate:
		l.pace()
		l.connection.Update(l.ctx, f.Handle, f.Meta)
	case *wire.SessionClosed:
		l.pace()
		l.acks.forget(f.Handle)
		l.stateBytes -= l.states[f.Handle]
		delete(l.states, f.Handle)
		return l.connection.Forgotten(l.ctx, f.Handle)
	case *wire.RPCReply:
		l.reply(f)
	case *wire.RPC:
		l.pace()
		l.called(f)
	case *wire.HostHello:
		return socket.Malformed(fmt.Errorf("second HostHello: %w", wire.ErrMalformed))
	default:
		return socket.Malformed(fmt.Errorf("%s is not for a host to send: %w", f.Type(), wire.ErrMalformed))
	}
	return nil
}

func (l *link) hello(hello *wire.HostHello) error {
	if hello.Instance == "" || len(hello.Instance) > maxInstance {
		return socket.Malformed(fmt.Errorf("the instance's name has no or more than %d bytes: %w", maxInstance, wire.ErrMalformed))
	}
	l.instance, l.version = hello.Instance, untrusted.Clean(hello.Version, server.MaxName)
	ctx, cancel := context.WithTimeout(l.ctx, wire.AuthTimeout)
	defer cancel()
	connection, welcome, err := l.handler.config.Fleet.Connect(ctx, l.host.ID, l, hello)
	if err != nil {
		return err
	}
	l.connection = connection
	l.socket.Send(l.handler.welcome(welcome))
	l.socket.Ready()
	return nil
}

// pace waits until one more announcement is allowed. Only this host's own link
// waits.
func (l *link) pace() {
	wait := l.limiter.take(time.Now())
	if wait <= 0 {
		return
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-l.ctx.Done():
	}
}

func (l *link) open(f *wire.SessionOpen) error {
	l.pace()
	resume, err := l.connection.Open(l.ctx, f.SessionInfo)
	if err != nil {
		return err
	}
	if !l.socket.Send(&resume) {
		return server.Errorf(server.CodeTimeout, "the host takes no answers")
	}
	return nil
}

// state passes a piece of state on, as long as the newest states of all this
// link's sessions together are within the limit of one: what a host makes the
// server remember is bounded.
func (l *link) state(f *wire.State) error {
	if !l.connection.Carries(f.Handle) {
		return nil
	}
	if f.First {
		l.stateBytes -= l.states[f.Handle]
		l.states[f.Handle] = 0
	}
	l.states[f.Handle] += len(f.Data)
	l.stateBytes += len(f.Data)
	if limit := l.handler.stateLimit; l.stateBytes > limit {
		return socket.Malformed(fmt.Errorf("states above %d bytes: %w", limit, wire.ErrTooLarge))
	}
	l.connection.Feed(f.Handle, f)
	return nil
}

// Collect appends the acknowledgements that are due.
func (l *link) Collect(dst []byte, _ int) []byte { return l.acks.collect(dst) }

// Instance is the daemon process's own random name.
func (l *link) Instance() string { return l.instance }

// Describe says which daemon this is.
func (l *link) Describe() string {
	return fmt.Sprintf("version %s at %s, for %s", l.version, l.address, l.socket.Since().Round(time.Second))
}

// Send queues a control frame.
func (l *link) Send(f wire.Frame) bool { return l.socket.Send(f) }

// Input queues an input.
func (l *link) Input(f wire.Input, received time.Time) bool { return l.socket.SendInput(f, received) }

// Close ends the link and tells the host why.
func (l *link) Close(reason *server.Error) { l.cancel(reason) }

// Upstream is the way back for one session's stream.
func (l *link) Upstream(handle uint32) session.Upstream { return &upstream{l, handle} }

type upstream struct {
	link   *link
	handle uint32
}

// Acknowledge says that every byte below offset was taken in.
func (u *upstream) Acknowledge(offset uint64) { u.link.acks.add(u.handle, offset) }

// Resume asks for the stream from a position on. A full queue is no harm: the
// session asks again when more of what it misses comes.
func (u *upstream) Resume(from wire.Position, state bool) {
	u.link.socket.Send(&wire.SessionResume{Handle: u.handle, From: from, State: state})
}

// sign tells those who wait that the host lives.
func (l *link) sign() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.alive != nil {
		close(l.alive)
		l.alive = nil
	}
}

// Alive asks for a sign of life and reports whether one came before ctx ended.
func (l *link) Alive(ctx context.Context) bool {
	l.mu.Lock()
	if l.alive == nil {
		l.alive = make(chan struct{})
	}
	alive := l.alive
	l.mu.Unlock()
	// A method that no host knows: any answer is a sign of life.
	probe, cancel := context.WithCancel(ctx)
	var call sync.WaitGroup
	call.Go(func() { _ = l.Call(probe, methodAlive, nil, nil) })
	defer func() {
		cancel()
		call.Wait()
	}()
	select {
	case <-alive:
		return l.ctx.Err() == nil
	case <-ctx.Done():
		return false
	case <-l.ctx.Done():
		return false
	}
}

// methodAlive asks for nothing. Hosts answer a method they do not know with
// CodeUnsupported.
const methodAlive = "host.alive"

// Call calls a method of the host and decodes its result.
func (l *link) Call(ctx context.Context, method string, params, result any) error {
	encoded, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("encode parameters of %s: %w", method, err)
	}
	switch {
	case params == nil:
		encoded = nil
	case len(encoded) > maxParams:
		return server.Errorf(server.CodeTooLarge, "the parameters of %s have more than %d bytes", method, maxParams)
	}
	id, answer, err := l.begin()
	if err != nil {
		return err
	}
	defer l.finish(id)
	if !l.socket.Send(&wire.RPC{ID: id, Method: method, Params: encoded}) {
		return server.Errorf(server.CodeHostOffline, "the host does not take anything now: try again")
	}
	select {
	case reply, ok := <-answer:
		switch {
		case !ok:
			return server.Errorf(server.CodeTimeout, "the host went away before it answered: look before you try again")
		case reply.Error != nil:
			return &server.Error{Code: server.Code(untrusted.Clean(reply.Error.Code, server.MaxName)), Message: untrusted.Clean(reply.Error.Message, server.MaxText)}
		case result == nil:
			return nil
		}
		if err := json.Unmarshal(reply.Result, result); err != nil {
			return fmt.Errorf("decode result of %s: %w", method, err)
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (l *link) begin() (id uint64, answer chan wire.RPCReply, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.calls == nil:
		return 0, nil, server.NewError(server.CodeHostOffline)
	case len(l.calls) >= maxCalls:
		return 0, nil, server.Errorf(server.CodeLimit, "the host has %d calls to answer: wait for it", len(l.calls))
	}
	l.call++
	answer = make(chan wire.RPCReply, 1)
	l.calls[l.call] = answer
	return l.call, answer, nil
}

func (l *link) finish(id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.calls, id)
}

// reply takes an answer to whom it is for; one that nobody waits for any more
// is dropped.
func (l *link) reply(f *wire.RPCReply) {
	l.mu.Lock()
	answer := l.calls[f.ID]
	delete(l.calls, f.ID)
	l.mu.Unlock()
	if answer != nil {
		answer <- *f
	}
}
