// Package tty is the terminal that a person sits at: raw mode and back, its
// size, and reads that can be cancelled. It owns the terminal's line settings
// between Raw and Restore and nothing else: which bytes go in or out is the
// caller's affair. Attach and the demo agent each open one for as long as they
// run.
package tty

import (
	"errors"
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// Errors of a Terminal.
var (
	// ErrNotTerminal says that standard input or output is not a terminal.
	ErrNotTerminal = errors.New("not a terminal")
	// ErrCancelled is what Read returns after Cancel.
	ErrCancelled = errors.New("read cancelled")
)

// Terminal is the local terminal. Raw, Restore and Size may be called from any
// goroutine, Read from one at a time.
type Terminal struct {
	in, out *os.File

	// wakeRead becomes readable when Cancel closes wakeWrite.
	wakeRead, wakeWrite *os.File
	cancelOnce          sync.Once

	mu    sync.Mutex
	saved *term.State // as found, while raw
}

// Open returns the terminal behind in and out, which stay the caller's to
// close. It fails with ErrNotTerminal when one of them is something else.
func Open(in, out *os.File) (*Terminal, error) {
	if !term.IsTerminal(int(in.Fd())) || !term.IsTerminal(int(out.Fd())) {
		return nil, ErrNotTerminal
	}
	return open(in, out)
}

// OpenAny is Open for programs that also work with plain files and pipes: Raw
// and Restore then do nothing and Size is 80 × 24.
func OpenAny(in, out *os.File) (*Terminal, error) { return open(in, out) }

func open(in, out *os.File) (*Terminal, error) {
	wakeRead, wakeWrite, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("open terminal: %w", err)
	}
	return &Terminal{in: in, out: out, wakeRead: wakeRead, wakeWrite: wakeWrite}, nil
}

// Close restores the line settings and frees what Open took. No Read may be
// running; Cancel ends one.
func (t *Terminal) Close() error {
	err := t.Restore()
	t.Cancel()
	return errors.Join(err, t.wakeRead.Close())
}

// Raw stops the kernel from editing, echoing and turning keys into signals. A
// second call does nothing.
func (t *Terminal) Raw() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.saved != nil || !term.IsTerminal(int(t.in.Fd())) {
		return nil
	}
	saved, err := term.MakeRaw(int(t.in.Fd()))
	if err != nil {
		return fmt.Errorf("set terminal raw: %w", err)
	}
	t.saved = saved
	return nil
}

// Restore undoes Raw. Without a Raw before it, it does nothing.
func (t *Terminal) Restore() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.saved == nil {
		return nil
	}
	saved := t.saved
	t.saved = nil
	if err := term.Restore(int(t.in.Fd()), saved); err != nil {
		return fmt.Errorf("restore terminal: %w", err)
	}
	return nil
}

// Size is the terminal's size in cells, 80 × 24 when it has none.
func (t *Terminal) Size() (cols, rows int) {
	cols, rows, err := term.GetSize(int(t.out.Fd()))
	if err != nil || cols <= 0 || rows <= 0 {
		return 80, 24
	}
	return cols, rows
}

// Write writes to the terminal. It blocks as long as the terminal does not
// read.
func (t *Terminal) Write(p []byte) (int, error) { return t.out.Write(p) }

// Read waits for input. It fails with ErrCancelled once Cancel was called and
// with io.EOF when the terminal is gone.
func (t *Terminal) Read(p []byte) (int, error) {
	in, wake := int(t.in.Fd()), int(t.wakeRead.Fd())
	if in >= unix.FD_SETSIZE || wake >= unix.FD_SETSIZE {
		return 0, fmt.Errorf("read terminal: file descriptor %d is too large", max(in, wake))
	}
	for {
		// select rather than poll: macOS polls no terminal devices.
		var ready unix.FdSet
		ready.Zero()
		ready.Set(in)
		ready.Set(wake)
		if _, err := unix.Select(max(in, wake)+1, &ready, nil, nil, nil); err != nil {
			if errors.Is(err, unix.EINTR) {
				continue
			}
			return 0, fmt.Errorf("wait for terminal: %w", err)
		}
		if ready.IsSet(wake) {
			return 0, ErrCancelled
		}
		if ready.IsSet(in) {
			return t.in.Read(p)
		}
	}
}

// Cancel makes the present and every later Read return ErrCancelled.
func (t *Terminal) Cancel() {
	t.cancelOnce.Do(func() { _ = t.wakeWrite.Close() })
}
