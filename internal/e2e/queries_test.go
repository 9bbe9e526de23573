package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/creack/pty"

	"github.com/agent-helm/agent-helm/internal/vt"
)

// A query is a row of vt's table.
type query struct{ Name, Query, Answer string }

func readQueries(path string) ([]query, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var list []query
	err = json.Unmarshal(data, &list)
	return list, err
}

// fence is the answer to fenceQuery, which follows each query: what comes before
// it answers that query.
const (
	fenceQuery = "\x1b[5n"
	fence      = "\x1b[0n"
)

// ask asks each query of a table, one after the other, and writes everything it
// reads to a file, until each of the letters in until was typed.
func ask(table, ledger, until string) error {
	queries, err := readQueries(table)
	if err != nil {
		return err
	}
	var got []byte
	read := func(enough func() bool) error {
		buffer := make([]byte, 4096)
		for !enough() {
			n, err := os.Stdin.Read(buffer)
			if err != nil {
				return err
			}
			got = append(got, buffer[:n]...)
		}
		return nil
	}
	fmt.Print("ready\r\n")
	if err := read(func() bool { return bytes.Contains(got, []byte("g")) }); err != nil {
		return err
	}
	got = got[:0]
	fences := 0
	for _, q := range queries {
		fences += 1 + strings.Count(q.Answer, fence)
		fmt.Print("\x1bc" + q.Query + fenceQuery)
		if err := read(func() bool { return bytes.Count(got, []byte(fence)) >= fences }); err != nil {
			return err
		}
	}
	fmt.Print("\x1bcasked\r\n")
	asked := len(got)
	if err := read(func() bool {
		for _, letter := range []byte(until) {
			if bytes.IndexByte(got[asked:], letter) < 0 {
				return false
			}
		}
		return true
	}); err != nil {
		return err
	}
	if err := os.WriteFile(ledger, got, 0o600); err != nil {
		return err
	}
	fmt.Print("recorded\r\n")
	return nil
}

// askForever asks for the device attributes that often and reads no answer.
func askForever(count int) {
	out := bufio.NewWriterSize(os.Stdout, 64<<10)
	for range count {
		_, _ = out.WriteString("\x1b[c")
	}
	_, _ = out.WriteString("asked\r\n")
	out.Flush()
}

// localTerminal is a person's own terminal with `agent-helm attach` in it. It
// answers every query that reaches it, as real ones do.
type localTerminal struct {
	master io.ReadWriteCloser

	mu       sync.Mutex
	terminal *vt.Terminal
	answers  []byte
}

func (s *Stack) openLocal(t *testing.T, id string) *localTerminal {
	t.Helper()
	command := s.HelmCommand("attach", id)
	command.Env = append(command.Env, "TERM=xterm-256color", "LANG=C.UTF-8")
	master, err := pty.StartWithSize(command, &pty.Winsize{Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	l := &localTerminal{master: master, terminal: vt.New(vt.Options{Cols: 80, Rows: 24})}
	var reader sync.WaitGroup
	reader.Go(func() {
		buffer := make([]byte, 32<<10)
		for {
			n, err := master.Read(buffer)
			l.mu.Lock()
			l.terminal.Write(buffer[:n])
			answers := l.terminal.TakeReplies()
			l.answers = append(l.answers, answers...)
			l.mu.Unlock()
			if len(answers) > 0 {
				_, _ = master.Write(answers)
			}
			if err != nil {
				return
			}
		}
	})
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait() // killed
		master.Close()
		reader.Wait()
	})
	return l
}

