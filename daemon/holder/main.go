package holder

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/pty"
	"github.com/agent-helm/agent-helm/internal/buildinfo"
	"github.com/agent-helm/agent-helm/internal/logging"
)

const (
	// garbagePercent keeps the heap close to what is used: a holder's is a few
	// MB, so that collecting often is cheap, and there may be 64 of them.
	garbagePercent = 25
	// memoryLimit is where the collector works harder; a limit, not a cap.
	memoryLimit = 48 << 20
	// maxOwnLog bounds what a holder writes about itself.
	maxOwnLog = 1 << 20
	// housekeeping is how often the socket is looked for, and memory given back.
	housekeeping = 2 * time.Second
	// lingerFirst is how long an ended session waits for its first reader,
	// lingerMore for another one after the last has left, lingerMost in all.
	lingerFirst = 10 * time.Second
	lingerMore  = time.Second
	lingerMost  = 30 * time.Second
)

// order is what Start writes to a holder's standard input. What the program is
// given need not be UTF-8, which JSON text must be, so it travels as bytes.
type order struct {
	Dirs daemon.Dirs `json:"dirs"`
	Spec daemon.Spec `json:"spec"` // without Argv, Env and Cwd
	Argv [][]byte    `json:"argv"`
	Env  [][]byte    `json:"env"`
	Cwd  []byte      `json:"cwd"`
}

func newOrder(dirs daemon.Dirs, spec daemon.Spec) order {
	o := order{Dirs: dirs, Spec: spec, Argv: toBytes(spec.Argv), Env: toBytes(spec.Env), Cwd: []byte(spec.Cwd)}
	o.Spec.Argv, o.Spec.Env, o.Spec.Cwd = nil, nil, ""
	return o
}

// spec is the whole spec again.
func (o order) spec() daemon.Spec {
	spec := o.Spec
	spec.Argv, spec.Env, spec.Cwd = toStrings(o.Argv), toStrings(o.Env), string(o.Cwd)
	return spec
}

func toBytes(list []string) [][]byte {
	converted := make([][]byte, len(list))
	for i, s := range list {
		converted[i] = []byte(s)
	}
	return converted
}

func toStrings(list [][]byte) []string {
	converted := make([]string, len(list))
	for i, b := range list {
		converted[i] = string(b)
	}
	return converted
}

// report is what the holder answers on its standard output, once.
type report struct {
	// Error is why the session could not be started, for the person.
	Error   string          `json:"error,omitempty"`
	Session *daemon.Session `json:"session,omitempty"`
}

// Main is the process "agent-helm hold". It reads its order from standard
// input, never from arguments, which others can read; answers on standard
// output; detaches; and returns the exit code when the session is over. The
// command line calls it before it parses flags.
func Main([]string) int {
	debug.SetGCPercent(garbagePercent)
	debug.SetMemoryLimit(memoryLimit)
	// One at a time: reading, the terminal and writing wait for each other
	// anyway, and a second processor costs more in wakeups than it brings, most
	// of all while a flood keeps the others from running.
	runtime.GOMAXPROCS(1)
	if err := hold(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "agent-helm hold:", err)
		return 1
	}
	return 0
}

// hold is the holder from its order to its end. What goes wrong before the
// program runs is reported to the caller.
func hold(in io.Reader, out io.WriteCloser) error {
	var o order
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		return fmt.Errorf("read order: %w: this command is for agent-helm itself", err)
	}
	s, listener, err := begin(o)
	if err != nil {
		return errors.Join(err, json.NewEncoder(out).Encode(report{Error: err.Error()}))
	}
	started := s.describe()
	err = json.NewEncoder(out).Encode(report{Session: &started})
	if err = errors.Join(err, detach()); err != nil {
		s.logger.Warn("caller did not hear of the start", logging.KeyError, err)
	}
	o = order{} // the environment is not kept
	s.keep(listener)
	return nil
}

// begin starts the program and listens.
func begin(o order) (*session, *socket, error) {
	spec := o.spec()
	if err := spec.Validate(); err != nil {
		return nil, nil, err
	}
	// A session of its own: the caller's terminal and its signals are not ours.
	if _, err := syscall.Setsid(); err != nil && !errors.Is(err, syscall.EPERM) {
		return nil, nil, fmt.Errorf("leave the caller's terminal: %w", err)
	}
	closeOnExec()
	if err := errors.Join(HideMemory(), adoptOrphans()); err != nil {
		return nil, nil, fmt.Errorf("prepare process: %w", err)
	}
	// Handled, not ignored: an ignored signal would be ignored by the program.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT)

	environment := spec.Env
	spec.Env = nil
	directory := o.Dirs.SessionDir(spec.ID)
	if info, err := os.Stat(spec.Cwd); err != nil || !info.IsDir() {
		return nil, nil, fmt.Errorf("the working directory %s does not exist", spec.Cwd)
	}
	path, err := findProgram(spec.Argv[0], spec.Cwd, environment)
	if err != nil {
		return nil, nil, err
	}
	if err := daemon.WriteJSON(filepath.Join(directory, specFile), spec); err != nil {
		return nil, nil, err
	}
	listener, err := listen(o.Dirs, spec.ID)
	if err != nil {
		return nil, nil, err
	}
	abandon := func(err error) (*session, *socket, error) {
		return nil, nil, errors.Join(err, listener.close())
	}
	logger := newLogger(filepath.Join(directory, ownLog))
	s := &session{dirs: o.Dirs, spec: spec, name: spec.Name, started: time.Now(), logger: logger}
	s.log = newOutputLog(filepath.Join(directory, logDir), spec.LogBytes, spec.Cols, spec.Rows, logger, time.Now)
	ref := rand.Text()
	s.process, err = pty.Start(pty.Options{
		Path: path, Argv: spec.Argv, Dir: spec.Cwd, Env: childEnvironment(environment, spec, ref),
		Cols: spec.Cols, Rows: spec.Rows,
	})
	if err != nil {
		return abandon(fmt.Errorf("start %s: %s", spec.Argv[0], reason(err)))
	}
	if err := s.recordBirth(ref); err != nil {
		s.process.Signal(syscall.SIGKILL)
		return abandon(errors.Join(err, s.process.Close()))
	}
	s.start()
	return s, listener, nil
}

