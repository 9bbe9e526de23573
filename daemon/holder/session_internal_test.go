package holder

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/pty"
	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// TestSession_TerminalFault: a defect of the terminal costs the screen, not
// the session.
func TestSession_TerminalFault(t *testing.T) {
	s, end := localSession(t)
	defer end()
	s.take([]byte("before"))
	s.mu.Lock()
	s.guard(func() { panic("defect") })
	s.mu.Unlock()
	s.take([]byte("after"))
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := s.terminal.Text(vt.TextOptions{}); strings.TrimSpace(got) != "after" {
		t.Errorf("screen %q", got)
	}
	if end := s.log.End().Offset; end != uint64(len("beforeafter")) {
		t.Errorf("log ends at %d", end)
	}
}

// TestSession_ConnectionFault: a defect in serving a client costs that client.
func TestSession_ConnectionFault(t *testing.T) {
	methods["test.defect"] = func(s *session, _ json.RawMessage) (any, *wire.Fault) {
		s.mu.Lock()
		defer s.mu.Unlock()
		panic("defect")
	}
	defer delete(methods, "test.defect")
	s, end := localSession(t)
	defer end()
	for range 2 {
		client, server := socketPair(t)
		served := make(chan struct{})
		go func() {
			defer close(served)
			s.serve(server, false)
		}()
		hello, err := wire.AppendAll(wire.AppendPreamble(nil), &wire.HolderHello{Role: wire.RoleTool}, &wire.RPC{ID: 1, Method: "test.defect"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Write(hello); err != nil {
			t.Fatal(err)
		}
		reader := wire.NewReader(bufio.NewReader(client))
		if _, err := reader.ReadPreamble(); err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = reader.ReadFrame()
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("the connection ended with %v", err)
		}
		client.Close()
		<-served
	}
}

// localSession is a session in this process, of a program that reads everything.
func localSession(f testing.TB) (*session, func()) {
	root := f.TempDir()
	dirs := daemon.Dirs{Config: root + "/c", State: root + "/s", Run: root + "/s/run"}
	spec := daemon.Spec{Argv: []string{"/bin/sh", "-c", "stty raw -echo; exec cat >/dev/null"}, Cwd: "/"}.WithDefaults(time.Now())
	if err := dirs.Create(); err != nil {
		f.Fatal(err)
	}
	if err := os.Mkdir(dirs.SessionDir(spec.ID), 0o700); err != nil {
		f.Fatal(err)
	}
	if err := daemon.WriteJSON(filepath.Join(dirs.SessionDir(spec.ID), specFile), spec); err != nil {
		f.Fatal(err)
	}
	process, err := pty.Start(pty.Options{Path: spec.Argv[0], Argv: spec.Argv, Dir: "/", Cols: spec.Cols, Rows: spec.Rows})
	if err != nil {
		f.Fatal(err)
	}
	logger := slog.New(slog.DiscardHandler)
	s := &session{dirs: dirs, spec: spec, name: spec.Name, process: process, logger: logger, started: time.Now()}
	s.log = newOutputLog(filepath.Join(dirs.SessionDir(spec.ID), logDir), spec.LogBytes, spec.Cols, spec.Rows, logger, time.Now)
	s.start()
	return s, func() {
		s.kill()
		<-s.ended
		s.routines.Wait()
		process.Close()
		if err := s.log.Close(); err != nil {
			f.Error(err)
		}
	}
}

func socketPair(t testing.TB) (client, server *net.UnixConn) {
	path := filepath.Join(t.TempDir(), "s")
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	client, err = net.DialUnix("unix", nil, &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	if server, err = listener.AcceptUnix(); err != nil {
		t.Fatal(err)
	}
	return client, server
}
