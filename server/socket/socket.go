package socket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
	"github.com/coder/websocket"
)

const (
	// subprotocol is what browsers ask for when they open the socket.
	subprotocol = "agent-helm.v1"
	// messageSize is where a message is full: what more there is goes into the
	// next one.
	messageSize = 64 << 10
	// writeTimeout is how long a peer may leave one message unread. It is that
	// of the heartbeat, because a peer that reads nothing sends no Pong either.
	writeTimeout = wire.HeartbeatTimeout
	// farewellTimeout is how long the last words may take.
	farewellTimeout = 2 * time.Second
	// promptMessage is the largest message that is written by who has it.
	promptMessage = 2 << 10
	// patience is how long a frame waits for others to travel with.
	patience = 5 * time.Millisecond
	// keptBuffer is the largest buffer that is kept for the next message.
	keptBuffer = 256 << 10
)

// Source has what is written behind the control frames. Collect appends whole
// frames to dst and returns it; it stops when dst has reached limit bytes, or
// when it has no more. It runs on the writing goroutine and must not block.
// Socket.Wake tells that there is something to collect.
type Source interface {
	Collect(dst []byte, limit int) []byte
}

// Options size a Socket.
type Options struct {
	// Queue bounds the control frames that wait, in bytes.
	Queue int
	// Eager says that the Source may be asked by whoever sends an input, and not
	// only by the writer: one at a time, as ever.
	Eager bool
}

// Socket is one connection.
type Socket struct {
	conn   *websocket.Conn
	raw    syscall.RawConn // below conn; nil when it is not known
	eager  bool
	opened time.Time
	queue  queue
	delay  wire.Delay // owned by the reader
	source Source     // set by Run

	// out is held by who writes: most often the writer, and whoever has a small
	// message while nothing else is being written.
	out   sync.Mutex
	begun bool   // the first message was written; guarded by out
	nonce uint64 // guarded by out

	// probe is the nonce of the last Probe that was not answered, 0 when there is
	// none.
	probe atomic.Uint64
	// ready says that the peer has said hello.
	ready atomic.Bool
	// silence ends the connection when nothing came for too long.
	silence *time.Timer
	fail    context.CancelCauseFunc
}

// errSilent says that the peer gave no sign of life.
var errSilent = errors.New("peer fell silent")

// errNoHello says that the peer did not say hello in time.
var errNoHello = server.Errorf(server.CodeUnauthenticated, "nothing was said within %v of connecting", wire.AuthTimeout)

// errSlow says that the peer left a message unread for too long.
var errSlow = server.Errorf(server.CodeTimeout, "the connection took nothing for %v", writeTimeout)

// Accept takes the connection over from HTTP. The caller has checked Origin and
// Host: no check is made here. After an error the answer has been written.
func Accept(w http.ResponseWriter, r *http.Request, o Options) (*Socket, error) {
	hijacked := &hijacking{ResponseWriter: w}
	conn, err := websocket.Accept(hijacked, r, &websocket.AcceptOptions{
		// The origin was compared with the configured ones, exactly, which is
		// stricter than what this package would do (THREATS S-8).
		InsecureSkipVerify: true,
		CompressionMode:    websocket.CompressionDisabled,
		// A browser that asks for a protocol hangs up when none is named.
		Subprotocols: []string{subprotocol},
	})
	if err != nil {
		return nil, fmt.Errorf("accept websocket: %w", err)
	}
	conn.SetReadLimit(wire.MaxMessage)
	s := &Socket{conn: conn, raw: rawConn(hijacked.conn), eager: o.Eager, opened: time.Now()}
	s.queue.init(o.Queue)
	return s, nil
}

// Send queues a control frame. false: the queue is full or the connection is
// ending, nothing was queued. It never blocks.
func (s *Socket) Send(f wire.Frame) bool { return s.queue.put(f, time.Time{}) }

// SendSoon queues a control frame that may wait a few milliseconds for others
// to travel with. Otherwise it is Send.
func (s *Socket) SendSoon(f wire.Frame) bool { return s.queue.soon(f) }

