package attach

import (
	"io"
	"sync"
)

// outbox carries bytes to the terminal in a goroutine of its own, so that a
// terminal that does not read never keeps the detach key from working. What
// waits is bounded by the holder's window: output is acknowledged only once
// the terminal took it.
type outbox struct {
	terminal io.Writer
	// written is told, by the writer, that the terminal took all output before
	// offset.
	written func(offset uint64)

	mu      sync.Mutex
	filled  *sync.Cond
	queue   []piece
	closed  bool
	discard bool
	err     error

	// modes are those of what was really written. They are the writer's until
	// done is closed.
	modes modeTracker

	done chan struct{} // closed when the writer has ended
}

// piece is a part of the queue: bytes, or the wish to have every changed mode
// reset first.
type piece struct {
	data   []byte
	reset  bool
	offset uint64 // of the session's stream behind data; 0 when it is not output
}

const (
	// maxWrite is how many bytes go to the terminal at once.
	maxWrite = 32 << 10
	// joinBelow is the size up to which output is added to the piece before.
	joinBelow = 64 << 10
)

func newOutbox(terminal io.Writer, written func(offset uint64)) *outbox {
	o := &outbox{terminal: terminal, written: written, done: make(chan struct{})}
	o.filled = sync.NewCond(&o.mu)
	return o
}

// put queues a sequence of our own.
func (o *outbox) put(sequence string) { o.add(piece{data: []byte(sequence)}) }

// putReset queues a reset of the modes that were changed, then a sequence.
func (o *outbox) putReset(sequence string) { o.add(piece{data: []byte(sequence), reset: true}) }

// putOutput queues a copy of bytes of the session, which end before offset.
// They may be none when filters removed them all.
func (o *outbox) putOutput(p []byte, offset uint64) {
	o.add(piece{data: append([]byte(nil), p...), offset: offset})
}

func (o *outbox) add(p piece) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return
	}
	if n := len(o.queue); n > 0 && !p.reset && len(o.queue[n-1].data) < joinBelow {
		last := &o.queue[n-1]
		last.data = append(last.data, p.data...)
		last.offset = max(last.offset, p.offset)
	} else {
		o.queue = append(o.queue, p)
	}
	o.filled.Signal()
}

// run is the writer. It ends after close, or at the first error.
func (o *outbox) run() {
	defer close(o.done)
	for {
		next, more := o.next()
		if !more {
			return
		}
		if next.reset {
			next.data = append(o.modes.restore(), next.data...)
		}
		for p := next.data; len(p) > 0; {
			n := min(len(p), maxWrite)
			if _, err := o.terminal.Write(p[:n]); err != nil {
				o.fail(err)
				return
			}
			o.modes.write(p[:n])
			p = p[n:]
		}
		if next.offset > 0 {
			o.written(next.offset)
		}
	}
}

func (o *outbox) next() (next piece, more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.queue) == 0 && !o.closed {
		o.filled.Wait()
	}
	if len(o.queue) == 0 || o.discard {
		return piece{}, false
	}
	next = o.queue[0]
	o.queue = o.queue[1:]
	return next, true
}

func (o *outbox) fail(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.err, o.closed = err, true
}

// close ends the writer after what is queued, or, when discard is set, after
// what it is writing. The caller then waits for done.
func (o *outbox) close(discard bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed, o.discard = true, discard
	o.filled.Signal()
}

// failed is the terminal's error, if it had one.
func (o *outbox) failed() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}
