package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/coder/websocket"
	"github.com/creack/pty"

	"github.com/agent-helm/agent-helm/internal/e2e"
)

func echoOverFloor(ctx context.Context, conn *websocket.Conn, key byte) (time.Time, error) {
	if err := conn.Write(ctx, websocket.MessageBinary, []byte{key}); err != nil {
		return time.Time{}, err
	}
	err := until(ctx, conn, string(key))
	return time.Now(), err
}

// echoPeers are the installed programs of the same kind, ready to echo.
func (b *bench) echoPeers() []echoer {
	var out []echoer
	for name, start := range map[string]func() (echoer, error){"ttyd": b.ttyd, "tmux": b.tmux, "ssh": b.ssh, "mosh": b.mosh} {
		peer, err := start()
		if err != nil {
			b.report.skip(fmt.Sprintf("%s: %v", name, err))
			continue
		}
		peer.peer = true
		out = append(out, peer)
	}
	slices.SortFunc(out, func(a, b echoer) int { return strings.Compare(a.name, b.name) })
	return out
}

// ttyd speaks its own protocol: '0' + bytes both ways.
func (b *bench) ttyd() (echoer, error) {
	path, err := exec.LookPath("ttyd")
	if err != nil {
		return echoer{}, errNotInstalled
	}
	port, err := freePort()
	if err != nil {
		return echoer{}, err
	}
	argv := append([]string{"-i", "127.0.0.1", "-p", fmt.Sprint(port), "-W"}, self("echo")...)
	command := exec.Command(path, argv...)
	if err := command.Start(); err != nil {
		return echoer{}, err
	}
	b.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
	})
	var conn *websocket.Conn
	err = e2e.Eventually(func() error {
		conn, _, err = websocket.Dial(context.Background(), fmt.Sprintf("ws://127.0.0.1:%d/ws", port), &websocket.DialOptions{Subprotocols: []string{"tty"}})
		return err
	})
	if err != nil {
		return echoer{}, err
	}
	b.Cleanup(func() { conn.CloseNow() })
	conn.SetReadLimit(-1)
	ctx := patience(b)
	if err := conn.Write(ctx, websocket.MessageText, []byte(`{"AuthToken":"","columns":80,"rows":24}`)); err != nil {
		return echoer{}, err
	}
	if err := until(ctx, conn, "ready"); err != nil {
		return echoer{}, err
	}
	return echoer{name: "ttyd", key: func(ctx context.Context, key byte) (time.Time, error) {
		if err := conn.Write(ctx, websocket.MessageBinary, []byte{'0', key}); err != nil {
			return time.Time{}, err
		}
		err := until(ctx, conn, string(key))
		return time.Now(), err
	}}, nil
}

// tmux is measured through a client in a PTY of ours.
func (b *bench) tmux() (echoer, error) {
	path, err := exec.LookPath("tmux")
	if err != nil {
		return echoer{}, errNotInstalled
	}
	dir, err := os.MkdirTemp("", "tmux")
	if err != nil {
		return echoer{}, err
	}
	b.Cleanup(func() {
		// The client's end is not its server's.
		_ = exec.Command(path, "-S", dir+"/socket", "kill-server").Run()
		os.RemoveAll(dir)
	})
	argv := append([]string{"-S", dir + "/socket", "-f", "/dev/null", "new-session"}, self("echo")...)
	return b.inPTY("tmux", exec.Command(path, argv...))
}

// tmuxReconnect is how long a client that attaches to a session waits for its
// screen after so many bytes of output, in milliseconds.
func (b *bench) tmuxReconnect(output int) (float64, error) {
	path, err := exec.LookPath("tmux")
	if err != nil {
		return 0, errNotInstalled
	}
	dir, err := os.MkdirTemp("", "tmux")
	if err != nil {
		return 0, err
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	tmux := func(args ...string) *exec.Cmd {
		command := exec.Command(path, append([]string{"-S", dir + "/socket", "-f", "/dev/null"}, args...)...)
		command.Env = append(os.Environ(), "TERM=xterm-256color")
		return command
	}
	status := dir + "/status"
	start := append([]string{"new-session", "-d", "-x", "80", "-y", "24"}, self("flood", fmt.Sprint(output), status)...)
	if out, err := tmux(start...).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("start: %w: %s", err, out)
	}
	b.Cleanup(func() { _ = tmux("kill-server").Run() })
	shows := func(text string) error {
		screen, err := tmux("capture-pane", "-p").Output()
		if err == nil && !strings.Contains(string(screen), text) {
			err = fmt.Errorf("the screen does not show %q", text)
		}
		return err
	}
	if err := e2e.Eventually(func() error { return shows("ready") }); err != nil {
		return 0, err
	}
	if err := tmux("send-keys", "s").Run(); err != nil {
		return 0, fmt.Errorf("send a key: %w", err)
	}
	if err := e2e.Eventually(func() error { return shows("over") }); err != nil {
		return 0, err
	}
	began := time.Now()
	client := tmux("attach-session")
	terminal, err := pty.StartWithSize(client, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		return 0, err
	}
	b.Cleanup(func() {
		_ = client.Process.Kill()
		terminal.Close()
		_ = client.Wait()
	})
	if err := terminal.SetReadDeadline(began.Add(e2e.Patience)); err != nil && !errors.Is(err, os.ErrNoDeadline) {
		return 0, err
	}
	buffer, seen := make([]byte, 64<<10), ""
	for !strings.Contains(seen, "over") {
		n, err := terminal.Read(buffer)
		if err != nil {
			return 0, fmt.Errorf("read its screen: %w", err)
		}
		seen += string(buffer[:n])
	}
	return float64(time.Since(began).Microseconds()) / 1000, nil
}

