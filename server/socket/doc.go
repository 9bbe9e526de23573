// Package socket is the server's end of a WebSocket that speaks internal/wire.
// It owns the reading and writing goroutines of one connection, the preamble,
// the heartbeat, the queue of control frames, the clock readings in frames, and
// how a connection ends: with which close code, and what is still said before.
// server/hostlink and server/viewer build on it; what frames mean is theirs.
//
// It never decides who may connect: its caller has checked origin and
// credentials before Accept. A Socket lives from Accept until Run returns.
//
// # Order of what is written
//
// One goroutine writes. Control frames go first, in the order of Send; then the
// Source is asked for its own: acknowledgements, changes, output. So a control
// frame waits for one message at most, and what the Source holds back while a
// write is under way leaves together in the next one.
package socket
