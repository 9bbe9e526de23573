package holder_test

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// TestHolder_FullDisk runs a session on a disk of 2 MiB that prints 6 MiB.
func TestHolder_FullDisk(t *testing.T) {
	dirs := testDirs(t)
	if err := dirs.Create(); err != nil {
		t.Fatal(err)
	}
	sessions := dirs.State + "/sessions"
	if err := unix.Mount("tmpfs", sessions, "tmpfs", 0, "size=2m,mode=0700"); err != nil {
		t.Skipf("a small disk cannot be mounted: %v", err)
	}
	t.Cleanup(func() { unix.Unmount(sessions, unix.MNT_DETACH) })
	// The program waits for a reader.
	session := start(t, dirs, daemon.Spec{Argv: []string{"sh", "-c", `read line; exec "$0" program lines 100000`, programArgv(t, "lines")[0]}})
	r := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream})
	r.typist().applied(wire.InputBytes, "\r")
	r.untilExit()
	// A reader that was too slow for what memory holds was resynchronised.
	seen := string(tail(r.output))
	if r.terminal != nil {
		seen += screen(r.terminal)
	}
	if r.exit.Code != 0 || !strings.Contains(seen, "line 99999 ") || r.exit.Offset != r.position.Offset || r.exit.Offset < 6_000_000 {
		t.Errorf("exit %+v at %v with %q, gaps %v", r.exit, r.position, seen, r.gaps)
	}
	warned := false
	for _, update := range r.updates {
		warned = warned || strings.Contains(update.Meta.Warning, "no space left on device")
	}
	if !warned {
		t.Errorf("nobody was warned: %+v", r.updates)
	}
	// It ended, and that is known in spite of the disk.
	if got := inspect(t, dirs, session.ID); got.State != daemon.StateExited || got.ExitCode == nil || *got.ExitCode != 0 {
		t.Errorf("session %+v", got)
	}
	if _, err := os.Stat(dirs.SessionDir(session.ID) + "/exit.json"); err != nil {
		t.Error(err)
	}
}
