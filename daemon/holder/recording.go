package holder

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"sort"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/ring"
	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
)

const (
	// recordedPiece bounds one piece of a recording, in bytes.
	recordedPiece = 32 << 10
	// untimedPiece is shown every untimedStep where no times were kept.
	untimedPiece = 4 << 10
	untimedStep  = 50 * time.Millisecond
)

// Remarks in recordings.
const (
	remarkBegins  = "the recording begins here: older output was not kept"
	remarkMidway  = "older output was not kept: what the screen showed here is not known"
	remarkUntimed = "the times of this session were not kept"
	remarkGap     = "output is missing here: it was not kept"
	remarkEnd     = "the last output was not kept, because the disk was full: this is the last screen"
)

// clearScreen makes a terminal as new (RIS).
const clearScreen = "\x1bc"

// ErrNoRecording says that a session has no output on disk.
var ErrNoRecording = errors.New("no recording is kept of the session")

// A Recording is what the disk has of a session, running or ended, with its
// times. It reads what was there when it was opened. It is used by one goroutine
// at a time.
type Recording struct {
	dirs    daemon.Dirs
	session daemon.Session
	log     *diskLog
	times   []timePoint
	begin   Beginning
	// missingEnd says that the program printed more than the disk took.
	missingEnd bool

	position wire.Position
	// last is the time of the last piece; times of bytes are coarser than those
	// of marks, and none goes back.
	last   time.Duration
	queued []Recorded
	ended  bool
	buffer []byte
}

// A Beginning is where a recording begins.
type Beginning struct {
	Cols, Rows uint16
	// At is the time, counted as that of the pieces; Time is when that was.
	At   time.Duration
	Time time.Time
}

// Recorded is a piece of a recording: output, a new size, or a remark.
type Recorded struct {
	// At counts from the log's beginning, at the session's start.
	At         time.Duration
	Data       []byte // valid until the next piece
	Cols, Rows uint16
	Remark     string
}

// OpenRecording opens the recording of a session at its beginning: the
// session's start or, when the oldest output is gone, the first screen that is
// known. ErrNoSession: there is none of this id. ErrNoRecording: nothing is on
// disk.
func OpenRecording(dirs daemon.Dirs, id string) (*Recording, error) {
	session, err := Inspect(dirs, id)
	if err != nil {
		return nil, err
	}
	return readRecording(dirs, session, filepath.Join(dirs.SessionDir(id), logDir))
}

func readRecording(dirs daemon.Dirs, session daemon.Session, directory string) (*Recording, error) {
	log, err := openDiskLog(directory)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", ErrNoRecording, reason(err))
	}
	r := &Recording{dirs: dirs, session: session, log: log, buffer: make([]byte, recordedPiece)}
	for _, s := range log.segments {
		r.times = readTimes(r.times, log.dir, s.start, s.end())
	}
	var record exitRecord
	if session.State != daemon.StateRunning && daemon.ReadJSON(filepath.Join(dirs.SessionDir(session.ID), exitFile), &record) == nil {
		r.missingEnd = log.end.Offset < record.End.Offset
	}
	r.start()
	return r, nil
}

// start finds the beginning.
func (r *Recording) start() {
	r.position = wire.Position{Offset: r.log.start.Offset, Marks: r.log.start.Ordinal}
	r.begin = Beginning{Cols: r.log.start.Cols, Rows: r.log.start.Rows}
	if r.position != (wire.Position{}) {
		if k, found := r.keyframe(r.position); found {
			r.begin = Beginning{Cols: k.cols, Rows: k.rows, At: r.timeAt(k.position.Offset)}
			r.position = k.position
			r.queued = []Recorded{{At: r.begin.At, Remark: remarkBegins}, {At: r.begin.At, Data: k.repaint}}
		} else {
			r.begin.At = r.timeAt(r.position.Offset)
			r.queued = []Recorded{{At: r.begin.At, Remark: remarkMidway}}
		}
	}
	if len(r.times) == 0 && r.log.end != r.position {
		r.queued = append(r.queued, Recorded{At: r.begin.At, Remark: remarkUntimed})
	}
	r.begin.Time = r.session.Created.Add(r.begin.At)
}

// Session is the session as Inspect describes it.
func (r *Recording) Session() daemon.Session { return r.session }

// Begin is where the recording begins.
func (r *Recording) Begin() Beginning { return r.begin }

// Position is where the next piece begins, for Seek, once nothing is queued
// before it; End is where the log ends.
func (r *Recording) Position() wire.Position { return r.position }

// End is where the log ended when it was opened.
func (r *Recording) End() wire.Position { return r.log.end }

