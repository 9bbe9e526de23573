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

// limiter allows a number of tries per window, for each network and in all. It
// remembers at most triesInAll tries, whatever is thrown at it: a refused try
// is not remembered.
type limiter struct {
	mu    sync.Mutex
	tries []try // guarded by mu, oldest first
}

type try struct {
	at   time.Time
	from netip.Prefix
}

// allow reports whether a try may go ahead, and counts it if so.
func (l *limiter) allow(now time.Time, from netip.Prefix) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.tries) > 0 && now.Sub(l.tries[0].at) >= triesWindow {
		l.tries = l.tries[1:]
	}
	if len(l.tries) >= triesInAll {
		return false
	}
	same := 0
	for _, t := range l.tries {
		if t.from == from {
			same++
		}
	}
	if same >= triesPerAddress {
		return false
	}
	l.tries = append(l.tries, try{at: now, from: from})
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
