package holder_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/holder"
	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
)

func TestStream_EveryByte(t *testing.T) {
	t.Parallel()
	dirs := testDirs(t)
	session := startProgram(t, dirs, "bytes")
	r := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream})
	r.untilOutput("ready\r\n")
	r.typist().applied(wire.InputBytes, "x")
	r.untilExit()
	if _, got, _ := bytes.Cut(r.output, []byte("ready\r\n")); !bytes.Equal(got, allBytes()) {
		t.Errorf("got %d bytes %q", len(got), got)
	}
}

// TestStream_Resume reads a session from many positions, live and afterwards;
// all must be the same stream.
func TestStream_Resume(t *testing.T) {
	dirs := testDirs(t)
	const count = 20_000
	session := start(t, dirs, daemon.Spec{Argv: programArgv(t, "lines", strconv.Itoa(count)), Name: "lines"})
	whole := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream})
	claimant := newClientID()
	random := rand.New(rand.NewPCG(1, 2))
	var stops []wire.Position
	for i := range 6 {
		stops = append(stops, whole.position)
		target := uint64(i+1) * 100_000
		send(t, whole.client, &wire.ClaimSize{Client: claimant, Reason: wire.ClaimFit, Cols: uint16(60 + i), Rows: 24})
		whole.until("some output", func() bool { return whole.position.Offset >= target || whole.exit != nil })
	}
	whole.untilExit()
	for range 6 {
		stops = append(stops, wire.Position{Offset: uint64(random.IntN(int(stops[1].Offset) + 1))})
	}
	for _, from := range stops {
		if from.Marks == 0 && len(whole.marks) > 0 && from.Offset > whole.marks[0].Offset {
			continue // such a position never existed
		}
		part := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream, From: from, Window: 8 << 10})
		part.untilExit()
		if !bytes.Equal(part.output, whole.output[from.Offset:]) || part.position != whole.position {
			t.Errorf("from %v: %d bytes to %v, expected %d to %v", from, len(part.output), part.position, len(whole.output[from.Offset:]), whole.position)
		}
		if got, want := fmt.Sprint(part.marks), fmt.Sprint(whole.marks[from.Marks:]); got != want {
			t.Errorf("from %v: marks %s, expected %s", from, got, want)
		}
		part.client.Close()
	}
	if n := bytes.Count(whole.output, []byte("\r\n")); n != count {
		t.Errorf("%d lines, expected %d", n, count)
	}
}

func TestStream_FromNowhere(t *testing.T) {
	dirs := testDirs(t)
	session := startProgram(t, dirs, "hex")
	first := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream})
	first.untilOutput("ready\r\n")
	// A position that the log cannot have, such as a reader of another stream would name.
	r := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream, From: wire.Position{Offset: 1 << 40}})
	r.position = wire.Position{Offset: uint64(len(first.output))} // where the gap stands
	r.until("live", func() bool { return r.live })
	if len(r.gaps) != 1 || r.gaps[0].Lost != 0 || r.position != first.position || r.terminal == nil {
		t.Errorf("gaps %v, position %v", r.gaps, r.position)
	}
}

func TestStream_StateAndRepaint(t *testing.T) {
	dirs := testDirs(t)
	session := startProgram(t, dirs, "hex")
	r := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantState, History: -1})
	r.until("ready", func() bool { return r.live && strings.Contains(screen(r.terminal), "ready") })
	r.typist().applied(wire.InputBytes, "abc")
	r.until("echo", func() bool { return strings.Contains(screen(r.terminal), "616263|") })
	painted := attachAs(t, dirs, session.ID, wire.RoleLocal, wire.HolderAttach{Want: wire.WantRepaint})
	painted.until("live", func() bool { return painted.live })
	if painted.repaint == nil || painted.repaint.Cols != 80 || painted.repaint.Rows != 24 {
		t.Fatalf("repaint %+v", painted.repaint)
	}
	terminal := vt.New(vt.Options{Cols: 80, Rows: 24})
	terminal.Write(painted.repaint.Data)
	if got, want := screen(terminal), screen(r.terminal); got != want {
		t.Errorf("repaint shows %q, expected %q", got, want)
	}
	// A second attach on the same connection replaces the first.
	painted.live, painted.position = false, wire.Position{}
	send(t, painted.client, &wire.HolderAttach{Want: wire.WantStream})
	painted.until("live again", func() bool { return painted.live })
	if !bytes.Equal(painted.output, []byte("ready\r\n616263|")) {
		t.Errorf("stream %q", painted.output)
	}
}

