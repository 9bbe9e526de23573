// Package sockettest lets tests speak the true wire to the server's socket ends
// without a network: connections in memory that can be stopped, and a peer that
// keeps what it is told. It works inside a synctest bubble. Only tests import
// it; what a test opens is closed with it.
package sockettest

import (
	"context"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"testing"
	"time"
)

// bufferSize is what a connection holds between its ends, as a kernel would.
const bufferSize = 64 << 10

// Network is a server in memory.
type Network struct {
	incoming chan net.Conn
	done     chan struct{}
	client   *http.Client
}

// Serve answers requests by h until the test ends.
func Serve(t testing.TB, h http.Handler) *Network {
	t.Helper()
	n := &Network{incoming: make(chan net.Conn), done: make(chan struct{})}
	n.client = &http.Client{Transport: &http.Transport{DialContext: n.dial, DisableKeepAlives: true}}
	server := &http.Server{Handler: h, ReadHeaderTimeout: time.Minute}
	served := make(chan struct{})
	go func() {
		defer close(served)
		server.Serve(listener{n}) //nolint:errcheck // always ErrServerClosed
	}()
	t.Cleanup(func() {
		close(n.done)
		server.Close()
		<-served
		n.client.CloseIdleConnections()
	})
	return n
}

// Client makes requests there, whatever host their address names.
func (n *Network) Client() *http.Client { return n.client }

func (n *Network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	up, down := newHalf(), newHalf()
	select {
	case n.incoming <- &conn{in: up, out: down}:
		return &conn{in: down, out: up}, nil
	case <-n.done:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

type listener struct{ n *Network }

func (l listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.n.incoming:
		return c, nil
	case <-l.n.done:
		return nil, net.ErrClosed
	}
}

func (l listener) Close() error   { return nil }
func (l listener) Addr() net.Addr { return address{} }

type address struct{}

func (address) Network() string { return "memory" }
func (address) String() string  { return "memory" }

// half is one direction of a connection.
type half struct {
	mu       sync.Mutex
	changed  *sync.Cond
	buf      []byte // guarded by mu
	closed   bool   // guarded by mu
	readBy   time.Time
	writeBy  time.Time
	timers   []*time.Timer
	received int // bytes ever written; guarded by mu
}

func newHalf() *half {
	h := &half{}
	h.changed = sync.NewCond(&h.mu)
	return h
}

func (h *half) update(f func()) {
	h.mu.Lock()
	defer h.mu.Unlock()
	f()
	h.changed.Broadcast()
}

// deadline sets a deadline and wakes who waits when it comes.
func (h *half) deadline(at time.Time, set func()) {
	h.update(set)
	if at.IsZero() {
		return
	}
	timer := time.AfterFunc(time.Until(at), func() { h.update(func() {}) })
	h.update(func() { h.timers = append(h.timers, timer) })
}

func (h *half) close() {
	h.update(func() {
		h.closed = true
		for _, timer := range h.timers {
			timer.Stop()
		}
	})
}

func passed(at time.Time) bool { return !at.IsZero() && !time.Now().Before(at) }

// conn is one end of a connection.
type conn struct{ in, out *half }

func (c *conn) Read(p []byte) (int, error) {
	h := c.in
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.buf) == 0 {
		switch {
		case h.closed:
			return 0, io.EOF
		case passed(h.readBy):
			return 0, os.ErrDeadlineExceeded
		}
		h.changed.Wait()
	}
	n := copy(p, h.buf)
	h.buf = h.buf[n:]
	h.changed.Broadcast()
	return n, nil
}

func (c *conn) Write(p []byte) (written int, err error) {
	h := c.out
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(p) > 0 {
		switch {
		case h.closed:
			return written, io.ErrClosedPipe
		case passed(h.writeBy):
			return written, os.ErrDeadlineExceeded
		}
		n := min(bufferSize-len(h.buf), len(p))
		if n == 0 {
			h.changed.Wait()
			continue
		}
		h.buf = append(h.buf, p[:n]...)
		h.received += n
		p, written = p[n:], written+n
		h.changed.Broadcast()
	}
	return written, nil
}

func (c *conn) Close() error {
	c.in.close()
	c.out.close()
	return nil
}

func (c *conn) LocalAddr() net.Addr  { return address{} }
func (c *conn) RemoteAddr() net.Addr { return address{} }

func (c *conn) SetDeadline(at time.Time) error {
	c.SetReadDeadline(at)  //nolint:errcheck // never fails
	c.SetWriteDeadline(at) //nolint:errcheck // never fails
	return nil
}

func (c *conn) SetReadDeadline(at time.Time) error {
	c.in.deadline(at, func() { c.in.readBy = at })
	return nil
}

func (c *conn) SetWriteDeadline(at time.Time) error {
	c.out.deadline(at, func() { c.out.writeBy = at })
	return nil
}
