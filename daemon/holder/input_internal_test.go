package holder

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// fakeSink is a PTY that takes a given number of bytes and then no more until
// it is given room.
type fakeSink struct {
	mu       sync.Mutex
	room     int
	deadline time.Time
	written  []byte
	changed  chan struct{}
}

func newFakeSink(room int) *fakeSink { return &fakeSink{room: room, changed: make(chan struct{}, 1)} }

func (s *fakeSink) SetWriteDeadline(t time.Time) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deadline = t
	s.wake()
	return nil
}

func (s *fakeSink) wake() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *fakeSink) makeRoom(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.room += n
	s.wake()
}

func (s *fakeSink) Write(p []byte) (written int, err error) {
	for {
		s.mu.Lock()
		n := min(s.room, len(p)-written)
		s.written = append(s.written, p[written:written+n]...)
		s.room -= n
		written += n
		left := time.Until(s.deadline)
		s.mu.Unlock()
		switch {
		case written == len(p):
			return written, nil
		case left <= 0:
			return written, os.ErrDeadlineExceeded
		}
		timer := time.NewTimer(left)
		select {
		case <-s.changed:
		case <-timer.C:
		}
		timer.Stop()
	}
}

func (s *fakeSink) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.written)
}

// acks collects answers as "client seq status".
type acks struct {
	mu   sync.Mutex
	list []string
}

var statusNames = map[wire.InputStatus]string{
	wire.InputApplied: "applied", wire.InputGap: "gap", wire.InputUnknownClient: "unknown", wire.InputLate: "late",
	wire.InputRetired: "retired", wire.InputBlocked: "blocked", wire.InputEnded: "ended", wire.InputInvalid: "invalid",
}

func (a *acks) sendAck(ack wire.InputAck) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.list = append(a.list, fmt.Sprintf("%c%d %s", ack.Client[0], ack.Seq, statusNames[ack.Status]))
}

func (a *acks) take() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := a.list
	a.list = nil
	return list
}

// inputTest is an inputs with a fake sink and a fake clock.
type inputTest struct {
	*inputs
	t       *testing.T
	sink    *fakeSink
	acks    acks
	blocked []bool
}

func testInputs(t *testing.T, room int, test func(*inputTest)) {
	synctest.Test(t, func(t *testing.T) {
		w := &inputTest{t: t, sink: newFakeSink(room)}
		w.inputs = newInputs(w.sink, inputRules{
			encode: func(kind wire.InputKind, data []byte) ([]byte, error) {
				if string(data) == "bad" {
					return nil, errors.New("bad")
				}
				return data, nil
			},
			pause:   func(int) time.Duration { return 150 * time.Millisecond },
			blocked: func(blocked bool) { w.blocked = append(w.blocked, blocked) },
		})
		var running sync.WaitGroup
		running.Go(w.run)
		defer running.Wait()
		defer w.end()
		test(w)
	})
}

func (w *inputTest) input(client byte, seq uint64, data string) { w.aged(client, seq, data, 0) }

func (w *inputTest) aged(client byte, seq uint64, data string, age time.Duration) {
	w.add(&wire.Input{Client: wire.ClientID{client}, Seq: seq, Data: []byte(data)}, age, &w.acks)
}

func (w *inputTest) submit(client byte, seq uint64, data string) {
	w.add(&wire.Input{Client: wire.ClientID{client}, Seq: seq, Kind: wire.InputSubmit, Data: []byte(data)}, 0, &w.acks)
}

func (w *inputTest) expect(written string, answers ...string) {
	w.t.Helper()
	synctest.Wait()
	if got := w.sink.text(); got != written {
		w.t.Errorf("written %q, expected %q", got, written)
	}
	if diff := cmp.Diff(answers, w.acks.take()); diff != "" {
		w.t.Errorf("answers (-expected +got):\n%s", diff)
	}
}

const endless = 1 << 30

