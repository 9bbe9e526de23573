package vt

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestState_streams restores after random streams with resizes: the other terminal
// has the same state, and goes on to the same. AGENT_HELM_ORACLE_COUNT asks for
// more streams.
func TestState_streams(t *testing.T) {
	from, to := oracleCount(t, 300)
	for seed := from; seed < to; seed++ {
		g := newGenerator(seed, false)
		g.log = seed%4 == 1
		options := Options{Cols: 2 + g.r.IntN(60), Rows: 1 + g.r.IntN(20), Scrollback: 1 + g.r.IntN(60)}
		if seed%3 == 1 {
			options.Archive = 64 << 10
		}
		a := New(options)
		for range 4 {
			for range 3 {
				stream := g.stream(g.r.IntN(40))
				if seed%5 == 2 {
					// Programs print the same again.
					stream = append(append(append(stream, "\x1b[H\x1b[2J"...), stream...), "\x1b[H"...)
				}
				cut := g.r.IntN(len(stream) + 1)
				a.Write(stream[:cut])
				if g.r.IntN(2) == 0 {
					a.Resize(2+g.r.IntN(60), 1+g.r.IntN(20))
				}
				a.Write(stream[cut:])
			}
			state := a.State(-1)
			b, err := Restore(state)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if again := b.State(-1); !bytes.Equal(again, state) {
				t.Fatalf("seed %d: the state of %d bytes became another of %d", seed, len(state), len(again))
			}
			tail := g.stream(20)
			cols, rows := 2+g.r.IntN(60), 1+g.r.IntN(20)
			for _, term := range []*Terminal{a, b} {
				term.Write(tail)
				term.Resize(cols, rows)
				term.Write(tail)
			}
			if d := a.Diff(b); d != "" {
				t.Fatalf("seed %d, later: %s", seed, d)
			}
			// How much is kept of a history that is full depends on how it is stored, and
			// runs are of one link each, which two links of the same address are not.
			x, y := a.Page(0, 1000), b.Page(0, 1000)
			if d := cmp.Diff(pageText(x), pageText(y)); options.Archive == 0 && d != "" {
				t.Fatalf("seed %d, later: %s", seed, d)
			}
			if n := len(x.Lines); options.Archive == 0 && n > 0 && x.Lines[n-1].ID != y.Lines[n-1].ID {
				t.Fatalf("seed %d, later: lines from %d, not %d, on", seed, y.Lines[n-1].ID, x.Lines[n-1].ID)
			}
			if _, err := Restore(a.State(g.r.IntN(50))); err != nil {
				t.Fatalf("seed %d, without all of the history: %v", seed, err)
			}
		}
		if a.Faults() != 0 {
			t.Fatalf("seed %d: faults", seed)
		}
	}
}
