package holder

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/logging"
)

// acceptPause is the time after a connection could not be accepted.
const acceptPause = 100 * time.Millisecond

// socket is a bound listener and the file by which it is reached.
type socket struct {
	*net.UnixListener
	path string
	file fs.FileInfo
	// accepted is closed when accept has returned.
	accepted chan struct{}
}

// bound says whether the file is still there and ours.
func (l *socket) bound() bool {
	file, err := os.Lstat(l.path)
	return err == nil && os.SameFile(file, l.file)
}

// close ends accepting and removes the file if it is ours.
func (l *socket) close() error {
	err := l.Close()
	if l.bound() {
		err = errors.Join(err, os.Remove(l.path))
	}
	return err
}

// listen binds the session's socket, 0600 in a directory that only we can
// enter. A stale one is replaced: session ids are never used twice.
func listen(dirs daemon.Dirs, id string) (*socket, error) {
	path := dirs.SessionSocket(id)
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("replace socket: %w", err)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, fmt.Errorf("open socket: %w", err)
	}
	// Another holder's socket may stand there when this one is closed.
	listener.SetUnlinkOnClose(false)
	err = os.Chmod(path, 0o600)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open socket: %w", err), listener.Close())
	}
	file, err := os.Lstat(path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open socket: %w", err), listener.Close())
	}
	return &socket{UnixListener: listener, path: path, file: file, accepted: make(chan struct{})}, nil
}

// accept serves connections until the listener closes.
func (s *session) accept(listener *socket) {
	defer close(listener.accepted)
	for {
		conn, err := listener.AcceptUnix()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			// Most likely no descriptor is free; some connection will end.
			s.logger.Warn("connection cannot be accepted", logging.KeyError, err)
			time.Sleep(acceptPause)
			continue
		}
		uid, pid, err := Peer(conn)
		if err != nil || uid != os.Getuid() {
			// Nothing is said to a stranger, not even why.
			s.logger.Warn("connection of another user refused", "uid", uid, "pid", pid)
			conn.Close()
			continue
		}
		if !s.admit(conn) {
			conn.Close()
			continue
		}
		inside := InsideSession(s.dirs, pid)
		s.routines.Go(func() {
			s.serve(conn, inside)
			s.mu.Lock()
			delete(s.sockets, conn)
			s.mu.Unlock()
		})
	}
}

// admit counts a connection in, unless there are too many.
func (s *session) admit(conn *net.UnixConn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.sockets) >= 2*daemon.MaxHolderConnections {
		return false
	}
	s.sockets[conn] = struct{}{}
	return true
}

// Peer is the user and process at the other end of a unix socket.
func Peer(conn *net.UnixConn) (uid, pid int, err error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return -1, 0, err
	}
	var failed error
	err = raw.Control(func(fd uintptr) { uid, pid, failed = peerOf(int(fd)) })
	if err = errors.Join(err, failed); err != nil {
		return -1, 0, fmt.Errorf("identify peer: %w", err)
	}
	return uid, pid, nil
}

// InsideSession says whether a process descends from this process, or from a
// session's holder of this installation that is not an ancestor of this process
// as well: a program of a session may drive what it started itself, and nothing
// else (THREATS S-5).
func InsideSession(dirs daemon.Dirs, pid int) bool {
	ours := ancestors(os.Getpid())
	for ancestor := range ancestors(pid) {
		if ancestor == os.Getpid() {
			return true
		}
		if !ours[ancestor] && isHolder(dirs, ancestor) {
			return true
		}
	}
	return false
}

// Inside says whether this very process runs in a session of this installation.
func Inside(dirs daemon.Dirs) bool {
	for ancestor := range ancestors(os.Getpid()) {
		if isHolder(dirs, ancestor) {
			return true
		}
	}
	return false
}

// ancestors are a process's parents up to the first, without itself.
func ancestors(pid int) map[int]bool {
	const deepest = 256 // a loop is impossible, a race with reused ids is not
	found := make(map[int]bool)
	for range deepest {
		parent, ok := parentOf(pid)
		if !ok || parent <= 1 || found[parent] {
			break
		}
		found[parent] = true
		pid = parent
	}
	return found
}

// isHolder says whether a process is the live holder of a session.
func isHolder(dirs daemon.Dirs, pid int) bool {
	// Most processes are told apart without a look at the records.
	if argv := argvOf(pid); len(argv) > 0 && argv[len(argv)-1] != "hold" {
		return false
	}
	started, life := processStart(pid)
	if life != alive {
		return false
	}
	ids, err := dirs.SessionIDs()
	if err != nil {
		return false
	}
	for _, id := range ids {
		var birth birthRecord
		if daemon.ReadJSON(filepath.Join(dirs.SessionDir(id), birthFile), &birth) == nil &&
			birth.HolderPID == pid && birth.HolderStarted == started {
			return true
		}
	}
	return false
}
