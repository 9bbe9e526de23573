package session

import "time"

const (
	// windowStart is the window of a viewer whose rate is not known.
	windowStart = 16 << 10
	// windowMin keeps the time to interrupt short on a slow link: 8 KiB drain
	// in 0.16 s at 50 kB/s.
	windowMin = 8 << 10
	windowMax = 4 << 20
	// windowTime is how much of a viewer's rate may be on its way to it beyond
	// two round trips: one to fill the line, one because a rate that was measured
	// while the window was too small is too low by up to that much.
	windowTime = 120 * time.Millisecond
	// lagTime is how far a viewer may be behind, at its own rate, before it is
	// repainted instead.
	lagTime = 250 * time.Millisecond
	// resumeLimit is the largest backlog that is sent as bytes to a viewer
	// whose rate is not known (NET-6).
	resumeLimit = 256 << 10
	// maxSegments bounds the messages in flight, and with it the bookkeeping.
	maxSegments = 1024
	// roundTripLifetime is how long the best round trip is believed.
	roundTripLifetime = time.Minute
	// roundTripGuess is used until one was measured, roundTripMost bounds it.
	roundTripGuess = 100 * time.Millisecond
	roundTripMost  = time.Second
	// roundTripBytes is the most that may be on its way with a message that
	// measures a round trip: of more, most of the time is its own length.
	roundTripBytes = 8 << 10
)

// flow is the window of one viewer. It measures the rate as bytes acknowledged
// between a message's departure and its acknowledgement; a sample counts as the
// viewer's rate only if there was more to send than the window let through.
type flow struct {
	window  int
	unacked int
	acked   uint64 // every stream byte below was drawn
	// inFlight are the messages not yet acknowledged, oldest first.
	inFlight  []segment
	delivered int64   // bytes acknowledged in all
	rate      float64 // bytes per second; 0 until measured
	best      trip    // the shortest of the last minute
}

// trip is how long a message took there and back.
type trip struct {
	took  time.Duration // 0 while none was measured
	bytes int           // that were on their way with it
	at    time.Time
}

// segment is one message in flight.
type segment struct {
	start, end uint64 // stream offsets; a repaint begins and ends at its position
	bytes      int
	sentAt     time.Time
	ahead      int   // bytes on their way when it left, its own among them
	delivered  int64 // flow.delivered when it left
	backlogged bool  // more was waiting behind it
}

func newFlow() flow { return flow{window: windowStart} }

// room is how many bytes may be sent now.
func (f *flow) room() int {
	if len(f.inFlight) >= maxSegments {
		return 0
	}
	return max(f.window-f.unacked, 0)
}

// fits says whether a message of that size may go: it fits the window, or
// nothing else is on its way.
func (f *flow) fits(bytes int) bool {
	return f.unacked == 0 || (bytes <= f.room() && f.room() > 0)
}

// lagLimit is the largest backlog that is still sent as bytes.
func (f *flow) lagLimit() uint64 {
	if f.rate == 0 {
		return resumeLimit
	}
	return uint64(max(f.rate*lagTime.Seconds(), float64(f.window)))
}

// sent notes a message that left.
func (f *flow) sent(start, end uint64, bytes int, backlogged bool, now time.Time) {
	if end <= f.acked {
		// A repaint of what the viewer acknowledged already: it may see no
		// reason to acknowledge it once more.
		return
	}
	f.unacked += bytes
	f.inFlight = append(f.inFlight, segment{start: start, end: end, bytes: bytes, sentAt: now, ahead: f.unacked, delivered: f.delivered, backlogged: backlogged})
}

// rewind forgets what is in flight beyond a position that the stream went back
// to, which no acknowledgement would ever reach.
func (f *flow) rewind(offset uint64) {
	f.acked = min(f.acked, offset)
	if n := len(f.inFlight); n > 0 && f.inFlight[n-1].end > offset {
		f.inFlight, f.unacked = nil, 0
	}
}

// ack notes that the viewer has drawn every byte below offset.
func (f *flow) ack(offset uint64, now time.Time) {
	if offset < f.acked {
		return
	}
	f.acked = offset
	done := 0
	var last segment
	for done < len(f.inFlight) && f.inFlight[done].end <= offset {
		last = f.inFlight[done]
		f.unacked -= last.bytes
		f.delivered += int64(last.bytes)
		done++
	}
	if done > 0 {
		f.inFlight = append(f.inFlight[:0], f.inFlight[done:]...)
		f.measure(last, now)
	}
	if len(f.inFlight) == 0 {
		f.inFlight = nil
		return
	}
	if first := &f.inFlight[0]; first.start < offset {
		part := min(int(offset-first.start), first.bytes)
		first.start = offset
		first.bytes -= part
		f.unacked -= part
		f.delivered += int64(part)
	}
}

func (f *flow) measure(s segment, now time.Time) {
	took := max(now.Sub(s.sentAt), time.Microsecond)
	if s.ahead <= roundTripBytes && (f.best.took == 0 || took < f.best.took || now.Sub(f.best.at) > roundTripLifetime) {
		f.best = trip{took, s.ahead, now}
	}
	if !s.backlogged {
		return
	}
	sample := float64(f.delivered-s.delivered) / took.Seconds()
	f.rate = max(sample, 0.75*f.rate+0.25*sample)
	target := int(f.rate * (windowTime + 2*f.roundTrip()).Seconds())
	if target > f.window {
		f.window = min(2*f.window, target)
	} else {
		f.window = max(f.window/2, target)
	}
	f.window = min(max(f.window, windowMin), windowMax)
}

// roundTrip is the time there and back of a message without length.
func (f *flow) roundTrip() time.Duration {
	if f.best.took == 0 {
		return roundTripGuess
	}
	length := time.Duration(float64(f.best.bytes) / f.rate * float64(time.Second))
	return min(max(f.best.took-length, 0), roundTripMost)
}
