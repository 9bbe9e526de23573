package main

import (
	"context"
	"errors"
	"io"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/holder"
	"github.com/agent-helm/agent-helm/internal/ring"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// logSource is a session's output in order. io.EOF ends it.
type logSource interface {
	// Size is the terminal's size at the first piece.
	Size() (cols, rows uint16)
	Next() (logPiece, error)
	Close() error
}

// logPiece is a run of output, a new size, or the moment when everything that
// was there has been given and new output follows.
type logPiece struct {
	data       []byte
	cols, rows uint16
	live       bool
	// state replaces everything before it: it fell out of the log.
	state []byte
}

// openLog opens the log of a running session at its holder, else on disk.
func openLog(ctx context.Context, dirs daemon.Dirs, session daemon.Session, follow bool) (logSource, error) {
	if session.State == daemon.StateRunning {
		source, err := openRunningLog(ctx, dirs, session.ID, follow)
		if err == nil || !errors.Is(err, holder.ErrNoHolder) {
			return source, err
		}
		// It may have ended since it was listed.
	}
	record, err := holder.OpenRecord(dirs, session.ID)
	if errors.Is(err, holder.ErrNotEnded) {
		return nil, unreachable(holder.ErrNoHolder)
	}
	if err != nil {
		return nil, err
	}
	return &endedLog{record: record, position: record.Start(), buffer: make([]byte, 256<<10)}, nil
}

// endedLog reads what an ended session left.
type endedLog struct {
	record   *holder.Record
	position wire.Position
	buffer   []byte
	stated   bool
}

func (l *endedLog) Size() (cols, rows uint16) { return l.record.SizeAt(l.position) }

func (l *endedLog) Next() (logPiece, error) {
	n, mark, next, err := l.record.Read(l.position, l.buffer)
	switch {
	case errors.Is(err, ring.ErrDropped):
		return l.lastScreen()
	case err != nil:
		return logPiece{}, err
	case mark != nil:
		l.position = next
		return logPiece{cols: mark.Cols, rows: mark.Rows}, nil
	case n > 0:
		l.position = next
		return logPiece{data: l.buffer[:n]}, nil
	}
	return logPiece{}, io.EOF
}

// lastScreen stands in for output that the disk did not take.
func (l *endedLog) lastScreen() (logPiece, error) {
	if l.stated {
		return logPiece{}, io.EOF
	}
	l.stated, l.position = true, l.record.End()
	state, err := l.record.State()
	if err != nil {
		return logPiece{}, err
	}
	if state == nil {
		return logPiece{}, io.EOF
	}
	return logPiece{state: state}, nil
}

func (l *endedLog) Close() error { return l.record.Close() }

// runningLog reads from a holder.
type runningLog struct {
	client *holder.Client
	stop   func() bool
	follow bool
	size   [2]uint16
	caught wire.Position // where "everything that was there" ends
	live   bool
	state  []byte // pieces of one that is arriving
	taken  uint64
}

func openRunningLog(ctx context.Context, dirs daemon.Dirs, id string, follow bool) (*runningLog, error) {
	client, err := dialHolder(ctx, dirs, id, wire.RoleTool)
	if err != nil {
		return nil, err
	}
	welcome := client.Welcome().Session
	l := &runningLog{client: client, follow: follow, caught: welcome.End, size: [2]uint16{welcome.Cols, welcome.Rows}}
	l.stop = context.AfterFunc(ctx, func() { client.Close() })
	// The log does not say its first size; a stream that begins with a mark
	// does. Wrapped lines are joined again anyway.
	if err := client.Send(&wire.HolderAttach{Want: wire.WantStream, From: welcome.Start}); err != nil {
		return nil, errors.Join(unreachable(err), client.Close())
	}
	return l, nil
}

func (l *runningLog) Size() (cols, rows uint16) { return l.size[0], l.size[1] }

func (l *runningLog) Next() (logPiece, error) {
	for {
		if !l.live && l.taken >= l.caught.Offset {
			l.live = true
			if !l.follow {
				return logPiece{}, io.EOF
			}
			return logPiece{live: true}, nil
		}
		frame, err := l.client.Receive()
		if err != nil {
			if errors.Is(err, io.EOF) {
				return logPiece{}, io.EOF
			}
			return logPiece{}, unreachable(err)
		}
		switch f := frame.(type) {
		case *wire.Output:
			l.taken = f.Offset + uint64(len(f.Data))
			if err := l.client.Send(&wire.Ack{Offset: l.taken}); err != nil {
				return logPiece{}, unreachable(err)
			}
			return logPiece{data: f.Data}, nil
		case *wire.Resize:
			return logPiece{cols: f.Cols, rows: f.Rows}, nil
		case *wire.State:
			if l.state = append(l.state, f.Data...); f.Last {
				state := l.state
				l.state, l.taken = nil, f.Position.Offset
				return logPiece{state: state}, nil
			}
		case *wire.Exit:
			return logPiece{}, io.EOF
		}
	}
}

func (l *runningLog) Close() error {
	l.stop()
	return l.client.Close()
}
