package vt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// A cut is a terminal somewhere in a stream, and what follows.
type cut struct {
	cols, rows int
	// before and after are writes and resizes.
	before, after []oracleOp
	// pages asks for the history to be written before the Repaint.
	pages bool
	// dirt is what the terminal that gets the Repaint showed before its reset.
	dirt []byte
}

func (c *cut) String() string {
	show := func(ops []oracleOp) string {
		var out []string
		for _, op := range ops {
			if op.Resize != nil {
				out = append(out, fmt.Sprintf("→ %dx%d", op.Resize[0], op.Resize[1]))
			} else {
				out = append(out, fmt.Sprintf("%q", op.Write))
			}
		}
		return strings.Join(out, " ")
	}
	return fmt.Sprintf("%dx%d, stream %s, tail %s", c.cols, c.rows, show(c.before), show(c.after))
}

// Kinds of cuts.
const (
	cutPlain   = iota
	cutResized // with resizes before the cut
	cutPages   // with a history
	cutKinds
)

// randomCut makes a cut of a kind at a random byte.
func randomCut(seed uint64) *cut {
	kind := int(seed % cutKinds)
	g := newGenerator(seed, seed/cutKinds%3 == 0)
	c := &cut{cols: 2 + g.r.IntN(50), rows: 1 + g.r.IntN(16), pages: kind == cutPages}
	write := func(p []byte) oracleOp { return oracleOp{Write: p} }
	cutOff := func(p []byte) []byte { return p[:len(p)-g.r.IntN(min(12, len(p)))] }
	switch kind {
	case cutResized:
		g.noClusters = true
		for range 1 + g.r.IntN(3) {
			c.before = append(c.before, write(g.stream(20)),
				oracleOp{Resize: []int{2 + g.r.IntN(50), 1 + g.r.IntN(16)}})
		}
		c.before = append(c.before, write(cutOff(g.stream(12))))
	case cutPages:
		c.rows++ // wrapping into the only row empties the scrollback
		g.log, g.noClusters = true, true
		c.before = []oracleOp{write(cutOff(g.stream(90)))}
	default:
		c.before = []oracleOp{write(cutOff(g.stream(60)))}
	}
	if g.r.IntN(2) == 0 {
		c.dirt = g.stream(20)
	}
	tail := g.stream(10)
	if kind != cutPlain {
		// With the scrollback, xterm.js moves a saved cursor's row.
		tail = bytes.ReplaceAll(tail, []byte("\x1b[3J"), nil)
	}
	c.after = []oracleOp{write(tail)}
	return c
}

// A knownDifference is a kind of state that a Repaint cannot bring about, from
// testdata/oracle/known.json. Any other difference fails the tests.
type knownDifference struct {
	Name, Why    string
	Cols, Rows   int
	Stream, Tail string
	Resize       []int
}

// isKnown finds the states of the known differences.
var isKnown = map[string]func(*Terminal) bool{
	"pending wrap behind an empty cell": func(t *Terminal) bool {
		last := t.cur.row(t.cur.y).at(t.cols - 1)
		return t.cur.x >= t.cols && !last.hasContent() && last.width() == 1
	},
	"pen restored on the hidden screen": func(t *Terminal) bool {
		return t.cur == t.alt && (!t.pen.natural() && !t.pen.restoredFrom(t.alt) || t.charset != t.gsets[t.glevel] && t.charset != t.alt.savedCharset)
	},
	"saved cursor below the screen": func(t *Terminal) bool {
		for _, s := range []*screen{t.main, t.alt} {
			if s.savedY-map[bool]int{true: t.ybaseMain()}[s == t.main] >= t.rows {
				return true
			}
		}
		return false
	},
	"row of emptied wide characters": func(t *Terminal) bool {
		p := painter{t: t}
		for _, s := range []*screen{t.main, t.alt} {
			for y := range s.rows {
				l, x := s.row(y), 0
				for x < t.cols && p.isOdd(l.at(x)) {
					x++
				}
				if x == t.cols && l.at(x-1).style() != l.at(x-2).style() {
					return true
				}
			}
		}
		return false
	},
	"half of a wide character": func(t *Terminal) bool {
		for _, s := range []*screen{t.main, t.alt} {
			for y := range s.rows {
				if s.row(y).halved() {
					return true
				}
			}
		}
		return false
	},
	"cells beyond the edge": func(t *Terminal) bool {
		for y := range t.alt.rows {
			if t.alt.row(y).long > t.cols {
				return true
			}
		}
		return false
	},
}