// Queued says that Next has pieces which Seek to Position would leave out.
func (r *Recording) Queued() bool { return len(r.queued) > 0 }

// Seek goes on at a position of this recording, or of one that was opened
// earlier.
func (r *Recording) Seek(position wire.Position) {
	r.queued, r.ended, r.last = nil, false, 0
	if r.position = position; !r.readable(position) {
		r.resynchronise()
	}
}

func (r *Recording) readable(position wire.Position) bool {
	_, _, _, err := r.log.read(position, nil)
	return err == nil
}

// keyframe is the first one at or behind a position.
func (r *Recording) keyframe(from wire.Position) (keyframe, bool) {
	for _, s := range r.log.segments {
		if s.end() < from.Offset {
			continue
		}
		k, err := readKeyframe(r.log.dir, s.start)
		if err == nil && !k.position.Before(from) && r.readable(k.position) {
			return k, true
		}
	}
	return keyframe{}, false
}

// resynchronise leaves out what cannot be read.
func (r *Recording) resynchronise() {
	at := r.timeAt(r.position.Offset)
	if k, found := r.keyframe(r.position); found {
		at = r.timeAt(k.position.Offset)
		r.position = k.position
		r.queued = append(r.queued, Recorded{At: at, Remark: remarkGap}, Recorded{At: at, Cols: k.cols, Rows: k.rows},
			Recorded{At: at, Data: append([]byte(clearScreen), k.repaint...)})
		return
	}
	r.position = r.log.end
	r.queued = append(r.queued, Recorded{At: at, Remark: remarkGap})
	r.missingEnd = r.missingEnd || r.session.State != daemon.StateRunning
}

// Next is the next piece; io.EOF when there is none.
func (r *Recording) Next() (Recorded, error) {
	piece, err := r.next()
	piece.At = max(piece.At, r.last)
	r.last = piece.At
	return piece, err
}

func (r *Recording) next() (Recorded, error) {
	for {
		if len(r.queued) > 0 {
			piece := r.queued[0]
			r.queued = r.queued[1:]
			return piece, nil
		}
		if r.ended {
			return Recorded{}, io.EOF
		}
		at, limit := r.timeAt(r.position.Offset), r.untilNextTime()
		n, mark, next, err := r.log.read(r.position, r.buffer[:limit])
		switch {
		case errors.Is(err, ring.ErrDropped):
			r.resynchronise()
		case err != nil:
			return Recorded{}, err
		case mark != nil:
			r.position = next
			if known, ok := r.log.markTimes[mark.Ordinal]; ok {
				at = known
			}
			return Recorded{At: at, Cols: mark.Cols, Rows: mark.Rows}, nil
		case n > 0:
			r.position = next
			return Recorded{At: at, Data: r.buffer[:n]}, nil
		default:
			r.ended = true
			r.queueEnd(at)
		}
	}
}

// queueEnd adds what stands in for output that the disk did not take.
func (r *Recording) queueEnd(at time.Duration) {
	switch {
	case !r.missingEnd:
		return
	case r.session.Ended != nil:
		at = max(at, r.session.Ended.Sub(r.session.Created))
	}
	r.queued = append(r.queued, Recorded{At: at, Remark: remarkEnd})
	record, err := OpenRecord(r.dirs, r.session.ID)
	if err != nil {
		return // it was forgotten meanwhile
	}
	defer record.Close()
	state, err := record.State()
	if err != nil || state == nil {
		return
	}
	terminal, err := vt.Restore(state)
	if err != nil {
		return
	}
	cols, rows := terminal.Size()
	r.queued = append(r.queued, Recorded{At: at, Cols: uint16(cols), Rows: uint16(rows)},
		Recorded{At: at, Data: append([]byte(clearScreen), terminal.Repaint()...)})
}

// following is the index of the first time behind an offset.
func (r *Recording) following(offset uint64) int {
	return sort.Search(len(r.times), func(i int) bool { return r.times[i].offset > offset })
}

// timeAt is when the byte at an offset came.
func (r *Recording) timeAt(offset uint64) time.Duration {
	if len(r.times) == 0 {
		return time.Duration((offset-min(offset, r.log.start.Offset))/untimedPiece) * untimedStep
	}
	return r.times[max(r.following(offset)-1, 0)].at
}

// untilNextTime is how many of the next bytes came together.
func (r *Recording) untilNextTime() int {
	if len(r.times) == 0 {
		return untimedPiece
	}
	if i := r.following(r.position.Offset); i < len(r.times) {
		return int(min(r.times[i].offset-r.position.Offset, recordedPiece))
	}
	return recordedPiece
}

// Close releases the log's files.
func (r *Recording) Close() error { return r.log.close() }