// newLogger writes to the session's own file, up to maxOwnLog bytes.
func newLogger(path string) *slog.Logger {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return slog.New(slog.DiscardHandler) // the session matters more than its log
	}
	logger, err := logging.New(&boundedWriter{out: file, left: maxOwnLog}, logging.Options{Level: "info"})
	if err != nil {
		return slog.New(slog.DiscardHandler)
	}
	return logger
}

// boundedWriter drops what exceeds its bound: what goes wrong again and again
// must not fill the disk. slog serialises its writes.
type boundedWriter struct {
	out  io.Writer
	left int
}

func (w *boundedWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return len(p), nil
	}
	return w.out.Write(p)
}

func (s *session) recordBirth(ref string) error {
	boot, err := bootID()
	if err != nil {
		return err
	}
	hash := sha256.Sum256([]byte(ref))
	record := birthRecord{
		PID: s.process.PID(), HolderPID: os.Getpid(), Boot: boot, Version: buildinfo.Version(),
		Time: s.started, RefHash: hex.EncodeToString(hash[:]),
	}
	record.Started, _ = processStart(record.PID) // it may have ended already
	record.HolderStarted, _ = processStart(record.HolderPID)
	return daemon.WriteJSON(filepath.Join(s.dirs.SessionDir(s.spec.ID), birthFile), record)
}

// describe is the session as its starter is told.
func (s *session) describe() daemon.Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	return sessionOf(s.spec, s.info(), s.process.PID(), os.Getpid())
}

// detach lets go of the caller's pipes and directory.
func detach() error {
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("detach: %w", err)
	}
	defer null.Close()
	for _, fd := range []int{0, 1} {
		if err := replaceDescriptor(int(null.Fd()), fd); err != nil {
			return fmt.Errorf("detach: %w", err)
		}
	}
	return os.Chdir("/")
}

// keep serves the session until it has ended and its readers are done.
func (s *session) keep(listener *socket) {
	s.routines.Go(s.drain)
	go s.accept(listener) // waited for by accepted
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGCHLD)
	tick := time.NewTicker(housekeeping)
	defer tick.Stop()
	freed := time.Now().UnixNano()
	var over <-chan time.Time
	ended := s.ended
	for done := false; !done; {
		select {
		case received := <-signals:
			if received == syscall.SIGTERM {
				s.kill()
			}
			reapOrphans(s.process.PID())
		case <-ended:
			ended = nil
			poll := time.NewTicker(50 * time.Millisecond)
			defer poll.Stop()
			over = poll.C
		case <-over:
			done = !s.lingers(time.Now())
		case <-tick.C:
			reapOrphans(s.process.PID())
			if last := s.lastBusy.Load(); last > freed && time.Since(time.Unix(0, last)) > housekeeping {
				freed = time.Now().UnixNano()
				s.shrink()
				debug.FreeOSMemory()
			}
			if rebound := s.rebind(listener); rebound != nil {
				listener = rebound
				go s.accept(listener) // as above
			}
		}
	}
	if err := listener.close(); err != nil {
		s.logger.Warn("socket cannot be removed", logging.KeyError, err)
	}
	<-listener.accepted
	s.closeConnections()
	s.process.Close()
	s.routines.Wait()
	reapOrphans(0)
	if err := s.log.Close(); err != nil {
		s.logger.Warn("log cannot be closed", logging.KeyError, err)
	}
}

// rebind binds the socket again when it was deleted, and returns the new
// listener; nil when all is well.
func (s *session) rebind(listener *socket) *socket {
	if listener.bound() {
		return nil
	}
	s.mu.Lock()
	over := s.exit != nil
	s.mu.Unlock()
	if over {
		return nil // a session that was forgotten must not come back
	}
	if err := s.dirs.Create(); err != nil {
		s.logger.Warn("socket directory cannot be made", logging.KeyError, err)
		return nil
	}
	fresh, err := listen(s.dirs, s.spec.ID)
	if err != nil {
		s.logger.Warn("socket cannot be bound again", logging.KeyError, err)
		return nil
	}
	listener.Close() // connections that are open stay open
	<-listener.accepted
	s.logger.Info("socket bound again")
	return fresh
}

// lingers says whether an ended session still has somebody to serve.
func (s *session) lingers(now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	since := now.Sub(s.exit.Time)
	if s.killing && s.process.Alive() {
		return true
	}
	if _, err := os.Stat(s.dirs.SessionDir(s.spec.ID)); errors.Is(err, fs.ErrNotExist) {
		return false // forgotten
	}
	if since > lingerMost {
		return false
	}
	if !s.served {
		return since < lingerFirst
	}
	for c := range s.connections {
		if c.stream.attached && !s.finished(&c.stream) {
			return true
		}
	}
	return now.Sub(s.lastGone) < lingerMore || since < lingerMore
}

func (s *session) closeConnections() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.sockets {
		conn.CloseRead() // what is queued is still written
	}
}
