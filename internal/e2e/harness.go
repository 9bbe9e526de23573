// Package e2e drives the real binaries as a person's machines do: a server, a
// daemon, holders, programs in real PTYs, and viewers that speak the true
// protocol. It owns the parts for that (processes, a faulty network, a viewer
// without a screen) and the tests and benchmarks that use them; no program
// imports it.
package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Patience bounds every wait of a test for something that must happen. It is
// long because it only ever passes when something is broken.
const Patience = 60 * time.Second

// Binaries are the two programs under test.
type Binaries struct{ Helm, Server string }

var (
	buildOnce sync.Once
	built     Binaries
	buildErr  error
)

// Build compiles both programs once per test process. With race, they check
// for data races themselves. AGENT_HELM_BIN names a directory with finished
// binaries instead.
func Build(race bool) (Binaries, error) {
	buildOnce.Do(func() {
		if dir := os.Getenv("AGENT_HELM_BIN"); dir != "" {
			built = Binaries{Helm: filepath.Join(dir, "agent-helm"), Server: filepath.Join(dir, "agent-helm-server")}
			return
		}
		var dir, root string
		if dir, buildErr = os.MkdirTemp("", "agent-helm-e2e-bin"); buildErr != nil {
			return
		}
		if root, buildErr = moduleRoot(); buildErr != nil {
			return
		}
		args := []string{"build"}
		if race {
			args = append(args, "-race")
		}
		command := exec.Command("go", append(args, "-o", dir+"/", "./daemon/cmd/agent-helm", "./server/cmd/agent-helm-server")...)
		command.Dir = root
		if out, err := command.CombinedOutput(); err != nil {
			buildErr = fmt.Errorf("build the binaries: %w\n%s", err, out)
			return
		}
		built = Binaries{Helm: filepath.Join(dir, "agent-helm"), Server: filepath.Join(dir, "agent-helm-server")}
	})
	return built, buildErr
}

// RemoveBuilt deletes what Build made; TestMain calls it last.
func RemoveBuilt() {
	if built.Helm != "" && os.Getenv("AGENT_HELM_BIN") == "" {
		os.RemoveAll(filepath.Dir(built.Helm))
	}
}

func moduleRoot() (string, error) {
	out, err := exec.Command("go", "env", "GOMOD").Output()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	return filepath.Dir(strings.TrimSpace(string(out))), nil
}

// Process is a program that a test started, with its output.
type Process struct {
	name    string
	command *exec.Cmd
	output  *lockedBuffer
	exited  chan struct{}
	err     error
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

func startProcess(name string, command *exec.Cmd) (*Process, error) {
	p := &Process{name: name, command: command, output: &lockedBuffer{}, exited: make(chan struct{})}
	command.Stdout, command.Stderr = p.output, p.output
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.WaitDelay = 5 * time.Second
	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		p.err = command.Wait()
		close(p.exited)
	}()
	return p, nil
}

// PID is the process id.
func (p *Process) PID() int { return p.command.Process.Pid }

// Output is everything the process printed so far.
func (p *Process) Output() string { return p.output.String() }

// Signal sends a signal.
func (p *Process) Signal(signal syscall.Signal) { _ = p.command.Process.Signal(signal) }

// Kill ends the process at once, as kill -9 does, and waits for its end.
func (p *Process) Kill() {
	_ = p.command.Process.Kill()
	<-p.exited
}

// Stop asks the process to end and waits; it kills what does not listen.
func (p *Process) Stop() {
	p.Signal(syscall.SIGTERM)
	select {
	case <-p.exited:
	case <-time.After(15 * time.Second):
		p.Kill()
	}
}

// Exited says whether the process has ended.
func (p *Process) Exited() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// TB is what a Stack needs of a test; a testing.TB is one, and the benchmark
// brings its own.
type TB interface {
	Helper()
	Cleanup(func())
	Errorf(format string, args ...any)
	Fatal(args ...any)
	Fatalf(format string, args ...any)
	Logf(format string, args ...any)
	Failed() bool
}

