package vt

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// passingStream is output of many lines, most of which may pass through the
// screen without being drawn.
func passingStream(r *rand.Rand, cols int, odd float64) []byte {
	words := []string{"a", "go", "building", "  ", "漢字", "🎉", "─", "é", "日本語の文字列", "x y", "한국어", "\u2026"}
	renditions := []string{"0", "", "1", "2", "22", "31", "39", "38;5;200", "38;2;1;2;3", "1;32", "7", "27", "90;3", "4", "24"}
	rare := []string{"\t", "\x1b[48;5;4m", "\x1b[49m", "e\u0301", "\x1b[2K", "\x1b[A", "\x1b[5;9r", "\x1b[r\x1b[99H", "\n", "\x1b]8;;http://a\a", "\x1b]8;;\a",
		"\x1b[?7l", "\x1b[?7h", "\x1b[4h", "\x1b[4l", "\x1b(0", "\x1b(B", "\xff", "\x1b[2J", "\x1b[?1049h", "\x1b[?1049l", "\x1b[1\"q", "\x1b[0\"q", "\a", "\x7f",
		strings.Repeat("wide ", cols/2), strings.Repeat("漢", cols), "\x1b[99;1H", "\x1b[3J", "\u200d", "\x1b[5b"}
	var b bytes.Buffer
	for b.Len() < 40<<10 {
		for range r.IntN(5) {
			if r.IntN(3) == 0 {
				b.WriteString("\x1b[" + renditions[r.IntN(len(renditions))] + "m")
			}
			b.WriteString(words[r.IntN(len(words))])
		}
		if r.Float64() < odd {
			b.WriteString(rare[r.IntN(len(rare))])
		}
		if r.IntN(20) == 0 {
			fmt.Fprintf(&b, "\x1b[38;2;%d;%d;%dm", r.IntN(256), r.IntN(256), r.IntN(256))
		}
		if r.IntN(40) == 0 {
			b.WriteString("\x1b[m" + strings.Repeat("=", cols))
		}
		b.WriteString("\r\n")
	}
	return b.Bytes()
}

// TestPass_isAsDrawn writes streams at once, so that their lines pass, and in
// pieces too small for that: everything kept is equal.
func TestPass_isAsDrawn(t *testing.T) {
	passed := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		o := Options{Cols: 1 + r.IntN(160), Rows: 1 + r.IntN(40), Scrollback: []int{0, 100, 3000, 3000, -1}[r.IntN(5)], Archive: []int{0, 64 << 10, -1}[r.IntN(3)]}
		stream := passingStream(r, o.Cols, []float64{0, 0.002, 0.02}[r.IntN(3)])
		whole, pieces := New(o), New(o)
		whole.Write(stream)
		if whole.passing.lines > 0 {
			passed++
		}
		for rest := stream; len(rest) > 0; {
			n := min(len(rest), 1+r.IntN(minPassing-1))
			pieces.Write(rest[:n])
			rest = rest[n:]
		}
		if !bytes.Equal(whole.State(-1), pieces.State(-1)) {
			t.Fatalf("seed %d, %+v: the states differ", seed, o)
		}
		tail := []byte("\x1b[5bx\x1b[2Aend\r\n")
		whole.Write(tail)
		pieces.Write(tail)
		if a, b := whole.Repaint(), pieces.Repaint(); !bytes.Equal(a, b) {
			t.Fatalf("seed %d, %+v: the screens differ behind it", seed, o)
		}
		if whole.Faults()+pieces.Faults() > 0 {
			t.Fatalf("seed %d: a fault", seed)
		}
	}
	if passed < 50 {
		t.Errorf("lines passed in %d streams of 300 only", passed)
	}
}

// TestStyles_areBounded sets more colours than any screen can hold, in every
// form of SGR: only those in use are kept.
func TestStyles_areBounded(t *testing.T) {
	for _, form := range []string{"\x1b[38;2;%d;%d;%dm", "\x1b[48;2;%d;%d;%dm", "\x1b[38:2::%d:%d:%dm", "\x1b[4;58;2;%d;%d;%dm"} {
		for _, text := range []string{"x", "x\r\n"} {
			term := New(Options{Cols: 80, Rows: 24})
			var stream bytes.Buffer
			for i := range 400000 {
				fmt.Fprintf(&stream, form+text, i>>16&255, i>>8&255, i&255)
			}
			term.Write(stream.Bytes())
			if n := len(term.styles.list); n > 2*(maxCells+80*24) {
				t.Errorf("%q: %d styles kept", form, n)
			}
		}
	}
}
