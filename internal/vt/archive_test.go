package vt

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func pageText(p Page) []string {
	var out []string
	for i := len(p.Lines) - 1; i >= 0; i-- {
		text := ""
		for _, r := range p.Lines[i].Runs {
			text += r.Text
		}
		out = append(out, text)
	}
	return out
}

func lines(from, to int) string {
	var b strings.Builder
	for i := from; i < to; i++ {
		fmt.Fprintf(&b, "line %d\r\n", i)
	}
	return b.String()
}

// TestPage goes through the archive in small pages.
func TestPage(t *testing.T) {
	term := New(Options{Cols: 20, Rows: 5})
	term.Write([]byte(lines(0, 1000)))
	var got []string
	before, last := LineID(0), LineID(1<<62)
	for {
		p := term.Page(before, 37)
		got = append(pageText(p), got...)
		for _, l := range p.Lines {
			if l.ID >= last {
				t.Fatalf("id %d behind %d", l.ID, last)
			}
			last = l.ID
		}
		if !p.More {
			break
		}
		before = last
	}
	// Four lines and the empty one are on the screen.
	if len(got) != 996 || got[0] != "line 0" || got[995] != "line 995" || last != 1 {
		t.Fatalf("%d lines, %q … %q, oldest id %d", len(got), got[0], got[len(got)-1], last)
	}
	if p := term.Page(1, 10); len(p.Lines) != 0 || p.More {
		t.Errorf("before the oldest: %+v", p)
	}
	if p := term.Page(0, 0); len(p.Lines) != 0 {
		t.Errorf("no lines asked for: %+v", p)
	}
}

