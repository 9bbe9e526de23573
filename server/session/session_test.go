package session

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const testID = "01kb9fvz3m8q4t6w2x5y7r0s1n"

var testKey = server.SessionKey{Host: "h1", ID: testID}

// testHost stands for a host link: it remembers what the session asked for.
type testHost struct {
	mu      sync.Mutex
	acked   uint64
	resumes []wire.SessionResume
}

func (h *testHost) Acknowledge(offset uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.acked = offset
}

func (h *testHost) Resume(from wire.Position, state bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.resumes = append(h.resumes, wire.SessionResume{From: from, State: state})
}

func (h *testHost) asked() []wire.SessionResume {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.resumes
}

// testViewer is a viewer with a terminal of its own. The session's goroutine
// sends; the test draws and acknowledges, as much as it likes.
type testViewer struct {
	t      testing.TB
	handle uint32

	mu      sync.Mutex
	full    bool // Room says no
	starved bool
	inbox   [][]byte
	bytes   int

	attachment *Attachment
	terminal   *vt.Terminal
	position   wire.Position
	attached   *wire.Attached
	owner      *wire.SizeOwner
	exit       *wire.Exit
	live       bool
	repaints   int
	lives      int
}

func (v *testViewer) Room() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.starved = v.full
	return !v.full
}

func (v *testViewer) Send(message []byte) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.inbox = append(v.inbox, message)
	v.bytes += len(message)
	return false
}

// waiting is how many bytes were sent and not taken.
func (v *testViewer) waiting() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.bytes
}

// receive draws everything that has arrived, and lets more come.
func (v *testViewer) receive(ack bool) (received int) {
	v.t.Helper()
	for {
		v.mu.Lock()
		if len(v.inbox) == 0 {
			v.mu.Unlock()
			return received
		}
		message := v.inbox[0]
		v.inbox = v.inbox[1:]
		v.bytes -= len(message)
		v.mu.Unlock()
		received += len(message)
		if err := wire.DecodeAll(message, v.take); err != nil {
			v.t.Fatalf("message: %v", err)
		}
		v.attachment.Ready()
		if ack {
			v.attachment.Ack(v.position.Offset)
		}
		synctest.Wait()
	}
}

// take applies one frame as strictly as the browser does.
func (v *testViewer) take(f wire.Frame) error {
	switch f := f.(type) {
	case *wire.Attached:
		v.attached = f
	case *wire.Repaint:
		v.repaints++
		v.position = f.Position
		v.terminal = vt.New(vt.Options{Cols: int(f.Cols), Rows: int(f.Rows)})
		v.terminal.Write(f.Data)
	case *wire.Output:
		if f.Offset != v.position.Offset {
			v.t.Errorf("output at %d, viewer at %d", f.Offset, v.position.Offset)
		}
		v.position.Offset = f.Offset + uint64(len(f.Data))
		v.terminal.Write(f.Data)
	case *wire.Resize:
		v.t.Errorf("a mark, which a viewer cannot draw: %+v", f)
	case *wire.Live:
		if f.Position != v.position {
			v.t.Errorf("live at %+v, viewer at %+v", f.Position, v.position)
		}
		v.live = true
		v.lives++
	case *wire.Exit:
		if f.Offset != v.position.Offset {
			v.t.Errorf("exit at %d, viewer at %+v", f.Offset, v.position)
		}
		v.exit = f
	case *wire.SizeOwner:
		v.owner = f
	default:
		v.t.Errorf("unexpected %s", f.Type())
	}
	return nil
}

func newTestSession(t testing.TB, c Config) *Session {
	t.Helper()
	c.Key = testKey
	s := New(c, KnownFrom(testKey, wire.SessionInfo{ID: testID, Cols: 80, Rows: 24, Meta: wire.SessionMeta{Name: "test", State: "running"}}, time.Now()))
	t.Cleanup(s.Close)
	return s
}

