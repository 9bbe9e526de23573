package ring

import (
	"bytes"
	"errors"
	"testing"

	"github.com/agent-helm/agent-helm/internal/wire"
)

func mustAppend(t testing.TB, r *Ring, offset uint64, p string, want int) {
	t.Helper()
	fresh, err := r.Append(offset, []byte(p))
	if err != nil || fresh != want {
		t.Fatalf("Append(%d, %q) = %d, %v, want %d", offset, p, fresh, err, want)
	}
}

func mustMark(t testing.TB, r *Ring, m Mark, want bool) {
	t.Helper()
	fresh, err := r.Mark(m)
	if err != nil || fresh != want {
		t.Fatalf("Mark(%+v) = %v, %v, want %v", m, fresh, err, want)
	}
}

// readAll follows the stream from a position to the end.
func readAll(t testing.TB, r *Ring, from wire.Position, limit int) (data []byte, marks []Mark) {
	t.Helper()
	for from != r.End() {
		chunk, err := r.Read(from, limit)
		if err != nil {
			t.Fatalf("Read(%+v): %v (start %+v, end %+v)", from, err, r.Start(), r.End())
		}
		if !from.Before(chunk.Next) {
			t.Fatalf("Read(%+v) does not go on: %+v", from, chunk)
		}
		if len(chunk.Data) > limit {
			t.Fatalf("Read(%+v) = %d bytes, limit %d", from, len(chunk.Data), limit)
		}
		if chunk.Mark != nil {
			marks = append(marks, *chunk.Mark)
		}
		data = append(data, chunk.Data...)
		from = chunk.Next
	}
	return data, marks
}

func TestRing_Append(t *testing.T) {
	r := New(8)
	mustAppend(t, r, 0, "abcd", 4)
	mustAppend(t, r, 0, "abcd", 0)
	mustAppend(t, r, 2, "cdef", 2)
	mustAppend(t, r, 1, "bc", 0)
	if _, err := r.Append(7, []byte("h")); !errors.Is(err, ErrHole) {
		t.Fatalf("a hole gave %v", err)
	}
	if data, _ := readAll(t, r, wire.Position{}, 3); string(data) != "abcdef" {
		t.Fatalf("read %q", data)
	}
	mustAppend(t, r, 6, "ghijk", 5)
	if got := r.Start().Offset; got != 3 {
		t.Fatalf("start %d after dropping three bytes", got)
	}
	if _, err := r.Read(wire.Position{Offset: 2}, 1); !errors.Is(err, ErrDropped) {
		t.Fatalf("a dropped byte gave %v", err)
	}
	if data, _ := readAll(t, r, r.Start(), 100); string(data) != "defghijk" {
		t.Fatalf("read %q", data)
	}
	mustAppend(t, r, 11, "0123456789ABCDEF", 16)
	if data, _ := readAll(t, r, r.Start(), 5); string(data) != "89ABCDEF" || r.End().Offset != 27 {
		t.Fatalf("read %q, end %d", data, r.End().Offset)
	}
}

func TestRing_Mark(t *testing.T) {
	r := New(100)
	mustAppend(t, r, 0, "ab", 2)
	first := Mark{Offset: 2, Ordinal: 1, Cols: 80, Rows: 24}
	second := Mark{Offset: 2, Ordinal: 2, Cols: 90, Rows: 30}
	mustMark(t, r, first, true)
	mustMark(t, r, first, false)
	mustMark(t, r, second, true)
	for _, m := range []Mark{{Offset: 2, Ordinal: 4}, {Offset: 3, Ordinal: 3}, {Offset: 1, Ordinal: 3}} {
		if _, err := r.Mark(m); !errors.Is(err, ErrHole) {
			t.Errorf("Mark(%+v) = %v", m, err)
		}
	}
	mustAppend(t, r, 2, "cd", 2)
	data, marks := readAll(t, r, wire.Position{}, 100)
	if string(data) != "abcd" || len(marks) != 2 || marks[0] != first || marks[1] != second {
		t.Fatalf("read %q, %+v", data, marks)
	}
	// A reader between the two marks of one offset gets the second only.
	if _, marks := readAll(t, r, wire.Position{Offset: 2, Marks: 1}, 100); len(marks) != 1 || marks[0] != second {
		t.Fatalf("read %+v", marks)
	}
	for _, p := range []wire.Position{{Offset: 1, Marks: 1}, {Offset: 3, Marks: 1}, {Offset: 4, Marks: 3}, {Offset: 5, Marks: 2}} {
		if _, err := r.Read(p, 1); !errors.Is(err, ErrDropped) {
			t.Errorf("Read(%+v), which nobody can be at: %v", p, err)
		}
	}
}

