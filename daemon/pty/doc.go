// Package pty runs one program on a pseudo-terminal: it starts the program in
// a process session of its own with the terminal as controlling terminal,
// reads and writes its bytes, changes the size, signals its process groups and
// says how it ended. It never interprets a byte, keeps none, and starts no
// goroutine that outlives its program. Its one caller is the session's holder,
// which owns a Process from Start to Close.
package pty
