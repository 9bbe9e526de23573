package viewer

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/fleet"
	"github.com/agent-helm/agent-helm/server/fleet/fleettest"
	"github.com/agent-helm/agent-helm/server/hostlink"
	"github.com/coder/websocket"
)

// benchPeer is one end of a WebSocket over loopback TCP, without any test help
// in between.
type benchPeer struct {
	conn  *websocket.Conn
	first bool
}

func dialBench(b *testing.B, url string) *benchPeer {
	b.Helper()
	conn, _, err := websocket.Dial(b.Context(), url, nil)
	if err != nil {
		b.Fatal(err)
	}
	conn.SetReadLimit(wire.MaxMessage)
	b.Cleanup(func() { conn.CloseNow() })
	return &benchPeer{conn: conn, first: true}
}

func (p *benchPeer) send(frames ...wire.Frame) error {
	var message []byte
	if p.first {
		p.first = false
		message = wire.AppendPreamble(nil)
	}
	message, err := wire.AppendAll(message, frames...)
	if err != nil {
		return err
	}
	return p.conn.Write(context.Background(), websocket.MessageBinary, message)
}

// read calls take for every frame until it returns false or the end.
func (p *benchPeer) read(take func(wire.Frame) bool) {
	first := true
	for {
		_, message, err := p.conn.Read(context.Background())
		if err != nil {
			return
		}
		if first {
			first = false
			message = message[len(wire.AppendPreamble(nil)):]
		}
		for len(message) > 0 {
			f, rest, err := wire.Decode(message)
			if err != nil || !take(f) {
				return
			}
			message = rest
		}
	}
}

// benchWorld is a server on loopback with one host and some viewers.
type benchWorld struct {
	host    *benchPeer
	acked   atomic.Uint64
	change  chan struct{} // acked grew
	viewers []*benchPeer
}

func newBench(b *testing.B, viewers int) *benchWorld {
	b.Helper()
	store := &fleettest.Store{}
	store.AddHost(server.HostRecord{ID: "h1", Name: "h1"})
	f, err := fleet.Open(b.Context(), fleet.Config{Store: store})
	if err != nil {
		b.Fatal(err)
	}
	hosts := hostlink.New(hostlink.Config{Fleet: f})
	handler := New(Config{Fleet: f})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/host" {
			hosts.Serve(w, r, server.Principal{Kind: server.PrincipalHost, ID: "h1"})
			return
		}
		p := phone
		p.ID = r.URL.RawQuery
		handler.Serve(w, r, p)
	}))
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		hosts.Shutdown(ctx)
		handler.Shutdown(ctx)
		f.Close(ctx)
		s.Close()
	})
	url := "ws" + strings.TrimPrefix(s.URL, "http")
	w := &benchWorld{host: dialBench(b, url+"/host"), change: make(chan struct{}, 1)}
	if err := w.host.send(&wire.HostHello{Instance: "i", Sessions: []wire.SessionInfo{info(1, sessionA)}}); err != nil {
		b.Fatal(err)
	}
	welcomed := make(chan struct{})
	go w.host.read(func(f wire.Frame) bool {
		switch f := f.(type) {
		case *wire.HostWelcome:
			close(welcomed)
		case *wire.Ack:
			w.acked.Store(f.Offset)
			select {
			case w.change <- struct{}{}:
			default:
			}
		}
		return true
	})
	<-welcomed
	for n := range viewers {
		v := dialBench(b, fmt.Sprintf("%s/view?%d", url, n))
		if err := v.send(&wire.ViewerHello{}, &wire.Attach{Handle: 1, Host: "h1", Session: sessionA}); err != nil {
			b.Fatal(err)
		}
		w.viewers = append(w.viewers, v)
	}
	return w
}

// BenchmarkFlood is a program that prints without end: every byte passes the
// server's terminal, and each viewer reads what it is sent. The metric "lost"
// is the share of bytes that viewers were spared by repaints.
func BenchmarkFlood(b *testing.B) {
	for _, viewers := range []int{1, 10} {
		b.Run(fmt.Sprintf("viewers=%d", viewers), func(b *testing.B) {
			w := newBench(b, viewers)
			const window = 1 << 20
			block := []byte(strings.Repeat("the quick brown fox jumps over the lazy dog 0123456789\r\n", 512))
			total := uint64(b.N) * uint64(len(block))
			var readers sync.WaitGroup
			received := make([]uint64, viewers)
			for i, v := range w.viewers {
				readers.Go(func() {
					v.read(func(f wire.Frame) bool {
						var offset uint64
						switch f := f.(type) {
						case *wire.Output:
							received[i] += uint64(len(f.Data))
							offset = f.Offset + uint64(len(f.Data))
						case *wire.Repaint:
							offset = f.Position.Offset
						default:
							return true
						}
						return v.send(&wire.Ack{Handle: 1, Offset: offset}) == nil && offset < total
					})
				})
			}
			b.SetBytes(int64(len(block)))
			b.ResetTimer()
			var sent uint64
			for sent < total {
				for sent-w.acked.Load() > window {
					<-w.change
				}
				if err := w.host.send(&wire.Output{Handle: 1, Offset: sent, Data: block}); err != nil {
					b.Fatal(err)
				}
				sent += uint64(len(block))
			}
			for w.acked.Load() < total {
				<-w.change
			}
			readers.Wait()
			b.StopTimer()
			var seen uint64
			for _, n := range received {
				seen += n
			}
			b.ReportMetric(100-100*float64(seen)/float64(total*uint64(viewers)), "%lost")
		})
	}
}

// BenchmarkEcho is one byte from the host to every viewer.
func BenchmarkEcho(b *testing.B) {
	for _, viewers := range []int{1, 10, 100} {
		b.Run(fmt.Sprintf("viewers=%d", viewers), func(b *testing.B) {
			w := newBench(b, viewers)
			arrived := make(chan struct{}, viewers)
			ready := make(chan struct{}, viewers)
			for _, v := range w.viewers {
				go v.read(func(f wire.Frame) bool {
					switch f := f.(type) {
					case *wire.Live:
						if f.Position.Offset == 0 {
							ready <- struct{}{}
						}
					case *wire.Output:
						arrived <- struct{}{}
						return v.send(&wire.Ack{Handle: 1, Offset: f.Offset + uint64(len(f.Data))}) == nil
					}
					return true
				})
			}
			for range viewers {
				<-ready
			}
			b.ResetTimer()
			for n := range b.N {
				if err := w.host.send(&wire.Output{Handle: 1, Offset: uint64(n), Data: []byte("x")}); err != nil {
					b.Fatal(err)
				}
				for range viewers {
					<-arrived
				}
			}
		})
	}
}