// Stack is one installation: a server and its data, one host and its state.
type Stack struct {
	tb  TB
	bin Binaries
	dir string

	URL    string
	Token  string
	HostID string

	server *Process
	daemon *Process
	// Uplink and Downlink are the networks of the daemon and of viewers.
	Uplink, Downlink *Proxy
}

// NewStack starts a server, enrols a host and starts its daemon, both through
// a Proxy. Everything ends with the test.
func NewStack(tb TB) *Stack {
	tb.Helper()
	return newStack(tb, false)
}

// NewDirectStack is NewStack without a Proxy between daemon and server, for
// measurements: a relay in between costs as much as a hop of the product.
func NewDirectStack(tb TB) *Stack {
	tb.Helper()
	return newStack(tb, true)
}

func newStack(tb TB, direct bool) *Stack {
	tb.Helper()
	bin, err := Build(raceEnabled)
	if err != nil {
		tb.Fatal(err)
	}
	// A short path: a unix socket's must stay below 100 bytes.
	dir, err := os.MkdirTemp("", "helm")
	if err != nil {
		tb.Fatal(err)
	}
	s := &Stack{tb: tb, bin: bin, dir: dir}
	tb.Cleanup(s.close)
	if s.Uplink, err = NewProxy(""); err != nil {
		tb.Fatal(err)
	}
	s.StartServer("127.0.0.1:0")
	s.Token = s.NewToken("e2e")
	address := strings.TrimPrefix(s.URL, "http://")
	s.Uplink.SetTarget(address)
	if s.Downlink, err = NewProxy(address); err != nil {
		tb.Fatal(err)
	}
	code, _, _ := strings.Cut(s.mustServer("pair", "--data", s.dataDir(), "--host"), "\n")
	uplink := "http://" + s.Uplink.Addr()
	if direct {
		uplink = s.URL
	}
	s.mustHelm("pair", uplink, strings.TrimSpace(code), "--yes", "--name", "e2e-host")
	s.StartDaemon()
	s.awaitHost("e2e-host")
	return s
}

func (s *Stack) awaitHost(name string) {
	s.tb.Helper()
	s.Eventually(name+" is online", func() error {
		var hosts struct {
			Items []struct {
				ID     string `json:"id"`
				Name   string `json:"name"`
				Online bool   `json:"online"`
			} `json:"items"`
		}
		if err := s.GetJSON("/api/hosts", &hosts); err != nil {
			return err
		}
		for _, host := range hosts.Items {
			if host.Name == name && host.Online {
				s.HostID = host.ID
				return nil
			}
		}
		return fmt.Errorf("hosts: %+v", hosts.Items)
	})
}

// NewToken makes a bearer token with every scope. A token opens a few sockets
// at once only, so a crowd of viewers needs several.
func (s *Stack) NewToken(name string) string {
	s.tb.Helper()
	return strings.TrimSpace(s.mustServer("token", "create", "--data", s.dataDir(), "--name", name, "--scope", "admin"))
}

func (s *Stack) dataDir() string { return filepath.Join(s.dir, "server") }

// Dir is the installation's directory.
func (s *Stack) Dir() string { return s.dir }

// ServerPID and DaemonPID are the process ids of the two.
func (s *Stack) ServerPID() int { return s.server.PID() }

// DaemonPID is the daemon's process id.
func (s *Stack) DaemonPID() int { return s.daemon.PID() }

func (s *Stack) env() []string {
	env := append(os.Environ(),
		"AGENT_HELM_CONFIG_DIR="+filepath.Join(s.dir, "config"),
		"AGENT_HELM_STATE_DIR="+filepath.Join(s.dir, "state"),
		// The race detector keeps much address space; core dumps of it fill a disk.
		"GORACE=halt_on_error=1 exitcode=66")
	return env
}

// SecondHost enrols another host on the same server and starts its daemon. The
// server and its networks stay the first one's.
func (s *Stack) SecondHost(name string) *Stack {
	s.tb.Helper()
	dir, err := os.MkdirTemp("", "helm")
	if err != nil {
		s.tb.Fatal(err)
	}
	other := &Stack{tb: s.tb, bin: s.bin, dir: dir, URL: s.URL, Token: s.Token}
	s.tb.Cleanup(other.close)
	code, _, _ := strings.Cut(s.mustServer("pair", "--data", s.dataDir(), "--host"), "\n")
	other.mustHelm("pair", s.URL, strings.TrimSpace(code), "--yes", "--name", name)
	other.StartDaemon()
	other.awaitHost(name)
	return other
}

