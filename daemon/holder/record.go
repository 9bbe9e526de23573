package holder

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/ring"
	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// ErrNotEnded says that a session still runs; its holder is to be asked.
var ErrNotEnded = errors.New("the session has not ended")

// Record is what a session left on disk when it ended or was lost. It is used
// by one goroutine at a time.
type Record struct {
	dirs    daemon.Dirs
	session daemon.Session
	exit    *daemon.Exit
	end     wire.Position
	log     *diskLog // nil when the log is gone or damaged
}

// OpenRecord opens what a session left. ErrNoSession: there is none of this id.
// ErrNotEnded: its holder lives.
func OpenRecord(dirs daemon.Dirs, id string) (*Record, error) {
	session, err := Inspect(dirs, id)
	if err != nil {
		return nil, err
	}
	if session.State == daemon.StateRunning {
		return nil, ErrNotEnded
	}
	r := &Record{dirs: dirs, session: session}
	// A damaged log costs the output, not the record.
	if log, err := openDiskLog(filepath.Join(dirs.SessionDir(id), logDir)); err == nil {
		r.log, r.end = log, log.end
	}
	var record exitRecord
	if err := daemon.ReadJSON(filepath.Join(dirs.SessionDir(id), exitFile), &record); err == nil {
		r.exit, r.end = &record.Exit, record.End
	} else if r.log != nil {
		r.session.Cols, r.session.Rows = r.log.sizeAt(r.end)
	}
	return r, nil
}

// Session is the session as Inspect describes it.
func (r *Record) Session() daemon.Session { return r.session }

// Exit is how the program ended; nil when the session was lost.
func (r *Record) Exit() *daemon.Exit { return r.exit }

// Info describes the session and what can be read of its stream.
func (r *Record) Info() wire.SessionInfo {
	info := wire.SessionInfo{
		ID: r.session.ID, Start: r.end, End: r.end, Cols: r.session.Cols, Rows: r.session.Rows,
		Meta: r.session.Meta(time.Now()),
	}
	if r.log != nil && r.log.end == r.end {
		info.Start = wire.Position{Offset: r.log.start.Offset, Marks: r.log.start.Ordinal}
	}
	return info
}

// SizeAt is the terminal's size at a position that the log still has, or the
// last size.
func (r *Record) SizeAt(position wire.Position) (cols, rows uint16) {
	if r.log == nil {
		return r.session.Cols, r.session.Rows
	}
	return r.log.sizeAt(position)
}

// Start is the oldest position that Read knows.
func (r *Record) Start() wire.Position {
	if r.log == nil {
		return r.end
	}
	return wire.Position{Offset: r.log.start.Offset, Marks: r.log.start.Ordinal}
}

// End is the position behind the last byte the program printed.
func (r *Record) End() wire.Position { return r.end }

// Read copies at most len(buffer) bytes that follow position, up to the next
// mark, or returns that mark; neither at End. ring.ErrDropped: the log does not
// have the position.
func (r *Record) Read(position wire.Position, buffer []byte) (n int, mark *ring.Mark, next wire.Position, err error) {
	if position == r.end {
		return 0, nil, position, nil
	}
	if r.log == nil {
		return 0, nil, position, ring.ErrDropped
	}
	n, mark, next, err = r.log.read(position, buffer)
	if err == nil && n == 0 && mark == nil && len(buffer) > 0 {
		return 0, nil, position, ring.ErrDropped // the disk was full before the end
	}
	return n, mark, next, err
}

// State is internal/vt's state at End: the one that was written, or, for a
// session that was lost, one made from its log. It is nil when there is neither.
func (r *Record) State() ([]byte, error) {
	state, err := os.ReadFile(filepath.Join(r.dirs.SessionDir(r.session.ID), stateFile))
	if err == nil && len(state) <= wire.MaxState {
		return state, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("read last screen: %w", err)
	}
	if r.log == nil {
		return nil, nil
	}
	terminal, err := r.replay()
	if err != nil {
		return nil, err
	}
	return terminal.State(-1), nil
}

// Terminal is a terminal in the state at End, an empty one when nothing is left.
func (r *Record) Terminal() (*vt.Terminal, error) {
	state, err := r.State()
	if err != nil {
		return nil, err
	}
	if state == nil {
		return newTerminal(r.session.Cols, r.session.Rows), nil
	}
	terminal, err := vt.Restore(state)
	if err != nil {
		return nil, fmt.Errorf("restore last screen: %w", err)
	}
	return terminal, nil
}

// replay feeds a terminal with everything that the log has.
func (r *Record) replay() (*vt.Terminal, error) {
	start := r.log.start
	terminal := newTerminal(start.Cols, start.Rows)
	buffer := make([]byte, 256<<10)
	position := r.Start()
	for {
		n, mark, next, err := r.log.read(position, buffer)
		switch {
		case err != nil:
			return nil, fmt.Errorf("replay log: %w", err)
		case mark != nil:
			terminal.Resize(int(mark.Cols), int(mark.Rows))
		case n == 0:
			return terminal, nil
		default:
			_, _ = terminal.Write(buffer[:n]) // it never fails
			terminal.TakeReplies()
		}
		position = next
	}
}

// Close releases the log's files.
func (r *Record) Close() error {
	if r.log == nil {
		return nil
	}
	return r.log.close()
}
