package uplink

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/agent-helm/agent-helm/internal/wire"
)

const (
	// messageOutput bounds the output of one message, so that an input
	// acknowledgement never waits long behind it.
	messageOutput = 32 << 10
	// messageControl is when a message takes no further control frame.
	messageControl = 16 << 10
	// statePiece is how a State is cut: small enough that several sessions fit
	// into one message.
	statePiece = 4 << 10
	// bulkFrame is the size from which a reply waits its turn among the output.
	bulkFrame = 16 << 10
	// quantum is what one session may add to a message per round when others wait too.
	quantum = 4 << 10
	// promptOutput is the largest output that is written by who forwards it,
	// instead of waking the writer, and the most that may be on its way then: so
	// much the socket takes without waiting.
	promptOutput = 4 << 10
	// maxControl bounds the control frames that wait. Calls and inputs are
	// bounded at their sources; a server that stopped reading gets here.
	maxControl = 8192
)

var (
	errPeerStopped = errors.New("server stopped reading")
	errLaneClosed  = errors.New("session was closed")
)

// outbox decides what the one socket carries next: control frames first, then
// the sessions' output in turns, inside the window. Sessions put frames in,
// the link's writer takes messages out.
type outbox struct {
	// ready is signalled (capacity 1) when there may be something to take.
	ready chan struct{}
	now   func() time.Time

	mu      sync.Mutex
	control []wire.Frame
	// fresh holds lanes that had nothing until now, active those that used
	// their turn and have more.
	fresh, active []*lane
	window        window
	bulk          *lane
	scratch       []byte
	// probes are pieces without an offset of their own, settled by the Pong to
	// the Ping behind them.
	probes    []probe
	nextProbe uint64
	failed    error
	closed    chan struct{}
	// patient wakes the writer for acknowledgements that wait for company; it
	// runs while waiting is set.
	patient *time.Timer
	waiting bool
}

type probe struct {
	segment
	lane       *lane
	generation uint64
}

// probeNonces begin here; the heartbeat's nonces stay below.
const probeNonces = 1 << 32

func newOutbox(now func() time.Time) *outbox {
	box := &outbox{ready: make(chan struct{}, 1), closed: make(chan struct{}), now: now, window: newWindow(), nextProbe: probeNonces}
	box.bulk = box.newLane(0)
	return box
}

// newLane returns a lane for one session. Close it with closeLane.
func (b *outbox) newLane(handle uint32) *lane {
	return &lane{handle: handle, box: b, space: make(chan struct{}, 1), wrote: make(chan struct{}, 1)}
}

func (b *outbox) wake() {
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

// send queues a control frame. It never waits; errPeerStopped says that the
// queue is full, and the link has to end.
func (b *outbox) send(f wire.Frame) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if update, ok := f.(*wire.SessionUpdate); ok {
		// Only the newest metadata counts.
		for i, waiting := range b.control {
			if old, ok := waiting.(*wire.SessionUpdate); ok && old.Handle == update.Handle {
				b.control[i] = update
				return nil
			}
		}
	}
	if len(b.control) >= maxControl {
		return errPeerStopped
	}
	b.control = append(b.control, f)
	b.wake()
	return nil
}

// ackPatience is how long the acknowledgement of an applied input waits for the
// program's echo.
const ackPatience = 5 * time.Millisecond

// sendAck queues what became of an input. That it was applied is most often
// followed at once by the program's echo, and travels with it.
func (b *outbox) sendAck(ack *wire.InputAck) error {
	if ack.Status != wire.InputApplied {
		return b.send(ack)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.control) >= maxControl {
		return errPeerStopped
	}
	b.control = append(b.control, ack)
	switch {
	case b.waiting:
	case b.patient == nil:
		b.waiting, b.patient = true, time.AfterFunc(ackPatience, b.company)
	default:
		b.waiting = true
		b.patient.Reset(ackPatience)
	}
	return nil
}

// company ends the wait of acknowledgements.
func (b *outbox) company() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting = false
	if len(b.control) > 0 {
		b.wake()
	}
}

// sendReply queues the reply to a call, among the output when it is large.
func (b *outbox) sendReply(reply *wire.RPCReply) error {
	encoded, err := wire.Append(nil, reply)
	if err != nil {
		reply = &wire.RPCReply{ID: reply.ID, Error: &wire.Fault{Code: wire.CodeInternal, Message: "the reply is too large to be sent"}}
		return b.send(reply)
	}
	if len(encoded) < bulkFrame {
		return b.send(reply)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.bulk.push(&bulk{encoded: encoded})
	b.list(b.bulk)
	b.wake()
	return nil
}

func (b *outbox) list(l *lane) {
	if !l.listed {
		l.listed = true
		b.fresh = append(b.fresh, l)
	}
}

// begin starts a new stream on a lane whose server side stands at position:
// what waited is dropped, what is on its way no longer counts. It returns the
// stream's generation.
func (b *outbox) begin(l *lane, position wire.Position) uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	l.clear()
	for _, s := range l.segments {
		b.window.forget(s)
	}
	l.segments, l.onTheWay = nil, 0
	l.generation++
	l.sent, l.confirmed, l.told, l.over = position, position.Offset, position.Offset, false
	b.wake()
	return l.generation
}

