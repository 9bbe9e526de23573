package sockettest

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/coder/websocket"
)

// patience is how long a peer waits for a frame that should come.
const patience = time.Minute

// Peer is the other end of a socket: a daemon or a browser.
type Peer struct {
	t      testing.TB
	conn   *websocket.Conn
	opened time.Time
	first  bool
	done   chan struct{}

	mu     sync.Mutex
	inbox  []wire.Frame
	paused bool
	pongs  bool
	bytes  int
	err    error
	change chan struct{}
}

// Dial opens a WebSocket. Its messages are read as they come until Pause.
func (n *Network) Dial(t testing.TB, path string, header http.Header) *Peer {
	t.Helper()
	//nolint:bodyclose // a WebSocket has none
	conn, _, err := websocket.Dial(t.Context(), "ws://memory"+path, &websocket.DialOptions{HTTPClient: n.client, HTTPHeader: header})
	if err != nil {
		t.Fatalf("dial %s: %v", path, err)
	}
	conn.SetReadLimit(wire.MaxMessage)
	p := &Peer{t: t, conn: conn, opened: time.Now(), first: true, done: make(chan struct{}), change: make(chan struct{})}
	go p.read()
	t.Cleanup(p.Cut)
	return p
}

func (p *Peer) read() {
	defer close(p.done)
	first := true
	for {
		if !p.awaitResume() {
			return
		}
		_, message, err := p.conn.Read(context.Background())
		if err == nil && first {
			first = false
			message, _, err = wire.CutPreamble(message)
		}
		if err == nil {
			size := len(message)
			err = wire.DecodeAll(message, func(f wire.Frame) error {
				var answer bool
				p.signal(func() {
					p.inbox = append(p.inbox, f)
					answer = p.pongs
				})
				if ping, ok := f.(*wire.Ping); ok && answer {
					p.write(&wire.Pong{Nonce: ping.Nonce, Sent: p.Sent()})
				}
				return nil
			})
			p.signal(func() { p.bytes += size })
		}
		if err != nil {
			p.signal(func() { p.err = err })
			return
		}
	}
}

func (p *Peer) signal(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f()
	close(p.change)
	p.change = make(chan struct{})
}

// awaitResume waits while the peer is paused.
func (p *Peer) awaitResume() bool {
	for {
		p.mu.Lock()
		paused, change, err := p.paused, p.change, p.err
		p.mu.Unlock()
		if err != nil {
			return false
		}
		if !paused {
			return true
		}
		<-change
	}
}

// Pause stops reading, Resume goes on.
func (p *Peer) Pause() { p.signal(func() { p.paused = true }) }

// Resume reads on.
func (p *Peer) Resume() { p.signal(func() { p.paused = false }) }

// AnswerPings makes the peer answer every Ping that it reads from now on. It
// must have said hello.
func (p *Peer) AnswerPings() { p.signal(func() { p.pongs = true }) }

// write sends one frame from the reading goroutine. An error shows when the peer
// reads.
func (p *Peer) write(f wire.Frame) {
	message, err := wire.Append(nil, f)
	if err != nil {
		panic(err)
	}
	p.conn.Write(context.Background(), websocket.MessageBinary, message) //nolint:errcheck // see above
}

// Bytes is how much was received.
func (p *Peer) Bytes() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.bytes
}

// Sent is the milliseconds since the connection was opened, for frames that say
// so.
func (p *Peer) Sent() uint32 { return uint32(time.Since(p.opened).Milliseconds()) }

// Send writes frames in one message.
func (p *Peer) Send(frames ...wire.Frame) {
	p.t.Helper()
	message, err := wire.AppendAll(nil, frames...)
	if err != nil {
		p.t.Fatalf("encode: %v", err)
	}
	p.SendRaw(message)
}

// SendRaw writes bytes as one message, behind the preamble if it is the first.
func (p *Peer) SendRaw(message []byte) {
	p.t.Helper()
	if p.first {
		p.first = false
		message = append(wire.AppendPreamble(nil), message...)
	}
	p.SendBare(message)
}

// SendBare writes bytes as one message and nothing else. An error shows when
// the peer reads.
func (p *Peer) SendBare(message []byte) {
	p.first = false
	p.conn.Write(context.Background(), websocket.MessageBinary, message) //nolint:errcheck // see above
}

// Take returns what has come and was not taken yet, without Pings and Pongs.
func (p *Peer) Take() []wire.Frame {
	p.mu.Lock()
	defer p.mu.Unlock()
	var frames []wire.Frame
	for _, f := range p.inbox {
		if !isHeartbeat(f) {
			frames = append(frames, f)
		}
	}
	p.inbox = nil
	return frames
}

func isHeartbeat(f wire.Frame) bool {
	switch f.(type) {
	case *wire.Ping, *wire.Pong:
		return true
	}
	return false
}

// Await takes frames until one of type F that satisfies all conditions comes,
// and returns it. What came before it is lost.
func Await[F wire.Frame](p *Peer, conditions ...func(F) bool) F {
	p.t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for {
		p.mu.Lock()
		for i, f := range p.inbox {
			if f, ok := f.(F); ok && all(f, conditions) {
				p.inbox = p.inbox[i+1:]
				p.mu.Unlock()
				return f
			}
		}
		err, change := p.err, p.change
		p.mu.Unlock()
		var none F
		if err != nil {
			p.t.Fatalf("connection ended while waiting for %T: %v", none, err)
		}
		select {
		case <-change:
		case <-timeout.C:
			p.t.Fatalf("no %T came", none)
		}
	}
}

func all[F wire.Frame](f F, conditions []func(F) bool) bool {
	for _, condition := range conditions {
		if !condition(f) {
			return false
		}
	}
	return true
}

// Closed waits for the end of the connection and returns the close code, -1
// when there was none.
func (p *Peer) Closed() websocket.StatusCode {
	p.t.Helper()
	p.Resume()
	select {
	case <-p.done:
	case <-time.After(patience):
		p.t.Fatal("the connection does not end")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if closing, ok := errors.AsType[websocket.CloseError](p.err); ok {
		return closing.Code
	}
	return -1
}

// Cut breaks the connection without a word.
func (p *Peer) Cut() {
	p.conn.CloseNow()
	p.Resume()
	<-p.done
}
