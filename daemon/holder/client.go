package holder

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/buildinfo"
	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// ErrNoHolder says that nobody listens on the session's socket. Inspect says
// whether the session has ended.
var ErrNoHolder = errors.New("the session's holder does not answer")

// maxBacklog bounds the frames that arrive during a Call and wait for Receive.
const maxBacklog = 4096

// Client is a connection to a session's holder, past the greeting. Send and
// Call may be used by many goroutines, Receive by one at a time.
type Client struct {
	// Static after Dial.
	conn    *net.UnixConn
	opened  time.Time
	welcome wire.HolderWelcome

	sending sync.Mutex
	buffer  []byte // guarded by sending

	// reading holds one token; who has it reads the connection.
	reading chan struct{}
	reader  *wire.Reader  // of the token's owner
	input   *bufio.Reader // as above
	backlog []wire.Frame  // as above
	failed  error         // as above: what ended the connection

	calls    sync.Mutex
	lastCall uint64                         // guarded by calls
	waiting  map[uint64]chan *wire.RPCReply // guarded by calls
}

// Dial connects to a session's holder in a role (wire.RoleDaemon, RoleLocal or
// RoleTool) and waits for its welcome. The socket must be ours and so must the
// process behind it. ErrNoHolder: nobody listens. A refusal is a *wire.Fault.
func Dial(ctx context.Context, dirs daemon.Dirs, id, role string) (*Client, error) {
	if !daemon.ValidSessionID(id) {
		return nil, fmt.Errorf("%w: %q is not a session id", ErrNoSession, untrusted.Clean(id, 64))
	}
	var dialer net.Dialer
	opened := time.Now()
	conn, err := dialer.DialContext(ctx, "unix", dirs.SessionSocket(id))
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ECONNREFUSED) {
			return nil, ErrNoHolder
		}
		return nil, fmt.Errorf("reach holder: %w", err)
	}
	c := &Client{
		conn: conn.(*net.UnixConn), opened: opened, reading: make(chan struct{}, 1),
		input: bufio.NewReaderSize(conn, 64<<10), waiting: make(map[uint64]chan *wire.RPCReply),
	}
	c.reader = wire.NewReader(c.input)
	stop := context.AfterFunc(ctx, func() { conn.SetDeadline(time.Unix(1, 0)) })
	err = c.greet(role)
	if !stop() && err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("reach holder: %w", err)
	}
	c.reading <- struct{}{}
	return c, nil
}

func (c *Client) greet(role string) error {
	uid, _, err := Peer(c.conn)
	if err != nil {
		return err
	}
	if uid != os.Getuid() {
		return fmt.Errorf("the socket belongs to a process of user %d", uid)
	}
	c.buffer = wire.AppendPreamble(nil)
	if err := c.Send(&wire.HolderHello{Role: role, Version: buildinfo.Version()}); err != nil {
		return err
	}
	if _, err := c.reader.ReadPreamble(); err != nil {
		return err
	}
	frame, err := c.reader.ReadFrame()
	if err != nil {
		return err
	}
	switch f := frame.(type) {
	case *wire.HolderWelcome:
		c.welcome = *f
		return nil
	case *wire.Problem:
		return &wire.Fault{Code: f.Code, Message: f.Message}
	}
	return fmt.Errorf("holder answered with %s", frame.Type())
}

// Welcome is what the holder said first. It does not change.
func (c *Client) Welcome() *wire.HolderWelcome { return &c.welcome }

// Sent is the stamp for a frame that is sent now: milliseconds since the
// connection was opened.
func (c *Client) Sent() uint32 { return uint32(time.Since(c.opened).Milliseconds()) }

// Send writes frames in order, as one write. It waits as long as the holder
// does not read, which is not long: a holder always reads.
func (c *Client) Send(frames ...wire.Frame) error {
	c.sending.Lock()
	defer c.sending.Unlock()
	encoded, err := wire.AppendAll(c.buffer, frames...)
	if err != nil {
		return err
	}
	c.buffer = encoded[:0]
	if _, err := c.conn.Write(encoded); err != nil {
		return fmt.Errorf("send to holder: %w", err)
	}
	return nil
}

// TrySend is Send if that does not wait. false: nothing was sent.
func (c *Client) TrySend(frames ...wire.Frame) bool {
	if !c.sending.TryLock() {
		return false
	}
	defer c.sending.Unlock()
	encoded, err := wire.AppendAll(c.buffer, frames...)
	if err != nil {
		return false
	}
	c.buffer = encoded[:0]
	raw, err := c.conn.SyscallConn()
	if err != nil {
		return false
	}
	n := 0
	err = raw.Write(func(fd uintptr) bool {
		if written, err := unix.Write(int(fd), encoded); err == nil {
			n = written
		}
		return true
	})
	if n > 0 && n < len(encoded) {
		// No system divides so little; if one does, the frame is sent again on
		// the next connection.
		c.conn.Close()
	}
	return err == nil && n > 0
}