// SendInput queues an input that was received at a moment, or writes it at once
// where that does not wait. What it waits here is added to its age when it is
// written.
func (s *Socket) SendInput(f wire.Input, received time.Time) bool {
	if !s.queue.lay(&f, received) {
		return false
	}
	if !s.WriteNow(nil) {
		s.Wake()
	}
	return true
}

// WriteNow writes the control frames that wait and then a message of whole
// frames, if that takes no time: the message is small, nobody else is writing,
// and the system has room. false: nothing was done. It saves the way through
// the writer, which is what an echo takes longest for.
func (s *Socket) WriteNow(message []byte) bool {
	if s.raw == nil || len(message) > promptMessage || !s.ready.Load() || !s.out.TryLock() {
		return false
	}
	defer s.out.Unlock()
	if !s.begun || !s.queue.short() || !writable(s.raw) {
		return false
	}
	buffer := buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // the pool holds nothing else
	buffer.Reset()
	dst, _, err := s.queue.encode(buffer.AvailableBuffer(), messageSize, s.stamp)
	if err == nil {
		if dst = append(dst, message...); s.eager {
			dst = s.source.Collect(dst, promptMessage)
		}
		if len(dst) > 0 {
			err = s.conn.Write(context.Background(), websocket.MessageBinary, dst)
		}
	}
	putBuffer(bytes.NewBuffer(dst))
	if err != nil {
		s.fail(fmt.Errorf("write: %w", err))
	}
	return true
}

// Wake tells the writer that its Source has something.
func (s *Socket) Wake() { s.queue.nudge() }

// Probe appends a Ping to what a Source has collected. Until its Pong comes,
// Probing is true; then the writer is woken. So a Source knows that the peer has
// taken what it sent, and not only the kernel. It is called by Collect.
func (s *Socket) Probe(dst []byte) []byte {
	s.nonce++
	ping := &wire.Ping{Nonce: s.nonce}
	s.stamp(ping, time.Time{})
	encoded, err := wire.Append(dst, ping)
	if err != nil {
		return dst // a Ping always fits
	}
	s.probe.Store(ping.Nonce)
	return encoded
}

// Probing says that a Probe was not answered yet.
func (s *Socket) Probing() bool { return s.probe.Load() != 0 }

// Since is how long the connection has been open.
func (s *Socket) Since() time.Duration { return time.Since(s.opened) }

// Late is by how much a frame that carries sent was held up on its way. Only
// the function that takes frames may call it.
func (s *Socket) Late(sent uint32) time.Duration { return s.delay.Observe(sent, s.Since()) }

// Ready says that the peer has said hello: from now on silence, and no longer
// the time to authenticate, ends the connection.
// The Source is asked from now on.
func (s *Socket) Ready() {
	s.ready.Store(true)
	s.silence.Reset(wire.HeartbeatTimeout)
	s.Wake()
}

// Run reads and writes until the connection ends, and returns why. The peer is
// told by the close code when ctx ends with a cause that is a server.Error, or
// when take returns one. take gets every frame but Ping and Pong, in order,
// and owns its bytes; the next frame is not read before it returns.
func (s *Socket) Run(ctx context.Context, source Source, take func(wire.Frame) error) error {
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	s.fail, s.source = fail, source
	s.silence = time.AfterFunc(wire.AuthTimeout, func() {
		if s.ready.Load() {
			fail(errSilent)
		} else {
			fail(errNoHello)
		}
	})
	defer s.silence.Stop()

	var writer sync.WaitGroup
	writer.Go(func() {
		if err := s.write(source); err != nil {
			fail(err)
		}
	})
	closed := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(closed)
		s.end(context.Cause(ctx), &writer)
	})
	fail(s.read(take))
	<-closed
	writer.Wait()
	return context.Cause(ctx)
}

// Refuse says why the connection is not taken and closes it. It is called
// instead of Run.
func (s *Socket) Refuse(err error) {
	cut := time.AfterFunc(farewellTimeout, func() { s.conn.CloseNow() })
	defer s.conn.CloseNow()
	code, reason, _ := closing(err)
	message, encodeErr := wire.Append(wire.AppendPreamble(nil), farewell(err))
	if encodeErr == nil && s.conn.Write(context.Background(), websocket.MessageBinary, message) == nil && cut.Stop() {
		s.conn.Close(code, reason)
	}
}

