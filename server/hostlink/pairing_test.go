package hostlink

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/socket/sockettest"
)

// fakePairer takes requests and decides when told to.
type fakePairer struct {
	mu       sync.Mutex
	asked    []server.Principal
	scopes   []server.Scopes
	ended    int // of AwaitPairing by its context
	decision chan error
}

func (p *fakePairer) RequestPairing(_ context.Context, host server.Principal, scopes server.Scopes) (server.PairingRecord, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked, p.scopes = append(p.asked, host), append(p.scopes, scopes)
	now := time.Now()
	return server.PairingRecord{ID: "K7QP", Host: host.ID, HostName: "host " + host.ID, Scopes: scopes, CreatedAt: now, ExpiresAt: now.Add(time.Minute)}, nil
}

func (p *fakePairer) AwaitPairing(ctx context.Context, _ string) (string, server.CodeRecord, error) {
	select {
	case err := <-p.decision:
		return "ABC234", server.CodeRecord{Grant: server.Grant{Scopes: server.ScopeRead, ExpiresAt: time.Now().Add(time.Minute)}}, err
	case <-ctx.Done():
		p.mu.Lock()
		p.ended++
		p.mu.Unlock()
		return "", server.CodeRecord{}, server.NewError(server.CodeUnknownPairing)
	}
}

func withPairer(w *world) *fakePairer {
	p := &fakePairer{decision: make(chan error)}
	w.handler.config.Pairer, w.handler.config.Address = p, func() string { return "https://helm.example" }
	return p
}

// call makes a call as a host does and returns the answer.
func call(p *sockettest.Peer, id uint64, method string, params any) *wire.RPCReply {
	send(p, id, method, params)
	return sockettest.Await(p, func(f *wire.RPCReply) bool { return f.ID == id })
}

func send(p *sockettest.Peer, id uint64, method string, params any) {
	encoded, err := json.Marshal(params)
	if err != nil {
		panic(err)
	}
	p.Send(&wire.RPC{ID: id, Method: method, Params: encoded})
}

func refusedWith(t *testing.T, reply *wire.RPCReply, code server.Code) {
	t.Helper()
	if reply.Error == nil || reply.Error.Code != string(code) || reply.Error.Message == "" {
		t.Errorf("answer %d is %s %+v, want %s", reply.ID, reply.Result, reply.Error, code)
	}
}

func TestLink_host_asks_for_a_code(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		pairer := withPairer(w)
		admin := w.fleet.Subscribe(server.Principal{Kind: server.PrincipalDevice, ID: "d", Scopes: server.AllScopes})
		defer admin.Close()
		reader := w.fleet.Subscribe(server.Principal{Kind: server.PrincipalDevice, ID: "e", Scopes: server.AllScopes &^ server.ScopeAdmin})
		defer reader.Close()
		p, welcome := w.connect("h1", "i1")
		if len(welcome.Capabilities) != 1 || welcome.Capabilities[0] != wire.CapabilityPairing {
			t.Fatalf("welcome %+v", welcome)
		}
		for _, s := range []interface{ Take() ([]wire.Event, error) }{admin, reader} {
			if _, err := s.Take(); err != nil {
				t.Fatal(err)
			}
		}
		asked := call(p, 1, wire.MethodPairingRequest, wire.PairingParams{Scopes: []string{"read", "input"}})
		if asked.Error != nil || string(asked.Result) != `{"id":"K7QP","expires_ms":60000}` {
			t.Fatalf("asked: %s %+v", asked.Result, asked.Error)
		}
		if got := pairer.asked[0]; got.Kind != server.PrincipalHost || got.ID != "h1" || pairer.scopes[0] != server.ScopeRead|server.ScopeInput {
			t.Errorf("asked by %+v for %s", got, pairer.scopes[0])
		}
		told, err := admin.Take()
		if err != nil || len(told) != 1 || told[0].Kind != wire.EventPairing {
			t.Fatalf("an admin is told %+v (%v)", told, err)
		}
		// One at a time, and one who waits.
		refusedWith(t, call(p, 2, wire.MethodPairingRequest, wire.PairingParams{Scopes: []string{"read"}}), server.CodeLimit)
		refusedWith(t, call(p, 3, wire.MethodPairingWait, wire.PairingID{ID: "AAAA"}), server.CodeUnknownPairing)
		send(p, 4, wire.MethodPairingWait, wire.PairingID{ID: "K7QP"})
		refusedWith(t, call(p, 5, wire.MethodPairingWait, wire.PairingID{ID: "K7QP"}), server.CodeUnknownPairing)
		// Another host cannot have it.
		other, _ := w.connect("h2", "i2")
		refusedWith(t, call(other, 1, wire.MethodPairingWait, wire.PairingID{ID: "K7QP"}), server.CodeUnknownPairing)
		refusedWith(t, call(other, 2, wire.MethodPairingCancel, wire.PairingID{ID: "K7QP"}), server.CodeUnknownPairing)

		pairer.decision <- nil
		reply := sockettest.Await(p, func(f *wire.RPCReply) bool { return f.ID == 4 })
		if reply.Error != nil || string(reply.Result) != `{"code":"ABC234","scopes":["read"],"expires_ms":60000,"url":"https://helm.example"}` {
			t.Errorf("decided: %s %+v", reply.Result, reply.Error)
		}
		synctest.Wait()
		if told, err = admin.Take(); err != nil || told[len(told)-1].Kind != wire.EventPairingRemoved || string(told[len(told)-1].Body) != `{"id":"K7QP"}` {
			t.Errorf("an admin is told %+v (%v)", told, err)
		}
		told, err = reader.Take()
		for _, event := range told {
			if event.Kind != wire.EventHost {
				t.Errorf("one without admin is told %s", event.Kind)
			}
		}
		if err != nil {
			t.Error(err)
		}
	})
}

