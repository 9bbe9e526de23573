package uplink

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-helm/agent-helm/internal/wire"
)

// message takes one message from a box and decodes it; nil when nothing may be sent.
func message(t *testing.T, b *outbox) []wire.Frame {
	t.Helper()
	b.mu.Lock()
	encoded, reports, err := b.fill(nil, nil, func(wire.Frame) {})
	b.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	var frames []wire.Frame
	if err := wire.DecodeAll(encoded, func(f wire.Frame) error { frames = append(frames, f); return nil }); err != nil {
		t.Fatal(err)
	}
	b.wrote(reports)
	return frames
}

func output(l *lane, offset uint64, size int) *wire.Output {
	return &wire.Output{Handle: l.handle, Offset: offset, Data: bytes.Repeat([]byte{byte(l.handle)}, size)}
}

func mustPut(t *testing.T, b *outbox, l *lane, frames ...wire.Frame) {
	t.Helper()
	if err := b.put(t.Context(), l, frames...); err != nil {
		t.Fatal(err)
	}
}

// flood fills a lane with consecutive output from offset.
func flood(t *testing.T, b *outbox, l *lane, offset uint64, bytes int) {
	t.Helper()
	for sent := 0; sent < bytes; sent += 16 << 10 {
		mustPut(t, b, l, output(l, offset+uint64(sent), 16<<10))
	}
}

func outputBytes(frames []wire.Frame) (total int) {
	for _, f := range frames {
		if o, ok := f.(*wire.Output); ok {
			total += len(o.Data)
		}
	}
	return total
}

func TestOutbox_ControlBeforeOutput(t *testing.T) {
	b := newOutbox(time.Now)
	b.window.size = 1 << 20
	l := b.newLane(1)
	flood(t, b, l, 0, 128<<10)
	if err := b.send(&wire.InputAck{Handle: 1, Seq: 9}); err != nil {
		t.Fatal(err)
	}
	frames := message(t, b)
	if ack, ok := frames[0].(*wire.InputAck); !ok || ack.Seq != 9 {
		t.Errorf("the first frame is %T, want the acknowledgement", frames[0])
	}
	if n := outputBytes(frames); n != messageOutput {
		t.Errorf("the message carries %d bytes of output, want %d", n, messageOutput)
	}
}

func TestOutbox_EchoOfASilentSessionGoesNext(t *testing.T) {
	b := newOutbox(time.Now)
	loud, quiet := b.newLane(1), b.newLane(2)
	flood(t, b, loud, 0, 200<<10)
	message(t, b)
	mustPut(t, b, quiet, output(quiet, 0, 1))
	frames := message(t, b)
	if o, ok := frames[0].(*wire.Output); !ok || o.Handle != 2 {
		t.Errorf("the next message begins with %+v, want the echo", frames[0].Type())
	}
	// Even when the flood has used the whole window.
	for outputBytes(message(t, b)) > 0 {
	}
	if room := b.window.room(); room != 0 {
		t.Fatalf("the window has room for %d bytes", room)
	}
	b.acknowledge(quiet, 1)
	mustPut(t, b, quiet, output(quiet, 1, 1))
	for outputBytes(message(t, b)) > 1 {
	}
	if quiet.sent.Offset != 2 {
		t.Error("the echo waits for another session's window")
	}
}

func TestOutbox_SharesEvenly(t *testing.T) {
	b := newOutbox(time.Now)
	b.window.size = windowCeil
	lanes := []*lane{b.newLane(1), b.newLane(2), b.newLane(3), b.newLane(4)}
	for _, l := range lanes {
		flood(t, b, l, 0, 240<<10)
	}
	got := make(map[uint32]int)
	for range 16 {
		for _, f := range message(t, b) {
			o := f.(*wire.Output)
			got[o.Handle] += len(o.Data)
		}
	}
	for _, l := range lanes {
		if n := got[l.handle]; n != 16*messageOutput/len(lanes) {
			t.Errorf("session %d sent %d bytes of %d", l.handle, n, 16*messageOutput)
		}
	}
}

