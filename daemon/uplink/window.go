package uplink

import "time"

// Bounds of what may be on its way to the server, in bytes. PERF: kernel
// queues alone hold 20 s of a slow link, so what is unacknowledged is bounded
// by the measured rate and not by what the socket takes.
const (
	windowStart = 64 << 10
	windowFloor = 16 << 10
	windowCeil  = 4 << 20

	// windowTime is how much of the measured rate may be on its way beyond two
	// round trips: what waits on the link for the server is about one round trip
	// and this, and an echo of another session waits behind it.
	windowTime = 20 * time.Millisecond
	// roundTripGuess is used until a Ping measured one.
	roundTripGuess = 100 * time.Millisecond
	// rateMemory is how long a measured rate counts.
	rateMemory = 2 * time.Second
)

// segment is one piece of output that was handed to the socket.
type segment struct {
	end       uint64 // offset behind it, or the nonce of the probe behind it
	bytes     int
	sent      time.Time
	delivered uint64 // acknowledged bytes of the whole link when it was sent
	limited   bool   // the window held output back at that time
}

// window is how much unacknowledged output this link may have. It grows and
// shrinks with the rate at which acknowledgements come back, as BBR does: the
// largest recent rate times the time that may be on its way. The outbox's
// mutex guards it.
type window struct {
	size        int
	outstanding int
	delivered   uint64
	shortest    time.Duration // smallest round trip of a Ping; 0 when unknown
	recent      float64       // largest rate of this period, bytes per second
	previous    float64       // and of the one before
	turned      time.Time     // when the period began
}

func newWindow() window { return window{size: windowStart} }

// piece is how much output one message may carry: on a slow link the window is
// small, and what comes next must not wait for all of it.
func (w *window) piece() int { return min(messageOutput, w.size/2) }

// room is how many more bytes may be sent now.
func (w *window) room() int { return max(w.size-w.outstanding, 0) }

// send notes bytes handed to the socket and returns their segment.
func (w *window) send(end uint64, bytes int, now time.Time) segment {
	w.outstanding += bytes
	return segment{end: end, bytes: bytes, sent: now, delivered: w.delivered, limited: w.outstanding >= w.size/2}
}

// roundTrip notes the round trip of a Ping. Output does not measure it: on a
// slow link most of its time is its own length.
func (w *window) roundTrip(d time.Duration) {
	if w.shortest == 0 || d < w.shortest {
		w.shortest = max(d, time.Microsecond)
	}
}

// forget takes a segment out of the account that will never be acknowledged,
// because its stream began anew.
func (w *window) forget(s segment) { w.outstanding = max(w.outstanding-s.bytes, 0) }

// acknowledged takes a segment that the server has taken in and adapts.
func (w *window) acknowledged(s segment, now time.Time) {
	w.outstanding = max(w.outstanding-s.bytes, 0)
	w.delivered += uint64(s.bytes)
	took := now.Sub(s.sent)
	// A clock that does not tell two moments apart says nothing of the rate;
	// a floor of a microsecond keeps the division sane.
	took = max(took, time.Microsecond)
	rate := float64(w.delivered-s.delivered) / took.Seconds()
	if !s.limited {
		// An idle session says how little it printed, not what the link can do.
		w.recent = max(w.recent, rate)
		return
	}
	if now.Sub(w.turned) > rateMemory {
		w.previous, w.recent, w.turned = w.recent, 0, now
	}
	w.recent = max(w.recent, rate)
	roundTrip := w.shortest
	if roundTrip == 0 {
		roundTrip = roundTripGuess
	}
	goal := max(w.recent, w.previous) * (windowTime + 2*roundTrip).Seconds()
	// At most twice as much per acknowledgement round: a burst of tiny round
	// trips must not open the whole window on one measurement.
	goal = min(goal, float64(w.size+s.bytes))
	w.size = min(max(int(goal), windowFloor), windowCeil)
}
