package attach

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/agent-helm/agent-helm/daemon/attach/tty"
	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen. It bounds a failure,
// not a success.
const patience = 20 * time.Second

// fakeHolder is the holder's end of a Connection, played by the test.
type fakeHolder struct {
	welcome wire.HolderWelcome
	sent    chan wire.Frame // from the client
	frames  chan wire.Frame // to the client
	closed  chan struct{}
	once    sync.Once
}

func (h *fakeHolder) Welcome() *wire.HolderWelcome { return &h.welcome }

func (h *fakeHolder) Send(frames ...wire.Frame) error {
	for _, frame := range frames {
		select {
		case h.sent <- frame:
		case <-h.closed:
			return errors.New("closed")
		}
	}
	return nil
}

func (h *fakeHolder) Receive() (wire.Frame, error) {
	select {
	case frame, open := <-h.frames:
		if !open {
			return nil, io.EOF
		}
		return frame, nil
	case <-h.closed:
		return nil, errors.New("closed")
	}
}

func (h *fakeHolder) Close() error {
	h.once.Do(func() { close(h.closed) })
	return nil
}

// fixture is an attachment in a real pseudo-terminal.
type fixture struct {
	t        *testing.T
	holder   *fakeHolder
	master   *os.File // the person's side
	terminal *os.File
	before   *term.State
	outcome  chan Outcome
	cancel   context.CancelFunc
	offset   uint64

	mu    sync.Mutex
	shown []byte
	grown *sync.Cond
	ended bool
}

const testCols, testRows = 40, 10