// TestPage_logical: soft-wrapped rows are one line, whatever the width, and its
// beginning shows while the end is on the screen.
func TestPage_logical(t *testing.T) {
	term := New(Options{Cols: 10, Rows: 3})
	term.Write([]byte("0123456789abcdefghijKLMNOPQRST\r\n\x1b[31mred\x1b[m 日本\r\n"))
	p := term.Page(0, 10)
	if len(p.Lines) != 1 || !p.Lines[0].Open || p.Lines[0].Runs[0].Text != "0123456789abcdefghij" {
		t.Fatalf("%+v", p)
	}
	id := p.Lines[0].ID
	term.Write([]byte("\r\n\r\n\r\n\r\n"))
	p = term.Page(0, 10)
	if got := pageText(p); got[0] != "0123456789abcdefghijKLMNOPQRST" || got[1] != "red 日本" || p.Lines[len(p.Lines)-1].ID != id {
		t.Fatalf("%q %+v", got, p)
	}
	b, err := json.Marshal(p.Lines[len(p.Lines)-2])
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"id":2,"runs":[{"t":"red","fg":"1"},{"t":" 日本"}]}`; string(b) != want {
		t.Errorf("JSON %s, want %s", b, want)
	}
}

// TestArchive_erase: ED 3 and RIS clear the scrollback and not the archive.
func TestArchive_erase(t *testing.T) {
	term := New(Options{Cols: 20, Rows: 5})
	term.Write([]byte(lines(0, 50)))
	want := pageText(term.Page(0, 100))
	for _, s := range []string{"\x1b[3J", "\x1b[2J", "\x1bc"} {
		term.Write([]byte(s))
		if got := pageText(term.Page(0, 100)); strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%q changed the archive: %q", s, got)
		}
	}
	if term.scrollback.len() != 0 {
		t.Errorf("scrollback of %d", term.scrollback.len())
	}
}

// TestArchive_reprint: what is printed again is not kept twice; what looks like
// it and is not, is kept.
func TestArchive_reprint(t *testing.T) {
	term := New(Options{Cols: 20, Rows: 5})
	transcript := "start\r\n\r\n" + lines(0, 30) + "\r\nend\r\n"
	term.Write([]byte(transcript))
	first := pageText(term.Page(0, 1000))
	for range 3 {
		term.Write([]byte("\x1b[2J\x1b[3J\x1b[H" + transcript))
		if got := pageText(term.Page(0, 1000)); strings.Join(got, "\n") != strings.Join(first, "\n") {
			t.Fatalf("reprint: %q", got)
		}
	}
	// A reprint that goes on.
	term.Write([]byte("\x1b[2J\x1b[3J\x1b[H" + transcript + lines(100, 110)))
	got := pageText(term.Page(0, 1000))
	if len(got) != len(first)+10 || got[len(got)-1] != "line 105" {
		t.Fatalf("reprint that goes on: %q", got)
	}
	// Something else that begins alike.
	before := len(got)
	term.Write([]byte("\x1b[2J\x1b[3J\x1b[Hstart\r\n\r\nline 0\r\nsomething else\r\n" + lines(200, 210)))
	got = pageText(term.Page(0, 1000))
	if tail := strings.Join(got[before:], "|"); !strings.HasPrefix(tail, "start||line 0|something else|line 200") {
		t.Fatalf("lost in a wrong match: %q", tail)
	}
}

// TestArchive_alternate: what scrolls off the alternate screen is kept.
func TestArchive_alternate(t *testing.T) {
	term := New(Options{Cols: 20, Rows: 5})
	term.Write([]byte("\x1b[?1049h" + lines(0, 20) + "\x1b[?1049l"))
	p := term.Page(0, 100)
	if got := pageText(p); len(got) != 16 || got[0] != "line 0" || !p.Lines[0].Alternate {
		t.Fatalf("%q", got)
	}
}

// TestArchive_resize: lines that come back to the screen and leave it again are
// there once.
func TestArchive_resize(t *testing.T) {
	term := New(Options{Cols: 30, Rows: 10})
	term.Write([]byte(lines(0, 60)))
	for _, size := range [][2]int{{30, 20}, {30, 5}, {12, 9}, {50, 9}, {5, 4}, {30, 10}} {
		term.Resize(size[0], size[1])
	}
	term.Write([]byte(lines(60, 100)))
	got := pageText(term.Page(0, 1000))
	seen := map[string]int{}
	for _, l := range got {
		seen[l]++
	}
	for i := range 80 {
		if l := fmt.Sprintf("line %d", i); seen[l] != 1 {
			t.Errorf("%q is there %d times", l, seen[l])
		}
	}
}

// TestArchive_bound: the archive forgets the oldest, and ids go on.
func TestArchive_bound(t *testing.T) {
	term := New(Options{Cols: 80, Rows: 5, Archive: 256 << 10})
	for i := range 200 {
		term.Write([]byte(lines(i*100, i*100+100)))
	}
	if n := term.archive.store.memory(); n > 300<<10 {
		t.Errorf("archive of %d bytes", n)
	}
	if term.archive.oldest() == 1 || term.ArchiveEnd() != 19997 {
		t.Errorf("ids %d to %d", term.archive.oldest(), term.ArchiveEnd())
	}
	none := New(Options{Cols: 80, Rows: 5, Archive: -1, Scrollback: -1})
	none.Write([]byte(lines(0, 100)))
	if p := none.Page(0, 10); len(p.Lines) != 0 || none.ybaseMain() != 0 {
		t.Errorf("%+v", p)
	}
}

// TestScrollback_bound: lines of any kind stay within the memory bound.
func TestScrollback_bound(t *testing.T) {
	term := New(Options{Cols: 1000, Rows: 3, Archive: 1 << 20})
	var row strings.Builder
	for i := range 300 {
		fmt.Fprintf(&row, "\x1b[38;2;%d;%d;%dme\u0301\u0302\u0303\u0304", i&255, i>>1, i*7&255)
	}
	term.Write([]byte(row.String()))
	for range 6000 {
		term.pushHistory()
	}
	if n := term.scrollback.memory(); n > scrollbackBytes+2*chunkSize {
		t.Errorf("scrollback of %d bytes", n)
	}
	if term.ybaseMain() != 6000 || term.missing == 0 {
		t.Errorf("%d rows above the screen", term.ybaseMain())
	}
	term.Resize(500, 5)
	if term.Faults() != 0 {
		t.Error("fault")
	}
}

func TestText(t *testing.T) {
	term := New(Options{Cols: 10, Rows: 4})
	term.Write([]byte("old\r\n0123456789wrap\r\n\x1b[1;31mred\x1b[m x\r\n"))
	for _, c := range []struct {
		o    TextOptions
		want string
	}{
		{TextOptions{}, "0123456789\nwrap\nred x\n"},
		{TextOptions{Join: true}, "0123456789wrap\nred x\n"},
		{TextOptions{History: -1}, "old\n0123456789\nwrap\nred x\n"},
		{TextOptions{History: 5, Join: true, Rows: true}, "old\n0123456789wrap\nred x\n\n"},
	} {
		if got := term.Text(c.o); got != c.want {
			t.Errorf("%+v: %q, want %q", c.o, got, c.want)
		}
	}
	if got, want := term.ANSI(TextOptions{Join: true}), "0123456789wrap\n\x1b[0;1;31mred\x1b[0m x\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	s := term.Screen()
	if len(s.Lines) != 4 || s.Lines[2].Runs[0].Fg != "1" || !s.Lines[2].Runs[0].Bold || !s.Lines[1].Wrapped || s.CursorY != 3 {
		t.Errorf("%+v", s)
	}
}

// archiveText is the whole archive, oldest first.
func archiveText(term *Terminal) []string {
	var out []string
	for before := LineID(0); ; {
		p := term.Page(before, maxPageLines)
		out = append(pageText(p), out...)
		if !p.More {
			return out
		}
		before = p.Lines[len(p.Lines)-1].ID
	}
}
