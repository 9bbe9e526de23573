package holder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/buildinfo"
)

// Environment variables that a program in a session sees.
const (
	// EnvSession is the session's id.
	EnvSession = "AGENT_HELM_SESSION"
	// EnvSessionRef is the session's own capability: it may ask and notify for
	// this session and nothing else. It is the only secret of ours that a
	// program gets.
	EnvSessionRef = "AGENT_HELM_SESSION_REF"
)

const ownPrefix = "AGENT_HELM_"

// keptOwn are variables of ours that hold no secret and that our programs
// inside the session need to find their installation.
var keptOwn = []string{daemon.EnvConfigDir, daemon.EnvStateDir}

// strangers are variables by which other terminals and multiplexers say who
// they are, or what size they had. A program that believed them would use
// what our terminal does not have, or draw for a window that is not there.
var strangers = []string{
	"COLUMNS", "LINES", "TERM", "TERMCAP", "TERMINFO", "COLORTERM", "COLORFGBG", "WINDOWID", "WINDOW",
	"TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERM_SESSION_ID", "TERMINAL_EMULATOR",
	"TMUX", "TMUX_PANE", "STY", "VTE_VERSION", "WT_SESSION", "WT_PROFILE_ID",
	"LC_TERMINAL", "LC_TERMINAL_VERSION", "TILIX_ID", "TERMINATOR_UUID", "MC_SID",
}

// strangerPrefixes are those of terminals that use many.
var strangerPrefixes = []string{
	"KITTY_", "ITERM_", "KONSOLE_", "ALACRITTY_", "WEZTERM_", "GHOSTTY_", "GNOME_TERMINAL_",
	"ZELLIJ", "WARP_", "XTERM_", "FOOT_", "CONTOUR_", "RIO_",
}

// childEnvironment is the caller's environment without the identity of other
// terminals and without our own secrets, with ours added.
func childEnvironment(caller []string, spec daemon.Spec, ref string) []string {
	environment := slices.DeleteFunc(slices.Clone(caller), func(entry string) bool {
		name, _, found := strings.Cut(entry, "=")
		switch {
		case !found || name == "" || name == "PWD":
			return true
		case strings.HasPrefix(name, ownPrefix):
			return !slices.Contains(keptOwn, name)
		case slices.Contains(strangers, name):
			return true
		}
		return slices.ContainsFunc(strangerPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
	})
	return append(environment,
		"PWD="+spec.Cwd,
		"TERM=xterm-256color",
		"COLORTERM=truecolor",
		"TERM_PROGRAM=agent-helm",
		"TERM_PROGRAM_VERSION="+buildinfo.Version(),
		EnvSession+"="+spec.ID,
		EnvSessionRef+"="+ref,
	)
}

func variable(environment []string, name string) string {
	for _, entry := range slices.Backward(environment) {
		if value, found := strings.CutPrefix(entry, name+"="); found {
			return value
		}
	}
	return ""
}

// findProgram finds the file to run as a shell would: by path from the working
// directory, or by name in the caller's PATH.
func findProgram(name, cwd string, environment []string) (string, error) {
	if strings.ContainsRune(name, '/') {
		path := name
		if !filepath.IsAbs(path) {
			path = filepath.Join(cwd, path)
		}
		return path, executable(path)
	}
	path := variable(environment, "PATH")
	if path == "" {
		path = "/usr/local/bin:/usr/bin:/bin"
	}
	denied := ""
	for _, directory := range filepath.SplitList(path) {
		if !filepath.IsAbs(directory) {
			continue // a program of the current directory is never started by its bare name
		}
		candidate := filepath.Join(directory, name)
		err := executable(candidate)
		if err == nil {
			return candidate, nil
		}
		if errors.Is(err, fs.ErrPermission) {
			denied = candidate
		}
	}
	if denied != "" {
		return "", fmt.Errorf("%s: permission denied", denied)
	}
	return "", fmt.Errorf("%s: command not found in PATH", name)
}

// executable fails unless path is a file that somebody may execute; the kernel
// has the last word.
func executable(path string) error {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: no such file", path)
	case err != nil:
		return err
	case info.IsDir():
		return fmt.Errorf("%s is a directory", path)
	case info.Mode().Perm()&0o111 == 0:
		return fmt.Errorf("%s: %w", path, fs.ErrPermission)
	}
	return nil
}
