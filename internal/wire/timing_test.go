package wire

import (
	"testing"
	"time"
)

func TestDelay_Observe(t *testing.T) {
	var delay Delay
	for i, step := range []struct {
		sent  uint32
		since time.Duration
		want  time.Duration
	}{
		// The receiver opened 40 ms later and a frame takes 10 ms at best.
		{0, 12 * time.Millisecond, 0},
		{100, 110 * time.Millisecond, 0}, // the new best
		{200, 212 * time.Millisecond, 2 * time.Millisecond},
		{300, 5310 * time.Millisecond, 5 * time.Second},
		{6000, 6010 * time.Millisecond, 0},
		// A sender whose clock is ahead of ours: the difference is negative.
		{9000, 8000 * time.Millisecond, 0},
		{9100, 9100 * time.Millisecond, time.Second},
	} {
		if got := delay.Observe(step.sent, step.since); got != step.want {
			t.Errorf("step %d: %v, want %v", i, got, step.want)
		}
	}
}

func TestTimes_fitTogether(t *testing.T) {
	if HeartbeatTimeout <= Heartbeat {
		t.Error("a connection would be given up between two heartbeats")
	}
	if PresenceLifetime <= 2*Heartbeat {
		t.Error("one lost sign of life would end a presence")
	}
}
