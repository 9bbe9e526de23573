package vt

import (
	"runtime"
	"testing"

	"github.com/agent-helm/agent-helm/internal/vt/payload"
)

// TestWrite_allocations: once its histories are full, a terminal that goes on
// with what programs print allocates nothing.
func TestWrite_allocations(t *testing.T) {
	for _, p := range payload.List {
		t.Run(p.Name, func(t *testing.T) {
			content := p.Bytes()[:256<<10]
			// Histories small enough to be full soon.
			term := New(Options{Cols: payload.Cols, Rows: payload.Rows, Scrollback: 500, Archive: 2 * chunkSize})
			write := func() {
				for rest := content; len(rest) > 0; {
					n := min(len(rest), 16<<10)
					term.Write(rest[:n])
					rest = rest[n:]
				}
			}
			for range 24 {
				write()
			}
			if n := testing.AllocsPerRun(4, write); n != 0 {
				t.Errorf("%.0f allocations for %d bytes", n, len(content))
			}
		})
	}
}

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
