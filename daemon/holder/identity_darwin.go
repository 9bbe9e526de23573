package holder

import (
	"fmt"

	"golang.org/x/sys/unix"
)

const (
	solLocal     = 0
	localPeerPID = 2
	// zombie is SZOMB of <sys/proc.h>.
	zombie = 5
)

// bootID changes with every start of the computer.
func bootID() (string, error) {
	id, err := unix.Sysctl("kern.bootsessionuuid")
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return id, nil
}

// processStart is when a process started, and whether it lives; a zombie does
// not.
func processStart(pid int) (string, life) {
	process, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	switch {
	case err == nil && process.Proc.P_stat == zombie:
		return "", gone
	case err == nil:
		started := process.Proc.P_starttime
		return fmt.Sprintf("%d.%06d", started.Sec, started.Usec), alive
	case unix.Kill(pid, 0) == unix.ESRCH:
		return "", gone
	}
	return "", unknown
}

// parentOf is a process's parent.
func parentOf(pid int) (int, bool) {
	process, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return 0, false
	}
	return int(process.Eproc.Ppid), true
}

// peerOf is the user and process at the other end of a unix socket.
func peerOf(fd int) (uid, pid int, err error) {
	peer, err := unix.GetsockoptXucred(fd, solLocal, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	pid, err = unix.GetsockoptInt(fd, solLocal, localPeerPID)
	return int(peer.Uid), pid, err
}

// HideMemory has no counterpart here that leaves a process usable: macOS asks
// the user before one process may read another.
func HideMemory() error { return nil }

// adoptOrphans has no counterpart here: launchd adopts them.
func adoptOrphans() error { return nil }

func reapOrphans(int) {}

// closeOnExec keeps descriptors that were inherited from the caller out of
// programs that are started from here on.
func closeOnExec() {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		return
	}
	for fd := 3; fd < int(min(limit.Cur, 4096)); fd++ {
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC) // most are not open
	}
}

// replaceDescriptor makes descriptor to the same file as from.
func replaceDescriptor(from, to int) error { return unix.Dup2(from, to) }

// argvOf is a process's command line; it is not looked up here.
func argvOf(int) []string { return nil }
