package session

import (
	"testing"
	"time"
)

// link simulates a viewer's connection: what is sent arrives at a rate, and is
// acknowledged a round trip later.
type link struct {
	rate      float64 // bytes per second
	roundTrip time.Duration
}

// flood sends as fast as the window lets, in chunks, for some time, and returns
// the flow and the bytes that went through.
func (l link) flood(duration time.Duration) (f flow, through int) {
	f = newFlow()
	now := time.Unix(1000, 0)
	end := now.Add(duration)
	type ack struct {
		at     time.Time
		offset uint64
	}
	var acks []ack
	var offset uint64
	free := now // when the link has sent everything
	for first := true; now.Before(end); first = false {
		if first { // a viewer that attaches gets a repaint
			offset = 3000
			free = now.Add(time.Duration(3000 / l.rate * float64(time.Second)))
			f.sent(0, 3000, 3000, false, now)
			acks = append(acks, ack{free.Add(l.roundTrip), 3000})
			through = 3000
		}
		for f.room() > 0 {
			n := min(f.room(), 32<<10)
			start := offset
			offset += uint64(n)
			if free.Before(now) {
				free = now
			}
			free = free.Add(time.Duration(float64(n) / l.rate * float64(time.Second)))
			f.sent(start, offset, n, true, now)
			acks = append(acks, ack{free.Add(l.roundTrip), offset})
			through += n
		}
		now = acks[0].at
		f.ack(acks[0].offset, now)
		acks = acks[1:]
	}
	return f, through
}

func TestFlow_followsTheRate(t *testing.T) {
	for name, test := range map[string]struct {
		link     link
		min, max int     // of the window at the end
		used     float64 // share of the link's rate
	}{
		"50 kB/s":             {link{50e3, 5 * time.Millisecond}, windowMin, 16 << 10, 0.9},
		"phone, 1 MB/s":       {link{1e6, 60 * time.Millisecond}, 100 << 10, 512 << 10, 0.8},
		"far away, 1 MB/s":    {link{1e6, 400 * time.Millisecond}, 300 << 10, 2 << 20, 0.6},
		"wire, 40 MB/s":       {link{40e6, time.Millisecond}, 1 << 20, windowMax, 0.9},
		"loopback, 500 MB/s":  {link{500e6, 100 * time.Microsecond}, 1 << 20, windowMax, 0.9},
		"satellite, 100 kB/s": {link{100e3, 700 * time.Millisecond}, 50 << 10, 256 << 10, 0.6},
		"hopeless, 1 kB/s":    {link{1e3, time.Second}, windowMin, windowMin, 0.9},
	} {
		const duration = 20 * time.Second
		f, through := test.link.flood(duration)
		if f.window < test.min || f.window > test.max {
			t.Errorf("%s: window %d, want %d to %d", name, f.window, test.min, test.max)
		}
		if share := float64(through) / (test.link.rate * duration.Seconds()); share < test.used {
			t.Errorf("%s: %.0f %% of the link used, rate measured %.0f", name, 100*share, f.rate)
		}
	}
}

func TestFlow_typingDoesNotMeasure(t *testing.T) {
	f := newFlow()
	now := time.Unix(1000, 0)
	for offset := range uint64(1000) {
		f.sent(offset, offset+1, 33, false, now)
		now = now.Add(200 * time.Millisecond)
		f.ack(offset+1, now)
	}
	if f.window != windowStart || f.rate != 0 || f.unacked != 0 || f.lagLimit() != resumeLimit {
		t.Errorf("window %d, rate %v, %d unacknowledged", f.window, f.rate, f.unacked)
	}
}

func TestFlow_bookkeeping(t *testing.T) {
	now := time.Unix(1000, 0)
	f := newFlow()
	f.sent(0, 1000, 1000, true, now)
	f.sent(1000, 1000, 500, false, now) // a repaint
	f.sent(1000, 3000, 2000, true, now)
	if f.unacked != 3500 {
		t.Errorf("%d unacknowledged", f.unacked)
	}
	f.ack(400, now) // part of a message
	if f.unacked != 3100 {
		t.Errorf("%d unacknowledged after a part", f.unacked)
	}
	f.ack(100, now) // old news
	f.ack(1000, now)
	if f.unacked != 2000 || len(f.inFlight) != 1 {
		t.Errorf("%d unacknowledged in %d messages", f.unacked, len(f.inFlight))
	}
	// A repaint of what was acknowledged already is not waited for.
	f.sent(1000, 1000, 60_000, false, now)
	if f.unacked != 2000 {
		t.Errorf("%d unacknowledged", f.unacked)
	}
	// The stream goes back: what lies beyond is never acknowledged.
	f.rewind(500)
	if f.unacked != 0 || f.acked != 500 {
		t.Errorf("%d unacknowledged, acknowledged until %d", f.unacked, f.acked)
	}
	for n := range uint64(maxSegments) {
		f.sent(500+n, 501+n, 1, true, now)
	}
	if f.room() != 0 || f.fits(1) {
		t.Error("there is no end to small messages")
	}
	f.ack(500+maxSegments, now)
	if f.inFlight != nil || f.unacked != 0 || !f.fits(1<<20) {
		t.Errorf("%d messages in flight", len(f.inFlight))
	}
}
