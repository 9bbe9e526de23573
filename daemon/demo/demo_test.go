package demo

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"

	"github.com/agent-helm/agent-helm/internal/vt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long a test waits for what must happen. It bounds a failure,
// not a success.
const patience = 20 * time.Second

// stage runs the demo agent in a pseudo-terminal and watches it through our
// own terminal.
type stage struct {
	t      *testing.T
	master *os.File
	dir    string
	result chan result

	mu       sync.Mutex
	changed  *sync.Cond
	terminal *vt.Terminal
	printed  []byte
	over     bool
}

type result struct {
	code int
	err  error
}

func play(t *testing.T, options Options) *stage {
	t.Helper()
	blocking, terminal, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer blocking.Close()
	// A master that can be closed while it is read.
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(terminal.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: 80, Row: 30}); err != nil {
		t.Fatal(err)
	}
	if options.Dir == "" && (options.Mode == "" || options.Mode == ModeAgent) {
		options.Dir = t.TempDir()
	}
	s := &stage{
		t: t, master: os.NewFile(uintptr(fd), "master"), dir: options.Dir, result: make(chan result, 1),
		terminal: vt.New(vt.Options{Cols: 80, Rows: 30}),
	}
	s.changed = sync.NewCond(&s.mu)
	options.In, options.Out = terminal, terminal
	ctx, cancel := context.WithCancel(context.Background())
	var watcher, runner sync.WaitGroup
	watcher.Go(s.watch)
	runner.Go(func() {
		code, err := Run(ctx, options)
		s.result <- result{code, err}
	})
	t.Cleanup(func() {
		cancel()
		runner.Wait()
		terminal.Close()
		s.master.Close()
		watcher.Wait()
	})
	return s
}

func (s *stage) watch() {
	buffer := make([]byte, 32<<10)
	for {
		n, err := s.master.Read(buffer)
		s.mu.Lock()
		_, _ = s.terminal.Write(buffer[:n]) // never fails
		s.printed = append(s.printed, buffer[:n]...)
		s.over = s.over || err != nil
		s.changed.Broadcast()
		s.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// until waits for the terminal to look right.
func (s *stage) until(right func(*vt.Terminal) bool) {
	s.t.Helper()
	timer := time.AfterFunc(patience, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.over = true
		s.changed.Broadcast()
	})
	defer timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !right(s.terminal) {
		if s.over {
			s.t.Fatalf("it never looked right; the screen is\n%s", s.terminal.Text(vt.TextOptions{}))
		}
		s.changed.Wait()
	}
}

func (s *stage) see(text string) {
	s.t.Helper()
	s.until(func(t *vt.Terminal) bool {
		return strings.Contains(t.Text(vt.TextOptions{History: -1, Join: true}), text)
	})
}

func (s *stage) press(keys string) {
	s.t.Helper()
	if _, err := s.master.WriteString(keys); err != nil {
		s.t.Fatal(err)
	}
}

func (s *stage) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.printed)
}

func (s *stage) end() int {
	s.t.Helper()
	select {
	case r := <-s.result:
		if r.err != nil {
			s.t.Fatal(r.err)
		}
		return r.code
	case <-time.After(patience):
		s.t.Fatal("it did not end")
		return -1
	}
}

func (s *stage) file(name string) string {
	s.t.Helper()
	data, err := os.ReadFile(filepath.Join(s.dir, name))
	if err != nil {
		s.t.Fatal(err)
	}
	return string(data)
}

// prompt waits for a question with these options.
func (s *stage) prompt(options ...string) {
	s.t.Helper()
	s.until(func(t *vt.Terminal) bool {
		o := t.Observe()
		if o.Program.State != "blocked" || o.Prompt.ID == "" || len(o.Prompt.Options) != len(options) {
			return false
		}
		for i, option := range o.Prompt.Options {
			if !strings.HasPrefix(option.Label, options[i]) {
				return false
			}
		}
		return true
	})
}

func (s *stage) idle() {
	s.t.Helper()
	s.until(func(t *vt.Terminal) bool {
		state := t.Observe().Program.State
		return state == "done" || state == "idle"
	})
}

