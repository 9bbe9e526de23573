package supervisor

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// useShell makes a script the user's login shell.
func useShell(t *testing.T, script string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "shell")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SHELL", path)
}

func TestLoginShell_Environ(t *testing.T) {
	for name, c := range map[string]struct{ script, want string }{
		"plain": {`FROM=profile; export FROM; eval "$2"`, "FROM=profile"},
		"noisy": {`echo welcome; printf 'FROM=noise\0'; FROM='a b
c'; export FROM; eval "$2"; echo bye`, "FROM=a b\nc"},
		"keeps a child":     {`FROM=x; export FROM; sleep 3 & eval "$2"`, "FROM=x"},
		"asks the terminal": {`read answer </dev/tty; FROM=x; export FROM; eval "$2"`, "FROM=x"},
		"prints no mark":    {`echo hello`, ""},
		"fails":             {`exit 3`, ""},
		"hangs":             {`sleep 600`, ""},
		"old env":           {`set -- $2; printf '%s' "${3%;}"; echo A=b`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			useShell(t, c.script)
			t.Setenv("AGENT_HELM_SECRET", "x")
			l := newLoginShell(slog.New(slog.DiscardHandler))
			if name == "hangs" {
				l.timeout = 100 * time.Millisecond
			}
			got := l.environ(t.Context())
			if c.want != "" && !slices.Contains(got, c.want) {
				t.Errorf("the environment lacks %q: %q", c.want, got)
			}
			if c.want == "" && l.environment != nil {
				t.Errorf("a failure is kept: %q", l.environment)
			}
			if !slices.ContainsFunc(got, func(entry string) bool { return strings.HasPrefix(entry, "PATH=") }) {
				t.Error("there is no PATH")
			}
			for _, entry := range got {
				if strings.HasPrefix(entry, "AGENT_HELM_") || strings.HasPrefix(entry, "_=") {
					t.Errorf("%s is passed on", entry)
				}
			}
		})
	}
}

func TestLoginShell_IsAskedOnce(t *testing.T) {
	count := filepath.Join(t.TempDir(), "count")
	useShell(t, `echo x >>`+count+`; eval "$2"`)
	l := newLoginShell(slog.New(slog.DiscardHandler))
	l.environ(t.Context())
	l.environ(t.Context())
	if text, err := os.ReadFile(count); err != nil || string(text) != "x\n" {
		t.Errorf("the shell ran %d times, %v", len(text)/2, err)
	}
}

func TestShellOf(t *testing.T) {
	const passwd = "root:x:0:0:root:/root:/bin/bash\nbroken\nme:x:1000:1000:Me:/home/me:/usr/bin/fish\n"
	for uid, want := range map[int]string{0: "/bin/bash", 1000: "/usr/bin/fish", 7: ""} {
		if got := shellOf(strings.NewReader(passwd), uid); got != want {
			t.Errorf("user %d has %q", uid, got)
		}
	}
}

func TestSupervisor_StartRemote(t *testing.T) {
	bin := t.TempDir()
	if err := os.WriteFile(filepath.Join(bin, "claude"), []byte("#!/bin/sh\necho \"agent $FROM in $PWD\"; exec cat\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	useShell(t, `case "$1" in -lic) PATH=`+bin+`:$PATH; FROM=profile; export PATH FROM; eval "$2";; *) exec cat;; esac`)
	home := t.TempDir()
	t.Setenv("HOME", home)
	s, _ := open(t)
	remote := func(params wire.StartParams) (daemon.Session, error) {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		session, err := s.StartRemote(ctx, params)
		if err == nil {
			t.Cleanup(func() { end(t, session) })
		}
		return session, err
	}
	session, err := remote(wire.StartParams{Agent: "claude", Cols: 100, Rows: 30})
	if err != nil {
		t.Fatal(err)
	}
	if session.Cwd != home || session.Agent != "claude" || session.Cols != 100 {
		t.Errorf("started as %+v", session)
	}
	eventually(t, "its output", func() bool {
		page, err := s.Page(t.Context(), wire.PageParams{ID: session.ID, Max: 10})
		return err == nil && page != nil && s.screen(t, session.ID) == "agent profile in "+home
	})
	if shell, err := remote(wire.StartParams{Agent: daemon.AgentShell, Cwd: "~/"}); err != nil || shell.Agent != daemon.AgentShell {
		t.Errorf("the shell: %+v, %v", shell, err)
	}
	for name, params := range map[string]wire.StartParams{
		"not installed":      {Agent: "gemini"},
		"unknown agent":      {Agent: "rm"},
		"relative directory": {Agent: "claude", Cwd: "tmp"},
		"missing directory":  {Agent: "claude", Cwd: "/no/such/place"},
		"NUL":                {Agent: "claude", Cwd: "/tmp\x00/x"},
		"name":               {Agent: "claude", Name: "\x1b"},
	} {
		if _, err := remote(params); code(err) != wire.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// screen is a session's first line of text.
func (s *Supervisor) screen(t testing.TB, id string) string {
	t.Helper()
	var result wire.TextResult
	if err := s.call(t.Context(), id, wire.MethodText, wire.TextParams{}, &result); err != nil {
		return ""
	}
	line, _, _ := strings.Cut(result.Text, "\n")
	return strings.TrimSpace(line)
}
