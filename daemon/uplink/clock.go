package uplink

import "time"

// A computer that sleeps stops the clock by which Go measures durations, but
// not the one on the wall. An input must not look fresh because of that.

// maxJump is how far the two clocks may part between two looks before it was
// a sleep, or somebody set the clock; both are rare and the same to us.
const maxJump = 2 * time.Second

// elapsed is the time between two moments by the running clock and by the one
// on the wall.
func elapsed(from, to time.Time) (running, wall time.Duration) {
	return to.Sub(from), to.Round(0).Sub(from.Round(0))
}

// longest is the larger of the two: what is certain to be late is late.
func longest(running, wall time.Duration) time.Duration { return max(running, wall, 0) }

// sleepWatch notices when the clocks part.
type sleepWatch struct{ apart time.Duration }

// slept says whether they have parted since the last call.
func (w *sleepWatch) slept(running, wall time.Duration) bool {
	apart := wall - running
	jump := apart - w.apart
	w.apart = apart
	return jump > maxJump || jump < -maxJump
}
