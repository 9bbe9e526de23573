package holder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/wire"
)

const (
	// inspectTimeout is how long a holder may take to answer Inspect. One that
	// does not is offline, not lost.
	inspectTimeout = 2 * time.Second
	// birthTime is how long a session may have no birth record before it counts
	// as never started.
	birthTime = time.Minute
)

// Reasons why a session is lost.
const (
	LostReboot     = "the computer was restarted"
	LostHolder     = "the session's holder process died"
	LostNeverBegan = "the session never started"
)

// ErrNoSession says that there is no session of this id on this host.
var ErrNoSession = errors.New("no such session")

// Inspect says what became of a session: running, exited or lost, from its
// records and its holder's answer. A holder that lives but does not answer is
// running and not online. ErrNoSession: there is none of this id.
func Inspect(dirs daemon.Dirs, id string) (daemon.Session, error) {
	if !daemon.ValidSessionID(id) {
		return daemon.Session{}, fmt.Errorf("%w: %q is not a session id", ErrNoSession, daemon.CleanText(id, 64))
	}
	spec, err := readSpec(dirs, id)
	if err != nil {
		return inspectUnwritten(dirs, id, err)
	}
	if session, ok := inspectEnded(dirs, spec); ok {
		return session, nil
	}
	var birth birthRecord
	birthErr := daemon.ReadJSON(filepath.Join(dirs.SessionDir(id), birthFile), &birth)
	dead := LostNeverBegan
	if birthErr == nil {
		dead = birth.lives()
	} else if time.Since(spec.Created) < birthTime {
		dead = ""
	}
	if dead == "" {
		ctx, cancel := context.WithTimeout(context.Background(), inspectTimeout)
		defer cancel()
		if client, err := Dial(ctx, dirs, id, wire.RoleTool); err == nil {
			welcome := client.Welcome()
			client.Close()
			return sessionOf(spec, welcome.Session, welcome.PID, birth.HolderPID), nil
		}
		session := plain(spec)
		session.State, session.PID, session.HolderPID = daemon.StateRunning, birth.PID, birth.HolderPID
		// It may have ended between the look at its records and the call.
		if ended, ok := inspectEnded(dirs, spec); ok {
			return ended, nil
		}
		if birthErr == nil && birth.lives() != "" {
			session.State, session.PID, session.HolderPID, session.LostReason = daemon.StateLost, 0, 0, birth.lives()
		}
		return session, nil
	}
	if session, ok := inspectEnded(dirs, spec); ok {
		return session, nil
	}
	session := plain(spec)
	session.State, session.LostReason = daemon.StateLost, dead
	return session, nil
}

// inspectUnwritten is Inspect for a session without a readable spec.
func inspectUnwritten(dirs daemon.Dirs, id string, cause error) (daemon.Session, error) {
	info, err := os.Lstat(dirs.SessionDir(id))
	if errors.Is(err, fs.ErrNotExist) {
		return daemon.Session{}, ErrNoSession
	}
	if err != nil {
		return daemon.Session{}, fmt.Errorf("inspect session: %w", err)
	}
	session := daemon.Session{ID: id, Name: id, State: daemon.StateLost, Created: info.ModTime(), LostReason: LostNeverBegan}
	switch {
	case !errors.Is(cause, fs.ErrNotExist):
		session.LostReason = "its record is damaged"
	case time.Since(info.ModTime()) < birthTime:
		return daemon.Session{}, ErrNoSession // it is being started
	}
	return session, nil
}

func inspectEnded(dirs daemon.Dirs, spec daemon.Spec) (daemon.Session, bool) {
	var record exitRecord
	if err := daemon.ReadJSON(filepath.Join(dirs.SessionDir(spec.ID), exitFile), &record); err != nil {
		return daemon.Session{}, false
	}
	session := plain(spec)
	session.State, session.Cols, session.Rows = daemon.StateExited, record.Cols, record.Rows
	session.Ended, session.ExitSignal = &record.Time, record.Signal
	if record.Signal == "" {
		session.ExitCode = &record.Code
	}
	return session, true
}

// lives is empty while the holder lives, else why it does not.
func (b birthRecord) lives() string {
	if boot, err := bootID(); err == nil && b.Boot != boot {
		return LostReboot
	}
	if started, ok := processStart(b.HolderPID); !ok || started != b.HolderStarted {
		return LostHolder
	}
	return ""
}

// plain is what the spec alone says of a session.
func plain(spec daemon.Spec) daemon.Session {
	return daemon.Session{
		ID: spec.ID, Name: spec.Name, Command: spec.Command(), Cwd: spec.Cwd, Agent: spec.Agent,
		Created: spec.Created, Cols: spec.Cols, Rows: spec.Rows,
	}
}

// sessionOf is what a holder says of its session.
func sessionOf(spec daemon.Spec, info wire.SessionInfo, pid, holderPID int) daemon.Session {
	session := plain(spec)
	meta := info.Meta
	session.Name, session.State = meta.Name, daemon.State(meta.State)
	session.ExitCode, session.ExitSignal = meta.ExitCode, meta.ExitSignal
	session.Cols, session.Rows = info.Cols, info.Rows
	session.Online, session.InputBlocked, session.Warning = true, meta.InputBlocked, meta.Warning
	session.HolderPID = holderPID
	if session.State == daemon.StateRunning {
		session.PID = pid
	}
	return session
}