func TestOutbox_SilentSessionsDoNotStarveALoudOne(t *testing.T) {
	b := newOutbox(time.Now)
	b.window.size = windowCeil
	loud := b.newLane(1)
	flood(t, b, loud, 0, 250<<10)
	message(t, b)
	var others []*lane
	for i := range 63 {
		others = append(others, b.newLane(uint32(i+2)))
	}
	var offsets [63]uint64
	before := loud.sent.Offset
	for range 4 {
		for i, l := range others {
			mustPut(t, b, l, output(l, offsets[i], quantum))
			offsets[i] += quantum
		}
		message(t, b)
	}
	if loud.sent.Offset == before {
		t.Error("the loud session was starved")
	}
}

func TestOutbox_WindowStopsOutput(t *testing.T) {
	b := newOutbox(time.Now)
	l := b.newLane(1)
	flood(t, b, l, 0, 250<<10)
	total := 0
	for {
		n := outputBytes(message(t, b))
		if n == 0 {
			break
		}
		total += n
	}
	if total != windowStart {
		t.Fatalf("%d bytes went out unacknowledged, want %d", total, windowStart)
	}
	b.acknowledge(l, 40<<10)
	if n := outputBytes(message(t, b)); n == 0 {
		t.Error("an acknowledgement did not open the window")
	}
}

func TestOutbox_PutWaitsForRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newOutbox(time.Now)
		b.window.size = windowCeil
		l := b.newLane(1)
		flood(t, b, l, 0, laneLimit)
		done := make(chan error, 2)
		go func() {
			done <- b.put(t.Context(), l, output(l, laneLimit, 16<<10))
			done <- b.put(t.Context(), l, output(l, laneLimit+16<<10, 16<<10))
		}()
		synctest.Wait()
		if len(done) != 0 || l.bytes > laneLimit+16<<10 {
			t.Fatalf("%d bytes wait in a lane", l.bytes)
		}
		for l.bytes > 0 {
			message(t, b)
			synctest.Wait()
		}
		if err := errors.Join(<-done, <-done); err != nil {
			t.Error(err)
		}
		// A lane that is removed lets its waiter go.
		flood(t, b, l, 1<<20, laneLimit)
		go func() { done <- b.put(t.Context(), l, output(l, 2<<20, 1)) }()
		synctest.Wait()
		b.remove(l)
		if err := <-done; !errors.Is(err, errLaneClosed) {
			t.Errorf("put into a removed lane: %v", err)
		}
	})
}

func TestOutbox_SkipDropsWhatWaits(t *testing.T) {
	b := newOutbox(time.Now)
	l := b.newLane(7)
	generation := b.begin(l, wire.Position{Offset: 100})
	flood(t, b, l, 100, 128<<10)
	message(t, b)
	sent := l.sent.Offset
	b.skip(l, &wire.Gap{Offset: 100 + 128<<10, Lost: 1000})
	mustPut(t, b, l, &wire.State{Handle: 7, Position: wire.Position{Offset: 500_000}, First: true, Last: true, Cols: 80, Rows: 24, Data: []byte("s")})
	frames := message(t, b)
	gap, ok := frames[0].(*wire.Gap)
	if !ok || gap.Handle != 7 || gap.Offset != sent || gap.Offset+gap.Lost != 100+128<<10+1000 {
		t.Errorf("the gap is %+v, want from %d", frames[0], sent)
	}
	if s, ok := frames[1].(*wire.State); !ok || s.Handle != 7 {
		t.Errorf("after the gap comes %T", frames[1])
	}
	if offset, due := b.due(l, generation); !due || offset < 100+128<<10+1000 {
		t.Errorf("the holder is told of %d only", offset)
	}
	if _, ok := frames[2].(*wire.Ping); !ok {
		t.Error("no probe follows the state")
	}
}

