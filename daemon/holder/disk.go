package holder

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/ring"
	"github.com/agent-helm/agent-helm/internal/wire"
)

const (
	// segmentsPerLog divides the log, so that dropping the oldest part is the
	// removal of one file.
	segmentsPerLog = 8
	// maxDiskMarks bounds the marks kept, as internal/ring bounds its own.
	maxDiskMarks = 4096

	// maxMarkMillis is what a time of a mark is below: 100 years.
	maxMarkMillis = 100 * 365 * 24 * 3600 * 1000

	segmentSuffix = ".out"
	marksFile     = "marks"
)

// errBroken says that the log on disk cannot be continued.
var errBroken = errors.New("the log on disk is unusable")

// diskLog is a stream on disk: raw bytes in segments named by the offset of
// their first byte in hexadecimal, and a text file of marks, one "offset
// ordinal cols rows milliseconds" a line, the last where it is known. The first
// line of that file is the size at the start. What lies beside the segments is
// for recordings, see times.go and keyframe.go. It is used by one goroutine at a
// time.
type diskLog struct {
	dir         string
	limit       int64
	segmentSize int64
	// start is the oldest position kept and the terminal's size there.
	start    ring.Mark
	end      wire.Position
	segments []*segment // oldest first
	marks    []ring.Mark
	marksLog *os.File
	// markTimes are when the marks came, by ordinal, where that is known.
	markTimes map[uint32]time.Duration
	// lines counts those in the marks file; it is rewritten when most are stale.
	lines int
	// broken is set when a file could not be written; create sets it right.
	broken bool
	// openFile makes a segment's file; tests replace it by one that fails.
	openFile func(path string) (segmentFile, error)
}

type segmentFile interface {
	io.Writer
	io.ReaderAt
	io.Closer
}

type segment struct {
	path  string
	start uint64
	size  int64
	file  segmentFile
	// times is what is written beside it; nil in a log that is read.
	times *timeIndex
	// keyed says that its keyframe was written.
	keyed bool
}

func (s *segment) end() uint64 { return s.start + uint64(s.size) }

func newDiskLog(dir string, limit int64, cols, rows uint16) *diskLog {
	return &diskLog{
		dir: dir, limit: limit, segmentSize: max(limit/segmentsPerLog, 1),
		start: ring.Mark{Cols: cols, Rows: rows}, broken: true, openFile: createSegment,
	}
}

func createSegment(path string) (segmentFile, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND|os.O_TRUNC, 0o600)
}

func (l *diskLog) usable() bool { return !l.broken }

// create begins an empty log at a position; what was there is removed.
func (l *diskLog) create(position wire.Position, cols, rows uint16) error {
	l.broken = true
	if err := l.close(); err != nil {
		return err
	}
	if err := os.RemoveAll(l.dir); err != nil {
		return fmt.Errorf("clear log: %w", err)
	}
	if err := os.Mkdir(l.dir, 0o700); err != nil {
		return fmt.Errorf("create log: %w", err)
	}
	l.start = ring.Mark{Offset: position.Offset, Ordinal: position.Marks, Cols: cols, Rows: rows}
	l.end, l.segments, l.marks, l.markTimes = position, nil, nil, nil
	if err := l.writeMarks(); err != nil {
		return err
	}
	l.broken = false
	return nil
}

// append adds bytes at the end, which came at a time (untimed: nobody knows
// when). After an error, end says how much was taken.
func (l *diskLog) append(p []byte, at time.Duration) error {
	for len(p) > 0 {
		newest, err := l.newest()
		if err != nil {
			return err
		}
		newest.times.note(l.end.Offset, at)
		n, err := newest.file.Write(p[:min(int64(len(p)), l.segmentSize-newest.size)])
		newest.size += int64(n)
		l.end.Offset += uint64(n)
		if err != nil {
			return fmt.Errorf("append to log: %w", err)
		}
		p = p[n:]
	}
	return nil
}

// newest is the segment that has room, a fresh one when the last is full.
func (l *diskLog) newest() (*segment, error) {
	if n := len(l.segments); n > 0 && l.segments[n-1].size < l.segmentSize {
		return l.segments[n-1], nil
	}
	path := filepath.Join(l.dir, fmt.Sprintf("%016x%s", l.end.Offset, segmentSuffix))
	file, err := l.openFile(path)
	if err != nil {
		return nil, fmt.Errorf("extend log: %w", err)
	}
	if n := len(l.segments); n > 0 {
		l.segments[n-1].times.close()
	}
	l.segments = append(l.segments, &segment{path: path, start: l.end.Offset, file: file, times: newTimeIndex(l.dir, l.end.Offset, l.segmentSize)})
	if len(l.segments) > segmentsPerLog {
		if err := l.dropOldest(); err != nil {
			return nil, err
		}
	}
	return l.segments[len(l.segments)-1], nil
}