// connect brings a session online whose log is empty.
func connect(t testing.TB, s *Session) *testHost {
	t.Helper()
	h := &testHost{}
	info := wire.SessionInfo{Handle: 1, ID: testID, Cols: 80, Rows: 24, Meta: wire.SessionMeta{Name: "test", State: "running"}}
	resume, err := s.Connect(context.Background(), h, info)
	if err != nil || resume.State || resume.From != (wire.Position{}) {
		t.Fatalf("resume %+v, %v", resume, err)
	}
	return h
}

func attach(t testing.TB, s *Session, o AttachOptions) *testViewer {
	t.Helper()
	v := &testViewer{t: t, handle: 7}
	if o.Handle != 0 {
		v.handle = o.Handle
	}
	o.Sink, o.Handle = v, v.handle
	if o.From != nil {
		v.position = *o.From
	}
	a, err := s.Attach(context.Background(), o)
	if err != nil {
		t.Fatalf("attach: %v", err)
	}
	v.attachment = a
	return v
}

func output(offset uint64, data string) *wire.Output {
	return &wire.Output{Handle: 1, Offset: offset, Data: []byte(data)}
}

// sameScreen compares what a viewer shows with what the session has.
func sameScreen(t testing.TB, s *Session, v *testViewer) {
	t.Helper()
	want, err := s.Screen(context.Background(), FormatANSI)
	if err != nil {
		t.Fatal(err)
	}
	if got := v.terminal.ANSI(vt.TextOptions{}); got != string(want) {
		t.Errorf("viewer shows\n%q\nsession has\n%q", got, want)
	}
	position, err := s.Position(context.Background())
	if err != nil || v.position != position {
		t.Errorf("viewer at %+v, session at %+v (%v)", v.position, position, err)
	}
}

func TestSession_trimsWhatItHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSession(t, Config{})
		h := connect(t, s)
		v := attach(t, s, AttachOptions{})
		for _, f := range []wire.Frame{
			output(0, "hello "), output(0, "hello "), output(3, "lo world"), output(2, "llo"), output(11, "!"),
			&wire.Ping{}, // not for a session
		} {
			s.Feed(f)
		}
		synctest.Wait()
		v.receive(true)
		sameScreen(t, s, v)
		if got := v.terminal.Text(vt.TextOptions{}); got != "hello world!\n" {
			t.Errorf("screen %q", got)
		}
		if !v.live || v.attached == nil || v.attached.Mode != wire.AttachedRepaint {
			t.Errorf("live %v, attached %+v", v.live, v.attached)
		}
		if h.acked != 12 || len(h.asked()) != 0 {
			t.Errorf("acknowledged %d, asked %v", h.acked, h.asked())
		}
	})
}

func TestSession_asksForWhatIsMissing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSession(t, Config{})
		h := connect(t, s)
		s.Feed(output(0, "abc"))
		for offset := uint64(10); offset < 20; offset++ {
			s.Feed(output(offset, "x")) // all of them behind the one hole
		}
		synctest.Wait()
		if asked := h.asked(); len(asked) != 1 || asked[0].From.Offset != 3 || asked[0].State {
			t.Fatalf("asked %+v", asked)
		}
		s.Feed(output(3, "defghij"))
		synctest.Wait()
		if screen, err := s.Screen(t.Context(), FormatText); err != nil || string(screen) != "abcdefghij\n" {
			t.Errorf("screen %q, %v", screen, err)
		}
		// A host that leaves the hole open is asked for a state next time.
		time.Sleep(2 * resumeEvery)
		s.Feed(output(100, "x"))
		synctest.Wait()
		if asked := h.asked(); len(asked) != 2 || !asked[1].State {
			t.Errorf("asked %+v", asked)
		}
		s.Feed(output(10, "k")) // of the stream that the state replaces
		terminal := vt.New(vt.Options{Cols: 80, Rows: 24})
		terminal.Write([]byte("from state"))
		feedState(s, wire.Position{Offset: 100, Marks: 0}, terminal, 16)
		s.Feed(output(100, "!"))
		synctest.Wait()
		if screen, err := s.Screen(t.Context(), FormatText); err != nil || string(screen) != "from state!\n" {
			t.Errorf("screen %q, %v", screen, err)
		}
	})
}