func newFixture(t *testing.T, options Options) *fixture {
	t.Helper()
	master, terminal := openPTY(t)
	before, err := term.GetState(int(terminal.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	if options.Name == "" {
		options.Name = "work"
	}
	if options.Detach.IsNone() {
		options.Detach = Key{']', 0x1d}
	}
	f := &fixture{
		t: t, master: master, terminal: terminal, before: before, outcome: make(chan Outcome, 1),
		holder: &fakeHolder{sent: make(chan wire.Frame, 4096), frames: make(chan wire.Frame, 64), closed: make(chan struct{})},
	}
	f.grown = sync.NewCond(&f.mu)
	f.resize(testCols, testRows)
	f.holder.welcome.VT = vt.StateVersion
	f.holder.welcome.Session.Cols, f.holder.welcome.Session.Rows = testCols, testRows
	local, err := tty.Open(terminal, terminal)
	if err != nil {
		t.Fatal(err)
	}
	var ctx context.Context
	ctx, f.cancel = context.WithCancel(context.Background())
	var watcher, runner sync.WaitGroup
	watcher.Go(f.watch)
	runner.Go(func() {
		outcome, err := Run(ctx, local, f.holder, options)
		if err != nil && outcome.Reason != Closed {
			t.Errorf("run: %v", err)
		}
		if err := local.Close(); err != nil && outcome.Reason != Closed {
			t.Errorf("close terminal: %v", err)
		}
		f.outcome <- outcome
	})
	t.Cleanup(func() {
		f.cancel()
		runner.Wait()
		terminal.Close()
		master.Close()
		watcher.Wait()
	})
	return f
}

// openPTY opens a pseudo-terminal whose master can be closed while it is read.
func openPTY(t *testing.T) (master, terminal *os.File) {
	t.Helper()
	blocking, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer blocking.Close()
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	return os.NewFile(uintptr(fd), "master"), terminal
}

// resize gives the window another size. The kernel tells only a foreground
// process group of it, which the test's terminal has none of.
func (f *fixture) resize(cols, rows uint16) {
	f.t.Helper()
	size := &unix.Winsize{Col: cols, Row: rows}
	if err := unix.IoctlSetWinsize(int(f.terminal.Fd()), unix.TIOCSWINSZ, size); err != nil {
		f.t.Fatal(err)
	}
}

// watch collects what the terminal shows.
func (f *fixture) watch() {
	buffer := make([]byte, 32<<10)
	for {
		n, err := f.master.Read(buffer)
		f.mu.Lock()
		f.shown = append(f.shown, buffer[:n]...)
		f.ended = err != nil
		f.grown.Broadcast()
		f.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// see waits until the terminal was sent text, and returns all of it.
func (f *fixture) see(text string) string {
	f.t.Helper()
	timer := time.AfterFunc(patience, func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.ended = true
		f.grown.Broadcast()
	})
	defer timer.Stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	for !bytes.Contains(f.shown, []byte(text)) {
		if f.ended {
			f.t.Fatalf("the terminal never showed %q, only %q", text, f.shown)
		}
		f.grown.Wait()
	}
	return string(f.shown)
}

// expect waits for a frame of type T that fits.
func expect[T wire.Frame](f *fixture, fits func(T) bool) T {
	f.t.Helper()
	late := time.After(patience)
	for {
		select {
		case frame := <-f.holder.sent:
			if wanted, ok := frame.(T); ok && (fits == nil || fits(wanted)) {
				return wanted
			}
		case <-late:
			var none T
			f.t.Fatalf("no fitting %T came", none)
			return none
		}
	}
}

// begin answers the client's first requests, with an empty screen unless told.
func (f *fixture) begin(repaint string) wire.ClientID {
	f.t.Helper()
	claim := expect[*wire.ClaimSize](f, nil)
	expect[*wire.HolderAttach](f, nil)
	f.holder.frames <- &wire.SizeOwner{Client: claim.Client, Kind: wire.OwnerLocal, Cols: testCols, Rows: testRows}
	f.paint(repaint, testCols, testRows)
	return claim.Client
}

func (f *fixture) paint(data string, cols, rows uint16) {
	f.t.Helper()
	session := vt.New(vt.Options{Cols: int(cols), Rows: int(rows)})
	_, _ = session.Write([]byte(data)) // never fails
	state := session.State(-1)
	half := len(state) / 2
	position := wire.Position{Offset: f.offset}
	f.holder.frames <- &wire.State{Position: position, First: true, Cols: cols, Rows: rows, Data: state[:half]}
	f.holder.frames <- &wire.State{Position: position, Last: true, Cols: cols, Rows: rows, Data: state[half:]}
	f.holder.frames <- &wire.Live{Position: wire.Position{Offset: f.offset}}
}

func (f *fixture) print(data string) {
	f.holder.frames <- &wire.Output{Offset: f.offset, Data: []byte(data)}
	f.offset += uint64(len(data))
}

func (f *fixture) press(keys string) {
	f.t.Helper()
	if _, err := f.master.WriteString(keys); err != nil {
		f.t.Fatal(err)
	}
}

// end waits for Run to return and checks that the terminal is as before.
func (f *fixture) end(want Reason) Outcome {
	f.t.Helper()
	select {
	case outcome := <-f.outcome:
		if outcome.Reason != want {
			f.t.Fatalf("it ended with %+v, want reason %d", outcome, want)
		}
		if after, err := term.GetState(int(f.terminal.Fd())); want != Closed && (err != nil || *after != *f.before) {
			f.t.Errorf("line settings changed: %v", err)
		}
		return outcome
	case <-time.After(patience):
		f.t.Fatal("it did not end")
		return Outcome{}
	}
}

// describe answers the request for the screen's text that comes with a detach.
func (f *fixture) describe(text string) {
	rpc := expect(f, func(r *wire.RPC) bool { return r.Method == wire.MethodText })
	result, err := json.Marshal(wire.TextResult{Text: text})
	if err != nil {
		f.t.Fatal(err)
	}
	f.holder.frames <- &wire.RPCReply{ID: rpc.ID, Result: result}
}

func TestRun_DetachKey(t *testing.T) {
	for name, key := range map[string]string{
		"legacy": "\x1d", "kitty": "\x1b[93;5u", "modifyOtherKeys": "\x1b[27;5;93~",
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t, Options{})
			f.begin("")
			f.print("\x1b[?2004h\x1b[?1000h\x1b[?1006h\x1b[?25l\x1b[>1u\x1b[>4;2m\x1b[5 q\x1b[31mtext")
			f.see("text")
			f.press("a" + key + "b")
			f.describe("text\n\n\n")
			f.end(Detached)
			shown := f.see("\x1b[1;1H\r\n\x1b[J")
			for _, reset := range []string{"\x1b[?2004l", "\x1b[?1000l", "\x1b[?1006l", "\x1b[?1004l", "\x1b[?25h", "\x1b[<1u", "\x1b[>4m", "\x1b[0 q", "\x1b[0m", "\x1b[23;0t"} {
				if !strings.Contains(shown[strings.Index(shown, "text"):], reset) {
					t.Errorf("%q was not written at the end: %q", reset, shown)
				}
			}
			typed := ""
			for {
				select {
				case frame := <-f.holder.sent:
					if input, ok := frame.(*wire.Input); ok {
						typed += string(input.Data)
					}
					continue
				default:
				}
				break
			}
			if strings.Contains(typed, "b") || strings.Contains(typed, "\x1d") {
				t.Errorf("the program was sent %q", typed)
			}
		})
	}
}