func (l *diskLog) dropOldest() error {
	oldest := l.segments[0]
	oldest.times.close()
	if err := errors.Join(oldest.file.Close(), os.Remove(oldest.path), removeBeside(l.dir, oldest.start)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("shorten log: %w", err)
	}
	l.segments = slices.Delete(l.segments, 0, 1)
	passed := 0
	for passed < len(l.marks) && l.marks[passed].Offset < oldest.end() {
		passed++
	}
	l.dropMarks(passed)
	l.start.Offset = oldest.end()
	return l.tidyMarks()
}

// dropMarks takes the first n marks into the start.
func (l *diskLog) dropMarks(n int) {
	if n > 0 {
		for _, m := range l.marks[:n-1] {
			delete(l.markTimes, m.Ordinal)
		}
		delete(l.markTimes, l.start.Ordinal)
		l.start = l.marks[n-1]
		l.marks = slices.Delete(l.marks, 0, n)
	}
}

// mark adds a resize at the end, which came at a time, as append does.
func (l *diskLog) mark(m ring.Mark, at time.Duration) error {
	if at >= 0 {
		l.noteMark(m.Ordinal, at)
		if n := len(l.segments); n > 0 {
			l.segments[n-1].times.marked = true
		}
	}
	l.marks = append(l.marks, m)
	l.end.Marks = m.Ordinal
	if len(l.marks) > maxDiskMarks {
		// Bytes before the oldest mark can no longer be addressed.
		l.dropMarks(1)
	}
	if _, err := l.marksLog.WriteString(l.markLine(m)); err != nil {
		l.broken = true
		return fmt.Errorf("append mark to log: %w", err)
	}
	l.lines++
	return l.tidyMarks()
}

func (l *diskLog) noteMark(ordinal uint32, at time.Duration) {
	if l.markTimes == nil {
		l.markTimes = make(map[uint32]time.Duration)
	}
	l.markTimes[ordinal] = at
}

func (l *diskLog) markLine(m ring.Mark) string {
	line := fmt.Sprintf("%d %d %d %d", m.Offset, m.Ordinal, m.Cols, m.Rows)
	if at, known := l.markTimes[m.Ordinal]; known {
		line += fmt.Sprintf(" %d", at.Milliseconds())
	}
	return line + "\n"
}

// tidyMarks rewrites the marks file when most of it is stale.
func (l *diskLog) tidyMarks() error {
	if l.lines <= 2*len(l.marks)+maxDiskMarks/4 {
		return nil
	}
	return l.writeMarks()
}

func (l *diskLog) writeMarks() error {
	var b strings.Builder
	for _, m := range append([]ring.Mark{l.start}, l.marks...) {
		b.WriteString(l.markLine(m))
	}
	path := filepath.Join(l.dir, marksFile)
	if err := daemon.WriteFileAtomic(path, []byte(b.String())); err != nil {
		l.broken = true
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		l.broken = true
		return fmt.Errorf("open marks: %w", err)
	}
	if l.marksLog != nil {
		l.marksLog.Close()
	}
	l.marksLog, l.lines = file, 1+len(l.marks)
	return nil
}

// copyFrom appends everything of the ring after the end.
func (l *diskLog) copyFrom(source *ring.Ring) error {
	for {
		chunk, err := source.Read(l.end, daemon.MemoryLogBytes)
		switch {
		case err != nil:
			return err
		case chunk.Mark != nil:
			err = l.mark(*chunk.Mark, untimed)
		case len(chunk.Data) == 0:
			return nil
		default:
			err = l.append(chunk.Data, untimed)
		}
		if err != nil {
			return err
		}
	}
}

// read is outputLog.Read for what is on disk.
func (l *diskLog) read(position wire.Position, buffer []byte) (n int, mark *ring.Mark, next wire.Position, err error) {
	passed := int64(position.Marks) - int64(l.start.Ordinal)
	if passed < 0 || passed > int64(len(l.marks)) || position.Offset < l.start.Offset || position.Offset > l.end.Offset ||
		passed > 0 && l.marks[passed-1].Offset > position.Offset {
		return 0, nil, position, ring.ErrDropped
	}
	stop := l.end.Offset
	if passed < int64(len(l.marks)) {
		following := l.marks[passed]
		switch {
		case following.Offset < position.Offset:
			return 0, nil, position, ring.ErrDropped
		case following.Offset == position.Offset:
			return 0, &following, wire.Position{Offset: position.Offset, Marks: following.Ordinal}, nil
		}
		stop = following.Offset
	}
	if position.Offset == stop || len(buffer) == 0 {
		return 0, nil, position, nil
	}
	i, found := slices.BinarySearchFunc(l.segments, position.Offset, func(s *segment, offset uint64) int {
		switch {
		case s.end() <= offset:
			return -1
		case s.start > offset:
			return 1
		}
		return 0
	})
	if !found {
		return 0, nil, position, ring.ErrDropped
	}
	part := l.segments[i]
	n = int(min(uint64(len(buffer)), min(stop, part.end())-position.Offset))
	if n, err = part.file.ReadAt(buffer[:n], int64(position.Offset-part.start)); n == 0 {
		return 0, nil, position, fmt.Errorf("read log: %w", err)
	}
	return n, nil, wire.Position{Offset: position.Offset + uint64(n), Marks: position.Marks}, nil
}

