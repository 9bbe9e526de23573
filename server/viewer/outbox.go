package viewer

import (
	"sync"

	"github.com/agent-helm/agent-helm/server/fleet"
	"github.com/agent-helm/agent-helm/server/socket"
)

// outboxSize is how many bytes of sessions' messages wait for the writer before
// further sessions are told to wait, too. One message may pass it.
const outboxSize = 64 << 10

// outbox holds at most one message of each session that the viewer shows, until
// the writer takes it. Sessions take turns.
type outbox struct {
	socket *socket.Socket

	mu    sync.Mutex
	slots map[uint32]*slot // guarded by mu
	order []uint32         // handles with a message, oldest first; guarded by mu
	bytes int              // guarded by mu
	// starved are handles that found no room; guarded by mu.
	starved []uint32
}

// slot is one handle's place.
type slot struct {
	attachment *fleet.Attachment // nil until bound
	message    []byte
	// owed counts the calls of Ready that came before there was anybody to call.
	owed bool
}

func (o *outbox) init(s *socket.Socket) {
	o.socket = s
	o.slots = map[uint32]*slot{}
}

// open makes a place for a handle.
func (o *outbox) open(handle uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.slots[handle] = &slot{}
}

// bind says whom to call when there is room again.
func (o *outbox) bind(handle uint32, a *fleet.Attachment) {
	o.mu.Lock()
	s := o.slots[handle]
	s.attachment = a
	owed := s.owed
	s.owed = false
	o.mu.Unlock()
	if owed {
		a.Ready()
	}
}

// close gives a handle's place up, with what waits there.
func (o *outbox) close(handle uint32) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s := o.slots[handle]; s != nil {
		o.bytes -= len(s.message)
		delete(o.slots, handle)
	}
}

func (o *outbox) room(handle uint32) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.bytes < outboxSize {
		return true
	}
	o.starved = append(o.starved, handle)
	return false
}

func (o *outbox) send(handle uint32, message []byte) {
	o.mu.Lock()
	s := o.slots[handle]
	if s != nil {
		s.message = message
		o.bytes += len(message)
		o.order = append(o.order, handle)
	}
	o.mu.Unlock()
	if s != nil {
		o.socket.Wake()
	}
}

// collect appends messages until dst has limit bytes. It runs on the writing
// goroutine. Whoever's message was taken may make the next one while this one
// is written.
func (o *outbox) collect(dst []byte, limit int) []byte {
	var ready []*fleet.Attachment
	o.mu.Lock()
	taken := 0
	for _, handle := range o.order {
		if len(dst) >= limit {
			break
		}
		taken++
		s := o.slots[handle]
		if s == nil || s.message == nil {
			continue // closed meanwhile
		}
		dst = append(dst, s.message...)
		o.bytes -= len(s.message)
		s.message = nil
		ready = s.wake(ready)
	}
	o.order = append(o.order[:0], o.order[taken:]...)
	if o.bytes < outboxSize && len(o.starved) > 0 {
		for _, handle := range o.starved {
			if s := o.slots[handle]; s != nil && s.message == nil {
				ready = s.wake(ready)
			}
		}
		o.starved = o.starved[:0]
	}
	o.mu.Unlock()
	// Not with mu held: the session may be waiting for it in room or send.
	for _, a := range ready {
		a.Ready()
	}
	return dst
}

// wake adds whom to call. The caller holds mu.
func (s *slot) wake(ready []*fleet.Attachment) []*fleet.Attachment {
	if s.attachment == nil {
		s.owed = true
		return ready
	}
	return append(ready, s.attachment)
}
