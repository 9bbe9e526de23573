// Package control is the daemon's local socket: an owner-only unix socket on
// which our own command line asks for the uplink's state and tells the daemon
// of changes. It also holds the lock by which a state directory has one daemon.
// It decides nothing and owns no session; the daemon process serves it from
// its start to its end, the command line is its client.
//
// # Protocol
//
// HTTP/1.1 over <run>/daemon.sock, Host "agent-helm", no Origin, bodies of at
// most 4 KiB, JSON. The peer has to be the same user at both ends.
//
//	GET  /status     Status
//	POST /nudge      look at the sessions and dial the server now; 204
//	POST /pairing    ask the server for a code; two lines, the second once a
//	                 person decided. Ends with the connection
//	POST /shutdown   end the daemon, not the sessions; 202
//
// Programs inside a session may neither pair nor shut down.
//
// Errors are {"code", "message"} with a status of 4xx or 5xx.
package control
