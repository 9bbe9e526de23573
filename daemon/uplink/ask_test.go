package uplink

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-helm/agent-helm/internal/wire"
)

// asking is an AskForCode under way.
type asking struct {
	noted  chan Asked
	ended  chan struct{}
	answer Answer
	err    error
}

func (r *rig) ask(ctx context.Context) *asking {
	a := &asking{noted: make(chan Asked, 1), ended: make(chan struct{})}
	go func() {
		defer close(a.ended)
		a.answer, a.err = r.uplink.AskForCode(ctx, []string{"read"}, func(asked Asked) error {
			a.noted <- asked
			return nil
		})
	}()
	return a
}

// call waits for a call of the host.
func (s *fakeServer) call(t *testing.T, method string) *wire.RPC {
	t.Helper()
	var call *wire.RPC
	s.wait(t, "a call of "+method, func() bool {
		for _, f := range s.live.frames {
			if candidate, ok := f.(*wire.RPC); ok && candidate.Method == method {
				call = candidate
				return true
			}
		}
		return false
	})
	return call
}

func result(t *testing.T, id uint64, value any) *wire.RPCReply {
	t.Helper()
	encoded, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return &wire.RPCReply{ID: id, Result: encoded}
}

func pairingRig(t *testing.T) *rig {
	t.Helper()
	r := newRig(t)
	r.server.can = []string{"something", wire.CapabilityPairing}
	r.start(t)
	r.connected(t)
	synctest.Wait()
	return r
}

func TestAskForCode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := pairingRig(t)
		a := r.ask(t.Context())
		call := r.server.call(t, wire.MethodPairingRequest)
		if string(call.Params) != `{"scopes":["read"]}` {
			t.Errorf("asked with %s", call.Params)
		}
		r.server.send(t, result(t, call.ID, wire.PairingRequested{ID: "K7\x1bQP", ExpiresMS: 1000}))
		if asked := <-a.noted; asked.ID != "K7QP" || asked.Left != time.Second {
			t.Errorf("noted %+v", asked)
		}
		wait := r.server.call(t, wire.MethodPairingWait)
		if string(wait.Params) != `{"id":"K7\u001bQP"}` {
			t.Errorf("waits for %s", wait.Params)
		}
		time.Sleep(4 * time.Minute) // a person decides; no call times out meanwhile
		r.server.send(t, &wire.RPCReply{ID: 999}, result(t, wait.ID, wire.PairingResult{Code: "ABC234\n", URL: "https://x\u202e", Scopes: []string{"read"}, ExpiresMS: 1000}))
		<-a.ended
		if a.err != nil || a.answer.Code != "ABC234" || a.answer.URL != "https://x" || a.answer.Left != time.Second || len(a.answer.Scopes) != 1 {
			t.Errorf("answer %+v, %v", a.answer, a.err)
		}
	})
}

func TestAskForCode_fails(t *testing.T) {
	for name, test := range map[string]struct {
		play func(t *testing.T, r *rig, cancel func())
		want func(error) bool
	}{
		"refused at once": {func(t *testing.T, r *rig, _ func()) {
			r.server.send(t, &wire.RPCReply{ID: r.server.call(t, wire.MethodPairingRequest).ID, Error: &wire.Fault{Code: wire.CodeLimit, Message: "too \x1boften"}})
		}, faultWith(wire.CodeLimit, "too often")},
		"denied": {func(t *testing.T, r *rig, _ func()) {
			r.server.send(t, result(t, r.server.call(t, wire.MethodPairingRequest).ID, wire.PairingRequested{ID: "K7QP"}))
			r.server.send(t, &wire.RPCReply{ID: r.server.call(t, wire.MethodPairingWait).ID, Error: &wire.Fault{Code: wire.CodeForbidden, Message: "denied"}})
		}, faultWith(wire.CodeForbidden, "denied")},
		"given up": {func(t *testing.T, r *rig, cancel func()) {
			r.server.send(t, result(t, r.server.call(t, wire.MethodPairingRequest).ID, wire.PairingRequested{ID: "K7QP"}))
			r.server.call(t, wire.MethodPairingWait)
			cancel()
			if call := r.server.call(t, wire.MethodPairingCancel); string(call.Params) != `{"id":"K7QP"}` {
				t.Errorf("withdraws %s", call.Params)
			}
		}, func(err error) bool { return errors.Is(err, context.Canceled) }},
		"a server that says nothing": {func(t *testing.T, r *rig, _ func()) {
			r.server.call(t, wire.MethodPairingRequest)
			time.Sleep(answerTimeout)
		}, func(err error) bool { return err != nil }},
		"nonsense": {func(t *testing.T, r *rig, _ func()) {
			r.server.send(t, result(t, r.server.call(t, wire.MethodPairingRequest).ID, []int{1}))
		}, func(err error) bool { return err != nil }},
		"the link breaks": {func(t *testing.T, r *rig, _ func()) {
			r.server.send(t, result(t, r.server.call(t, wire.MethodPairingRequest).ID, wire.PairingRequested{ID: "K7QP"}))
			r.server.call(t, wire.MethodPairingWait)
			r.server.current().socket.CloseNow()
		}, func(err error) bool { return errors.Is(err, errAskBroken) }},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := pairingRig(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				a := r.ask(ctx)
				test.play(t, r, cancel)
				<-a.ended
				if !test.want(a.err) || a.answer.Code != "" {
					t.Errorf("answer %+v, %v", a.answer, a.err)
				}
			})
		})
	}
}

func faultWith(code, message string) func(error) bool {
	return func(err error) bool {
		var fault *wire.Fault
		return errors.As(err, &fault) && fault.Code == code && fault.Message == message
	}
}

// An older server ends the link over such a call, so it is not made.
func TestAskForCode_without_a_server(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		if _, err := r.uplink.AskForCode(t.Context(), nil, nil); !errors.Is(err, ErrNotConnected) {
			t.Errorf("before the first link: %v", err)
		}
		r.start(t)
		r.connected(t)
		synctest.Wait()
		var fault *wire.Fault
		if _, err := r.uplink.AskForCode(t.Context(), nil, nil); !errors.As(err, &fault) || fault.Code != wire.CodeUnsupported {
			t.Errorf("of a server that cannot: %v", err)
		}
		for _, f := range r.server.live.frames {
			if _, ok := f.(*wire.RPC); ok {
				t.Error("a call was made")
			}
		}
	})
}
