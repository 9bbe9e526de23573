package vt

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// TestRepaint_size: 80×24 of log text takes at most 6 KiB, anything at most 64.
func TestRepaint_size(t *testing.T) {
	for name, p := range payloads() {
		term := New(Options{Cols: 80, Rows: 24})
		term.Write(p[:8<<10])
		if n := len(term.Repaint()); n > 6<<10 {
			t.Errorf("%s: %d bytes", name, n)
		}
	}
	full := New(Options{Cols: 80, Rows: 24})
	for i := range 30 {
		fmt.Fprintf(full, "\x1b[2m2026-11-30T19:02:47Z\x1b[0m \x1b[32mINFO\x1b[0m request %d served path=/api/sessions/%d status=\x1b[1m200\x1b[0m ms=%d\r\n", i, i, i*3)
	}
	if n := len(full.Repaint()); n > 6<<10 {
		t.Errorf("coloured log: %d bytes", n)
	}

	big := New(Options{Cols: 1000, Rows: 1000})
	for i := range 1100 {
		fmt.Fprintf(big, "\x1b[38;2;%d;%d;%dm\x1b]8;;http://example.com/%s%d\a", i&255, i>>3, i*7&255, strings.Repeat("x", 500), i)
		for j := range 60 {
			fmt.Fprintf(big, "\x1b[48;5;%dm%d日e\u0301", j, i*j)
		}
		big.Write([]byte("\r\n"))
	}
	p := big.Repaint()
	if len(p) > 64<<10 || len(p) == 0 {
		t.Errorf("1000×1000: %d bytes", len(p))
	}
	again := New(Options{Cols: 1000, Rows: 1000})
	again.Write(p)
	if a, b := again.lastLine(), big.lastLine(); a != b {
		t.Errorf("the row at the cursor is %q, want %q", clip(a, 40), clip(b, 40))
	}
}

// TestRepaint_bound fills every place that costs bytes.
func TestRepaint_bound(t *testing.T) {
	for name, fill := range map[string]func(*Terminal){
		"clusters": func(t *Terminal) {
			fmt.Fprint(t, strings.Repeat("a"+strings.Repeat("\U000E0100", maxClusterRunes-1), 3000))
		},
		"styles": func(t *Terminal) {
			for i := range 100_000 {
				fmt.Fprintf(t, "\x1b[1;3;4:3;7;9;53;38;2;%d;%d;7;48;2;9;%d;%d;58:2::%d:1:2mx", i&255, i>>8&255, i&255, i>>8&255, i&127)
			}
		},
		"links": func(t *Terminal) {
			for i := range 2000 {
				fmt.Fprintf(t, "\x1b]8;id=%d;http://h/%s\x1b\\x", i, strings.Repeat("y", maxURI-20))
			}
		},
		"protected": func(t *Terminal) { fmt.Fprint(t, strings.Repeat("\x1b[1\"qa\x1b[0\"qb", 50_000)) },
		"halves":    func(t *Terminal) { fmt.Fprint(t, strings.Repeat("\x1b[31m日\x1b[D\x1b[32mx", 50_000)) },
		"wraps":     func(t *Terminal) { fmt.Fprint(t, strings.Repeat("\x1b[999Gab", 5000)) },
	} {
		term := New(Options{Cols: maxSize, Rows: maxSize})
		for _, screen := range []string{"", "\x1b[?1049h"} {
			fmt.Fprint(term, screen, strings.Repeat("\x1b[C\x1bH", maxSize), "\x1b[H")
			fill(term)
			fmt.Fprint(term, "\x1b7\x1b[3;900r\x1b[2;2H")
			fmt.Fprintf(term, "\x1b]2;%s\x1b\\", strings.Repeat("title", 1000))
			for _, unfinished := range []string{"", "\x1b]8;;" + strings.Repeat("u", 1<<16), "\x1b[" + strings.Repeat("38:2:", 200), "\x1bP" + strings.Repeat("1;", 200)} {
				fmt.Fprint(term, unfinished)
				if n := len(term.Repaint()); n > 64<<10 {
					t.Errorf("%s, screen %q, behind %.9q: %d bytes", name, screen, unfinished, n)
				}
				fmt.Fprint(term, "\x18")
			}
		}
		if term.Faults() != 0 {
			t.Errorf("%s: %d faults", name, term.Faults())
		}
	}
}

