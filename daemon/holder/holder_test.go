package holder_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/holder"
	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// patience bounds every wait in these tests; none depends on how long
// something takes below it.
const patience = 60 * time.Second

// TestMain also plays the holder, which Start makes by calling this binary,
// and the programs that run in sessions.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "hold":
			os.Exit(holder.Main(os.Args[2:]))
		case "program":
			os.Exit(program(os.Args[2], os.Args[3:]))
		}
	}
	goleak.VerifyTestMain(m)
}

// testDirs is an installation of its own.
func testDirs(t testing.TB) daemon.Dirs {
	t.Helper()
	root, err := os.MkdirTemp("", "ah")
	if err != nil {
		t.Fatal(err)
	}
	// A holder that lingers may write a last file meanwhile.
	t.Cleanup(func() { eventually(t, "clean directory", func() bool { return os.RemoveAll(root) == nil }) })
	environment := map[string]string{daemon.EnvStateDir: root + "/s", daemon.EnvConfigDir: root + "/c"}
	dirs, err := daemon.ResolveDirs(func(name string) string { return environment[name] })
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

// start runs argv in a session that ends with the test.
func start(t testing.TB, dirs daemon.Dirs, spec daemon.Spec) daemon.Session {
	t.Helper()
	if spec.Cwd == "" {
		spec.Cwd = "/"
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	session, err := holder.Start(ctx, dirs, spec)
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	t.Cleanup(func() {
		if session.HolderPID > 0 {
			syscall.Kill(-session.PID, syscall.SIGKILL)
			syscall.Kill(session.HolderPID, syscall.SIGKILL)
			eventually(t, "the holder is gone", func() bool { return syscall.Kill(session.HolderPID, 0) != nil })
		}
	})
	return session
}

// startProgram runs one of the programs of this test binary.
func startProgram(t testing.TB, dirs daemon.Dirs, name string, arguments ...string) daemon.Session {
	t.Helper()
	return start(t, dirs, daemon.Spec{Argv: programArgv(t, name, arguments...), Name: name})
}

func dial(t testing.TB, dirs daemon.Dirs, id, role string) *holder.Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, err := holder.Dial(ctx, dirs, id, role)
	if err != nil {
		t.Fatalf("dial: %v", err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

func call(t testing.TB, client *holder.Client, method string, params, result any) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := client.Call(ctx, method, params, result); err != nil {
		t.Fatalf("%s: %v", method, err)
	}
}

func send(t testing.TB, client *holder.Client, frames ...wire.Frame) {
	t.Helper()
	if err := client.Send(frames...); err != nil {
		t.Fatalf("send: %v", err)
	}
}

// eventually waits until a condition that nothing announces holds.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("%s: it did not come about", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func newClientID() (id wire.ClientID) {
	rand.Read(id[:])
	return id
}

// reader follows a session's stream as the daemon does.
type reader struct {
	t        testing.TB
	client   *holder.Client
	from     wire.Position // where the collected output begins
	position wire.Position
	output   []byte
	marks    []wire.Resize
	gaps     []wire.Gap
	acks     []wire.InputAck
	owners   []wire.SizeOwner
	updates  []wire.SessionUpdate
	live     bool
	exit     *wire.Exit
	state    []byte
	repaint  *wire.Repaint
	terminal *vt.Terminal // fed with what comes, when set
	// silent readers acknowledge nothing.
	silent bool
}

func attach(t testing.TB, dirs daemon.Dirs, id string, want wire.HolderAttach) *reader {
	t.Helper()
	return attachAs(t, dirs, id, wire.RoleDaemon, want)
}

func attachAs(t testing.TB, dirs daemon.Dirs, id, role string, want wire.HolderAttach) *reader {
	t.Helper()
	r := &reader{t: t, client: dial(t, dirs, id, role), from: want.From, position: want.From}
	send(t, r.client, &want)
	return r
}

// next takes one frame.
func (r *reader) next() error {
	frame, err := r.client.Receive()
	if err != nil {
		return err
	}
	switch f := frame.(type) {
	case *wire.Output:
		if f.Offset != r.position.Offset {
			return fmt.Errorf("output at %d, expected at %d", f.Offset, r.position.Offset)
		}
		if len(f.Data) > wire.MaxOutput {
			return fmt.Errorf("output of %d bytes", len(f.Data))
		}
		r.output = append(r.output, f.Data...)
		r.position.Offset += uint64(len(f.Data))
		if r.terminal != nil {
			r.terminal.Write(f.Data)
		}
		if !r.silent {
			return r.client.Send(&wire.Ack{Offset: r.position.Offset})
		}
	case *wire.Resize:
		if f.Offset != r.position.Offset || f.Ordinal != r.position.Marks+1 {
			return fmt.Errorf("mark %d at %d, expected %d at %d", f.Ordinal, f.Offset, r.position.Marks+1, r.position.Offset)
		}
		r.position.Marks = f.Ordinal
		r.marks = append(r.marks, *f)
		if r.terminal != nil {
			r.terminal.Resize(int(f.Cols), int(f.Rows))
		}
	case *wire.Gap:
		if f.Offset != r.position.Offset {
			return fmt.Errorf("gap at %d, expected at %d", f.Offset, r.position.Offset)
		}
		r.gaps = append(r.gaps, *f)
	case *wire.State:
		if f.First {
			r.state = nil
		}
		r.state = append(r.state, f.Data...)
		if f.Last {
			r.from, r.position, r.output = f.Position, f.Position, nil
			restored, err := vt.Restore(r.state)
			if err != nil {
				return err
			}
			r.terminal = restored
		}
	case *wire.Repaint:
		r.repaint, r.from, r.position, r.output = f, f.Position, f.Position, nil
	case *wire.Live:
		if f.Position != r.position {
			return fmt.Errorf("live at %v, expected at %v", f.Position, r.position)
		}
		r.live = true
	case *wire.Exit:
		r.exit = f
	case *wire.InputAck:
		r.acks = append(r.acks, *f)
	case *wire.SizeOwner:
		r.owners = append(r.owners, *f)
	case *wire.SessionUpdate:
		r.updates = append(r.updates, *f)
	}
	return nil
}

// until takes frames until a condition holds.
func (r *reader) until(what string, condition func() bool) {
	r.t.Helper()
	stop := time.AfterFunc(patience, func() { r.client.Close() })
	defer stop.Stop()
	for !condition() {
		if err := r.next(); err != nil {
			r.t.Fatalf("%s: %v; so far %q", what, err, tail(r.output))
		}
	}
}

func tail(b []byte) []byte { return b[max(0, len(b)-200):] }

func (r *reader) untilOutput(text string) {
	r.t.Helper()
	r.until("output "+text, func() bool { return bytes.Contains(r.output, []byte(text)) })
}

func (r *reader) untilExit() {
	r.t.Helper()
	r.until("exit", func() bool { return r.exit != nil })
}

// typist is one source of input on a reader's connection.
type typist struct {
	r   *reader
	id  wire.ClientID
	seq uint64
}

func (r *reader) typist() *typist { return &typist{r: r, id: newClientID()} }

func (y *typist) send(kind wire.InputKind, data string) {
	y.r.t.Helper()
	y.seq++
	send(y.r.t, y.r.client, &wire.Input{Client: y.id, Seq: y.seq, Kind: kind, Sent: y.r.client.Sent(), Data: []byte(data)})
}

// answer waits for the answer to the last input.
func (y *typist) answer() wire.InputAck {
	y.r.t.Helper()
	var found *wire.InputAck
	y.r.until("answer to input", func() bool {
		for i := range y.r.acks {
			if y.r.acks[i].Client == y.id && (y.r.acks[i].Seq == y.seq || y.r.acks[i].Status != wire.InputApplied) {
				found = &y.r.acks[i]
			}
		}
		return found != nil
	})
	return *found
}

func (y *typist) applied(kind wire.InputKind, data string) {
	y.r.t.Helper()
	y.send(kind, data)
	if ack := y.answer(); ack.Status != wire.InputApplied || ack.Seq != y.seq {
		y.r.t.Fatalf("input %q: answer %+v", data, ack)
	}
}

func TestStart(t *testing.T) {
	t.Parallel()
	dirs := testDirs(t)
	session := start(t, dirs, daemon.Spec{Argv: []string{"sh", "-c", "echo hello; read line; echo got $line; exit 7"}, Name: "greeter", Cols: 100, Rows: 30})
	if session.State != daemon.StateRunning || session.PID == 0 || session.Name != "greeter" || !session.Online {
		t.Errorf("session %+v", session)
	}
	r := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream})
	r.untilOutput("hello\r\n")
	r.until("live", func() bool { return r.live })
	y := r.typist()
	y.applied(wire.InputBytes, "world\r")
	r.untilOutput("got world\r\n")
	r.untilExit()
	if r.exit.Code != 7 || r.exit.Signal != "" || r.exit.Offset != r.position.Offset {
		t.Errorf("exit %+v at %v", r.exit, r.position)
	}
	eventually(t, "exit record", func() bool {
		got, err := holder.Inspect(dirs, session.ID)
		return err == nil && got.State == daemon.StateExited && got.ExitCode != nil && *got.ExitCode == 7
	})
	r.client.Close()
	eventually(t, "socket is gone", func() bool { _, err := os.Lstat(dirs.SessionSocket(session.ID)); return err != nil })
	got, err := holder.Inspect(dirs, session.ID)
	if err != nil || got.State != daemon.StateExited || got.Name != "greeter" || got.Cols != 100 {
		t.Errorf("after the end: %+v, %v", got, err)
	}
	log, err := os.ReadFile(filepath.Join(dirs.SessionDir(session.ID), "log", "0000000000000000.out"))
	if err != nil || !bytes.Equal(log, r.output) {
		t.Errorf("log %q, %v", log, err)
	}
}

