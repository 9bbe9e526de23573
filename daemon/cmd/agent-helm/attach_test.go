package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"

	"github.com/agent-helm/agent-helm/daemon"
)

// host is an installation with terminals in it.
type host struct {
	t    *testing.T
	root string
}

func newHost(t *testing.T) *host {
	t.Helper()
	t.Parallel()
	return &host{t: t, root: installation(t, t.Cleanup)}
}

func (h *host) env() []string {
	return append(os.Environ(), "TERM=xterm-256color", "LANG=C.UTF-8", "SHELL=/bin/sh", "ENV=", "PS1=$ ",
		daemon.EnvStateDir+"="+filepath.Join(h.root, "s"), daemon.EnvConfigDir+"="+filepath.Join(h.root, "c"))
}

// call runs a command to its end and returns what it printed.
func (h *host) call(arguments ...string) string {
	h.t.Helper()
	command := exec.Command("agent-helm", arguments...)
	command.Env = h.env()
	output, err := command.CombinedOutput()
	if err != nil {
		h.t.Fatalf("agent-helm %v: %v: %s", arguments, err, output)
	}
	return string(output)
}

// window is a terminal in which a command runs.
type window struct {
	t       *testing.T
	command *exec.Cmd
	master  *os.File

	mu     sync.Mutex
	shown  []byte
	marker int // see waits for what comes behind it
	closed bool
	grown  *sync.Cond
}

// open runs a command in a new terminal.
func (h *host) open(cols, rows uint16, arguments ...string) *window {
	h.t.Helper()
	w := &window{t: h.t, command: exec.Command("agent-helm", arguments...)}
	w.grown = sync.NewCond(&w.mu)
	w.command.Env = h.env()
	master, err := pty.StartWithSize(w.command, &pty.Winsize{Cols: cols, Rows: rows})
	if err != nil {
		h.t.Fatal(err)
	}
	w.master = master
	var reader sync.WaitGroup
	reader.Go(w.read)
	h.t.Cleanup(func() {
		_ = w.command.Process.Kill() // it has ended, or the test has failed
		_ = w.command.Wait()
		master.Close()
		reader.Wait()
	})
	return w
}

func (w *window) read() {
	buffer := make([]byte, 32<<10)
	for {
		n, err := w.master.Read(buffer)
		w.mu.Lock()
		w.shown = append(w.shown, buffer[:n]...)
		w.closed = err != nil
		w.grown.Broadcast()
		w.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// see waits until text appears behind what was seen before.
func (w *window) see(text string) {
	w.t.Helper()
	timer := time.AfterFunc(patience, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.closed = true
		w.grown.Broadcast()
	})
	defer timer.Stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	for {
		if i := bytes.Index(w.shown[w.marker:], []byte(text)); i >= 0 {
			w.marker += i + len(text)
			return
		}
		if w.closed {
			w.t.Fatalf("%q never came, only %q", text, w.shown[w.marker:])
		}
		w.grown.Wait()
	}
}

func (w *window) all() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return string(w.shown)
}

func (w *window) press(keys string) {
	w.t.Helper()
	if _, err := w.master.WriteString(keys); err != nil {
		w.t.Fatal(err)
	}
}

// end waits for the command and returns its exit code.
func (w *window) end() int {
	w.t.Helper()
	err := w.command.Wait()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &exit):
		return exit.ExitCode()
	}
	w.t.Fatal(err)
	return -1
}

func TestRun_PassesOnTheExitCode(t *testing.T) {
	h := newHost(t)
	w := h.open(80, 24, "run", "--", "sh", "-c", "echo ready; read line; echo got $line; exit 5")
	w.see("ready")
	w.press("this\r")
	w.see("got this")
	w.see("sh exited with code 5")
	if code := w.end(); code != 5 {
		t.Errorf("exit code %d", code)
	}
	killed := h.open(80, 24, "run", "--", "sh", "-c", "echo ready; kill -9 $$")
	killed.see("ended by SIGKILL")
	if code := killed.end(); code != 137 {
		t.Errorf("exit code %d", code)
	}
}

func TestAttach_DetachAndReturn(t *testing.T) {
	h := newHost(t)
	w := h.open(80, 24, "run", "--name", "work", "--", "sh", "-c", "echo first; cat")
	w.see("first")
	w.press("second\r")
	w.see("second\r\nsecond")
	w.press("\x1d")
	w.see("detached from work, which keeps running")
	if code := w.end(); code != 0 {
		t.Errorf("exit code %d", code)
	}
	if list := h.call("ls"); !strings.Contains(list, "running") {
		t.Fatalf("after detaching: %s", list)
	}
	again := h.open(80, 24, "attach")
	again.see("first")
	again.see("second")
	again.see("ctrl+] detaches")
	again.press("\x1b[93;5u") // as kitty's protocol writes it
	again.see("detached from work")
	again.end()
}

func TestAttach_OtherDetachKey(t *testing.T) {
	h := newHost(t)
	h.call("run", "-d", "--name", "work", "--", "cat")
	w := h.open(80, 24, "attach", "--detach-key", "ctrl+q", "work")
	w.see("ctrl+q detaches")
	w.press("a\x1db\r")
	w.see("a^]b")
	w.press("\x11")
	w.see("detached from work")
	w.end()
}

