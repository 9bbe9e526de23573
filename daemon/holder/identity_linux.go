package holder

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// bootID changes with every start of the computer.
func bootID() (string, error) {
	id, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", fmt.Errorf("read boot id: %w", err)
	}
	return strings.TrimSpace(string(id)), nil
}

// processStart is when a process started, in clock ticks since the boot, and
// whether it lives; a zombie does not.
func processStart(pid int) (string, life) {
	fields, ok := processStat(pid)
	switch {
	case ok && (fields[0] == "Z" || fields[0] == "X"):
		return "", gone
	case ok:
		return fields[19], alive
	case unix.Kill(pid, 0) == unix.ESRCH:
		return "", gone
	}
	return "", unknown // /proc is mounted so that it hides processes
}

// parentOf is a process's parent.
func parentOf(pid int) (int, bool) {
	fields, ok := processStat(pid)
	if !ok {
		return 0, false
	}
	parent, err := strconv.Atoi(fields[1])
	return parent, err == nil
}

// processStat is /proc/PID/stat behind the name, which may hold any character:
// state, parent, group, session, …
func processStat(pid int) ([]string, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return nil, false
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	return fields, len(fields) > 19
}

// peerOf is the user and process at the other end of a unix socket.
func peerOf(fd int) (uid, pid int, err error) {
	peer, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	return int(peer.Uid), int(peer.Pid), nil
}

// HideMemory keeps other processes of the user, agents above all, out of this
// one's memory (THREATS S-5).
func HideMemory() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }

// adoptOrphans makes processes whose parent ended children of this one.
func adoptOrphans() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

// reapOrphans collects the ended children that nobody else waits for.
func reapOrphans(except int) {
	for {
		var info unix.Siginfo
		if err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err != nil {
			return
		}
		pid := siginfoPID(&info)
		if pid == 0 || pid == except {
			return // the program's own end is collected elsewhere, and this called again
		}
		if _, err := unix.Wait4(pid, nil, unix.WNOHANG, nil); err != nil {
			return
		}
	}
}

// siginfoPID is si_pid, the first field of the union, which is aligned as a
// pointer is.
func siginfoPID(info *unix.Siginfo) int {
	const pointer = unsafe.Sizeof(uintptr(0))
	const offset = (12 + pointer - 1) / pointer * pointer
	return int(*(*int32)(unsafe.Add(unsafe.Pointer(info), offset)))
}

// closeOnExec keeps descriptors that were inherited from the caller out of
// programs that are started from here on.
func closeOnExec() { _ = unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) } // Linux before 5.11 keeps them

// replaceDescriptor makes descriptor to the same file as from.
func replaceDescriptor(from, to int) error { return unix.Dup3(from, to, 0) }

// argvOf is a process's command line, nil when it cannot be read.
func argvOf(pid int) []string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/cmdline")
	if err != nil || len(text) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(text), "\x00"), "\x00")
}
