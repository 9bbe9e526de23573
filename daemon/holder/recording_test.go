package holder_test

import (
	"errors"
	"io"
	"testing"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/holder"
	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// playRecording shows a session's recording on a terminal.
func playRecording(t *testing.T, dirs daemon.Dirs, id string) (terminal *vt.Terminal, remarks int, length time.Duration) {
	t.Helper()
	recording, err := holder.OpenRecording(dirs, id)
	if err != nil {
		t.Fatal(err)
	}
	defer recording.Close()
	begin := recording.Begin()
	terminal = vt.New(vt.Options{Cols: int(begin.Cols), Rows: int(begin.Rows), Scrollback: daemon.HistoryLines})
	last := begin.At
	for {
		piece, err := recording.Next()
		if errors.Is(err, io.EOF) {
			return terminal, remarks, last - begin.At
		}
		if err != nil {
			t.Fatal(err)
		}
		if piece.At < last {
			t.Fatalf("time goes back from %v to %v", last, piece.At)
		}
		last = piece.At
		switch {
		case piece.Remark != "":
			remarks++
		case piece.Cols > 0:
			terminal.Resize(int(piece.Cols), int(piece.Rows))
		default:
			terminal.Write(piece.Data)
		}
	}
}

// A whole recording makes the very terminal that the session had.
func TestRecording_TerminalsEqual(t *testing.T) {
	dirs := testDirs(t)
	session := start(t, dirs, daemon.Spec{Argv: programArgv(t, "painter", "11", "3000"), Name: "painter"})
	r := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream})
	claimant := newClientID()
	for i := range 8 {
		send(t, r.client, &wire.ClaimSize{Client: claimant, Reason: wire.ClaimFit, Cols: uint16(50 + 9*i), Rows: uint16(10 + 3*i)})
		marks := len(r.marks)
		r.until("the size", func() bool { return len(r.marks) > marks || r.exit != nil })
	}
	if _, remarks, _ := playRecording(t, dirs, session.ID); remarks != 0 {
		t.Errorf("%d remarks while it runs", remarks)
	}
	r.untilExit()
	record := openRecord(t, dirs, session.ID)
	want, err := record.Terminal()
	if err != nil {
		t.Fatal(err)
	}
	got, remarks, length := playRecording(t, dirs, session.ID)
	compare(t, got, want, record.End())
	if remarks != 0 || len(r.marks) == 0 || length <= 0 {
		t.Errorf("%d remarks, %d sizes, %v long", remarks, len(r.marks), length)
	}
}

// A log that lost its beginning is recorded from a screen that is known.
func TestRecording_WrappedLog(t *testing.T) {
	dirs := testDirs(t)
	session := start(t, dirs, daemon.Spec{Argv: programArgv(t, "lines", "30000"), Name: "lines", LogBytes: daemon.MinLogBytes})
	r := attach(t, dirs, session.ID, wire.HolderAttach{Want: wire.WantStream})
	// The disk is read while it is written.
	for r.exit == nil {
		if err := r.next(); err != nil {
			t.Fatal(err)
		}
		if r.position.Offset > 0 && r.position.Offset%7 == 0 {
			playRecording(t, dirs, session.ID)
		}
	}
	record := openRecord(t, dirs, session.ID)
	want, err := record.Terminal()
	if err != nil {
		t.Fatal(err)
	}
	got, remarks, _ := playRecording(t, dirs, session.ID)
	if g, w := screen(got), screen(want); g != w || remarks != 1 {
		t.Errorf("%d remarks, the end is\n%s\nwant\n%s", remarks, g, w)
	}
}
