package socket

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/socket/sockettest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// endpoint is what a test does with a socket on the server's side.
type endpoint struct {
	cancel  context.CancelCauseFunc
	sockets chan *Socket
	ended   chan error
	collect func(dst []byte, limit int) []byte
	take    func(f wire.Frame) error
	// onAccept is called before Run.
	onAccept func(s *Socket)
}

func (e *endpoint) Collect(dst []byte, limit int) []byte {
	if e.collect == nil {
		return dst
	}
	return e.collect(dst, limit)
}

func serve(t *testing.T, e *endpoint) *sockettest.Peer {
	t.Helper()
	e.sockets, e.ended = make(chan *Socket, 1), make(chan error, 1)
	ready := make(chan struct{})
	network := sockettest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s, err := Accept(w, r, Options{Queue: 10_000})
		if err != nil {
			t.Errorf("accept: %v", err)
			return
		}
		ctx, cancel := context.WithCancelCause(r.Context())
		defer cancel(nil)
		e.cancel = cancel
		if e.onAccept != nil {
			e.onAccept(s)
		}
		e.sockets <- s
		close(ready)
		e.ended <- s.Run(ctx, e, func(f wire.Frame) error {
			if e.take == nil {
				s.Ready()
				return nil
			}
			return e.take(f)
		})
	}))
	p := network.Dial(t, "/", nil)
	<-ready
	return p
}

func TestSocket_controlGoesFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waiting := 0
		e := &endpoint{}
		e.collect = func(dst []byte, limit int) []byte {
			for waiting > 0 && len(dst) < limit {
				waiting--
				dst, _ = wire.Append(dst, &wire.Output{Handle: 1, Data: make([]byte, 30<<10)})
			}
			return dst
		}
		p := serve(t, e)
		p.Send(&wire.Detach{})
		s := <-e.sockets
		synctest.Wait()
		waiting = 100
		s.Send(&wire.Live{Handle: 1})
		s.Send(&wire.Live{Handle: 2})
		synctest.Wait()
		frames := p.Take()
		if len(frames) < 3 || frames[0].Type() != wire.TypeLive || frames[1].Type() != wire.TypeLive || frames[2].Type() != wire.TypeOutput {
			t.Errorf("%d frames, the first %v", len(frames), frames[0].Type())
		}
		// A control frame waits for one message at most.
		p.Pause()
		waiting = 1000
		s.Wake()
		synctest.Wait()
		s.Send(&wire.Live{Handle: 3})
		p.Resume()
		synctest.Wait()
		outputs := 0
		for _, f := range p.Take() {
			if live, ok := f.(*wire.Live); ok && live.Handle == 3 {
				break
			}
			outputs++
		}
		if outputs > 12 { // what fits the buffers in between and two messages
			t.Errorf("a control frame waited behind %d outputs", outputs)
		}
	})
}

func TestSocket_queueIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{}
		p := serve(t, e)
		p.Send(&wire.Detach{})
		s := <-e.sockets
		synctest.Wait()
		p.Pause()
		queued := 0
		for s.SendInput(wire.Input{Seq: 1, Data: make([]byte, 1000)}, time.Now()) {
			if queued++; queued > 1000 {
				t.Fatal("there is no end to the queue")
			}
			synctest.Wait()
		}
		p.Resume()
		synctest.Wait()
		if got := len(p.Take()); got != queued {
			t.Errorf("%d inputs arrived of %d", got, queued)
		}
		if !s.Send(&wire.Live{}) {
			t.Error("an empty queue takes nothing")
		}
	})
}

func TestSocket_agesInputThatWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{}
		p := serve(t, e)
		time.Sleep(time.Second)
		p.Send(&wire.Detach{})
		s := <-e.sockets
		synctest.Wait()
		s.SendInput(wire.Input{Seq: 1, Age: 100}, time.Now().Add(-700*time.Millisecond))
		s.SendInput(wire.Input{Seq: 2, Age: 1<<32 - 10}, time.Now().Add(-time.Hour))
		if f := sockettest.Await[*wire.Input](p); f.Age != 800 || f.Sent != 1000 {
			t.Errorf("age %d, sent %d", f.Age, f.Sent)
		}
		if f := sockettest.Await[*wire.Input](p); f.Age != 1<<32-1 {
			t.Errorf("age %d", f.Age)
		}
	})
}

