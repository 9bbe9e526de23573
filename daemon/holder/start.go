package holder

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/untrusted"
)

// EnvHold overrides how a holder is started: a command line, split at spaces,
// in place of this program's own file and "hold". An emulator needs it.
const EnvHold = "AGENT_HELM_HOLD"

// Errors of Start for callers that map them to a code. Any other error is a
// sentence about why the program could not be started.
var (
	// ErrTooMany says that daemon.MaxSessions run already.
	ErrTooMany = fmt.Errorf("%d sessions run already, the most that one host may have: end one first", daemon.MaxSessions)
)

// maxReport bounds what a holder may answer.
const maxReport = 1 << 20

// holderEnvironment are the variables a holder itself gets: what finds the
// installation and what the Go runtime reads. The program's environment goes
// through the pipe.
var holderEnvironment = []string{
	"HOME", "PATH", "USER", "LOGNAME", "TMPDIR", "XDG_STATE_HOME", "XDG_CONFIG_HOME",
	daemon.EnvConfigDir, daemon.EnvStateDir, "GORACE", "GOCOVERDIR", "GOTRACEBACK",
}

// Start starts a session under a holder of its own and returns once the
// holder's socket answers. What the spec leaves out is filled in: the
// environment and directory are this process's. The program keeps this
// process's umask and limits. When it cannot be started the error says why,
// and nothing is left behind.
func Start(ctx context.Context, dirs daemon.Dirs, spec daemon.Spec) (daemon.Session, error) {
	spec = spec.WithDefaults(time.Now())
	if spec.Env == nil {
		spec.Env = os.Environ()
	}
	if spec.Cwd == "" {
		cwd, err := os.Getwd()
		if err != nil {
			return daemon.Session{}, fmt.Errorf("find the working directory: %w", err)
		}
		spec.Cwd = cwd
	}
	if err := spec.Validate(); err != nil {
		return daemon.Session{}, err
	}
	if err := dirs.Create(); err != nil {
		return daemon.Session{}, err
	}
	if err := checkRoom(dirs); err != nil {
		return daemon.Session{}, err
	}
	directory := dirs.SessionDir(spec.ID)
	if err := os.Mkdir(directory, 0o700); err != nil {
		return daemon.Session{}, fmt.Errorf("create session: %w", err)
	}
	session, err := startHolder(ctx, dirs, spec)
	if err != nil {
		return daemon.Session{}, errors.Join(err, os.RemoveAll(directory))
	}
	return session, nil
}

// checkRoom fails with ErrTooMany when no further session may run.
func checkRoom(dirs daemon.Dirs) error {
	ids, err := dirs.SessionIDs()
	if err != nil {
		return err
	}
	running := 0
	for _, id := range ids {
		directory := dirs.SessionDir(id)
		if _, err := os.Lstat(filepath.Join(directory, exitFile)); err == nil {
			continue
		}
		var birth birthRecord
		if err := daemon.ReadJSON(filepath.Join(directory, birthFile), &birth); err == nil && birth.dead() == "" {
			running++
		}
	}
	if running >= daemon.MaxSessions {
		return ErrTooMany
	}
	return nil
}

func startHolder(ctx context.Context, dirs daemon.Dirs, spec daemon.Spec) (daemon.Session, error) {
	input, err := json.Marshal(newOrder(dirs, spec))
	if err != nil {
		return daemon.Session{}, fmt.Errorf("encode order: %w", err)
	}
	words, err := holdCommand()
	if err != nil {
		return daemon.Session{}, err
	}
	own, err := os.OpenFile(filepath.Join(dirs.SessionDir(spec.ID), ownLog), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return daemon.Session{}, fmt.Errorf("create session: %w", err)
	}
	defer own.Close()
	// The holder answers on a pipe that only it writes to, so that its end is seen.
	answer, reply, err := os.Pipe()
	if err != nil {
		return daemon.Session{}, fmt.Errorf("start holder: %w", err)
	}
	defer answer.Close()
	command := exec.Command(words[0], words[1:]...) //nolint:gosec // our own program, or what the user set
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(input), reply, own
	command.Env = keep(os.Environ(), holderEnvironment)
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	closeOnExec()
	err = command.Start()
	reply.Close()
	if err != nil {
		return daemon.Session{}, fmt.Errorf("start holder: %w", err)
	}
	// A holder outlives this call, and this process mostly. Where it does not,
	// as in a daemon, its end has to be collected.
	go func() { _ = command.Wait() }() // the exit record says how it ended
	stop := context.AfterFunc(ctx, func() {
		_ = command.Process.Kill()
		_ = answer.SetReadDeadline(time.Unix(1, 0))
	})
	defer stop()
	return readReport(ctx, answer, own.Name())
}

// readReport waits for a holder's one answer.
func readReport(ctx context.Context, answer *os.File, own string) (daemon.Session, error) {
	var r report
	decoder := json.NewDecoder(&limitedReader{answer, maxReport})
	if err := decoder.Decode(&r); err != nil {
		if ctx.Err() != nil {
			return daemon.Session{}, fmt.Errorf("start session: %w", context.Cause(ctx))
		}
		return daemon.Session{}, fmt.Errorf("the session's holder did not start%s", lastWords(own))
	}
	if r.Error != "" || r.Session == nil {
		return daemon.Session{}, errors.New(r.Error)
	}
	return *r.Session, nil
}

// lastWords is what a holder wrote before it died, for an error message.
func lastWords(path string) string {
	text, err := os.ReadFile(path)
	if err != nil || len(text) == 0 {
		return ""
	}
	return ": " + untrusted.Clean(string(text), 500)
}

// holdCommand is how a holder is called.
func holdCommand() ([]string, error) {
	if words := strings.Fields(os.Getenv(EnvHold)); len(words) > 0 {
		return words, nil
	}
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program's file: %w", err)
	}
	if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) && runtime.GOOS == "linux" {
		// An upgrade replaced the file: the new one if it is there, else the
		// one that runs, which the kernel keeps.
		const deleted = " (deleted)"
		replaced, wasDeleted := strings.CutSuffix(path, deleted)
		if _, err := os.Stat(replaced); wasDeleted && err == nil {
			return []string{replaced, "hold"}, nil
		}
		return []string{"/proc/self/exe", "hold"}, nil
	}
	return []string{path, "hold"}, nil
}

// keep is the environment reduced to some names.
func keep(environment, names []string) []string {
	var kept []string
	for _, entry := range environment {
		name, _, _ := strings.Cut(entry, "=")
		for _, wanted := range names {
			if name == wanted {
				kept = append(kept, entry)
			}
		}
	}
	return kept
}

// limitedReader fails when more than its bytes are read.
type limitedReader struct {
	file *os.File
	left int
}

func (r *limitedReader) Read(p []byte) (int, error) {
	if r.left <= 0 {
		return 0, errors.New("too much")
	}
	n, err := r.file.Read(p[:min(len(p), r.left)])
	r.left -= n
	return n, err
}