func TestLink_request_ends(t *testing.T) {
	for name, end := range map[string]func(p *sockettest.Peer, pairer *fakePairer){
		"withdrawn": func(p *sockettest.Peer, _ *fakePairer) {
			send(p, 9, wire.MethodPairingCancel, wire.PairingID{ID: "K7QP"})
			synctest.Wait()
			answers := map[uint64]*wire.RPCReply{} // in either order
			for _, f := range p.Take() {
				if reply, ok := f.(*wire.RPCReply); ok {
					answers[reply.ID] = reply
				}
			}
			if done := answers[9]; done == nil || done.Error != nil {
				panic(done)
			}
			if refused := answers[2]; refused == nil || refused.Error == nil || refused.Error.Code != string(server.CodeUnknownPairing) {
				panic(refused)
			}
		},
		"the link breaks": func(p *sockettest.Peer, _ *fakePairer) { p.Cut() },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				pairer := withPairer(w)
				p, _ := w.connect("h1", "i1")
				call(p, 1, wire.MethodPairingRequest, wire.PairingParams{Scopes: []string{"read"}})
				send(p, 2, wire.MethodPairingWait, wire.PairingID{ID: "K7QP"})
				synctest.Wait()
				end(p, pairer)
				synctest.Wait()
				pairer.mu.Lock()
				defer pairer.mu.Unlock()
				if pairer.ended != 1 {
					t.Errorf("%d requests ended", pairer.ended)
				}
			})
		})
	}
}

// Whatever a host calls, it gets an answer that helps it to nothing.
func TestLink_hostile_calls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		p, welcome := w.connect("h2", "i2")
		if len(welcome.Capabilities) != 0 {
			t.Errorf("capabilities %v without a pairer", welcome.Capabilities)
		}
		refusedWith(t, call(p, 1, wire.MethodPairingRequest, wire.PairingParams{Scopes: []string{"read"}}), server.CodeUnsupported)

		pairer := withPairer(w)
		p, _ = w.connect("h1", "i1")
		for i, test := range []struct {
			method string
			params any
			want   server.Code
		}{
			{wire.MethodStart, wire.StartParams{Agent: "claude"}, server.CodeUnsupported},
			{wire.MethodKill, wire.SessionParams{ID: sessionA}, server.CodeUnsupported},
			{wire.MethodRecording, wire.RecordingParams{ID: sessionA}, server.CodeUnsupported},
			{"", nil, server.CodeUnsupported},
			{wire.MethodPairingRequest, "text", server.CodeInvalid},
			{wire.MethodPairingRequest, wire.PairingParams{}, server.CodeInvalid},
			{wire.MethodPairingRequest, wire.PairingParams{Scopes: []string{"root"}}, server.CodeInvalid},
			{wire.MethodPairingRequest, wire.PairingParams{Scopes: make([]string, maxScopes+1)}, server.CodeInvalid},
			{wire.MethodPairingWait, wire.PairingID{}, server.CodeUnknownPairing},
			{wire.MethodPairingWait, 7, server.CodeInvalid},
			{wire.MethodPairingCancel, wire.PairingID{ID: "K7QP"}, server.CodeUnknownPairing},
		} {
			refusedWith(t, call(p, uint64(i+1), test.method, test.params), test.want)
		}
		if len(pairer.asked) != 0 {
			t.Errorf("asked for %v", pairer.asked)
		}
		// A flood waits for itself: it is read at the pace of announcements.
		call(p, 100, wire.MethodPairingRequest, wire.PairingParams{Scopes: []string{"read"}})
		start := time.Now()
		for i := range uint64(eventsAtOnce) {
			refusedWith(t, call(p, 101+i, wire.MethodPairingRequest, wire.PairingParams{Scopes: []string{"read"}}), server.CodeLimit)
		}
		call(p, 1000, wire.MethodPairingRequest, wire.PairingParams{Scopes: []string{"read"}})
		if time.Since(start) == 0 {
			t.Error("a flood is served at once")
		}
		if len(pairer.asked) != 1 {
			t.Errorf("%d requests came through", len(pairer.asked))
		}
	})
}
