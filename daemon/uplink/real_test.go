package uplink

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/supervisor"
	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// realHost is a supervisor with real holders, and an uplink over TCP.
type realHost struct {
	dirs   daemon.Dirs
	s      *supervisor.Supervisor
	server *fakeServer
	uplink *Uplink
	stop   func()
	url    string
}

func newRealHost(t *testing.T) *realHost {
	t.Helper()
	root, err := os.MkdirTemp("", "ah")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	environment := map[string]string{daemon.EnvStateDir: root + "/s", daemon.EnvConfigDir: root + "/c"}
	h := &realHost{server: newFakeServer()}
	if h.dirs, err = daemon.ResolveDirs(func(name string) string { return environment[name] }); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h.server)
	t.Cleanup(server.Close)
	h.url = server.URL
	h.start(t)
	t.Cleanup(func() { h.stop() })
	return h
}

// start is a new daemon: a supervisor that adopts what is there, and an uplink.
func (h *realHost) start(t *testing.T) {
	t.Helper()
	var err error
	if h.s, err = supervisor.Open(h.dirs, nil); err != nil {
		t.Fatal(err)
	}
	policy := NewPolicyFile(h.dirs)
	h.uplink = New(Options{
		Config: func() (daemon.HostConfig, error) {
			return daemon.HostConfig{Server: h.url, HostID: "h", Name: "n", Token: testToken}, nil
		},
		Policy: policy.Policy, Sessions: FromSupervisor(h.s), Version: "test", VT: vt.StateVersion,
	})
	ctx, cancel := context.WithCancel(context.Background())
	watched, linked := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watched)
		h.s.Run(ctx)
	}()
	go func() {
		defer close(linked)
		h.uplink.Run(ctx)
	}()
	h.stop = func() {
		cancel()
		<-watched
		<-linked
	}
}

// run starts a shell command in a session that ends with the test.
func (h *realHost) run(t *testing.T, command string) daemon.Session {
	t.Helper()
	session, err := h.s.Start(t.Context(), daemon.Spec{Argv: []string{"/bin/sh", "-c", command}, Cwd: "/"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		syscall.Kill(-session.PID, syscall.SIGKILL)
		syscall.Kill(session.HolderPID, syscall.SIGKILL)
		eventually(t, "the holder's end", func() bool { return syscall.Kill(session.HolderPID, 0) != nil })
	})
	return session
}

func (h *realHost) shows(t *testing.T, id, text string) {
	t.Helper()
	h.server.wait(t, text, func() bool {
		c := h.server.copies[id]
		return c != nil && strings.Contains(string(c.data), text)
	})
}

func TestReal_EchoRestartAndEnd(t *testing.T) {
	h := newRealHost(t)
	session := h.run(t, `stty -echo; while read line; do echo "got $line"; done; exit 4`)
	h.server.wait(t, "the session", func() bool { return h.server.copies[session.ID] != nil })
	typed := uint64(0)
	enter := func(text string) {
		typed++
		h.server.send(t, &wire.Input{Handle: h.server.handle(session.ID), Client: wire.ClientID{9}, Seq: typed, Data: []byte(text + "\r")})
		h.shows(t, session.ID, "got "+text)
	}
	// The terminal may still echo; what counts is the answer.
	enter("one")
	// The daemon ends and another one adopts the session; the server goes on
	// from where it was, and the client with its sequence.
	h.server.mu.Lock()
	h.server.live = nil
	h.server.mu.Unlock()
	h.stop()
	h.start(t)
	h.server.wait(t, "another link", func() bool { return h.server.live != nil })
	enter("two")
	c := h.server.copy(session.ID)
	if c.gaps+c.states > 0 || strings.Count(string(c.data), "got one") != 1 {
		t.Errorf("after the restart the stream is %q with %d gaps and %d states", c.data, c.gaps, c.states)
	}
	// A size, a rename, and the end.
	now := func() *serverCopy { return h.server.copies[session.ID] }
	h.server.send(t, &wire.ClaimSize{Handle: h.server.handle(session.ID), Client: wire.ClientID{9}, Cols: 100, Rows: 40})
	h.server.wait(t, "the resize", func() bool { return now().resizes > 0 })
	if err := h.s.Rename(t.Context(), session.ID, "renamed"); err != nil {
		t.Fatal(err)
	}
	h.server.wait(t, "the name", func() bool { return now().meta.Name == "renamed" })
	typed++
	h.server.send(t, &wire.Input{Handle: h.server.handle(session.ID), Client: wire.ClientID{9}, Seq: typed, Data: []byte("\x04")})
	h.server.wait(t, "the exit", func() bool {
		return now().exit != nil && now().exit.Code == 4 && now().meta.State == string(daemon.StateExited)
	})
}

