package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/holder"
	"github.com/agent-helm/agent-helm/internal/wire"
	"go.uber.org/goleak"
)

// patience bounds every wait in these tests; none depends on how long
// something takes below it.
const patience = time.Minute

// TestMain also plays the holder, which Start makes by calling this binary.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "hold" {
		os.Exit(holder.Main(os.Args[2:]))
	}
	goleak.VerifyTestMain(m)
}

func open(t testing.TB) (*Supervisor, daemon.Dirs) {
	t.Helper()
	root, err := os.MkdirTemp("", "ah")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	environment := map[string]string{daemon.EnvStateDir: root + "/s", daemon.EnvConfigDir: root + "/c"}
	dirs, err := daemon.ResolveDirs(func(name string) string { return environment[name] })
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(dirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	return s, dirs
}

// start runs a shell command in a session that ends with the test.
func start(t testing.TB, s *Supervisor, name, command string) daemon.Session {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	session, err := s.Start(ctx, daemon.Spec{Name: name, Argv: []string{"/bin/sh", "-c", command}, Cwd: "/"})
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	t.Cleanup(func() { end(t, session) })
	return session
}

// end kills a session and its holder.
func end(t testing.TB, session daemon.Session) {
	t.Helper()
	syscall.Kill(-session.PID, syscall.SIGKILL)
	syscall.Kill(session.HolderPID, syscall.SIGKILL)
	eventually(t, "the holder's end", func() bool { return syscall.Kill(session.HolderPID, 0) != nil })
}

// eventually waits until a condition that nothing announces holds.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		<-poll.C
	}
}

// run watches until the test ends.
func run(t testing.TB, s *Supervisor) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.Run(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-ended
	})
	eventually(t, "the first look", func() bool { _, ok := s.cached(); return ok })
}

func list(t testing.TB, s *Supervisor) []daemon.Session {
	t.Helper()
	sessions, err := s.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return sessions
}

func byID(t testing.TB, s *Supervisor, id string) daemon.Session {
	t.Helper()
	sessions := list(t, s)
	i := slices.IndexFunc(sessions, func(session daemon.Session) bool { return session.ID == id })
	if i < 0 {
		return daemon.Session{}
	}
	return sessions[i]
}

