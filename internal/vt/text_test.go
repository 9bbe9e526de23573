package vt

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestText_parts(t *testing.T) {
	term := New(Options{Cols: 10, Rows: 3})
	term.Write([]byte("zero\r\nabcdefghijklm\r\none\r\n\x1b[31mtwo\x1b[m and on until it wraps"))
	check := func(what string, o TextOptions, want ...string) {
		t.Helper()
		if d := cmp.Diff(want, strings.Split(strings.TrimSuffix(term.Text(o), "\n"), "\n")); d != "" {
			t.Errorf("%s: %s", what, d)
		}
	}
	check("screen", TextOptions{}, "two and on", " until it", "wraps")
	check("screen, joined", TextOptions{Join: true}, "two and on until it wraps")
	check("archive", TextOptions{History: -1, Join: true}, "zero", "abcdefghijklm", "one", "two and on until it wraps")
	check("scrollback", TextOptions{History: -1, Scrollback: true}, "zero", "abcdefghij", "klm", "one", "two and on", " until it", "wraps")
	check("scrollback, joined", TextOptions{History: -1, Scrollback: true, Join: true}, "zero", "abcdefghijklm", "one", "two and on until it wraps")
	check("two rows of it", TextOptions{History: 2, Scrollback: true, Join: true}, "klm", "one", "two and on until it wraps")
	term.Write([]byte("\x1b[3J"))
	check("scrollback erased", TextOptions{History: -1, Scrollback: true, Join: true}, "two and on until it wraps")
	check("archive not", TextOptions{History: -1, Join: true}, "zero", "abcdefghijklm", "one", "two and on until it wraps")
	check("no alternate screen", TextOptions{Part: PartAlternate}, "")
	term.Write([]byte("\x1b[?1049h\x1b[Heditor"))
	check("shown", TextOptions{}, "editor")
	check("alternate", TextOptions{Part: PartAlternate, History: -1, Scrollback: true}, "editor")
	check("main", TextOptions{Part: PartMain, Join: true}, "two and on until it wraps")
}

func TestText_a_line_that_leaves_the_screen(t *testing.T) {
	term := New(Options{Cols: 10, Rows: 2})
	term.Write([]byte("0123456789abcdefghijklmnopqrstuvwxyz"))
	want := "0123456789abcdefghijklmnopqrstuvwxyz\n"
	for _, scrollback := range []bool{false, true} {
		if got := term.Text(TextOptions{History: -1, Join: true, Scrollback: scrollback}); got != want {
			t.Errorf("scrollback %t: %q", scrollback, got)
		}
	}
	if got := term.Text(TextOptions{History: -1}); got != "0123456789abcdefghij\nklmnopqrst\nuvwxyz\n" {
		t.Errorf("not joined: %q", got)
	}
}
