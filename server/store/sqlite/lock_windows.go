package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/windows"
)

// lockDirectory takes the lock for as long as the file is open.
func lockDirectory(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	const flags = windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY
	if err := windows.LockFileEx(windows.Handle(file.Fd()), flags, 0, 1, 0, &windows.Overlapped{}); err != nil {
		closing := file.Close()
		if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
			return nil, fmt.Errorf("another agent-helm-server already uses %s: stop it first, or give this one its own --data directory", filepath.Dir(path))
		}
		return nil, fmt.Errorf("lock data directory: %w", errors.Join(err, closing))
	}
	return file, nil
}

// openToOthers is left to the access control list of the user's profile.
func openToOthers(fs.FileInfo) bool { return false }