// mosh is measured without its prediction, which shows a key before the program has it.
func (b *bench) mosh() (echoer, error) {
	server, err := exec.LookPath("mosh-server")
	if err != nil {
		return echoer{}, errNotInstalled
	}
	client, err := exec.LookPath("mosh-client")
	if err != nil {
		return echoer{}, errNotInstalled
	}
	start := exec.Command(server, append([]string{"new", "-i", "127.0.0.1", "--"}, self("echo")...)...)
	start.Env = append(os.Environ(), "LC_ALL=C.UTF-8", "TERM=xterm-256color")
	said, err := start.CombinedOutput()
	if err != nil {
		return echoer{}, fmt.Errorf("mosh-server: %w", err)
	}
	var port, key string
	for line := range strings.Lines(string(said)) {
		if rest, ok := strings.CutPrefix(line, "MOSH CONNECT "); ok {
			port, key, _ = strings.Cut(strings.TrimSpace(rest), " ")
		}
		if _, rest, ok := strings.Cut(line, "detached, pid = "); ok {
			// It waits for its client for ever otherwise.
			if pid, err := strconv.Atoi(strings.TrimRight(rest, "]\n ")); err == nil {
				b.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGTERM) })
			}
		}
	}
	if key == "" {
		return echoer{}, errors.New("mosh-server did not say how to connect")
	}
	command := exec.Command(client, "127.0.0.1", port)
	command.Env = append(os.Environ(), "MOSH_KEY="+key, "MOSH_PREDICTION_DISPLAY=never", "LC_ALL=C.UTF-8")
	return b.inPTY("mosh", command)
}

// ssh is measured where it reaches this machine without asking.
func (b *bench) ssh() (echoer, error) {
	path, err := exec.LookPath("ssh")
	if err != nil {
		return echoer{}, errNotInstalled
	}
	options := []string{"-o", "BatchMode=yes", "-o", "ConnectTimeout=2", "127.0.0.1"}
	if err := exec.Command(path, append(options, "true")...).Run(); err != nil {
		return echoer{}, fmt.Errorf("no key for this machine: %w", err)
	}
	return b.inPTY("ssh", exec.Command(path, append(append([]string{"-tt"}, options...), self("echo")...)...))
}

func (b *bench) inPTY(name string, command *exec.Cmd) (echoer, error) {
	if command.Env == nil {
		command.Env = os.Environ()
	}
	command.Env = append(command.Env, "TERM=xterm-256color")
	terminal, err := pty.StartWithSize(command, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		return echoer{}, err
	}
	arrived := make(chan arrival, 1<<16)
	ready := make(chan struct{})
	go func() {
		buffer, seen, told := make([]byte, 4096), "", false
		for {
			n, err := terminal.Read(buffer)
			if err != nil {
				return
			}
			if !told {
				if seen += string(buffer[:n]); strings.Contains(seen, "ready") {
					told = true
					close(ready)
				}
				continue
			}
			at := time.Now()
			for _, c := range buffer[:n] {
				select {
				case arrived <- arrival{c, at}:
				default:
				}
			}
		}
	}()
	b.Cleanup(func() {
		_ = command.Process.Kill()
		terminal.Close()
		_ = command.Wait()
	})
	select {
	case <-ready:
	case <-time.After(10 * time.Second):
		return echoer{}, fmt.Errorf("%s did not start its program", name)
	}
	return echoer{name: name, key: func(ctx context.Context, key byte) (time.Time, error) {
		since := time.Now()
		if _, err := terminal.Write([]byte{key}); err != nil {
			return time.Time{}, err
		}
		return awaitKey(ctx, arrived, key, since)
	}}, nil
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port, nil
}

// load is the machine's pressure before a run, as the kernel tells it.
func load() string {
	if pressure, err := os.ReadFile("/proc/pressure/cpu"); err == nil {
		first, _, _ := strings.Cut(string(pressure), "\n")
		return "PSI cpu " + strings.TrimPrefix(first, "some ")
	}
	if average, err := os.ReadFile("/proc/loadavg"); err == nil {
		return "load average " + strings.Join(strings.Fields(string(average))[:3], " ")
	}
	return "unknown"
}