// farewell is the last frame before a close that has a reason.
func farewell(cause error) wire.Frame {
	e, ok := errors.AsType[*server.Error](cause)
	switch {
	case !ok:
		e = server.NewError(server.CodeInternal)
	case e.Code == server.CodeRestarting:
		return &wire.Restarting{AfterMS: restartAfter.Milliseconds()}
	}
	return &wire.Problem{Code: string(e.Code), Message: untrusted.Clean(e.Message, server.MaxText)}
}

// end says what is left to say, closes the connection and so ends both
// goroutines.
func (s *Socket) end(cause error, writer *sync.WaitGroup) {
	code, reason, tell := closing(cause)
	if !tell {
		s.queue.close(true)
		s.conn.CloseNow()
		return
	}
	s.Send(farewell(cause))
	s.queue.close(false)
	cut := time.AfterFunc(farewellTimeout, func() { s.conn.CloseNow() })
	writer.Wait()
	if cut.Stop() {
		s.conn.Close(code, reason)
	}
	s.conn.CloseNow()
}

// restartAfter is when a peer may come back after a restart.
const restartAfter = time.Second

// closing is how a connection that ended for a cause is closed. tell is false
// when nobody is there to be told.
func closing(cause error) (code websocket.StatusCode, reason string, tell bool) {
	if e, ok := errors.AsType[*server.Error](cause); ok {
		code = websocket.StatusInternalError
		if known, ok := closeCodes[e.Code]; ok {
			code = known
		}
		if errors.Is(cause, wire.ErrVersion) {
			code = wire.CloseVersion
		}
		return code, shortReason(e.Message), true
	}
	return 0, "", false
}

var closeCodes = map[server.Code]websocket.StatusCode{
	server.CodeInvalid:         wire.CloseProtocol,
	server.CodeUnauthenticated: wire.CloseUnauthorized,
	server.CodeRevoked:         wire.CloseUnauthorized,
	server.CodeProofRequired:   wire.CloseUnauthorized,
	server.CodeUnknownHost:     wire.CloseUnauthorized,
	server.CodeForbidden:       wire.CloseForbidden,
	server.CodeDuplicateHost:   wire.CloseDuplicate,
	server.CodeTimeout:         wire.CloseSlow,
	server.CodeLimit:           wire.CloseLimit,
	server.CodeConflict:        wire.CloseReplaced,
	server.CodeRestarting:      wire.CloseRestarting,
}

// shortReason fits a sentence into a close frame, which takes 123 bytes.
func shortReason(s string) string {
	const limit = 123
	for n := limit; len(s) > limit; n-- {
		s = untrusted.Clean(s, n)
	}
	return s
}

// protocolError is a fault of the peer's frames.
type protocolError struct {
	told  *server.Error
	cause error
}

func (e *protocolError) Error() string   { return e.told.Message }
func (e *protocolError) Unwrap() []error { return []error{e.told, e.cause} }

// Malformed wraps a decoding error so that the peer is closed with
// CloseProtocol or CloseVersion.
func Malformed(err error) error {
	return &protocolError{server.Errorf(server.CodeInvalid, "%s", err.Error()), err}
}

var buffers = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// read takes messages until the connection or take fails.
func (s *Socket) read(take func(wire.Frame) error) error {
	first := true
	for {
		// The context never ends: a deadline per message would cost a timer
		// each, and cancelling would skip the close handshake.
		kind, r, err := s.conn.Reader(context.Background())
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		message, err := readMessage(r)
		if err != nil {
			return err
		}
		if kind != websocket.MessageBinary {
			return Malformed(errors.New("messages are binary"))
		}
		if first {
			first = false
			if message, _, err = wire.CutPreamble(message); err != nil {
				return Malformed(err)
			}
		}
		if err := s.takeAll(message, take); err != nil {
			return err
		}
	}
}

// readMessage reads one message into memory of its own size: frames keep it.
func readMessage(r io.Reader) ([]byte, error) {
	buffer := buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // the pool holds nothing else
	defer putBuffer(buffer)
	buffer.Reset()
	if _, err := buffer.ReadFrom(r); err != nil {
		if errors.Is(err, websocket.ErrMessageTooBig) {
			return nil, Malformed(fmt.Errorf("message above %d bytes: %w", wire.MaxMessage, wire.ErrTooLarge))
		}
		return nil, fmt.Errorf("read: %w", err)
	}
	return bytes.Clone(buffer.Bytes()), nil
}

