package hostlink

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/fleet"
	"github.com/agent-helm/agent-helm/server/fleet/fleettest"
	"github.com/agent-helm/agent-helm/server/session"
	"github.com/agent-helm/agent-helm/server/socket/sockettest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	sessionA = "01kb9fvz3m8q4t6w2x5y7r0s1a"
	sessionB = "01kb9fvz3m8q4t6w2x5y7r0s1b"
)

var (
	keyA1 = server.SessionKey{Host: "h1", ID: sessionA}
	keyB1 = server.SessionKey{Host: "h1", ID: sessionB}
	keyA2 = server.SessionKey{Host: "h2", ID: sessionA}
)

// testStateLimit keeps the test of the limit short.
const testStateLimit = 4 << 20

type world struct {
	t       *testing.T
	fleet   *fleet.Fleet
	handler *Handler
	network *sockettest.Network

	mu     sync.Mutex
	revoke map[string]context.CancelCauseFunc // the newest connection of each host
}

func newWorld(t *testing.T) *world {
	t.Helper()
	store := &fleettest.Store{}
	for _, id := range []string{"h1", "h2"} {
		store.AddHost(server.HostRecord{ID: id, Name: "host " + id, CreatedAt: time.Now()})
	}
	w := &world{t: t, revoke: map[string]context.CancelCauseFunc{}}
	var err error
	if w.fleet, err = fleet.Open(t.Context(), fleet.Config{Store: store}); err != nil {
		t.Fatal(err)
	}
	w.handler = New(Config{Fleet: w.fleet, Version: "1.2.3", Instance: "server"})
	w.handler.stateLimit = testStateLimit
	w.network = sockettest.Serve(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		ctx, revoke := context.WithCancelCause(r.Context())
		defer revoke(nil)
		id := strings.TrimPrefix(r.URL.Path, "/")
		w.mu.Lock()
		w.revoke[id] = revoke
		w.mu.Unlock()
		w.handler.Serve(rw, r.WithContext(ctx), server.Principal{Kind: server.PrincipalHost, ID: id})
	}))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for _, err := range []error{w.handler.Shutdown(ctx), w.fleet.Close(ctx)} {
			if err != nil {
				t.Errorf("shutdown: %v", err)
			}
		}
	})
	return w
}

func info(handle uint32, id string) wire.SessionInfo {
	return wire.SessionInfo{Handle: handle, ID: id, Cols: 80, Rows: 24, Meta: wire.SessionMeta{Name: "test", State: "running"}}
}

func hello(instance string, infos ...wire.SessionInfo) *wire.HostHello {
	return &wire.HostHello{Instance: instance, Version: "1.0", Sessions: infos}
}

// connect opens a link and says hello.
func (w *world) connect(host, instance string, infos ...wire.SessionInfo) (*sockettest.Peer, *wire.HostWelcome) {
	w.t.Helper()
	p := w.network.Dial(w.t, "/"+host, nil)
	p.Send(hello(instance, infos...))
	return p, sockettest.Await[*wire.HostWelcome](p)
}

func (w *world) screen(key server.SessionKey) string {
	w.t.Helper()
	synctest.Wait()
	screen, err := w.fleet.Screen(w.t.Context(), key, session.FormatText)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(screen)
}

func (w *world) session(key server.SessionKey) server.Session {
	w.t.Helper()
	synctest.Wait()
	item, err := w.fleet.Session(key)
	if err != nil {
		w.t.Fatal(err)
	}
	return item
}

