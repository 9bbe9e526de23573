package auth

import (
	"net/netip"
	"sync"
	"time"
)

// Limits of guessing codes (THREATS S-16).
const (
	triesPerAddress = 5
	triesInAll      = 20
	triesWindow     = time.Minute
)

// limiter allows a number of tries per window, for each caller and in all. It
// remembers at most inAll tries, whatever is thrown at it: a refused try is not
// remembered.
type limiter[From comparable] struct {
	each, inAll int
	window      time.Duration

	mu    sync.Mutex
	tries []try[From] // guarded by mu, oldest first
}

type try[From comparable] struct {
	at   time.Time
	from From
}

// allow reports whether a try may go ahead, and counts it if so.
func (l *limiter[From]) allow(now time.Time, from From) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.tries) > 0 && now.Sub(l.tries[0].at) >= l.window {
		l.tries = l.tries[1:]
	}
	if len(l.tries) >= l.inAll {
		return false
	}
	same := 0
	for _, t := range l.tries {
		if t.from == from {
			same++
		}
	}
	if same >= l.each {
		return false
	}
	l.tries = append(l.tries, try[From]{at: now, from: from})
	return true
}

// NetworkOf is what limits count as one caller: an IPv4 address, or the /64
// that one IPv6 subscriber has. What is not an address counts as one caller too.
func NetworkOf(address string) netip.Prefix {
	parsed, err := netip.ParseAddr(address)
	if err != nil {
		if withPort, err := netip.ParseAddrPort(address); err == nil {
			parsed = withPort.Addr()
		}
	}
	parsed = parsed.Unmap().WithZone("")
	if !parsed.IsValid() {
		return netip.Prefix{}
	}
	bits := 64
	if parsed.Is4() {
		bits = 32
	}
	network, err := parsed.Prefix(bits)
	if err != nil { // cannot happen: both lengths fit
		return netip.Prefix{}
	}
	return network
}
