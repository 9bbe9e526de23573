package attach

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/agent-helm/agent-helm/internal/vt"
)

func TestPortable(t *testing.T) {
	for in, want := range map[string]string{
		"a\x1b[3bc":            "aaaac",
		"─\x1b[2b":             "───",
		"e\u0301\x1b[b":        "e\u0301e\u0301",
		"\x1b[31mx\x1b[0m":     "\x1b[31mx\x1b[0m",
		"\x1b[3Jx":             "x",
		"\x1b]2;3b\x1b\\x":     "\x1b]2;3b\x1b\\x",
		"\x1b(0q\x1b[4b":       "\x1b(0qqqqq",
		"x\x1b[12":             "x\x1b[12",
		"x\x1b]0;unfinished b": "x\x1b]0;unfinished b",
		"x\xe6\xbc":            "x\xe6\xbc",
		"a\x1b[99999999b":      "a" + strings.Repeat("a", maxRepeat),
	} {
		if got := string(portable([]byte(in))); got != want {
			t.Errorf("%q: got %q, want %q", in, got, want)
		}
	}
}

// A repaint and its portable form draw the same screen.
func TestPortable_DrawsTheSame(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	pieces := []string{"────────", "aaaaaaaaaa", "漢漢漢漢", "e\u0301e\u0301e\u0301e\u0301e\u0301", "\x1b[41m", "\x1b[0m", "\r\n", "\x1b[K", "\x1b[%d;%dH", "\x1b[?1049h", "\x1b[?1049l", "\x1b[1;4m", "text ", "\x1b(0qqqqqq\x1b(B", "\x1b[3;8r"}
	for range 200 {
		session := vt.New(vt.Options{Cols: 30, Rows: 10})
		for range 60 {
			piece := pieces[random.IntN(len(pieces))]
			if strings.Contains(piece, "%d") {
				piece = fmt.Sprintf(piece, 1+random.IntN(10), 1+random.IntN(30))
			}
			_, _ = session.Write([]byte(piece)) // never fails
		}
		repaint := session.Repaint()
		got := vt.New(vt.Options{Cols: 30, Rows: 10})
		_, _ = got.Write(portable(repaint)) // never fails
		want := session.ANSI(vt.TextOptions{Rows: true})
		if screen := got.ANSI(vt.TextOptions{Rows: true}); screen != want {
			t.Fatalf("%q became %q:\n%s\nwant\n%s", repaint, portable(repaint), screen, want)
		}
	}
}
