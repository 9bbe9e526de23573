package wire

import "time"

// Times that both ends of a connection agree on.
const (
	// Heartbeat is how often each end of a connection sends a Ping.
	Heartbeat = 15 * time.Second
	// HeartbeatTimeout is the silence after which a connection is given up:
	// no frame of any kind, Pongs included.
	HeartbeatTimeout = 25 * time.Second
	// InputLifetime is how old an input may be when its first byte is written
	// to the PTY. Older ones go back to the draft they came from.
	InputLifetime = 10 * time.Second
	// PresenceLifetime is how long one sign of life counts, and how long the
	// size lease of a client that fell silent is kept.
	PresenceLifetime = 45 * time.Second
	// AuthTimeout is how long a new connection may take to say hello.
	AuthTimeout = 10 * time.Second
)

// WebSocket close codes of our own (RFC 6455 §7.4.2 leaves 4000–4999 to
// applications).
const (
	CloseProtocol     = 4000 // a frame could not be decoded
	CloseVersion      = 4001 // incompatible protocol version: update one of the two
	CloseUnauthorized = 4003 // the credential is wrong, expired or revoked: sign in again
	CloseForbidden    = 4004 // this principal may not open this socket
	CloseDuplicate    = 4005 // another live instance uses the same host token
	CloseSlow         = 4006 // the peer stopped reading
	CloseLimit        = 4007 // too many connections or sessions
	CloseReplaced     = 4008 // the same viewer opened a newer connection
	CloseRestarting   = 4009 // the server restarts: come back soon
)

// Delay estimates how long a frame was held up on its way, from the senders'
// own clock readings relative to the opening of the connection. The best
// frame so far defines "not held up"; drift of two ordinary clocks is below a
// millisecond in ten seconds. The zero value is ready. It belongs to the one
// goroutine that reads the connection.
type Delay struct {
	known bool
	best  time.Duration
}

// Observe takes the frame's Sent and the receiver's time since the opening of
// the connection, and returns how much longer this frame took than the best.
func (d *Delay) Observe(sent uint32, sinceOpen time.Duration) time.Duration {
	difference := sinceOpen - time.Duration(sent)*time.Millisecond
	if !d.known || difference < d.best {
		d.known, d.best = true, difference
	}
	return difference - d.best
}
