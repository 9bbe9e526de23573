//go:build unix

package socket

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// writable says that the system takes a small message without waiting: it never
// divides one below a third of a socket's buffer, which is when it calls the
// socket writable.
func writable(raw syscall.RawConn) bool {
	ready := false
	err := raw.Control(func(fd uintptr) {
		poll := [1]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}
		n, err := unix.Poll(poll[:], 0)
		ready = err == nil && n == 1 && poll[0].Revents == unix.POLLOUT
	})
	return err == nil && ready
}