func TestRun_OutputUnchanged(t *testing.T) {
	f := newFixture(t, Options{})
	f.begin("")
	var every []byte
	for b := range 256 {
		every = append(every, byte(b), 'x')
	}
	for range 3 {
		every = append(every, "\x1b[1;31mred\x1b[0m \xff\xfe é 漢\r\n\x1b]0;title\a"...)
	}
	// ESC with every following byte is in the first block too; what the filters
	// remove is tested beside them.
	block := bytes.ReplaceAll(every, []byte("\x1bx"), []byte("\x1bM"))
	block = bytes.ReplaceAll(block, []byte("\x05"), nil) // ENQ asks for an answerback
	f.print("BEGIN")
	f.print(string(block))
	f.print("END")
	shown := f.see("END")
	if i := strings.Index(shown, "BEGIN"); shown[i+len("BEGIN"):len(shown)-len("END")] != string(block) {
		t.Errorf("got %q, want %q", shown[i:], block)
	}
	expect(f, func(a *wire.Ack) bool { return a.Offset == f.offset })
}

func TestRun_QueriesAndClipboard(t *testing.T) {
	const asked = "AA\x1b[c\x1b[6n\x1b[>c\x1b]11;?\a\x1b]52;c;aGk=\aBB"
	f := newFixture(t, Options{})
	f.begin("")
	f.print(asked)
	if shown := f.see("BB"); !strings.Contains(shown, "AABB") {
		t.Errorf("got %q", shown)
	}
	allowed := newFixture(t, Options{Clipboard: true})
	allowed.begin("")
	allowed.print(asked)
	if shown := allowed.see("BB"); !strings.Contains(shown, "AA\x1b]52;c;aGk=\aBB") {
		t.Errorf("with the clipboard: %q", shown)
	}
}

func TestRun_Input(t *testing.T) {
	f := newFixture(t, Options{})
	client := f.begin("")
	f.see("\x1b[?1004h")
	f.press("ab")
	var typed []byte
	seq := uint64(0)
	for len(typed) < 2 {
		input := expect[*wire.Input](f, nil)
		if seq++; input.Seq != seq || input.Client != client || input.Kind != wire.InputBytes {
			t.Fatalf("got %+v", input)
		}
		typed = append(typed, input.Data...)
		f.holder.frames <- &wire.InputAck{Client: client, Seq: seq, Status: wire.InputApplied}
	}
	if string(typed) != "ab" {
		t.Errorf("typed %q", typed)
	}
	f.press("c")
	input := expect[*wire.Input](f, nil)
	f.holder.frames <- &wire.InputAck{Client: client, Seq: input.Seq, Status: wire.InputBlocked}
	expect(f, func(r *wire.Retire) bool { return r.Client == client })
	f.see("\a")
	f.press("d")
	if input = expect[*wire.Input](f, nil); input.Seq != 1 || input.Client == client || string(input.Data) != "d" {
		t.Errorf("after the retired client: %+v", input)
	}
	f.press("\x1d")
	f.describe("")
	if outcome := f.end(Detached); outcome.Dropped != 1 {
		t.Errorf("%d bytes dropped", outcome.Dropped)
	}
}

