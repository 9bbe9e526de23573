package uplink

import (
	"time"

	"github.com/agent-helm/agent-helm/internal/wire"
)

const (
	// laneLimit bounds what waits in one session's lane, in bytes. The holder's
	// own window is as large, so output never waits for it; only a long State
	// does, and then the holder's stream is simply not read for a while.
	laneLimit = 256 << 10
	// itemCost is what a frame without data counts against laneLimit, so that
	// a storm of resizes is bounded too.
	itemCost = 64
	// reserve is what a session with nothing on its way may send although the
	// window is full: an echo does not wait for another session's flood.
	reserve = 4 << 10
	// mergedOutput bounds the output that is put together while it waits.
	mergedOutput = 8 << 10
	// lagBytes is how much has to wait before a lane counts as lagging.
	lagBytes = 96 << 10
	// lagTime is how long the output at the head of such a lane may wait.
	lagTime = time.Second
)

// account says how a piece that was taken is acknowledged.
type account int

const (
	accountNone   account = iota // a mark: counts for nothing
	accountOffset                // output: by its offset
	accountProbe                 // state and bulk: by the Pong to a Ping behind it
)

// lane is the queue of one session's stream, in the order of the stream. All
// fields are guarded by the outbox's mutex, except those named.
type lane struct {
	handle uint32
	box    *outbox

	queue  []waitingFrame
	head   int // index of the first frame not yet taken
	bytes  int // cost of what waits
	listed bool
	closed bool
	// generation counts the streams that fed this lane; what an older one
	// left in flight is not reported to a newer one's holder.
	generation uint64

	// sent is the position that the server reaches by what was taken.
	sent wire.Position
	// segments are pieces of output on their way, oldest first.
	segments []segment
	onTheWay int

	// space is signalled (capacity 1) when room was made or the lane closed.
	space chan struct{}
	// wrote is signalled (capacity 1) when confirmed moved; confirmed is the
	// offset up to which the socket has taken the stream.
	wrote     chan struct{}
	confirmed uint64
	// told is what of it the holder was last told of.
	told uint64
	// over says that the stream's end was taken.
	over bool
}

func cost(f wire.Frame) int {
	switch f := f.(type) {
	case *wire.Output:
		return itemCost + len(f.Data)
	case *wire.State:
		return itemCost + len(f.Data)
	case *bulk:
		return itemCost + len(f.encoded)
	}
	return itemCost
}

// waitingFrame is a frame of a stream and when it came.
type waitingFrame struct {
	wire.Frame
	since time.Time
}

// bulk is an encoded frame that is too large for the control queue: it waits
// its turn among the sessions' output.
type bulk struct {
	wire.Unknown
	encoded []byte
}

func (l *lane) empty() bool { return l.head == len(l.queue) }

// push adds a frame. Small runs of output that follow each other become one,
// so that a stalled link holds bytes and not thousands of frames.
func (l *lane) push(f wire.Frame) {
	if next, ok := f.(*wire.Output); ok && !l.empty() {
		last, ok := l.queue[len(l.queue)-1].Frame.(*wire.Output)
		if ok && last.Offset+uint64(len(last.Data)) == next.Offset && len(last.Data)+len(next.Data) <= mergedOutput {
			last.Data = append(last.Data, next.Data...)
			l.bytes += len(next.Data)
			return
		}
	}
	l.queue = append(l.queue, waitingFrame{f, l.box.now()})
	l.bytes += cost(f)
}

// lagging says that the output at the head has waited longer than the server
// may lag behind, with much more behind it: then a State is quicker. A little
// output that waited for a link that stood still is kept whole.
func (l *lane) lagging(now time.Time) bool {
	if l.bytes < lagBytes {
		return false
	}
	_, isOutput := l.queue[l.head].Frame.(*wire.Output)
	return isOutput && now.Sub(l.queue[l.head].since) > lagTime
}

