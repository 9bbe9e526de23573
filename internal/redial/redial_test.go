package redial

import (
	"testing"
	"time"
)

func TestBackoff_Next(t *testing.T) {
	b := Backoff{First: 500 * time.Millisecond, Max: 15 * time.Second}
	steps := []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 15 * time.Second, 15 * time.Second}
	for i, step := range steps {
		if wait := b.Next(); wait < step/2 || wait > step {
			t.Errorf("wait %d is %v, want between %v and %v", i, wait, step/2, step)
		}
	}
	for range 10_000 {
		if wait := b.Next(); wait > b.Max {
			t.Fatalf("wait %v exceeds %v", wait, b.Max)
		}
	}
	b.Reset()
	if wait := b.Next(); wait > b.First {
		t.Errorf("after Reset the wait is %v, want at most %v", wait, b.First)
	}
}
