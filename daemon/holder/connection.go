package holder

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/buildinfo"
	"github.com/agent-helm/agent-helm/internal/logging"
	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
)

const (
	// maxControl bounds the bytes of control frames that wait for a connection.
	// Who lets them pile up does not read, and is disconnected.
	maxControl = 4 << 20
	// writeBatch is about how many bytes one write to a socket carries.
	writeBatch = 64 << 10
	// ackPatience is how long the acknowledgement of an applied input waits for
	// the program's echo.
	ackPatience = 5 * time.Millisecond
	// promptOutput is the largest output that is sent by the goroutine that read
	// it, instead of waking the connection's writer.
	promptOutput = 4 << 10
	// maxLocalClients bounds the clients of one local connection.
	maxLocalClients = 64
)

// errRefused ends a connection that was told why.
var errRefused = errors.New("connection refused")

// connection is one client on the socket. Its reader runs in serve, its writer
// in a goroutine that serve waits for.
type connection struct {
	// Static after hello.
	session *session
	net     *net.UnixConn
	role    string
	kind    wire.OwnerKind
	opened  time.Time
	// inside says that the peer runs inside a session and may only look.
	inside bool

	// delay belongs to the reader.
	delay wire.Delay

	// raw is net for writes that do not wait.
	raw  syscall.RawConn
	wake chan struct{}
	// done is closed when the reader has ended.
	done chan struct{}

	// Guarded by the session's lock.
	stream  stream
	clients map[wire.ClientID]struct{} // of a local connection

	// out is held by who writes to net. rest is what a write that did not wait
	// left over; whoever holds out sends it first.
	out  sync.Mutex
	rest []byte

	// Guarded by mu.
	mu      sync.Mutex
	control []byte // encoded frames that wait
	dead    bool
	patient *time.Timer // sends what waits for company; nil until used
	waiting bool        // patient runs
}

// serve speaks with a client until either side closes. Nothing that a client
// sends reaches beyond its own connection.
func (s *session) serve(conn *net.UnixConn, inside bool) {
	c := &connection{
		session: s, net: conn, opened: time.Now(), inside: inside,
		wake: make(chan struct{}, 1), done: make(chan struct{}),
		clients: make(map[wire.ClientID]struct{}),
	}
	var err error
	if c.raw, err = conn.SyscallConn(); err != nil {
		conn.Close()
		return
	}
	var writer sync.WaitGroup
	writer.Go(c.write)
	if err := c.read(); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
		s.logger.Debug("connection ended", logging.KeyError, err)
	}
	s.leave(c)
	c.rush()
	close(c.done)
	// What was queued, a refusal above all, is still written.
	_ = conn.SetWriteDeadline(time.Now().Add(time.Second)) // a closed connection writes nothing
	writer.Wait()
	conn.Close()
}

// read handles the client's frames. A panic costs this connection only.
func (c *connection) read() (err error) {
	defer func() {
		if fault := c.fault(recover()); fault != nil {
			err = fault
		}
	}()
	reader := wire.NewReader(bufio.NewReaderSize(c.net, 4<<10))
	if err := c.hello(reader); err != nil {
		return err
	}
	for {
		frame, err := reader.ReadFrame()
		if err != nil {
			return err
		}
		if err := c.handle(frame); err != nil {
			return err
		}
	}
}

// fault logs a recovered panic and makes it an error.
func (c *connection) fault(recovered any) error {
	if recovered == nil {
		return nil
	}
	c.session.logger.Error("connection failed", logging.KeyError, fmt.Sprint(recovered), "stack", string(debug.Stack()))
	return fmt.Errorf("internal fault: %v", recovered)
}

// hello exchanges preambles and greetings, and joins the session.
func (c *connection) hello(reader *wire.Reader) error {
	if err := c.net.SetReadDeadline(c.opened.Add(wire.AuthTimeout)); err != nil {
		return err
	}
	if _, err := reader.ReadPreamble(); err != nil {
		return err
	}
	frame, err := reader.ReadFrame()
	if err != nil {
		return err
	}
	hello, ok := frame.(*wire.HolderHello)
	if !ok {
		return c.refuse(wire.CodeInvalid, "a holder is greeted with HolderHello")
	}
	switch hello.Role {
	case wire.RoleDaemon, wire.RoleTool:
		c.kind = wire.OwnerViewer
	case wire.RoleLocal:
		c.kind = wire.OwnerLocal
	default:
		return c.refuse(wire.CodeInvalid, "the role is not daemon, local or tool")
	}
	c.role = hello.Role
	if err := c.net.SetReadDeadline(time.Time{}); err != nil {
		return err
	}
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.connections) >= daemon.MaxHolderConnections {
		return c.refuse(wire.CodeLimit, "too many connections to this session")
	}
	c.send(&wire.HolderWelcome{Version: buildinfo.Version(), VT: vt.StateVersion, PID: s.process.PID(), Session: s.info()})
	c.send(s.sizeOwner())
	s.connections[c] = struct{}{}
	return nil
}

