package daemon

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// State is what became of a session.
type State string

// States of a session. Unreachable is none of them: a host or holder that does
// not answer says nothing about the program.
const (
	// StateRunning: the holder owns a live program.
	StateRunning State = "running"
	// StateExited: the program ended and its end was recorded.
	StateExited State = "exited"
	// StateLost: the holder is provably gone without having recorded an end.
	StateLost State = "lost"
)

// Session is one program under a holder, as `ls --json` prints it.
type Session struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// State is running, exited or lost.
	State State `json:"state"`
	// Command is the argv joined for display.
	Command string `json:"command"`
	Cwd     string `json:"cwd"`
	// Agent is the known agent's name, or empty.
	Agent string `json:"agent"`
	// PID is the program's process id; 0 when it no longer runs.
	PID int `json:"pid"`
	// HolderPID is the holder's process id; 0 when it is gone.
	HolderPID int       `json:"holder_pid,omitempty"`
	Created   time.Time `json:"created"`
	// Ended is when the program ended, as far as it was recorded.
	Ended *time.Time `json:"ended,omitempty"`
	// ExitCode and ExitSignal are set when State is exited; one of them.
	ExitCode   *int   `json:"exit_code,omitempty"`
	ExitSignal string `json:"exit_signal,omitempty"`
	// LostReason is set when State is lost.
	LostReason string `json:"lost_reason,omitempty"`
	// Online says that the holder answers on its socket.
	Online bool   `json:"online"`
	Cols   uint16 `json:"cols"`
	Rows   uint16 `json:"rows"`
	// InputBlocked says that the program does not read its input.
	InputBlocked bool `json:"input_blocked,omitempty"`
	// Warning is a fault that the person should know, such as a full disk.
	Warning string `json:"warning,omitempty"`
}

// Meta is the session as it is told to a server.
func (s Session) Meta(now time.Time) wire.SessionMeta {
	return wire.SessionMeta{
		Name: s.Name, Command: s.Command, Cwd: s.Cwd, Agent: s.Agent,
		AgeMS: max(now.Sub(s.Created).Milliseconds(), 0), State: string(s.State),
		ExitCode: s.ExitCode, ExitSignal: s.ExitSignal, LostReason: s.LostReason,
		InputBlocked: s.InputBlocked, Warning: s.Warning,
	}
}

// Exit is how a program ended: by a code, or by a signal's name ("SIGKILL").
type Exit struct {
	Code   int       `json:"code"`
	Signal string    `json:"signal,omitempty"`
	Time   time.Time `json:"time"`
}

// Spec is what a session is started from. It is checked by Validate before
// anything runs.
type Spec struct {
	ID   string   `json:"id"`
	Name string   `json:"name"`
	Argv []string `json:"argv"`
	// Cwd is absolute.
	Cwd string `json:"cwd"`
	// Agent is a known agent's name, or empty.
	Agent string `json:"agent,omitempty"`
	Cols  uint16 `json:"cols"`
	Rows  uint16 `json:"rows"`
	// Env is the environment of the caller, from which the child's is made. It
	// goes to the holder through a pipe and is never written to disk.
	Env []string `json:"env,omitempty"`
	// LogBytes bounds the log on disk; 0 is DefaultLogBytes.
	LogBytes int64 `json:"log_bytes,omitempty"`
	// Created is when the session was asked for.
	Created time.Time `json:"created"`
}

// WithDefaults fills in what the caller left out: id, name, size, log size,
// agent (from argv) and time.
func (s Spec) WithDefaults(now time.Time) Spec {
	if s.ID == "" {
		s.ID = NewSessionID()
	}
	if s.Agent == "" && len(s.Argv) > 0 {
		s.Agent = DetectAgent(s.Argv)
	}
	if s.Name == "" && len(s.Argv) > 0 {
		s.Name = untrusted.Clean(filepath.Base(s.Argv[0]), MaxNameRunes)
	}
	if s.Cols == 0 {
		s.Cols = DefaultCols
	}
	if s.Rows == 0 {
		s.Rows = DefaultRows
	}
	if s.LogBytes == 0 {
		s.LogBytes = DefaultLogBytes
	}
	if s.Created.IsZero() {
		s.Created = now
	}
	return s
}

// Errors of Spec.Validate and ValidateName, for callers that map them to a code.
var (
	ErrInvalidSpec = errors.New("invalid session")
	ErrInvalidName = errors.New("invalid name")
)