// sizeAt is the terminal's size at a position.
func (l *diskLog) sizeAt(position wire.Position) (cols, rows uint16) {
	size := l.start
	for _, m := range l.marks {
		if m.Ordinal <= position.Marks {
			size = m
		}
	}
	return size.Cols, size.Rows
}

func (l *diskLog) close() error {
	var errs []error
	for _, s := range l.segments {
		s.times.close()
		errs = append(errs, s.file.Close())
	}
	if l.marksLog != nil {
		errs = append(errs, l.marksLog.Close())
	}
	l.segments, l.marksLog = nil, nil
	return errors.Join(errs...)
}

// openDiskLog opens a log for reading only. Damage costs what lies before it,
// never more.
func openDiskLog(dir string) (*diskLog, error) {
	l := &diskLog{dir: dir, broken: true}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	for _, entry := range entries { // sorted by name, which is by offset
		name, isSegment := strings.CutSuffix(entry.Name(), segmentSuffix)
		offset, err := strconv.ParseUint(name, 16, 64)
		if !isSegment || err != nil || len(name) != 16 {
			continue
		}
		if err := l.openSegment(entry.Name(), offset); err != nil {
			return nil, errors.Join(err, l.close())
		}
	}
	// After the segments: of a log that is being written, no mark below the end
	// is missing then.
	if err := l.readMarks(); err != nil {
		return nil, errors.Join(err, l.close())
	}
	l.end = wire.Position{Offset: l.start.Offset, Marks: l.start.Ordinal}
	if n := len(l.segments); n > 0 {
		l.end.Offset = l.segments[n-1].end()
		if first := l.segments[0].start; l.start.Offset < first {
			passed := 0
			for passed < len(l.marks) && l.marks[passed].Offset < first {
				passed++
			}
			l.dropMarks(passed)
			l.start.Offset = first
		}
	}
	kept := 0
	for kept < len(l.marks) && l.marks[kept].Offset <= l.end.Offset {
		kept++
	}
	l.marks = l.marks[:kept]
	l.end.Marks = l.start.Ordinal + uint32(kept)
	return l, nil
}

func (l *diskLog) openSegment(name string, offset uint64) error {
	file, err := os.Open(filepath.Join(l.dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // the running holder dropped it
	}
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	info, err := file.Stat()
	if err != nil {
		return errors.Join(fmt.Errorf("open log: %w", err), file.Close())
	}
	if n := len(l.segments); n > 0 && l.segments[n-1].end() != offset {
		for _, s := range l.segments {
			s.file.Close()
		}
		l.segments = nil
	}
	l.segments = append(l.segments, &segment{path: name, start: offset, size: info.Size(), file: file})
	return nil
}

func (l *diskLog) readMarks() error {
	file, err := os.Open(filepath.Join(l.dir, marksFile))
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer file.Close()
	scanner := bufio.NewScanner(file)
	for first := true; scanner.Scan(); first = false {
		var m ring.Mark
		if _, err := fmt.Sscanf(scanner.Text(), "%d %d %d %d", &m.Offset, &m.Ordinal, &m.Cols, &m.Rows); err != nil ||
			m.Cols < 1 || m.Cols > wire.MaxColumns || m.Rows < 1 || m.Rows > wire.MaxRows {
			break // the rest was not written
		}
		var offset, ordinal, cols, rows, millis int64
		if n, _ := fmt.Sscanf(scanner.Text(), "%d %d %d %d %d", &offset, &ordinal, &cols, &rows, &millis); n == 5 && millis >= 0 && millis < maxMarkMillis {
			l.noteMark(m.Ordinal, time.Duration(millis)*time.Millisecond)
		}
		if first {
			l.start = m
			continue
		}
		previous := l.start
		if n := len(l.marks); n > 0 {
			previous = l.marks[n-1]
		}
		if m.Ordinal != previous.Ordinal+1 || m.Offset < previous.Offset {
			return fmt.Errorf("marks are out of order: %w", errBroken)
		}
		l.marks = append(l.marks, m)
		if len(l.marks) > maxDiskMarks {
			l.dropMarks(1)
		}
	}
	if l.start.Cols == 0 {
		return fmt.Errorf("marks are missing: %w", errBroken)
	}
	return nil
}