func (c *connection) refuse(code, message string) error {
	c.send(&wire.Problem{Code: code, Message: message})
	return errRefused
}

// leave takes the connection out of the session.
func (s *session) leave(c *connection) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.connections, c)
	if c.stream.attached {
		s.lastGone = time.Now()
	}
	changed := false
	for client := range c.clients {
		changed = s.sizes.detach(client) || changed
	}
	s.sizesChanged(changed)
}

// handle takes one frame. An error ends the connection.
func (c *connection) handle(frame wire.Frame) error {
	if c.inside && !harmless(frame) {
		c.session.noteIntruder()
		return c.refuse(wire.CodeForbidden, "a program inside a session may not attach to sessions or type into them")
	}
	switch f := frame.(type) {
	case *wire.HolderAttach:
		c.session.attach(c, f)
	case *wire.Ack:
		c.session.acknowledge(c, f.Offset)
	case *wire.Input:
		c.input(f)
	case *wire.Retire:
		c.session.inputs.retire(f.Client, c)
	case *wire.ClaimSize:
		c.claim(f)
	case *wire.ReleaseSize:
		c.release(f)
	case *wire.Presence:
		c.presence(f)
	case *wire.RPC:
		c.send(c.call(f))
	case *wire.Ping:
		c.delay.Observe(f.Sent, time.Since(c.opened))
		c.send(&wire.Pong{Nonce: f.Nonce, Sent: c.sent()})
	}
	// Anything else is for another dialect, or newer than this holder.
	return nil
}

// sent is the stamp of a frame sent now.
func (c *connection) sent() uint32 { return uint32(time.Since(c.opened).Milliseconds()) }

func (c *connection) input(f *wire.Input) {
	delay := c.delay.Observe(f.Sent, time.Since(c.opened))
	if !validInput(f) {
		c.sendAck(wire.InputAck{Client: f.Client, Seq: f.Seq, Status: wire.InputInvalid})
		return
	}
	s := c.session
	s.inputs.add(f, time.Duration(f.Age)*time.Millisecond+delay, c)
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	c.isLocal(f.Client)
	s.sizes.typed(f.Client, c.kind, now)
	for client := range c.clients {
		// A local terminal is one person, whatever ids it has used.
		s.sizes.typed(client, c.kind, now)
	}
	s.sizesChanged(false)
}

// isLocal remembers a client of a local connection, to let it go with the
// connection. It says no when the connection has used too many.
func (c *connection) isLocal(client wire.ClientID) bool {
	if c.kind != wire.OwnerLocal {
		return true
	}
	if _, known := c.clients[client]; !known && len(c.clients) >= maxLocalClients {
		return false
	}
	c.clients[client] = struct{}{}
	return true
}

func (c *connection) claim(f *wire.ClaimSize) {
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.isLocal(f.Client) {
		s.sizesChanged(s.sizes.claim(f.Client, c.kind, f.Reason, max(f.Cols, minColumns), f.Rows, time.Now()))
	}
}

func (c *connection) release(f *wire.ReleaseSize) {
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sizesChanged(s.sizes.release(f.Client))
}

func (c *connection) presence(f *wire.Presence) {
	s := c.session
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.isLocal(f.Client) {
		s.sizes.presence(f.Client, c.kind, f.Visible, f.Focused, time.Now())
		s.sizesChanged(false)
	}
}

// send queues a control frame. It never blocks; who does not read is
// disconnected.
func (c *connection) send(frame wire.Frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return
	}
	control, err := wire.Append(c.control, frame)
	if err != nil {
		c.session.logger.Warn("frame cannot be encoded", logging.KeyError, err)
		return
	}
	c.control = control
	if len(c.control) > maxControl {
		c.dead, c.control = true, nil
		c.net.Close() // ends reader and writer
		return
	}
	c.signal()
}