func TestLink_carriesStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		p, welcome := w.connect("h1", "i1", info(1, sessionA))
		if welcome.Host != "host h1" || welcome.Instance != "server" || welcome.Version != "1.2.3" ||
			len(welcome.Resume) != 1 || welcome.Resume[0].Handle != 1 || welcome.Resume[0].State {
			t.Fatalf("welcome %+v", welcome)
		}
		p.Send(&wire.Output{Handle: 1, Data: []byte("hello")}, &wire.Output{Handle: 99, Data: []byte("nobody's")})
		if got := w.screen(keyA1); got != "hello\n" {
			t.Errorf("screen %q", got)
		}
		p.Send(&wire.SessionOpen{SessionInfo: info(2, sessionB)})
		if resume := sockettest.Await[*wire.SessionResume](p); resume.Handle != 2 || resume.State || resume.Refused != "" {
			t.Errorf("resume %+v", resume)
		}
		p.Send(&wire.Output{Handle: 2, Data: []byte("second")})
		if got := w.screen(keyB1); got != "second\n" {
			t.Errorf("screen %q", got)
		}
		p.Send(&wire.SessionUpdate{Handle: 2, Meta: wire.SessionMeta{Name: "re\x1bnamed", State: "running", InputBlocked: true}})
		if item := w.session(keyB1); item.Name != "renamed" || !item.InputBlocked || item.HostName != "host h1" {
			t.Errorf("session %+v", item)
		}
		p.Send(&wire.Output{Handle: 1, Offset: 50, Data: []byte("behind a hole")})
		if resume := sockettest.Await[*wire.SessionResume](p); resume.Handle != 1 || resume.From.Offset != 5 {
			t.Errorf("resume %+v", resume)
		}
		p.Send(&wire.SessionClosed{Handle: 2})
		synctest.Wait()
		if _, err := w.fleet.Session(keyB1); server.CodeOf(err) != server.CodeUnknownSession {
			t.Errorf("a forgotten session: %v", err)
		}
	})
}

func TestLink_acknowledges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		p, _ := w.connect("h1", "i1", info(1, sessionA), info(2, sessionB))
		p.Send(&wire.Output{Handle: 1, Data: make([]byte, ackBytes)})
		synctest.Wait()
		if ack := sockettest.Await[*wire.Ack](p); ack.Handle != 1 || ack.Offset != ackBytes {
			t.Errorf("ack %+v", ack)
		}
		// Small ones are answered together.
		for n := range uint64(100) {
			p.Send(&wire.Output{Handle: 1, Offset: ackBytes + n, Data: []byte("x")}, &wire.Output{Handle: 2, Offset: n, Data: []byte("y")})
		}
		synctest.Wait()
		if frames := p.Take(); len(frames) != 0 {
			t.Errorf("%d frames answer small outputs at once", len(frames))
		}
		time.Sleep(2 * ackDelay)
		synctest.Wait()
		got := map[uint32]uint64{}
		for _, f := range p.Take() {
			if ack, ok := f.(*wire.Ack); ok {
				got[ack.Handle] = ack.Offset
			}
		}
		if got[1] != ackBytes+100 || got[2] != 100 {
			t.Errorf("acknowledged %v", got)
		}
	})
}

func TestLink_resumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		p, _ := w.connect("h1", "i1", info(1, sessionA))
		p.Send(&wire.Output{Handle: 1, Data: []byte("12345")})
		synctest.Wait()
		at := func(start, end uint64, marks uint32) wire.SessionInfo {
			i := info(9, sessionA)
			i.Start, i.End = wire.Position{Offset: start}, wire.Position{Offset: end, Marks: marks}
			return i
		}
		for name, test := range map[string]struct {
			info  wire.SessionInfo
			state bool
		}{
			"the log has it":       {at(0, 10, 0), false},
			"the log begins there": {at(5, 10, 0), false},
			"the log ends there":   {at(0, 5, 0), false},
			"resized meanwhile":    {at(0, 10, 2), false},
			"the log dropped it":   {at(6, 10, 0), true},
			"hours have passed":    {at(0, 9<<20, 0), true},
			"the log lost its end": {at(0, 4, 0), true},
			"the log is another":   {at(100, 200, 0), true},
		} {
			p.Cut()
			synctest.Wait()
			var welcome *wire.HostWelcome
			p, welcome = w.connect("h1", "i1", test.info)
			if resume := welcome.Resume[0]; resume.Handle != 9 || resume.State != test.state || resume.From.Offset != 5 {
				t.Errorf("%s: %+v", name, resume)
			}
		}
		// A long log of a session that is new here is not streamed from its start.
		long := info(3, sessionB)
		long.End.Offset = 10 << 20
		p.Send(&wire.SessionOpen{SessionInfo: long})
		if resume := sockettest.Await[*wire.SessionResume](p); !resume.State {
			t.Errorf("resume %+v", resume)
		}
		terminal := vt.New(vt.Options{Cols: 80, Rows: 24})
		terminal.Write([]byte("state"))
		p.Send(&wire.State{Handle: 3, Position: long.End, First: true, Last: true, Cols: 80, Rows: 24, Data: terminal.State(-1)})
		if got := w.screen(keyB1); got != "state\n" {
			t.Errorf("screen %q", got)
		}
	})
}

