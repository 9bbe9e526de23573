// Package supervisor is all sessions of this host: it lists them from the
// state directory and from what their holders answer, starts and ends them,
// and notices when they come, change and go. It holds no terminal and no
// stream, and nothing that a restart would lose: the directory and the holders
// are the truth, so it works the same in a command as in the daemon, and
// adopts what it finds. The daemon keeps one with Run for its whole life; a
// command opens one for a moment.
package supervisor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/holder"
	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
	"golang.org/x/sync/errgroup"
)

const (
	// scanInterval is how often Run looks at the state directory.
	scanInterval = 2 * time.Second
	// refreshInterval is how often Run asks every holder, which finds what the
	// directory does not show, such as a process id that was used again.
	refreshInterval = 30 * time.Second
	// maxPageLines bounds one page of history, as a holder does.
	maxPageLines = 1000
	// inspectors is how many sessions are looked at at once.
	inspectors = 8
	// callTimeout bounds a call to a holder when the caller sets no bound.
	callTimeout = 10 * time.Second
)

// Errors for callers that show them or send them on. Each is a *wire.Fault, as
// are a holder's own refusals.
var (
	ErrUnknownSession = &wire.Fault{Code: wire.CodeUnknownSession, Message: "there is no such session on this host: agent-helm ls lists them"}
	ErrEnded          = &wire.Fault{Code: wire.CodeSessionEnded, Message: "the session has ended"}
	ErrRunning        = &wire.Fault{Code: wire.CodeInvalid, Message: "the session is still running: kill it first"}
	ErrTooMany        = &wire.Fault{Code: wire.CodeLimit, Message: holder.ErrTooMany.Error()}
)

// Supervisor is the sessions of one installation. Safe for concurrent use.
type Supervisor struct {
	dirs  daemon.Dirs
	log   *slog.Logger
	login *loginShell
	nudge chan struct{}

	mu sync.Mutex
	// known is what Run saw last, by id; nil while Run does not run.
	known       map[string]known
	subscribers map[chan struct{}]struct{}
}

// known is a session as it was seen and by what a change is noticed.
type known struct {
	session daemon.Session
	mark    mark
}

// Open makes the directories that are missing and returns their Supervisor.
// Nothing runs until Run; log may be nil.
func Open(dirs daemon.Dirs, log *slog.Logger) (*Supervisor, error) {
	if err := dirs.Create(); err != nil {
		return nil, err
	}
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Supervisor{
		dirs: dirs, log: log, login: newLoginShell(log),
		nudge: make(chan struct{}, 1), subscribers: make(map[chan struct{}]struct{}),
	}, nil
}

// List is every session of this host, oldest first. While Run runs it is what
// Run saw last; else the holders are asked now. A session whose files are
// damaged is listed with a warning and keeps nobody else out.
func (s *Supervisor) List(ctx context.Context) ([]daemon.Session, error) {
	if list, ok := s.cached(); ok {
		return list, nil
	}
	return s.inspectAll(ctx)
}

func (s *Supervisor) cached() ([]daemon.Session, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known == nil {
		return nil, false
	}
	list := make([]daemon.Session, 0, len(s.known))
	for _, k := range s.known {
		list = append(list, k.session)
	}
	sortByAge(list)
	return list, true
}

func sortByAge(list []daemon.Session) {
	slices.SortFunc(list, func(a, b daemon.Session) int { return strings.Compare(a.ID, b.ID) })
}

