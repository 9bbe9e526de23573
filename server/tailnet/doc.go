// Package tailnet makes the server a node of its own in a Tailscale network
// (or one of a compatible control server), without tailscaled on the machine:
// it owns the node's state directory, its sign-in, its certificate and its
// listeners, and says who is at the other end of a connection.
//
// It never decides what anybody may do. WhoIs names the owner of a machine, and
// every program on that machine has that name, the agents included: a name may
// enrol a device and is compared with the device's at every request, but it
// opens nothing (THREATS S-1). It never opens a Funnel listener, never reads a
// secret from the environment, and sends no logs to anybody.
//
// server/cmd makes one Node when --tailscale is given, runs it for the life of
// the process and hands its listener to server/httpapi. Nothing here runs, and
// no goroutine exists, without that flag.
package tailnet