// Receive waits for the next frame, which owns its bytes. Replies to Call are
// not among them. It fails with io.EOF when the holder closed the connection,
// and with net.ErrClosed after Close.
func (c *Client) Receive() (wire.Frame, error) {
	<-c.reading
	defer func() { c.reading <- struct{}{} }()
	if len(c.backlog) > 0 {
		frame := c.backlog[0]
		c.backlog = c.backlog[1:]
		return frame, nil
	}
	for {
		frame, err := c.read()
		if err != nil {
			return nil, err
		}
		if reply, ok := frame.(*wire.RPCReply); !ok || !c.deliver(reply) {
			return frame, nil
		}
	}
}

// read takes one frame from the connection; its caller has the token.
func (c *Client) read() (wire.Frame, error) {
	if c.failed != nil {
		return nil, c.failed
	}
	frame, err := c.reader.ReadFrame()
	if err != nil {
		if !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
			err = fmt.Errorf("receive from holder: %w", err)
		}
		c.failed = err
		c.calls.Lock()
		for id, reply := range c.waiting {
			close(reply)
			delete(c.waiting, id)
		}
		c.calls.Unlock()
	}
	return frame, err
}

// deliver hands a reply to its call, if somebody still waits for it.
func (c *Client) deliver(reply *wire.RPCReply) bool {
	c.calls.Lock()
	defer c.calls.Unlock()
	if reply.ID > c.lastCall {
		return false
	}
	if waiting, ok := c.waiting[reply.ID]; ok {
		waiting <- reply // it has room for one
		delete(c.waiting, reply.ID)
	}
	return true
}

// Call asks the holder and decodes its result into result, unless that is nil.
// It works with and without somebody in Receive; frames that arrive meanwhile
// are kept for Receive. A refusal is a *wire.Fault.
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	call := &wire.RPC{Method: method}
	if params != nil {
		encoded, err := json.Marshal(params)
		if err != nil {
			return fmt.Errorf("encode %s: %w", method, err)
		}
		call.Params = encoded
	}
	waiting := make(chan *wire.RPCReply, 1)
	c.calls.Lock()
	c.lastCall++
	call.ID = c.lastCall
	c.waiting[call.ID] = waiting
	c.calls.Unlock()
	defer func() {
		c.calls.Lock()
		delete(c.waiting, call.ID)
		c.calls.Unlock()
	}()
	if err := c.Send(call); err != nil {
		return err
	}
	reply, err := c.await(ctx, waiting)
	switch {
	case err != nil:
		return fmt.Errorf("call %s: %w", method, err)
	case reply.Error != nil:
		return reply.Error
	case result == nil:
		return nil
	}
	if err := json.Unmarshal(reply.Result, result); err != nil {
		return fmt.Errorf("decode result of %s: %w", method, err)
	}
	return nil
}

// await waits for a reply, and reads the connection itself while nobody else does.
func (c *Client) await(ctx context.Context, waiting chan *wire.RPCReply) (*wire.RPCReply, error) {
	for {
		select {
		case reply, ok := <-waiting:
			if !ok {
				return nil, io.ErrUnexpectedEOF
			}
			return reply, nil
		default:
		}
		select {
		case reply, ok := <-waiting:
			if !ok {
				return nil, io.ErrUnexpectedEOF
			}
			return reply, nil
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-c.reading:
			err := c.readFor(ctx)
			c.reading <- struct{}{}
			if err != nil {
				return nil, err
			}
		}
	}
}

// readFor reads one frame on behalf of a call, or none when ctx ends first. A
// frame of which a byte has arrived is read to its end.
func (c *Client) readFor(ctx context.Context) error {
	if c.failed != nil {
		return c.failed
	}
	if len(c.backlog) >= maxBacklog {
		return errors.New("nobody receives what the holder sends")
	}
	stop := context.AfterFunc(ctx, func() { c.conn.SetReadDeadline(time.Unix(1, 0)) })
	_, err := c.input.Peek(1)
	if !stop() {
		_ = c.conn.SetReadDeadline(time.Time{}) // a closed connection fails below
		if err != nil {
			return context.Cause(ctx)
		}
	}
	frame, err := c.read()
	if err != nil {
		return err
	}
	if reply, ok := frame.(*wire.RPCReply); !ok || !c.deliver(reply) {
		c.backlog = append(c.backlog, frame)
	}
	return nil
}

// Close ends the connection. Receive and Call fail from then on.
func (c *Client) Close() error { return c.conn.Close() }
