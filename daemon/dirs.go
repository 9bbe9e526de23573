package daemon

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
)

// Environment variables that place an installation elsewhere, for tests and
// for `make run`.
const (
	EnvConfigDir = "AGENT_HELM_CONFIG_DIR"
	EnvStateDir  = "AGENT_HELM_STATE_DIR"
)

// Dirs is where one user's installation lives. All are absolute paths.
type Dirs struct {
	// Config holds host.json and policy.json.
	Config string
	// State holds sessions/, one directory each.
	State string
	// Run holds the sockets. It is State/run, or a directory under
	// /tmp/agent-helm-UID when that path is too long for a socket.
	Run string
}

// ResolveDirs finds the directories from the environment (os.Getenv, or a
// test's own). It creates nothing, but what exists is checked: a symlink,
// another owner, or a mode that lets others in is an error that says what to
// do. Logout removes $XDG_RUNTIME_DIR, so it is never used.
func ResolveDirs(getenv func(string) string) (Dirs, error) {
	config, err := resolveDir(getenv, EnvConfigDir, "XDG_CONFIG_HOME", ".config")
	if err != nil {
		return Dirs{}, err
	}
	state, err := resolveDir(getenv, EnvStateDir, "XDG_STATE_HOME", filepath.Join(".local", "state"))
	if err != nil {
		return Dirs{}, err
	}
	dirs := Dirs{Config: config, State: state, Run: runDir(state)}
	for _, path := range dirs.private() {
		if err := checkPrivateDir(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return Dirs{}, err
		}
	}
	return dirs, nil
}

func resolveDir(getenv func(string) string, override, base, fallback string) (string, error) {
	if path := getenv(override); path != "" {
		absolute, err := filepath.Abs(path)
		if err != nil {
			return "", fmt.Errorf("resolve $%s: %w", override, err)
		}
		return absolute, nil
	}
	// The XDG specification has relative paths ignored.
	if path := getenv(base); filepath.IsAbs(path) {
		return filepath.Join(path, "agent-helm"), nil
	}
	home := getenv("HOME")
	if !filepath.IsAbs(home) {
		return "", fmt.Errorf("$HOME is not set: set it or $%s", override)
	}
	return filepath.Join(home, fallback, "agent-helm"), nil
}

// runDir is state/run unless a socket's path in it would be too long. The
// fallback has one directory per installation, so that two never share a
// daemon socket.
func runDir(state string) string {
	run := filepath.Join(state, "run")
	if len(run)+len("/.sock")+sessionIDLength <= MaxSocketPath {
		return run
	}
	sum := sha256.Sum256([]byte(state))
	return filepath.Join(sharedRunDir(), hex.EncodeToString(sum[:6]))
}

func sharedRunDir() string { return "/tmp/agent-helm-" + strconv.Itoa(os.Getuid()) }

// private lists the directories that must be ours alone, parents first.
func (d Dirs) private() []string {
	paths := []string{d.Config, d.State}
	if parent := filepath.Dir(d.Run); parent != d.State {
		paths = append(paths, parent)
	}
	return append(paths, d.Run)
}

// Create makes the directories that are missing, 0700, and checks all of them
// as ResolveDirs does.
func (d Dirs) Create() error {
	for _, path := range append(d.private(), d.sessions()) {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			return fmt.Errorf("create directory: %w", err)
		}
		if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("create directory: %w", err)
		}
		if err := checkPrivateDir(path); err != nil {
			return err
		}
	}
	return nil
}

func (d Dirs) sessions() string { return filepath.Join(d.State, "sessions") }

// SessionDir is where a session's files live. The id must be valid.
func (d Dirs) SessionDir(id string) string { return filepath.Join(d.sessions(), id) }

// SessionSocket is the path of a holder's socket. The id must be valid.
func (d Dirs) SessionSocket(id string) string { return filepath.Join(d.Run, id+".sock") }

// DaemonSocket is the path of the daemon's control socket.
func (d Dirs) DaemonSocket() string { return filepath.Join(d.Run, "daemon.sock") }

// SessionIDs lists the sessions that have a directory, oldest first. A state
// directory that does not exist has none.
func (d Dirs) SessionIDs() ([]string, error) {
	entries, err := os.ReadDir(d.sessions())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	var ids []string // ReadDir sorts by name, and ids sort by time
	for _, entry := range entries {
		if entry.IsDir() && ValidSessionID(entry.Name()) {
			ids = append(ids, entry.Name())
		}
	}
	return ids, nil
}

// checkPrivateDir fails unless path is a real directory of ours with mode 0700
// or narrower.
func checkPrivateDir(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("check directory: %w", err)
	}
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link: replace it by a directory of your own", path)
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory: move it away", path)
	}
	if owner, ok := ownerOf(info); ok && owner != os.Getuid() {
		return fmt.Errorf("%s belongs to user %d, not to you (%d): move it away", path, owner, os.Getuid())
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("%s has mode %04o and lets other users in: run chmod 700 %s", path, mode, path)
	}
	return nil
}
