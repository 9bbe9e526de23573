package uplink

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"
	"testing/synctest"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/holder"
	"github.com/agent-helm/agent-helm/internal/wire"
	"go.uber.org/goleak"
)

// TestMain also plays the holder, which sessions of real tests are started
// with by calling this binary.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "hold" {
		os.Exit(holder.Main(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

func TestLink_ForwardsWholeStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		h := r.host.add(t)
		h.print([]byte("before "))
		r.start(t)
		r.connected(t)
		h.print([]byte("after"))
		h.resize(100, 40)
		h.print([]byte(" resize"))
		h.end(3)
		r.server.wait(t, "the exit", func() bool { return r.server.copies[h.id].exit != nil })
		c := r.server.copy(h.id)
		if got := string(c.data); got != "before after resize" || c.resizes != 1 || c.exit.Code != 3 {
			t.Errorf("server has %q with %d resizes and exit %+v", got, c.resizes, c.exit)
		}
		synctest.Wait()
		if status := r.uplink.Status(); status.State != StateConnected || status.Host != "named by server" || status.Sessions != 1 {
			t.Errorf("status is %+v", status)
		}
	})
}

func TestLink_ResumesAfterCutsAtRandomBytes(t *testing.T) {
	for round := range 20 {
		t.Run(fmt.Sprint(round), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				random := rand.New(rand.NewPCG(uint64(round), 1))
				r := newRig(t)
				for range 12 {
					r.net.cutAfter = append(r.net.cutAfter, 200+random.IntN(60_000))
				}
				holders := []*fakeHolder{r.host.add(t), r.host.add(t), r.host.add(t)}
				r.start(t)
				var want [3][]byte
				for i := range 400 {
					n := random.IntN(len(holders))
					text := bytes.Repeat(fmt.Appendf(nil, "%d:%d;", n, i), 1+random.IntN(200))
					want[n] = append(want[n], text...)
					holders[n].print(text)
					if random.IntN(10) == 0 {
						holders[n].resize(uint16(20+random.IntN(100)), 24)
					}
				}
				for i, h := range holders {
					r.server.wait(t, "the whole stream", func() bool {
						return r.server.copies[h.id] != nil && len(r.server.copies[h.id].data) == len(want[i])
					})
					if c := r.server.copy(h.id); !bytes.Equal(c.data, want[i]) || c.gaps > 0 || c.states > 0 {
						t.Errorf("session %d: %d bytes are not those that were printed (%d gaps, %d states)", i, len(c.data), c.gaps, c.states)
					}
				}
				if r.net.dialled() < 3 {
					t.Errorf("only %d connections: the cuts did not happen", r.net.dialled())
				}
			})
		})
	}
}

func TestLink_RestartOfTheUplinkResumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		h := r.host.add(t)
		var want []byte
		for i := range 5 {
			r.make()
			r.start(t)
			text := bytes.Repeat([]byte{byte('a' + i)}, 50_000)
			want = append(want, text...)
			h.print(text)
			r.server.wait(t, "the text", func() bool {
				return r.server.copies[h.id] != nil && len(r.server.copies[h.id].data) == len(want)
			})
			r.stop()
			h.print([]byte("while away"))
			want = append(want, "while away"...)
		}
		if c := r.server.copy(h.id); !bytes.HasPrefix(want, c.data) || c.gaps+c.states > 0 {
			t.Error("the stream is not whole")
		}
		if len(r.server.hellos) != 5 || r.server.hellos[0].Instance == r.server.hellos[1].Instance {
			t.Error("each daemon should say hello with an instance of its own")
		}
	})
}

func TestLink_GapAndStateWhenTheLogDroppedIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		h := r.host.add(t)
		h.print([]byte("first "))
		r.start(t)
		r.server.wait(t, "the first text", func() bool {
			return r.server.copies[h.id] != nil && string(r.server.copies[h.id].data) == "first "
		})
		r.stop()
		h.print([]byte("lost"))
		h.forget()
		h.print(bytes.Repeat([]byte("kept"), 300_000))
		r.make()
		r.start(t)
		r.server.wait(t, "the state", func() bool { return r.server.copies[h.id].states == 1 })
		h.print([]byte("tail"))
		r.server.wait(t, "the tail", func() bool { return bytes.HasSuffix(r.server.copies[h.id].data, []byte("tail")) })
		c := r.server.copy(h.id)
		if c.gaps != 1 || len(c.data) != 1_200_004 {
			t.Errorf("%d gaps, %d bytes", c.gaps, len(c.data))
		}
	})
}

func TestLink_ServerThatForgotGetsState(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		h := r.host.add(t)
		h.print([]byte("text"))
		r.server.forget = true
		r.start(t)
		r.server.wait(t, "the state", func() bool { return r.server.copies[h.id] != nil && r.server.copies[h.id].states == 1 })
		h.print([]byte(" and more"))
		r.server.wait(t, "the rest", func() bool { return string(r.server.copies[h.id].data) == "text and more" })
		synctest.Wait()
		// What replaces a backlog later carries less history than the first state.
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, c := range h.conns {
			if a := c.attach; a != nil && (a.Want != wire.WantStream || a.History != lagHistory || a.LagMS != lagMS) {
				t.Errorf("the stream is attached by %+v", a)
			}
		}
	})
}

func TestLink_SessionsComeChangeAndGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.start(t)
		r.connected(t)
		h := r.host.add(t)
		h.print([]byte("hello"))
		r.server.wait(t, "the new session", func() bool {
			return r.server.copies[h.id] != nil && string(r.server.copies[h.id].data) == "hello"
		})
		h.end(0)
		r.host.signal()
		r.server.wait(t, "the exit", func() bool {
			c := r.server.copies[h.id]
			return c.exit != nil && c.meta.State == string(daemon.StateExited)
		})
		r.host.remove(h.id)
		r.server.wait(t, "the end of the session", func() bool { return r.server.copies[h.id].closed })
	})
}

