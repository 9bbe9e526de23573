// Package holder is the process that owns one session, and its client.
//
// A holder is this program called as "agent-helm hold". It owns the
// pseudo-terminal, the headless terminal, the size and the output log of one
// program, and listens on an owner-only unix socket for the daemon and the
// command line, which speak internal/wire's holder dialect. It never opens a
// network connection, never reads configuration, and needs nobody: the daemon
// may crash, be upgraded or never have run.
//
// Start makes one, Dial talks to one, Inspect says what became of one, also
// when it is gone, and OpenRecord reads what it left. The caller of Main is the
// command line, before it parses anything, so that a holder stays small.
//
// # Files
//
//	<state>/sessions/<id>/spec.json   what was started; the environment is not kept
//	                      birth.json  process ids with start times, and the boot id
//	                      exit.json   how the program ended, and where its stream ends
//	                      state.bin   internal/vt state at the end
//	                      log/        output: segments by offset, and the marks; for
//	                                  recordings, when bytes came and first screens
//	                      holder.log  what the holder itself had to say
//	<run>/<id>.sock                   the socket; a deleted one comes back
//
// A session is running while its holder answers or provably lives, exited once
// exit.json is there, and lost when neither is so.
//
// # Order
//
// One goroutine reads the PTY: terminal, log, then the readers are woken. It
// also applies a new size, between two reads, so that the mark in the log
// stands where the size changed. One goroutine writes input. Each connection
// has a reader and a writer of its own; a fault in one ends that one. The
// session's lock is taken before a connection's and never while writing to the
// PTY or a socket.
package holder
