package hostlink

import (
	"sync"
	"time"

	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server/socket"
)

const (
	// ackBytes is how much is taken in before it is acknowledged at once.
	ackBytes = 8 << 10
	// ackDelay is how long less than that waits for something to be written
	// with. A window is never so small that a host would stand still meanwhile.
	ackDelay = 20 * time.Millisecond
)

// acknowledger collects acknowledgements, so that a stream of small outputs is
// not answered by as many messages.
type acknowledger struct {
	socket *socket.Socket
	timer  *time.Timer

	mu      sync.Mutex
	offsets map[uint32]*acknowledged // guarded by mu
	due     []uint32                 // handles with something to say; guarded by mu
	armed   bool                     // guarded by mu
}

type acknowledged struct {
	offset, sent uint64
	due          bool
}

func (a *acknowledger) init(s *socket.Socket) {
	a.socket = s
	a.offsets = map[uint32]*acknowledged{}
	a.timer = time.AfterFunc(time.Hour, a.fire)
	a.timer.Stop()
}

func (a *acknowledger) stop() { a.timer.Stop() }

func (a *acknowledger) fire() {
	a.mu.Lock()
	a.armed = false
	a.mu.Unlock()
	a.socket.Wake()
}

// add notes that every byte below offset was taken in. It does not block.
func (a *acknowledger) add(handle uint32, offset uint64) {
	a.mu.Lock()
	state := a.offsets[handle]
	if state == nil {
		state = &acknowledged{}
		a.offsets[handle] = state
	}
	state.offset = offset
	if !state.due {
		state.due = true
		a.due = append(a.due, handle)
	}
	now := offset-state.sent >= ackBytes || offset < state.sent
	if !now && !a.armed {
		a.armed = true
		a.timer.Reset(ackDelay)
	}
	a.mu.Unlock()
	if now {
		a.socket.Wake()
	}
}

// forget drops a session that was forgotten.
func (a *acknowledger) forget(handle uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.offsets, handle)
}

// collect appends what is due.
func (a *acknowledger) collect(dst []byte) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, handle := range a.due {
		state := a.offsets[handle]
		if state == nil {
			continue
		}
		encoded, err := wire.Append(dst, &wire.Ack{Handle: handle, Offset: state.offset})
		if err != nil {
			continue // an Ack always fits
		}
		dst = encoded
		state.sent, state.due = state.offset, false
	}
	a.due = a.due[:0]
	return dst
}