func TestInputs_Order(t *testing.T) {
	testInputs(t, endless, func(w *inputTest) {
		w.input('a', 1, "one ")
		w.expect("one ", "a1 applied")
		w.input('a', 1, "one ")
		w.expect("one ", "a1 applied")
		w.input('a', 3, "three")
		w.expect("one ", "a1 gap")
		w.input('b', 2, "two")
		w.expect("one ", "b2 unknown")
		w.input('a', 2, "two ")
		w.input('b', 1, "other ")
		w.expect("one two other ", "a2 applied", "b1 applied")
		w.input('a', 3, "bad")
		w.expect("one two other ", "a3 invalid")
	})
}

func TestInputs_Retire(t *testing.T) {
	testInputs(t, endless, func(w *inputTest) {
		w.input('a', 1, "one")
		synctest.Wait()
		w.retire(wire.ClientID{'a'}, &w.acks)
		w.input('a', 2, "two")
		w.input('a', 1, "one")
		w.retire(wire.ClientID{'z'}, &w.acks)
		w.input('z', 1, "zed")
		w.expect("one", "a1 applied", "a1 retired", "a1 retired", "a1 retired", "z0 retired", "z0 retired")
	})
}

// TestInputs_RetireWhileBlocked: of what the PTY has taken a byte is applied,
// the rest is given back.
func TestInputs_RetireWhileBlocked(t *testing.T) {
	testInputs(t, 2, func(w *inputTest) {
		w.input('a', 1, "begun")
		w.input('a', 2, "waits")
		w.input('b', 1, "other")
		w.expect("be")
		w.retire(wire.ClientID{'a'}, &w.acks)
		time.Sleep(writeTick)
		w.expect("be", "a1 retired")
		w.sink.makeRoom(endless)
		w.expect("begunother", "a1 applied", "b1 applied")
	})
	testInputs(t, 0, func(w *inputTest) {
		w.input('a', 1, "not begun")
		w.input('b', 1, "other")
		synctest.Wait()
		w.retire(wire.ClientID{'a'}, &w.acks)
		w.expect("")
		time.Sleep(writeTick)
		w.expect("", "a0 retired")
		w.sink.makeRoom(endless)
		w.expect("other", "b1 applied")
	})
}

func TestInputs_Late(t *testing.T) {
	testInputs(t, endless, func(w *inputTest) {
		w.aged('a', 1, "old", wire.InputLifetime+time.Millisecond)
		w.aged('b', 1, "young", wire.InputLifetime)
		w.expect("young", "a1 late", "b1 applied")
	})
	// Waiting behind a program that does not read makes old as well.
	testInputs(t, 1, func(w *inputTest) {
		w.input('a', 1, "begun")
		w.aged('a', 2, "waits", 2*time.Second)
		w.input('a', 3, "follows")
		w.expect("b")
		time.Sleep(8*time.Second - writeTick)
		w.expect("b")
		time.Sleep(2 * writeTick)
		w.expect("b", "a2 late", "a0 gap")
		time.Sleep(time.Hour)
		w.sink.makeRoom(endless)
		w.expect("begun", "a1 applied")
		w.input('a', 2, "again")
		w.expect("begunagain", "a2 applied")
	})
	// So does waiting for the first byte to be taken.
	testInputs(t, 0, func(w *inputTest) {
		w.input('a', 1, "never")
		time.Sleep(wire.InputLifetime + 2*writeTick)
		w.expect("", "a1 late")
		w.sink.makeRoom(endless)
		w.expect("")
	})
}

func TestInputs_Blocked(t *testing.T) {
	testInputs(t, 1, func(w *inputTest) {
		large := string(make([]byte, daemon.MaxQueuedInput))
		w.input('a', 1, "xy")
		w.input('a', 2, large) // one that is larger than the rest of the room is taken
		synctest.Wait()
		w.input('a', 3, "z")
		w.input('b', 1, "z")
		w.expect("x", "a3 blocked", "b1 blocked")
		time.Sleep(blockedAfter + writeTick)
		synctest.Wait()
		if diff := cmp.Diff([]bool{true}, w.blocked); diff != "" || !w.isStuck() {
			t.Errorf("blocked is told: %s", diff)
		}
		w.reply([]byte("answer"))
		w.sink.makeRoom(endless)
		w.expect("xyanswer"+large, "a1 applied", "a2 applied")
		if diff := cmp.Diff([]bool{true, false}, w.blocked); diff != "" {
			t.Errorf("blocked is told: %s", diff)
		}
		w.input('a', 3, "z")
		w.expect("xyanswer"+large+"z", "a3 applied")
	})
}

