package daemon

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxPrivateFile bounds the JSON files that are read whole, in bytes.
const maxPrivateFile = 1 << 20

// WriteFileAtomic replaces path by data: a crash leaves the old content or the
// new, never a part. The file has mode 0600.
func WriteFileAtomic(path string, data []byte) (err error) {
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("write %s: %w", filepath.Base(path), err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("write %s: %w", filepath.Base(path), err), os.Remove(file.Name()))
		}
	}()
	// CreateTemp makes 0600; a umask can only narrow that.
	if _, err := file.Write(data); err != nil {
		return errors.Join(err, file.Close())
	}
	if err := file.Sync(); err != nil {
		return errors.Join(err, file.Close())
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// WriteJSON writes v as indented JSON with WriteFileAtomic.
func WriteJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", filepath.Base(path), err)
	}
	return WriteFileAtomic(path, append(data, '\n'))
}

// ReadJSON decodes the file at path into v. A file above 1 MiB is an error; so
// is, with fs.ErrNotExist, a missing one.
func ReadJSON(path string, v any) error {
	file, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxPrivateFile+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	if len(data) > maxPrivateFile {
		return fmt.Errorf("read %s: larger than %d bytes", filepath.Base(path), maxPrivateFile)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}

// ReadSecret reads a secret of one line from a file of ours that nobody else can
// open.
func ReadSecret(path string) (string, error) {
	if err := checkPrivateFile(path); err != nil {
		return "", err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", filepath.Base(path), err)
	}
	secret := strings.TrimSpace(string(data))
	if secret == "" || strings.ContainsAny(secret, " \t\r\n") {
		return "", fmt.Errorf("%s does not hold one line with a secret", path)
	}
	return secret, nil
}

// checkPrivateFile fails when another user owns the file at path, or could
// read or change it.
func checkPrivateFile(path string) error {
	info, err := os.Lstat(path)
	if err != nil {
		return fmt.Errorf("check %s: %w", filepath.Base(path), err)
	}
	if info.Mode()&fs.ModeSymlink != 0 || !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file: move it away", path)
	}
	if owner, ok := ownerOf(info); ok && owner != os.Getuid() {
		return fmt.Errorf("%s belongs to user %d, not to you (%d): move it away", path, owner, os.Getuid())
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return fmt.Errorf("%s has mode %04o and is open to other users: run chmod 600 %s", path, mode, path)
	}
	return nil
}