func TestStart_Errors(t *testing.T) {
	dirs := testDirs(t)
	directory := t.TempDir()
	if err := os.WriteFile(directory+"/plain", []byte("#!/bin/sh\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(directory+"/broken", []byte("#!/no/such/interpreter\n"), 0o700); err != nil { //nolint:gosec // it must be executable
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		spec daemon.Spec
		want string
	}{
		"no such command":   {daemon.Spec{Argv: []string{"no-such-command"}}, "no-such-command: command not found in PATH"},
		"no such file":      {daemon.Spec{Argv: []string{"./none"}}, "no such file"},
		"a directory":       {daemon.Spec{Argv: []string{"/etc"}}, "/etc is a directory"},
		"not executable":    {daemon.Spec{Argv: []string{directory + "/plain"}}, "permission denied"},
		"no interpreter":    {daemon.Spec{Argv: []string{directory + "/broken"}}, "no such file"},
		"no such directory": {daemon.Spec{Argv: []string{"sh"}, Cwd: "/no/such/place"}, "the working directory /no/such/place does not exist"},
		"invalid":           {daemon.Spec{Argv: []string{"sh"}, Cols: 5000}, "outside"},
	} {
		if c.spec.Cwd == "" {
			c.spec.Cwd = "/"
		}
		_, err := holder.Start(t.Context(), dirs, c.spec)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	if ids, err := dirs.SessionIDs(); err != nil || len(ids) > 0 {
		t.Errorf("failed starts left %v, %v", ids, err)
	}
	if sockets, err := os.ReadDir(dirs.Run); err != nil || len(sockets) > 0 {
		t.Errorf("failed starts left %v, %v", sockets, err)
	}
}

func TestDial_Errors(t *testing.T) {
	t.Parallel()
	dirs := testDirs(t)
	if _, err := holder.Dial(t.Context(), dirs, daemon.NewSessionID(), wire.RoleTool); !errors.Is(err, holder.ErrNoHolder) {
		t.Errorf("no holder: %v", err)
	}
	if _, err := holder.Dial(t.Context(), dirs, "../x", wire.RoleTool); !errors.Is(err, holder.ErrNoSession) {
		t.Errorf("bad id: %v", err)
	}
	session := start(t, dirs, daemon.Spec{Argv: []string{"cat"}})
	var fault *wire.Fault
	if _, err := holder.Dial(t.Context(), dirs, session.ID, "stranger"); !errors.As(err, &fault) || fault.Code != wire.CodeInvalid {
		t.Errorf("bad role: %v", err)
	}
	client := dial(t, dirs, session.ID, wire.RoleTool)
	if err := client.Call(t.Context(), "session.dance", nil, nil); !errors.As(err, &fault) || fault.Code != wire.CodeUnsupported {
		t.Errorf("unknown method: %v", err)
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := holder.Dial(cancelled, dirs, session.ID, wire.RoleTool); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	call(t, client, wire.MethodKill, nil, nil)
	for {
		if _, err := client.Receive(); err != nil {
			if !errors.Is(err, io.EOF) {
				t.Errorf("end of the session: %v", err)
			}
			break
		}
	}
}

// programArgv is the command line of one of this binary's programs.
func programArgv(t testing.TB, name string, arguments ...string) []string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return append([]string{self, "program", name}, arguments...)
}

func itoa(n uint16) string { return strconv.Itoa(int(n)) }

func errorOf(r *reader, method string, params any) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return r.client.Call(ctx, method, params, nil)
}