func TestLink_twoDaemonsWithOneToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		first, _ := w.connect("h1", "first", info(1, sessionA))
		answer := make(chan struct{})
		go func() { // a daemon that lives
			defer close(answer)
			probe := sockettest.Await[*wire.RPC](first)
			first.Send(&wire.RPCReply{ID: probe.ID, Error: &wire.Fault{Code: wire.CodeUnsupported, Message: "unknown method"}})
		}()
		second := w.network.Dial(t, "/h1", nil)
		second.Send(hello("second", info(1, sessionB)))
		problem := sockettest.Await[*wire.Problem](second)
		<-answer
		if problem.Code != string(server.CodeDuplicateHost) || strings.Count(problem.Message, "version 1.0") != 2 {
			t.Errorf("problem %+v", problem)
		}
		if code := second.Closed(); code != wire.CloseDuplicate {
			t.Errorf("closed with %d", code)
		}
		if h, err := w.fleet.Host("h1"); err != nil || h.Problem == "" || !h.Online {
			t.Errorf("host %+v, %v", h, err)
		}
		first.Send(&wire.Output{Handle: 1, Data: []byte("untouched")})
		if got := w.screen(keyA1); got != "untouched\n" {
			t.Errorf("screen %q", got)
		}
	})
}

// The predecessor of a connection is dead, but its socket does not know yet.
func TestLink_replacesItsPredecessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		first, _ := w.connect("h1", "same", info(1, sessionA))
		first.Send(&wire.Output{Handle: 1, Data: []byte("abc")})
		synctest.Wait()
		again := info(2, sessionA)
		again.End.Offset = 3
		second, welcome := w.connect("h1", "same", again)
		if welcome.Resume[0].From.Offset != 3 {
			t.Errorf("welcome %+v", welcome)
		}
		if code := first.Closed(); code != wire.CloseReplaced {
			t.Errorf("closed with %d", code)
		}
		second.Send(&wire.Output{Handle: 2, Offset: 3, Data: []byte("def")})
		if got := w.screen(keyA1); got != "abcdef\n" {
			t.Errorf("screen %q", got)
		}
		if item := w.session(keyA1); !item.Online {
			t.Error("the session went offline with the old connection")
		}
	})
}

// After a power cut a daemon comes back with another instance while the old
// socket still seems open.
func TestLink_replacesADeadInstance(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		dead, _ := w.connect("h1", "before", info(1, sessionA))
		dead.Pause()
		p, _ := w.connect("h1", "after", info(1, sessionA))
		p.Send(&wire.Output{Handle: 1, Data: []byte("alive")})
		if got := w.screen(keyA1); got != "alive\n" {
			t.Errorf("screen %q", got)
		}
		if h, err := w.fleet.Host("h1"); err != nil || h.Problem != "" {
			t.Errorf("host %+v, %v", h, err)
		}
	})
}