func putBuffer(buffer *bytes.Buffer) {
	if buffer.Cap() <= keptBuffer {
		buffers.Put(buffer)
	}
}

func (s *Socket) takeAll(message []byte, take func(wire.Frame) error) error {
	for len(message) > 0 {
		f, rest, err := wire.Decode(message)
		if err != nil {
			return Malformed(err)
		}
		message = rest
		switch f := f.(type) {
		case *wire.Ping:
			s.Late(f.Sent)
			s.queue.put(&wire.Pong{Nonce: f.Nonce}, time.Time{})
		case *wire.Pong:
			if s.probe.CompareAndSwap(f.Nonce, 0) {
				s.Wake()
			}
		case *wire.Unknown:
		default:
			if err := take(f); err != nil {
				return err
			}
		}
	}
	if s.ready.Load() {
		s.silence.Reset(wire.HeartbeatTimeout)
	}
	return nil
}

// write is the only one that writes messages.
func (s *Socket) write(source Source) error {
	heartbeat := time.NewTicker(wire.Heartbeat)
	defer heartbeat.Stop()
	deadline := time.AfterFunc(writeTimeout, func() {
		s.fail(errSlow)
		s.conn.CloseNow()
	})
	deadline.Stop()
	defer deadline.Stop()
	for {
		select {
		case <-s.queue.wake:
		case <-heartbeat.C:
			s.out.Lock()
			s.nonce++
			nonce := s.nonce
			s.out.Unlock()
			s.queue.put(&wire.Ping{Nonce: nonce}, time.Time{})
			continue
		}
		for more := true; more; {
			var ended bool
			var err error
			if more, ended, err = s.writeMessage(source, deadline); ended || err != nil {
				return err
			}
		}
	}
}

// writeMessage writes one message, if there is anything to write. ended says
// that there will never be more.
func (s *Socket) writeMessage(source Source, deadline *time.Timer) (more, ended bool, err error) {
	s.out.Lock()
	defer s.out.Unlock()
	buffer := buffers.Get().(*bytes.Buffer) //nolint:forcetypeassert // the pool holds nothing else
	buffer.Reset()
	dst := buffer.AvailableBuffer()
	if !s.begun {
		dst = wire.AppendPreamble(dst)
	}
	before := len(dst)
	if dst, ended, err = s.queue.encode(dst, messageSize, s.stamp); err != nil {
		return false, false, err
	}
	if !ended && s.ready.Load() && len(dst) < messageSize {
		dst = source.Collect(dst, messageSize)
	}
	if len(dst) == before {
		putBuffer(buffer)
		return false, ended, nil
	}
	s.begun = true
	deadline.Reset(writeTimeout)
	err = s.conn.Write(context.Background(), websocket.MessageBinary, dst)
	deadline.Stop()
	putBuffer(bytes.NewBuffer(dst))
	if err != nil {
		return false, false, fmt.Errorf("write: %w", err)
	}
	return true, false, nil
}

// stamp sets what a frame says of the moment it is written.
func (s *Socket) stamp(f wire.Frame, received time.Time) {
	now := time.Now()
	sent := milliseconds(now.Sub(s.opened))
	switch f := f.(type) {
	case *wire.Input:
		f.Sent = sent
		f.Age = addMilliseconds(f.Age, now.Sub(received))
	case *wire.Ping:
		f.Sent = sent
	case *wire.Pong:
		f.Sent = sent
	}
}

func milliseconds(d time.Duration) uint32 { return addMilliseconds(0, d) }

// addMilliseconds adds d to an age without passing its largest value.
func addMilliseconds(age uint32, d time.Duration) uint32 {
	return uint32(min(int64(age)+max(d.Milliseconds(), 0), 1<<32-1))
}

// AddAge adds what is known of an input's delay to its age.
func AddAge(age uint32, delay time.Duration) uint32 { return addMilliseconds(age, delay) }
