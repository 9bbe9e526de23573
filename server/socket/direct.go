package socket

import (
	"bufio"
	"net"
	"net/http"
	"syscall"
)

// hijacking remembers the connection that a WebSocket takes over from HTTP.
type hijacking struct {
	http.ResponseWriter
	conn net.Conn
}

// Unwrap lets http.ResponseController reach what this wraps.
func (h *hijacking) Unwrap() http.ResponseWriter { return h.ResponseWriter }

// Hijack is http.Hijacker.
func (h *hijacking) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(h.ResponseWriter).Hijack()
	h.conn = conn
	return conn, buffered, err
}

// rawConn is the system's socket below a connection, nil when there is none.
func rawConn(conn net.Conn) syscall.RawConn {
	for conn != nil {
		if c, ok := conn.(syscall.Conn); ok {
			raw, err := c.SyscallConn()
			if err != nil {
				return nil
			}
			return raw
		}
		wrapper, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return nil
		}
		conn = wrapper.NetConn()
	}
	return nil
}
