package socket

import (
	"sync"
	"time"

	"github.com/agent-helm/agent-helm/internal/wire"
)

// frameCost is what a queued frame is counted beside its data, in bytes.
const frameCost = 128

// queue holds control frames until the writer takes them. It is bounded in
// bytes; whoever finds it full is told and decides.
type queue struct {
	limit int
	wake  chan struct{}

	mu     sync.Mutex
	frames []queued // guarded by mu
	bytes  int      // guarded by mu
	ended  bool     // nothing more is taken; guarded by mu
	// patient wakes the writer for frames that wait for company; it runs while
	// waiting is set.
	patient *time.Timer // guarded by mu
	waiting bool        // guarded by mu
}

type queued struct {
	frame    wire.Frame
	received time.Time
	cost     int
}

func (q *queue) init(limit int) {
	q.limit = limit
	q.wake = make(chan struct{}, 1)
}

func (q *queue) nudge() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// put queues a frame and tells the writer.
func (q *queue) put(f wire.Frame, received time.Time) bool {
	if !q.lay(f, received) {
		return false
	}
	q.nudge()
	return true
}

// soon queues a frame that waits a little for others to travel with.
func (q *queue) soon(f wire.Frame) bool {
	if !q.lay(f, time.Time{}) {
		return false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	switch {
	case q.waiting || q.ended:
	case q.patient == nil:
		q.waiting, q.patient = true, time.AfterFunc(patience, q.company)
	default:
		q.waiting = true
		q.patient.Reset(patience)
	}
	return true
}

// company ends the wait of frames.
func (q *queue) company() {
	q.mu.Lock()
	q.waiting = false
	due := len(q.frames) > 0
	q.mu.Unlock()
	if due {
		q.nudge()
	}
}

// short says that what waits makes a small message, and that more may come.
func (q *queue) short() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.ended && q.bytes <= promptMessage
}

// lay queues a frame; somebody else tells the writer.
func (q *queue) lay(f wire.Frame, received time.Time) bool {
	cost := frameCost
	switch f := f.(type) {
	case *wire.Input:
		cost += len(f.Data)
	case *wire.PageReply:
		cost += len(f.Body)
	case *wire.RPC:
		cost += len(f.Params)
	case *wire.HostWelcome:
		cost = 0 // the first frame of all
	}
	q.mu.Lock()
	if q.ended || (q.bytes+cost > q.limit && q.bytes > 0) {
		q.mu.Unlock()
		return false
	}
	q.frames = append(q.frames, queued{f, received, cost})
	q.bytes += cost
	q.mu.Unlock()
	return true
}

// encode appends waiting frames to dst until it has limit bytes. ended says
// that these were the last.
func (q *queue) encode(dst []byte, limit int, stamp func(wire.Frame, time.Time)) (_ []byte, ended bool, err error) {
	for len(dst) < limit {
		q.mu.Lock()
		if len(q.frames) == 0 {
			q.frames = nil
			ended = q.ended
			q.mu.Unlock()
			return dst, ended, nil
		}
		next := q.frames[0]
		q.frames[0] = queued{}
		q.frames = q.frames[1:]
		q.bytes -= next.cost
		q.mu.Unlock()
		stamp(next.frame, next.received)
		if dst, err = wire.Append(dst, next.frame); err != nil {
			return dst, false, err
		}
	}
	return dst, false, nil
}

// close takes no more frames; what waits is still written unless discard is
// set.
func (q *queue) close(discard bool) {
	q.mu.Lock()
	q.ended = true
	if q.patient != nil {
		q.patient.Stop()
	}
	if discard {
		q.frames, q.bytes = nil, 0
	}
	q.mu.Unlock()
	q.nudge()
}
