package vt

import "testing"

// FuzzRepaint looks for states that a Repaint does not bring about, in our own
// terminal, which is as xterm.js by the other tests.
func FuzzRepaint(f *testing.F) {
	for seed := range uint64(200) {
		g := newGenerator(seed, false)
		f.Add(g.stream(25), uint8(seed*7), uint8(seed))
	}
	f.Fuzz(func(t *testing.T, stream []byte, cols, rows uint8) {
		if len(stream) > 1<<12 {
			return
		}
		a := New(Options{Cols: 2 + int(cols%40), Rows: 1 + int(rows%12), Scrollback: -1})
		a.Write(stream)
		for _, known := range isKnown {
			if known(a) {
				return
			}
		}
		b := New(Options{Cols: a.cols, Rows: a.rows, Scrollback: -1})
		repaint := a.Repaint()
		b.Write(repaint)
		if d := difference(screenOnly(b.dump(), a.rows), screenOnly(a.dump(), a.rows)); d != "" {
			t.Fatalf("%dx%d %q: %s\nrepaint %q", a.cols, a.rows, stream, d, repaint)
		}
	})
}