func TestAttach_ClosingTheTerminalDetaches(t *testing.T) {
	h := newHost(t)
	w := h.open(80, 24, "run", "--name", "work", "--", "sh", "-c", "trap 'echo hung up' HUP; echo ready; while :; do sleep 0.1; done")
	w.see("ready")
	if err := w.command.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	w.end()
	if list := h.call("ls"); !strings.Contains(list, "running") {
		t.Errorf("after the terminal closed: %s", list)
	}
	if logs := h.call("logs", "work"); strings.Contains(logs, "hung up") {
		t.Error("the program was hung up as well")
	}
}

func TestAttach_ModesAreReset(t *testing.T) {
	h := newHost(t)
	w := h.open(80, 24, "run", "--name", "work", "--", "sh", "-c", `printf '\033[?1049h\033[?1000;1006h\033[?2004h\033[>1u\033[?25lfull screen'; cat`)
	w.see("full screen")
	if err := w.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	w.end()
	// A repaint may switch screens in its own way.
	alternate := "\x1b[?1049l"
	if strings.Contains(w.all(), "\x1b[?47h") {
		alternate = "\x1b[?47l"
	}
	for _, reset := range []string{alternate, "\x1b[?1000l", "\x1b[?1006l", "\x1b[?2004l", "\x1b[?25h", "\x1b[<1u"} {
		w.see(reset)
		w.marker = strings.LastIndex(w.all(), "full screen")
	}
}

func TestAttach_Suspend(t *testing.T) {
	h := newHost(t)
	h.call("run", "-d", "--name", "work", "--", "sh", "-c", `printf '\033[?2004hdrawn'; cat`)
	w := h.open(80, 24, "attach")
	w.see("drawn")
	w.see("\x1b[?1004h")
	process := w.command.Process
	if err := process.Signal(syscall.SIGTSTP); err != nil {
		t.Fatal(err)
	}
	w.see("\x1b[?2004l")
	// It has stopped once the kernel says so.
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("it did not stop: %v, %v", status, err)
	}
	if err := process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	w.see("drawn")
	w.see("\x1b[?2004h")
	w.press("typed\r")
	w.see("typed")
	w.press("\x1d")
	w.see("detached from work")
	w.end()
}

// A holder that is stopped is said to be so.
func TestAttach_StoppedHolder(t *testing.T) {
	h := newHost(t)
	h.call("run", "-d", "--name", "work", "--", "cat")
	var list []daemon.Session
	if err := json.Unmarshal([]byte(h.call("ls", "--json")), &list); err != nil || len(list) != 1 {
		t.Fatalf("%v, %v", list, err)
	}
	pid := list[0].HolderPID
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
			t.Error(err)
		}
	}()
	waitUntil(t, func() bool { return strings.Contains(h.call("ls"), "no answer") })
	w := h.open(80, 24, "attach", "work")
	w.see("does not answer; it may be stopped")
	if code := w.end(); code != exitUnreachable {
		t.Errorf("exit code %d", code)
	}
}

func TestAttach_SizeFollowsTheWindow(t *testing.T) {
	h := newHost(t)
	w := h.open(80, 24, "run", "--name", "work", "--", "sh", "-c", `trap 'stty size' WINCH; stty size; while :; do sleep 0.05; done`)
	w.see("24 80")
	if err := pty.Setsize(w.master, &pty.Winsize{Cols: 100, Rows: 30}); err != nil {
		t.Fatal(err)
	}
	w.see("30 100")
}

func TestAttach_SecondTerminal(t *testing.T) {
	h := newHost(t)
	first := h.open(80, 24, "run", "--name", "work", "--", "sh", "-c", "echo ready; cat")
	first.see("ready")
	second := h.open(50, 12, "attach", "work")
	second.see("ready")
	second.see("work · ctrl+t take size · ctrl+] detach")
	second.press("typed here\r")
	first.see("typed here\r\ntyped here")
	second.press("\x14") // take the size
	second.see("ready")
	first.see("sized for another terminal, 50")
	second.press("\x1d")
	second.see("detached from work")
	second.end()
	// The size returns to the one that stayed.
	first.see("\x1b[?1049l")
	first.see("typed here")
	if list := h.call("ls", "--json"); !strings.Contains(list, `"cols": 80`) {
		t.Errorf("the size did not return: %s", list)
	}
}

func TestAttach_ReadOnly(t *testing.T) {
	h := newHost(t)
	h.call("run", "-d", "--name", "work", "--", "sh", "-c", "echo ready; cat")
	w := h.open(80, 24, "attach", "--read-only", "work")
	w.see("ready")
	w.press("typed\r")
	w.press("\x1d")
	w.see("detached from work")
	w.end()
	if logs := h.call("logs", "work"); strings.Contains(logs, "typed") {
		t.Errorf("a spectator typed: %s", logs)
	}
}

func TestAttach_DemoAgentTakesArrows(t *testing.T) {
	h := newHost(t)
	w := h.open(100, 30, "run", "--name", "demo", "--", "agent-helm", "demo-agent", "--fast", "--script", "question")
	w.see("4. None of these")
	w.press("\x1b[B")
	w.see("❯ 2. SQLite")
	w.press("\r")
	w.see("SQLite it is.")
	w.press("/quit\r")
	w.see("demo exited with code 0")
	w.end()
}
