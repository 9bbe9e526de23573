//go:build !race

package e2e

// raceEnabled says whether this test runs under the race detector; the
// binaries then do too.
const raceEnabled = false