func TestSocket_saysWhyItEnds(t *testing.T) {
	long := strings.Repeat("a sentence of many words ", 20)
	for name, test := range map[string]struct {
		cause error
		code  int
	}{
		"revoked":        {server.NewError(server.CodeRevoked), wire.CloseUnauthorized},
		"a long reason":  {server.Errorf(server.CodeLimit, "%s", long), wire.CloseLimit},
		"an odd reason":  {server.Errorf(server.CodeConflict, "ünïcödé \x1b[2J %s", strings.Repeat("ü", 200)), wire.CloseReplaced},
		"no known code":  {server.Errorf("strange", "strange"), 1011},
		"not to be told": {errors.New("secret of the server"), -1},
		"malformed":      {Malformed(wire.ErrMalformed), wire.CloseProtocol},
		"other version":  {Malformed(wire.ErrVersion), wire.CloseVersion},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e := &endpoint{}
				p := serve(t, e)
				p.Send(&wire.Detach{})
				synctest.Wait()
				e.cancel(test.cause)
				if code := p.Closed(); int(code) != test.code {
					t.Errorf("closed with %d, want %d", code, test.code)
				}
				if err := <-e.ended; !errors.Is(err, test.cause) {
					t.Errorf("Run = %v", err)
				}
				if (<-e.sockets).Send(&wire.Live{}) {
					t.Error("a closed socket takes frames")
				}
			})
		})
	}
}

// What was queued before the end is still written; a peer that reads nothing
// does not hold the end up.
func TestSocket_lastWords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{}
		p := serve(t, e)
		p.Send(&wire.Detach{})
		s := <-e.sockets
		synctest.Wait()
		s.Send(&wire.Live{Handle: 9})
		e.cancel(server.NewError(server.CodeRestarting))
		sockettest.Await(p, func(f *wire.Live) bool { return f.Handle == 9 })
		sockettest.Await[*wire.Restarting](p)
		if code := p.Closed(); code != wire.CloseRestarting {
			t.Errorf("closed with %d", code)
		}

		e = &endpoint{collect: func(dst []byte, _ int) []byte {
			dst, _ = wire.Append(dst, &wire.Output{Data: make([]byte, 30<<10)})
			return dst
		}}
		p = serve(t, e)
		p.Pause()
		p.Send(&wire.Detach{})
		synctest.Wait()
		start := time.Now()
		e.cancel(server.NewError(server.CodeRevoked))
		<-e.ended
		if took := time.Since(start); took > farewellTimeout {
			t.Errorf("the end took %v", took)
		}
	})
}

// A peer that answers pings and still leaves a message unread is closed.
func TestSocket_peerThatDoesNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := &endpoint{collect: func(dst []byte, _ int) []byte {
			dst, _ = wire.Append(dst, &wire.Output{Data: make([]byte, 30<<10)})
			return dst
		}}
		p := serve(t, e)
		p.Pause()
		p.Send(&wire.Detach{})
		for range 6 {
			time.Sleep(5 * time.Second)
			p.Send(&wire.Ping{})
		}
		if err := <-e.ended; !errors.Is(err, errSlow) {
			t.Errorf("Run = %v", err)
		}
	})
}

func TestSocket_refuse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		network := sockettest.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s, err := Accept(w, r, Options{Queue: 1000})
			if err != nil {
				t.Errorf("accept: %v", err)
				return
			}
			s.Refuse(server.NewError(server.CodeForbidden))
		}))
		p := network.Dial(t, "/", nil)
		if f := sockettest.Await[*wire.Problem](p); f.Code != wire.CodeForbidden {
			t.Errorf("problem %+v", f)
		}
		if code := p.Closed(); code != wire.CloseForbidden {
			t.Errorf("closed with %d", code)
		}
	})
}
