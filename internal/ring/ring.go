// Package ring keeps the newest part of a session's stream in memory: bytes by
// absolute offset and the numbered resize marks between them. It trims what
// overlaps, refuses what would leave a hole, drops the oldest bytes when it is
// full, and tells a reader who asks for what was dropped. The server's session
// and the holder's memory log own one each; it locks nothing, one goroutine
// uses it.
package ring

import (
	"errors"
	"fmt"
	"slices"

	"github.com/agent-helm/agent-helm/internal/wire"
)

// Mark is a resize between two bytes of the stream.
type Mark struct {
	// Offset is that of the byte after the mark.
	Offset uint64
	// Ordinal counts the session's marks from 1.
	Ordinal    uint32
	Cols, Rows uint16
}

// Errors of a Ring.
var (
	// ErrHole says that bytes or marks before the appended ones are missing;
	// the appender asks its source to resume from End.
	ErrHole = errors.New("stream has a hole")
	// ErrDropped says that the position asked for is older than Start or newer
	// than End; the reader needs a snapshot.
	ErrDropped = errors.New("position is no longer held")
)

const (
	// minimumStep is the smallest growth of the buffer in bytes.
	minimumStep = 4 << 10
	// maxMarks bounds the marks held: a stream of resizes without output must
	// not grow without end.
	maxMarks = 4096
)

// Ring is a bounded, offset-addressed window of a stream. The zero value holds
// nothing and has no room; use New.
type Ring struct {
	limit int
	buf   []byte // circular
	head  int    // index in buf of the byte at start
	size  int    // bytes held
	start wire.Position
	marks []Mark // those after start, in order
}

// New returns an empty Ring that keeps at most limit bytes, positioned at zero.
// Its memory grows with use.
func New(limit int) *Ring { return &Ring{limit: max(limit, 1)} }

// Start is the oldest position that can be read.
func (r *Ring) Start() wire.Position { return r.start }

// End is the position after everything appended.
func (r *Ring) End() wire.Position {
	end := wire.Position{Offset: r.start.Offset + uint64(r.size), Marks: r.start.Marks}
	if n := len(r.marks); n > 0 {
		end.Marks = r.marks[n-1].Ordinal
	}
	return end
}

// Reset forgets everything and continues at position.
func (r *Ring) Reset(position wire.Position) {
	r.head, r.size, r.marks, r.start = 0, 0, nil, position
	r.buf = nil
}

// Append adds the bytes at offset. What is already held is trimmed; the number
// of new bytes is returned. ErrHole: offset lies beyond End, nothing was added.
func (r *Ring) Append(offset uint64, p []byte) (fresh int, err error) {
	end := r.End().Offset
	if offset > end {
		return 0, fmt.Errorf("append at %d after %d: %w", offset, end, ErrHole)
	}
	overlap := end - offset
	if overlap >= uint64(len(p)) {
		return 0, nil
	}
	p = p[overlap:]
	fresh = len(p)
	if len(p) > r.limit {
		r.drop(r.size)
		r.start.Offset += uint64(len(p) - r.limit)
		p = p[len(p)-r.limit:]
	}
	if excess := r.size + len(p) - r.limit; excess > 0 {
		r.drop(excess)
	}
	r.grow(r.size + len(p))
	tail := (r.head + r.size) % len(r.buf)
	n := copy(r.buf[tail:], p)
	copy(r.buf, p[n:])
	r.size += len(p)
	r.dropMarks()
	return fresh, nil
}

// Mark adds a resize. One that is already held is ignored (false). ErrHole: an
// earlier mark or earlier bytes are missing.
func (r *Ring) Mark(m Mark) (fresh bool, err error) {
	end := r.End()
	switch {
	case m.Ordinal <= end.Marks:
		return false, nil
	case m.Ordinal != end.Marks+1 || m.Offset != end.Offset:
		return false, fmt.Errorf("mark %d at %d after mark %d at %d: %w", m.Ordinal, m.Offset, end.Marks, end.Offset, ErrHole)
	}
	r.marks = append(r.marks, m)
	if len(r.marks) > maxMarks {
		oldest := r.marks[0]
		r.drop(int(oldest.Offset - r.start.Offset))
		r.dropMarks()
		if len(r.marks) > maxMarks {
			r.start.Marks = oldest.Ordinal
			r.marks = slices.Delete(r.marks, 0, 1)
		}
	}
	return true, nil
}

// Chunk is what Read found: a mark when Mark is set, else bytes.
type Chunk struct {
	// Next is the position after the chunk.
	Next wire.Position
	Mark *Mark
	// Data aliases the ring and is valid until the next call that changes it.
	Data []byte
}

// Read returns the first mark or run of at most limit bytes after position, or
// an empty chunk at End. A run never crosses a mark. ErrDropped: the ring does
// not hold the position.
func (r *Ring) Read(position wire.Position, limit int) (Chunk, error) {
	end := r.End()
	if position.Before(r.start) || position.Offset < r.start.Offset || position.Offset > end.Offset ||
		position.Marks < r.start.Marks || position.Marks > end.Marks {
		return Chunk{}, ErrDropped
	}
	stop := end.Offset
	if i := int(position.Marks - r.start.Marks); i < len(r.marks) {
		mark := r.marks[i]
		if mark.Offset < position.Offset {
			// The reader claims bytes beyond a mark that it has not taken in.
			return Chunk{}, ErrDropped
		}
		if mark.Offset == position.Offset {
			return Chunk{Next: wire.Position{Offset: position.Offset, Marks: mark.Ordinal}, Mark: &mark}, nil
		}
		stop = mark.Offset
	}
	if i := int(position.Marks - r.start.Marks); i > 0 && r.marks[i-1].Offset > position.Offset {
		return Chunk{}, ErrDropped
	}
	n := min(int(stop-position.Offset), limit)
	if n == 0 {
		return Chunk{Next: position}, nil
	}
	from := (r.head + int(position.Offset-r.start.Offset)) % len(r.buf)
	n = min(n, len(r.buf)-from)
	return Chunk{
		Next: wire.Position{Offset: position.Offset + uint64(n), Marks: position.Marks},
		Data: r.buf[from : from+n : from+n],
	}, nil
}

// drop forgets the n oldest bytes.
func (r *Ring) drop(n int) {
	if len(r.buf) > 0 {
		r.head = (r.head + n) % len(r.buf)
	}
	r.size -= n
	r.start.Offset += uint64(n)
}

// dropMarks forgets the marks that lie before the oldest byte held.
func (r *Ring) dropMarks() {
	passed := 0
	for passed < len(r.marks) && r.marks[passed].Offset < r.start.Offset {
		passed++
	}
	if passed > 0 {
		r.start.Marks = r.marks[passed-1].Ordinal
		r.marks = slices.Delete(r.marks, 0, passed)
	}
}

// grow makes room for size bytes, at least doubling, at most to the limit.
func (r *Ring) grow(size int) {
	if size <= len(r.buf) {
		return
	}
	grown := make([]byte, min(max(size, 2*len(r.buf), minimumStep), max(r.limit, size)))
	n := copy(grown, r.buf[r.head:min(r.head+r.size, len(r.buf))])
	copy(grown[n:], r.buf[:r.size-n])
	r.buf, r.head = grown, 0
}
