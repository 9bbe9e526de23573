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
	"github.com/agent-helm/agent-helm/internal/untrusted"
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
		return daemon.Session{}, fmt.Errorf("%w: %q is not a session id", ErrNoSession, untrusted.Clean(id, 64))
	}
	spec, err := readSpec(dirs, id)
	if err != nil {
		return inspectUnwritten(dirs, id, err)
	}
	if session, ok := inspectEnded(dirs, spec); ok {
		return session, nil
	}
	var birth birthRecord
	born := daemon.ReadJSON(filepath.Join(dirs.SessionDir(id), birthFile), &birth) == nil
	if !born || birth.dead() != LostReboot {
		if session, ok := ask(dirs, spec, birth.HolderPID); ok {
			return session, nil
		}
	}
	dead := ""
	switch {
	case born:
		dead = birth.dead()
	case time.Since(spec.Created) > birthTime:
		dead = LostNeverBegan
	}
	// It may have ended while it was asked.
	if session, ok := inspectEnded(dirs, spec); ok {
		return session, nil
	}
	session := plain(spec)
	if dead != "" {
		session.State, session.LostReason = daemon.StateLost, dead
	} else {
		session.State, session.PID, session.HolderPID = daemon.StateRunning, birth.PID, birth.HolderPID
	}
	return session, nil
}

// ask has the holder say what its session is.
func ask(dirs daemon.Dirs, spec daemon.Spec, holderPID int) (daemon.Session, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), inspectTimeout)
	defer cancel()
	client, err := Dial(ctx, dirs, spec.ID, wire.RoleTool)
	if err != nil {
		return daemon.Session{}, false
	}
	defer client.Close()
	welcome := client.Welcome()
	return sessionOf(spec, welcome.Session, welcome.PID, holderPID), true
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