func TestAgent_EditsAfterPermission(t *testing.T) {
	s := play(t, Options{Fast: true, Script: "edit"})
	s.prompt("Yes", "Yes, and don't ask again", "No")
	if text := s.file(greetingFile); !strings.Contains(text, "wellcome") {
		t.Fatalf("it edited before it was allowed: %s", text)
	}
	s.see("3 + welcome to the demo.")
	s.press("1")
	s.see("Done: greeting.txt is in order.")
	s.idle()
	if text := s.file(greetingFile); !strings.Contains(text, "\nwelcome") {
		t.Errorf("it did not edit: %s", text)
	}
	s.press("/quit\r")
	if code := s.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	s.until(func(t *vt.Terminal) bool {
		return t.Modes().CursorVisible && !t.Modes().BracketedPaste && t.Observe().Program.State == "" && t.Observe().Title == ""
	})
}

func TestAgent_Keys(t *testing.T) {
	for name, keys := range map[string]string{
		"digit": "2", "arrows": "\x1b[B\r", "application arrows": "\x1bOB\r", "up around": "\x1b[A\x1b[A\x1b[A\r", "tab": "\t\r",
	} {
		t.Run(name, func(t *testing.T) {
			s := play(t, Options{Fast: true, Script: "question"})
			s.prompt("A plain file", "SQLite", "PostgreSQL", "None of these")
			s.press(keys)
			s.see("SQLite it is.")
		})
	}
	for name, keys := range map[string]string{"escape": "\x1b", "last": "4", "ctrl+c": "\x03"} {
		t.Run(name, func(t *testing.T) {
			s := play(t, Options{Fast: true, Script: "question"})
			s.prompt("A plain file", "SQLite", "PostgreSQL", "None of these")
			s.press(keys)
			s.see("Interrupted.")
			s.idle()
		})
	}
}

func TestAgent_Prompts(t *testing.T) {
	s := play(t, Options{Fast: true, Script: "none"})
	s.idle()
	// A paste with a line break is one prompt.
	s.press("\x1b[200~please run\nthe checks\x1b[201~")
	s.see("the checks")
	s.press("\r")
	s.prompt("Yes", "Yes, and don't ask again", "No")
	s.press("1")
	s.see("FAIL: 2 notes have no full stop")
	s.prompt("Yes", "Yes, and don't ask again", "No")
	s.press("\x1b[B\r")
	s.see("ok: all notes are fine")
	if text := s.file(notesFile); text != "first note.\nsecond note.\n" {
		t.Errorf("notes: %q", text)
	}
	// Allowed for good: no question this time.
	s.idle()
	s.press("fix the greeting\r")
	s.see("Done: greeting.txt is in order.")
	s.idle()
	s.press("draft\x7f\x7f")
	s.see("> dra")
	s.press("\x03")
	s.press("\x03\x03")
	if code := s.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

func TestAgent_InterruptsWork(t *testing.T) {
	s := play(t, Options{Script: "long"})
	s.until(func(t *vt.Terminal) bool {
		o := t.Observe()
		return o.Program.State == "working" && o.Progress.State == 1 && strings.Contains(o.Title, "Reading")
	})
	s.press("next in line\r")
	s.see("queued: next in line")
	s.press("\x1b")
	s.see("Interrupted.")
	s.until(func(t *vt.Terminal) bool { return t.Observe().Progress.State != 1 })
}

func TestAgent_NarrowWindow(t *testing.T) {
	s := play(t, Options{Fast: true, Script: "edit"})
	s.prompt("Yes", "Yes, and don't ask again", "No")
	s.mu.Lock()
	s.terminal.Resize(30, 30)
	s.mu.Unlock()
	raw, err := s.master.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	if err := raw.Control(func(fd uintptr) {
		err = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: 30, Row: 30})
	}); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	// The terminal of the test controls no process, so the kernel tells nobody.
	if err := unix.Kill(os.Getpid(), unix.SIGWINCH); err != nil {
		t.Fatal(err)
	}
	s.until(func(t *vt.Terminal) bool {
		text := t.Text(vt.TextOptions{})
		return strings.Count(text, "1. Yes\n") == 1 && strings.Contains(text, "❯ 1. Yes")
	})
}