func knownDifferences(tb testing.TB) []knownDifference {
	tb.Helper()
	p, err := os.ReadFile("testdata/oracle/known.json")
	if err != nil {
		tb.Fatal(err)
	}
	var list []knownDifference
	if err := json.Unmarshal(p, &list); err != nil {
		tb.Fatal(err)
	}
	for _, k := range list {
		if isKnown[k.Name] == nil || k.Why == "" {
			tb.Errorf("known difference %q: no test finds it, or no reason", k.Name)
		}
	}
	if len(list) != len(isKnown) {
		tb.Errorf("%d known differences are listed, %d are looked for", len(list), len(isKnown))
	}
	return list
}

// scrollback is more than a cut fills where it needs one: xterm.js counts the row
// of a saved cursor from the scrollback's start, which moves in a full one.
func (c *cut) scrollback() int {
	if c.pages || len(c.before) > 1 {
		return 1000
	}
	return -1
}

// play brings our terminal to the cut.
func (c *cut) play() *Terminal {
	t := New(Options{Cols: c.cols, Rows: c.rows, Scrollback: c.scrollback()})
	for _, op := range c.before {
		if op.Resize != nil {
			t.Resize(op.Resize[0], op.Resize[1])
		} else {
			t.Write(op.Write)
		}
	}
	return t
}

// check compares xterm.js that saw everything with one that got the Repaint
// (and the history before it), at the cut and after the tail. ok is false where
// xterm.js itself failed. lines is how many of the history were compared.
func (c *cut) check(tb testing.TB, o *oracle) (term *Terminal, problem string, lines int, ok bool) {
	tb.Helper()
	term = c.play()
	repaint := term.Repaint()
	if len(repaint) > maxRepaint {
		return term, fmt.Sprintf("repaint of %d bytes", len(repaint)), 0, true
	}
	titles := len(term.titles) > 0
	second := []oracleOp{{Write: c.dirt}, {Reset: true}, {Resize: []int{term.cols, term.rows}}}
	if c.pages {
		var page []byte
		page, lines = term.pageBytes()
		second = append(second, oracleOp{Write: page})
	}
	first := append([]oracleOp(nil), c.before...)
	first = append(first, oracleOp{Dump: true, AsPage: true})
	second = append(second, oracleOp{Write: repaint}, oracleOp{Dump: true, AsPage: true})
	for _, op := range c.after {
		first, second = append(first, op), append(second, op)
	}
	first = append(first, oracleOp{Dump: true})
	second = append(second, oracleOp{Dump: true})
	result := o.run(tb, c.cols, c.rows, max(c.scrollback(), 0), first, second)
	if result == nil {
		return term, "", 0, false
	}
	for i, step := range []string{"repaint", "tail"} {
		want, got := result[0][i], result[1][i]
		if step == "repaint" && c.pages {
			// The rows of the lines that the page carries, the newest ones.
			have := len(got.Main.Lines)
			if have > len(want.Main.Lines) {
				return term, fmt.Sprintf("%d rows with the history, want at most %d", have, len(want.Main.Lines)), 0, true
			}
			above := want.Main.Lines[len(want.Main.Lines)-have : len(want.Main.Lines)-term.rows]
			for y := len(above) - 1; y >= 0; y-- {
				if g, w := got.Main.Lines[y], above[y]; g != w {
					return term, fmt.Sprintf("history row %d of %d:\n got %q\nwant %q", y, len(above), g, w), 0, true
				}
			}
		}
		if step == "repaint" && got.Replies != "" {
			return term, fmt.Sprintf("the repaint asks: xterm.js answered %q to %q", got.Replies, repaint), 0, true
		}
		if step == "tail" {
			if titles {
				// A Repaint does not carry the title stack, which only the holder needs.
				got.Title = want.Title
			}
			for at := range want.Links {
				if _, ok := got.Links[at]; !ok {
					delete(want.Links, at) // forgotten with another line of the link
				}
			}
		}
		if d := difference(screenOnly(got, term.rows), screenOnly(want, term.rows)); d != "" {
			return term, fmt.Sprintf("%s: %s\nrepaint %q", step, d, repaint), lines, true
		}
	}
	return term, "", lines, true
}