func TestRing_Read_atTheEnd(t *testing.T) {
	r := New(4)
	for range 2 {
		chunk, err := r.Read(r.End(), 10)
		if err != nil || chunk.Mark != nil || len(chunk.Data) != 0 || chunk.Next != r.End() {
			t.Fatalf("Read at the end = %+v, %v", chunk, err)
		}
		mustAppend(t, r, r.End().Offset, "abcdefg", 7)
	}
}

func TestRing_marksAreBounded(t *testing.T) {
	r := New(100)
	for ordinal := uint32(1); ordinal <= 3*maxMarks; ordinal++ {
		mustMark(t, r, Mark{Ordinal: ordinal, Cols: 80, Rows: 24}, true)
	}
	if len(r.marks) > maxMarks {
		t.Fatalf("%d marks held", len(r.marks))
	}
	if _, marks := readAll(t, r, r.Start(), 1); len(marks) != maxMarks || r.End().Marks != 3*maxMarks {
		t.Fatalf("%d marks read, end %+v", len(marks), r.End())
	}
}

func TestRing_Reset(t *testing.T) {
	r := New(100)
	mustAppend(t, r, 0, "abc", 3)
	position := wire.Position{Offset: 1000, Marks: 7}
	r.Reset(position)
	if r.Start() != position || r.End() != position {
		t.Fatalf("start %+v, end %+v", r.Start(), r.End())
	}
	mustMark(t, r, Mark{Offset: 1000, Ordinal: 8, Cols: 1, Rows: 1}, true)
	mustAppend(t, r, 990, "0123456789new", 3)
	data, marks := readAll(t, r, position, 100)
	if string(data) != "new" || len(marks) != 1 {
		t.Fatalf("read %q, %+v", data, marks)
	}
}

func TestRing_growsWithUse(t *testing.T) {
	r := New(1 << 20)
	if len(r.buf) != 0 {
		t.Fatalf("an empty ring holds %d bytes", len(r.buf))
	}
	mustAppend(t, r, 0, "a", 1)
	if len(r.buf) != minimumStep {
		t.Fatalf("one byte takes %d", len(r.buf))
	}
	block := bytes.Repeat([]byte("x"), 5000)
	for offset := uint64(1); offset < 3<<20; offset += uint64(len(block)) {
		mustAppend(t, r, offset, string(block), len(block))
		if len(r.buf) > 1<<20 {
			t.Fatalf("the buffer grew to %d bytes", len(r.buf))
		}
	}
}

// model is the stream in full, without any limit.
type model struct {
	base  wire.Position
	data  []byte
	marks []Mark
}

func (m *model) end() wire.Position {
	return wire.Position{Offset: m.base.Offset + uint64(len(m.data)), Marks: m.base.Marks + uint32(len(m.marks))}
}

// reachable says whether a reader of the whole stream passes the position.
func (m *model) reachable(p wire.Position) bool {
	if p.Offset < m.base.Offset || p.Marks < m.base.Marks || p.Offset > m.end().Offset || p.Marks > m.end().Marks {
		return false
	}
	i := int(p.Marks - m.base.Marks)
	return (i == 0 || m.marks[i-1].Offset <= p.Offset) && (i == len(m.marks) || m.marks[i].Offset >= p.Offset)
}

func (m *model) after(p wire.Position) (data []byte, marks []Mark) {
	return m.data[p.Offset-m.base.Offset:], m.marks[p.Marks-m.base.Marks:]
}

