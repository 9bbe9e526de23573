package uplink

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/wire"
	"golang.org/x/sync/errgroup"
)

// foreign is one of every frame that a server has no business sending a host.
func foreign(handle uint32) []wire.Frame {
	return []wire.Frame{
		&wire.HostHello{Instance: "x"}, &wire.SessionOpen{SessionInfo: wire.SessionInfo{Handle: handle, ID: "x"}},
		&wire.SessionUpdate{Handle: handle}, &wire.SessionClosed{Handle: handle},
		&wire.ViewerHello{}, &wire.ViewerWelcome{}, &wire.Attach{Handle: handle}, &wire.Attached{Handle: handle},
		&wire.Detach{Handle: handle}, &wire.Live{Handle: handle}, &wire.Event{Kind: "x", Body: json.RawMessage("{}")},
		&wire.Output{Handle: handle, Data: []byte("rm -rf /\r")}, &wire.Resize{Handle: handle, Ordinal: 1, Cols: 1, Rows: 1},
		&wire.Gap{Handle: handle}, &wire.Reset{Handle: handle}, &wire.Exit{Handle: handle},
		&wire.State{Handle: handle, First: true, Last: true, Cols: 1, Rows: 1}, &wire.Repaint{Handle: handle, Cols: 1, Rows: 1},
		&wire.InputAck{Handle: handle}, &wire.SizeOwner{Handle: handle}, &wire.Page{Handle: handle}, &wire.PageReply{Handle: handle},
		&wire.RPCReply{ID: 1}, &wire.Problem{Code: "x\x1b[2J"}, &wire.HolderHello{Role: wire.RoleLocal},
		&wire.HolderWelcome{}, &wire.HolderAttach{Want: wire.WantState},
		&wire.Unknown{FrameType: 0x50, Body: []byte("ask")}, &wire.Unknown{FrameType: 0x60, Body: []byte("exec")},
	}
}

func TestLink_FramesThatAreNotForAHostDoNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		h := r.host.add(t)
		r.start(t)
		r.connected(t)
		handle := r.server.handle(h.id)
		for _, unknown := range []uint32{handle, 0, 99, 1<<32 - 1} {
			r.server.send(t, foreign(unknown)...)
			r.server.send(t, &wire.Ack{Handle: unknown, Offset: 1<<64 - 1}, &wire.SessionResume{Handle: unknown + 7},
				&wire.Pong{Nonce: 1<<64 - 1}, &wire.Pong{Nonce: probeNonces + 5})
		}
		h.print([]byte("unharmed"))
		r.server.wait(t, "the output", func() bool { return string(r.server.copies[h.id].data) == "unharmed" })
		if made := r.host.made(); len(made)+len(h.written()) != 0 || r.net.dialled() != 1 {
			t.Errorf("calls %q, %d inputs, %d links", made, len(h.written()), r.net.dialled())
		}
	})
}

func TestLink_FramesBeforeTheWelcomeEndIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		h := r.host.add(t)
		r.server.silent = true
		r.start(t)
		synctest.Wait()
		r.server.mu.Lock()
		l := r.server.pending
		r.server.mu.Unlock()
		if err := l.send(t.Context(), true, &wire.Input{Handle: 1, Client: wire.ClientID{1}, Seq: 1, Data: []byte("x")}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if status := r.uplink.Status(); status.State != StateReconnecting || len(h.written()) != 0 {
			t.Errorf("status is %+v, %d inputs", status, len(h.written()))
		}
	})
}

func TestLink_InputExactlyOnceAcrossCuts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		h := r.host.add(t)
		for i := range 30 {
			r.net.cutAfter = append(r.net.cutAfter, 600+37*i)
		}
		r.start(t)
		const keys = 400
		client := wire.ClientID{7}
		var acked uint64
		for acked < keys {
			// A viewer behind the server: it sends again what was not
			// acknowledged on the link before.
			r.server.mu.Lock()
			l, changed := r.server.live, r.server.changed
			var handle uint32
			if c := r.server.copies[h.id]; c != nil {
				handle = c.handle
			}
			r.server.mu.Unlock()
			if l == nil {
				<-changed
				continue
			}
			for seq := acked + 1; seq <= min(acked+10, keys); seq++ {
				if l.send(t.Context(), false, &wire.Input{Handle: handle, Client: client, Seq: seq, Data: fmt.Appendf(nil, "%d,", seq)}) != nil {
					break
				}
			}
			// Until they are answered, or the link is another one.
			r.server.wait(t, "answers or another link", func() bool {
				before := acked
				for _, ack := range l.acks {
					if ack.Status == wire.InputApplied && ack.Seq > acked {
						acked = ack.Seq
					}
				}
				return acked > before || r.server.live != l
			})
		}
		got := h.written()
		for i, input := range got {
			if input.Seq != uint64(i+1) || string(input.Data) != fmt.Sprintf("%d,", i+1) {
				t.Fatalf("input %d is %d: %q", i+1, input.Seq, input.Data)
			}
		}
		if len(got) != keys || r.net.dialled() < 10 {
			t.Errorf("%d inputs over %d links", len(got), r.net.dialled())
		}
	})
}

func FuzzLink_Take(f *testing.F) {
	handle := uint32(1)
	for _, frame := range append(foreign(handle),
		&wire.Input{Handle: handle, Client: wire.ClientID{1}, Seq: 1, Data: []byte("x")}, &wire.Retire{Handle: handle},
		&wire.ClaimSize{Handle: handle, Cols: 1, Rows: 1}, &wire.Presence{Handle: handle}, &wire.Ping{}, &wire.Pong{Nonce: 1},
		&wire.RPC{ID: 1, Method: wire.MethodStart, Params: json.RawMessage(`{"agent":"claude"}`)},
		&wire.RPC{ID: 1, Method: wire.MethodKill, Params: json.RawMessage(`{"id":"../x"}`)},
		&wire.SessionResume{Handle: handle}, &wire.Restarting{AfterMS: 1}, &wire.Ack{Handle: handle, Offset: 9}) {
		encoded, err := wire.Append(nil, frame)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(encoded)
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		host := newFakeHost()
		u := New(Options{Sessions: host, Policy: func() (daemon.Policy, error) { return daemon.DefaultPolicy(), nil }})
		l := newLink(u, daemon.HostConfig{}, nil, func() {})
		l.group, l.welcomed = new(errgroup.Group), true
		l.add(daemon.Session{ID: daemon.NewSessionID()})
		// Whatever comes, it ends in an error or in nothing.
		_ = wire.DecodeAll(message, func(frame wire.Frame) error { return l.take(context.Background(), frame, time.Now()) })
		if err := l.group.Wait(); err != nil {
			t.Error(err)
		}
		for _, call := range host.made() {
			if call != "page" && len(message) < 20 {
				t.Errorf("%q made %q", message, call)
			}
		}
	})
}