// put queues frames of a stream in their order. It waits while the lane is
// full, which keeps the memory of a session bounded.
func (b *outbox) put(ctx context.Context, l *lane, frames ...wire.Frame) error {
	for {
		b.mu.Lock()
		if b.failed != nil || l.closed {
			err := b.failed
			b.mu.Unlock()
			if err == nil {
				err = errLaneClosed
			}
			return err
		}
		if l.bytes < laneLimit {
			for _, f := range frames {
				l.push(f)
			}
			b.list(l)
			b.wake()
			b.mu.Unlock()
			return nil
		}
		b.mu.Unlock()
		select {
		case <-l.space:
		case <-b.closed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// putPrompt is put for a little output while nothing else waits for the link.
// It does not wake the writer: the caller is to write. false: nothing was done.
func (b *outbox) putPrompt(l *lane, f *wire.Output) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(f.Data) > promptOutput || b.failed != nil || l.closed || !l.empty() || len(b.fresh) > 0 || len(b.active) > 0 ||
		b.window.outstanding > promptOutput {
		return false
	}
	l.push(f)
	b.list(l)
	return true
}

// skip handles a gap in the stream: what waits is older than the State that
// follows and is dropped, and the gap is widened to what the server has.
func (b *outbox) skip(l *lane, gap *wire.Gap) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l.clear()
	end := gap.Offset + gap.Lost
	from := min(l.sent.Offset, end)
	l.push(&wire.Gap{Handle: l.handle, Offset: from, Lost: end - from})
	l.confirmed = max(l.confirmed, end)
	l.signalWrote()
	b.list(l)
	b.wake()
}

// remove ends a lane; what waits in it is dropped.
func (b *outbox) remove(l *lane) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l.clear()
	l.closed = true
	for _, s := range l.segments {
		b.window.forget(s)
	}
	l.segments = nil
	b.fresh = without(b.fresh, l)
	b.active = without(b.active, l)
	l.signalSpace()
	b.wake()
}

func without(lanes []*lane, l *lane) []*lane {
	return slices.DeleteFunc(lanes, func(other *lane) bool { return other == l })
}

// fail ends every wait in the outbox.
func (b *outbox) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.patient != nil {
		b.patient.Stop()
	}
	b.waiting = true // the timer never runs again
	if b.failed == nil {
		b.failed = err
		close(b.closed)
	}
}

func (l *lane) signalWrote() {
	select {
	case l.wrote <- struct{}{}:
	default:
	}
}

// due is how far the socket has taken a lane's stream, if its holder is to be
// told now: when that is much more than it knows, or all there will ever be.
func (b *outbox) due(l *lane, generation uint64) (offset uint64, due bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l.generation != generation || l.closed || l.confirmed <= l.told || l.confirmed-l.told < ackBytes && !l.over {
		return l.told, false
	}
	l.told = l.confirmed
	return l.told, true
}

// lagging says that a lane is so far behind that a State is quicker.
func (b *outbox) lagging(l *lane) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return l.lagging(b.now())
}

// acknowledge takes the server's word that it has a lane's stream up to offset.
func (b *outbox) acknowledge(l *lane, offset uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	done := 0
	for done < len(l.segments) && l.segments[done].end <= offset {
		b.window.acknowledged(l.segments[done], now)
		l.onTheWay -= l.segments[done].bytes
		done++
	}
	if done > 0 {
		l.segments = slices.Delete(l.segments, 0, done)
		if len(b.fresh) > 0 || len(b.active) > 0 {
			b.wake() // they may have waited for the window
		}
	}
}

// settle takes the Pong of a probe: everything up to it was read.
func (b *outbox) settle(nonce uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := b.now()
	done := 0
	for done < len(b.probes) && b.probes[done].end <= nonce {
		p := b.probes[done]
		b.window.acknowledged(p.segment, now)
		if p.generation == p.lane.generation {
			p.lane.onTheWay -= p.bytes
		}
		done++
	}
	if done > 0 {
		b.probes = slices.Delete(b.probes, 0, done)
		b.wake()
	}
}

// roundTrip notes the measured round trip of a heartbeat.
func (b *outbox) roundTrip(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.window.roundTrip(d)
}

// isProbe says whether a Pong's nonce belongs to settle.
func isProbe(nonce uint64) bool { return nonce >= probeNonces && nonce < math.MaxUint64 }
