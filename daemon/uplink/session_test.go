package uplink

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/wire"
)

func TestLink_SlowLinkSkipsToThePresent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.net.rate, r.net.buffer = 50_000, 16<<10
		loud, quiet := r.host.add(t), r.host.add(t)
		loud.small = true
		r.start(t)
		r.connected(t)
		handle := r.server.handle(quiet.id)
		stop := make(chan struct{})
		flooded := make(chan struct{})
		go func() {
			defer close(flooded)
			ticker := time.NewTicker(20 * time.Millisecond)
			defer ticker.Stop()
			for {
				select {
				case <-ticker.C:
					loud.print(bytes.Repeat([]byte("flood "), 10_000)) // 3 MB a second
				case <-stop:
					return
				}
			}
		}()
		time.Sleep(20 * time.Second) // virtual
		// A key of another session comes back at once, its echo as well.
		before := time.Now()
		r.server.send(t, &wire.Input{Handle: handle, Client: wire.ClientID{1}, Seq: 1, Data: []byte("x")})
		r.server.wait(t, "an answer", func() bool { return len(r.server.live.acks) == 1 })
		if wait := time.Since(before); wait > 2*time.Second {
			t.Errorf("the answer took %v", wait)
		}
		before = time.Now()
		quiet.print([]byte("x"))
		r.server.wait(t, "the echo", func() bool { return len(r.server.copies[quiet.id].data) == 1 })
		if wait := time.Since(before); wait > 2*time.Second {
			t.Errorf("the echo took %v", wait)
		}
		close(stop)
		<-flooded
		before = time.Now()
		loud.print([]byte("PROMPT"))
		r.server.wait(t, "the prompt", func() bool { return bytes.HasSuffix(r.server.copies[loud.id].data, []byte("PROMPT")) })
		if wait := time.Since(before); wait > 8*time.Second {
			t.Errorf("the prompt took %v", wait)
		}
		if c := r.server.copy(loud.id); c.gaps == 0 || c.states == 0 {
			t.Errorf("%d gaps, %d states", c.gaps, c.states)
		}
		if r.server.linked() != 1 {
			t.Errorf("%d links", r.server.linked())
		}
	})
}

func TestLink_SlowHolderIsAnnouncedWhereItWas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		h, other := r.host.add(t), r.host.add(t)
		r.start(t)
		h.print([]byte("before "))
		r.server.wait(t, "the text", func() bool { return r.server.copies[h.id] != nil && len(r.server.copies[h.id].data) == 7 })
		h.freeze(true)
		first := r.server.current()
		r.net.last().Close()
		r.server.wait(t, "another link", func() bool { return r.server.live != first })
		hello := r.server.hellos[len(r.server.hellos)-1]
		for _, info := range hello.Sessions {
			if info.ID == h.id && info.End.Offset != 7 {
				t.Errorf("the stopped session is announced at %v", info.End)
			}
		}
		other.print([]byte("meanwhile"))
		r.server.wait(t, "the other session", func() bool { return len(r.server.copies[other.id].data) == 9 })
		h.freeze(false)
		h.print([]byte("after"))
		r.server.wait(t, "the rest", func() bool { return string(r.server.copies[h.id].data) == "before after" })
		if c := r.server.copy(h.id); c.gaps+c.states > 0 {
			t.Errorf("%d gaps, %d states", c.gaps, c.states)
		}
	})
}

func TestLink_ManySessionsWithLongNames(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		for range 2 * maxAnnounced {
			h := r.host.add(t)
			h.command = strings.Repeat("<&>", 2000)
			h.end(0)
		}
		running := r.host.add(t)
		running.print([]byte("here"))
		r.start(t)
		r.server.wait(t, "the newest sessions", func() bool { return len(r.server.copies) == maxAnnounced })
		r.server.wait(t, "the running one", func() bool {
			c := r.server.copies[running.id]
			return c != nil && string(c.data) == "here"
		})
		// The announced ones are not taken back because others wait for room.
		r.host.signal()
		synctest.Wait()
		closed := 0
		for _, c := range r.server.copies {
			if c.closed {
				closed++
			}
		}
		if closed > 0 || r.net.dialled() != 1 {
			t.Errorf("%d sessions were closed, %d links", closed, r.net.dialled())
		}
		// One that is forgotten makes room for another.
		for id := range r.server.copies {
			if id != running.id {
				r.host.remove(id)
				break
			}
		}
		r.server.wait(t, "an older one", func() bool { return len(r.server.copies) == maxAnnounced+1 })
	})
}

func TestLink_ServerAsksAgainInTheMiddle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		h := r.host.add(t)
		r.start(t)
		r.connected(t)
		for i := range 20 {
			h.print([]byte("abc"))
			r.server.mu.Lock()
			c := r.server.copies[h.id]
			c.data, c.position = c.data[:0], wire.Position{}
			resume := &wire.SessionResume{Handle: c.handle}
			if i%2 == 1 {
				resume.State, c.needs = true, true
			}
			r.server.mu.Unlock()
			// What is in flight from before lies above the position and is for
			// nobody; a real server drops it.
			r.server.mu.Lock()
			r.server.lenient = true
			r.server.mu.Unlock()
			r.server.send(t, resume)
			r.server.wait(t, "the whole stream again", func() bool { return len(c.data) == 3*(i+1) })
		}
	})
}

func TestSession_ListedMetadataIsOlderThanTheHolders(t *testing.T) {
	l := newLink(New(Options{Sessions: newFakeHost()}), daemon.HostConfig{}, nil, func() {})
	s := l.add(daemon.Session{ID: "x"})
	meta := func(state daemon.State, blocked bool) wire.SessionMeta {
		return wire.SessionMeta{Name: "n", State: string(state), InputBlocked: blocked}
	}
	sent := func() int { l.box.mu.Lock(); defer l.box.mu.Unlock(); return len(l.box.control) }
	s.setLive(true)
	if err := s.updateMeta(meta(daemon.StateRunning, true)); err != nil || sent() != 1 {
		t.Fatalf("the holder's word is not sent: %v", err)
	}
	l.box.control = nil
	if err := s.listed(meta(daemon.StateRunning, false)); err != nil || sent() != 0 {
		t.Error("an older list overrides the holder")
	}
	if err := s.updateMeta(meta(daemon.StateExited, false)); err != nil || sent() != 1 {
		t.Error("the end is not sent")
	}
	s.setLive(false)
	l.box.control = nil
	if err := s.listed(meta(daemon.StateRunning, false)); err != nil || sent() != 0 {
		t.Error("an older list revives what has ended")
	}
	if err := s.listed(meta(daemon.StateLost, false)); err != nil || sent() != 1 {
		t.Error("a loss is not sent")
	}
}
