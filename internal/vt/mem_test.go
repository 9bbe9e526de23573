package vt

import (
	"runtime"
	"testing"
)

// TestMemory: an empty terminal takes little, and 10,000 lines of log with
// their archive what VT's goal says.
func TestMemory(t *testing.T) {
	const n = 20
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	p := payloads()["ascii"]
	start := heap()
	terms := make([]*Terminal, n)
	for i := range terms {
		terms[i] = New(Options{Cols: 80, Rows: 24})
	}
	empty := (heap() - start) / n
	for _, term := range terms {
		term.Write(p[:10_000*40])
	}
	full := (heap() - start) / n
	rows := uint64(terms[0].scrollback.len())
	runtime.KeepAlive(terms)
	t.Logf("empty %d bytes, %d lines %d bytes", empty, rows, full)
	if empty > 64<<10 {
		t.Errorf("an empty terminal takes %d bytes", empty)
	}
	// Twice: scrollback and archive.
	if per := full / rows; per > 2*100 {
		t.Errorf("%d bytes a line", per)
	}
}