// FuzzRing compares the ring with an unbounded stream: what the ring still
// holds reads the same from every position, and nothing else can be read.
func FuzzRing(f *testing.F) {
	f.Add(uint8(10), []byte{0, 5, 0, 1, 0, 0, 0, 9, 2, 2, 1, 3, 0, 200, 0, 3, 1, 0})
	f.Add(uint8(0), []byte{1, 0, 0, 1, 0, 0, 0, 3, 0, 1, 0, 0, 0, 3, 0})
	f.Add(uint8(255), []byte{0, 255, 0, 1, 0, 0, 0, 255, 100, 4, 9, 9, 0, 30, 1})
	f.Fuzz(func(t *testing.T, limit uint8, script []byte) {
		r, m := New(int(limit)), &model{}
		next := byte(0)
		script = script[:min(len(script), 600)] // every step reads everything
		for ; len(script) >= 3; script = script[3:] {
			operation, a, b := script[0]%5, script[1], script[2]
			end := m.end()
			switch operation {
			case 0: // append a bytes, b of them known already
				overlap := min(uint64(b), end.Offset-m.base.Offset)
				block := bytes.Clone(m.data[uint64(len(m.data))-overlap:])
				for range a {
					block = append(block, next)
					next++
				}
				fresh, err := r.Append(end.Offset-overlap, block)
				if err != nil || fresh != int(a) {
					t.Fatalf("Append = %d, %v, want %d", fresh, err, a)
				}
				m.data = append(m.data, block[overlap:]...)
			case 1: // a mark, and the same again
				mark := Mark{Offset: end.Offset, Ordinal: end.Marks + 1, Cols: uint16(a), Rows: uint16(b)}
				mustMark(t, r, mark, true)
				mustMark(t, r, mark, false)
				m.marks = append(m.marks, mark)
			case 2: // holes change nothing
				if _, err := r.Append(end.Offset+1+uint64(a), []byte{1}); !errors.Is(err, ErrHole) {
					t.Fatalf("Append behind a hole: %v", err)
				}
				if _, err := r.Mark(Mark{Offset: end.Offset, Ordinal: end.Marks + 2 + uint32(b)}); !errors.Is(err, ErrHole) {
					t.Fatalf("Mark behind a hole: %v", err)
				}
			case 3: // any position at all
				p := wire.Position{Offset: m.base.Offset + uint64(a), Marks: m.base.Marks + uint32(b%4)}
				held := m.reachable(p) && !p.Before(r.Start()) && p.Marks >= r.Start().Marks
				if _, err := r.Read(p, 7); (err == nil) != held {
					t.Fatalf("Read(%+v) = %v, held %v (start %+v, end %+v)", p, err, held, r.Start(), r.End())
				}
			case 4:
				*m = model{base: wire.Position{Offset: end.Offset + uint64(a), Marks: end.Marks + uint32(b)}}
				r.Reset(m.base)
			}
			if r.End() != m.end() {
				t.Fatalf("end %+v, want %+v", r.End(), m.end())
			}
			if held := r.End().Offset - r.Start().Offset; held > uint64(max(limit, 1)) {
				t.Fatalf("%d bytes held, limit %d", held, limit)
			}
			wantData, wantMarks := m.after(r.Start())
			data, marks := readAll(t, r, r.Start(), 1+int(b))
			if !bytes.Equal(data, wantData) || len(marks) != len(wantMarks) {
				t.Fatalf("from %+v: %x and %d marks, want %x and %d", r.Start(), data, len(marks), wantData, len(wantMarks))
			}
			for i := range marks {
				if marks[i] != wantMarks[i] {
					t.Fatalf("mark %+v, want %+v", marks[i], wantMarks[i])
				}
			}
		}
	})
}

func BenchmarkRing_Append(b *testing.B) {
	r := New(1 << 20)
	block := make([]byte, 1400) // what a PTY read gives on average
	b.SetBytes(int64(len(block)))
	for b.Loop() {
		if _, err := r.Append(r.End().Offset, block); err != nil {
			b.Fatal(err)
		}
	}
}
