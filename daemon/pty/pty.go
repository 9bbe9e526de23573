//go:build unix

package pty

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	creack "github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// ErrInterrupted is returned by Read after Interrupt; nothing was lost.
var ErrInterrupted = errors.New("read was interrupted")

// Options say what to run.
type Options struct {
	// Path is the program's file, Argv its arguments with the name first.
	Path string
	Argv []string
	Dir  string
	Env  []string
	// Cols and Rows are the terminal's size before the program starts.
	Cols, Rows uint16
}

// fewBytes is the size of a read below which Read does not look for more.
const fewBytes = 128

// Process is a program on its pseudo-terminal. Read belongs to one goroutine,
// Write to another; the remaining methods may be called by any.
type Process struct {
	// Static after Start.
	master *os.File
	raw    syscall.RawConn
	pid    int

	// exited is closed once status and waitError are set.
	exited    chan struct{}
	status    syscall.WaitStatus
	waitError error
}

// Start runs the program as the leader of a new process session whose
// controlling terminal is the new pseudo-terminal. Umask and resource limits
// are those of the caller.
func Start(options Options) (*Process, error) {
	master, terminal, err := open()
	if err != nil {
		return nil, fmt.Errorf("open a pseudo-terminal: %w", err)
	}
	defer terminal.Close()
	if err := setUTF8(int(terminal.Fd())); err != nil {
		return nil, errors.Join(fmt.Errorf("prepare a pseudo-terminal: %w", err), master.Close())
	}
	raw, err := master.SyscallConn()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open a pseudo-terminal: %w", err), master.Close())
	}
	p := &Process{master: master, raw: raw, exited: make(chan struct{})}
	if err := p.Resize(options.Cols, options.Rows); err != nil {
		return nil, errors.Join(err, master.Close())
	}
	command := &exec.Cmd{
		Path: options.Path, Args: options.Argv, Dir: options.Dir, Env: options.Env,
		Stdin: terminal, Stdout: terminal, Stderr: terminal,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Setctty: true},
	}
	if err := command.Start(); err != nil {
		return nil, errors.Join(err, master.Close())
	}
	p.pid = command.Process.Pid
	go p.wait(command.Process) // ends with the program
	return p, nil
}

// open returns a master that can be waited for with a deadline, and the
// program's side. creack/pty puts its master into blocking mode, so the
// descriptor is duplicated and handed to the runtime's poller.
func open() (master, terminal *os.File, err error) {
	blocking, terminal, err := creack.Open()
	if err != nil {
		return nil, nil, err
	}
	defer blocking.Close()
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, nil, errors.Join(err, terminal.Close())
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		return nil, nil, errors.Join(err, unix.Close(fd), terminal.Close())
	}
	return os.NewFile(uintptr(fd), blocking.Name()), terminal, nil
}

// setUTF8 makes the line discipline erase whole characters. All else is left
// as the system has it; the program sets what it wants.
func setUTF8(fd int) error {
	modes, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return err
	}
	modes.Iflag |= unix.IUTF8
	return unix.IoctlSetTermios(fd, setTermios, modes)
}

func (p *Process) wait(process *os.Process) {
	defer close(p.exited)
	state, err := process.Wait()
	if err != nil {
		p.waitError = fmt.Errorf("wait for the program: %w", err)
		return
	}
	p.status, _ = state.Sys().(syscall.WaitStatus)
}

// PID is the program's process id, which is also that of its process group
// and of its process session.
func (p *Process) PID() int { return p.pid }

// Exited is closed when the program has ended and was reaped.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Status says how the program ended: by a code, or by a signal, whose name is
// then not empty. It may be called once Exited is closed. Code is -1 when the
// system did not tell.
func (p *Process) Status() (code int, signal string) {
	switch {
	case p.waitError != nil:
		return -1, ""
	case p.status.Signaled():
		return 0, unix.SignalName(p.status.Signal())
	}
	return p.status.ExitStatus(), ""
}

