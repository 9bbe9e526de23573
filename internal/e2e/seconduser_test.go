package e2e

import (
	"bytes"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-helm/agent-helm/internal/wire"
)

// otherUser is another user of the machine, who tries what he can.
type otherUser struct {
	t    *testing.T
	dir  string // where he can run programs
	self string // this test's binary there
	list string // of what to try
}

func newOtherUser(t *testing.T) *otherUser {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("becoming another user needs root")
	}
	dir, err := os.MkdirTemp("", "intruder")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755)) //nolint:gosec // the point of it
	self, err := os.Executable()
	must(t, err)
	i := &otherUser{t: t, dir: dir, list: filepath.Join(dir, "list")}
	i.self = i.copy(self)
	return i
}

// copy puts a program where he can run it.
func (i *otherUser) copy(program string) string {
	i.t.Helper()
	content, err := os.ReadFile(program)
	must(i.t, err)
	path := filepath.Join(i.dir, filepath.Base(program))
	must(i.t, os.WriteFile(path, content, 0o755)) //nolint:gosec // the point of it
	return path
}

// command is a command that runs as nobody.
func (i *otherUser) command(argv ...string) *exec.Cmd {
	i.t.Helper()
	nobody, err := user.Lookup("nobody")
	must(i.t, err)
	uid, uidErr := strconv.ParseUint(nobody.Uid, 10, 32)
	gid, gidErr := strconv.ParseUint(nobody.Gid, 10, 32)
	must(i.t, uidErr)
	must(i.t, gidErr)
	command := exec.Command(argv[0], argv[1:]...)
	command.Dir = "/"
	command.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}
	return command
}

// tries runs the test binary as nobody on a list of attempts, and returns those
// that succeeded.
func (i *otherUser) tries(attempts []string) []string {
	i.t.Helper()
	must(i.t, os.WriteFile(i.list, []byte(strings.Join(attempts, "\n")), 0o644)) //nolint:gosec // for him to read
	command := i.command(i.self, i.list)
	command.Env = []string{programVariable + "=intruder"}
	var out, errOut bytes.Buffer
	command.Stdout, command.Stderr = &out, &errOut
	if err := command.Run(); err != nil {
		i.t.Fatalf("the intruder: %v: %s", err, errOut.String())
	}
	var succeeded []string
	tried := 0
	for line := range strings.Lines(out.String()) {
		line = strings.TrimSpace(line)
		if done, ok := strings.CutPrefix(line, "TRIED "); ok {
			var err error
			tried, err = strconv.Atoi(done)
			must(i.t, err)
			continue
		}
		succeeded = append(succeeded, line)
	}
	if tried != len(attempts) {
		i.t.Fatalf("%d of %d attempts were made: %s", tried, len(attempts), out.String())
	}
	return succeeded
}

// intrude makes the attempts of a list, one a line, and prints those that
// succeeded. It runs as another user.
func intrude(list string) {
	content, err := os.ReadFile(list)
	if err != nil {
		panic(err)
	}
	tried := 0
	for attempt := range strings.SplitSeq(string(content), "\n") {
		kind, target, _ := strings.Cut(attempt, " ")
		if got, ok := attempts[kind](target); ok {
			fmt.Printf("%s: %s\n", attempt, got)
		}
		tried++
	}
	fmt.Println("TRIED", tried)
}

// attempts are what an intruder can do with a path or a process.
var attempts = map[string]func(target string) (got string, ok bool){
	"read": func(path string) (string, bool) {
		file, err := os.Open(path)
		if err != nil {
			return "", false
		}
		defer file.Close()
		return "opened", true
	},
	"write": func(path string) (string, bool) {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
		if err != nil {
			return "", false
		}
		defer file.Close()
		return "opened for writing", true
	},
	"make": func(dir string) (string, bool) {
		file, err := os.CreateTemp(dir, "planted")
		if err != nil {
			return "", false
		}
		defer file.Close()
		return "made " + file.Name(), true
	},
	"remove": func(path string) (string, bool) { return "removed", os.Remove(path) == nil },
	"dial": func(path string) (string, bool) {
		conn, err := net.Dial("unix", path)
		if err != nil {
			return "", false
		}
		defer conn.Close()
		return "connected", true
	},
	// talk says what both kinds of socket would answer, and counts the answer.
	"talk": func(path string) (string, bool) {
		conn, err := net.Dial("unix", path)
		if err != nil {
			return err.Error(), true // it was to be possible: what answers is in question
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(Patience))
		if strings.HasSuffix(path, "daemon.sock") {
			_, _ = io.WriteString(conn, "GET /status HTTP/1.1\r\nHost: agent-helm\r\n\r\n")
		} else {
			_, _ = conn.Write(holderGreeting())
		}
		answer := make([]byte, 1)
		n, _ := conn.Read(answer)
		return fmt.Sprintf("%d bytes", n), n > 0
	},
	"signal": func(pid string) (string, bool) {
		number, err := strconv.Atoi(pid)
		if err != nil {
			return err.Error(), true
		}
		return "may signal", syscall.Kill(number, 0) == nil
	},
	"get": func(url string) (string, bool) {
		response, err := http.Get(url)
		if err != nil {
			return err.Error(), true
		}
		defer response.Body.Close()
		return response.Status, response.StatusCode != http.StatusUnauthorized
	},
}