// Validate fails with ErrInvalidSpec and the reason when the spec cannot be
// started or exceeds a limit.
func (s Spec) Validate() error {
	if err := s.validate(); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidSpec, err)
	}
	return nil
}

func (s Spec) validate() error {
	if !ValidSessionID(s.ID) {
		return errors.New("the session id is malformed")
	}
	if err := ValidateName(s.Name); err != nil {
		return err
	}
	if len(s.Argv) == 0 || s.Argv[0] == "" {
		return errors.New("no command was given")
	}
	if err := checkStrings("argument", s.Argv, MaxArguments, MaxArgumentBytes); err != nil {
		return err
	}
	if err := checkStrings("environment variable", s.Env, MaxEnvironment, MaxEnvironmentBytes); err != nil {
		return err
	}
	if !filepath.IsAbs(s.Cwd) || strings.ContainsRune(s.Cwd, 0) {
		return fmt.Errorf("the working directory %q is not an absolute path", s.Cwd)
	}
	if _, known := AgentByName(s.Agent); s.Agent != "" && !known {
		return fmt.Errorf("agent %q is not known", s.Agent)
	}
	if s.Cols < 1 || s.Cols > wire.MaxColumns || s.Rows < 1 || s.Rows > wire.MaxRows {
		return fmt.Errorf("the size %d×%d is outside 1×1 to %d×%d", s.Cols, s.Rows, wire.MaxColumns, wire.MaxRows)
	}
	if s.LogBytes < MinLogBytes || s.LogBytes > MaxLogBytes {
		return fmt.Errorf("a log of %d bytes is outside %d to %d", s.LogBytes, MinLogBytes, MaxLogBytes)
	}
	return nil
}

func checkStrings(what string, list []string, maxCount, maxBytes int) error {
	if len(list) > maxCount {
		return fmt.Errorf("%d of the most possible %d %ss", len(list), maxCount, what)
	}
	total := 0
	for _, s := range list {
		if strings.ContainsRune(s, 0) {
			return fmt.Errorf("a NUL byte in an %s", what)
		}
		total += len(s) + 1
	}
	if total > maxBytes {
		return fmt.Errorf("%ss of %d bytes, more than %d", what, total, maxBytes)
	}
	return nil
}

// ValidateName fails with ErrInvalidName unless name is 1 to MaxNameRunes
// visible characters.
func ValidateName(name string) error {
	switch n := utf8.RuneCountInString(name); {
	case strings.TrimSpace(name) == "":
		return fmt.Errorf("%w: it is empty", ErrInvalidName)
	case n > MaxNameRunes:
		return fmt.Errorf("%w: %d characters, at most %d fit", ErrInvalidName, n, MaxNameRunes)
	case !utf8.ValidString(name) || untrusted.Clean(name, n) != name:
		return fmt.Errorf("%w: it has invisible or control characters", ErrInvalidName)
	}
	return nil
}

// Command is the argv joined for display, not for a shell.
func (s Spec) Command() string { return untrusted.Clean(strings.Join(s.Argv, " "), MaxCommandRunes) }

const (
	sessionIDLength   = 26
	sessionIDAlphabet = "0123456789abcdefghjkmnpqrstvwxyz"
)

// NewSessionID returns a new session id: 48 bits of milliseconds since 1970 and
// 80 random bits in lower-case Crockford base32, so that ids sort by age.
func NewSessionID() string { return newSessionID(time.Now()) }

func newSessionID(now time.Time) string {
	var b [16]byte
	binary.BigEndian.PutUint64(b[:8], uint64(now.UnixMilli())<<16)
	rand.Read(b[6:])
	high, low := binary.BigEndian.Uint64(b[:8]), binary.BigEndian.Uint64(b[8:])
	var id [sessionIDLength]byte
	for i := sessionIDLength - 1; i >= 0; i-- {
		id[i] = sessionIDAlphabet[low&31]
		low = low>>5 | high<<59
		high >>= 5
	}
	return string(id[:])
}

// ValidSessionID says whether id has the form of NewSessionID's, which also
// makes it safe as a file name.
func ValidSessionID(id string) bool {
	if len(id) != sessionIDLength || id[0] > '7' {
		return false
	}
	for i := range len(id) {
		if strings.IndexByte(sessionIDAlphabet, id[i]) < 0 {
			return false
		}
	}
	return true
}