// TestOracle_repaint brings a new xterm.js to our state by a Repaint, and
// compares it with one that saw everything; then both see the same tail.
func TestOracle_repaint(t *testing.T) {
	o := startOracle(t)
	known := knownDifferences(t)
	from, to := oracleCount(t, 400)
	failed, unplayable, lines := 0, 0, 0
	met := map[string]int{}
cuts:
	for seed := from; seed < to; seed++ {
		c := randomCut(seed)
		term, problem, n, ok := c.check(t, o)
		lines += n
		if !ok {
			unplayable++
			continue
		}
		if problem == "" {
			continue
		}
		for _, k := range known {
			if isKnown[k.Name](term) {
				met[k.Name]++
				continue cuts
			}
		}
		t.Errorf("seed %d, %s\n%s", seed, c, problem)
		if failed++; failed > 8 {
			t.FailNow()
		}
	}
	t.Logf("%d cuts, %d lines of history compared; known differences met: %v; xterm.js failed in %d", to-from, lines, met, unplayable)
	if lines == 0 || unplayable > int(to-from)/50 {
		t.Error("too little was compared")
	}
	for name, n := range met {
		if n > 2+int(to-from)/100 {
			t.Errorf("%s: %d times is more than a rare case", name, n)
		}
	}
}

// TestOracle_known: each known difference is one still.
func TestOracle_known(t *testing.T) {
	o := startOracle(t)
	for _, k := range knownDifferences(t) {
		c := &cut{cols: k.Cols, rows: k.Rows, before: []oracleOp{{Write: []byte(k.Stream)}}, after: []oracleOp{{Write: []byte(k.Tail)}}}
		if k.Resize != nil {
			c.before = append(c.before, oracleOp{Resize: k.Resize})
		}
		term, problem, _, ok := c.check(t, o)
		if !ok || problem == "" || !isKnown[k.Name](term) {
			t.Errorf("%s: no difference (%t), or it is not found by its state (%t)", k.Name, problem == "", isKnown[k.Name](term))
		}
	}
}

// pageBytes writes the newest lines of the history as a viewer would before a
// Repaint, and scrolls them off the screen; it returns how many there are. Of
// the archive it takes the lines that the scrollback has too, and that wrap
// there as they are.
func (t *Terminal) pageBytes() ([]byte, int) {
	page := t.Page(0, maxPageLines)
	rows := make([]line, t.scrollback.len(), t.scrollback.len()+1)
	for i := range rows {
		c, k := t.scrollback.at(i)
		t.decodeRecord(&rows[i], c.record(k), c.table.list, maxCells)
		rows[i].wrapped = c.record(k)[0]&recordWrapped != 0
	}
	open := len(rows) > 0 && t.main.row(0).wrapped
	rows = append(rows, *t.main.row(0))
	var lines [][]byte
	for end := len(rows) - 1; end > 0 && len(lines) < len(page.Lines); {
		start := end - 1
		for start > 0 && rows[start].wrapped {
			start--
		}
		l := page.Lines[len(lines)]
		if l.Alternate || l.Open != (open && len(lines) == 0) || !t.wrapsTo(l.Runs, rows[start:end+1]) {
			break
		}
		lines = append(lines, runsBytes(l.Runs))
		end = start
	}
	if len(lines) == 0 {
		return nil, 0
	}
	slices.Reverse(lines)
	return append(bytes.Join(lines, nil), strings.Repeat("\n", t.rows-1)...), len(lines)
}