// feedState sends a state in pieces of so many bytes.
func feedState(s *Session, position wire.Position, terminal *vt.Terminal, piece int) {
	cols, rows := terminal.Size()
	data := terminal.State(-1)
	for first := true; ; first = false {
		n := min(piece, len(data))
		s.Feed(&wire.State{Handle: 1, Position: position, First: first, Last: n == len(data), Cols: uint16(cols), Rows: uint16(rows), Data: data[:n]})
		if data = data[n:]; len(data) == 0 {
			return
		}
	}
}

func TestSession_stateReplacesEverything(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSession(t, Config{})
		connect(t, s)
		v := attach(t, s, AttachOptions{})
		s.Feed(output(0, "before"))
		synctest.Wait()
		v.receive(true)

		terminal := vt.New(vt.Options{Cols: 100, Rows: 30})
		terminal.Write([]byte("\x1b[31mafter"))
		s.Feed(&wire.Gap{Handle: 1, Offset: 6, Lost: 1000})
		s.Feed(output(6, "lost"))
		// A piece without a beginning, and one that a newer state replaces.
		s.Feed(&wire.State{Handle: 1, Position: wire.Position{Offset: 900}, Last: true, Cols: 80, Rows: 24, Data: []byte("tail")})
		s.Feed(&wire.State{Handle: 1, Position: wire.Position{Offset: 900}, First: true, Cols: 80, Rows: 24, Data: []byte("head")})
		feedState(s, wire.Position{Offset: 1006, Marks: 3}, terminal, 40)
		s.Feed(output(1006, " all"))
		synctest.Wait()
		v.receive(true)
		sameScreen(t, s, v)
		if got := v.terminal.Text(vt.TextOptions{}); got != "after all\n" || v.repaints != 2 {
			t.Errorf("screen %q after %d repaints", got, v.repaints)
		}
		if summary, err := s.Summary(t.Context()); err != nil || summary.Session.Cols != 100 {
			t.Errorf("summary %+v, %v", summary.Session, err)
		}
	})
}

func TestSession_survivesAStateThatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSession(t, Config{})
		connect(t, s)
		v := attach(t, s, AttachOptions{})
		s.Feed(&wire.State{Handle: 1, Position: wire.Position{Offset: 50}, First: true, Last: true, Cols: 40, Rows: 10, Data: []byte("not a state")})
		s.Feed(output(50, "goes on"))
		synctest.Wait()
		v.receive(true)
		sameScreen(t, s, v)
		if got := v.terminal.Text(vt.TextOptions{}); got != "goes on\n" {
			t.Errorf("screen %q", got)
		}
	})
}

func TestSession_resetIsAMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSession(t, Config{})
		h := connect(t, s)
		v := attach(t, s, AttachOptions{})
		s.Feed(output(0, "gone"))
		s.Feed(&wire.Reset{Handle: 1, Offset: 4, Ordinal: 1})
		s.Feed(&wire.Reset{Handle: 1, Offset: 4, Ordinal: 1})
		s.Feed(output(4, "new"))
		synctest.Wait()
		v.receive(true)
		sameScreen(t, s, v)
		if got := v.terminal.Text(vt.TextOptions{}); got != "new\n" {
			t.Errorf("screen %q", got)
		}
		s.Feed(&wire.Reset{Handle: 1, Offset: 9, Ordinal: 2})
		synctest.Wait()
		if len(h.asked()) != 1 {
			t.Errorf("asked %+v for a reset behind a hole", h.asked())
		}
	})
}