// The incumbent of a session id stays what it is, whatever another host says.
func TestLink_twoHostsWithOneID(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		first, _ := w.connect("h1", "i1", info(1, sessionA))
		second, _ := w.connect("h2", "i2", info(1, sessionA))
		first.Send(&wire.Output{Handle: 1, Data: []byte("first")})
		second.Send(&wire.Output{Handle: 1, Data: []byte("second")}, &wire.SessionUpdate{Handle: 1, Meta: wire.SessionMeta{Name: "evil", State: "exited"}})
		if a, b := w.screen(keyA1), w.screen(keyA2); a != "first\n" || b != "second\n" {
			t.Errorf("screens %q, %q", a, b)
		}
		if key, err := w.fleet.Find("", sessionA); err != nil || key != keyA1 {
			t.Errorf("the bare id means %v, %v", key, err)
		}
		if item := w.session(keyA1); item.State != server.StateRunning || item.Name != "test" {
			t.Errorf("session %+v", item)
		}
		second.Send(&wire.SessionClosed{Handle: 1})
		synctest.Wait()
		if key, err := w.fleet.Find("", sessionA); err != nil || key != keyA1 {
			t.Errorf("the bare id means %v, %v", key, err)
		}
	})
}

func TestLink_hostileHello(t *testing.T) {
	with := func(change func(*wire.SessionInfo)) []wire.SessionInfo {
		i := info(1, sessionA)
		change(&i)
		return []wire.SessionInfo{i}
	}
	refused := map[string][]wire.SessionInfo{
		"id with a path":     with(func(i *wire.SessionInfo) { i.ID = "../../../../../etc/passwd" }),
		"no id":              with(func(i *wire.SessionInfo) { i.ID = "" }),
		"upper case":         with(func(i *wire.SessionInfo) { i.ID = strings.ToUpper(i.ID) }),
		"log that goes back": with(func(i *wire.SessionInfo) { i.Start.Offset = 5 }),
		"marks that go back": with(func(i *wire.SessionInfo) { i.Start.Marks = 5 }),
		"no columns":         with(func(i *wire.SessionInfo) { i.Cols = 0 }),
		"too many rows":      with(func(i *wire.SessionInfo) { i.Rows = wire.MaxRows + 1 }),
		"a handle twice":     {info(1, sessionB), info(1, sessionA)},
		"a session twice":    {info(1, sessionA), info(2, sessionA)},
	}
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for name, infos := range refused {
			p, welcome := w.connect("h1", "i1", infos...)
			if resume := welcome.Resume[len(infos)-1]; resume.Refused == "" {
				t.Errorf("%s: %+v", name, resume)
			}
			p.Cut()
			synctest.Wait()
		}
	})
	fatal := map[string]struct {
		send func(p *sockettest.Peer)
		code int
	}{
		"no instance":           {func(p *sockettest.Peer) { p.Send(hello("")) }, wire.CloseProtocol},
		"a book of an instance": {func(p *sockettest.Peer) { p.Send(hello(strings.Repeat("x", 1000))) }, wire.CloseProtocol},
		"a viewer":              {func(p *sockettest.Peer) { p.Send(&wire.ViewerHello{}) }, wire.CloseProtocol},
		"two hellos":            {func(p *sockettest.Peer) { p.Send(hello("i1"), hello("i1")) }, wire.CloseProtocol},
		"input":                 {func(p *sockettest.Peer) { p.Send(hello("i1"), &wire.Input{Seq: 1}) }, wire.CloseProtocol},
		"a torn frame":          {func(p *sockettest.Peer) { p.Send(hello("i1")); p.SendRaw([]byte{0x10, 0x05, 0x00}) }, wire.CloseProtocol},
		"a hello of nothing":    {func(p *sockettest.Peer) { p.SendRaw([]byte{0x01, 0x02, '{', '{'}) }, wire.CloseProtocol},
		"silence":               {func(*sockettest.Peer) {}, wire.CloseUnauthorized},
		"too large a message":   {func(p *sockettest.Peer) { p.SendRaw(make([]byte, wire.MaxMessage+1)) }, 1009},
		"an unknown host":       {func(p *sockettest.Peer) { p.Send(hello("i1")) }, wire.CloseUnauthorized},
		"states without end": {func(p *sockettest.Peer) {
			p.Send(hello("i1", info(1, sessionA), info(2, sessionB)))
			piece := &wire.State{Cols: 80, Rows: 24, First: true, Data: make([]byte, wire.MaxStateChunk)}
			for n := range testStateLimit/wire.MaxStateChunk + 1 {
				f := *piece
				f.Handle, f.First = uint32(1+n%2), n < 2
				p.Send(&f)
			}
		}, wire.CloseProtocol},
	}
	for name, test := range fatal {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				good, _ := w.connect("h2", "i2", info(1, sessionA))
				host := "/h1"
				if name == "an unknown host" {
					host = "/h3"
				}
				bad := w.network.Dial(t, host, nil)
				test.send(bad)
				if code := bad.Closed(); int(code) != test.code {
					t.Errorf("closed with %d, want %d", code, test.code)
				}
				good.Send(&wire.Output{Handle: 1, Data: []byte("unmoved")})
				if got := w.screen(keyA2); got != "unmoved\n" {
					t.Errorf("the other host's screen %q", got)
				}
			})
		})
	}
}