// TestTrust_secondUser lets another user of the machine try every file, socket
// and process of a host and its server (THREATS S-3, S-19, S-36; DESIGN §7).
func TestTrust_secondUser(t *testing.T) {
	i := newOtherUser(t)
	s := NewStack(t)
	unharmed := bystander(t, s)
	s.Run("mine", "sh", "-c", "echo a secret; exec cat")
	s.mustServer("link", "--data", s.dataDir())
	must(t, os.Chmod(s.dir, 0o755)) //nolint:gosec // only what our programs made themselves is in question

	var directories, files, sockets []string
	must(t, filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || path == s.dir:
			return err
		case entry.IsDir():
			directories = append(directories, path)
		case entry.Type()&fs.ModeSocket != 0:
			sockets = append(sockets, path)
		default:
			files = append(files, path)
		}
		return nil
	}))
	if len(sockets) < 2 || len(files) < 8 {
		t.Fatalf("only %q and %q were found", sockets, files)
	}
	each := func(kind string, targets []string) (list []string) {
		for _, target := range targets {
			list = append(list, kind+" "+target)
		}
		return list
	}
	processes := []int{s.ServerPID(), s.DaemonPID()}
	for _, pid := range s.HolderPIDs() {
		processes = append(processes, pid)
	}
	var inside, pids []string
	for _, pid := range processes {
		pids = append(pids, strconv.Itoa(pid))
		for _, name := range []string{"environ", "mem", "maps", "fd", "cwd/.", "root/."} {
			inside = append(inside, fmt.Sprintf("/proc/%d/%s", pid, name))
		}
	}
	expect := func(t *testing.T, lists ...[]string) {
		t.Helper()
		if got := i.tries(slices.Concat(lists...)); len(got) > 0 {
			t.Errorf("another user succeeded with:\n%s", strings.Join(got, "\n"))
		}
	}
	// The attempts can succeed: else this shows nothing.
	if got := i.tries([]string{"read " + i.self}); len(got) != 1 {
		t.Fatalf("what is open was not opened: %q", got)
	}
	t.Run("as it is", func(t *testing.T) {
		expect(t, each("read", directories), each("make", directories), each("read", files), each("write", files), each("remove", slices.Concat(files, sockets)),
			each("dial", sockets), each("read", inside), each("signal", pids),
			[]string{"get " + s.URL + "/api/sessions", "get " + s.URL + "/api/devices", "get " + s.URL + "/api/ws", "get " + s.URL + "/api/hosts/link"})
	})
	change := func(mode fs.FileMode, paths []string) {
		for _, path := range paths {
			info, err := os.Stat(path)
			must(t, err)
			t.Cleanup(func() { _ = os.Chmod(path, info.Mode().Perm()) }) // before the stack is ended
			must(t, os.Chmod(path, mode))
		}
	}
	t.Run("with its directories thrown open", func(t *testing.T) {
		change(0o755, directories)
		expect(t, each("read", files), each("write", files), each("make", directories), each("remove", slices.Concat(files, sockets)), each("dial", sockets))
	})
	// What is left is the look at who is at the other end of a socket.
	t.Run("with its sockets thrown open", func(t *testing.T) {
		for _, socket := range sockets { // to their owner they do talk
			if answer, ok := attempts["talk"](socket); !ok {
				t.Errorf("%s answers its owner with %s", socket, answer)
			}
		}
		change(0o777, sockets)
		expect(t, each("talk", sockets))
	})
	// Our own programs, run by him on what is not his.
	helm, server := i.copy(s.bin.Helm), i.copy(s.bin.Server)
	for _, argv := range [][]string{
		{helm, "ls"}, {helm, "attach", "mine"}, {helm, "send", "mine", "stolen"}, {helm, "logs", "mine"}, {helm, "kill", "mine"}, {helm, "pair"}, {helm, "unlock"},
		{helm, "policy"}, {helm, "daemon", "--stop"},
		{server, "devices", "list", "--data", s.dataDir()}, {server, "pair", "--data", s.dataDir()}, {server, "token", "create", "--data", s.dataDir(), "--name", "x"},
	} {
		command := i.command(argv...)
		command.Env = append(s.env(), "HOME=/nonexistent")
		var out bytes.Buffer
		command.Stdout = &out
		if err := command.Run(); err == nil || out.Len() > 0 {
			t.Errorf("%v by another user: %v, prints %q", argv, err, out.String())
		}
	}
	unharmed()
}

// holderGreeting is how a client begins on a holder's socket.
func holderGreeting() []byte {
	message, err := wire.Append(wire.AppendPreamble(nil), &wire.HolderHello{Role: wire.RoleTool, Version: "e2e"})
	if err != nil {
		panic(err)
	}
	return message
}
