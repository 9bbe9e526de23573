// Package hostlink is the server's end of a host's uplink. It checks what a
// daemon says of itself, feeds the streams of its sessions to server/fleet,
// and carries input, claims, presence and calls to it.
//
// It never believes a host about who it is: host id and name come from the
// token that server/httpapi checked before Serve. A host that breaks the rules
// of the wire loses its own link, and nobody else notices.
//
// # Hostile or broken hosts
//
// Announcements are limited to 20 a second: the link that sends more is read
// more slowly. The newest states of all its sessions together are limited in
// size. Acknowledgements are sent when 8 KiB
// were taken in, or 20 ms later, with whatever else is written.
package hostlink