func testID(n int) string { return fmt.Sprintf("01kb9fvz3m8q4t6w2x5y7r%04d", n) }

func TestLink_sessionLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var infos []wire.SessionInfo
		for n := range fleet.MaxListed + 10 {
			i := info(uint32(n+1), testID(n))
			if n >= fleet.MaxSessions+2 {
				i.Meta.State = "exited"
			}
			infos = append(infos, i)
		}
		p, welcome := w.connect("h1", "i1", infos...)
		refused := 0
		for _, resume := range welcome.Resume {
			if resume.Refused != "" {
				refused++
			}
		}
		// Two run too many, and so many have ended that the list is full.
		if listed := len(w.fleet.Sessions()); listed != fleet.MaxListed || refused != 10 {
			t.Errorf("%d listed, %d refused", listed, refused)
		}
		if h, err := w.fleet.Host("h1"); err != nil || h.Sessions != fleet.MaxSessions {
			t.Errorf("host %+v, %v", h, err)
		}
		// One of the running ends, and a new one takes the place of the oldest
		// that has ended.
		p.Send(&wire.SessionUpdate{Handle: 1, Meta: wire.SessionMeta{State: "exited"}}, &wire.SessionOpen{SessionInfo: info(5000, testID(5000))})
		if resume := sockettest.Await[*wire.SessionResume](p); resume.Refused != "" {
			t.Errorf("resume %+v", resume)
		}
		if listed := len(w.fleet.Sessions()); listed != fleet.MaxListed {
			t.Errorf("%d listed", listed)
		}
	})
}

// A host that announces without end is read more slowly, and another is not.
func TestLink_pacesAnnouncements(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		bad, _ := w.connect("h1", "i1", info(1, sessionA))
		good, _ := w.connect("h2", "i2", info(1, sessionA))
		start := time.Now()
		for n := range eventsAtOnce + 5*eventsPerSecond {
			bad.Send(&wire.SessionUpdate{Handle: 1, Meta: wire.SessionMeta{Name: fmt.Sprint(n), State: "running"}})
		}
		good.Send(&wire.Output{Handle: 1, Data: []byte("prompt")})
		if got := w.screen(keyA2); got != "prompt\n" || time.Since(start) > 0 {
			t.Errorf("screen %q after %v", got, time.Since(start))
		}
		last := fmt.Sprint(eventsAtOnce + 5*eventsPerSecond - 1)
		for w.session(keyA1).Name != untrusted.Text(last) {
			time.Sleep(100 * time.Millisecond)
		}
		if took := time.Since(start); took < 4*time.Second || took > 6*time.Second {
			t.Errorf("5 s worth of announcements took %v", took)
		}
	})
}