// TestStream_TerminalsEqual compares the holder's terminal, as a State at a
// random moment shows it, with one that was fed from the stream.
func TestStream_TerminalsEqual(t *testing.T) {
	dirs := testDirs(t)
	session := start(t, dirs, daemon.Spec{Argv: programArgv(t, "painter", "7", "8000"), Name: "painter"})
	fed := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream})
	fed.terminal = vt.New(vt.Options{Cols: 80, Rows: 24, Scrollback: daemon.HistoryLines})
	claimant := newClientID()
	random := rand.New(rand.NewPCG(3, 4))
	compared := 0
	for fed.exit == nil {
		cols, rows := uint16(20+random.IntN(120)), uint16(5+random.IntN(50))
		send(t, fed.client, &wire.ClaimSize{Client: claimant, Reason: wire.ClaimFit, Cols: cols, Rows: rows})
		snapshot := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantState, History: -1})
		snapshot.until("state", func() bool { return snapshot.terminal != nil })
		at := snapshot.position
		// Output may be cut elsewhere than the state was taken; feed up to it exactly.
		for fed.position.Before(at) {
			before := len(fed.output)
			position, terminal := fed.position, fed.terminal
			fed.terminal = nil
			if err := fed.next(); err != nil {
				t.Fatal(err)
			}
			fed.terminal = terminal
			fresh := fed.output[before:]
			switch {
			case len(fresh) == 0 && fed.position.Marks > position.Marks:
				mark := fed.marks[len(fed.marks)-1]
				terminal.Resize(int(mark.Cols), int(mark.Rows))
			case at.Offset >= position.Offset && at.Offset < position.Offset+uint64(len(fresh)):
				terminal.Write(fresh[:at.Offset-position.Offset])
				compare(t, terminal, snapshot.terminal, at)
				compared++
				terminal.Write(fresh[at.Offset-position.Offset:])
			default:
				terminal.Write(fresh)
			}
		}
		if fed.position == at {
			compare(t, fed.terminal, snapshot.terminal, at)
			compared++
		}
		snapshot.client.Close()
		for range 5 {
			if fed.exit == nil {
				if err := fed.next(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	if compared == 0 || len(fed.marks) == 0 {
		t.Errorf("compared %d times with %d resizes", compared, len(fed.marks))
	}
	t.Logf("compared %d times, %d resizes, %d bytes", compared, len(fed.marks), fed.position.Offset)
	fed.client.Close()
	// And once more from what is left on disk.
	record := openRecord(t, dirs, session.ID)
	left, err := record.Terminal()
	if err != nil {
		t.Fatal(err)
	}
	compare(t, fed.terminal, left, record.End())
}

func compare(t *testing.T, a, b *vt.Terminal, at wire.Position) {
	t.Helper()
	if !a.Equal(b) {
		t.Fatalf("terminals differ at %v: %s", at, a.Diff(b))
	}
}

func openRecord(t *testing.T, dirs daemon.Dirs, id string) *holder.Record {
	t.Helper()
	var record *holder.Record
	eventually(t, "record", func() bool {
		var err error
		record, err = holder.OpenRecord(dirs, id)
		return err == nil
	})
	t.Cleanup(func() { record.Close() })
	return record
}

func TestStream_MillionQueries(t *testing.T) {
	t.Parallel()
	dirs := testDirs(t)
	session := startProgram(t, dirs, "queries", "1000000")
	r := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream})
	r.untilExit()
	if !bytes.HasSuffix(r.output, []byte("\x1b[casked\r\n")) || len(r.output) < 3_000_000 {
		t.Errorf("%d bytes end in %q", len(r.output), tail(r.output))
	}
}

func TestStream_Answers(t *testing.T) {
	dirs := testDirs(t)
	// The shell asks for the cursor's position and reads the answer.
	session := start(t, dirs, daemon.Spec{Argv: []string{"bash", "-c", `stty raw -echo; printf 'ab\033[6n'; IFS= read -r -d R answer; printf 'answer %q' "$answer"`}})
	r := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream})
	r.untilExit()
	if !bytes.Contains(r.output, []byte(`[1;3`)) {
		t.Errorf("output %q", r.output)
	}
}

