// Package wire is every byte that travels between a host, the server and a
// viewer, and between a session's holder and the programs of its own host. It
// owns the frame layouts, their limits, the JSON of control frames and the
// close codes; it opens no connection, keeps no state and imports only the
// standard library. Everybody who speaks to somebody else calls it.
//
// # Flow
//
// A connection is a WebSocket with binary messages (host ⇄ server, viewer ⇄
// server) or an owner-only unix socket (holder ⇄ daemon and CLI). Either end
// sends the preamble first, then frames:
//
//	preamble  offset 0, 4 bytes   magic "AHLM"
//	          offset 4, 1 byte    major version
//	          offset 5, 1 byte    minor version
//
// A WebSocket message carries one or more whole frames; the preamble is the
// start of the first message. A frame never spans two messages. On a unix
// socket frames follow each other without a border.
//
//	frame     1 byte     type, a number of the table below
//	          uvarint    length of the body in bytes, at most MaxFrame
//	          length     body
//
// The length is checked before anything is allocated. A frame of an unknown
// type is skipped by its length, so that a newer peer may speak to an older
// one; bytes behind the last known field of a body are ignored for the same
// reason. Numbers are unsigned LEB128 varints (encoding/binary Uvarint) unless
// the table says otherwise. A client is 16 raw bytes.
//
// # Host ⇄ server
//
//	host    HostHello                  instance, version, sessions with what the log holds of each
//	server  HostWelcome                for each session the position to send from, or "send state"
//	host    Output Resize Gap Reset State Exit   in the order of the stream
//	server  Ack                        every offset up to this one has been taken in
//	host    SessionOpen SessionUpdate SessionClosed
//	server  SessionResume              the answer to SessionOpen
//	server  Input Retire ClaimSize ReleaseSize Presence   passed through from viewers
//	host    InputAck SizeOwner         passed through from the holder
//	server  RPC, host RPCReply
//	host    RPC (pairing only, if HostWelcome names the capability), server RPCReply
//	both    Ping Pong; server Restarting
//
// # Viewer ⇄ server
//
//	viewer  ViewerHello
//	server  ViewerWelcome, Event (one snapshot, then changes)
//	viewer  Attach                     a handle of its own choice, what it already shows
//	server  Attached, then Output (delta) or Repaint, then Live; a new size is a Repaint
//	viewer  Ack                        what its terminal has drawn
//	viewer  Input Retire ClaimSize ReleaseSize Presence Page Detach
//	server  InputAck SizeOwner PageReply Exit Problem
//	both    Ping Pong; server Restarting
//
// # Holder ⇄ daemon, CLI (unix socket, handle 0)
//
//	client  HolderHello
//	holder  HolderWelcome
//	client  HolderAttach               from a position, or by state or repaint
//	holder  Output Resize Gap State Repaint Live Exit SessionUpdate SizeOwner
//	client  Ack Input Retire ClaimSize ReleaseSize Presence RPC
//	holder  InputAck RPCReply
//
// The holder dialect is frozen from version 1.0: a daemon of any later version
// drives it, and a holder answers a method it does not know with the problem
// code "unsupported".
//
// # Positions
//
// Output is addressed by the absolute offset of its first byte. A resize is a
// mark between two bytes; marks are numbered from 1. A Position is (bytes,
// marks) taken in so far, and two streams at one position are the same stream.
// A receiver trims bytes below its offset and ignores marks at or below its
// ordinal, so everything may be sent twice.
//
// # Time
//
// Times on the wire are durations. Ping and Input carry the milliseconds since
// their sender opened the connection; a receiver compares the smallest
// difference to its own clock that it has seen with the present one, and so
// knows how long a frame was held up. See Delay.
//
// # Versions
//
//	1.0  2026-11-30  first
//
// A peer with another major version is refused with CloseVersion; the minor
// version may differ by one either way. Numbers are never reused.
package wire
