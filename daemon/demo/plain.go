package demo

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/agent-helm/agent-helm/daemon/attach/tty"
)

// endOfInput is ^D, which ends the counter and the echo.
const endOfInput = 0x04

// errDone ends a plain program in the ordinary way.
var errDone = errors.New("done")

// readInput calls take for every run of bytes until it fails, the input ends
// or the context is done. The caller waits for it.
func readInput(ctx context.Context, terminal *tty.Terminal, take func([]byte) error) error {
	stop := context.AfterFunc(ctx, terminal.Cancel)
	defer stop()
	buf := make([]byte, 32<<10)
	for {
		n, err := terminal.Read(buf)
		if n > 0 {
			if err := take(buf[:n]); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(err, tty.ErrCancelled):
			return context.Cause(ctx)
		case err != nil:
			return errDone // the terminal is gone
		}
	}
}

func runEcho(ctx context.Context, terminal *tty.Terminal) error {
	// The terminal is raw now, which a test has to wait for.
	if _, err := io.WriteString(terminal, "echo ready\r\n"); err != nil {
		return err
	}
	return readInput(ctx, terminal, func(p []byte) error {
		end := bytes.IndexByte(p, endOfInput)
		if end >= 0 {
			p = p[:end]
		}
		if _, err := terminal.Write(p); err != nil {
			return err
		}
		if end >= 0 {
			return errDone
		}
		return nil
	})
}

func runDeaf(ctx context.Context, terminal *tty.Terminal) error {
	if _, err := io.WriteString(terminal, "deaf\r\n"); err != nil {
		return err
	}
	<-ctx.Done()
	return context.Cause(ctx)
}

// runFlood prints exactly total bytes, then one closing line.
func runFlood(ctx context.Context, terminal *tty.Terminal, total int64) error {
	var block []byte
	written, line := int64(0), 0
	for written < total {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		block = block[:0]
		for len(block) < 32<<10 {
			line++
			block = fmt.Appendf(block, "\x1b[%dm%010d\x1b[0m the quick brown fox jumps over the lazy dog\r\n", 31+line%6, line)
		}
		block = block[:min(int64(len(block)), total-written)]
		n, err := terminal.Write(block)
		written += int64(n)
		if err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(terminal, "\x1b[0m\r\nflood done %d\r\n", written)
	return err
}

// runCounter prints and listens at the same time; lines of the two never mix,
// because each is one write of the goroutine that owns the output.
func runCounter(ctx context.Context, terminal *tty.Terminal, options Options) (err error) {
	ledger := io.Discard
	if options.Ledger != "" {
		file, err := os.OpenFile(options.Ledger, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			return fmt.Errorf("open ledger: %w", err)
		}
		defer func() { err = errors.Join(err, file.Close()) }()
		ledger = file
	}
	received := make(chan string, 64)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		var numbers numberReader
		return readInput(ctx, terminal, func(p []byte) error {
			return numbers.feed(p, func(line string) error {
				// The ledger first: what it says is what arrived.
				if _, err := io.WriteString(ledger, line+"\n"); err != nil {
					return fmt.Errorf("write ledger: %w", err)
				}
				select {
				case received <- line:
					return nil
				case <-ctx.Done():
					return context.Cause(ctx)
				}
			})
		})
	})
	group.Go(func() error { return printCount(ctx, terminal, options, received) })
	return group.Wait()
}

func printCount(ctx context.Context, out io.Writer, options Options, received <-chan string) error {
	always := make(chan time.Time)
	close(always)
	var due <-chan time.Time = always
	if !options.Fast && options.Rate > 0 {
		ticker := time.NewTicker(max(time.Second/time.Duration(options.Rate), time.Microsecond))
		defer ticker.Stop()
		due = ticker.C
	}
	for count := 1; ; {
		var line string
		select {
		case line = <-received:
		case <-due:
			line = fmt.Sprintf("count %08d", count)
			count++
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if _, err := io.WriteString(out, line+"\r\n"); err != nil {
			return err
		}
		if options.Lines > 0 && count > options.Lines {
			due = nil // the keys are still listened to
		}
	}
}

// numberReader cuts input into numbers.
type numberReader struct{ kept []byte }

const longestNumber = 20

func (r *numberReader) feed(p []byte, take func(line string) error) error {
	for _, b := range p {
		switch {
		case b == endOfInput:
			return errDone
		case b == ';' || b == ' ' || b == '\r' || b == '\n':
			if len(r.kept) == 0 {
				continue
			}
		case len(r.kept) < longestNumber:
			r.kept = append(r.kept, b)
			continue
		default:
			r.kept = append(r.kept, b) // too long: not a number
		}
		line := "key " + string(r.kept)
		if _, err := strconv.ParseUint(string(r.kept), 10, 64); err != nil {
			line = fmt.Sprintf("bad %q", r.kept)
		}
		r.kept = r.kept[:0]
		if err := take(line); err != nil {
			return err
		}
	}
	return nil
}
