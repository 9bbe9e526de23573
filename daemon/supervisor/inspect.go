package supervisor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/holder"
	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// recordFiles are the records in a session's directory that are read whole.
var recordFiles = []string{"spec.json", "birth.json", "exit.json"}

// maxRecord is the size above which a record is not a record.
const maxRecord = 1 << 20

// inspect looks at one session. What is wrong with its files becomes a warning
// of this session and an error of nobody. ErrUnknownSession: there is none, or
// it is just being started.
func (s *Supervisor) inspect(ctx context.Context, id string) (daemon.Session, error) {
	if !daemon.ValidSessionID(id) {
		return daemon.Session{}, ErrUnknownSession
	}
	if err := checkRecords(s.dirs.SessionDir(id)); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return daemon.Session{}, ErrUnknownSession
		}
		return s.damaged(ctx, id, err), nil
	}
	session, err := holder.Inspect(s.dirs, id)
	switch {
	case errors.Is(err, holder.ErrNoSession):
		return daemon.Session{}, ErrUnknownSession
	case err != nil:
		return s.damaged(ctx, id, err), nil
	case session.State == daemon.StateLost && !s.readable(id):
		return s.damaged(ctx, id, errors.New("its record is damaged")), nil
	}
	return cleaned(session), nil
}

// checkRecords fails when a record is something that must not be opened: a
// FIFO would block, a link would lead elsewhere.
func checkRecords(directory string) error {
	if info, err := os.Lstat(directory); err != nil {
		return err
	} else if !info.IsDir() {
		return fs.ErrNotExist
	}
	for _, name := range recordFiles {
		info, err := os.Lstat(filepath.Join(directory, name))
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return fmt.Errorf("its %s cannot be read", name)
		case !info.Mode().IsRegular():
			return fmt.Errorf("its %s is not a file", name)
		case info.Size() > maxRecord:
			return fmt.Errorf("its %s is too large", name)
		}
	}
	return nil
}

// readable says whether the session's spec is what it should be.
func (s *Supervisor) readable(id string) bool {
	path := filepath.Join(s.dirs.SessionDir(id), recordFiles[0])
	var spec daemon.Spec
	err := daemon.ReadJSON(path, &spec)
	if errors.Is(err, fs.ErrNotExist) {
		return true // never written, which is no damage
	}
	return err == nil && spec.ID == id
}

// damaged describes a session whose files cannot be used: by its holder if
// that answers, else as lost.
func (s *Supervisor) damaged(ctx context.Context, id string, cause error) daemon.Session {
	session := daemon.Session{
		ID: id, Name: id, State: daemon.StateLost, LostReason: cause.Error(),
		Warning: cause.Error() + ": see " + s.dirs.SessionDir(id),
		Cols:    daemon.DefaultCols, Rows: daemon.DefaultRows,
	}
	if info, err := os.Lstat(s.dirs.SessionDir(id)); err == nil {
		session.Created = info.ModTime()
	}
	dialing, cancel := context.WithTimeout(ctx, scanInterval)
	defer cancel()
	client, err := holder.Dial(dialing, s.dirs, id, wire.RoleTool)
	if err != nil {
		return session
	}
	defer client.Close()
	welcome := client.Welcome()
	meta := welcome.Session.Meta
	session.State, session.LostReason, session.Online = daemon.State(meta.State), "", true
	session.Name, session.Command, session.Cwd, session.Agent = meta.Name, meta.Command, meta.Cwd, meta.Agent
	session.ExitCode, session.ExitSignal = meta.ExitCode, meta.ExitSignal
	session.Cols, session.Rows = welcome.Session.Cols, welcome.Session.Rows
	session.Created = time.Now().Add(-time.Duration(meta.AgeMS) * time.Millisecond)
	if session.State == daemon.StateRunning {
		session.PID = welcome.PID
	}
	return cleaned(session)
}

// cleaned makes what came from files and holders safe to print.
func cleaned(session daemon.Session) daemon.Session {
	const maxPath, maxSentence = 4096, 300
	session.Name = untrusted.Clean(session.Name, daemon.MaxNameRunes)
	session.Command = untrusted.Clean(session.Command, daemon.MaxCommandRunes)
	session.Cwd = untrusted.Clean(session.Cwd, maxPath)
	session.Agent = untrusted.Clean(session.Agent, daemon.MaxNameRunes)
	session.ExitSignal = untrusted.Clean(session.ExitSignal, daemon.MaxNameRunes)
	session.LostReason = untrusted.Clean(session.LostReason, maxSentence)
	session.Warning = untrusted.Clean(session.Warning, maxSentence)
	switch session.State {
	case daemon.StateRunning, daemon.StateExited, daemon.StateLost:
	default:
		session.State = daemon.StateLost
	}
	return session
}
