package uplink

import (
	"context"
	"io"
	"net"
	"os"
	"sync"
	"time"
)

// memNet is a network in memory whose connections have buffers, so that it
// works inside a synctest bubble. Tests cut and stop it.
type memNet struct {
	incoming chan net.Conn
	done     chan struct{}
	once     sync.Once

	mu     sync.Mutex
	conns  []*memConn // the host's ends
	dials  int
	refuse error
	buffer int
	rate   int // bytes per second from the host; 0 is unlimited
	// cutAfter ends the next connections after so many bytes from the host.
	cutAfter []int
	// onDial is told of each connection.
	onDial func()
}

func newMemNet() *memNet {
	return &memNet{incoming: make(chan net.Conn), done: make(chan struct{}), buffer: 256 << 10}
}

func (n *memNet) Accept() (net.Conn, error) {
	select {
	case conn := <-n.incoming:
		return conn, nil
	case <-n.done:
		return nil, net.ErrClosed
	}
}

func (n *memNet) Close() error {
	n.once.Do(func() { close(n.done) })
	return nil
}

func (n *memNet) Addr() net.Addr { return memAddr{} }

func (n *memNet) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	n.mu.Lock()
	n.dials++
	refuse, buffer, rate, onDial := n.refuse, n.buffer, n.rate, n.onDial
	cut := -1
	if len(n.cutAfter) > 0 {
		cut, n.cutAfter = n.cutAfter[0], n.cutAfter[1:]
	}
	n.mu.Unlock()
	if onDial != nil {
		onDial()
	}
	if refuse != nil {
		return nil, refuse
	}
	up, down := newHalf(buffer), newHalf(buffer)
	up.cutAfter, up.rate = cut, rate
	host, server := &memConn{in: down, out: up}, &memConn{in: up, out: down}
	select {
	case n.incoming <- server:
	case <-n.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	n.mu.Lock()
	n.conns = append(n.conns, host)
	n.mu.Unlock()
	return host, nil
}

func (n *memNet) dialled() int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.dials
}

func (n *memNet) setRefuse(err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refuse = err
}

// last is the newest connection.
func (n *memNet) last() *memConn {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.conns[len(n.conns)-1]
}

type memAddr struct{}

func (memAddr) Network() string { return "mem" }
func (memAddr) String() string  { return "mem" }

// half is one direction of a connection.
type half struct {
	limit    int
	cutAfter int // bytes until the connection breaks; below 0 never
	rate     int // bytes per second; 0 is unlimited

	mu      sync.Mutex
	changed chan struct{}
	buf     []byte
	closed  bool
	held    bool // nothing is delivered
	passed  int
}

func newHalf(limit int) *half { return &half{limit: limit, cutAfter: -1, changed: make(chan struct{})} }

func (h *half) signal() {
	close(h.changed)
	h.changed = make(chan struct{})
}

func (h *half) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.closed {
		h.closed = true
		h.signal()
	}
}

func (h *half) hold(held bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held = held
	h.signal()
}

type memConn struct {
	in, out *half
	readBy  deadline
	writeBy deadline
	writing sync.Mutex
}

// deadline is a time that can be moved while somebody waits for it.
type deadline struct {
	mu    sync.Mutex
	timer *time.Timer
	done  chan struct{}
}

func (d *deadline) set(t time.Time) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.timer != nil {
		d.timer.Stop()
	}
	select {
	case <-d.channel():
		d.done = make(chan struct{})
	default:
	}
	if t.IsZero() {
		return
	}
	done := d.channel()
	if wait := time.Until(t); wait > 0 {
		d.timer = time.AfterFunc(wait, func() { close(done) })
		return
	}
	close(done)
}

func (d *deadline) channel() chan struct{} {
	if d.done == nil {
		d.done = make(chan struct{})
	}
	return d.done
}

func (d *deadline) wait() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.channel()
}

func (c *memConn) Read(p []byte) (int, error) {
	for {
		c.in.mu.Lock()
		if len(c.in.buf) > 0 && !c.in.held {
			if c.in.rate > 0 {
				p = p[:min(len(p), max(c.in.rate/100, 1))]
			}
			n := copy(p, c.in.buf)
			c.in.buf = c.in.buf[n:]
			c.in.signal()
			c.in.mu.Unlock()
			if c.in.rate > 0 {
				time.Sleep(time.Duration(n) * time.Second / time.Duration(c.in.rate)) // virtual: the wire's speed
			}
			return n, nil
		}
		closed, changed := c.in.closed, c.in.changed
		c.in.mu.Unlock()
		if closed {
			return 0, io.EOF
		}
		select {
		case <-changed:
		case <-c.readBy.wait():
			return 0, os.ErrDeadlineExceeded
		}
	}
}

func (c *memConn) Write(p []byte) (written int, err error) {
	c.writing.Lock()
	defer c.writing.Unlock()
	for len(p) > 0 {
		c.out.mu.Lock()
		if c.out.closed {
			c.out.mu.Unlock()
			return written, net.ErrClosed
		}
		room := c.out.limit - len(c.out.buf)
		n := min(room, len(p))
		if c.out.cutAfter >= 0 {
			n = min(n, c.out.cutAfter-c.out.passed)
		}
		if n > 0 {
			c.out.buf = append(c.out.buf, p[:n]...)
			c.out.passed += n
			p, written = p[n:], written+n
			c.out.signal()
		}
		cut := c.out.cutAfter >= 0 && c.out.passed >= c.out.cutAfter
		changed := c.out.changed
		c.out.mu.Unlock()
		if cut {
			c.Close()
			return written, net.ErrClosed
		}
		if n > 0 {
			continue
		}
		select {
		case <-changed:
		case <-c.writeBy.wait():
			return written, os.ErrDeadlineExceeded
		}
	}
	return written, nil
}

func (c *memConn) Close() error {
	c.in.close()
	c.out.close()
	return nil
}

// blackhole keeps both directions from delivering anything.
func (c *memConn) blackhole() {
	c.in.hold(true)
	c.out.hold(true)
}

func (c *memConn) LocalAddr() net.Addr  { return memAddr{} }
func (c *memConn) RemoteAddr() net.Addr { return memAddr{} }
func (c *memConn) SetDeadline(t time.Time) error {
	c.readBy.set(t)
	c.writeBy.set(t)
	return nil
}
func (c *memConn) SetReadDeadline(t time.Time) error  { c.readBy.set(t); return nil }
func (c *memConn) SetWriteDeadline(t time.Time) error { c.writeBy.set(t); return nil }