// StartServer starts the server on address and waits until it is healthy.
func (s *Stack) StartServer(address string) {
	s.tb.Helper()
	addressFile := filepath.Join(s.dir, "address")
	os.Remove(addressFile)
	command := exec.Command(s.bin.Server, "serve", "--data", s.dataDir(), "--listen", address, "--address-file", addressFile,
		"--public-url", "http://"+s.Uplink.Addr())
	command.Env = s.env()
	process, err := startProcess("server", command)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.server = process
	s.Eventually("the server answers", func() error {
		if process.Exited() {
			s.tb.Fatalf("the server ended: %v\n%s", process.err, process.Output())
		}
		url, err := os.ReadFile(addressFile)
		if err != nil {
			return err
		}
		s.URL = strings.TrimSpace(string(url))
		response, err := http.Get(s.URL + "/api/health")
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("health: %s", response.Status)
		}
		return nil
	})
}

// KillServer ends the server as kill -9 does; RestartServer starts it again on
// the same address and data.
func (s *Stack) KillServer() { s.server.Kill() }

// StopServer ends the server as an operator does.
func (s *Stack) StopServer() { s.server.Stop() }

// RestartServer starts the server again where it was.
func (s *Stack) RestartServer() {
	s.tb.Helper()
	s.StartServer(strings.TrimPrefix(s.URL, "http://"))
}

// StartDaemon starts the daemon through the uplink proxy.
func (s *Stack) StartDaemon() {
	s.tb.Helper()
	command := exec.Command(s.bin.Helm, "daemon")
	command.Env = s.env()
	process, err := startProcess("daemon", command)
	if err != nil {
		s.tb.Fatal(err)
	}
	s.daemon = process
}

// KillDaemon ends the daemon as kill -9 does.
func (s *Stack) KillDaemon() { s.daemon.Kill() }

// StopDaemon ends the daemon as an operator does.
func (s *Stack) StopDaemon() { s.daemon.Stop() }

func (s *Stack) close() {
	if s.daemon != nil || s.server != nil {
		for _, session := range s.sessionIDs() {
			_, _ = s.Helm("kill", session)
		}
	}
	for _, process := range []*Process{s.daemon, s.server} {
		if process == nil {
			continue
		}
		process.Stop()
		if output := process.Output(); strings.Contains(output, "DATA RACE") || strings.Contains(output, "panic:") {
			s.tb.Errorf("%s:\n%s", process.name, output)
		} else if s.tb.Failed() {
			s.tb.Logf("%s said:\n%s", process.name, tail(output, 4000))
		}
	}
	for _, proxy := range []*Proxy{s.Uplink, s.Downlink} {
		if proxy != nil {
			proxy.Close()
		}
	}
	if s.tb.Failed() && os.Getenv("AGENT_HELM_KEEP") != "" {
		s.tb.Logf("kept %s", s.dir)
		return
	}
	os.RemoveAll(s.dir)
}

func tail(text string, n int) string { return text[max(0, len(text)-n):] }

// listedSession is what `agent-helm ls --json` says of a session.
type listedSession struct {
	ID        string `json:"id"`
	State     string `json:"state"`
	HolderPID int    `json:"holder_pid"`
}

func (s *Stack) sessions() []listedSession {
	out, err := s.Helm("ls", "--json")
	if err != nil {
		return nil
	}
	var sessions []listedSession
	if err := json.Unmarshal([]byte(out), &sessions); err != nil {
		return nil
	}
	return sessions
}

// HolderPIDs are the process ids of the running sessions' holders, by session.
func (s *Stack) HolderPIDs() map[string]int {
	pids := map[string]int{}
	for _, session := range s.sessions() {
		if session.State == "running" && session.HolderPID > 0 {
			pids[session.ID] = session.HolderPID
		}
	}
	return pids
}

