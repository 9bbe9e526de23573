// Package session is the live copy of one session on the server: one goroutine
// per session owns the ring of newest bytes, the headless terminal and the
// attached viewers. It takes the stream in from the host link (trims what
// overlaps, asks again for what is missing), keeps what is shown of the session
// up to date, and gives every viewer either the bytes or a repaint of the
// screen, as much as that viewer's window takes.
//
// It never answers a terminal query, never waits for a viewer, and knows no
// network: the host link is an Upstream, a viewer a Sink, and neither may
// block. server/fleet makes, finds and closes sessions; server/hostlink feeds
// them and server/viewer attaches to them. A Session lives until its host
// forgets it or the server ends; a fault in one resets that one alone.
//
// # Viewers
//
// A viewer that resumes gets the bytes from its position if the ring has them
// and they are few, else a repaint. From then on it has a window of
// unacknowledged bytes that follows its measured rate. A change of the size is
// a repaint for every viewer, because a repainted terminal has no rows above
// its screen that a resize could bring back. A viewer whose window is
// full is not queued for: it keeps its place in the ring, and if by the time a
// slot is free the stream has run further ahead than the viewer could read in
// a moment, the slot carries a repaint and the bytes between are skipped. What
// a slow viewer costs is therefore one message in flight.
package session
