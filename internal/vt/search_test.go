package vt

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func mustPattern(t testing.TB, text string, o PatternOptions) *Pattern {
	t.Helper()
	p, err := NewPattern(text, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// searchAll goes on until there is no more, with bounds that make it stop often.
func searchAll(t testing.TB, term *Terminal, p *Pattern, o SearchOptions) []Match {
	t.Helper()
	var all []Match
	for range 100_000 {
		r := term.Search(p, o)
		all = append(all, r.Matches...)
		if !r.More {
			return all
		}
		if r.Next == o.Before {
			t.Fatalf("search does not go on from %+v", r.Next)
		}
		o.Before = r.Next
	}
	t.Fatal("search does not end")
	return nil
}

func filled(cols, rows int, text string) *Terminal {
	term := New(Options{Cols: cols, Rows: rows})
	term.Write([]byte(text))
	return term
}

func TestSearch_positions(t *testing.T) {
	for _, test := range []struct {
		name, text, find string
		options          PatternOptions
		want             []Match
	}{
		{"on screen", "one\r\ntwo needle\r\n", "needle", PatternOptions{}, []Match{
			{Line: 2, Row: 1, Column: 4, Rune: 4, Runes: 6, Cell: 4, Cells: 6, Text: "two needle"}}},
		{"two in a line, the last first", "ab ab", "ab", PatternOptions{}, []Match{
			{Line: 1, Row: 0, Column: 3, Rune: 3, Runes: 2, Cell: 3, Cells: 2, Text: "ab ab"},
			{Line: 1, Row: 0, Column: 0, Rune: 0, Runes: 2, Cell: 0, Cells: 2, Text: "ab ab"}}},
		{"case", "NeeDLE", "nEEdle", PatternOptions{}, []Match{
			{Line: 1, Runes: 6, Cells: 6, Text: "NeeDLE"}}},
		{"case asked for", "NeeDLE needle", "needle", PatternOptions{CaseSensitive: true}, []Match{
			{Line: 1, Column: 7, Rune: 7, Runes: 6, Cell: 7, Cells: 6, Text: "NeeDLE needle"}}},
		{"folding that changes the bytes", "\u212aelvin ÄÖÜ", "KELVIN äöü", PatternOptions{}, []Match{
			{Line: 1, Runes: 10, Cells: 10, Text: "\u212aelvin ÄÖÜ"}}},
		{"sigma", "ὈΔΥΣΣΕΎΣ", "σς", PatternOptions{}, []Match{
			{Line: 1, Column: 3, Rune: 3, Runes: 2, Cell: 3, Cells: 2, Text: "ὈΔΥΣΣΕΎΣ"}}},
		{"across a soft wrap", strings.Repeat("x", 18) + "needle", "needle", PatternOptions{}, []Match{
			{Line: 1, Row: 0, Column: 18, Rune: 18, Runes: 6, Cell: 18, Cells: 6, Text: strings.Repeat("x", 18) + "needle"}}},
		{"behind a soft wrap", strings.Repeat("x", 22) + "needle", "needle", PatternOptions{}, []Match{
			{Line: 1, Row: 1, Column: 2, Rune: 22, Runes: 6, Cell: 22, Cells: 6, Text: strings.Repeat("x", 22) + "needle"}}},
		{"wide characters", "日本語 and 語", "語", PatternOptions{}, []Match{
			{Line: 1, Column: 11, Rune: 8, Runes: 1, Cell: 11, Cells: 2, Text: "日本語 and 語"},
			{Line: 1, Column: 4, Rune: 2, Runes: 1, Cell: 4, Cells: 2, Text: "日本語 and 語"}}},
		{"a wide character that did not fit", strings.Repeat("x", 19) + "日本", "日本", PatternOptions{}, []Match{
			{Line: 1, Row: 1, Column: 0, Rune: 19, Runes: 2, Cell: 19, Cells: 4, Text: strings.Repeat("x", 19) + "日本"}}},
		{"a combining mark is part of its cell", "cafe\u0301 x", "\u0301", PatternOptions{}, []Match{
			{Line: 1, Column: 3, Rune: 4, Runes: 1, Cell: 3, Cells: 1, Text: "cafe\u0301 x"}}},
		{"behind a combining mark", "cafe\u0301 x", "x", PatternOptions{}, []Match{
			{Line: 1, Column: 5, Rune: 6, Runes: 1, Cell: 5, Cells: 1, Text: "cafe\u0301 x"}}},
		{"emoji with modifier", "a 👍🏽 b", "b", PatternOptions{}, []Match{
			{Line: 1, Column: 7, Rune: 5, Runes: 1, Cell: 7, Cells: 1, Text: "a 👍🏽 b"}}},
		{"skipped cells are spaces", "a\x1b[10Cb", "a          b", PatternOptions{}, []Match{
			{Line: 1, Runes: 12, Cells: 12, Text: "a          b"}}},
		{"colours", "\x1b[31mnee\x1b[32mdle\x1b[0m", "needle", PatternOptions{}, []Match{
			{Line: 1, Runes: 6, Cells: 6, Text: "needle"}}},
		{"regexp", "id=42 id=7", `id=\d+$`, PatternOptions{Regexp: true}, []Match{
			{Line: 1, Column: 6, Rune: 6, Runes: 4, Cell: 6, Cells: 4, Text: "id=42 id=7"}}},
		{"regexp folds", "ERROR: x", `^error`, PatternOptions{Regexp: true}, []Match{
			{Line: 1, Runes: 5, Cells: 5, Text: "ERROR: x"}}},
		{"regexp behind wide ones", "日本語 42", `\d+`, PatternOptions{Regexp: true}, []Match{
			{Line: 1, Column: 7, Rune: 4, Runes: 2, Cell: 7, Cells: 2, Text: "日本語 42"}}},
		{"empty matches are none", "aaa", `b*`, PatternOptions{Regexp: true}, nil},
		{"a pattern with operators as text", "a.b a+b", "a+b", PatternOptions{}, []Match{
			{Line: 1, Column: 4, Rune: 4, Runes: 3, Cell: 4, Cells: 3, Text: "a.b a+b"}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			term := filled(20, 5, test.text)
			got := searchAll(t, term, mustPattern(t, test.find, test.options), SearchOptions{})
			if d := cmp.Diff(test.want, got); d != "" {
				t.Error(d)
			}
			// The same once it is history.
			term.Write([]byte("\r\n" + strings.Repeat("\r\n", 10)))
			got = searchAll(t, term, mustPattern(t, test.find, test.options), SearchOptions{})
			for i := range test.want {
				test.want[i].Row, test.want[i].Column = -1, 0
			}
			if d := cmp.Diff(test.want, got); d != "" {
				t.Errorf("in the history: %s", d)
			}
		})
	}
}

func TestSearch_a_line_that_leaves_the_screen(t *testing.T) {
	term := filled(10, 3, "first\r\n"+strings.Repeat("x", 8)+"needle-"+strings.Repeat("y", 25))
	want := []Match{{Line: 2, Row: -1, Rune: 8, Runes: 6, Cell: 8, Cells: 6, Text: strings.Repeat("x", 8) + "needle-" + strings.Repeat("y", 25)}}
	if d := cmp.Diff(want, searchAll(t, term, mustPattern(t, "needle", PatternOptions{}), SearchOptions{})); d != "" {
		t.Error(d)
	}
	want[0].Rune, want[0].Runes, want[0].Cell, want[0].Cells, want[0].Row, want[0].Column = 14, 3, 14, 3, 0, 4
	if d := cmp.Diff(want, searchAll(t, term, mustPattern(t, "-yy", PatternOptions{}), SearchOptions{})); d != "" {
		t.Error(d)
	}
	got := searchAll(t, term, mustPattern(t, "yyyyy$", PatternOptions{Regexp: true}), SearchOptions{})
	if len(got) != 1 || got[0].Row != 2 || got[0].Column != 5 {
		t.Errorf("end of the line: %+v", got)
	}
}

// Lines that a resize takes back onto the screen are found once, where they are.
func TestSearch_lines_that_come_back(t *testing.T) {
	term := New(Options{Cols: 40, Rows: 5})
	for i := range 20 {
		fmt.Fprintf(term, "line %d of some that wrap when it gets narrow\r\n", i)
	}
	p := mustPattern(t, "line", PatternOptions{})
	check := func(what string) {
		t.Helper()
		got := searchAll(t, term, p, SearchOptions{Max: 3})
		if len(got) != 20 {
			t.Errorf("%s: %d matches", what, len(got))
			return
		}
		for i, m := range got {
			if !strings.HasPrefix(m.Text, fmt.Sprintf("line %d of", 19-i)) || m.Line != LineID(20-i) {
				t.Errorf("%s, match %d: %+v", what, i, m)
			}
			if m.Row >= 0 && !strings.HasPrefix(string(term.appendPlain(nil, term.main.row(m.Row).cells)[m.Column:]), "line") {
				t.Errorf("%s, match %d is not at row %d, column %d", what, i, m.Row, m.Column)
			}
		}
		if n := strings.Count(term.Text(TextOptions{History: -1, Join: true}), "line"); n != 20 {
			t.Errorf("%s: the text has %d lines", what, n)
		}
	}
	check("before")
	for _, size := range [][2]int{{40, 12}, {40, 6}, {25, 14}, {60, 9}, {60, 3}, {60, 30}} {
		term.Resize(size[0], size[1])
		check(fmt.Sprint(size))
	}
}

func TestSearch_both_screens(t *testing.T) {
	term := filled(20, 3, "hidden needle\x1b[?1049h\x1b[Hshown needle")
	want := []Match{
		{Line: 4, Row: 0, Column: 6, Rune: 6, Runes: 6, Cell: 6, Cells: 6, Alternate: true, Text: "shown needle"},
		{Line: 1, Row: 0, Column: 7, Rune: 7, Runes: 6, Cell: 7, Cells: 6, Text: "hidden needle"},
	}
	p := mustPattern(t, "needle", PatternOptions{})
	if d := cmp.Diff(want, searchAll(t, term, p, SearchOptions{})); d != "" {
		t.Error(d)
	}
	// What scrolls off the alternate screen says so.
	term.Write([]byte("\r\n\n\n\n\n\x1b[?1049l"))
	got := searchAll(t, term, p, SearchOptions{})
	if len(got) != 2 || !got[1].Alternate || got[1].Row != -1 || got[1].Text != "shown needle" || got[0].Row != 0 || got[0].Alternate {
		t.Errorf("after scrolling: %+v", got)
	}
}

func TestSearch_bounds(t *testing.T) {
	term := New(Options{Cols: 40, Rows: 5})
	for i := range 3000 {
		fmt.Fprintf(term, "line %d needle needle\r\n", i)
	}
	p := mustPattern(t, "needle", PatternOptions{})
	all := searchAll(t, term, p, SearchOptions{Max: maxMatches})
	if len(all) != 6000 {
		t.Fatalf("%d matches, want 6000", len(all))
	}
	for i, m := range all {
		line := 3000 - i/2
		if m.Line != LineID(line) || m.Text != fmt.Sprintf("line %d needle needle", line-1) || (i > 0 && i%2 == 1) != (m.Rune < all[i-i%2].Rune) {
			t.Fatalf("match %d: %+v", i, m)
		}
	}
	for _, o := range []SearchOptions{{Max: 1}, {Max: 3}, {Work: 1}, {Work: 1000, Max: 7}} {
		if d := cmp.Diff(all, searchAll(t, term, p, o)); d != "" {
			t.Errorf("%+v: %s", o, d)
		}
	}
	if r := term.Search(p, SearchOptions{}); len(r.Matches) != defaultMatches || !r.More {
		t.Errorf("%d matches by default, more %t", len(r.Matches), r.More)
	}
	none := mustPattern(t, "absent", PatternOptions{})
	if r := term.Search(none, SearchOptions{Work: 10_000}); len(r.Matches) != 0 || !r.More || r.Work > 11_000 {
		t.Errorf("work is not bounded: %+v", r)
	}
	// A cursor from another life finds nothing wrong.
	for _, before := range []SearchCursor{{Line: 1}, {Line: 1 << 62}, {Line: 1 << 62, Rune: 5}, {Line: 5, Rune: 1 << 30}} {
		term.Search(p, SearchOptions{Before: before})
	}
}

// A cursor stays good while the program prints.
func TestSearch_goes_on_after_more_output(t *testing.T) {
	term := New(Options{Cols: 40, Rows: 5})
	for i := range 20 {
		fmt.Fprintf(term, "needle %d\r\n", i)
	}
	p := mustPattern(t, "needle", PatternOptions{})
	var found []string
	o := SearchOptions{Max: 1}
	for i := 20; ; i++ {
		r := term.Search(p, o)
		for _, m := range r.Matches {
			found = append(found, m.Text)
		}
		if !r.More {
			break
		}
		o.Before = r.Next
		fmt.Fprintf(term, "needle %d\r\n", i)
	}
	var want []string
	for i := 19; i >= 0; i-- {
		want = append(want, fmt.Sprintf("needle %d", i))
	}
	if d := cmp.Diff(want, found); d != "" {
		t.Error(d)
	}
}

// Steps find what one search finds, and keep the bounds of the whole.
func TestSearching(t *testing.T) {
	term := New(Options{Cols: 40, Rows: 5})
	for i := range 20_000 {
		fmt.Fprintf(term, "line %d %s\r\n", i, map[bool]string{true: "needle", false: "hay"}[i%500 == 0])
	}
	p := mustPattern(t, "needle", PatternOptions{})
	run := func(o SearchOptions) (SearchResult, int) {
		s := NewSearching(p, o)
		steps := 1
		for !s.Step(term) {
			steps++
		}
		return s.Result(), steps
	}
	all, steps := run(SearchOptions{Work: 1 << 30})
	if len(all.Matches) != 40 || all.More || steps < 2 {
		t.Errorf("%d matches in %d steps, more %t", len(all.Matches), steps, all.More)
	}
	if d := cmp.Diff(all.Matches, searchAll(t, term, p, SearchOptions{})); d != "" {
		t.Error(d)
	}
	few, _ := run(SearchOptions{Work: 1 << 30, Max: 3})
	if d := cmp.Diff(all.Matches[:3], few.Matches); d != "" || !few.More || few.Next != (SearchCursor{Line: few.Matches[2].Line, Rune: few.Matches[2].Rune}) {
		t.Errorf("three: %+v %s", few, d)
	}
	if short, _ := run(SearchOptions{Work: 300 << 10}); !short.More || short.Work > 310<<10 {
		t.Errorf("work %d, more %t", short.Work, short.More)
	}
}

func TestSearch_long_line(t *testing.T) {
	term := New(Options{Cols: 80, Rows: 5})
	term.Write([]byte(strings.Repeat("a", 5000) + "NEEDLE" + strings.Repeat("b", 5000) + "\r\n"))
	got := searchAll(t, term, mustPattern(t, "needle", PatternOptions{}), SearchOptions{})
	if len(got) != 1 || got[0].TextStart != 5000-excerptBefore || got[0].Rune != 5000 || utf8.RuneCountInString(got[0].Text) != excerptRunes {
		t.Errorf("%+v", got)
	}
	// A line that fits is whole, and the end of one that does not is full.
	term.Write([]byte(strings.Repeat("c", 150) + "THREAD\r\n" + strings.Repeat("d", 300) + "yarn\r\n"))
	got = searchAll(t, term, mustPattern(t, "thread", PatternOptions{}), SearchOptions{})
	if len(got) != 1 || got[0].TextStart != 0 || len(got[0].Text) != 156 {
		t.Errorf("%+v", got)
	}
	got = searchAll(t, term, mustPattern(t, "yarn", PatternOptions{}), SearchOptions{})
	if len(got) != 1 || got[0].TextStart != 104 || len(got[0].Text) != excerptRunes {
		t.Errorf("%+v", got)
	}
}

// Patterns that make a regexp read a long line again and again stay bounded.
func TestSearch_hostile_pattern(t *testing.T) {
	term := New(Options{Cols: 1000, Rows: 2})
	term.Write([]byte(strings.Repeat("a", 60_000) + "\r\n"))
	for _, text := range []string{`a+b|a`, `.*needle|.`, `(\pL?){100}(\pL?){100}x|a`} {
		p := mustPattern(t, text, PatternOptions{Regexp: true})
		r := term.Search(p, SearchOptions{Max: maxMatches})
		if n := len(r.Matches); n < 1 || n > max(1, lineBudget/60_000/p.weight) {
			t.Errorf("%s: %d matches", text, n)
		}
	}
}

// Whatever was printed, a search ends, changes nothing, and finds the same in a
// restored terminal.
func FuzzSearch(f *testing.F) {
	f.Add([]byte("needle\r\n\x1b[3J日本\u0301\x1b[?1049hx\x1b[5;5Hneedle"), "e", uint8(10), false)
	f.Add([]byte("\x1bc\x1b[10;20rabc\x1bM\x1b[2J"), `\w+`, uint8(3), true)
	f.Fuzz(func(t *testing.T, stream []byte, text string, cols uint8, expression bool) {
		p, err := NewPattern(text, PatternOptions{Regexp: expression})
		if err != nil {
			return
		}
		term := New(Options{Cols: int(cols), Rows: 5})
		half := len(stream) / 2
		term.Write(stream[:half])
		term.Resize(int(cols)+7, 3)
		term.Write(stream[half:])
		if term.Faults() > 0 {
			t.Skip("the terminal was reset")
		}
		before := term.State(-1)
		got := searchAll(t, term, p, SearchOptions{Max: 3, Work: 500})
		if !bytes.Equal(before, term.State(-1)) {
			t.Error("a search changed the terminal")
		}
		restored, err := Restore(before)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(got, searchAll(t, restored, p, SearchOptions{})); d != "" {
			t.Errorf("restored: %s", d)
		}
		for _, m := range got {
			if m.Cells < 1 || m.Cell < 0 || m.Runes < 1 || utf8.RuneCountInString(m.Text) > excerptRunes || m.TextStart > m.Rune || m.Row >= term.rows {
				t.Errorf("match %+v", m)
			}
		}
	})
}

func TestNewPattern_refuses(t *testing.T) {
	for _, test := range []struct {
		text    string
		options PatternOptions
	}{
		{"", PatternOptions{}},
		{strings.Repeat("x", MaxPattern+1), PatternOptions{}},
		{"\xff", PatternOptions{}},
		{"a\x1b", PatternOptions{}},
		{"(", PatternOptions{Regexp: true}},
		{`a{1001}`, PatternOptions{Regexp: true}},
		{`(\pL?){900}(\pL?){900}`, PatternOptions{Regexp: true}},
		{`(?=x)`, PatternOptions{Regexp: true}},
		{`\1`, PatternOptions{Regexp: true}},
	} {
		if _, err := NewPattern(test.text, test.options); !errors.Is(err, ErrPattern) {
			t.Errorf("%.20q: %v", test.text, err)
		}
	}
}

func TestSearchCursor_text(t *testing.T) {
	for _, c := range []SearchCursor{{}, {Line: 7}, {Line: 123456789, Rune: 42}} {
		text, err := c.MarshalText()
		var back SearchCursor
		if err = errors.Join(err, back.UnmarshalText(text)); err != nil || back != c {
			t.Errorf("%+v: %q, %+v, %v", c, text, back, err)
		}
	}
	for _, bad := range []string{"x", "1", "1.", ".1", "-1.0", "1.-1", "1.2.3", "99999999999999999999.0", "1.99999999999"} {
		if err := new(SearchCursor).UnmarshalText([]byte(bad)); err == nil {
			t.Errorf("%q is a cursor", bad)
		}
	}
}

// randomLines is output of many kinds without anything that moves upwards.
func randomLines(r *rand.Rand, n int) string {
	words := []string{"needle", "NEEDLE", "hay", "日本語", "e\u0301", "👍🏽", "ｗｉｄｅ", "K", "\u212a", "ß", "Straße", "  ", "\x1b[5C", "\x1b[1;31m", "\x1b[0m", "\x1b[44m", "x"}
	var b strings.Builder
	for range n {
		for range r.IntN(12) {
			b.WriteString(words[r.IntN(len(words))])
		}
		b.WriteString("\x1b[m\r\n")
	}
	return b.String()
}

// Against the text of cells: the same lines, the same matches, and the cells of
// a match hold its text.
func TestSearch_random(t *testing.T) {
	patterns := []struct {
		text string
		o    PatternOptions
	}{{"needle", PatternOptions{}}, {"K", PatternOptions{}}, {"語", PatternOptions{}}, {"e", PatternOptions{CaseSensitive: true}}, {"  ", PatternOptions{}},
		{`n\w+e`, PatternOptions{Regexp: true}}, {`[^ ]+$`, PatternOptions{Regexp: true, CaseSensitive: true}}, {"stra\u1e9ee", PatternOptions{}}}
	for seed := range uint64(60) {
		r := rand.New(rand.NewPCG(seed, 7))
		term := New(Options{Cols: 10 + r.IntN(60), Rows: 2 + r.IntN(10)})
		term.Write([]byte(randomLines(r, 40)))
		term.Resize(10+r.IntN(60), 2+r.IntN(10))
		term.Write([]byte(randomLines(r, 20)))
		want := cellLines(term)
		for _, test := range patterns {
			p := mustPattern(t, test.text, test.o)
			expression := test.text
			if !test.o.Regexp {
				expression = regexp.QuoteMeta(expression)
			}
			if !test.o.CaseSensitive {
				expression = "(?i)" + expression
			}
			re := regexp.MustCompile(expression)
			got := searchAll(t, term, p, SearchOptions{Max: 1 + r.IntN(5)})
			i := 0
			for id := len(want) - 1; id >= 0; id-- {
				text := term.appendPlain(nil, want[id])
				places := re.FindAllIndex(text, -1)
				for k := len(places) - 1; k >= 0; k-- {
					if places[k][0] == places[k][1] {
						continue
					}
					if i == len(got) {
						t.Fatalf("seed %d, %q: only %d matches", seed, test.text, i)
					}
					m := got[i]
					i++
					if m.Line != LineID(id+1) || m.Rune != utf8.RuneCount(text[:places[k][0]]) || m.Runes != utf8.RuneCount(text[places[k][0]:places[k][1]]) {
						t.Fatalf("seed %d, %q in line %d %q: %+v", seed, test.text, id+1, text, m)
					}
					cells := want[id]
					padded := append(append([]cell{}, cells...), make([]cell, max(0, m.Cell+m.Cells-len(cells)))...)
					marked := string(term.appendPlain(nil, append(padded[m.Cell:m.Cell+m.Cells:m.Cell+m.Cells], narrow('|', 0))))
					matched := string(text[places[k][0]:places[k][1]])
					if !strings.Contains(marked, matched) || padded[m.Cell].withoutTag() == wideTail {
						t.Fatalf("seed %d: cells %d+%d hold %q, not %q", seed, m.Cell, m.Cells, marked, matched)
					}
					if m.Row >= 0 && !strings.HasPrefix(matched, string(term.appendCellText(nil, term.cur.row(m.Row).at(m.Column)))) && matched[0] != ' ' && term.cur.row(m.Row).at(m.Column).number() != 0 && !term.cur.row(m.Row).at(m.Column).isCluster() {
						t.Fatalf("seed %d: row %d column %d does not begin %q", seed, m.Row, m.Column, matched)
					}
				}
			}
			if i != len(got) {
				t.Fatalf("seed %d, %q: %d matches, want %d", seed, test.text, len(got), i)
			}
		}
	}
}

// cellLines are all lines as cells, by their id less one.
func cellLines(t *Terminal) [][]cell {
	var lines [][]cell
	var l line
	for i := range t.archive.store.len() {
		c, k := t.archive.store.at(i)
		t.decodeRecord(&l, c.record(k), c.table.list, maxCells)
		lines = append(lines, append([]cell(nil), l.cells...))
	}
	screen := t.screenLines()
	t.archivedLines(screen)
	for _, s := range screen {
		if !s.archived {
			lines = append(lines, s.cells)
		}
	}
	return lines
}

// Searching records as they are stored must not depend on how many cells they
// would be.
func TestSearch_allocates_little(t *testing.T) {
	term := New(Options{Cols: 80, Rows: 24})
	for i := range 5000 {
		fmt.Fprintf(term, "\x1b[32mline\x1b[0m %d 日本語 of the log\r\n", i)
	}
	p := mustPattern(t, "absent", PatternOptions{})
	if n := testing.AllocsPerRun(5, func() { term.Search(p, SearchOptions{Work: 1 << 30}) }); n > 200 {
		t.Errorf("%.0f allocations for 5,000 lines", n)
	}
}

func BenchmarkSearch(b *testing.B) {
	for name, p := range payloads() {
		if name == "ink" || name == "yes" {
			continue
		}
		term := New(Options{Cols: 80, Rows: 24})
		for term.archive.store.len() < 10_000 {
			term.Write(p)
		}
		for _, kind := range []string{"text", "regexp"} {
			pattern := mustPattern(b, "absent thing", PatternOptions{Regexp: kind == "regexp"})
			b.Run(name+"/"+kind, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					term.Search(pattern, SearchOptions{Work: 1 << 30})
				}
				b.ReportMetric(float64(term.archive.store.len()), "lines")
			})
		}
	}
}