func TestLink_heartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		p, _ := w.connect("h1", "i1", info(1, sessionA))
		for range 5 {
			time.Sleep(wire.Heartbeat)
			p.Send(&wire.Ping{Nonce: 1, Sent: p.Sent()})
		}
		synctest.Wait()
		if !w.session(keyA1).Online {
			t.Fatal("a host that pings is offline")
		}
		pong := sockettest.Await[*wire.Pong](p)
		if pong.Nonce != 1 {
			t.Errorf("pong %+v", pong)
		}
		if ping := sockettest.Await(p, func(f *wire.Ping) bool { return f.Sent > 20_000 }); ping.Nonce == 0 {
			t.Errorf("ping %+v", ping)
		}
		time.Sleep(wire.HeartbeatTimeout + time.Second)
		if code := p.Closed(); code != -1 {
			t.Errorf("a silent host is closed with %d", code)
		}
		if item := w.session(keyA1); item.Online || item.State != server.StateRunning || item.LastSeenMS < 1 {
			t.Errorf("session %+v", item)
		}
	})
}

func TestLink_calls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		p, _ := w.connect("h1", "i1", info(1, sessionA))
		answer := func(reply wire.RPCReply) {
			go func() {
				call := sockettest.Await[*wire.RPC](p)
				reply.ID = call.ID
				p.Send(&reply)
			}()
		}
		answer(wire.RPCReply{Result: json.RawMessage(`{"id":"` + sessionB + `"}`)})
		if result, err := w.fleet.Start(t.Context(), "h1", wire.StartParams{Agent: "claude"}); err != nil || result.ID != sessionB {
			t.Errorf("start: %+v, %v", result, err)
		}
		answer(wire.RPCReply{Error: &wire.Fault{Code: wire.CodeForbidden, Message: "the host's policy\x1b[31m says no"}})
		err := w.fleet.Kill(t.Context(), keyA1)
		if server.CodeOf(err) != server.CodeForbidden || err.Error() != "the host's policy[31m says no" {
			t.Errorf("kill: %v", err)
		}
		answer(wire.RPCReply{Result: json.RawMessage(`{"id":"not an id"}`)})
		if _, err := w.fleet.Start(t.Context(), "h1", wire.StartParams{Agent: "claude"}); err == nil {
			t.Error("an answer that is no session id was taken")
		}
		// No answer in time.
		if err := w.fleet.Rename(t.Context(), keyA1, "x"); server.CodeOf(err) != server.CodeTimeout {
			t.Errorf("rename: %v", err)
		}
		p.Send(&wire.RPCReply{ID: 12345}) // an answer to nothing
		// The host goes away before it answers.
		done := make(chan error)
		go func() { done <- w.fleet.Signal(context.Background(), keyA1, "esc") }()
		synctest.Wait()
		p.Cut()
		if err := <-done; server.CodeOf(err) != server.CodeTimeout {
			t.Errorf("signal: %v", err)
		}
		if err := w.fleet.Kill(t.Context(), keyA1); server.CodeOf(err) != server.CodeHostOffline {
			t.Errorf("kill while offline: %v", err)
		}
		if _, err := w.fleet.Start(t.Context(), "nobody", wire.StartParams{}); server.CodeOf(err) != server.CodeUnknownHost {
			t.Errorf("start nowhere: %v", err)
		}
	})
}