func TestInputs_ManySmall(t *testing.T) {
	testInputs(t, 0, func(w *inputTest) {
		for seq := range uint64(daemon.MaxQueuedInputs + 2) {
			w.input('a', seq+1, "x")
			synctest.Wait()
		}
		w.expect("", fmt.Sprintf("a%d blocked", daemon.MaxQueuedInputs+2))
	})
}

// TestInputs_Submit: nothing comes between text and Enter.
func TestInputs_Submit(t *testing.T) {
	testInputs(t, endless, func(w *inputTest) {
		w.submit('a', 1, "text")
		synctest.Wait()
		w.input('b', 1, "other")
		w.reply([]byte("answer"))
		w.interject([]byte("key"))
		w.expect("text")
		time.Sleep(149 * time.Millisecond)
		w.expect("text")
		time.Sleep(time.Millisecond)
		w.expect("text\ranswerkeyother", "a1 applied", "b1 applied")
	})
}

func TestInputs_SubmitRetired(t *testing.T) {
	testInputs(t, endless, func(w *inputTest) {
		w.submit('a', 1, "text")
		synctest.Wait()
		w.retire(wire.ClientID{'a'}, &w.acks)
		w.expect("text", "a1 retired")
		time.Sleep(150 * time.Millisecond)
		w.expect("text\r", "a1 applied")
	})
}

// TestInputs_Resent: an input that waits is not queued again, and the answer
// goes to the connection that the client speaks on now.
func TestInputs_Resent(t *testing.T) {
	testInputs(t, 1, func(w *inputTest) {
		w.input('a', 1, "xy")
		synctest.Wait()
		var other acks
		w.add(&wire.Input{Client: wire.ClientID{'a'}, Seq: 1, Data: []byte("xy")}, time.Second, &other)
		w.sink.makeRoom(endless)
		w.expect("xy")
		if diff := cmp.Diff([]string{"a1 applied"}, other.take()); diff != "" {
			t.Error(diff)
		}
	})
}

func TestInputs_End(t *testing.T) {
	testInputs(t, 1, func(w *inputTest) {
		w.input('a', 1, "xy")
		w.input('a', 2, "z")
		synctest.Wait()
		w.end()
		time.Sleep(writeTick)
		w.input('a', 3, "z")
		w.input('b', 1, "z")
		w.expect("x", "a2 ended", "a1 ended", "a3 ended", "b1 ended")
	})
}

func TestInputs_Replies(t *testing.T) {
	testInputs(t, 1, func(w *inputTest) {
		w.reply([]byte("\x1b[?62;22c"))
		synctest.Wait()
		for range 10_000 {
			w.reply([]byte("\x1b[?62;22c"))
		}
		synctest.Wait()
		w.mu.Lock()
		queued := len(w.replies)
		w.mu.Unlock()
		if queued == 0 || queued > daemon.MaxReplyBytes || queued%9 != 0 {
			t.Errorf("%d bytes of answers wait", queued)
		}
	})
}

// TestInputs_Forgotten: who was forgotten is refused, not applied anew.
func TestInputs_Forgotten(t *testing.T) {
	testInputs(t, endless, func(w *inputTest) {
		w.input('a', 1, "x")
		synctest.Wait()
		w.acks.take()
		for i := range daemon.MaxInputClients {
			w.retire(wire.ClientID{1, byte(i), byte(i >> 8)}, &w.acks)
		}
		w.acks.take()
		if len(w.clients) != daemon.MaxInputClients {
			t.Errorf("%d clients are remembered", len(w.clients))
		}
		w.input('a', 2, "y")
		w.expect("x", "a2 unknown")
	})
}
