package control

import (
	"fmt"
	"net"

	"golang.org/x/sys/unix"
)

// peerUID is the user at the other end of a unix socket.
func peerUID(conn *net.UnixConn) (int, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return 0, fmt.Errorf("identify peer: %w", err)
	}
	var credentials *unix.Xucred
	var failed error
	if err := raw.Control(func(fd uintptr) {
		credentials, failed = unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	}); err != nil {
		return 0, fmt.Errorf("identify peer: %w", err)
	}
	if failed != nil {
		return 0, fmt.Errorf("identify peer: %w", failed)
	}
	return int(credentials.Uid), nil
}