func TestOutbox_ProbesSettleStates(t *testing.T) {
	b := newOutbox(time.Now)
	l := b.newLane(1)
	for i := range 30 {
		mustPut(t, b, l, &wire.State{Handle: 1, First: i == 0, Last: i == 29, Cols: 80, Rows: 24, Data: make([]byte, statePiece)})
	}
	var nonce uint64
	for {
		frames := message(t, b)
		if len(frames) == 0 {
			break
		}
		for _, f := range frames {
			if p, ok := f.(*wire.Ping); ok {
				nonce = p.Nonce
			}
		}
	}
	if l.empty() || b.window.outstanding < windowStart-2*statePiece {
		t.Fatalf("a state is not bounded by the window: %d bytes on the way", b.window.outstanding)
	}
	b.settle(nonce)
	if b.window.outstanding != 0 || l.onTheWay != 0 {
		t.Errorf("%d and %d bytes still count", b.window.outstanding, l.onTheWay)
	}
	if len(message(t, b)) == 0 {
		t.Error("the state does not go on")
	}
}

func TestOutbox_BeginForgetsTheOldStream(t *testing.T) {
	b := newOutbox(time.Now)
	l := b.newLane(1)
	old := b.begin(l, wire.Position{})
	flood(t, b, l, 0, 128<<10)
	message(t, b)
	b.begin(l, wire.Position{Offset: 5})
	if b.window.outstanding != 0 || l.bytes != 0 || l.onTheWay != 0 {
		t.Errorf("%d on the way, %d waiting", b.window.outstanding, l.bytes)
	}
	if _, due := b.due(l, old); due {
		t.Error("the old stream would acknowledge to its holder")
	}
}

func TestOutbox_CoalescesOutput(t *testing.T) {
	b := newOutbox(time.Now)
	l := b.newLane(1)
	for i := range 1000 {
		mustPut(t, b, l, output(l, uint64(i), 1))
	}
	if len(l.queue) > 2 {
		t.Errorf("%d frames wait for 1000 consecutive bytes", len(l.queue))
	}
	frames := message(t, b)
	if len(frames) != 1 || outputBytes(frames) != 1000 {
		t.Errorf("%d frames with %d bytes", len(frames), outputBytes(frames))
	}
}

func TestOutbox_UpdatesReplaceEachOther(t *testing.T) {
	b := newOutbox(time.Now)
	for i := range 100 {
		if err := b.send(&wire.SessionUpdate{Handle: uint32(i % 2), Meta: wire.SessionMeta{AgeMS: int64(i)}}); err != nil {
			t.Fatal(err)
		}
	}
	frames := message(t, b)
	if len(frames) != 2 || frames[1].(*wire.SessionUpdate).Meta.AgeMS != 99 {
		t.Errorf("%d updates wait", len(frames))
	}
}

func TestOutbox_ControlIsBounded(t *testing.T) {
	b := newOutbox(time.Now)
	for i := 0; ; i++ {
		if err := b.send(&wire.Pong{}); err != nil {
			if !errors.Is(err, errPeerStopped) || i != maxControl {
				t.Errorf("after %d frames: %v", i, err)
			}
			return
		}
	}
}

func TestOutbox_LargeRepliesWaitTheirTurn(t *testing.T) {
	b := newOutbox(time.Now)
	big := bytes.Repeat([]byte("x"), 900<<10)
	if err := b.sendReply(&wire.RPCReply{ID: 1, Result: append(append([]byte{'"'}, big...), '"')}); err != nil {
		t.Fatal(err)
	}
	if err := b.send(&wire.InputAck{Seq: 1}); err != nil {
		t.Fatal(err)
	}
	if frames := message(t, b); frames[0].Type() != wire.TypeInputAck || frames[1].Type() != wire.TypeRPCReply {
		t.Errorf("%v before %v", frames[0].Type(), frames[1].Type())
	}
	// What no frame can carry becomes a fault.
	if err := b.sendReply(&wire.RPCReply{ID: 2, Result: append(append([]byte{'"'}, bytes.Repeat(big, 2)...), '"')}); err != nil {
		t.Fatal(err)
	}
	if reply := message(t, b)[0].(*wire.RPCReply); reply.ID != 2 || reply.Error == nil {
		t.Errorf("the reply is %+v", reply)
	}
}

