package holder

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"
)

// Beside a segment lies when its bytes came, so that a recording plays as it
// was: a sequence of pairs of uvarints, each how many bytes and milliseconds
// behind the pair before, the first counted from the segment's first byte and
// the log's beginning. Bytes came at the time of the last pair at or before
// them. The index may be missing, cut or damaged; that costs times and nothing
// else.
const (
	timesSuffix = ".times"
	// timeStep is the shortest time between two pairs of a fresh index; it grows
	// as the index fills.
	timeStep = 100 * time.Millisecond
	// maxTimesBytes bounds a segment's index. It is also no more than a
	// timesShare of the segment.
	maxTimesBytes = 512 << 10
	timesShare    = 8
	// untimed is when nobody knows when.
	untimed = time.Duration(-1)
)

// A timeIndex is written along with a segment.
type timeIndex struct {
	file *os.File // nil when it cannot be written
	// size is its length, of at most limit.
	size, limit int
	offset      uint64 // of the last pair, or the segment's start
	at          time.Duration
	began       bool
	// marked says that a mark with a time of its own came behind the last pair,
	// so that what follows it needs one as well.
	marked bool
}

func timesPath(dir string, segmentStart uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%016x%s", segmentStart, timesSuffix))
}

// newTimeIndex begins the index of a segment. A disk that does not take it
// will not take the segment either, which is told there.
func newTimeIndex(dir string, segmentStart uint64, segmentSize int64) *timeIndex {
	x := &timeIndex{offset: segmentStart, limit: int(min(maxTimesBytes, segmentSize/timesShare))}
	if file, err := os.OpenFile(timesPath(dir, segmentStart), os.O_CREATE|os.O_WRONLY|os.O_APPEND|os.O_TRUNC, 0o600); err == nil {
		x.file = file
	}
	return x
}

// note says that the byte at offset comes at a time.
func (x *timeIndex) note(offset uint64, at time.Duration) {
	if x == nil || x.file == nil || at < 0 || offset < x.offset {
		return
	}
	step := timeStep << (4 * x.size / max(x.limit, 1))
	if x.began && !x.marked && at-x.at < step {
		return
	}
	at = max(at, x.at).Truncate(time.Millisecond)
	pair := binary.AppendUvarint(nil, offset-x.offset)
	pair = binary.AppendUvarint(pair, uint64((at - x.at).Milliseconds()))
	if x.size+len(pair) > x.limit {
		x.close()
		return
	}
	if _, err := x.file.Write(pair); err != nil {
		x.close()
		return
	}
	x.size += len(pair)
	x.offset, x.at, x.began, x.marked = offset, at, true, false
}

func (x *timeIndex) close() {
	if x != nil && x.file != nil {
		x.file.Close() // what is not in it costs times and nothing else
		x.file = nil
	}
}

// A timePoint says when a byte came.
type timePoint struct {
	offset uint64
	at     time.Duration
}

// readTimes appends a segment's index, as far as it follows what is there.
func readTimes(points []timePoint, dir string, segmentStart, segmentEnd uint64) []timePoint {
	file, err := os.Open(timesPath(dir, segmentStart))
	if err != nil {
		return points
	}
	defer file.Close()
	data := make([]byte, maxTimesBytes)
	n := 0
	for n < len(data) {
		more, err := file.Read(data[n:])
		if n += more; err != nil {
			break
		}
	}
	data = data[:n]
	offset, at := segmentStart, int64(0)
	for len(data) > 0 {
		bytes, n := binary.Uvarint(data)
		if n <= 0 {
			break
		}
		data = data[n:]
		millis, n := binary.Uvarint(data)
		if n <= 0 || bytes > segmentEnd-offset || millis > math.MaxInt64/uint64(time.Millisecond)-uint64(at) {
			break
		}
		data = data[n:]
		offset, at = offset+bytes, at+int64(millis)
		point := timePoint{offset, time.Duration(at) * time.Millisecond}
		if k := len(points); k > 0 && (point.at < points[k-1].at || point.offset < points[k-1].offset) {
			break
		}
		points = append(points, point)
	}
	return points
}
