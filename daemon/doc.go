// Package daemon is the nouns of the host's side: a session and what it was
// started from, the directories and files of one user's installation, the
// host's pairing and its policy, the agents we know, and every limit with its
// reason. It starts nothing, opens no connection and keeps no state; all rooms
// below it and the command line share these types.
package daemon