func (l *localTerminal) typed(t *testing.T, text string) {
	t.Helper()
	if _, err := l.master.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

func (l *localTerminal) awaits(text string) func() error {
	return func() error {
		l.mu.Lock()
		defer l.mu.Unlock()
		if shown := l.terminal.Text(vt.TextOptions{}); !strings.Contains(shown, text) {
			return fmt.Errorf("the local terminal shows\n%s", shown)
		}
		return nil
	}
}

// Each query of the table is answered exactly once, by the holder, with two
// viewers and a local terminal attached; and what that terminal sends of itself
// in the form of answers does not reach the program.
func TestQueries_answeredOnceByAll(t *testing.T) {
	table, err := filepath.Abs("../vt/testdata/queries/queries.json")
	must(t, err)
	queries, err := readQueries(table)
	must(t, err)
	s := NewStack(t)
	ledger := filepath.Join(s.Dir(), "ledger")
	id := s.Run("ask", program(t, "ask", table, ledger, "qvw")...)
	first, second := s.Viewer().Attach(s.HostID, id, nil), s.Viewer().Attach(s.HostID, id, nil)
	for _, stream := range []*Stream{first, second} {
		must(t, stream.WaitFor(s.Context(), "live", func(now Snapshot) bool { return now.Live && strings.Contains(now.Text, "ready") }))
	}
	local := s.openLocal(t, id)
	s.Eventually("the local terminal is attached", local.awaits("ready"))

	const late = "\x1b[?62;22c\x1b[>41;377;0c\x1b[24;80R\x1b[?5u\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\\x1bP>|a terminal\x1b\\"
	local.typed(t, late)
	first.Type("g")
	for _, stream := range []*Stream{first, second} {
		must(t, stream.WaitFor(s.Context(), "all questions", func(now Snapshot) bool { return strings.Contains(now.Text, "asked") }))
	}
	s.Eventually("the local terminal shows the last question", local.awaits("asked"))
	// What anyone else answered stands before these letters.
	local.typed(t, late+"q")
	first.Type("v")
	second.Type("w")
	must(t, first.WaitFor(s.Context(), "the ledger", func(now Snapshot) bool { return strings.Contains(now.Text, "recorded") }))

	got, err := os.ReadFile(ledger)
	must(t, err)
	rest := string(got)
	for _, q := range queries {
		answer, after, ok := strings.Cut(rest, q.Answer+fence)
		if !ok || answer != "" {
			t.Fatalf("%s: want %q and %q, then next in the program's input is %.200q", q.Name, q.Answer, fence, rest)
		}
		rest = after
	}
	if len(rest) != 3 || !strings.Contains(rest, "q") || !strings.Contains(rest, "v") || !strings.Contains(rest, "w") {
		t.Errorf("after the answers the program read %q", rest)
	}
	local.mu.Lock()
	defer local.mu.Unlock()
	if len(local.answers) > 0 {
		t.Errorf("queries reached the local terminal: it answered %q", local.answers)
	}
}

// A program asks a million times and reads nothing: nobody waits for it, nothing
// grows, and its input is shown to be blocked.
func TestQueries_millionUnread(t *testing.T) {
	s := NewStack(t)
	quiet := s.Run("quiet", program(t, "echo")...)
	other := s.Viewer().Attach(s.HostID, quiet, nil)
	must(t, other.WaitFor(s.Context(), "live", func(now Snapshot) bool { return strings.Contains(now.Text, "ready") }))
	id := s.Run("asks", program(t, "ask-forever", "1000000")...)
	stream := s.Viewer().Attach(s.HostID, id, nil)
	must(t, stream.WaitFor(s.Context(), "the last question", func(now Snapshot) bool { return strings.Contains(now.Text, "asked") }))

	other.Type("unharmed")
	must(t, other.WaitFor(s.Context(), "the echo of the other session", func(now Snapshot) bool { return strings.Contains(now.Text, "unharmed") }))
	stream.Type(strings.Repeat("x", 16<<10))
	s.Eventually("the session says that its input is blocked", func() error {
		var session struct {
			State        string `json:"state"`
			InputBlocked bool   `json:"input_blocked"`
		}
		if err := s.GetJSON("/api/sessions/"+id, &session); err != nil {
			return err
		}
		if session.State != "running" || !session.InputBlocked {
			return fmt.Errorf("%+v", session)
		}
		return nil
	})
	// The questions and their answers are 3 and 7 MB; the idle session's holder
	// says what one takes without them.
	pids := s.HolderPIDs()
	idle, asked := resident(t, pids[quiet]), resident(t, pids[id])
	const slack = 64 << 20
	if asked > idle+slack {
		t.Errorf("the holder takes %d MB, one that was asked nothing %d MB", asked>>20, idle>>20)
	}
	if _, err := s.Helm("kill", id); err != nil {
		t.Fatal(err)
	}
	must(t, stream.WaitFor(s.Context(), "the end", func(now Snapshot) bool { return now.Exit != nil }))
}

// resident is how much memory a process takes, in bytes.
func resident(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if os.IsNotExist(err) {
		t.Skip("no /proc tells what a process takes")
	}
	must(t, err)
	for line := range strings.SplitSeq(string(status), "\n") {
		if text, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			kilobytes, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(text), " kB"))
			must(t, err)
			return kilobytes << 10
		}
	}
	t.Fatalf("process %d tells no VmRSS", pid)
	return 0
}

// What the screen asks is answered by the keys that the session's prompt names,
// with no hook in the program.
func TestPrompt_keysAnswer(t *testing.T) {
	for name, c := range map[string]struct{ script, question, label, answered string }{
		"yes or no": {`read -p "Go on? [y/N] " answer; echo "answered $answer"; cat`, "Go on?", "Yes", "answered y"},
		"select":    {`echo "Which one?"; select one in staging production; do echo "answered $one"; cat; done`, "Which one?", "production", "answered production"},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewStack(t)
			id := s.Run("asks", "bash", "-c", c.script)
			stream := s.Viewer().Attach(s.HostID, id, nil)
			must(t, stream.WaitFor(s.Context(), "live", func(now Snapshot) bool { return now.Live }))
			type session struct {
				Status struct{ Kind, Text string }
				Prompt *struct {
					ID, Question string
					Options      []struct{ Key, Label string }
				}
			}
			keys := ""
			s.Eventually("the session shows the question", func() error {
				var now session
				if err := s.GetJSON("/api/sessions/"+id, &now); err != nil {
					return err
				}
				if now.Prompt == nil || now.Prompt.Question != c.question || now.Status.Kind != "needs_you" || now.Status.Text != c.question {
					return fmt.Errorf("%+v", now)
				}
				for _, option := range now.Prompt.Options {
					if option.Label == c.label {
						keys = option.Key
					}
				}
				if keys == "" {
					return fmt.Errorf("no option %s: %+v", c.label, now.Prompt)
				}
				return nil
			})
			stream.Keys(keys)
			must(t, stream.WaitFor(s.Context(), "the answer", func(now Snapshot) bool { return strings.Contains(now.Text, c.answered) }))
			s.Eventually("the question is gone", func() error {
				var now session
				if err := s.GetJSON("/api/sessions/"+id, &now); err != nil {
					return err
				}
				if now.Prompt != nil || now.Status.Kind == "needs_you" {
					return fmt.Errorf("%+v", now)
				}
				return nil
			})
		})
	}
}
