package holder

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// recordedTest is a log with a terminal beside it, as a session has them.
type recordedTest struct {
	*logTest
	terminal *vt.Terminal
	began    time.Time
}

func newRecordedTest(t testing.TB, limit int64) *recordedTest {
	l := newLogTest(t, limit)
	return &recordedTest{logTest: l, terminal: newTerminal(80, 24), began: l.clock}
}

func (r *recordedTest) print(after time.Duration, text string) {
	r.clock = r.clock.Add(after)
	r.append([]byte(text))
	r.terminal.Write([]byte(text))
	if r.wantsKeyframe() {
		cols, rows := r.terminal.Size()
		r.keyframe(uint16(cols), uint16(rows), r.terminal.Repaint())
	}
}

func (r *recordedTest) resize(after time.Duration, cols, rows uint16) {
	r.clock = r.clock.Add(after)
	r.Mark(cols, rows)
	r.terminal.Resize(int(cols), int(rows))
}

func (r *recordedTest) open() *Recording {
	r.t.Helper()
	session := daemon.Session{ID: "s", State: daemon.StateRunning, Created: r.began}
	recording, err := readRecording(daemon.Dirs{}, session, r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { recording.Close() })
	return recording
}

// play shows a recording, from where it is, on a terminal.
func play(t testing.TB, r *Recording, terminal *vt.Terminal) (pieces []Recorded) {
	t.Helper()
	for {
		piece, err := r.Next()
		if errors.Is(err, io.EOF) {
			return pieces
		}
		if err != nil {
			t.Fatal(err)
		}
		if n := len(pieces); n > 0 && piece.At < pieces[n-1].At {
			t.Fatalf("piece %d goes back from %v to %v", n, pieces[n-1].At, piece.At)
		}
		piece.Data = bytes.Clone(piece.Data)
		pieces = append(pieces, piece)
		if piece.Cols > 0 {
			terminal.Resize(int(piece.Cols), int(piece.Rows))
		}
		terminal.Write(piece.Data)
	}
}

func remarks(pieces []Recorded) string {
	var all []string
	for _, p := range pieces {
		if p.Remark != "" {
			all = append(all, p.Remark)
		}
	}
	return strings.Join(all, "\n")
}

// outline is when what came, in short.
func outline(pieces []Recorded) string {
	var b strings.Builder
	for _, p := range pieces {
		switch {
		case p.Remark != "":
			fmt.Fprintf(&b, "%v # %s\n", p.At, p.Remark)
		case p.Cols > 0:
			fmt.Fprintf(&b, "%v %dx%d\n", p.At, p.Cols, p.Rows)
		default:
			fmt.Fprintf(&b, "%v %q\n", p.At, p.Data)
		}
	}
	return b.String()
}