func TestAttach_resumes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSession(t, Config{Ring: 512 << 10})
		connect(t, s)
		line := strings.Repeat("x", 79) + "\n"
		s.Feed(output(0, strings.Repeat(line, 1000))) // 80 000 bytes
		s.Feed(&wire.Resize{Handle: 1, Offset: 80000, Ordinal: 1, Cols: 90, Rows: 30})
		s.Feed(output(80000, strings.Repeat(line, 6000))) // to 560 000
		synctest.Wait()
		for name, test := range map[string]struct {
			from *wire.Position
			mode string
		}{
			"new":                    {nil, wire.AttachedRepaint},
			"at the end":             {&wire.Position{Offset: 560000, Marks: 1}, wire.AttachedDelta},
			"a moment behind":        {&wire.Position{Offset: 559000, Marks: 1}, wire.AttachedDelta},
			"the largest backlog":    {&wire.Position{Offset: 560000 - resumeLimit, Marks: 1}, wire.AttachedDelta},
			"one byte more":          {&wire.Position{Offset: 560000 - resumeLimit - 1, Marks: 1}, wire.AttachedRepaint},
			"no longer held":         {&wire.Position{Offset: 1, Marks: 0}, wire.AttachedRepaint},
			"from another life":      {&wire.Position{Offset: 600000, Marks: 1}, wire.AttachedRepaint},
			"a mark that was not":    {&wire.Position{Offset: 559000, Marks: 2}, wire.AttachedRepaint},
			"bytes beyond its marks": {&wire.Position{Offset: 559000, Marks: 0}, wire.AttachedRepaint},
		} {
			v := attach(t, s, AttachOptions{From: test.from})
			if test.from != nil {
				// It has what came before on its screen already.
				v.terminal = vt.New(vt.Options{Cols: 90, Rows: 30})
			}
			received := v.receive(true)
			if v.attached.Mode != test.mode || v.attached.Cols != 90 || !v.live {
				t.Errorf("%s: %+v, live %v", name, v.attached, v.live)
			}
			if test.mode == wire.AttachedRepaint && received > 16<<10 {
				t.Errorf("%s: %d bytes until the screen is right", name, received)
			}
			if position, _ := s.Position(t.Context()); v.position != position {
				t.Errorf("%s: viewer at %+v, session at %+v", name, v.position, position)
			}
			v.attachment.Detach()
		}
	})
}

// A server that restarted is behind the viewers who come back first. They are
// not taken back in time.
func TestAttach_aheadOfARestartedServer(t *testing.T) {
	info := wire.SessionInfo{Handle: 1, ID: testID, End: wire.Position{Offset: 3000}, Cols: 80, Rows: 24,
		Meta: wire.SessionMeta{Name: "test", State: "running"}}
	for _, test := range []struct {
		name     string
		from     uint64
		late     bool // the host comes back after the viewer
		repaints int
	}{
		{name: "within the host's stream", from: 2000},
		{name: "before the host is back", from: 2000, late: true},
		{name: "at the end of the host's stream", from: 3000},
		{name: "from another life", from: 4000, repaints: 1},
		{name: "from another life, before the host is back", from: 4000, late: true, repaints: 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newTestSession(t, Config{Ring: 64 << 10})
				comeBack := func() {
					if _, err := s.Connect(t.Context(), &testHost{}, info); err != nil {
						t.Fatal(err)
					}
				}
				if !test.late {
					comeBack()
				}
				stream := strings.Repeat("a line of some bytes\r\n", 200)[:3200]
				v := attach(t, s, AttachOptions{From: &wire.Position{Offset: test.from}})
				v.terminal = vt.New(vt.Options{Cols: 80, Rows: 24})
				v.terminal.Write([]byte(stream[:min(test.from, 3200)]))
				v.receive(true)
				if test.late {
					comeBack()
				}
				for offset := 0; offset < len(stream); offset += 100 {
					s.Feed(output(uint64(offset), stream[offset:offset+100]))
					synctest.Wait()
					v.receive(true)
				}
				if !v.live || (v.repaints > 0) != (test.repaints > 0) {
					t.Errorf("live %v after %d repaints", v.live, v.repaints)
				}
				sameScreen(t, s, v)
			})
		})
	}
}