func TestReal_OutputWhileAwayArrivesFromTheRecord(t *testing.T) {
	h := newRealHost(t)
	gate := h.dirs.Config + "/gate"
	session := h.run(t, `echo start; while ! [ -e `+gate+` ]; do sleep 0.05; done; seq 1 20000; exit 5`)
	h.shows(t, session.ID, "start")
	h.stop()
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the holder's end", func() bool { return syscall.Kill(session.HolderPID, 0) != nil })
	h.start(t)
	h.server.wait(t, "the exit", func() bool { return h.server.copies[session.ID].exit != nil })
	c := h.server.copy(session.ID)
	var want bytes.Buffer
	want.WriteString("start\r\n")
	for i := range 20000 {
		fmt.Fprintf(&want, "%d\r\n", i+1)
	}
	if !bytes.Equal(c.data, want.Bytes()) || c.gaps+c.states > 0 || c.exit.Code != 5 {
		t.Errorf("%d bytes of %d, %d gaps, %d states, exit %+v", len(c.data), want.Len(), c.gaps, c.states, c.exit)
	}
}

func TestReal_StateIsARealTerminal(t *testing.T) {
	h := newRealHost(t)
	h.server.forget = true
	session := h.run(t, `printf '\033[1;31mred\033[0m text'; exec cat`)
	eventually(t, "the program's output", func() bool {
		page, err := h.s.Page(t.Context(), wire.PageParams{ID: session.ID, Max: 1})
		return err == nil && page != nil
	})
	h.server.wait(t, "a state", func() bool {
		c := h.server.copies[session.ID]
		return c != nil && c.states > 0
	})
	terminal, err := vt.Restore(h.server.copy(session.ID).data)
	if err != nil {
		t.Fatal(err)
	}
	if cols, rows := terminal.Size(); cols != 80 || rows != 24 {
		t.Errorf("the restored terminal is %d×%d", cols, rows)
	}
}

func TestReal_KilledHolderIsLostAndTheRestGoesOn(t *testing.T) {
	h := newRealHost(t)
	victim, other := h.run(t, "echo victim; exec cat"), h.run(t, "echo other; exec cat")
	h.shows(t, victim.ID, "victim")
	h.shows(t, other.ID, "other")
	syscall.Kill(victim.HolderPID, syscall.SIGKILL)
	h.server.wait(t, "the loss", func() bool { return h.server.copies[victim.ID].meta.State == string(daemon.StateLost) })
	h.server.send(t, &wire.Input{Handle: h.server.handle(other.ID), Client: wire.ClientID{1}, Seq: 1, Data: []byte("still\r")})
	h.shows(t, other.ID, "still\r\nstill")
	h.server.send(t, &wire.Input{Handle: h.server.handle(victim.ID), Client: wire.ClientID{2}, Seq: 1, Data: []byte("x")})
	h.server.wait(t, "an answer", func() bool {
		for _, ack := range h.server.live.acks {
			if ack.Client == (wire.ClientID{2}) {
				return ack.Status == wire.InputEnded
			}
		}
		return false
	})
	if h.server.linked() != 1 {
		t.Errorf("%d links", h.server.linked())
	}
}

func TestReal_StartKillForgetByCalls(t *testing.T) {
	h := newRealHost(t)
	t.Setenv("SHELL", "/bin/sh")
	h.server.wait(t, "the link", func() bool { return h.server.live != nil })
	r := &rig{server: h.server}
	reply := r.reply(t, 1, wire.MethodStart, wire.StartParams{Agent: daemon.AgentShell, Name: "remote", Cwd: "/"})
	if reply.Error != nil {
		t.Fatalf("start: %+v", reply.Error)
	}
	var session daemon.Session
	eventually(t, "the session", func() bool {
		list, err := h.s.List(t.Context())
		if err == nil && len(list) == 1 {
			session = list[0]
		}
		return session.ID != ""
	})
	h.server.wait(t, "its announcement", func() bool { return h.server.copies[session.ID] != nil })
	if reply := r.reply(t, 2, wire.MethodForget, wire.SessionParams{ID: session.ID}); reply.Error == nil {
		t.Error("a running session was forgotten")
	}
	if reply := r.reply(t, 3, wire.MethodKill, wire.SessionParams{ID: session.ID}); reply.Error != nil {
		t.Errorf("kill: %+v", reply.Error)
	}
	h.server.wait(t, "the exit", func() bool { return h.server.copies[session.ID].exit != nil })
	eventually(t, "the end", func() bool {
		got, err := h.s.Get(t.Context(), session.ID)
		return err == nil && got.State == daemon.StateExited
	})
	if reply := r.reply(t, 4, wire.MethodPage, wire.PageParams{ID: session.ID, Max: 5}); reply.Error != nil {
		t.Errorf("page: %+v", reply.Error)
	}
	if reply := r.reply(t, 5, wire.MethodForget, wire.SessionParams{ID: session.ID}); reply.Error != nil {
		t.Errorf("forget: %+v", reply.Error)
	}
	h.server.wait(t, "the end of the session", func() bool { return h.server.copies[session.ID].closed })
}