func (s *Supervisor) inspectAll(ctx context.Context) ([]daemon.Session, error) {
	ids, err := s.dirs.SessionIDs()
	if err != nil {
		return nil, err
	}
	found := make([]*daemon.Session, len(ids))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(inspectors)
	for i, id := range ids {
		group.Go(func() error {
			if session, err := s.inspect(ctx, id); err == nil {
				found[i] = &session
			}
			return ctx.Err()
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	list := make([]daemon.Session, 0, len(ids))
	for _, session := range found {
		if session != nil {
			list = append(list, *session)
		}
	}
	return list, nil
}

// Get is one session, asked now. ErrUnknownSession: there is none.
func (s *Supervisor) Get(ctx context.Context, id string) (daemon.Session, error) {
	return s.inspect(ctx, id)
}

// Start starts a session under a new holder, from this process's environment
// unless the spec has one. ErrTooMany: daemon.MaxSessions run already.
func (s *Supervisor) Start(ctx context.Context, spec daemon.Spec) (daemon.Session, error) {
	session, err := holder.Start(ctx, s.dirs, spec)
	switch {
	case errors.Is(err, holder.ErrTooMany):
		return daemon.Session{}, ErrTooMany
	case errors.Is(err, daemon.ErrInvalidSpec), errors.Is(err, daemon.ErrInvalidName):
		return daemon.Session{}, &wire.Fault{Code: wire.CodeInvalid, Message: err.Error()}
	case err != nil:
		return daemon.Session{}, err
	}
	s.log.Info("session started", "session", session.ID)
	s.Nudge()
	return session, nil
}

// Rename gives a session another name, whether it runs or not.
func (s *Supervisor) Rename(ctx context.Context, id, name string) error {
	if err := daemon.ValidateName(name); err != nil {
		return &wire.Fault{Code: wire.CodeInvalid, Message: err.Error()}
	}
	err := s.call(ctx, id, wire.MethodRename, wire.SessionParams{Name: name}, nil)
	if errors.Is(err, ErrEnded) {
		err = holder.Rename(s.dirs, id, name)
	}
	if err != nil {
		return err
	}
	s.Nudge()
	return nil
}

// Kill ends a session's process groups: HUP, then KILL after
// daemon.KillGrace. It returns once the holder has begun.
func (s *Supervisor) Kill(ctx context.Context, id string) error {
	return s.call(ctx, id, wire.MethodKill, nil, nil)
}

// Signal does a Stop action: "esc", "ctrl-c", "hup", "term" or "kill".
func (s *Supervisor) Signal(ctx context.Context, id, signal string) error {
	return s.call(ctx, id, wire.MethodSignal, wire.SessionParams{Signal: signal}, nil)
}

// Page reads a page of a session's history as internal/vt's Page in JSON, from
// its holder or from what it left.
func (s *Supervisor) Page(ctx context.Context, params wire.PageParams) (json.RawMessage, error) {
	var page json.RawMessage
	err := s.call(ctx, params.ID, wire.MethodPage, wire.PageParams{Before: params.Before, Max: params.Max}, &page)
	if !errors.Is(err, ErrEnded) {
		return page, err
	}
	terminal, err := s.lastTerminal(ctx, params.ID)
	if err != nil {
		return nil, err
	}
	page, err = json.Marshal(terminal.Page(vt.LineID(params.Before), min(max(params.Max, 1), maxPageLines)))
	if err != nil {
		return nil, fmt.Errorf("encode page: %w", err)
	}
	return page, nil
}

// lastTerminal is an ended session's terminal at its end.
func (s *Supervisor) lastTerminal(ctx context.Context, id string) (*vt.Terminal, error) {
	record, err := s.Record(ctx, id)
	if err != nil {
		return nil, err
	}
	defer record.Close()
	return record.Terminal()
}

// Record opens what an ended session left. ErrRunning: it has not ended.
func (s *Supervisor) Record(ctx context.Context, id string) (*holder.Record, error) {
	session, err := s.inspect(ctx, id)
	switch {
	case err != nil:
		return nil, err
	case session.State == daemon.StateRunning:
		return nil, ErrRunning
	}
	record, err := holder.OpenRecord(s.dirs, id)
	switch {
	case errors.Is(err, holder.ErrNoSession):
		return nil, ErrUnknownSession
	case errors.Is(err, holder.ErrNotEnded):
		return nil, ErrRunning
	}
	return record, err
}

// Forget removes an ended session's files. ErrRunning: it has not ended.
func (s *Supervisor) Forget(ctx context.Context, id string) error {
	session, err := s.inspect(ctx, id)
	if err != nil {
		return err
	}
	if session.State == daemon.StateRunning {
		return ErrRunning
	}
	if err := os.RemoveAll(s.dirs.SessionDir(id)); err != nil {
		return fmt.Errorf("remove session: %w", err)
	}
	if err := os.Remove(s.dirs.SessionSocket(id)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("remove session's socket: %w", err)
	}
	s.log.Info("session forgotten", "session", id)
	s.Nudge()
	return nil
}

// Dial connects to a session's holder in a role of wire. ErrEnded: it is gone
// for good. Any other error may pass.
func (s *Supervisor) Dial(ctx context.Context, id, role string) (*holder.Client, error) {
	client, err := holder.Dial(ctx, s.dirs, id, role)
	if err == nil {
		return client, nil
	}
	if !errors.Is(err, holder.ErrNoHolder) && !errors.Is(err, holder.ErrNoSession) {
		return nil, err
	}
	session, inspectErr := s.inspect(ctx, id)
	switch {
	case inspectErr != nil:
		return nil, inspectErr
	case session.State != daemon.StateRunning:
		return nil, ErrEnded
	}
	return nil, fmt.Errorf("session %s: %w", id, err)
}

// call asks a holder one thing.
func (s *Supervisor) call(ctx context.Context, id, method string, params, result any) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	client, err := s.Dial(ctx, id, wire.RoleTool)
	if err != nil {
		return err
	}
	defer client.Close()
	return client.Call(ctx, method, params, result)
}