func TestRun_FocusIsPresence(t *testing.T) {
	f := newFixture(t, Options{})
	f.begin("")
	f.see("\x1b[?1004h")
	f.press("\x1b[O")
	expect(f, func(p *wire.Presence) bool { return p.Visible && !p.Focused })
	f.press("\x1b[I")
	expect(f, func(p *wire.Presence) bool { return p.Visible && p.Focused })
}

func TestRun_WindowChange(t *testing.T) {
	f := newFixture(t, Options{})
	client := f.begin("")
	f.see("\x1b[?1004h")
	f.resize(50, 12)
	if err := unix.Kill(os.Getpid(), unix.SIGWINCH); err != nil {
		t.Fatal(err)
	}
	claim := expect(f, func(c *wire.ClaimSize) bool { return c.Reason == wire.ClaimResize })
	if claim.Client != client || claim.Cols != 50 || claim.Rows != 12 {
		t.Errorf("claimed %+v", claim)
	}
	expect[*wire.HolderAttach](f, nil)
	f.holder.frames <- &wire.Resize{Ordinal: 1, Cols: 50, Rows: 12}
	f.paint("old size", 40, 10)
	expect[*wire.HolderAttach](f, nil)
	f.paint("new size", 50, 12)
	f.print("after")
	shown := f.see("after")
	if strings.Contains(shown, "old size") || !strings.Contains(shown, "new size") {
		t.Errorf("got %q", shown)
	}
}

func TestRun_OtherSize(t *testing.T) {
	f := newFixture(t, Options{})
	client := expect[*wire.ClaimSize](f, nil).Client
	expect[*wire.HolderAttach](f, nil)
	f.holder.frames <- &wire.SizeOwner{Client: wire.ClientID{1}, Kind: wire.OwnerViewer, Cols: 54, Rows: 34}
	f.paint("\x1b[20;1Hdeep down\x1b[?1h", 54, 34)
	f.see("ctrl+t take size")
	shown := f.see("deep down")
	if !strings.Contains(shown, "\x1b[?1049h") || !strings.Contains(f.see("\x1b[?1h"), "\x1b[?1h") {
		t.Errorf("got %q", shown)
	}
	f.print("\r\n\x1b[31mmore")
	f.see("\x1b[0;38;5;1mmore")
	f.press("\x14")
	claim := expect(f, func(c *wire.ClaimSize) bool { return c.Reason == wire.ClaimFit })
	if claim.Client != client || claim.Cols != testCols {
		t.Errorf("claimed %+v", claim)
	}
	f.holder.frames <- &wire.SizeOwner{Client: client, Kind: wire.OwnerLocal, Cols: testCols, Rows: testRows}
	f.holder.frames <- &wire.Resize{Offset: f.offset, Ordinal: 1, Cols: testCols, Rows: testRows}
	expect[*wire.HolderAttach](f, nil)
	f.paint("mine", testCols, testRows)
	shown = f.see("mine")
	if !strings.Contains(shown, "\x1b[?1049l") {
		t.Errorf("the alternate screen was not left: %q", shown)
	}
}

// What a browser's terminal has no mode for is set as well, and history goes
// into the terminal's own.
func TestRun_ExistingSession(t *testing.T) {
	f := newFixture(t, Options{History: 100})
	attach := expect[*wire.HolderAttach](f, nil)
	if attach.Want != wire.WantState || attach.History != 100 {
		t.Errorf("asked for %+v", attach)
	}
	var lines strings.Builder
	for i := range 30 {
		fmt.Fprintf(&lines, "\x1b[32mline %d\x1b[m\r\n", i)
	}
	f.paint(lines.String()+"\x1b[>5u\x1b[>4;2m", testCols, testRows)
	f.see("line 29")
	shown := f.see("\x1b[?1004h")
	for _, text := range []string{"line 0\x1b[0m\r\n", "line 20\x1b[0m\r\n", "\x1b[>5u", "\x1b[>4;2m"} {
		if !strings.Contains(shown, text) {
			t.Errorf("%q is missing: %q", text, shown)
		}
	}
	f.press("\x1b[93;5u")
	f.describe("")
	f.end(Detached)
}