func (s *Stack) sessionIDs() []string {
	var ids []string
	for _, session := range s.sessions() {
		if session.State == "running" {
			ids = append(ids, session.ID)
		}
	}
	return ids
}

// Helm runs the host's CLI and returns its standard output.
func (s *Stack) Helm(args ...string) (string, error) { return s.output(s.bin.Helm, args...) }

// HelmCommand is a CLI command not yet started, for tests that need its terminal.
func (s *Stack) HelmCommand(args ...string) *exec.Cmd {
	command := exec.Command(s.bin.Helm, args...)
	command.Env = s.env()
	return command
}

func (s *Stack) mustHelm(args ...string) string {
	s.tb.Helper()
	out, err := s.Helm(args...)
	if err != nil {
		s.tb.Fatal(err)
	}
	return out
}

func (s *Stack) mustServer(args ...string) string {
	s.tb.Helper()
	out, err := s.output(s.bin.Server, args...)
	if err != nil {
		s.tb.Fatal(err)
	}
	return out
}

func (s *Stack) output(program string, args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	command := exec.CommandContext(ctx, program, args...)
	command.Env = s.env()
	command.WaitDelay = time.Second
	var out, errOut bytes.Buffer
	command.Stdout, command.Stderr = &out, &errOut
	if err := command.Run(); err != nil {
		return out.String(), fmt.Errorf("%s %s: %w\n%s", filepath.Base(program), strings.Join(args, " "), err, errOut.String())
	}
	return out.String(), nil
}

// Run starts a session and waits until the server lists it; it returns its id.
func (s *Stack) Run(name string, argv ...string) string {
	s.tb.Helper()
	out := s.mustHelm(append([]string{"run", "--detach", "--json", "--name", name, "--"}, argv...)...)
	var started struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal([]byte(out), &started); err != nil || started.ID == "" {
		s.tb.Fatalf("run --json printed %q: %v", out, err)
	}
	s.Eventually("the server lists "+name, func() error {
		var session map[string]any
		return s.GetJSON("/api/sessions/"+started.ID, &session)
	})
	return started.ID
}

// Viewer starts a viewer through the downlink proxy.
func (s *Stack) Viewer() *Viewer {
	v := NewViewer(ViewerOptions{URL: s.URL, Via: s.Downlink.Addr(), Token: s.Token})
	s.tb.Cleanup(v.Close)
	return v
}

// Request makes an API request with the admin token and returns the body. A
// status of 400 or more is an error that carries the problem.
func (s *Stack) Request(method, path string, body any) ([]byte, error) {
	var reader io.Reader
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		reader = bytes.NewReader(encoded)
	}
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, s.URL+path, reader)
	if err != nil {
		return nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Authorization", "Bearer "+s.Token)
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, err
	}
	if response.StatusCode >= http.StatusBadRequest {
		return content, fmt.Errorf("%s %s: %s: %s", method, path, response.Status, content)
	}
	return content, nil
}

// GetJSON reads a JSON resource.
func (s *Stack) GetJSON(path string, into any) error {
	content, err := s.Request(http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	return json.Unmarshal(content, into)
}

// Screen is a session's screen as the server has it.
func (s *Stack) Screen(session string) (string, error) {
	content, err := s.Request(http.MethodGet, "/api/sessions/"+session+"/screen?format=text", nil)
	return string(content), err
}

// Eventually retries a check until it succeeds or Patience is over.
func (s *Stack) Eventually(what string, check func() error) {
	s.tb.Helper()
	if err := Eventually(check); err != nil {
		s.tb.Fatalf("%s: %v", what, err)
	}
}

// Eventually retries a check, ever less often, until it succeeds or Patience
// is over.
func Eventually(check func() error) error {
	deadline := time.Now().Add(Patience)
	for pause := 5 * time.Millisecond; ; pause = min(2*pause, 200*time.Millisecond) {
		err := check()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return errors.Join(errors.New("not within a minute"), err)
		}
		time.Sleep(pause)
	}
}

// Context ends with Patience or the test.
func (s *Stack) Context() context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	s.tb.Cleanup(cancel)
	return ctx
}