// pop removes the first frame. The array is given back when it is empty, and
// moved down before it grows without need.
func (l *lane) pop() {
	l.bytes -= cost(l.queue[l.head].Frame)
	l.queue[l.head] = waitingFrame{}
	l.head++
	switch {
	case l.head == len(l.queue):
		l.queue, l.head = l.queue[:0], 0
		if cap(l.queue) > 1024 {
			l.queue = nil
		}
	case l.head > 256 && l.head > len(l.queue)/2:
		n := copy(l.queue, l.queue[l.head:])
		clear(l.queue[n:])
		l.queue, l.head = l.queue[:n], 0
	}
}

// clear drops everything that waits.
func (l *lane) clear() {
	l.queue, l.head, l.bytes = nil, 0, 0
	l.signalSpace()
}

func (l *lane) signalSpace() {
	select {
	case l.space <- struct{}{}:
	default:
	}
}

// allowance is how many bytes of this lane the window lets through now.
func (l *lane) allowance() int {
	room := l.box.window.room()
	if l.onTheWay == 0 {
		room = max(room, reserve)
	}
	return room
}

// take removes at most limit bytes from the head and appends their frame to
// dst. Consecutive output becomes one frame. n is 0 when the head has to wait
// for the window or does not fit into limit.
func (l *lane) take(dst []byte, limit int) (out []byte, n int, kind account, err error) {
	switch f := l.queue[l.head].Frame.(type) {
	case *wire.Output:
		return l.takeOutput(dst, f, min(limit, l.allowance(), wire.MaxOutput))
	case *wire.State:
		if l.onTheWay > 0 && len(f.Data) > l.allowance() || len(f.Data) > limit {
			return dst, 0, accountNone, nil
		}
		if dst, err = wire.Append(dst, f); err != nil {
			return dst, 0, accountNone, err
		}
		if f.Last {
			l.sent = f.Position
		}
		l.pop()
		return dst, itemCost + len(f.Data), accountProbe, nil
	case *bulk:
		if l.onTheWay > 0 && len(f.encoded) > l.allowance() {
			return dst, 0, accountNone, nil
		}
		dst = append(dst, f.encoded...)
		l.pop()
		return dst, itemCost + len(f.encoded), accountProbe, nil
	case *wire.Resize:
		l.sent.Marks = f.Ordinal
	case *wire.Reset:
		l.sent.Marks = f.Ordinal
	case *wire.Gap:
		l.sent.Offset = f.Offset + f.Lost
	case *wire.Exit:
		l.over = true
	}
	if dst, err = wire.Append(dst, l.queue[l.head].Frame); err != nil {
		return dst, 0, accountNone, err
	}
	l.pop()
	return dst, itemCost, accountNone, nil
}

func (l *lane) takeOutput(dst []byte, first *wire.Output, limit int) (out []byte, n int, kind account, err error) {
	if limit <= 0 {
		return dst, 0, accountNone, nil
	}
	frame := wire.Output{Handle: l.handle, Offset: first.Offset}
	if len(first.Data) > limit {
		// The rest stays at the head; its bytes were never copied.
		frame.Data = first.Data[:limit]
		l.queue[l.head].Frame = &wire.Output{Handle: l.handle, Offset: first.Offset + uint64(limit), Data: first.Data[limit:]}
		l.bytes -= limit
	} else {
		frame.Data = first.Data
		l.pop()
		frame.Data = l.coalesce(frame, limit)
	}
	if dst, err = wire.Append(dst, &frame); err != nil {
		return dst, 0, accountNone, err
	}
	l.sent.Offset = frame.Offset + uint64(len(frame.Data))
	return dst, len(frame.Data), accountOffset, nil
}

// coalesce returns the frame's data with that of the frames behind it, as long
// as they follow each other and whole frames fit.
func (l *lane) coalesce(frame wire.Output, limit int) []byte {
	data := frame.Data
	copied := false
	for !l.empty() {
		next, ok := l.queue[l.head].Frame.(*wire.Output)
		if !ok || next.Offset != frame.Offset+uint64(len(data)) || len(data)+len(next.Data) > limit {
			return data
		}
		if !copied {
			l.box.scratch = append(l.box.scratch[:0], data...)
			copied = true
		}
		l.box.scratch = append(l.box.scratch, next.Data...)
		data = l.box.scratch
		l.pop()
	}
	return data
}