// What a flood took is given back; a viewer that was a moment behind still
// resumes.
func TestSession_isSmallWhenQuiet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSession(t, Config{})
		connect(t, s)
		block := strings.Repeat(strings.Repeat("x", 79)+"\n", 1000)
		var offset uint64
		for offset < 8<<20 {
			s.Feed(output(offset, block))
			offset += uint64(len(block))
		}
		held := func() uint64 {
			n, err := call(t.Context(), s, func() uint64 { return s.ring.End().Offset - s.ring.Start().Offset })
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n := held(); n != defaultRing {
			t.Errorf("%d bytes held in a flood", n)
		}
		time.Sleep(2 * quietAfter)
		if n := held(); n != resumeLimit {
			t.Errorf("%d bytes held when quiet", n)
		}
		from := wire.Position{Offset: offset - 1000}
		v := attach(t, s, AttachOptions{From: &from})
		v.terminal = vt.New(vt.Options{Cols: 80, Rows: 24})
		v.receive(true)
		if v.attached.Mode != wire.AttachedDelta || v.position.Offset != offset {
			t.Errorf("%+v, drawn until %+v", v.attached, v.position)
		}
		// Across a change of the size nobody resumes.
		s.Feed(output(offset, block+block+block+block))
		offset += uint64(4 * len(block))
		s.Feed(&wire.Resize{Handle: 1, Offset: offset, Ordinal: 1, Cols: 90, Rows: 20})
		s.Feed(output(offset, "end"))
		time.Sleep(2 * quietAfter)
		if n := held(); n != 0 {
			t.Errorf("%d bytes held behind a resize", n)
		}
		s.Feed(output(offset+3, "!"))
		late := attach(t, s, AttachOptions{Handle: 9})
		late.receive(true)
		sameScreen(t, s, late)
	})
}

func TestAttach_isBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSession(t, Config{})
		connect(t, s)
		for range maxAttachments {
			attach(t, s, AttachOptions{})
		}
		_, err := s.Attach(t.Context(), AttachOptions{Sink: &testViewer{t: t}, Handle: 1})
		if server.CodeOf(err) != server.CodeLimit {
			t.Errorf("one too many: %v", err)
		}
	})
}

// A viewer that does not acknowledge gets no more than its window, costs
// nothing more, and is repainted once it is back.
func TestAttachment_slow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSession(t, Config{})
		connect(t, s)
		slow, fast := attach(t, s, AttachOptions{}), attach(t, s, AttachOptions{Handle: 8})
		slow.receive(true)
		fast.receive(true)
		line := []byte(strings.Repeat("y", 79) + "\n")
		var offset uint64
		for range 4000 {
			block := bytes.Repeat(line, 25)
			s.Feed(&wire.Output{Handle: 1, Offset: offset, Data: block})
			offset += uint64(len(block))
			synctest.Wait()
			fast.receive(true)
		}
		if slow.waiting() > windowStart+wire.MaxOutput {
			t.Errorf("%d bytes wait for the slow viewer", slow.waiting())
		}
		if fast.repaints != 1 {
			t.Errorf("the fast viewer was repainted %d times", fast.repaints-1)
		}
		sameScreen(t, s, fast)
		for slow.position != fast.position {
			if slow.receive(true) == 0 {
				t.Fatalf("the slow viewer is stuck at %+v", slow.position)
			}
		}
		sameScreen(t, s, slow)
		if slow.repaints != 2 || !slow.live {
			t.Errorf("the slow viewer was repainted %d times, live %v", slow.repaints-1, slow.live)
		}
	})
}

