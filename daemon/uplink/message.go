package uplink

import (
	"context"
	"slices"

	"github.com/agent-helm/agent-helm/internal/wire"
)

// written is what the writer reports once the socket took a message.
type written struct {
	lane       *lane
	generation uint64
	offset     uint64
}

// take appends one message to dst, nothing when nothing may be sent. stamp sets
// what a frame says of the moment it is sent. reports is reused.
func (b *outbox) take(dst []byte, reports []written, stamp func(wire.Frame)) ([]byte, []written, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failed != nil {
		return dst, reports, b.failed
	}
	return b.fill(dst, reports, stamp)
}

// wait waits until there may be something to take.
func (b *outbox) wait(ctx context.Context) error {
	select {
	case <-b.ready:
		return nil
	case <-b.closed:
		b.mu.Lock()
		defer b.mu.Unlock()
		return b.failed
	case <-ctx.Done():
		return ctx.Err()
	}
}

// waits says that there may be more to take.
func (b *outbox) waits() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.control) > 0 || len(b.fresh) > 0 || len(b.active) > 0
}

func (b *outbox) fill(dst []byte, reports []written, stamp func(wire.Frame)) ([]byte, []written, error) {
	var err error
	taken := 0
	for taken < len(b.control) && len(dst) < messageControl {
		f := b.control[taken]
		stamp(f)
		if dst, err = wire.Append(dst, f); err != nil {
			return dst, reports, err
		}
		taken++
	}
	b.control = slices.Delete(b.control, 0, taken)
	budget := b.window.piece()
	// Silent sessions first, once each, but with half of a message at most, so
	// that they cannot starve one that prints without end.
	share := budget / 2
	for range len(b.fresh) {
		if share <= 0 {
			break
		}
		l := b.fresh[0]
		b.fresh = slices.Delete(b.fresh, 0, 1)
		var n int
		if dst, reports, n, err = b.turn(l, dst, reports, min(quantum, share), budget, stamp); err != nil {
			return dst, reports, err
		}
		share -= n
		budget -= n
	}
	for stuck := 0; budget > 0 && stuck < len(b.active); {
		l := b.active[0]
		b.active = slices.Delete(b.active, 0, 1)
		limit := budget
		if len(b.active) > 0 {
			limit = min(quantum, budget)
		}
		var n int
		if dst, reports, n, err = b.turn(l, dst, reports, limit, budget, stamp); err != nil {
			return dst, reports, err
		}
		budget -= n
		if n == 0 {
			stuck++
		} else {
			stuck = 0
		}
	}
	return dst, reports, nil
}

// turn takes up to limit bytes of output from a lane and puts it back at the
// end of the active ones if it has more.
func (b *outbox) turn(l *lane, dst []byte, reports []written, limit, budget int, stamp func(wire.Frame)) ([]byte, []written, int, error) {
	now := b.now()
	total := 0
	for !l.empty() && total < limit {
		room := limit - total
		switch head := l.queue[l.head].Frame.(type) {
		case *wire.State:
			room = budget - total
		case *bulk:
			if len(dst)+len(head.encoded) > wire.MaxMessage {
				room = 0
			}
		}
		if room <= 0 {
			break
		}
		var n int
		var kind account
		var err error
		dst, n, kind, err = l.take(dst, room)
		if err != nil {
			return dst, reports, total, err
		}
		if n == 0 {
			break
		}
		total += n
		switch kind {
		case accountProbe:
			ping := &wire.Ping{Nonce: b.nextProbe}
			b.nextProbe++
			stamp(ping)
			if dst, err = wire.Append(dst, ping); err != nil {
				return dst, reports, total, err
			}
			l.onTheWay += n
			b.probes = append(b.probes, probe{segment: b.window.send(ping.Nonce, n, now), lane: l, generation: l.generation})
		case accountOffset:
			l.onTheWay += n
			l.segments = append(l.segments, b.window.send(l.sent.Offset, n, now))
		case accountNone:
		}
	}
	if total > 0 {
		reports = append(reports, written{lane: l, generation: l.generation, offset: l.sent.Offset})
		if l.bytes < laneLimit {
			l.signalSpace()
		}
	}
	if l.empty() {
		l.listed = false
	} else {
		b.active = append(b.active, l)
	}
	return dst, reports, total, nil
}

// wrote notes that the socket has taken a message, so that the sessions may
// acknowledge it to their holders.
func (b *outbox) wrote(reports []written) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, report := range reports {
		l := report.lane
		if l.closed || l.generation != report.generation {
			continue
		}
		l.confirmed = max(l.confirmed, report.offset)
		if l.over || l.confirmed-l.told >= ackBytes || l.bytes >= lagBytes {
			l.signalWrote()
		}
	}
}