// sendAck queues what became of an input. That it was applied is most often
// followed at once by the program's echo, and travels with it: a message of its
// own would be in the echo's way at every hop.
func (c *connection) sendAck(ack wire.InputAck) {
	if ack.Status != wire.InputApplied {
		c.send(&ack)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead {
		return
	}
	control, err := wire.Append(c.control, &ack)
	if err != nil || len(control) > maxControl {
		c.signal() // it never is so large; an unanswered input is asked for again
		return
	}
	c.control = control
	switch {
	case c.waiting:
	case c.patient == nil:
		c.waiting, c.patient = true, time.AfterFunc(ackPatience, c.company)
	default:
		c.waiting = true
		c.patient.Reset(ackPatience)
	}
}

// isWaiting says that an acknowledgement waits for company.
func (c *connection) isWaiting() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waiting && len(c.control) > 0
}

// company ends the wait of an acknowledgement.
func (c *connection) company() {
	c.mu.Lock()
	c.waiting = false
	due := len(c.control) > 0
	c.mu.Unlock()
	if due {
		c.signal()
	}
}

// rush stops the timer for good; the writer sends what is left.
func (c *connection) rush() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.patient != nil {
		c.patient.Stop()
	}
	c.waiting = true
}

func (c *connection) signal() {
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// write sends what is queued, control frames first, until the reader has ended
// and the queue is empty, or a write fails.
func (c *connection) write() {
	defer func() {
		_ = c.fault(recover()) // it is logged, and ends this connection only
		c.mu.Lock()
		c.dead, c.control = true, nil
		c.mu.Unlock()
		c.net.CloseRead() // the reader ends too
	}()
	c.out.Lock()
	c.rest = wire.AppendPreamble(nil)
	c.out.Unlock()
	for {
		more, err := c.writeBatch()
		if err != nil {
			return
		}
		if more {
			continue
		}
		select {
		case <-c.wake:
		case <-c.done:
			c.out.Lock()
			defer c.out.Unlock()
			if last := c.takeControl(c.rest); len(last) > 0 {
				_, _ = c.net.Write(last) // the last words; nobody may be there to hear them
			}
			return
		}
	}
}

// writeBatch sends what there is now, about a batch, and says whether it was
// anything.
func (c *connection) writeBatch() (more bool, err error) {
	c.out.Lock()
	defer c.out.Unlock()
	batch := c.session.fill(c, c.takeControl(c.rest))
	c.rest = batch[:0]
	if cap(batch) > 2*writeBatch {
		c.rest = nil // a large frame must not keep its memory
	}
	if len(batch) == 0 {
		return false, nil
	}
	if _, err := c.net.Write(batch); err != nil {
		return false, err
	}
	return true, nil
}

// writeNow sends what waits and frame, as far as the socket takes it without
// waiting, and reports whether the frame is on its way; if not, nothing was
// done. The rest of a frame that was taken in part goes with the next batch.
func (c *connection) writeNow(frame wire.Frame) bool {
	if !c.out.TryLock() {
		return false // the writer is at it
	}
	defer c.out.Unlock()
	if len(c.rest) > 0 {
		return false // the socket is full, or this is the beginning
	}
	batch := c.takeControl(c.rest)
	if frame != nil {
		var err error
		if batch, err = wire.Append(batch, frame); err != nil {
			c.rest = batch
			c.signal()
			return false
		}
	}
	n := 0
	_ = c.raw.Write(func(fd uintptr) bool { // the writer meets the error, too
		if written, err := unix.Write(int(fd), batch); err == nil {
			n = written
		}
		return true
	})
	c.rest = batch[:copy(batch, batch[n:])]
	if len(c.rest) > 0 {
		c.signal()
	}
	return true
}

// shrink gives up the buffers that a flood left behind.
func (s *session) shrink() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.connections {
		if !c.out.TryLock() {
			continue // it is in use
		}
		if len(c.rest) == 0 {
			c.rest = nil
		}
		c.out.Unlock()
		c.mu.Lock()
		if len(c.control) == 0 {
			c.control = nil
		}
		c.mu.Unlock()
	}
}

func (c *connection) takeControl(batch []byte) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(batch) == 0 && len(c.control) > 0 {
		// The queue itself is sent, and the batch becomes the queue.
		batch, c.control = c.control, batch
		return batch
	}
	batch = append(batch, c.control...)
	c.control = c.control[:0]
	return batch
}
