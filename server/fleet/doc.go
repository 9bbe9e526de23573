// Package fleet knows which hosts and sessions there are and who is connected.
// It owns the registry, the live copy of every session, the routes between
// viewers and hosts (input and its acknowledgements, size claims, presence,
// calls), the stream of changes for viewers and event streams, and what of all
// that survives a restart of the server.
//
// It never opens a connection and never queues anything for a host that is not
// there: whoever asks is told host_offline at once. server/hostlink brings
// hosts, server/viewer and server/httpapi bring people; server/cmd opens one
// Fleet and closes it last.
//
// # Identity
//
// A session is named by its host's id and its own, and both the host's id and
// name come from the enrolled token. A bare session id means the session that
// had it first; another host that claims the same id changes nothing for it.
//
// # Locks
//
// Fleet.mu, then Subscription.mu; entry.mu is a leaf. A session's goroutine
// takes Fleet.mu when it reports a change, so nobody calls a session while
// holding it.
package fleet
