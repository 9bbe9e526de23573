package vt

import (
	"bytes"
	"testing"
)

// TestEffort: moving the columns of all rows works without limit on a screen of
// 80×24, and has an end on a large one, which a State knows.
func TestEffort(t *testing.T) {
	shift := bytes.Repeat([]byte("\x1b[ @"), 1<<16)
	small := New(Options{Cols: 80, Rows: 24})
	small.Write(shift)
	if small.touched.debt+24*(80+cellsPerRow) > 2*24*(80+cellsPerRow) {
		t.Errorf("a screen of 80×24 owes %d", small.touched.debt)
	}
	large := New(Options{Cols: 1000, Rows: 1000})
	large.Write(shift)
	large.Write([]byte("\x1b[2J\x1b[Habc\x1b[ @"))
	if got := large.Text(TextOptions{}); got[:3] != "abc" {
		t.Errorf("still moves columns: %q", got[:3])
	}
	again, err := Restore(large.State(-1))
	if err != nil {
		t.Fatal(err)
	}
	for _, term := range []*Terminal{large, again} {
		term.Write([]byte("\x1b[ @"))
		if got := term.Text(TextOptions{}); got[:3] != "abc" {
			t.Errorf("moves columns: %q", got[:3])
		}
		term.Write(bytes.Repeat([]byte("\x1b[m"), 8<<10))
		term.Write([]byte("\x1b[ @"))
		if got := term.Text(TextOptions{}); got[:2] != "bc" {
			t.Errorf("paid for, but did not move columns: %q", got[:3])
		}
	}
}
