package uplink

import (
	"testing"
	"time"
)

func TestSleepWatch(t *testing.T) {
	var w sleepWatch
	for i, look := range []struct {
		running, wall time.Duration
		want          bool
	}{
		{time.Second, time.Second, false},
		{2 * time.Second, 2*time.Second + 50*time.Millisecond, false}, // a corrected clock
		{3 * time.Second, 8 * time.Hour, true},
		{4 * time.Second, 8*time.Hour + time.Second, false}, // known by now
		{5 * time.Second, 5 * time.Second, true},            // set back
	} {
		if got := w.slept(look.running, look.wall); got != look.want {
			t.Errorf("look %d: %t", i, got)
		}
	}
	if got := longest(time.Second, time.Hour); got != time.Hour {
		t.Errorf("an input that slept is %v old", got)
	}
}