// TestRepaint_unfinished cuts streams inside of sequences: the tail must go on
// where the stream was.
func TestRepaint_unfinished(t *testing.T) {
	stream := "a\x1b[1;31mb\x1b]2;some title\x1b\\c\u65e5\U0001f600d\x1b[3;4Hx\x1b(0q\x1b(B\x1bP$qm\x1b\\y\x1b_apc\x1b\\z\x1b[38:2::1:2:3me\x1b[?25l\x1b[2 q\x1b]8;id=1;http://h\x1b\\l\x1b]8;;\x1b\\e\u0301"
	for cut := range stream {
		a := New(Options{Cols: 20, Rows: 5})
		a.Write([]byte(stream[:cut]))
		b := New(Options{Cols: 20, Rows: 5})
		b.Write(a.Repaint())
		a.Write([]byte(stream[cut:]))
		b.Write([]byte(stream[cut:]))
		// What the holder answers is not the repaint's business.
		a.TakeReplies()
		b.TakeReplies()
		for y := range a.rows {
			if d := a.diffRow(b, a.cur.row(y), b.cur.row(y)); d != "" {
				t.Errorf("cut at %d, row %d: %s\nrepaint %q", cut, y, d, a.Repaint())
			}
		}
		if a.cur.x != b.cur.x || a.cur.y != b.cur.y || a.modes != b.modes || a.observed.Title != b.observed.Title {
			t.Errorf("cut at %d: cursor %d,%d and %d,%d, titles %q and %q", cut, a.cur.x, a.cur.y, b.cur.x, b.cur.y, a.observed.Title, b.observed.Title)
		}
	}
}

// TestRepaint_inert: unfinished strings that act are not carried on.
func TestRepaint_inert(t *testing.T) {
	for _, s := range []string{"\x1b]52;c;aGVs", "\x1b]9;note", "\x1b]777;notify;a", "\x1b]7501;state=do", "\x1b]10;", "\x1b]4;1;", "\x1bP$q", "\x1bP+q54"} {
		term := New(Options{Cols: 20, Rows: 5})
		term.Write([]byte(s))
		again := New(Options{Cols: 20, Rows: 5})
		again.Write(term.Repaint())
		again.Write([]byte("bG8=;?\x1b\\"))
		o := again.observed
		if again.Text(TextOptions{}) != "" || len(again.TakeReplies()) > 0 || o.Clipboard.Count+o.Notification.Count+o.Program.Count > 0 {
			t.Errorf("%q acts after a repaint: %+v, screen %q", s, o, again.Text(TextOptions{}))
		}
	}
}

// TestRepaint_asks: a Repaint holds no bell, no query of the table and no OSC
// string but titles and links, whatever the stream was.
func TestRepaint_asks(t *testing.T) {
	for seed := range uint64(1000) {
		g := newGenerator(seed, false)
		term := New(Options{Cols: 2 + g.r.IntN(50), Rows: 1 + g.r.IntN(16)})
		term.Write(g.stream(60))
		repaint := term.Repaint()
		if kept := NewQueryFilter().Filter(nil, repaint); !bytes.HasPrefix(repaint, kept) || len(kept) < len(repaint)-maxRepaintString {
			t.Errorf("seed %d: a query in %q", seed, repaint)
		}
		if bytes.IndexByte(repaint, '\a') >= 0 {
			t.Errorf("seed %d: a bell in %q", seed, repaint)
		}
		for rest := repaint; ; {
			_, after, found := bytes.Cut(rest, []byte("\x1b]"))
			if !found {
				break
			}
			number := after[:min(len(after), bytes.IndexByte(append(after[:len(after):len(after)], ';'), ';'))]
			switch string(number) {
			case "", "0", "1", "2", "8", "7999":
			default:
				t.Errorf("seed %d: OSC %s in %q", seed, number, repaint)
			}
			rest = after
		}
	}
}