// wrapsTo says whether the runs of a page's line are the rows but for the last
// one, which comes behind them.
func (t *Terminal) wrapsTo(runs []Run, rows []line) bool {
	var logical archive
	for i := range rows[:len(rows)-1] {
		if rows[i].halved() {
			return false
		}
		logical.extend(&rows[i], &rows[i+1], t.cols)
	}
	if fmt.Sprint(t.runs(logical.open.cells)) != fmt.Sprint(runs) || len(rows) > maxSize {
		return false
	}
	again := New(Options{Cols: t.cols, Rows: len(rows)})
	again.Write(runsBytes(runs))
	for i := range rows[:len(rows)-1] {
		l := again.main.row(i)
		if l.wrapped != rows[i].wrapped || string(again.appendPlain(nil, l.cells)) != string(t.appendPlain(nil, t.visible(&rows[i]))) {
			return false
		}
	}
	return again.main.y == len(rows)-1
}

// runsBytes writes the runs of a line, and the line's end.
func runsBytes(runs []Run) []byte {
	var out []byte
	for _, r := range runs {
		out = append(out, runBytes(r)...)
	}
	return append(out, "\x1b]8;;\x1b\\\x1b[m\x1b[K\r\n"...)
}

// halved says whether halves of wide characters stand alone in the row, or do
// not fit together.
func (l *line) halved() bool {
	for x, c := range l.cells {
		next := l.at(x + 1)
		if c.width() == 2 != (next.withoutTag() == wideTail) || c.width() == 2 && c.style() != next.style() {
			return true
		}
	}
	return l.at(0).withoutTag() == wideTail
}

// runBytes sets the style of a run and writes its text.
func runBytes(r Run) string {
	sgr := "0"
	for _, f := range []struct {
		on   bool
		code string
	}{{r.Bold, "1"}, {r.Dim, "2"}, {r.Italic, "3"}, {r.Blink, "5"}, {r.Inverse, "7"}, {r.Hidden, "8"}, {r.Strike, "9"}, {r.Overline, "53"}} {
		if f.on {
			sgr += ";" + f.code
		}
	}
	if r.Underline != 0 {
		sgr += fmt.Sprintf(";4:%d", r.Underline)
	}
	for _, c := range []struct{ base, name string }{{"38", r.Fg}, {"48", r.Bg}, {"58", r.UnderlineColor}} {
		var red, green, blue int
		switch n, _ := fmt.Sscanf(c.name, "#%02x%02x%02x", &red, &green, &blue); {
		case n == 3:
			sgr += fmt.Sprintf(";%s:2::%d:%d:%d", c.base, red, green, blue)
		case c.name != "":
			sgr += ";" + c.base + ":5:" + c.name
		}
	}
	return "\x1b]8;;" + r.Link + "\x1b\\\x1b[" + sgr + "m" + r.Text
}

// screenOnly takes out of a dump what a Repaint does not carry: the scrollback,
// and what of a screen nothing can bring back.
func screenOnly(d oracleDump, rows int) oracleDump {
	d.Main.Lines = d.Main.Lines[len(d.Main.Lines)-rows:]
	d.Ybase = 0
	if d.State == oracleStates[stDCSPass] {
		d.State = oracleStates[stDCSIgnore]
	}
	return d
}

// TestOracle_captures cuts recordings of coding agents at many places: a
// Repaint there, and what follows, must leave xterm.js as the whole does.
func TestOracle_captures(t *testing.T) {
	o := startOracle(t)
	for _, name := range captures {
		output := readFixture(t, "agents/captures/"+name+".bin")
		for i := range 12 {
			cut := (i*2 + 1) * len(output) / 24
			end := min(len(output), cut+len(output)/24)
			term := New(Options{Cols: 100, Rows: 30, Scrollback: -1})
			term.Write(output[:cut])
			repaint := term.Repaint()
			if len(repaint) > 8<<10 {
				t.Errorf("%s at %d: repaint of %d bytes", name, cut, len(repaint))
			}
			result := o.run(t, 100, 30, 0,
				[]oracleOp{{Write: output[:cut], Dump: true}, {Write: output[cut:end], Dump: true}},
				[]oracleOp{{Write: repaint, Dump: true}, {Write: output[cut:end], Dump: true}})
			if d := difference(term.dump(), result[0][0]); d != "" {
				t.Errorf("%s at %d: %s", name, cut, d)
			}
			for step, what := range []string{"repaint", "tail"} {
				if d := difference(screenOnly(result[1][step], 30), screenOnly(result[0][step], 30)); d != "" {
					t.Errorf("%s at %d, %s: %s", name, cut, what, d)
				}
			}
		}
	}
}
