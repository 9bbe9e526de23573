package vt

import (
	"fmt"
	"strings"
	"testing"
)

// TestWrite_split feeds streams whole, cut at every byte, and byte by byte.
func TestWrite_split(t *testing.T) {
	for seed := range uint64(60) {
		g := newGenerator(seed, false)
		stream := g.stream(40)
		cols, rows := 2+g.r.IntN(40), 1+g.r.IntN(12)
		whole := New(Options{Cols: cols, Rows: rows, Scrollback: 50})
		whole.Write(stream)
		want := string(whole.TakeReplies())
		check := func(how string, term *Terminal) {
			t.Helper()
			if d := whole.Diff(term); d != "" {
				t.Fatalf("seed %d, %s: %s\n%q", seed, how, d, stream)
			}
			if got := string(term.TakeReplies()); got != want {
				t.Fatalf("seed %d, %s: replies %q, whole %q", seed, how, got, want)
			}
			if a, b := whole.Text(TextOptions{History: -1}), term.Text(TextOptions{History: -1}); a != b {
				t.Fatalf("seed %d, %s: history differs", seed, how)
			}
		}
		single := New(Options{Cols: cols, Rows: rows, Scrollback: 50})
		for _, b := range stream {
			single.Write([]byte{b})
		}
		check("byte by byte", single)
		for cut := 1; cut < len(stream); cut++ {
			term := New(Options{Cols: cols, Rows: rows, Scrollback: 50})
			term.Write(stream[:cut])
			term.Write(stream[cut:])
			check(fmt.Sprint("cut at ", cut), term)
		}
		if whole.Faults() != 0 {
			t.Fatalf("seed %d: %d faults", seed, whole.Faults())
		}
	}
}

// TestState_roundTrip restores at random points and goes on.
func TestState_roundTrip(t *testing.T) {
	for seed := range uint64(400) {
		g := newGenerator(seed, false)
		a := New(Options{Cols: 2 + g.r.IntN(60), Rows: 1 + g.r.IntN(20), Scrollback: 40})
		for range 5 {
			a.Write(g.stream(20))
			if g.r.IntN(2) == 0 {
				a.Resize(2+g.r.IntN(60), 1+g.r.IntN(20))
			}
			state := a.State(g.r.IntN(50) - 1)
			b, err := Restore(state)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if d := a.Diff(b); d != "" {
				t.Fatalf("seed %d: %s", seed, d)
			}
			tail := g.stream(20)
			cols, rows := 2+g.r.IntN(60), 1+g.r.IntN(20)
			a.Write(tail)
			b.Write(tail)
			if d := a.Diff(b); d != "" {
				t.Fatalf("seed %d, later: %s", seed, d)
			}
			full, err := Restore(a.State(-1))
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if x, y := a.Text(TextOptions{History: -1}), full.Text(TextOptions{History: -1}); x != y {
				t.Fatalf("seed %d: history differs:\n%s\n---\n%s", seed, x, y)
			}
			a.Resize(cols, rows)
			full.Resize(cols, rows)
			if d := a.Diff(full); d != "" {
				t.Fatalf("seed %d, resized to %dx%d: %s", seed, cols, rows, d)
			}
		}
		if a.Faults() != 0 {
			t.Fatalf("seed %d: faults", seed)
		}
	}
}

// TestRepaint_self writes Repaints into our own terminal.
func TestRepaint_self(t *testing.T) {
	for seed := range uint64(200) {
		g := newGenerator(seed, true)
		a := New(Options{Cols: 2 + g.r.IntN(60), Rows: 1 + g.r.IntN(20), Scrollback: 40})
		a.Write(g.stream(60))
		b := New(Options{Cols: a.cols, Rows: a.rows, Scrollback: 40})
		p := a.Repaint()
		b.Write(p)
		if got, want := strings.Join(screenText(b), "\n"), strings.Join(screenText(a), "\n"); got != want {
			t.Fatalf("seed %d:\n%s\n---\n%s", seed, got, want)
		}
		if n := len(b.TakeReplies()); n != 0 {
			t.Fatalf("seed %d: the repaint asks", seed)
		}
	}
}

// TestWrite_fault breaks a terminal on purpose: it must come back empty and go
// on behind the byte that failed.
func TestWrite_fault(t *testing.T) {
	for name, damage := range map[string]func(*Terminal){
		"no rows":  func(t *Terminal) { t.main.rows = nil },
		"nil row":  func(t *Terminal) { t.main.setRow(t.main.y, nil) },
		"cursor":   func(t *Terminal) { t.main.y = 99 },
		"no style": func(t *Terminal) { t.main.row(0).cells = []cell{blank(77)}; t.styles.limit = 0 },
	} {
		t.Run(name, func(t *testing.T) {
			term := New(Options{Cols: 20, Rows: 5})
			term.Write([]byte(lines(0, 20)))
			damage(term)
			if n, err := term.Write([]byte("x\x1b[1mlost\r\n\x1b[Hafter")); n != 19 || err != nil {
				t.Fatalf("wrote %d, %v", n, err)
			}
			if term.Faults() == 0 {
				t.Fatal("no fault")
			}
			if got := term.Text(TextOptions{}); !strings.HasPrefix(got, "after\n") {
				t.Errorf("screen %q", got)
			}
			term.main.rows = nil
			term.Resize(30, 4)
			term.Write([]byte("here"))
			if got := term.Text(TextOptions{}); got != "here\n" {
				t.Errorf("after a failed resize: %q", got)
			}
		})
	}
}
