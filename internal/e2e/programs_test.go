package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestSession_shell(t *testing.T) {
	s := NewStack(t)
	id := s.Run("shell", "/bin/sh")
	stream := s.Viewer().Attach(s.HostID, id, nil)
	must(t, stream.WaitFor(s.Context(), "live", func(now Snapshot) bool { return now.Live }))
	stream.Submit("echo $((6 * 7))-from-the-shell")
	must(t, stream.WaitFor(s.Context(), "the answer", func(now Snapshot) bool { return strings.Contains(now.Text, "42-from-the-shell") }))
	must(t, stream.WaitFor(s.Context(), "the acknowledgement", func(now Snapshot) bool { return now.Applied == 1 && now.Outstanding == 0 }))
	s.Eventually("the server's own terminal shows it", func() error {
		screen, err := s.Screen(id)
		if err != nil {
			return err
		}
		if !strings.Contains(screen, "42-from-the-shell") {
			return fmt.Errorf("screen:\n%s", screen)
		}
		return nil
	})
	stream.Type("exit 7\r")
	must(t, stream.WaitFor(s.Context(), "the exit", func(now Snapshot) bool { return now.Exit != nil && now.Exit.Code == 7 }))
	s.Eventually("the session is listed as exited with its last screen", func() error {
		var session struct {
			State string `json:"state"`
			Exit  struct {
				Code int `json:"code"`
			} `json:"exit"`
		}
		if err := s.GetJSON("/api/sessions/"+id, &session); err != nil {
			return err
		}
		screen, err := s.Screen(id)
		if err != nil {
			return err
		}
		if session.State != "exited" || session.Exit.Code != 7 || !strings.Contains(screen, "42-from-the-shell") {
			return fmt.Errorf("%+v, screen:\n%s", session, screen)
		}
		return nil
	})
}

func TestSession_fullScreenPrograms(t *testing.T) {
	s := NewStack(t)
	text := filepath.Join(s.Dir(), "text")
	var lines strings.Builder
	for i := range 500 {
		fmt.Fprintf(&lines, "line %d of the file\n", i+1)
	}
	must(t, os.WriteFile(text, []byte(lines.String()), 0o600))
	for _, test := range []struct {
		program string
		argv    []string
		first   string   // on screen at first
		keys    []string // named keys and text, in order
		then    string   // on screen afterwards
	}{
		{"vim", []string{vim(), "-u", "NONE", "-N", text}, "line 1 of the file", []string{"keys:down down", "bytes:Ahelm\x1b", "bytes:0"}, "line 3 of the filehelm"},
		{"less", []string{"less", text}, "line 1 of the file", []string{"keys:pagedown", "bytes:G"}, "line 500 of the file"},
		{"htop", []string{"htop", "-d", "100"}, "PID", []string{"keys:f5"}, "PID"},
	} {
		t.Run(test.program, func(t *testing.T) {
			if _, err := exec.LookPath(test.argv[0]); err != nil {
				t.Skipf("%s is not installed", test.program)
			}
			id := s.Run(test.program, test.argv...)
			stream := s.Viewer().Attach(s.HostID, id, nil)
			must(t, stream.WaitFor(s.Context(), "the first screen", func(now Snapshot) bool { return strings.Contains(now.Text, test.first) }))
			for _, input := range test.keys {
				kind, what, _ := strings.Cut(input, ":")
				if kind == "keys" {
					stream.Keys(what)
				} else {
					stream.Type(what)
				}
			}
			must(t, stream.WaitFor(s.Context(), "what the keys did", func(now Snapshot) bool { return strings.Contains(now.Text, test.then) }))
			// A second viewer gets a repaint of the same screen. It is compared
			// once nothing moves any more; htop's clock never rests.
			if test.program != "htop" {
				second := s.Viewer().Attach(s.HostID, id, nil)
				must(t, second.WaitFor(s.Context(), "the same screen", func(now Snapshot) bool { return now.Live && now.Text == stream.Snapshot().Text }))
			}
			if _, err := s.Helm("kill", id); err != nil {
				t.Fatal(err)
			}
		})
	}
}

