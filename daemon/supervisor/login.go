package supervisor

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
)

const (
	// loginTimeout bounds the login shell: a profile that asks something or
	// hangs must not keep a session from starting.
	loginTimeout = 5 * time.Second
	// loginLifetime is how long its environment is used again. A changed profile
	// counts after that, or after a restart of the daemon.
	loginLifetime = 10 * time.Minute
	// maxEnvironment bounds what the shell may print, in bytes.
	maxEnvironment = daemon.MaxEnvironmentBytes
)

// loginShell gives remote starts the environment that the user's login shell
// makes, which the daemon, started by the system, does not have.
type loginShell struct {
	log     *slog.Logger
	timeout time.Duration

	mu          sync.Mutex
	environment []string
	taken       time.Time
}

func newLoginShell(log *slog.Logger) *loginShell { return &loginShell{log: log, timeout: loginTimeout} }

// environ is the login environment. When the shell does not give one in time,
// it is this process's own, which is not kept for the next time.
func (l *loginShell) environ(ctx context.Context) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.environment != nil && time.Since(l.taken) < loginLifetime {
		return slices.Clone(l.environment)
	}
	environment, err := l.ask(ctx, userShell())
	if err != nil {
		l.log.Warn("login shell gave no environment", "error", err)
		return ownEnvironment()
	}
	l.environment, l.taken = environment, time.Now()
	return slices.Clone(environment)
}

// ask runs the shell as for a login at a terminal and reads its environment.
// What profiles print before is told apart by a random mark.
func (l *loginShell) ask(ctx context.Context, shell string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	mark := rand.Text()
	command := exec.CommandContext(ctx, shell, "-lic", "printf '%s' "+mark+"; env -0")
	command.Env = append(ownEnvironment(), "TERM=dumb")
	command.Dir = homeDir()
	// Its own session, so that it has no terminal to read from and everything
	// that it starts ends with it.
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	command.Cancel = func() error {
		err := syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		if errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone
		}
		return err
	}
	// A background process of the profile may keep the pipe open.
	command.WaitDelay = time.Second
	var out limitedBuffer
	command.Stdout = &out
	err := command.Run()
	if err != nil && !errors.Is(err, exec.ErrWaitDelay) {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%s took longer than %v", shell, l.timeout)
		}
		return nil, fmt.Errorf("run %s: %w", shell, err)
	}
	_, printed, found := bytes.Cut(out.Bytes(), []byte(mark))
	if !found {
		return nil, fmt.Errorf("%s printed no environment", shell)
	}
	return parseEnvironment(printed)
}

// parseEnvironment reads NUL-terminated NAME=VALUE entries.
func parseEnvironment(printed []byte) ([]string, error) {
	if !bytes.Contains(printed, []byte{0}) {
		return nil, errors.New("env knows no -0 here")
	}
	var environment []string
	for entry := range bytes.SplitSeq(printed, []byte{0}) {
		name, _, found := bytes.Cut(entry, []byte("="))
		if !found || len(name) == 0 || !wanted(string(name)) {
			continue
		}
		environment = append(environment, string(entry))
	}
	if len(environment) == 0 || len(environment) > daemon.MaxEnvironment {
		return nil, fmt.Errorf("%d variables are no environment", len(environment))
	}
	return environment, nil
}

// wanted leaves out what belongs to the shell that printed it, and ours.
func wanted(name string) bool {
	switch name {
	case "_", "SHLVL", "PWD", "OLDPWD", "TERM":
		return false
	}
	return !strings.HasPrefix(name, "AGENT_HELM_")
}

func ownEnvironment() []string {
	return slices.DeleteFunc(os.Environ(), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return !wanted(name)
	})
}

// limitedBuffer keeps the first maxEnvironment bytes and swallows the rest, so
// that a shell that prints without end is not kept waiting.
type limitedBuffer struct{ bytes.Buffer }

func (b *limitedBuffer) Write(p []byte) (int, error) {
	b.Buffer.Write(p[:min(len(p), max(maxEnvironment-b.Len(), 0))])
	return len(p), nil
}

// userShell is the user's shell: $SHELL, else what the system's list says.
func userShell() string {
	if shell := os.Getenv("SHELL"); usableShell(shell) {
		return shell
	}
	if file, err := os.Open("/etc/passwd"); err == nil {
		defer file.Close()
		if shell := shellOf(file, os.Getuid()); usableShell(shell) {
			return shell
		}
	}
	return "/bin/sh"
}

func usableShell(path string) bool {
	if !filepath.IsAbs(path) {
		return false
	}
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

// shellOf finds a user's shell in the format of passwd(5).
func shellOf(passwd io.Reader, uid int) string {
	lines := bufio.NewScanner(io.LimitReader(passwd, 1<<20))
	for lines.Scan() {
		fields := strings.Split(lines.Text(), ":")
		if len(fields) == 7 && fields[2] == strconv.Itoa(uid) {
			return fields[6]
		}
	}
	return ""
}

// homeDir is the user's home, or the root where there is none.
func homeDir() string {
	if home, err := os.UserHomeDir(); err == nil && filepath.IsAbs(home) {
		if info, err := os.Stat(home); err == nil && info.IsDir() {
			return home
		}
	}
	return "/"
}
