package pty_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/agent-helm/agent-helm/daemon/pty"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func start(t *testing.T, script string) *pty.Process {
	t.Helper()
	p, err := pty.Start(pty.Options{Path: "/bin/sh", Argv: []string{"sh", "-c", script}, Dir: "/", Env: os.Environ(), Cols: 80, Rows: 24})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.Signal(syscall.SIGKILL)
		<-p.Exited()
		p.Close()
	})
	return p
}

// until reads until the output ends in text.
func until(t *testing.T, p *pty.Process, text string) string {
	t.Helper()
	var all bytes.Buffer
	buffer := make([]byte, 64<<10)
	stop := time.AfterFunc(time.Minute, func() { p.Interrupt() })
	defer stop.Stop()
	for !strings.HasSuffix(all.String(), text) {
		n, err := p.Read(buffer)
		all.Write(buffer[:n])
		if err != nil {
			t.Fatalf("read: %v after %q", err, all.String())
		}
	}
	return all.String()
}

func TestProcess_Runs(t *testing.T) {
	p := start(t, "stty size; tty >/dev/null && echo terminal; stty -a | grep -o -- -*iutf8; read line; echo got $line; exit 5")
	until(t, p, "24 80\r\nterminal\r\niutf8\r\n")
	if _, err := p.Write([]byte("hello\r")); err != nil {
		t.Fatal(err)
	}
	until(t, p, "got hello\r\n")
	<-p.Exited()
	if code, signal := p.Status(); code != 5 || signal != "" {
		t.Errorf("status %d, %q", code, signal)
	}
	if _, err := p.Read(make([]byte, 10)); !errors.Is(err, io.EOF) {
		t.Errorf("read after the end: %v", err)
	}
}

func TestProcess_Signalled(t *testing.T) {
	p := start(t, "echo ready; sleep 1000")
	until(t, p, "ready\r\n")
	if !p.Alive() {
		t.Error("it is not alive")
	}
	if groups := p.Signal(syscall.SIGTERM); groups != 1 {
		t.Errorf("%d groups", groups)
	}
	<-p.Exited()
	if _, signal := p.Status(); signal != "SIGTERM" {
		t.Errorf("signal %q", signal)
	}
}

// TestProcess_Interrupt: a waiting read ends at once and loses nothing.
func TestProcess_Interrupt(t *testing.T) {
	p := start(t, "stty raw -echo; trap 'stty size' WINCH; echo ready; while :; do read -r line && echo got; done")
	until(t, p, "ready\n")
	result := make(chan error)
	go func() {
		_, err := p.Read(make([]byte, 10))
		result <- err
	}()
	if err := p.Interrupt(); err != nil {
		t.Fatal(err)
	}
	if err := <-result; !errors.Is(err, pty.ErrInterrupted) {
		t.Errorf("read: %v", err)
	}
	if _, err := p.Read(make([]byte, 10)); !errors.Is(err, pty.ErrInterrupted) {
		t.Errorf("read before Continue: %v", err)
	}
	if err := p.Resize(132, 43); err != nil {
		t.Fatal(err)
	}
	if err := p.Continue(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write([]byte("x\n")); err != nil {
		t.Fatal(err)
	}
	// Whether the shell runs its trap before or after the line is its business.
	for got := ""; !strings.Contains(got, "got\n") || !strings.Contains(got, "43 132\n"); {
		got += until(t, p, "\n")
	}
}

// TestProcess_WriteDeadline: a program that does not read stops a write, which
// says how much was taken.
func TestProcess_WriteDeadline(t *testing.T) {
	p := start(t, "stty raw -echo; echo ready; sleep 1000")
	until(t, p, "ready\n")
	if err := p.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	n, err := p.Write(make([]byte, 1<<20))
	if !errors.Is(err, os.ErrDeadlineExceeded) || n <= 0 || n >= 1<<20 {
		t.Errorf("wrote %d, %v", n, err)
	}
}

func TestProcess_Foreground(t *testing.T) {
	p := start(t, "trap 'echo interrupted; exit 4' INT; echo ready; while :; do sleep 0.05; done")
	until(t, p, "ready\r\n")
	if group, err := p.Foreground(); err != nil || group != p.PID() {
		t.Errorf("foreground group %d, %v, expected %d", group, err, p.PID())
	}
	if err := p.SignalForeground(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	until(t, p, "interrupted\r\n")
	<-p.Exited()
	if code, _ := p.Status(); code != 4 {
		t.Errorf("code %d", code)
	}
}

func TestStart_Error(t *testing.T) {
	if _, err := pty.Start(pty.Options{Path: "/no/such/program", Argv: []string{"x"}, Dir: "/", Cols: 80, Rows: 24}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("start: %v", err)
	}
}