func vim() string {
	for _, name := range []string{"vim", "vim.tiny", "vi"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return "vim"
}

// TestSession_demoAgent answers the scripted agent's menus by keys, as a person
// does from the phone.
func TestSession_demoAgent(t *testing.T) {
	s := NewStack(t)
	work := filepath.Join(s.Dir(), "work")
	must(t, os.Mkdir(work, 0o700))
	id := s.Run("demo", s.bin.Helm, "demo-agent", "--fast", "--script", "edit", "--dir", work)
	stream := s.Viewer().Attach(s.HostID, id, nil)
	must(t, stream.WaitFor(s.Context(), "the menu", func(now Snapshot) bool { return strings.Contains(now.Text, "❯ 1. Yes") }))
	s.Eventually("the list says that it needs somebody", func() error {
		var session struct {
			Status struct {
				Kind string `json:"kind"`
			} `json:"status"`
		}
		if err := s.GetJSON("/api/sessions/"+id, &session); err != nil {
			return err
		}
		if session.Status.Kind != "needs_you" {
			return fmt.Errorf("%+v", session)
		}
		return nil
	})
	stream.Type("1")
	s.Eventually("the edit is made, and the list says that nobody is needed", func() error {
		content, err := os.ReadFile(filepath.Join(work, "greeting.txt"))
		if err != nil {
			return err
		}
		var session struct {
			Status struct {
				Kind string `json:"kind"`
			} `json:"status"`
			Prompt any `json:"prompt"`
		}
		if err := s.GetJSON("/api/sessions/"+id, &session); err != nil {
			return err
		}
		if strings.Contains(string(content), "wellcome") || session.Status.Kind == "needs_you" || session.Prompt != nil {
			return fmt.Errorf("file:\n%s\nsession: %+v", content, session)
		}
		return nil
	})
}

// TestSession_ink drives a real Ink program, as several agents are.
func TestSession_ink(t *testing.T) {
	app, err := filepath.Abs("../../web/e2e/programs/ink.mjs")
	must(t, err)
	if _, err := os.Stat("../../web/node_modules/ink"); err != nil {
		t.Skip("ink is not installed: npm ci in web/")
	}
	s := NewStack(t)
	// In CI Ink would draw its last frame only.
	id := s.Run("ink", "/usr/bin/env", "CI=false", "node", app)
	stream := s.Viewer().Attach(s.HostID, id, nil)
	must(t, stream.WaitFor(s.Context(), "the question", func(now Snapshot) bool {
		return strings.Contains(now.Text, "step 20 is done ✅") && strings.Contains(now.Text, "❯ 1. Yes")
	}))
	s.Eventually("the server sees the question on screen", func() error {
		var session struct {
			Status struct {
				Kind string `json:"kind"`
			} `json:"status"`
			Prompt *struct {
				Question string `json:"question"`
				Options  []struct {
					Label string `json:"label"`
				} `json:"options"`
			} `json:"prompt"`
		}
		if err := s.GetJSON("/api/sessions/"+id, &session); err != nil {
			return err
		}
		if session.Prompt == nil || session.Prompt.Question != "Do you want to proceed?" || len(session.Prompt.Options) != 2 || session.Status.Kind != "needs_you" {
			return fmt.Errorf("%+v", session)
		}
		return nil
	})
	stream.Keys("down")
	must(t, stream.WaitFor(s.Context(), "the other option", func(now Snapshot) bool { return strings.Contains(now.Text, "❯ 2. No") }))
	stream.Keys("enter")
	must(t, stream.WaitFor(s.Context(), "the answer", func(now Snapshot) bool {
		return strings.Contains(now.Text, "the answer was no") && now.Exit != nil && now.Exit.Code == 0
	}))
}

func TestSession_everyByte(t *testing.T) {
	s := NewStack(t)
	var got []byte
	id := s.Run("bytes", program(t, "bytes")...)
	stream := s.Viewer().Attach(s.HostID, id, func(_ uint64, data []byte) { got = append(got, data...) })
	must(t, stream.WaitFor(s.Context(), "the marker", func(now Snapshot) bool { return strings.Contains(now.Text, "every byte survived") }))
	// A viewer that joined after the bytes sees a repaint; the raw log has all.
	raw, err := s.Helm("logs", "--raw", id)
	must(t, err)
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(i)
	}
	if !strings.Contains(raw, strings.Repeat(string(all), 3)) {
		t.Errorf("the raw log lacks the 256 byte values in order: %q", raw)
	}
}

