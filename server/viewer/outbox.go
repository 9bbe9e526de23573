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
	order []*slot // with a message, oldest first; guarded by mu
	bytes int     // guarded by mu
	// starved are those that found no room; guarded by mu.
	starved []*slot
}

// slot is one attachment's place in the outbox. It is the session's Sink: what
// an attachment that was replaced still sends goes nowhere.
type slot struct {
	outbox *outbox

	// Guarded by outbox.mu.
	attachment *fleet.Attachment // nil until bound
	message    []byte
	owed       bool // Ready was due before there was anybody to call
	closed     bool
}

func (o *outbox) init(s *socket.Socket) { o.socket = s }

// open makes a place.
func (o *outbox) open() *slot { return &slot{outbox: o} }

// bind says whom to call when there is room again.
func (s *slot) bind(a *fleet.Attachment) {
	s.outbox.mu.Lock()
	s.attachment = a
	owed := s.owed
	s.owed = false
	s.outbox.mu.Unlock()
	if owed {
		a.Ready()
	}
}

// close gives the place up, with what waits there.
func (s *slot) close() {
	o := s.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	o.bytes -= len(s.message)
	s.message, s.closed = nil, true
}

// Room says whether a message can be taken now.
func (s *slot) Room() bool {
	o := s.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.bytes < outboxSize {
		return true
	}
	o.starved = append(o.starved, s)
	return false
}

// Send takes a message, and writes it at once when nothing is in its way.
func (s *slot) Send(message []byte) (written bool) {
	o := s.outbox
	o.mu.Lock()
	alone := !s.closed && len(o.order) == 0
	o.mu.Unlock()
	if alone && o.socket.WriteNow(message) {
		return true
	}
	o.mu.Lock()
	closed := s.closed
	if !closed {
		s.message = message
		o.bytes += len(message)
		o.order = append(o.order, s)
	}
	o.mu.Unlock()
	if !closed {
		o.socket.Wake()
	}
	return false
}

// collect appends messages until dst has limit bytes. It runs on the writing
// goroutine. Whoever's message was taken may make the next one while this one
// is written.
func (o *outbox) collect(dst []byte, limit int) []byte {
	var ready []*fleet.Attachment
	o.mu.Lock()
	taken := 0
	for _, s := range o.order {
		if len(dst) >= limit {
			break
		}
		taken++
		if s.closed {
			continue
		}
		dst = append(dst, s.message...)
		o.bytes -= len(s.message)
		s.message = nil
		ready = s.wake(ready)
	}
	rest := copy(o.order, o.order[taken:])
	clear(o.order[rest:])
	o.order = o.order[:rest]
	if o.bytes < outboxSize && len(o.starved) > 0 {
		for _, s := range o.starved {
			if !s.closed {
				ready = s.wake(ready)
			}
		}
		clear(o.starved)
		o.starved = o.starved[:0]
	}
	o.mu.Unlock()
	// Not with mu held: the session may be waiting for it in Room or Send.
	for _, a := range ready {
		a.Ready()
	}
	return dst
}

// wake adds whom to call. The caller holds outbox.mu.
func (s *slot) wake(ready []*fleet.Attachment) []*fleet.Attachment {
	if s.attachment == nil {
		s.owed = true
		return ready
	}
	return append(ready, s.attachment)
}