// Read waits for output and takes what is there, at most len(b) bytes. It
// returns ErrInterrupted after Interrupt, and io.EOF while no process has the
// program's side open; a program that still runs may open it again.
func (p *Process) Read(b []byte) (int, error) {
	var n int
	var failed error
	err := p.raw.Read(func(fd uintptr) bool {
		// The kernel hands out at most a page at a time; taking all that is
		// there makes one step of what would be many.
		for n < len(b) {
			m, err := unix.Read(int(fd), b[n:])
			switch {
			case err == unix.EINTR:
				continue
			case err == unix.EAGAIN:
				return n > 0
			case err == unix.EIO, err == nil && m == 0:
				failed = io.EOF
				return true
			case err != nil:
				failed = err
				return true
			}
			n += m
			if n < fewBytes {
				return true // a keystroke's echo; its way is short
			}
		}
		return true
	})
	switch {
	case n > 0:
		return n, nil
	case errors.Is(err, os.ErrDeadlineExceeded):
		return 0, ErrInterrupted
	case err != nil:
		return 0, err
	}
	return 0, failed
}

// Interrupt makes a waiting Read, or the next one, return ErrInterrupted,
// until Continue.
func (p *Process) Interrupt() error { return p.master.SetReadDeadline(time.Unix(1, 0)) }

// Continue lets Read wait again. The reading goroutine calls it.
func (p *Process) Continue() error { return p.master.SetReadDeadline(time.Time{}) }

// Write gives the program input and waits, until the deadline set by
// SetWriteDeadline, for the terminal to accept all of it. The number of bytes
// accepted is exact also with an error.
func (p *Process) Write(b []byte) (int, error) { return p.master.Write(b) }

// TryWrite gives the program what its terminal accepts at once, which may be
// nothing. It heeds no deadline and reports no error: Write does.
func (p *Process) TryWrite(b []byte) (n int) {
	_ = p.raw.Control(func(fd uintptr) {
		if m, err := unix.Write(int(fd), b); err == nil {
			n = m
		}
	})
	return n
}

// SetWriteDeadline bounds a running and every later Write; the zero time lifts it.
func (p *Process) SetWriteDeadline(t time.Time) error { return p.master.SetWriteDeadline(t) }

// Resize sets the window size; the kernel sends SIGWINCH to the foreground
// process group when it differs from the present one.
func (p *Process) Resize(cols, rows uint16) error {
	var failed error
	err := p.raw.Control(func(fd uintptr) {
		failed = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: cols, Row: rows})
	})
	if err = errors.Join(err, failed); err != nil {
		return fmt.Errorf("set the window size: %w", err)
	}
	return nil
}

// Foreground is the process group that the terminal belongs to at present.
func (p *Process) Foreground() (int, error) {
	var group int
	var failed error
	err := p.raw.Control(func(fd uintptr) { group, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPGRP) })
	if err = errors.Join(err, failed); err != nil {
		return 0, fmt.Errorf("find the foreground process group: %w", err)
	}
	return group, nil
}

// SignalForeground sends a signal to the foreground process group, as the
// terminal's interrupt key would.
func (p *Process) SignalForeground(signal syscall.Signal) error {
	group, err := p.Foreground()
	if err != nil {
		return err
	}
	if group <= 0 {
		return fmt.Errorf("signal the foreground process group: %w", os.ErrProcessDone)
	}
	return unix.Kill(-group, signal)
}

// Signal sends a signal to every process group of the program's process
// session, background ones included where the system lists them, and says how
// many there were. A stopped group is also continued, so that it can act on it.
func (p *Process) Signal(signal syscall.Signal) (groups int) {
	all := sessionGroups(p.pid)
	if group, err := p.Foreground(); err == nil && group > 0 && !slices.Contains(all, group) {
		all = append(all, group)
	}
	for _, group := range all {
		if unix.Kill(-group, signal) == nil {
			groups++
			if signal != syscall.SIGKILL {
				_ = unix.Kill(-group, syscall.SIGCONT) // it may have ended since
			}
		}
	}
	return groups
}

// Alive says whether any process group of the program's process session is
// left.
func (p *Process) Alive() bool { return len(sessionGroups(p.pid)) > 0 }

// Close gives up the master. What still runs on the terminal gets SIGHUP from
// the kernel.
func (p *Process) Close() error { return p.master.Close() }