// The same seed prints the same bytes.
func TestAgent_Deterministic(t *testing.T) {
	run := func() string {
		out, err := os.CreateTemp(t.TempDir(), "out")
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		in, feed, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		defer feed.Close()
		dir := t.TempDir()
		if code, err := Run(context.Background(), Options{Script: "long", Exit: true, Fast: true, Seed: 7, Dir: dir, In: in, Out: out}); code != 0 || err != nil {
			t.Fatalf("exit code %d, %v", code, err)
		}
		text, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		return strings.ReplaceAll(string(text), dir, "DIR")
	}
	first := run()
	if second := run(); first != second || !strings.Contains(first, "chapter 40") {
		t.Errorf("two runs differ, or say too little: %d and %d bytes", len(first), len(second))
	}
}

func TestCounter(t *testing.T) {
	ledger := filepath.Join(t.TempDir(), "ledger")
	s := play(t, Options{Mode: ModeCounter, Ledger: ledger, Lines: 50, Fast: true})
	s.see("count 00000050")
	s.press("1;2 3\r4\nx9;;123456789012345678901234567890;5;")
	s.see("key 5")
	s.press("\x04")
	if code := s.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	got, err := os.ReadFile(ledger)
	if err != nil {
		t.Fatal(err)
	}
	want := "key 1\nkey 2\nkey 3\nkey 4\nbad \"x9\"\nbad \"123456789012345678901\"\nkey 234567890\nbad"
	lines := strings.Split(strings.TrimSpace(string(got)), "\n")
	if lines[0] != "key 1" || lines[3] != "key 4" || lines[4] != `bad "x9"` || lines[len(lines)-1] != "key 5" {
		t.Errorf("ledger %q, want about %q", got, want)
	}
	text := s.text()
	for i := range 50 {
		if !strings.Contains(text, fmt.Sprintf("count %08d\r\n", i+1)) {
			t.Errorf("line %d is missing", i+1)
		}
	}
}

func TestEcho(t *testing.T) {
	s := play(t, Options{Mode: ModeEcho})
	every := make([]byte, 0, 255)
	for b := range 256 {
		if b != endOfInput {
			every = append(every, byte(b))
		}
	}
	const greeting = "echo ready\r\n"
	s.see("echo ready")
	s.press(string(every))
	s.until(func(*vt.Terminal) bool { return len(s.printed) >= len(greeting)+len(every) })
	s.press("\x04")
	s.end()
	if got := s.text(); got != greeting+string(every) {
		t.Errorf("got %q", got)
	}
}

func TestFlood(t *testing.T) {
	s := play(t, Options{Mode: ModeFlood, Bytes: 1_234_567})
	s.see("flood done 1234567")
	s.end()
	head, tail, found := strings.Cut(s.text(), "\x1b[0m\r\nflood done")
	if !found || len(head) != 1_234_567 || tail != " 1234567\r\n" {
		t.Errorf("%d bytes, then %q", len(head), tail)
	}
}

func TestDeaf(t *testing.T) {
	s := play(t, Options{Mode: ModeDeaf})
	s.see("deaf")
}

func TestRun_BadOptions(t *testing.T) {
	for _, options := range []Options{{Mode: "nonsense"}, {Script: "nonsense", Dir: t.TempDir()}, {Mode: ModeCounter, Ledger: "/nowhere/at/all"}} {
		in, out, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		options.In, options.Out = in, out
		if code, err := Run(context.Background(), options); code == 0 || err == nil {
			t.Errorf("%+v: exit code %d, %v", options, code, err)
		}
		in.Close()
		out.Close()
	}
}

func TestDecoder_Splits(t *testing.T) {
	const input = "aé漢\x1b[A\x1bOB\x1b[200~p\x1b[Aq\r\x1b[201~\r\x1b[Z\x1b[1;5A\x1bx\x7f"
	want := []key{
		{"text", "a"}, {"text", "é"}, {"text", "漢"}, {name: "up"}, {name: "down"}, {"text", "p\x1b[Aq\r"},
		{name: "enter"}, {name: "shift+tab"}, {name: ""}, {name: ""}, {name: "backspace"},
	}
	named := slices.DeleteFunc(slices.Clone(want), func(k key) bool { return k.name == "" })
	for size := 1; size <= len(input); size++ {
		var d decoder
		var got []key
		for rest := input; rest != ""; {
			n := min(size, len(rest))
			got = append(got, d.feed([]byte(rest[:n]))...)
			rest = rest[n:]
		}
		if !slices.Equal(got, named) {
			t.Errorf("%d bytes at a time: %q", size, got)
		}
	}
}
