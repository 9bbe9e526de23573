//go:build unix

package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// lockDirectory takes the lock for as long as the file is open. The kernel
// gives it back when the process dies, however it dies.
func lockDirectory(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock data directory: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder := readPID(file)
		closing := file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("another agent-helm-server%s already uses %s: stop it first, or give this one its own --data directory", holder, filepath.Dir(path))
		}
		return nil, fmt.Errorf("lock data directory: %w", errors.Join(err, closing))
	}
	err = file.Truncate(0)
	if err == nil {
		_, err = file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	if err != nil {
		return nil, fmt.Errorf("lock data directory: %w", errors.Join(err, file.Close()))
	}
	return file, nil
}

// readPID names the process that has the lock, for the person only.
func readPID(file *os.File) string {
	buffer := make([]byte, 20)
	n, _ := file.ReadAt(buffer, 0) // io.EOF is the normal case; whatever was read is checked
	pid, err := strconv.Atoi(strings.TrimSpace(string(buffer[:n])))
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (process %d)", pid)
}

func openToOthers(info fs.FileInfo) bool { return info.Mode().Perm()&0o077 != 0 }
