package holder

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/logging"
	"github.com/agent-helm/agent-helm/internal/ring"
	"github.com/agent-helm/agent-helm/internal/wire"
)

const (
	// tailBytes of the newest output are kept in memory, so that readers who
	// keep up never touch the disk.
	tailBytes = 64 << 10
	// diskRetry is how often a disk that refused is tried again.
	diskRetry = 10 * time.Second
)

// outputLog is everything the program printed, as far as it is kept: the
// newest part in memory, all of it on disk. When the disk refuses, memory
// alone holds the newest MemoryLogBytes until the disk takes again. Guarded by
// its owner's lock.
type outputLog struct {
	tail *ring.Ring
	disk *diskLog
	// full says that the disk refused, and the tail is all there is.
	full    bool
	warning string
	retryAt time.Time
	now     func() time.Time
	// began is when the log began, from which its times count.
	began  time.Time
	logger *slog.Logger
}

// newOutputLog begins an empty log in directory dir for a terminal of this size.
func newOutputLog(dir string, limit int64, cols, rows uint16, logger *slog.Logger, now func() time.Time) *outputLog {
	l := &outputLog{tail: ring.New(tailBytes), disk: newDiskLog(dir, limit, cols, rows), now: now, began: now(), logger: logger}
	if err := l.disk.create(wire.Position{}, cols, rows); err != nil {
		l.failed(err)
	}
	return l
}

// Start is the oldest position that can be read.
func (l *outputLog) Start() wire.Position {
	if l.full {
		return l.tail.Start()
	}
	return wire.Position{Offset: l.disk.start.Offset, Marks: l.disk.start.Ordinal}
}

// End is the position after everything appended.
func (l *outputLog) End() wire.Position { return l.tail.End() }

// Warning says what is wrong with the disk, or is empty.
func (l *outputLog) Warning() string { return l.warning }

// Append adds output at End.
func (l *outputLog) Append(p []byte) {
	if _, err := l.tail.Append(l.End().Offset, p); err != nil {
		panic(err) // it is appended at End by construction
	}
	if l.full {
		l.retry()
		return
	}
	if err := l.disk.append(p, l.now().Sub(l.began)); err != nil {
		l.failed(err)
	}
}

// Mark adds a resize at End and returns it.
func (l *outputLog) Mark(cols, rows uint16) ring.Mark {
	end := l.End()
	mark := ring.Mark{Offset: end.Offset, Ordinal: end.Marks + 1, Cols: cols, Rows: rows}
	if _, err := l.tail.Mark(mark); err != nil {
		panic(err) // it follows End by construction
	}
	if l.full {
		l.retry()
		return mark
	}
	if err := l.disk.mark(mark, l.now().Sub(l.began)); err != nil {
		l.failed(err)
	}
	return mark
}

// wantsKeyframe says that keyframe is to be called with what the screen shows at
// End.
func (l *outputLog) wantsKeyframe() bool { return !l.full && l.disk.wantsKeyframe() }

func (l *outputLog) keyframe(cols, rows uint16, repaint []byte) {
	l.disk.writeKeyframe(cols, rows, repaint)
}

// Read copies at most len(buffer) bytes that follow position, up to the next
// mark, or returns that mark. ring.ErrDropped: the position is no longer kept.
func (l *outputLog) Read(position wire.Position, buffer []byte) (n int, mark *ring.Mark, next wire.Position, err error) {
	chunk, err := l.tail.Read(position, len(buffer))
	if err == nil {
		return copy(buffer, chunk.Data), chunk.Mark, chunk.Next, nil
	}
	if l.full {
		return 0, nil, position, err
	}
	return l.disk.read(position, buffer)
}

// shorten frees disk space by dropping the oldest part of the log. It fails
// when there is none.
func (l *outputLog) shorten() error {
	if len(l.disk.segments) == 0 {
		return errBroken
	}
	return l.disk.dropOldest()
}

// Close ends the log. What the disk refused so far is tried a last time.
func (l *outputLog) Close() error {
	if l.full {
		l.retryAt = time.Time{}
		l.retry()
	}
	return l.disk.close()
}

// failed goes on in memory.
func (l *outputLog) failed(cause error) {
	l.logger.Warn("output log left the disk", logging.KeyError, cause)
	grown := ring.New(daemon.MemoryLogBytes)
	grown.Reset(l.tail.Start())
	if err := copyRing(grown, l.tail); err != nil {
		panic(err) // both rings are ours and in step
	}
	l.tail, l.full, l.retryAt = grown, true, l.now().Add(diskRetry)
	l.warning = fmt.Sprintf("output cannot be written to disk (%s): only the newest %d KiB are kept, in memory", reason(cause), daemon.MemoryLogBytes>>10)
}

// retry brings the disk up to date when it is time and it takes again.
func (l *outputLog) retry() {
	if l.now().Before(l.retryAt) {
		return
	}
	l.retryAt = l.now().Add(diskRetry)
	if err := l.restore(); err != nil {
		l.logger.Debug("output log still without disk", logging.KeyError, err)
		return
	}
	small := ring.New(tailBytes)
	small.Reset(l.tail.Start())
	if err := copyRing(small, l.tail); err != nil {
		panic(err) // as above
	}
	l.tail, l.full, l.warning = small, false, ""
	l.logger.Info("output log is on disk again")
}

// restore writes what memory has and the disk lacks. When memory no longer
// reaches back to the disk's end, the log on disk begins anew.
func (l *outputLog) restore() error {
	if l.disk.end.Before(l.tail.Start()) || !l.disk.usable() {
		cols, rows := l.disk.sizeAt(l.tail.Start())
		if err := l.disk.create(l.tail.Start(), cols, rows); err != nil {
			return err
		}
	}
	return l.disk.copyFrom(l.tail)
}

// copyRing appends everything of source after target's end.
func copyRing(target, source *ring.Ring) error {
	position := target.End()
	for {
		chunk, err := source.Read(position, daemon.MemoryLogBytes)
		switch {
		case err != nil:
			return err
		case chunk.Mark != nil:
			_, err = target.Mark(*chunk.Mark)
		case len(chunk.Data) == 0:
			return nil
		default:
			_, err = target.Append(position.Offset, chunk.Data)
		}
		if err != nil {
			return err
		}
		position = chunk.Next
	}
}

// reason is the innermost error, which says what the system said.
func reason(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}
