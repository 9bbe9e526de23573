package holder_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/holder"
	"github.com/agent-helm/agent-helm/internal/wire"
)

func inspect(t testing.TB, dirs daemon.Dirs, id string) daemon.Session {
	t.Helper()
	session, err := holder.Inspect(dirs, id)
	if err != nil {
		t.Fatalf("inspect: %v", err)
	}
	return session
}

func TestHolder_SocketComesBack(t *testing.T) {
	t.Parallel()
	dirs := testDirs(t)
	session := startProgram(t, dirs, "hex")
	r := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream})
	r.untilOutput("ready\r\n")
	for _, remove := range []func() error{
		func() error { return os.Remove(dirs.SessionSocket(session.ID)) },
		func() error { return os.RemoveAll(dirs.Run) },
	} {
		if err := remove(); err != nil {
			t.Fatal(err)
		}
		if got := inspect(t, dirs, session.ID); got.State != daemon.StateRunning || got.Online {
			t.Errorf("without a socket: %+v", got)
		}
		eventually(t, "socket", func() bool { return inspect(t, dirs, session.ID).Online })
		info, err := os.Stat(dirs.SessionSocket(session.ID))
		if err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("socket %v, %v", info, err)
		}
	}
	// Open connections did not notice.
	r.typist().applied(wire.InputBytes, "x")
	r.untilOutput("78|")
}

func TestHolder_Killed(t *testing.T) {
	t.Parallel()
	dirs := testDirs(t)
	killed := startProgram(t, dirs, "hex")
	r := attach(t, dirs, killed.ID, wire.HolderAttach{Want: wire.WantStream})
	r.untilOutput("ready\r\n")
	if err := syscall.Kill(killed.HolderPID, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	eventually(t, "lost", func() bool { return inspect(t, dirs, killed.ID).State == daemon.StateLost })
	got := inspect(t, dirs, killed.ID)
	if got.LostReason != holder.LostHolder || got.PID != 0 || got.Online {
		t.Errorf("session %+v", got)
	}
	record := openRecord(t, dirs, killed.ID)
	terminal, err := record.Terminal()
	if err != nil || !strings.Contains(screen(terminal), "ready") || record.Exit() != nil {
		t.Errorf("what is left: %q, %v", screen(terminal), err)
	}
	if info := record.Info(); info.End.Offset != uint64(len("ready\r\n")) || info.Meta.State != "lost" {
		t.Errorf("info %+v", info)
	}
	if err := holder.Rename(dirs, killed.ID, "in memory of"); err != nil {
		t.Fatal(err)
	}
	if got := inspect(t, dirs, killed.ID); got.Name != "in memory of" {
		t.Errorf("renamed: %+v", got)
	}
}

func TestInspect_Reboot(t *testing.T) {
	t.Parallel()
	dirs := testDirs(t)
	session := startProgram(t, dirs, "hex")
	path := filepath.Join(dirs.SessionDir(session.ID), "birth.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var birth map[string]any
	if err := json.Unmarshal(text, &birth); err != nil {
		t.Fatal(err)
	}
	birth["boot"] = "another boot"
	if text, err = json.Marshal(birth); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := inspect(t, dirs, session.ID); got.State != daemon.StateLost || got.LostReason != holder.LostReboot {
		t.Errorf("session %+v", got)
	}
}

func TestInspect_StoppedHolder(t *testing.T) {
	t.Parallel()
	dirs := testDirs(t)
	session := startProgram(t, dirs, "hex")
	if err := syscall.Kill(session.HolderPID, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// Its threads stop one after the other, and the last may answer still.
	eventually(t, "the holder stops answering", func() bool { return !inspect(t, dirs, session.ID).Online })
	if got := inspect(t, dirs, session.ID); got.State != daemon.StateRunning || got.PID != session.PID {
		t.Errorf("session %+v", got)
	}
	if err := syscall.Kill(session.HolderPID, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if got := inspect(t, dirs, session.ID); !got.Online {
		t.Errorf("session %+v", got)
	}
}

func TestHolder_KillEndsAllGroups(t *testing.T) {
	t.Parallel()
	dirs := testDirs(t)
	session := startProgram(t, dirs, "groups")
	r := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream})
	words := regexp.MustCompile(`(stubborn|orphan|main) (\d+)`)
	r.until("three processes", func() bool { return len(words.FindAll(r.output, -1)) == 3 })
	call(t, r.client, wire.MethodKill, nil, nil)
	r.untilExit()
	for _, match := range words.FindAllSubmatch(r.output, -1) {
		pid, err := strconv.Atoi(string(match[2]))
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, string(match[1])+" is gone", func() bool { return syscall.Kill(pid, 0) == syscall.ESRCH })
	}
	if r.exit.Code != 1 && r.exit.Signal == "" {
		t.Errorf("exit %+v", r.exit)
	}
}

// TestHolder_KillBlocked: a program that reads nothing and ignores the hangup
// dies all the same, and says by what.
func TestHolder_KillBlocked(t *testing.T) {
	t.Parallel()
	dirs := testDirs(t)
	session := start(t, dirs, daemon.Spec{Argv: []string{"sh", "-c", "trap '' HUP; stty raw -echo; echo ready; while :; do sleep 1000; done"}})
	r := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream})
	r.untilOutput("ready")
	y := r.typist()
	y.send(wire.InputPaste, strings.Repeat("x", 200<<10))
	call(t, r.client, wire.MethodKill, nil, nil)
	r.untilExit()
	if r.exit.Signal != "SIGKILL" {
		t.Errorf("exit %+v", r.exit)
	}
	if got := y.answer(); got.Status != wire.InputEnded {
		t.Errorf("input %+v", got)
	}
	if got := inspect(t, dirs, session.ID); got.State != daemon.StateExited || got.ExitSignal != "SIGKILL" || got.ExitCode != nil {
		t.Errorf("session %+v", got)
	}
}

