package holder

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/ring"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// fullFile is a segment on a disk with limited room.
type fullFile struct {
	*os.File
	room *int
}

func (f *fullFile) Write(p []byte) (int, error) {
	n := min(len(p), *f.room)
	*f.room -= n
	n, err := f.File.Write(p[:n])
	if err == nil && n < len(p) {
		err = &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
	}
	return n, err
}

type logTest struct {
	*outputLog
	t       testing.TB
	dir     string
	room    int
	clock   time.Time
	written []byte
	marks   []ring.Mark
}

func newLogTest(t testing.TB, limit int64) *logTest {
	l := &logTest{t: t, dir: filepath.Join(t.TempDir(), "log"), room: 1 << 30, clock: time.Now()}
	l.outputLog = newOutputLog(l.dir, limit, 80, 24, slog.New(slog.DiscardHandler), func() time.Time { return l.clock })
	l.disk.openFile = func(path string) (segmentFile, error) {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND|os.O_TRUNC, 0o600)
		return &fullFile{file, &l.room}, err
	}
	t.Cleanup(func() { l.disk.close() })
	return l
}

func (l *logTest) append(p []byte) {
	l.Append(p)
	l.written = append(l.written, p...)
}

func (l *logTest) mark(cols uint16) { l.marks = append(l.marks, l.Mark(cols, 24)) }

// readAll reads from a position to the end in pieces and checks every one.
func (l *logTest) check(read func(wire.Position, []byte) (int, *ring.Mark, wire.Position, error), from, end wire.Position) {
	l.t.Helper()
	position := from
	for steps := 0; position != end; steps++ {
		buffer := make([]byte, 1+steps%5000)
		n, mark, next, err := read(position, buffer)
		switch {
		case err != nil:
			l.t.Fatalf("read at %v: %v", position, err)
		case mark != nil:
			if *mark != l.marks[position.Marks] {
				l.t.Fatalf("mark %+v at %v, expected %+v", *mark, position, l.marks[position.Marks])
			}
		case n == 0:
			l.t.Fatalf("nothing at %v before %v", position, end)
		default:
			if !bytes.Equal(buffer[:n], l.written[position.Offset:next.Offset]) {
				l.t.Fatalf("other bytes at %v", position)
			}
		}
		position = next
	}
	if n, mark, _, err := read(end, make([]byte, 10)); n != 0 || mark != nil || err != nil {
		l.t.Fatalf("at the end: %d, %v, %v", n, mark, err)
	}
}

func randomBytes(random *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(random.Uint32())
	}
	return b
}