// What an input waited in the queue is part of its age.
func TestLink_inputAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		p, _ := w.connect("h1", "i1", info(1, sessionA))
		done := make(chan error, 1)
		time.Sleep(3 * time.Second)
		go func() {
			done <- w.fleet.Input(context.Background(), keyA1, fleet.Input{Kind: wire.InputSubmit, Data: []byte("make"), Idempotency: "once"})
		}()
		input := sockettest.Await[*wire.Input](p)
		if input.Handle != 1 || input.Seq != 1 || input.Kind != wire.InputSubmit || input.Sent < 3000 || input.Sent > 3100 || input.Age > 100 {
			t.Errorf("input %+v", input)
		}
		// The same again while the first is under way.
		if err := w.fleet.Input(t.Context(), keyA1, fleet.Input{Data: []byte("make"), Idempotency: "once"}); server.CodeOf(err) != server.CodeConflict {
			t.Errorf("the same input at once: %v", err)
		}
		p.Send(&wire.InputAck{Handle: 1, Client: input.Client, Seq: 1, Status: wire.InputApplied})
		if err := <-done; err != nil {
			t.Errorf("input: %v", err)
		}
		// And after it: it is the same client and number, so the holder knows it.
		go func() {
			done <- w.fleet.Input(context.Background(), keyA1, fleet.Input{Data: []byte("make"), Idempotency: "once"})
		}()
		if again := sockettest.Await[*wire.Input](p); again.Client != input.Client || again.Seq != 1 {
			t.Errorf("input %+v", again)
		}
		p.Send(&wire.InputAck{Handle: 1, Client: input.Client, Seq: 1, Status: wire.InputBlocked})
		if err := <-done; server.CodeOf(err) != server.CodeInputBlocked {
			t.Errorf("input: %v", err)
		}
		// Nobody answers: it is retired, and the holder's word on that counts.
		go func() {
			done <- w.fleet.Input(context.Background(), keyA1, fleet.Input{Data: []byte("lost")})
		}()
		lost := sockettest.Await[*wire.Input](p)
		retire := sockettest.Await[*wire.Retire](p)
		if retire.Client != lost.Client {
			t.Errorf("retired %v, sent %v", retire.Client, lost.Client)
		}
		p.Send(&wire.InputAck{Handle: 1, Client: lost.Client, Seq: 0, Status: wire.InputRetired})
		if err := <-done; server.CodeOf(err) != server.CodeInputRefused {
			t.Errorf("input: %v", err)
		}
		// The host goes away with it: nobody knows.
		go func() {
			done <- w.fleet.Input(context.Background(), keyA1, fleet.Input{Data: []byte("gone")})
		}()
		sockettest.Await[*wire.Input](p)
		p.Cut()
		if err := <-done; server.CodeOf(err) != server.CodeTimeout {
			t.Errorf("input: %v", err)
		}
		if err := w.fleet.Input(t.Context(), keyA1, fleet.Input{Data: []byte("x")}); server.CodeOf(err) != server.CodeHostOffline {
			t.Errorf("input while offline: %v", err)
		}
	})
}

func TestHandler_endsLinksWithAReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		p, _ := w.connect("h1", "i1")
		w.mu.Lock()
		w.revoke["h1"](server.NewError(server.CodeRevoked))
		w.mu.Unlock()
		if code := p.Closed(); code != wire.CloseUnauthorized {
			t.Errorf("revoked: closed with %d", code)
		}
		p, _ = w.connect("h1", "i1")
		done := make(chan error)
		go func() { done <- w.handler.Shutdown(t.Context()) }()
		if f := sockettest.Await[*wire.Restarting](p); f.AfterMS <= 0 {
			t.Errorf("restarting %+v", f)
		}
		if code := p.Closed(); code != wire.CloseRestarting {
			t.Errorf("restarting: closed with %d", code)
		}
		if err := <-done; err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
}

func TestHandler_removedHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		p, _ := w.connect("h1", "i1", info(1, sessionA))
		w.fleet.RemoveHost(t.Context(), "h1")
		if code := p.Closed(); code != wire.CloseUnauthorized {
			t.Errorf("closed with %d", code)
		}
		if _, err := w.fleet.Session(keyA1); server.CodeOf(err) != server.CodeUnknownSession {
			t.Errorf("session of a removed host: %v", err)
		}
		if _, err := w.fleet.Host("h1"); !errors.Is(err, server.NewError(server.CodeUnknownHost)) {
			t.Errorf("removed host: %v", err)
		}
	})
}

// A session that its host no longer knows is lost; one that ended stays.
func TestLink_losesWhatIsNotAnnounced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		p, _ := w.connect("h1", "i1", info(1, sessionA), info(2, sessionB))
		p.Send(&wire.Exit{Handle: 2, Code: 0})
		synctest.Wait()
		p.Cut()
		synctest.Wait()
		w.connect("h1", "i2")
		if item := w.session(keyA1); item.State != server.StateLost || item.LostReason == "" {
			t.Errorf("session %+v", item)
		}
		if item := w.session(keyB1); item.State != server.StateExited {
			t.Errorf("session %+v", item)
		}
	})
}