// While the sink has no room nothing is made for it, and one call brings the
// present.
func TestAttachment_fullSink(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSession(t, Config{})
		connect(t, s)
		v := attach(t, s, AttachOptions{})
		v.receive(true)
		v.full = true
		for i := range 100 {
			s.Feed(output(uint64(i*10), fmt.Sprintf("line %03d\r\n", i)))
		}
		synctest.Wait()
		if v.waiting() != 0 || !v.starved {
			t.Fatalf("%d bytes sent to a full sink", v.waiting())
		}
		v.full = false
		v.attachment.Ready()
		synctest.Wait()
		if len(v.inbox) != 1 {
			t.Errorf("%d messages for a hundred writes", len(v.inbox))
		}
		v.receive(true)
		sameScreen(t, s, v)
	})
}

func TestAttachment_exitComesLast(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSession(t, Config{})
		h := connect(t, s)
		v := attach(t, s, AttachOptions{})
		s.Feed(output(0, "bye"))
		s.Feed(&wire.Exit{Handle: 1, Offset: 5, Code: 3}) // two bytes are missing
		synctest.Wait()
		v.receive(true)
		if v.exit != nil || len(h.asked()) != 1 {
			t.Fatalf("exit %+v, asked %+v", v.exit, h.asked())
		}
		s.Feed(output(3, "!\n"))
		s.Feed(&wire.Exit{Handle: 1, Offset: 5, Code: 3})
		s.Feed(&wire.Exit{Handle: 1, Offset: 5, Code: 3})
		synctest.Wait()
		v.receive(true)
		// An older word of the host's does not bring it back to life.
		if err := s.Update(t.Context(), wire.SessionMeta{Name: "test", State: "running"}); err != nil {
			t.Fatal(err)
		}
		late := attach(t, s, AttachOptions{Handle: 9})
		late.receive(true)
		if v.exit == nil || v.exit.Code != 3 || late.exit == nil {
			t.Errorf("exits %+v, %+v", v.exit, late.exit)
		}
		summary, err := s.Summary(t.Context())
		if err != nil || summary.Session.State != server.StateExited || summary.Session.Exit.Code != 3 || summary.Session.Status.Kind != server.StatusFailed {
			t.Errorf("summary %+v, %v", summary.Session, err)
		}
	})
}

func TestAttachment_ownerIsShownToItselfOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSession(t, Config{})
		connect(t, s)
		mine := wire.ClientID{1}
		owner, other := attach(t, s, AttachOptions{}), attach(t, s, AttachOptions{Handle: 8})
		owner.receive(true)
		other.receive(true)
		if owner.owner == nil || owner.owner.Kind != wire.OwnerNone {
			t.Errorf("nobody owns the size, and a viewer was told %+v", owner.owner)
		}
		owner.attachment.Client(mine)
		s.Feed(&wire.SizeOwner{Handle: 1, Client: mine, Kind: wire.OwnerViewer, Cols: 60, Rows: 20})
		synctest.Wait()
		owner.receive(true)
		other.receive(true)
		if owner.owner.Client != mine || owner.owner.Handle != 7 {
			t.Errorf("the owner was told %+v", owner.owner)
		}
		if other.owner.Kind != wire.OwnerViewer || !other.owner.Client.IsZero() {
			t.Errorf("another was told %+v", other.owner)
		}
	})
}

func TestSession_faultResetsItAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, other := newTestSession(t, Config{}), newTestSession(t, Config{})
		h := connect(t, s)
		connect(t, other)
		v := attach(t, s, AttachOptions{})
		s.Feed(output(0, "before"))
		synctest.Wait()
		v.receive(true)
		if _, err := call(t.Context(), s, func() int { panic("fault") }); err == nil {
			t.Error("a call that met a fault succeeded")
		}
		synctest.Wait()
		if asked := h.asked(); len(asked) != 1 || !asked[0].State || asked[0].From.Offset != 6 {
			t.Fatalf("asked %+v", asked)
		}
		terminal := vt.New(vt.Options{Cols: 80, Rows: 24})
		terminal.Write([]byte("after"))
		feedState(s, wire.Position{Offset: 10}, terminal, 1<<20)
		synctest.Wait()
		v.receive(true)
		sameScreen(t, s, v)
		// One that keeps failing does not keep asking.
		for range 10 {
			s.post(func() { panic("fault") })
		}
		synctest.Wait()
		if n := len(h.asked()); n > faultLimit {
			t.Errorf("asked %d times", n)
		}
		if screen, err := other.Screen(t.Context(), FormatText); err != nil || string(screen) != "" {
			t.Errorf("the other session shows %q, %v", screen, err)
		}
	})
}