// TestStream_SlowReader lets a reader that acknowledges nothing get no more
// than its window, and resynchronises it once it goes on. The program prints
// more than any reader whose rate is not known may be behind.
func TestStream_SlowReader(t *testing.T) {
	t.Parallel()
	dirs := testDirs(t)
	session := start(t, dirs, daemon.Spec{Argv: programArgv(t, "lines", "250000"), Name: "lines"})
	const window = 16 << 10
	slow := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream, Window: window, LagMS: 500})
	slow.silent = true
	slow.until("a full window", func() bool { return len(slow.output) == window })
	fast := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream})
	fast.untilExit() // the slow one does not slow it
	call(t, slow.client, wire.MethodInfo, nil, nil)
	if len(slow.output) != window {
		t.Errorf("%d bytes are on their way", len(slow.output))
	}
	slow.silent = false
	send(t, slow.client, &wire.Ack{Offset: slow.position.Offset})
	slow.untilExit()
	if len(slow.gaps) != 1 || slow.gaps[0].Offset != window || slow.gaps[0].Lost != fast.position.Offset-window {
		t.Errorf("gaps %+v", slow.gaps)
	}
	if slow.position != fast.position || !strings.Contains(screen(slow.terminal), "line 249999 ") {
		t.Errorf("slow reader is at %v with %q", slow.position, screen(slow.terminal))
	}
}

func TestStream_TwoReaders(t *testing.T) {
	dirs := testDirs(t)
	session := startProgram(t, dirs, "hex")
	one := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream})
	two := attachAs(t, dirs, session.ID, wire.RoleLocal, wire.HolderAttach{Want: wire.WantStream})
	one.untilOutput("ready\r\n")
	typists := []*typist{one.typist(), two.typist()}
	for i := range 20 {
		typists[i%2].applied(wire.InputBytes, string(rune('a'+i)))
	}
	hex := func(r *reader) string {
		return strings.ReplaceAll(strings.TrimPrefix(string(r.output), "ready\r\n"), "|", "")
	}
	const want = "6162636465666768696a6b6c6d6e6f7071727374"
	for _, r := range []*reader{one, two} {
		r.until("all keys", func() bool { return len(hex(r)) >= len(want) })
		if got := hex(r); got != want {
			t.Errorf("got %s", got)
		}
	}
	// A fault of one is its own.
	if err := two.client.Send(&wire.Unknown{FrameType: wire.TypeInput, Body: []byte{1}}); err != nil {
		t.Fatal(err)
	}
	for two.next() == nil {
	}
	typists[0].applied(wire.InputBytes, "z")
	one.untilOutput("7a|")
}

func screen(terminal *vt.Terminal) string { return terminal.Text(vt.TextOptions{}) }

// TestStream_Reopened: a program may close its terminal and open it again.
func TestStream_Reopened(t *testing.T) {
	dirs := testDirs(t)
	session := startProgram(t, dirs, "reopener")
	r := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream})
	r.untilExit()
	if string(r.output) != "ready\r\nagain\r\n" || r.exit.Code != 0 {
		t.Errorf("output %q, exit %+v", r.output, r.exit)
	}
}

// TestConnections_Bounds: who does not read is disconnected, too many are
// refused, and neither leaves anything behind.
func TestConnections_Bounds(t *testing.T) {
	dirs, session, r := hexSession(t)
	descriptors := func() int {
		entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", session.HolderPID))
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	before := descriptors()
	deaf := dial(t, dirs, session.ID, wire.RoleTool)
	for {
		// A Pong is larger than a Ping with a small stamp; it is not read.
		if err := deaf.Send(&wire.Ping{Nonce: 1 << 63}, &wire.RPC{ID: 1, Method: wire.MethodInfo}); err != nil {
			break
		}
	}
	var open []*holder.Client
	for {
		client, err := holder.Dial(t.Context(), dirs, session.ID, wire.RoleTool)
		if err != nil {
			var fault *wire.Fault
			if !errors.As(err, &fault) || fault.Code != wire.CodeLimit {
				t.Errorf("connection %d: %v", len(open), err)
			}
			break
		}
		open = append(open, client)
	}
	if len(open) < daemon.MaxHolderConnections-3 || len(open) > daemon.MaxHolderConnections {
		t.Errorf("%d connections", len(open))
	}
	r.typist().applied(wire.InputBytes, "x")
	for _, client := range open {
		client.Close()
	}
	eventually(t, "descriptors are closed", func() bool { return descriptors() <= before })
}