func TestHolder_Terminated(t *testing.T) {
	t.Parallel()
	dirs := testDirs(t)
	session := start(t, dirs, daemon.Spec{Argv: []string{"sleep", "1000"}})
	if err := syscall.Kill(session.HolderPID, syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	if got := inspect(t, dirs, session.ID); got.State != daemon.StateRunning || !got.Online {
		t.Errorf("after a hangup: %+v", got)
	}
	if err := syscall.Kill(session.HolderPID, syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	eventually(t, "exited", func() bool { return inspect(t, dirs, session.ID).ExitSignal == "SIGHUP" })
}

// TestHolder_Environment looks at what a program gets.
func TestHolder_Environment(t *testing.T) {
	dirs := testDirs(t)
	t.Setenv("TS_AUTHKEY", "users own") // not even the holder itself has it
	caller := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/somewhere", "KEPT=yes", "TERM=foot", "COLORTERM=", "TERM_PROGRAM=iTerm.app",
		"TERM_PROGRAM_VERSION=3", "TMUX=/tmp/tmux", "STY=1.pts", "KITTY_WINDOW_ID=1", "WT_SESSION=x", "ITERM_PROFILE=x",
		"VTE_VERSION=7000", "COLUMNS=10", "LINES=5", "PWD=/elsewhere", "AGENT_HELM_TOKEN=secret", "AGENT_HELM_SESSION_REF=outer",
		"AGENT_HELM_STATE_DIR=/state", "TS_AUTHKEY=users own", "ODD",
	}
	session := start(t, dirs, daemon.Spec{Argv: []string{"env"}, Cwd: "/usr", Env: caller})
	if environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", session.HolderPID)); err != nil || bytes.Contains(environ, []byte("users own")) {
		t.Errorf("the holder's environment: %q, %v", environ, err)
	}
	r := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream})
	r.untilExit()
	got := strings.Split(strings.TrimSpace(strings.ReplaceAll(string(r.output), "\r\n", "\n")), "\n")
	var ref string
	got = slices.DeleteFunc(got, func(entry string) bool {
		value, found := strings.CutPrefix(entry, "AGENT_HELM_SESSION_REF=")
		if found {
			ref = value
		}
		return found || strings.HasPrefix(entry, "TERM_PROGRAM_VERSION=") || strings.HasPrefix(entry, "PATH=")
	})
	want := []string{
		"HOME=/somewhere", "KEPT=yes", "AGENT_HELM_STATE_DIR=/state", "TS_AUTHKEY=users own", "PWD=/usr",
		"TERM=xterm-256color", "COLORTERM=truecolor", "TERM_PROGRAM=agent-helm", "AGENT_HELM_SESSION=" + session.ID,
	}
	if !slices.Equal(got, want) {
		t.Errorf("environment %q, expected %q", got, want)
	}
	if len(ref) < 26 || ref == "outer" {
		t.Errorf("capability %q", ref)
	}
	// The capability and the environment are nowhere on disk.
	err := filepath.WalkDir(dirs.State, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() || filepath.Base(filepath.Dir(path)) == "log" || entry.Name() == "state.bin" {
			return err // what the program itself printed
		}
		text, err := os.ReadFile(path)
		if bytes.Contains(text, []byte(ref)) || bytes.Contains(text, []byte("users own")) {
			t.Errorf("%s holds a secret", path)
		}
		if info, err := entry.Info(); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// ordinarySignals matches when none of the signals 1 to 31 is blocked or
// ignored; those above are the C library's own and may come from any ancestor.
var ordinarySignals = regexp.MustCompile(`^SigBlk:[0-9a-f]{8}[08]0000000SigIgn:[0-9a-f]{8}[08]0000000$`)

// TestHolder_Inherits: umask and limits are the caller's; other descriptors
// and the holder's own arguments are nobody's.
func TestHolder_Inherits(t *testing.T) {
	dirs := testDirs(t)
	old := unix.Umask(0o027)
	defer unix.Umask(old)
	pipe := make([]int, 2)
	if err := unix.Pipe(pipe); err != nil { // without close-on-exec, as a shell leaves one
		t.Fatal(err)
	}
	defer unix.Close(pipe[0])
	session := start(t, dirs, daemon.Spec{Argv: []string{"sh", "-c", "umask; grep -E '^Sig(Ign|Blk)' /proc/self/status | tr -d '\\n\\t'; echo; ls -l /proc/$$/fd; tr '\\0' ' ' < /proc/$PPID/cmdline; sleep 1000"}})
	unix.Close(pipe[1])
	if n, err := unix.Read(pipe[0], make([]byte, 1)); n != 0 || err != nil {
		t.Errorf("somebody holds the pipe: %d, %v", n, err)
	}
	r := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream})
	r.untilOutput(" hold")
	lines := strings.Split(string(r.output), "\r\n")
	if len(lines) < 3 || lines[0] != "0027" || !ordinarySignals.MatchString(lines[1]) || !strings.HasSuffix(lines[len(lines)-1], " hold ") {
		t.Errorf("output %q", r.output)
	}
	if bytes.Contains(r.output, []byte("pipe:")) || bytes.Contains(r.output, []byte("socket:")) {
		t.Errorf("open descriptors: %q", r.output)
	}
	if group, err := unix.Getpgid(session.HolderPID); err != nil || group != session.HolderPID {
		t.Errorf("the holder is in process group %d, %v", group, err)
	}
	if sid, err := unix.Getsid(session.PID); err != nil || sid != session.PID {
		t.Errorf("the program is in process session %d, %v", sid, err)
	}
	if cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", session.HolderPID)); err == nil && cwd != "/" {
		t.Errorf("the holder works in %s", cwd)
	}
}

