// Package redial decides how long to wait before the next attempt to connect.
// It dials nothing itself; uplink owns one Backoff per connection that it
// keeps alive.
package redial

import (
	"math/rand/v2"
	"time"
)

// Backoff grows from First to Max, doubled with each failure, and is jittered
// so that many hosts do not come back in the same instant. It never gives up.
// The zero value is not usable; set both fields. One goroutine uses it.
type Backoff struct {
	First, Max time.Duration

	failures int
}

// Next is how long to wait before the next attempt: between half of the
// present step and all of it.
func (b *Backoff) Next() time.Duration {
	step := b.First
	for range b.failures {
		if step >= b.Max/2 {
			step = b.Max
			break
		}
		step *= 2
	}
	b.failures++
	step = min(step, b.Max)
	return step/2 + rand.N(step/2+1)
}

// Reset makes the next wait short again. Call it once a connection has proved
// itself, not merely when it opened.
func (b *Backoff) Reset() { b.failures = 0 }