func TestRecording_times(t *testing.T) {
	l := newRecordedTest(t, 1<<20)
	l.print(50*time.Millisecond, "one ")
	l.print(20*time.Millisecond, "two ") // together with one
	l.print(3*time.Second, "three ")
	l.resize(time.Minute, 100, 30)
	l.resize(200*time.Millisecond, 90, 30)
	l.print(time.Hour, "four")
	l.resize(time.Second, 80, 24)
	want := `50ms "one two "
3.07s "three "
1m3.07s 100x30
1m3.27s 90x30
1h1m3.27s "four"
1h1m4.27s 80x24
`
	terminal := newTerminal(80, 24)
	if got := outline(play(t, l.open(), terminal)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if d := l.terminal.Diff(terminal); d != "" {
		t.Error(d)
	}
	if begin := l.open().Begin(); begin != (Beginning{Cols: 80, Rows: 24, Time: l.began}) {
		t.Errorf("begins at %+v", begin)
	}
	// The marks' times outlive a rewrite of their file.
	if err := l.disk.writeMarks(); err != nil {
		t.Fatal(err)
	}
	if got := outline(play(t, l.open(), newTerminal(80, 24))); got != want {
		t.Errorf("after a rewrite\n%s", got)
	}
}

// Whatever was dropped, the end shows what the program's terminal shows.
func TestRecording_of_a_log_that_wrapped(t *testing.T) {
	for seed := range uint64(3) {
		random := rand.New(rand.NewPCG(seed, 1))
		l := newRecordedTest(t, 64<<10)
		for i := range 3000 {
			text := fmt.Sprintf("\x1b[%d;%dH\x1b[3%dmstep %d 日本\x1b[m\x1b[K", 1+random.IntN(24), 1+random.IntN(70), random.IntN(8), i)
			if random.IntN(3) == 0 {
				text += "\r\n"
			}
			l.print(time.Duration(random.IntN(300))*time.Millisecond, text)
			if random.IntN(200) == 0 {
				l.resize(time.Second, uint16(40+random.IntN(60)), uint16(5+random.IntN(40)))
			}
		}
		recording := l.open()
		begin := recording.Begin()
		terminal := newTerminal(begin.Cols, begin.Rows)
		pieces := play(t, recording, terminal)
		if got := remarks(pieces); got != remarkBegins {
			t.Fatalf("seed %d: remarks %q", seed, got)
		}
		if pieces[0].At != begin.At || begin.At <= 0 || !begin.Time.Equal(l.began.Add(begin.At)) {
			t.Fatalf("seed %d: begins at %+v, first piece at %v", seed, begin, pieces[0].At)
		}
		if last := pieces[len(pieces)-1].At; l.clock.Sub(l.began)-last > time.Second {
			t.Fatalf("seed %d: ends at %v, not %v", seed, last, l.clock.Sub(l.began))
		}
		if got, want := terminal.Text(vt.TextOptions{}), l.terminal.Text(vt.TextOptions{}); got != want {
			t.Fatalf("seed %d: got\n%s\nwant\n%s", seed, got, want)
		}
		// In pieces, as over a link, with the log growing meanwhile.
		inParts := newTerminal(begin.Cols, begin.Rows)
		recording = l.open()
		for {
			piece, err := recording.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			if piece.Cols > 0 {
				inParts.Resize(int(piece.Cols), int(piece.Rows))
			}
			inParts.Write(piece.Data)
			if !recording.Queued() && random.IntN(20) == 0 {
				at := recording.Position()
				recording.Close()
				recording = l.open()
				recording.Seek(at)
			}
		}
		if d := terminal.Diff(inParts); d != "" {
			t.Fatalf("seed %d: in parts: %s", seed, d)
		}
	}
}

// A reader that stood still while the log moved on is shown the gap.
func TestRecording_gap(t *testing.T) {
	l := newRecordedTest(t, 32<<10)
	l.print(0, "begin\r\n")
	position := l.End()
	for i := range 5000 {
		l.print(10*time.Millisecond, fmt.Sprintf("line %d\r\n", i))
	}
	recording := l.open()
	recording.Seek(position)
	terminal := newTerminal(80, 24)
	if got := remarks(play(t, recording, terminal)); got != remarkGap {
		t.Errorf("remarks %q", got)
	}
	if got, want := terminal.Text(vt.TextOptions{}), l.terminal.Text(vt.TextOptions{}); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	recording.Seek(wire.Position{Offset: 1 << 60})
	if got := remarks(play(t, recording, terminal)); got != remarkGap {
		t.Errorf("behind the end: %q", got)
	}
}

// What lies beside the segments may be missing, cut or nonsense.
func TestRecording_damage(t *testing.T) {
	files := func(l *recordedTest, suffix string) (found []string) {
		found, err := filepath.Glob(filepath.Join(l.dir, "*"+suffix))
		if err != nil || len(found) == 0 {
			t.Fatalf("no %s: %v", suffix, err)
		}
		return found
	}
	each := func(suffix string, change func(path string) error) func(*recordedTest) {
		return func(l *recordedTest) {
			for _, path := range files(l, suffix) {
				if err := change(path); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	overwrite := func(content string) func(string) error {
		return func(path string) error { return os.WriteFile(path, []byte(content), 0o600) }
	}
	halve := func(path string) error {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		return os.Truncate(path, info.Size()/2)
	}
	for _, test := range []struct {
		name   string
		damage func(*recordedTest)
		want   string
		screen bool
	}{
		{"no times", each(timesSuffix, os.Remove), remarkBegins + "\n" + remarkUntimed, true},
		{"cut times", each(timesSuffix, halve), remarkBegins, true},
		{"nonsense for times", each(timesSuffix, overwrite(strings.Repeat("\xff", 1000))), remarkBegins + "\n" + remarkUntimed, true},
		{"huge steps", each(timesSuffix, overwrite("\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7f")), remarkBegins + "\n" + remarkUntimed, true},
		{"no screens", each(keyframeSuffix, os.Remove), remarkMidway, true},
		{"cut screens", each(keyframeSuffix, halve), remarkMidway, true},
		{"screens of elsewhere", each(keyframeSuffix, overwrite("99999999 3 80 24 1\nx")), remarkMidway, true},
		{"empty screens", each(keyframeSuffix, overwrite("")), remarkMidway, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			l := newRecordedTest(t, 32<<10)
			for i := range 5000 {
				l.print(10*time.Millisecond, fmt.Sprintf("line %d\r\n", i))
			}
			test.damage(l)
			recording := l.open()
			begin := recording.Begin()
			terminal := newTerminal(begin.Cols, begin.Rows)
			if got := remarks(play(t, recording, terminal)); got != test.want {
				t.Errorf("remarks %q, want %q", got, test.want)
			}
			if got, want := terminal.Text(vt.TextOptions{}), l.terminal.Text(vt.TextOptions{}); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// Times take little room, whatever the program does, and go with their segment.
func TestTimeIndex_bounds(t *testing.T) {
	l := newRecordedTest(t, 256<<10)
	for range 150_000 {
		l.print(time.Minute, "ab")
	}
	var total int64
	entries, err := os.ReadDir(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	kinds := map[string]int{}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != 0o600 {
			t.Errorf("%s has mode %v", entry.Name(), info.Mode())
		}
		kinds[filepath.Ext(entry.Name())]++
		if strings.HasSuffix(entry.Name(), timesSuffix) {
			total += info.Size()
		}
	}
	if kinds[timesSuffix] != kinds[segmentSuffix] || kinds[keyframeSuffix] != kinds[segmentSuffix] || kinds[segmentSuffix] > segmentsPerLog {
		t.Errorf("files: %v", kinds)
	}
	if total > 256<<10/timesShare {
		t.Errorf("times take %d bytes", total)
	}
}

// A disk that refused has neither the times nor the output of that while.
func TestRecording_after_a_full_disk(t *testing.T) {
	l := newRecordedTest(t, 1<<20)
	l.print(time.Second, "first\r\n")
	l.room = 0
	l.print(time.Second, "second\r\n")
	l.room = 1 << 30
	l.print(diskRetry, "third\r\n")
	terminal := newTerminal(80, 24)
	pieces := play(t, l.open(), terminal)
	if d := l.terminal.Diff(terminal); d != "" {
		t.Errorf("%s\n%s", d, outline(pieces))
	}
}