func TestSession_Watching(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSession(t, Config{})
		connect(t, s)
		v := attach(t, s, AttachOptions{Visible: true})
		attach(t, s, AttachOptions{Handle: 8})
		watching := func() int {
			n, err := s.Watching(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n := watching(); n != 1 {
			t.Errorf("%d watch", n)
		}
		time.Sleep(wire.PresenceLifetime - time.Second)
		v.attachment.Presence(true)
		time.Sleep(wire.PresenceLifetime - time.Second)
		if n := watching(); n != 1 {
			t.Errorf("%d watch after a sign of life", n)
		}
		time.Sleep(2 * time.Second)
		if n := watching(); n != 0 {
			t.Errorf("%d watch after %v of silence", n, wire.PresenceLifetime)
		}
		v.attachment.Presence(true)
		v.attachment.Presence(false)
		if n := watching(); n != 0 {
			t.Errorf("%d watch after the window was hidden", n)
		}
	})
}

// TestSession_chaos plays a stream with every fault that a link can have, to
// viewers that come, go, stall and lose messages, and compares the terminals.
func TestSession_chaos(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { chaos(t, seed) })
		})
	}
}

func chaos(t *testing.T, seed uint64) {
	random := rand.New(rand.NewPCG(seed, 1))
	s := newTestSession(t, Config{Ring: 64 << 10})
	host := &chaosHost{random: random, terminal: vt.New(vt.Options{Cols: 80, Rows: 24})}
	host.connect(t, s)
	viewers := make([]*testViewer, 4)
	for range 150 {
		host.write()
		host.deliver(s)
		if random.IntN(20) == 0 {
			host.connect(t, s)
		}
		synctest.Wait()
		for i, v := range viewers {
			switch {
			case v == nil:
				viewers[i] = attach(t, s, AttachOptions{Handle: uint32(10 + i)})
			case random.IntN(8) == 0:
				// The connection breaks: what was not read is lost, and the next
				// attachment goes on from what was drawn.
				v.attachment.Detach()
				next := attach(t, s, AttachOptions{Handle: v.handle, From: resumeAt(v)})
				next.terminal, next.position = v.terminal, v.position
				viewers[i] = next
			case random.IntN(3) > 0:
				v.receive(random.IntN(4) > 0)
			}
		}
		if random.IntN(10) == 0 {
			time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
		}
	}
	host.settle(t, s)
	for i, v := range viewers {
		for range 1000 {
			synctest.Wait()
			if v.receive(true) == 0 {
				v.attachment.Ack(v.position.Offset)
				synctest.Wait()
				if len(v.inbox) == 0 {
					break
				}
			}
		}
		if v.position != host.position {
			t.Fatalf("viewer %d at %+v, host at %+v", i, v.position, host.position)
		}
		sameScreen(t, s, v)
		if got, want := v.terminal.ANSI(vt.TextOptions{}), host.terminal.ANSI(vt.TextOptions{}); got != want {
			t.Fatalf("viewer %d shows\n%q\nthe host has\n%q", i, got, want)
		}
	}
}

func resumeAt(v *testViewer) *wire.Position {
	if v.terminal == nil {
		return nil
	}
	p := v.position
	return &p
}

// chaosHost is a host with a whole log and a link that drops, doubles and
// delays frames.
type chaosHost struct {
	testHost
	random   *rand.Rand
	terminal *vt.Terminal
	log      []wire.Frame
	position wire.Position
	next     int // index in log of what the link sends next
	answered int // resumes answered
}