func TestLog_KeepsAndDrops(t *testing.T) {
	const limit = 256 << 10
	l := newLogTest(t, limit)
	random := rand.New(rand.NewPCG(1, 1))
	for i := range 2000 {
		l.append(randomBytes(random, random.IntN(2000)))
		if i%7 == 0 {
			l.mark(uint16(2 + i%900))
		}
		if i%100 == 0 {
			l.check(l.Read, l.Start(), l.End())
		}
	}
	start, end := l.Start(), l.End()
	if kept := end.Offset - start.Offset; kept > limit || kept < limit*6/8 {
		t.Errorf("%d bytes of at most %d are kept", kept, limit)
	}
	var size int64
	err := filepath.WalkDir(l.dir, func(_ string, entry os.DirEntry, err error) error {
		if info, infoErr := entry.Info(); infoErr == nil && !entry.IsDir() {
			size += info.Size()
		}
		return err
	})
	if err != nil || size > limit+64<<10 {
		t.Errorf("%d bytes on disk, %v", size, err)
	}
	for _, lost := range []wire.Position{{}, {Offset: start.Offset - 1, Marks: start.Marks}, {Offset: end.Offset + 1, Marks: end.Marks}, {Offset: end.Offset, Marks: end.Marks + 1}, {Offset: end.Offset, Marks: start.Marks}} {
		if _, _, _, err := l.Read(lost, make([]byte, 10)); !errors.Is(err, ring.ErrDropped) {
			t.Errorf("position %v: %v", lost, err)
		}
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := openDiskLog(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer again.close()
	if again.end != end || again.start.Offset != start.Offset || again.start.Ordinal != start.Marks {
		t.Errorf("opened again: %+v to %v, expected %v to %v", again.start, again.end, start, end)
	}
	l.check(again.read, start, end)
}

func TestLog_FullDisk(t *testing.T) {
	l := newLogTest(t, 8<<20)
	random := rand.New(rand.NewPCG(2, 2))
	l.append(randomBytes(random, 100_000))
	l.mark(90)
	l.room = 5_000
	l.append(randomBytes(random, 20_000))
	if l.Warning() == "" || !strings.Contains(l.Warning(), "no space left on device") || strings.Contains(l.Warning(), l.dir) {
		t.Errorf("warning %q", l.Warning())
	}
	l.mark(91)
	for range 100 {
		l.append(randomBytes(random, 20_000))
		l.check(l.Read, l.Start(), l.End())
	}
	if kept := l.End().Offset - l.Start().Offset; kept != daemon.MemoryLogBytes {
		t.Errorf("%d bytes are kept in memory", kept)
	}
	// The disk takes again, but what memory dropped is missing on it.
	l.room = 1 << 30
	l.append([]byte("before the next try"))
	if l.Warning() == "" {
		t.Error("the disk was tried too soon")
	}
	l.clock = l.clock.Add(diskRetry)
	before := l.Start()
	l.append([]byte("at the next try"))
	if l.Warning() != "" || l.Start().Offset < before.Offset {
		t.Errorf("warning %q, start %v", l.Warning(), l.Start())
	}
	l.mark(92)
	l.append(randomBytes(random, 300_000))
	l.check(l.Read, l.Start(), l.End())
	end := l.End()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := openDiskLog(l.dir)
	if err != nil || again.end != end {
		t.Fatalf("opened again: %v, %v", again, err)
	}
	defer again.close()
	l.check(again.read, wire.Position{Offset: again.start.Offset, Marks: again.start.Ordinal}, end)
}

// TestLog_ShortFullDisk: while memory still has what the disk lacks, nothing
// is lost at all.
func TestLog_ShortFullDisk(t *testing.T) {
	l := newLogTest(t, 8<<20)
	random := rand.New(rand.NewPCG(3, 3))
	l.append(randomBytes(random, 100_000))
	l.room = 100
	l.append(randomBytes(random, 50_000))
	l.mark(90)
	l.append(randomBytes(random, 50_000))
	l.room = 1 << 30
	end := l.End()
	if err := l.Close(); err != nil { // the last try
		t.Fatal(err)
	}
	again, err := openDiskLog(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer again.close()
	l.check(again.read, wire.Position{}, end)
}

func TestLog_NoDisk(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "missing", "log")
	l := &logTest{t: t, clock: time.Now()}
	l.outputLog = newOutputLog(dir, 1<<20, 80, 24, slog.New(slog.DiscardHandler), func() time.Time { return l.clock })
	if l.Warning() == "" {
		t.Error("a log that cannot be created is not reported")
	}
	l.append([]byte("hello"))
	l.mark(90)
	l.append([]byte("world"))
	l.check(l.Read, wire.Position{}, l.End())
	if err := os.Mkdir(filepath.Dir(dir), 0o700); err != nil {
		t.Fatal(err)
	}
	l.clock = l.clock.Add(diskRetry)
	l.append([]byte("!"))
	if l.Warning() != "" {
		t.Errorf("warning %q", l.Warning())
	}
	l.check(l.Read, wire.Position{}, l.End())
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

func TestLog_ManyMarks(t *testing.T) {
	l := newLogTest(t, 1<<20)
	for i := range 3 * maxDiskMarks {
		l.append([]byte{byte(i)})
		l.mark(uint16(2 + i%500))
	}
	l.check(l.Read, l.Start(), l.End())
	if len(l.disk.marks) > maxDiskMarks || l.disk.lines > 3*maxDiskMarks {
		t.Errorf("%d marks, %d lines", len(l.disk.marks), l.disk.lines)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := openDiskLog(l.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer again.close()
	l.check(again.read, wire.Position{Offset: again.start.Offset, Marks: again.start.Ordinal}, l.End())
}

// TestLog_Damaged: what is damaged on disk is given up, never more.
func TestLog_Damaged(t *testing.T) {
	for name, damage := range map[string]func(dir string) error{
		"a segment is missing": func(dir string) error { return os.Remove(filepath.Join(dir, fmt.Sprintf("%016x.out", 64<<10))) },
		"a segment is cut":     func(dir string) error { return os.Truncate(filepath.Join(dir, fmt.Sprintf("%016x.out", 64<<10)), 100) },
		"marks are cut": func(dir string) error {
			return os.WriteFile(filepath.Join(dir, marksFile), []byte("0 0 80 24\n10 1 90 24\n20 2"), 0o600)
		},
		"strange files": func(dir string) error { return os.WriteFile(filepath.Join(dir, "zzz.out"), []byte("x"), 0o600) },
	} {
		l := newLogTest(t, 512<<10)
		l.append(bytes.Repeat([]byte("0123456789"), 1))
		l.mark(90)
		l.append(bytes.Repeat([]byte("0123456789"), 20_000))
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
		if err := damage(l.dir); err != nil {
			t.Fatal(err)
		}
		again, err := openDiskLog(l.dir)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		l.check(again.read, wire.Position{Offset: again.start.Offset, Marks: again.start.Ordinal}, wire.Position{Offset: l.End().Offset, Marks: again.end.Marks})
		again.close()
	}
	if _, err := openDiskLog(t.TempDir()); err == nil {
		t.Error("a directory without marks is taken for a log")
	}
}
