package viewer

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/fleet"
	"github.com/agent-helm/agent-helm/server/fleet/fleettest"
	"github.com/agent-helm/agent-helm/server/hostlink"
	"github.com/agent-helm/agent-helm/server/socket/sockettest"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	sessionA = "01kb9fvz3m8q4t6w2x5y7r0s1a"
	sessionB = "01kb9fvz3m8q4t6w2x5y7r0s1b"
)

// world is a server with both of its socket ends and true wire in between.
type world struct {
	t        *testing.T
	store    *fleettest.Store
	fleet    *fleet.Fleet
	hosts    *hostlink.Handler
	viewers  *Handler
	network  *sockettest.Network
	mu       sync.Mutex
	revokers []context.CancelCauseFunc
	owned    []fleet.Ownership // guarded by mu
}

var phone = server.Principal{Kind: server.PrincipalDevice, ID: "d1", Name: "phone", Scopes: server.ScopeRead | server.ScopeInput}

func newWorld(t *testing.T, as func(r *http.Request) server.Principal) *world {
	t.Helper()
	w := &world{t: t, store: &fleettest.Store{}}
	for _, id := range []string{"h1", "h2"} {
		w.store.AddHost(server.HostRecord{ID: id, Name: "host " + id, CreatedAt: time.Now()})
	}
	var err error
	if w.fleet, err = fleet.Open(t.Context(), fleet.Config{Store: w.store, Owned: w.noteOwner}); err != nil {
		t.Fatal(err)
	}
	w.hosts = hostlink.New(hostlink.Config{Fleet: w.fleet, Version: "1.2.3", Instance: "server"})
	w.viewers = New(Config{Fleet: w.fleet, Version: "1.2.3", Instance: "server", CheckProof: func(_ context.Context, _ server.Principal, proof string) error {
		if proof != "proof" {
			return server.NewError(server.CodeProofRequired)
		}
		return nil
	}})
	w.network = sockettest.Serve(t, http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		ctx, revoke := context.WithCancelCause(r.Context())
		defer revoke(nil)
		w.mu.Lock()
		w.revokers = append(w.revokers, revoke)
		w.mu.Unlock()
		r = r.WithContext(ctx)
		if id, ok := strings.CutPrefix(r.URL.Path, "/host/"); ok {
			w.hosts.Serve(rw, r, server.Principal{Kind: server.PrincipalHost, ID: id})
			return
		}
		p := phone
		if as != nil {
			p = as(r)
		}
		w.viewers.Serve(rw, r, p)
	}))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		for _, err := range []error{w.viewers.Shutdown(ctx), w.hosts.Shutdown(ctx), w.fleet.Close(ctx)} {
			if err != nil {
				t.Errorf("shutdown: %v", err)
			}
		}
	})
	return w
}

func (w *world) noteOwner(o fleet.Ownership) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.owned = append(w.owned, o)
}

// owners lists who took what over since the last call.
func (w *world) owners() (list []string) {
	synctest.Wait()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, o := range w.owned {
		list = append(list, strings.TrimSpace(o.Action+" "+o.By.Name+" "+o.Detail))
	}
	w.owned = nil
	return list
}

// revokeAll ends every connection for a cause.
func (w *world) revokeAll(cause error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, revoke := range w.revokers {
		revoke(cause)
	}
}

// host is a daemon with sessions whose logs are empty.
type host struct {
	*sockettest.Peer
	offset map[uint32]uint64
}

func info(handle uint32, id string) wire.SessionInfo {
	return wire.SessionInfo{Handle: handle, ID: id, Cols: 80, Rows: 24, Meta: wire.SessionMeta{Name: "session " + id[25:], Command: "sh", State: "running"}}
}

func (w *world) host(id string, infos ...wire.SessionInfo) *host {
	w.t.Helper()
	h := &host{w.network.Dial(w.t, "/host/"+id, nil), map[uint32]uint64{}}
	h.Send(&wire.HostHello{Instance: "instance of " + id, Version: "1.0", Sessions: infos})
	welcome := sockettest.Await[*wire.HostWelcome](h.Peer)
	if len(welcome.Resume) != len(infos) || welcome.Host != "host "+id {
		w.t.Fatalf("welcome %+v", welcome)
	}
	for _, resume := range welcome.Resume {
		h.offset[resume.Handle] = resume.From.Offset
	}
	return h
}

func (h *host) print(handle uint32, text string) {
	h.Send(&wire.Output{Handle: handle, Offset: h.offset[handle], Data: []byte(text)})
	h.offset[handle] += uint64(len(text))
}

// browser is a viewer that draws one session, as the app does.
type browser struct {
	*sockettest.Peer
	t        *testing.T
	terminal *vt.Terminal
	position wire.Position
	repaints int
	ended    bool
}

func (w *world) viewer() *browser {
	w.t.Helper()
	b := &browser{Peer: w.network.Dial(w.t, "/view", nil), t: w.t}
	b.Send(&wire.ViewerHello{Version: "1.2.3", Proof: "proof", Visible: true})
	b.AnswerPings()
	sockettest.Await[*wire.ViewerWelcome](b.Peer)
	return b
}

func (b *browser) attach(handle uint32, host, session string, client wire.ClientID) *wire.Attached {
	b.t.Helper()
	b.Send(&wire.Attach{Handle: handle, Host: host, Session: session, Client: client, Visible: true})
	return sockettest.Await[*wire.Attached](b.Peer)
}

// draw takes what has come, draws and acknowledges it.
func (b *browser) draw() {
	b.t.Helper()
	for _, f := range b.Take() {
		switch f := f.(type) {
		case *wire.Repaint:
			b.repaints++
			b.terminal = vt.New(vt.Options{Cols: int(f.Cols), Rows: int(f.Rows)})
			b.terminal.Write(f.Data)
			b.position = f.Position
			b.Send(&wire.Ack{Handle: f.Handle, Offset: b.position.Offset})
		case *wire.Output:
			if f.Offset != b.position.Offset {
				b.t.Fatalf("output at %d, drawn until %d", f.Offset, b.position.Offset)
			}
			b.terminal.Write(f.Data)
			b.position.Offset += uint64(len(f.Data))
			b.Send(&wire.Ack{Handle: f.Handle, Offset: b.position.Offset})
		case *wire.Exit:
			b.ended = true
		}
	}
}

// drawUntil draws until the stream's offset is drawn.
func (b *browser) drawUntil(offset uint64) {
	b.t.Helper()
	for range 10_000 {
		synctest.Wait()
		b.draw()
		if b.position.Offset >= offset {
			return
		}
		time.Sleep(time.Millisecond)
	}
	b.t.Fatalf("drawn until %d, want %d", b.position.Offset, offset)
}

func (b *browser) screen() string { return b.terminal.Text(vt.TextOptions{}) }

func decode[T any](t *testing.T, data []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("decode %s: %v", data, err)
	}
	return v
}

type snapshot struct {
	Hosts    []server.Host
	Sessions []server.Session
}

func eventOf(kind string) func(*wire.Event) bool {
	return func(e *wire.Event) bool { return e.Kind == kind }
}

func line(n int) string { return fmt.Sprintf("line %d\r\n", n) }