// write lets the program print something.
func (h *chaosHost) write() {
	for range 1 + h.random.IntN(4) {
		if h.random.IntN(15) == 0 {
			cols, rows := uint16(20+h.random.IntN(100)), uint16(5+h.random.IntN(40))
			h.position.Marks++
			h.log = append(h.log, &wire.Resize{Handle: 1, Offset: h.position.Offset, Ordinal: h.position.Marks, Cols: cols, Rows: rows})
			h.terminal.Resize(int(cols), int(rows))
			continue
		}
		var data []byte
		for range 1 + h.random.IntN(30) {
			data = fmt.Appendf(data, "\x1b[%dmline %d\x1b[0m ü\r\n\x1b[%d;%dH", 31+h.random.IntN(7), h.position.Offset, 1+h.random.IntN(24), 1+h.random.IntN(40))
		}
		h.log = append(h.log, &wire.Output{Handle: 1, Offset: h.position.Offset, Data: data})
		h.position.Offset += uint64(len(data))
		h.terminal.Write(data)
	}
}

// deliver sends what is new, with faults, and answers what was asked for.
func (h *chaosHost) deliver(s *Session) {
	for h.next < len(h.log) {
		switch h.random.IntN(25) {
		case 0:
			h.next++ // lost
		case 1:
			h.next = max(h.next-h.random.IntN(5), 0) // sent again
		default:
			s.Feed(copyFrame(h.log[h.next]))
			h.next++
		}
	}
	synctest.Wait()
	if asked := h.asked(); len(asked) > h.answered {
		h.answered = len(asked)
		h.answer(s, asked[len(asked)-1])
	}
}

func (h *chaosHost) answer(s *Session, r wire.SessionResume) {
	if r.State || !h.passed(r.From) {
		feedState(s, h.position, h.terminal, 1000+h.random.IntN(100_000))
		h.next = len(h.log)
		return
	}
	h.next = 0
	for h.next < len(h.log) && !isNews(h.log[h.next], r.From) {
		h.next++
	}
}

// passed says whether the stream ever stood at a position. It did not if a mark
// was lost and the bytes behind it were not: no host can go on from there.
func (h *chaosHost) passed(p wire.Position) bool {
	for _, f := range h.log {
		if f, ok := f.(*wire.Resize); ok && (f.Ordinal > p.Marks && f.Offset < p.Offset || f.Ordinal <= p.Marks && f.Offset > p.Offset) {
			return false
		}
	}
	return true
}

// isNews says whether a frame has anything for who stands at a position.
func isNews(f wire.Frame, p wire.Position) bool {
	switch f := f.(type) {
	case *wire.Output:
		return f.Offset+uint64(len(f.Data)) > p.Offset
	case *wire.Resize:
		return f.Ordinal > p.Marks
	}
	return false
}

func copyFrame(f wire.Frame) wire.Frame {
	switch f := f.(type) {
	case *wire.Output:
		c := *f
		c.Data = bytes.Clone(f.Data)
		return &c
	case *wire.Resize:
		c := *f
		return &c
	}
	return f
}

// connect is a new link.
func (h *chaosHost) connect(t *testing.T, s *Session) {
	cols, rows := h.terminal.Size()
	h.resumes, h.answered = nil, 0
	resume, err := s.Connect(t.Context(), h, wire.SessionInfo{
		Handle: 1, ID: testID, End: h.position, Cols: uint16(cols), Rows: uint16(rows), Meta: wire.SessionMeta{State: "running"},
	})
	if err != nil {
		t.Fatal(err)
	}
	h.answer(s, resume)
}

// settle ends the faults.
func (h *chaosHost) settle(t *testing.T, s *Session) {
	h.connect(t, s)
	for _, f := range h.log[h.next:] {
		s.Feed(copyFrame(f))
	}
	h.next = len(h.log)
	synctest.Wait()
	if position, err := s.Position(t.Context()); err != nil || position != h.position {
		t.Fatalf("session at %+v, host at %+v (%v)", position, h.position, err)
	}
}