func TestLink_EndedSessionIsServedFromItsRemains(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		h := r.host.add(t)
		h.print([]byte("last screen"))
		h.end(7)
		h.vanish()
		r.start(t)
		r.server.wait(t, "the exit", func() bool { return r.server.copies[h.id] != nil && r.server.copies[h.id].exit != nil })
		c := r.server.copy(h.id)
		if string(c.data) != "last screen" || c.exit.Code != 7 {
			t.Errorf("server has %q and %+v", c.data, c.exit)
		}
		// Input to it is answered, not swallowed.
		r.server.send(t, &wire.Input{Handle: c.handle, Client: wire.ClientID{1}, Seq: 1, Data: []byte("x")})
		r.server.wait(t, "an answer", func() bool { return len(r.server.live.acks) == 1 })
		if ack := r.server.acks()[0]; ack.Status != wire.InputEnded {
			t.Errorf("the answer is %+v", ack)
		}
	})
}

func TestLink_BrokenHolderCostsOnlyItsOwnStream(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		bad, good := r.host.add(t), r.host.add(t)
		bad.broken = 4
		r.start(t)
		good.print([]byte("good"))
		bad.print([]byte("recovered"))
		r.server.wait(t, "both", func() bool {
			a, b := r.server.copies[good.id], r.server.copies[bad.id]
			return a != nil && b != nil && string(a.data) == "good" && string(b.data) == "recovered"
		})
		if r.server.linked() != 1 {
			t.Errorf("the link was opened %d times", r.server.linked())
		}
	})
}

func TestLink_StoppedHolderStopsNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		stopped, other := r.host.add(t), r.host.add(t)
		r.start(t)
		r.connected(t)
		stopped.freeze(true)
		handle := r.server.handle(stopped.id)
		for seq := range 2 * maxWaiting {
			r.server.send(t, &wire.Input{Handle: handle, Client: wire.ClientID{1}, Seq: uint64(seq + 1), Data: []byte("x")})
		}
		r.server.wait(t, "a refusal", func() bool { return len(r.server.live.acks) > 0 })
		if ack := r.server.acks()[0]; ack.Status != wire.InputBlocked {
			t.Errorf("the answer is %+v", ack)
		}
		other.print([]byte("still here"))
		r.server.wait(t, "the other session", func() bool { return string(r.server.copies[other.id].data) == "still here" })
	})
}

func TestLink_InputIsRepeatedToAHolderAndAnsweredOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		h := r.host.add(t)
		r.start(t)
		r.connected(t)
		handle := r.server.handle(h.id)
		h.freeze(true)
		r.server.send(t, &wire.Input{Handle: handle, Client: wire.ClientID{1}, Seq: 1, Data: []byte("a")})
		synctest.Wait()
		h.cutConnections()
		h.freeze(false)
		r.server.send(t, &wire.Input{Handle: handle, Client: wire.ClientID{1}, Seq: 2, Data: []byte("b")},
			&wire.Retire{Handle: handle, Client: wire.ClientID{1}})
		r.server.wait(t, "three answers", func() bool { return len(r.server.live.acks) == 3 })
		if got := h.written(); len(got) != 2 || string(got[0].Data)+string(got[1].Data) != "ab" {
			t.Errorf("the holder wrote %d inputs", len(got))
		}
		last := r.server.acks()[2]
		if last.Status != wire.InputRetired || last.Seq != 2 || last.Handle != handle {
			t.Errorf("the retirement was answered by %+v", last)
		}
		s := r.sessionByID(h.id)
		if s == nil || len(s.inputs.drain()) != 0 {
			t.Error("answered inputs are still kept")
		}
	})
}

// sessionByID finds the live link's session through the holder's queue; it is
// nil when there is no link.
func (r *rig) sessionByID(id string) *session {
	r.uplink.mu.Lock()
	defer r.uplink.mu.Unlock()
	if r.uplink.current == nil {
		return nil
	}
	r.uplink.current.mu.Lock()
	defer r.uplink.current.mu.Unlock()
	return r.uplink.current.byID[id]
}

func TestLink_ProtocolFaultsEndIt(t *testing.T) {
	for name, frame := range map[string]wire.Frame{
		"second welcome": &wire.HostWelcome{},
		"malformed":      &wire.Unknown{FrameType: wire.TypeInput, Body: []byte{1}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRig(t)
				r.start(t)
				r.connected(t)
				link := r.server.current()
				r.server.send(t, frame)
				r.server.wait(t, "the end", func() bool { return link.ended != nil })
				if status := closeStatus(link.ended); status != wire.CloseProtocol {
					t.Errorf("closed with %d: %v", status, link.ended)
				}
				r.server.wait(t, "another link", func() bool { return r.server.live != link })
			})
		})
	}
	t.Run("unknown frames are skipped", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			r := newRig(t)
			h := r.host.add(t)
			r.start(t)
			r.connected(t)
			r.server.send(t, &wire.Unknown{FrameType: 0x7f, Body: []byte("future")}, &wire.Detach{Handle: 1})
			h.print([]byte("fine"))
			r.server.wait(t, "the text", func() bool { return string(r.server.copies[h.id].data) == "fine" })
		})
	})
}

func TestLink_RefusedDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.net.setRefuse(errors.New("connection refused"))
		r.start(t)
		synctest.Wait()
		if status := r.uplink.Status(); status.State != StateReconnecting || status.LastError != "connection refused" {
			t.Errorf("status is %+v", status)
		}
		r.net.setRefuse(nil)
		r.uplink.Nudge()
		r.connected(t)
	})
}