// TestHolder_Orphans: processes whose parent ended are collected.
func TestHolder_Orphans(t *testing.T) {
	t.Parallel()
	dirs := testDirs(t)
	session := start(t, dirs, daemon.Spec{Argv: []string{"sh", "-c", "for i in 1 2 3 4 5; do sh -c 'setsid sleep 0.01 &' ; done; echo done; sleep 1000"}})
	r := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream})
	r.untilOutput("done")
	eventually(t, "no zombies", func() bool { return !slices.Contains(childrenStates(t, session.HolderPID), "Z") })
	eventually(t, "one child is left", func() bool { return len(childrenStates(t, session.HolderPID)) == 1 })
}

// childrenStates are the states of a process's children, from /proc.
func childrenStates(t *testing.T, parent int) (states []string) {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		fields := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		if fields[1] == strconv.Itoa(parent) {
			states = append(states, fields[0])
		}
	}
	return states
}

// TestHolder_OtherUser: another user cannot connect, and does not believe a
// socket of ours either.
func TestHolder_OtherUser(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root can become another user")
	}
	dirs := testDirs(t)
	session := startProgram(t, dirs, "hex")
	// What the directories forbid is opened, so that only the check of the peer is left.
	for path := dirs.Run; path != "/tmp"; path = filepath.Dir(path) {
		if err := os.Chmod(path, 0o755); err != nil { //nolint:gosec // the fault under test
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dirs.SessionSocket(session.ID), 0o666); err != nil { //nolint:gosec // the fault under test
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(filepath.Dir(dirs.State), "stranger")
	text, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(copied, text, 0o755); err != nil { //nolint:gosec // another user must run it
		t.Fatal(err)
	}
	stranger := exec.Command(copied, "program", "stranger", dirs.SessionSocket(session.ID))
	stranger.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if output, err := stranger.CombinedOutput(); err != nil || string(output) != "closed without a word\nnot believed\n" {
		t.Errorf("stranger: %q, %v", output, err)
	}
	if !inspect(t, dirs, session.ID).Online {
		t.Error("the session suffered")
	}
}

// TestHolder_Inside: a program of a session cannot drive sessions.
func TestHolder_Inside(t *testing.T) {
	t.Parallel()
	dirs := testDirs(t)
	victim := startProgram(t, dirs, "hex")
	agent := start(t, dirs, daemon.Spec{
		Argv: programArgv(t, "intruder", victim.ID), Name: "agent",
		Env: append(os.Environ(), daemon.EnvStateDir+"="+dirs.State, daemon.EnvConfigDir+"="+dirs.Config),
	})
	r := attach(t, dirs, agent.ID, wire.HolderAttach{Want: wire.WantStream})
	r.untilExit()
	for _, want := range []string{
		"own input: forbidden", "own info: ok", "other input: forbidden", "other info: ok", "other kill: forbidden",
		"started input: ok",
	} {
		if !bytes.Contains(r.output, []byte(want+"\r\n")) {
			t.Errorf("%q is missing in %q", want, r.output)
		}
	}
	if got := inspect(t, dirs, victim.ID); !strings.Contains(got.Warning, "was refused") || got.State != daemon.StateRunning {
		t.Errorf("victim %+v", got)
	}
}

// TestStart_Upgraded: a program whose file was replaced or removed while it
// runs still starts holders.
func TestStart_Upgraded(t *testing.T) {
	t.Parallel()
	dirs := testDirs(t)
	self, err := os.ReadFile(programArgv(t, "")[0])
	if err != nil {
		t.Fatal(err)
	}
	old := filepath.Join(filepath.Dir(dirs.State), "agent-helm")
	if err := os.WriteFile(old, self, 0o700); err != nil { //nolint:gosec // it must be executable
		t.Fatal(err)
	}
	command := exec.Command(old, "program", "upgraded")
	command.Env = append(os.Environ(), daemon.EnvStateDir+"="+dirs.State, daemon.EnvConfigDir+"="+dirs.Config)
	if output, err := command.CombinedOutput(); err != nil || string(output) != "started\n" {
		t.Errorf("output %q, %v", output, err)
	}
}

// TestStart_Elsewhere starts a holder by another command, below a state
// directory whose path is too long for a socket.
func TestStart_Elsewhere(t *testing.T) {
	t.Setenv(holder.EnvHold, "env OVERRIDDEN=yes "+programArgv(t, "")[0]+" hold")
	root := testDirs(t).State
	environment := map[string]string{
		daemon.EnvStateDir: root + "/" + strings.Repeat("long", 40), daemon.EnvConfigDir: root + "/c",
	}
	dirs, err := daemon.ResolveDirs(func(name string) string { return environment[name] })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dirs.Run) })
	session := startProgram(t, dirs, "hex")
	if !inspect(t, dirs, session.ID).Online || strings.HasPrefix(dirs.SessionSocket(session.ID), root) {
		t.Errorf("session %+v at %s", session, dirs.SessionSocket(session.ID))
	}
	if environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", session.HolderPID)); err != nil || !bytes.Contains(environ, []byte("OVERRIDDEN=yes")) {
		t.Errorf("the holder's environment: %q, %v", environ, err)
	}
}

// TestStart_AnyBytes: arguments, environment and directory need not be UTF-8.
func TestStart_AnyBytes(t *testing.T) {
	dirs := testDirs(t)
	odd := filepath.Join(t.TempDir(), "d\xe4")
	if err := os.Mkdir(odd, 0o700); err != nil {
		t.Fatal(err)
	}
	session := start(t, dirs, daemon.Spec{
		Argv: []string{"sh", "-c", `printf '%s %s ' "$1" "$ODD"; pwd`, "sh", "a\xffb"}, Cwd: odd,
		Env: []string{"PATH=" + os.Getenv("PATH"), "ODD=c\xfe\x80d"},
	})
	r := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream})
	r.untilExit()
	if got, want := string(r.output), "a\xffb c\xfe\x80d "+odd+"\r\n"; got != want {
		t.Errorf("output %q, expected %q", got, want)
	}
}
