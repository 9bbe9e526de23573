// Command bench feeds one terminal one payload and prints how much processor
// time that took, or how much memory the terminal holds. It runs one subject at
// a time, in a process of its own, because some of its subjects panic or hang:
// internal/e2e/bench starts it, sets its time limit and compares.
//
//	bench SUBJECT speed PAYLOAD-FILE MILLISECONDS
//	bench SUBJECT memory PAYLOAD-FILE
//
// It is a module of its own so that building agent-helm downloads none of the
// other terminals.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"github.com/agent-helm/agent-helm/internal/vt"
	xvt "github.com/charmbracelet/x/vt"
	"github.com/hinshun/vt10x"
)

const (
	cols, rows = 80, 24
	// history is how many lines are kept, and there before measuring begins.
	history = 10_000
	// chunk is the size of one write: what a busy PTY gives at a time.
	chunk = 16 << 10
)

// subjects make empty terminals. The second result is how many lines are kept
// above the screen, 0 for none.
var subjects = map[string]func() (io.Writer, int){
	"agent-helm": func() (io.Writer, int) {
		return vt.New(vt.Options{Cols: cols, Rows: rows, Scrollback: history}), history
	},
	// agent-helm keeps two histories. This is the one that the others have.
	"agent-helm, scrollback alone": func() (io.Writer, int) {
		return vt.New(vt.Options{Cols: cols, Rows: rows, Scrollback: history, Archive: -1}), history
	},
	"vt10x": func() (io.Writer, int) {
		return vt10x.New(vt10x.WithSize(cols, rows), vt10x.WithWriter(io.Discard)), 0
	},
	"x/vt": func() (io.Writer, int) {
		emulator := xvt.NewEmulator(cols, rows)
		emulator.SetScrollbackSize(history)
		// Its answers go through a pipe without a buffer: unread, they block it.
		go func() { _, _ = io.Copy(io.Discard, emulator) }()
		return emulator, history
	},
}

// result is what a run prints, as JSON.
type result struct {
	Bytes       int64 `json:"bytes,omitempty"`
	Nanoseconds int64 `json:"ns,omitempty"`
	// Empty and Full are heap bytes of one terminal.
	Empty int64 `json:"empty,omitempty"`
	Full  int64 `json:"full,omitempty"`
	// Lines are those above the screen of a full one.
	Lines int `json:"lines,omitempty"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) < 3 {
		return fmt.Errorf("usage: bench SUBJECT speed|memory PAYLOAD-FILE [MILLISECONDS]")
	}
	subject, ok := subjects[args[0]]
	if !ok {
		return fmt.Errorf("no subject %q", args[0])
	}
	payload, err := os.ReadFile(args[2])
	if err != nil {
		return err
	}
	if len(payload) == 0 {
		return fmt.Errorf("%s is empty", args[2])
	}
	var r result
	if args[1] == "memory" {
		r = memory(subject, payload)
	} else {
		milliseconds, err := strconv.Atoi(args[len(args)-1])
		if err != nil {
			return err
		}
		r = speed(subject, payload, time.Duration(milliseconds)*time.Millisecond)
	}
	return json.NewEncoder(os.Stdout).Encode(r)
}

// speed writes the payload again and again, first until the history is full and
// the caches are warm, then for the time asked for.
func speed(subject func() (io.Writer, int), payload []byte, enough time.Duration) result {
	terminal, kept := subject()
	perPass := bytes.Count(payload, []byte("\n"))
	if perPass*20 < history {
		kept = 0 // it does not scroll
	}
	feed(terminal, payload, func(written int64, spent time.Duration) bool {
		return spent >= enough/2 && written*int64(perPass) >= int64(kept)*int64(len(payload))
	})
	written, spent := feed(terminal, payload, func(_ int64, spent time.Duration) bool { return spent >= enough })
	return result{Bytes: written, Nanoseconds: spent.Nanoseconds()}
}

// feed writes until done says so, which is asked about every millisecond.
func feed(terminal io.Writer, payload []byte, done func(written int64, spent time.Duration) bool) (int64, time.Duration) {
	start, last := processorTime(), time.Now()
	var written int64
	for {
		for rest := payload; len(rest) > 0; {
			n := min(chunk, len(rest))
			_, _ = terminal.Write(rest[:n])
			rest = rest[n:]
			written += int64(n)
			if time.Since(last) < time.Millisecond {
				continue
			}
			if spent := processorTime() - start; done(written, spent) {
				return written, spent
			}
			last = time.Now()
		}
	}
}

// processorTime is what this process has used, its garbage collector included.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// memory is what a terminal holds when it is new and when its history is full.
func memory(subject func() (io.Writer, int), payload []byte) result {
	const several = 4
	terminals := make([]io.Writer, several)
	before := heap()
	kept := 0
	for i := range terminals {
		terminals[i], kept = subject()
	}
	empty := heap()
	need := (max(kept, rows) + rows) * len(payload) / max(1, bytes.Count(payload, []byte("\n")))
	for _, terminal := range terminals {
		for written := 0; written < need; {
			n := min(chunk, len(payload), need-written)
			_, _ = terminal.Write(payload[:n])
			written += n
		}
	}
	full := heap()
	runtime.KeepAlive(terminals)
	runtime.KeepAlive(payload) // else what it frees would count for them
	return result{Empty: (empty - before) / several, Full: (full - before) / several, Lines: kept}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
