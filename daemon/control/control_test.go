package control

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/uplink"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func testDirs(t *testing.T) daemon.Dirs {
	t.Helper()
	// Sockets need a short path.
	base, err := os.MkdirTemp("", "ah")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(base) })
	dirs, err := daemon.ResolveDirs(func(name string) string {
		return map[string]string{daemon.EnvConfigDir: base + "/c", daemon.EnvStateDir: base + "/s"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	return dirs
}

// serve runs a server until the test ends and returns what was asked of it.
func serve(t *testing.T, dirs daemon.Dirs) chan string {
	t.Helper()
	s, err := Listen(dirs, nil)
	if err != nil {
		t.Fatal(err)
	}
	asked := make(chan string, 16)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- s.Serve(ctx, Handler{
			Status: func(context.Context) (Status, error) {
				return Status{Version: "v", PID: 42, Uplink: uplink.Status{State: uplink.StateConnected}, Sessions: []daemon.Session{{ID: "x"}}}, nil
			},
			Nudge:    func() { asked <- "nudge" },
			Shutdown: func() { asked <- "shutdown" },
		})
	}()
	t.Cleanup(func() {
		cancel()
		if err := errors.Join(<-ended, s.Close()); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(dirs.DaemonSocket()); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket is still there: %v", err)
		}
	})
	return asked
}

func TestClient_Requests(t *testing.T) {
	dirs := testDirs(t)
	client := NewClient(dirs)
	if _, err := client.Status(t.Context()); !errors.Is(err, ErrNotRunning) {
		t.Errorf("without a daemon: %v", err)
	}
	asked := serve(t, dirs)
	status, err := client.Status(t.Context())
	if err != nil || status.PID != 42 || status.Uplink.State != uplink.StateConnected || len(status.Sessions) != 1 {
		t.Errorf("status is %+v, %v", status, err)
	}
	if err := errors.Join(client.Nudge(t.Context()), client.Shutdown(t.Context())); err != nil {
		t.Error(err)
	}
	if got := <-asked + <-asked; got != "nudgeshutdown" {
		t.Errorf("asked %q", got)
	}
	if info, err := os.Stat(dirs.DaemonSocket()); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the socket has mode %v, %v", info.Mode(), err)
	}
}

func TestClient_StaleSocket(t *testing.T) {
	dirs := testDirs(t)
	if err := dirs.Create(); err != nil {
		t.Fatal(err)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: dirs.DaemonSocket(), Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	listener.SetUnlinkOnClose(false)
	listener.Close()
	if _, err := NewClient(dirs).Status(t.Context()); !errors.Is(err, ErrNotRunning) {
		t.Errorf("on a socket that nobody serves: %v", err)
	}
	serve(t, dirs)
	if _, err := NewClient(dirs).Status(t.Context()); err != nil {
		t.Errorf("after a daemon replaced it: %v", err)
	}
}

func TestListen_SecondDaemonIsRefused(t *testing.T) {
	dirs := testDirs(t)
	serve(t, dirs)
	_, err := Listen(dirs, nil)
	var busy *BusyError
	if !errors.As(err, &busy) || busy.PID != os.Getpid() || busy.Own != os.Getpid() {
		t.Fatalf("a second daemon: %v", err)
	}
	if text := err.Error(); strings.Count(text, fmt.Sprint(os.Getpid())) != 2 {
		t.Errorf("%q does not name both processes", text)
	}
	// The first one still answers.
	if _, err := NewClient(dirs).Status(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestServe_DeletedSocketComesBack(t *testing.T) {
	dirs := testDirs(t)
	serve(t, dirs)
	if err := os.Remove(dirs.DaemonSocket()); err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(time.Minute)
	poll := time.NewTicker(20 * time.Millisecond)
	defer poll.Stop()
	for {
		if _, err := NewClient(dirs).Status(t.Context()); err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the socket did not come back")
		}
		<-poll.C
	}
}

func TestServe_Refusals(t *testing.T) {
	dirs := testDirs(t)
	asked := serve(t, dirs)
	for name, c := range map[string]struct {
		request string
		want    int
	}{
		"other host":    {"GET /status HTTP/1.1\r\nHost: localhost\r\n\r\n", 403},
		"origin":        {"POST /nudge HTTP/1.1\r\nHost: agent-helm\r\nOrigin: http://evil.example\r\nContent-Length: 0\r\n\r\n", 403},
		"null origin":   {"POST /nudge HTTP/1.1\r\nHost: agent-helm\r\nOrigin: null\r\nContent-Length: 0\r\n\r\n", 403},
		"empty origin":  {"POST /nudge HTTP/1.1\r\nHost: agent-helm\r\nOrigin:\r\nContent-Length: 0\r\n\r\n", 403},
		"wrong method":  {"GET /nudge HTTP/1.1\r\nHost: agent-helm\r\n\r\n", 404},
		"unknown":       {"GET /secrets HTTP/1.1\r\nHost: agent-helm\r\n\r\n", 404},
		"large headers": {"GET /status HTTP/1.1\r\nHost: agent-helm\r\nX: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", 431},
		"no HTTP":       {"\x00\x01\x02\r\n\r\n", 400},
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("unix", dirs.DaemonSocket())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			// The server may stop reading early; its answer is what counts.
			_, _ = io.WriteString(conn, c.request)
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Fatal(err)
			}
			defer response.Body.Close()
			if response.StatusCode != c.want {
				t.Errorf("answered %s, want %d", response.Status, c.want)
			}
		})
	}
	if len(asked) != 0 {
		t.Errorf("a refused request did %s", <-asked)
	}
}
