// Package viewer is the server's end of a browser's WebSocket: one socket that
// shows any number of sessions. It checks the second credential, enforces
// scopes and bindings on every frame, passes input on, and writes to the
// browser what server/fleet and the sessions have for it.
//
// It never keeps output for a browser that does not read: a session offers a
// message, and if there is no room the session keeps its place in the stream
// and is asked again. Changes of the list of sessions are fetched when there is
// room and are then the newest. A viewer that is dead costs its own socket, and
// nobody waits for it.
//
// server/httpapi checks Origin, Host and the first credential before Serve. A
// connection lives until either end closes it, its credential is revoked, or
// the server stops.
package viewer