func TestSession_hostileBytes(t *testing.T) {
	s := NewStack(t)
	quiet := s.Run("quiet", program(t, "echo")...)
	id := s.Run("hostile", program(t, "hostile")...)
	stream := s.Viewer().Attach(s.HostID, id, nil)
	must(t, stream.WaitFor(s.Context(), "the marker", func(now Snapshot) bool { return strings.Contains(now.Text, "nothing broke") }))
	other := s.Viewer().Attach(s.HostID, quiet, nil)
	must(t, other.WaitFor(s.Context(), "live", func(now Snapshot) bool { return strings.Contains(now.Text, "ready") }))
	other.Type("unharmed")
	must(t, other.WaitFor(s.Context(), "the echo of the other session", func(now Snapshot) bool { return strings.Contains(now.Text, "unharmed") }))
}

func TestSession_deafProgram(t *testing.T) {
	s := NewStack(t)
	id := s.Run("deaf", program(t, "deaf")...)
	stream := s.Viewer().Attach(s.HostID, id, nil)
	must(t, stream.WaitFor(s.Context(), "output", func(now Snapshot) bool { return strings.Contains(now.Text, "still here") }))
	for range 64 {
		stream.Type(strings.Repeat("x", 16<<10))
	}
	before := stream.Snapshot().Received
	must(t, stream.WaitFor(s.Context(), "more output, although the input is stuck", func(now Snapshot) bool { return now.Received > before+1000 }))
	s.Eventually("the session says that input is blocked, or returns it", func() error {
		if now := stream.Snapshot(); len(now.Draft) > 0 {
			return nil
		}
		return fmt.Errorf("nothing came back to the draft")
	})
	if _, err := s.Helm("kill", id); err != nil {
		t.Fatal(err)
	}
	must(t, stream.WaitFor(s.Context(), "the end", func(now Snapshot) bool { return now.Exit != nil }))
}

func TestSession_queriesAreAnsweredOnce(t *testing.T) {
	s := NewStack(t)
	id := s.Run("queries", program(t, "queries")...)
	first, second := s.Viewer().Attach(s.HostID, id, nil), s.Viewer().Attach(s.HostID, id, nil)
	for _, stream := range []*Stream{first, second} {
		must(t, stream.WaitFor(s.Context(), "the answers", func(now Snapshot) bool { return strings.Contains(now.Text, "answers") }))
	}
	text := first.Snapshot().Text
	if strings.Count(text, "[0n") != 1 || strings.Count(text, "R\"") != 1 {
		t.Errorf("the program did not get each answer exactly once:\n%s", text)
	}
}

func TestSession_flood(t *testing.T) {
	megabytes := 20 // under the race detector; make chaos plays 300
	if text := os.Getenv("AGENT_HELM_FLOOD"); text != "" {
		var err error
		megabytes, err = strconv.Atoi(text)
		must(t, err)
	}
	size := megabytes << 20
	s := NewStack(t)
	quiet := s.Run("quiet", program(t, "echo")...)
	other := s.Viewer().Attach(s.HostID, quiet, nil)
	must(t, other.WaitFor(s.Context(), "live", func(now Snapshot) bool { return strings.Contains(now.Text, "ready") }))
	id := s.Run("flood", program(t, "flood", fmt.Sprint(size))...)
	stream := s.Viewer().Attach(s.HostID, id, nil)
	other.Type("typed during the flood")
	must(t, other.WaitFor(s.Context(), "the echo during the flood", func(now Snapshot) bool { return strings.Contains(now.Text, "typed during the flood") }))
	must(t, stream.WaitFor(s.Context(), "the end of the flood", func(now Snapshot) bool { return strings.Contains(now.Text, "the flood is over") }))
	s.Eventually("server and viewer show the same screen", func() error {
		screen, err := s.Screen(id)
		if err != nil {
			return err
		}
		if now := stream.Snapshot(); strings.TrimRight(screen, " \n") != strings.TrimRight(now.Text, " \n") {
			return fmt.Errorf("server:\n%s\nviewer:\n%s", screen, now.Text)
		}
		return nil
	})
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
