package e2e

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"
)

// Proxy is a TCP relay on loopback with faults: it cuts, stalls and throttles
// the connections that go through it. Tests put one between a daemon or a
// viewer and the server.
type Proxy struct {
	listener net.Listener
	stop     context.CancelFunc
	done     sync.WaitGroup

	mu       sync.Mutex
	target   string
	links    map[*link]struct{}
	refuse   bool
	rate     int           // bytes per second towards the client, 0 for no limit
	upRate   int           // bytes per second towards the target
	stalled  chan struct{} // closed when the stall ends; nil when there is none
	accepted int
}

// link is one relayed connection.
type link struct{ client, target net.Conn }

func (l *link) close() {
	// SetLinger(0) makes the cut a reset, as a lost route looks like in the end.
	for _, conn := range []net.Conn{l.client, l.target} {
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0)
		}
		conn.Close()
	}
}

// NewProxy listens on loopback and relays to target, a host:port, which may be
// empty until SetTarget.
func NewProxy(target string) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	p := &Proxy{listener: listener, target: target, stop: stop, links: make(map[*link]struct{})}
	p.done.Go(func() { p.accept(ctx) })
	return p, nil
}

// SetTarget changes where new connections go.
func (p *Proxy) SetTarget(target string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.target = target
}

// Addr is the host:port to dial instead of the target's.
func (p *Proxy) Addr() string { return p.listener.Addr().String() }

// Close cuts everything and waits for it.
func (p *Proxy) Close() {
	p.stop()
	p.listener.Close()
	p.Resume()
	p.Cut()
	p.done.Wait()
}

// Cut resets every open connection.
func (p *Proxy) Cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for l := range p.links {
		l.close()
	}
}

// Refuse makes new connections fail, or work again.
func (p *Proxy) Refuse(refuse bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuse = refuse
}

// Throttle bounds the bytes per second towards the client and towards the
// target; 0 lifts a bound. It counts for connections opened afterwards too.
func (p *Proxy) Throttle(toClient, toTarget int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.rate, p.upRate = toClient, toTarget
}

// Stall holds all bytes back, both ways, until Resume.
func (p *Proxy) Stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stalled == nil {
		p.stalled = make(chan struct{})
	}
}

// Resume ends a stall.
func (p *Proxy) Resume() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stalled != nil {
		close(p.stalled)
		p.stalled = nil
	}
}

// Accepted is how many connections were relayed so far.
func (p *Proxy) Accepted() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.accepted
}

func (p *Proxy) accept(ctx context.Context) {
	for {
		client, err := p.listener.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue
		}
		p.mu.Lock()
		refuse, address := p.refuse || p.target == "", p.target
		p.mu.Unlock()
		if refuse {
			(&link{client: client, target: client}).close()
			continue
		}
		target, err := net.Dial("tcp", address)
		if err != nil {
			(&link{client: client, target: client}).close()
			continue
		}
		l := &link{client: client, target: target}
		p.mu.Lock()
		p.links[l] = struct{}{}
		p.accepted++
		p.mu.Unlock()
		p.done.Go(func() {
			var both sync.WaitGroup
			both.Go(func() { p.copy(ctx, l, client, target, func() int { return p.rate }) })
			both.Go(func() { p.copy(ctx, l, target, client, func() int { return p.upRate }) })
			both.Wait()
			p.mu.Lock()
			delete(p.links, l)
			p.mu.Unlock()
		})
	}
}

// copy relays from src to dst. A throttled copy reads no more than its share,
// and the socket buffers are kept small, so that the sender feels the rate.
func (p *Proxy) copy(ctx context.Context, l *link, dst, src net.Conn, rate func() int) {
	defer l.close()
	buffer := make([]byte, 64<<10)
	for {
		p.mu.Lock()
		stalled, bound := p.stalled, rate()
		p.mu.Unlock()
		if stalled != nil {
			select {
			case <-stalled:
			case <-ctx.Done():
				return
			}
			continue
		}
		chunk := buffer
		if bound > 0 {
			chunk = buffer[:max(bound/50, 64)]
			for _, conn := range []net.Conn{src, dst} {
				if tcp, ok := conn.(*net.TCPConn); ok {
					_ = tcp.SetReadBuffer(4 << 10)
					_ = tcp.SetWriteBuffer(4 << 10)
				}
			}
		}
		n, err := src.Read(chunk)
		if n > 0 {
			if !p.waitForStall(ctx) {
				return
			}
			if _, err := dst.Write(chunk[:n]); err != nil {
				return
			}
			if bound > 0 {
				pause := time.NewTimer(time.Duration(n) * time.Second / time.Duration(bound))
				select {
				case <-pause.C:
				case <-ctx.Done():
					pause.Stop()
					return
				}
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *Proxy) waitForStall(ctx context.Context) bool {
	for {
		p.mu.Lock()
		stalled := p.stalled
		p.mu.Unlock()
		if stalled == nil {
			return true
		}
		select {
		case <-stalled:
		case <-ctx.Done():
			return false
		}
	}
}
