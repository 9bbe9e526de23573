//go:build !unix

package socket

import "syscall"

// writable is not known here; everything goes through the writer.
func writable(syscall.RawConn) bool { return false }