func TestSupervisor_Life(t *testing.T) {
	s, dirs := open(t)
	session := start(t, s, "one", "cat")
	if got := list(t, s); len(got) != 1 || got[0].State != daemon.StateRunning || !got[0].Online || got[0].Name != "one" {
		t.Fatalf("list is %+v", got)
	}
	if err := s.Rename(t.Context(), session.ID, "two"); err != nil {
		t.Fatal(err)
	}
	if err := s.Rename(t.Context(), session.ID, "bad\x1bname"); code(err) != wire.CodeInvalid {
		t.Errorf("rename to a bad name: %v", err)
	}
	if got := byID(t, s, session.ID); got.Name != "two" {
		t.Errorf("the name is %q", got.Name)
	}
	if err := s.Forget(t.Context(), session.ID); !errors.Is(err, ErrRunning) {
		t.Errorf("forget while it runs: %v", err)
	}
	if err := s.Signal(t.Context(), session.ID, "nonsense"); code(err) != wire.CodeInvalid {
		t.Errorf("signal nonsense: %v", err)
	}
	// Once somebody has read it, the holder does not linger.
	client, err := s.Dial(t.Context(), session.ID, wire.RoleDaemon)
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Send(&wire.HolderAttach{Want: wire.WantStream}); err != nil {
		t.Fatal(err)
	}
	if err := s.Kill(t.Context(), session.ID); err != nil {
		t.Fatal(err)
	}
	for {
		if f, err := client.Receive(); err != nil || f.Type() == wire.TypeExit {
			break
		}
	}
	client.Close()
	eventually(t, "the end", func() bool { return byID(t, s, session.ID).State == daemon.StateExited })
	if got := byID(t, s, session.ID); got.ExitSignal == "" {
		t.Errorf("it ended as %+v", got)
	}
	eventually(t, "the holder's end", func() bool {
		_, err := s.Dial(t.Context(), session.ID, wire.RoleTool)
		return errors.Is(err, ErrEnded)
	})
	// What ended can be renamed, read and forgotten.
	if err := s.Rename(t.Context(), session.ID, "three"); err != nil {
		t.Error(err)
	}
	if got := byID(t, s, session.ID); got.Name != "three" {
		t.Errorf("the name is %q", got.Name)
	}
	if err := s.Kill(t.Context(), session.ID); !errors.Is(err, ErrEnded) {
		t.Errorf("kill what has ended: %v", err)
	}
	if page, err := s.Page(t.Context(), wire.PageParams{ID: session.ID, Max: 10}); err != nil || !json.Valid(page) {
		t.Errorf("page of what has ended: %s, %v", page, err)
	}
	if err := s.Forget(t.Context(), session.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(dirs.SessionDir(session.ID)); !errors.Is(err, os.ErrNotExist) || len(list(t, s)) != 0 {
		t.Errorf("it is still there: %v", err)
	}
	if err := s.Forget(t.Context(), session.ID); !errors.Is(err, ErrUnknownSession) {
		t.Errorf("forget twice: %v", err)
	}
	if _, err := s.Get(t.Context(), "../../etc"); !errors.Is(err, ErrUnknownSession) {
		t.Errorf("an id that is a path: %v", err)
	}
}

func code(err error) string {
	var fault *wire.Fault
	if errors.As(err, &fault) {
		return fault.Code
	}
	return ""
}

func TestSupervisor_WatchSeesWhatOthersDo(t *testing.T) {
	s, dirs := open(t)
	before := start(t, s, "before", "cat")
	// The daemon is another Supervisor than the command's.
	watcher, err := Open(dirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	changes, cancel := watcher.Subscribe()
	defer cancel()
	run(t, watcher)
	<-changes
	if got := byID(t, watcher, before.ID); !got.Online || got.PID != before.PID {
		t.Errorf("adopted as %+v", got)
	}
	after := start(t, s, "after", "cat")
	// No nudge: the scan finds it.
	waitFor(t, changes, func() bool { return byID(t, watcher, after.ID).Online })
	if err := s.Kill(t.Context(), after.ID); err != nil {
		t.Fatal(err)
	}
	waitFor(t, changes, func() bool { return byID(t, watcher, after.ID).State == daemon.StateExited })
	syscall.Kill(before.HolderPID, syscall.SIGKILL)
	waitFor(t, changes, func() bool { return byID(t, watcher, before.ID).State == daemon.StateLost })
	if got := byID(t, watcher, before.ID); got.LostReason != holder.LostHolder {
		t.Errorf("lost because %q", got.LostReason)
	}
	if err := watcher.Forget(t.Context(), before.ID); err != nil {
		t.Fatal(err)
	}
	waitFor(t, changes, func() bool { return byID(t, watcher, before.ID).ID == "" })
}

// waitFor waits for a signal after which the condition holds.
func waitFor(t testing.TB, changes <-chan struct{}, condition func() bool) {
	t.Helper()
	timeout := time.NewTimer(patience)
	defer timeout.Stop()
	for !condition() {
		select {
		case <-changes:
		case <-timeout.C:
			t.Fatal("no change was signalled")
		}
	}
}

func TestSupervisor_DamagedFilesHarmOnlyTheirSession(t *testing.T) {
	s, dirs := open(t)
	good := start(t, s, "good", "cat")
	for name, damage := range map[string]func(t *testing.T, directory string){
		"empty spec":     func(t *testing.T, d string) { write(t, d+"/spec.json", "") },
		"broken spec":    func(t *testing.T, d string) { write(t, d+"/spec.json", `{"id":`) },
		"another's spec": func(t *testing.T, d string) { write(t, d+"/spec.json", `{"id":"`+good.ID+`"}`) },
		"huge spec":      func(t *testing.T, d string) { write(t, d+"/spec.json", strings.Repeat(" ", maxRecord+1)) },
		"fifo":           func(t *testing.T, d string) { mustFifo(t, d+"/spec.json") },
		"fifo exit": func(t *testing.T, d string) {
			write(t, d+"/spec.json", `{"id":"`+filepath.Base(d)+`","name":"x"}`)
			mustFifo(t, d+"/exit.json")
		},
		"link": func(t *testing.T, d string) {
			if err := os.Symlink("/etc/passwd", d+"/spec.json"); err != nil {
				t.Fatal(err)
			}
		},
		"directory": func(t *testing.T, d string) {
			if err := os.Mkdir(d+"/spec.json", 0o700); err != nil {
				t.Fatal(err)
			}
		},
		"escapes": func(t *testing.T, d string) {
			write(t, d+"/spec.json", `{"id":"`+filepath.Base(d)+`","name":"\u001b]0;x\u0007evil","argv":["a\u001b[2J"],"created":"2020-01-01T00:00:00Z"}`)
			write(t, d+"/exit.json", `{"code":0,"signal":"\u001b[31m","cols":80,"rows":24}`)
		},
	} {
		t.Run(name, func(t *testing.T) {
			id := daemon.NewSessionID()
			if err := os.Mkdir(dirs.SessionDir(id), 0o700); err != nil {
				t.Fatal(err)
			}
			damage(t, dirs.SessionDir(id))
			got := byID(t, s, id)
			if got.ID != id || got.State == daemon.StateRunning {
				t.Fatalf("listed as %+v", got)
			}
			if name != "escapes" && (got.State != daemon.StateLost || !strings.Contains(got.Warning, dirs.SessionDir(id))) {
				t.Errorf("no clear warning: %+v", got)
			}
			if text := fmt.Sprintf("%+v", got); strings.ContainsAny(text, "\x1b\x07") {
				t.Errorf("control characters are passed on: %q", text)
			}
			if other := byID(t, s, good.ID); !other.Online {
				t.Errorf("the good session suffers: %+v", other)
			}
			if err := s.Forget(t.Context(), id); err != nil {
				t.Errorf("it cannot be forgotten: %v", err)
			}
		})
	}
	// Files that are no sessions at all are left alone.
	write(t, filepath.Join(dirs.State, "sessions", "notes.txt"), "x")
	if err := os.Symlink("/", filepath.Join(dirs.State, "sessions", daemon.NewSessionID())); err != nil {
		t.Fatal(err)
	}
	if got := list(t, s); len(got) != 1 {
		t.Errorf("%d sessions are listed", len(got))
	}
}

func TestSupervisor_RunningSessionWithDamagedSpec(t *testing.T) {
	s, dirs := open(t)
	session := start(t, s, "alive", "cat")
	write(t, dirs.SessionDir(session.ID)+"/spec.json", "broken")
	got := byID(t, s, session.ID)
	if got.State != daemon.StateRunning || !got.Online || got.Name != "alive" || got.Warning == "" {
		t.Errorf("listed as %+v", got)
	}
	if err := s.Forget(t.Context(), session.ID); !errors.Is(err, ErrRunning) {
		t.Errorf("forget: %v", err)
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func mustFifo(t testing.TB, path string) {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestSupervisor_StoppedHolderIsOffline(t *testing.T) {
	s, _ := open(t)
	session := start(t, s, "stopped", "cat")
	syscall.Kill(session.HolderPID, syscall.SIGSTOP)
	got := byID(t, s, session.ID)
	syscall.Kill(session.HolderPID, syscall.SIGCONT)
	if got.State != daemon.StateRunning || got.Online {
		t.Errorf("listed as %+v", got)
	}
	eventually(t, "the answer", func() bool { return byID(t, s, session.ID).Online })
}

func TestSupervisor_StartRefusals(t *testing.T) {
	s, _ := open(t)
	for name, spec := range map[string]daemon.Spec{
		"no command": {Cwd: "/"},
		"bad name":   {Argv: []string{"cat"}, Cwd: "/", Name: "a\nb"},
		"huge size":  {Argv: []string{"cat"}, Cwd: "/", Cols: 60000, Rows: 1},
	} {
		if _, err := s.Start(t.Context(), spec); code(err) != wire.CodeInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := s.Start(t.Context(), daemon.Spec{Argv: []string{"/no/such/program"}, Cwd: "/"}); err == nil {
		t.Error("a program that is not there was started")
	}
	if got := list(t, s); len(got) != 0 {
		t.Errorf("failed starts left %+v", got)
	}
}
