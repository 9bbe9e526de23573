//go:build unix

package control

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/agent-helm/agent-helm/daemon"
)

const lockFile = "daemon.lock"

// BusyError says that another daemon serves this state directory.
type BusyError struct {
	// PID is the other daemon's process id, 0 when it is not known; Own is ours.
	PID, Own int
	State    string
}

// Error names both processes.
func (e *BusyError) Error() string {
	other := "another daemon"
	if e.PID > 0 {
		other = fmt.Sprintf("the daemon with pid %d", e.PID)
	}
	return fmt.Sprintf("%s serves %s already: this one (pid %d) ends", other, e.State, e.Own)
}

// lock is the claim on a state directory. The kernel ends it with the process.
type lock struct{ file *os.File }

// acquire claims the state directory or fails with a *BusyError.
func acquire(dirs daemon.Dirs) (*lock, error) {
	path := filepath.Join(dirs.State, lockFile)
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open lock: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer file.Close()
		if !errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		busy := &BusyError{Own: os.Getpid(), State: dirs.State}
		if text, err := io.ReadAll(io.LimitReader(file, 32)); err == nil {
			busy.PID, _ = strconv.Atoi(strings.TrimSpace(string(text))) // unreadable is unknown
		}
		return nil, busy
	}
	if err := writePID(file); err != nil {
		return nil, errors.Join(fmt.Errorf("write lock: %w", err), file.Close())
	}
	return &lock{file}, nil
}

func writePID(file *os.File) error {
	if err := file.Truncate(0); err != nil {
		return err
	}
	_, err := file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return err
}

// release gives the directory free. The file stays: removing it would let two
// daemons lock two files of one name.
func (l *lock) release() error { return errors.Join(l.file.Truncate(0), l.file.Close()) }
