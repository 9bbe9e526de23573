//go:build unix && !linux

package pty

import "golang.org/x/sys/unix"

const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
)

// sessionGroups is the leader's process group: other systems give no cheap
// list, and closing the terminal sends SIGHUP to the foreground group.
func sessionGroups(session int) []int {
	if unix.Kill(-session, 0) != nil {
		return nil
	}
	return []int{session}
}