func TestOutbox_FailEndsWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newOutbox(time.Now)
		failure := errors.New("over")
		done := make(chan error, 2)
		l := b.newLane(1)
		flood(t, b, l, 0, laneLimit)
		go func() { done <- b.put(t.Context(), l, output(l, 1<<20, 1)) }()
		empty := newOutbox(time.Now)
		go func() {
			_, _, err := empty.next(t.Context(), nil, nil, func(wire.Frame) {})
			done <- err
		}()
		synctest.Wait()
		b.fail(failure)
		empty.fail(failure)
		for range 2 {
			if err := <-done; !errors.Is(err, failure) {
				t.Error(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, _, err := newOutbox(time.Now).next(ctx, nil, nil, func(wire.Frame) {}); !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
}

// drain plays a link of a rate and a delay for a while, always having output,
// and returns the window at its end.
func drain(w *window, bytesPerSecond float64, delay, during time.Duration) int {
	type flight struct {
		segment
		due time.Time
	}
	w.roundTrip(delay)
	now := time.Unix(0, 0)
	stop := now.Add(during)
	var queue []flight
	free := now // when the link has sent everything before
	for now.Before(stop) {
		for w.room() > 0 {
			n := min(w.room(), messageOutput)
			free = later(free, now).Add(time.Duration(float64(n) / bytesPerSecond * float64(time.Second)))
			queue = append(queue, flight{w.send(0, n, now), free.Add(delay)})
		}
		now = queue[0].due
		w.acknowledged(queue[0].segment, now)
		queue = queue[1:]
	}
	return w.size
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

func TestWindow_FollowsTheRate(t *testing.T) {
	for name, link := range map[string]struct {
		rate     float64
		delay    time.Duration
		min, max int
	}{
		"slow":                  {50e3, 100 * time.Millisecond, windowFloor, windowFloor},
		"LAN":                   {100e6, time.Millisecond, 2 << 20, windowCeil},
		"far and fast":          {10e6, 200 * time.Millisecond, 2 << 20, windowCeil},
		"home":                  {1e6, 20 * time.Millisecond, 40 << 10, 80 << 10}, // it holds 20 kB; what waits for it takes less than 60 ms
		"very slow and far":     {5e3, time.Second, windowFloor, windowFloor},
		"faster than the clock": {1e12, 0, windowStart, windowCeil},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWindow()
			during := 20 * time.Second
			if link.rate > 1e9 {
				during = 10 * time.Millisecond
			}
			if size := drain(&w, link.rate, link.delay, during); size < link.min || size > link.max {
				t.Errorf("the window is %d, want %d to %d", size, link.min, link.max)
			}
		})
	}
}

func TestWindow_ShrinksWhenTheLinkDoes(t *testing.T) {
	w := newWindow()
	fast := drain(&w, 50e6, 2*time.Millisecond, 5*time.Second)
	w.outstanding = 0
	slow := drain(&w, 50e3, 2*time.Millisecond, time.Minute)
	if fast < 1<<20 || slow > 2*windowFloor {
		t.Errorf("%d on the fast link, %d on the slow one", fast, slow)
	}
}

func TestWindow_IdleSaysNothing(t *testing.T) {
	w := newWindow()
	drain(&w, 10e6, 10*time.Millisecond, 3*time.Second)
	before := w.size
	w.outstanding = 0
	now := time.Unix(100, 0)
	for range 100 {
		now = now.Add(time.Second)
		s := w.send(0, 1, now)
		now = now.Add(10 * time.Millisecond)
		w.acknowledged(s, now)
	}
	if w.size != before {
		t.Errorf("single keys changed the window from %d to %d", before, w.size)
	}
}

// next waits for something to send and appends one message to dst.
func (b *outbox) next(ctx context.Context, dst []byte, reports []written, stamp func(wire.Frame)) ([]byte, []written, error) {
	for before := len(dst); ; {
		var err error
		dst, reports, err = b.take(dst, reports, stamp)
		if err != nil || len(dst) > before {
			return dst, reports, err
		}
		if err := b.wait(ctx); err != nil {
			return dst, reports, err
		}
	}
}