// A holder of another version is asked for terminal bytes.
func TestRun_OtherVersion(t *testing.T) {
	f := newFixture(t, Options{})
	expect[*wire.HolderAttach](f, nil)
	f.holder.frames <- &wire.State{First: true, Last: true, Cols: testCols, Rows: testRows, Data: []byte("of the future")}
	if attach := expect[*wire.HolderAttach](f, nil); attach.Want != wire.WantRepaint {
		t.Errorf("asked for %+v", attach)
	}
	f.holder.frames <- &wire.Repaint{Cols: testCols, Rows: testRows, Data: []byte("drawn ─\x1b[5b")}
	f.see("drawn ──────")
}

func TestRun_ReadOnly(t *testing.T) {
	f := newFixture(t, Options{ReadOnly: true})
	expect[*wire.HolderAttach](f, nil)
	f.paint("", testCols, testRows)
	f.print("look")
	f.see("look")
	f.press("typed\x1d")
	f.describe("look")
	f.end(Detached)
	for len(f.holder.sent) > 0 {
		switch frame := (<-f.holder.sent).(type) {
		case *wire.Input, *wire.ClaimSize, *wire.Presence:
			t.Errorf("a spectator sent %+v", frame)
		}
	}
}

func TestRun_Exit(t *testing.T) {
	f := newFixture(t, Options{})
	f.begin("")
	f.print("last words")
	f.holder.frames <- &wire.Exit{Offset: f.offset, Code: 7}
	if outcome := f.end(Exited); outcome.ExitCode != 7 {
		t.Errorf("got %+v", outcome)
	}
	f.see("last words")
}

func TestRun_Broken(t *testing.T) {
	f := newFixture(t, Options{})
	f.begin("")
	close(f.holder.frames)
	if outcome := f.end(Broken); outcome.Err == nil {
		t.Error("it does not say why")
	}
}

func TestRun_TerminalClosed(t *testing.T) {
	f := newFixture(t, Options{})
	f.begin("")
	f.see("\x1b[?1004h")
	f.master.Close()
	f.end(Closed)
}

func TestRun_Cancelled(t *testing.T) {
	f := newFixture(t, Options{})
	f.begin("")
	f.print("\x1b[?1049h")
	f.see("\x1b[?1049h")
	f.cancel()
	if outcome := <-f.outcome; outcome.Reason != Closed {
		t.Errorf("got %+v", outcome)
	}
	f.see("\x1b[?1049l")
}

// A panic in the middle gives the terminal back before it goes on.
func TestRun_Panic(t *testing.T) {
	master, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer master.Close()
	defer terminal.Close()
	before, err := term.GetState(int(terminal.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	local, err := tty.Open(terminal, terminal)
	if err != nil {
		t.Fatal(err)
	}
	defer local.Close()
	func() {
		defer func() {
			if failure := recover(); failure != "broken holder" {
				t.Errorf("recovered %v", failure)
			}
		}()
		_, err := Run(context.Background(), local, panicking{}, Options{})
		t.Errorf("it returned %v", err)
	}()
	if after, err := term.GetState(int(terminal.Fd())); err != nil || *after != *before {
		t.Errorf("line settings changed: %v", err)
	}
}

type panicking struct{}

func (panicking) Welcome() *wire.HolderWelcome { return &wire.HolderWelcome{} }
func (panicking) Send(...wire.Frame) error     { return nil }
func (panicking) Receive() (wire.Frame, error) { panic("broken holder") }
func (panicking) Close() error                 { return nil }
