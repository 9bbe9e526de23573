package vt

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// The oracle is @xterm/headless in a node process. What it says of a terminal
// is an oracleDump; dump makes the same of ours.
type oracleDump struct {
	Main, Alt oracleScreen
	Ybase     int
	Alternate bool
	X, Y      int
	Pen       string
	Modes     string
	Charset   string
	Join      int
	State     int
	Title     string
	// Links has the target at each cell of a screen, "main 3,5". The oracle's
	// lacks those that xterm.js forgot.
	Links map[string]string
	// Replies came since the dump before; the oracle's only.
	Replies string
}

type oracleScreen struct {
	Lines       []string
	Top, Bottom int
	Tabs        string
	Saved       string
}

type oracleOp struct {
	Write  []byte `json:"w,omitempty"`
	Resize []int  `json:"r,omitempty"`
	Reset  bool   `json:"z,omitempty"`
	Dump   bool   `json:"d,omitempty"`
	// AsPage dumps the rows above the screen with spaces for empty cells.
	AsPage bool `json:"p,omitempty"`
}

type oracle struct {
	in  io.WriteCloser
	out *bufio.Reader
}

// startOracle starts the oracle, or skips the test where its packages are not
// installed. AGENT_HELM_ORACLE names another folder with node_modules.
func startOracle(tb testing.TB) *oracle {
	tb.Helper()
	folder := os.Getenv("AGENT_HELM_ORACLE")
	if folder == "" {
		folder = "../../web"
	}
	for _, p := range []string{"@xterm/headless", "@xterm/addon-unicode11"} {
		if _, err := os.Stat(filepath.Join(folder, "node_modules", p, "package.json")); err != nil {
			tb.Skipf("%s is not installed in web/node_modules: run npm install there", p)
		}
	}
	if _, err := exec.LookPath("node"); err != nil {
		tb.Skip("node is not installed")
	}
	cmd := exec.Command("node", "testdata/oracle/oracle.mjs", folder)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		in.Close()
		if err := cmd.Wait(); err != nil {
			tb.Errorf("oracle: %v", err)
		}
	})
	return &oracle{in, bufio.NewReaderSize(out, 1<<20)}
}

// run plays runs of operations and returns the dumps of each, or nil where
// xterm.js failed by a known defect.
func (o *oracle) run(tb testing.TB, cols, rows, scrollback int, runs ...[]oracleOp) [][]oracleDump {
	tb.Helper()
	job, err := json.Marshal(map[string]any{"cols": cols, "rows": rows, "scrollback": scrollback, "runs": runs})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := o.in.Write(append(job, '\n')); err != nil {
		tb.Fatal(err)
	}
	reply, err := o.out.ReadBytes('\n')
	if err != nil {
		tb.Fatal(err)
	}
	var result struct {
		Dumps [][]oracleDump
		Error string
	}
	if err := json.Unmarshal(reply, &result); err != nil {
		tb.Fatal(err)
	}
	if strings.Contains(result.Error, "reflowLarger") {
		// A defect of xterm.js: rewrapping throws on halves of wide characters.
		return nil
	}
	if result.Error != "" {
		tb.Fatalf("oracle: %s", result.Error)
	}
	return result.Dumps
}

func (t *Terminal) oracleCell(c cell, s style) string {
	text := t.cellText(c) + "/" + strconv.Itoa(c.width())
	underline := s.underlineStyle()
	flags := ""
	for _, f := range []struct {
		on   bool
		name string
	}{
		{s.fg&fgBold != 0, "b"}, {s.bg&bgDim != 0, "d"}, {s.bg&bgItalic != 0, "i"}, {s.fg&fgBlink != 0, "k"},
		{s.fg&fgInverse != 0, "r"}, {s.fg&fgInvisible != 0, "h"}, {s.fg&fgStrike != 0, "s"},
		{s.bg&bgOverline != 0, "o"}, {s.bg&bgProtected != 0, "p"},
	} {
		if f.on {
			flags += f.name
		}
	}
	parts := []string{colorName(s.fg), colorName(s.bg), flags, "", "", ""}
	if underline != 0 {
		parts[3] = strconv.Itoa(underline)
		if s.bg&bgExtended != 0 {
			parts[4] = colorName(s.ext)
		}
	}
	if s.link != nil && s.bg&bgExtended != 0 {
		parts[5] = "L"
	}
	if style := strings.Join(parts, ","); style != ",,,,," {
		text += "/" + style
	}
	return text
}

func (t *Terminal) oracleRow(l *line) string {
	var out []string
	last, count := "", 0
	flush := func() {
		switch {
		case count > 1:
			out = append(out, fmt.Sprintf("%s×%d", last, count))
		case count == 1:
			out = append(out, last)
		}
	}
	for x := range t.cols {
		c := l.at(x)
		text := t.oracleCell(c, t.styles.list[c.style()])
		if count > 0 && text == last {
			count++
			continue
		}
		flush()
		last, count = text, 1
	}
	if last != "/1" {
		flush()
	}
	mark := ""
	if l.wrapped {
		mark = "~"
	}
	return mark + strings.Join(out, "|")
}

func (t *Terminal) oracleScreen(s *screen, history bool) oracleScreen {
	d := oracleScreen{Top: s.top, Bottom: s.bottom, Lines: []string{}}
	ybase := 0
	if history {
		ybase = t.ybaseMain()
		var l line
		for i := range t.scrollback.len() {
			c, k := t.scrollback.at(i)
			t.decodeRecord(&l, c.record(k), c.table.list, maxCells)
			d.Lines = append(d.Lines, t.oracleRow(&l))
		}
	}
	for y := range s.rows {
		d.Lines = append(d.Lines, t.oracleRow(s.row(y)))
	}
	var tabs []string
	for x := range t.cols {
		if s.tabs.has(x) {
			tabs = append(tabs, strconv.Itoa(x))
		}
	}
	d.Tabs = strings.Join(tabs, ",")
	d.Saved = fmt.Sprintf("%d,%d,%d,%d,%s", min(s.savedX, t.cols-1), min(t.rows-1, max(s.savedY-ybase, 0)),
		s.savedFg, s.savedBg, charsetText(s.savedCharset))
	return d
}

func charsetText(c charset) string {
	if c == 0 {
		return ""
	}
	text := ""
	for _, r := range "#@[`q~" {
		text += string(c.translate(r))
	}
	return text
}

func (t *Terminal) dump() oracleDump {
	m := &t.modes
	blink := [...]string{"", "false", "true"}[m.cursorBlink]
	return oracleDump{
		Main: t.oracleScreen(t.main, true), Alt: t.oracleScreen(t.alt, false),
		Ybase: t.ybaseMain(), Alternate: t.cur == t.alt, X: t.cur.x, Y: t.cur.y,
		Pen: t.oracleCell(0, style(t.pen)),
		Modes: fmt.Sprintf("%t,%t,%t,%t,%t,%t,%t,%t,%t,%t,%t,%t,%s,%s,%s,%s",
			m.insert, m.cursorKeys, m.keypad, m.paste, m.origin, m.reverseWrap, m.focus, m.synchronized, m.wrap,
			m.cursorHidden, m.newLine, m.blinkOption,
			[...]string{"NONE", "X10", "VT200", "DRAG", "ANY"}[m.mouse],
			[...]string{"DEFAULT", "SGR", "SGR_PIXELS"}[m.mouseEncoding],
			[...]string{"", "block", "underline", "bar"}[m.cursorShape], blink),
		Charset: fmt.Sprintf("%s/%d/%s,%s,%s,%s", charsetText(t.charset), t.glevel,
			charsetText(t.gsets[0]), charsetText(t.gsets[1]), charsetText(t.gsets[2]), charsetText(t.gsets[3])),
		Join:  int(t.lastWidth),
		State: oracleStates[t.parser.state],
		Title: t.observed.Title,
		Links: t.oracleLinks(),
	}
}

func (t *Terminal) oracleLinks() map[string]string {
	out := map[string]string{}
	for name, s := range map[string]*screen{"main": t.main, "alt": t.alt} {
		for y := range s.rows {
			for x, c := range t.visible(s.row(y)) {
				if l := t.styles.list[c.style()].link; l != nil {
					out[fmt.Sprintf("%s %d,%d", name, y, x)] = l.uri
				}
			}
		}
	}
	return out
}

var oracleStates = map[parserState]int{
	stGround: 0, stEscape: 1, stEscapeInter: 2, stCSIEntry: 3, stCSIParam: 4, stCSIInter: 5, stCSIIgnore: 6,
	stString: 7, stOSC: 8, stDCSEntry: 9, stDCSParam: 10, stDCSIgnore: 11, stDCSInter: 12, stDCSPass: 13,
}

// difference names the first field in which two dumps differ.
func difference(got, want oracleDump) string {
	for _, s := range []struct {
		name string
		a, b oracleScreen
	}{{"main", got.Main, want.Main}, {"alt", got.Alt, want.Alt}} {
		if len(s.a.Lines) != len(s.b.Lines) {
			return fmt.Sprintf("%s has %d lines, want %d", s.name, len(s.a.Lines), len(s.b.Lines))
		}
		for i := range s.a.Lines {
			if s.a.Lines[i] != s.b.Lines[i] {
				return fmt.Sprintf("%s line %d of %d:\n got %q\nwant %q", s.name, i, len(s.a.Lines), s.a.Lines[i], s.b.Lines[i])
			}
		}
		s.a.Lines, s.b.Lines = nil, nil
		if !reflect.DeepEqual(s.a, s.b) {
			return fmt.Sprintf("%s: got %+v, want %+v", s.name, s.a, s.b)
		}
	}
	for at, uri := range want.Links {
		if got.Links[at] != uri {
			return fmt.Sprintf("link at %s: got %q, want %q", at, got.Links[at], uri)
		}
	}
	got.Main, got.Alt, want.Main, want.Alt = oracleScreen{}, oracleScreen{}, oracleScreen{}, oracleScreen{}
	got.Links, want.Links, got.Replies, want.Replies = nil, nil, "", ""
	if !reflect.DeepEqual(got, want) {
		return fmt.Sprintf("got  %+v\nwant %+v", got, want)
	}
	return ""
}

// oracleCount is how many random streams a differential test plays;
// AGENT_HELM_ORACLE_COUNT asks for more.
func oracleCount(tb testing.TB, usual int) (from, to uint64) {
	if s := os.Getenv("AGENT_HELM_ORACLE_COUNT"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			tb.Fatal(err)
		}
		usual = n
	}
	seed, _ := strconv.ParseUint(os.Getenv("AGENT_HELM_ORACLE_SEED"), 10, 64)
	return seed, seed + uint64(usual)
}

// TestOracle_stream plays random streams, without resizes.
func TestOracle_stream(t *testing.T) {
	o := startOracle(t)
	from, to := oracleCount(t, 300)
	failed := 0
	for seed := from; seed < to; seed++ {
		g := newGenerator(seed, seed%3 == 0)
		cols, rows := 2+g.r.IntN(50), 1+g.r.IntN(16)
		term := New(Options{Cols: cols, Rows: rows, Scrollback: 30})
		var ops []oracleOp
		var ours []oracleDump
		var all []byte
		for range 6 {
			stream := g.stream(12)
			if !term.modes.wrap {
				// Without autowrap, xterm.js's result depends on how writes were
				// cut; a control ends the run of characters in any case.
				stream = append([]byte{0}, stream...)
			}
			all = append(all, stream...)
			term.Write(stream)
			ours = append(ours, term.dump())
			ops = append(ops, oracleOp{Write: stream, Dump: true})
		}
		theirs := o.run(t, cols, rows, 30, ops)[0]
		for i := range ours {
			if d := difference(ours[i], theirs[i]); d != "" {
				t.Errorf("seed %d, %dx%d, step %d: %s\nstream %q", seed, cols, rows, i, d, all)
				if failed++; failed > 8 {
					t.FailNow()
				}
				break
			}
		}
	}
}

// TestOracle_resize plays random streams with resizes between.
func TestOracle_resize(t *testing.T) {
	o := startOracle(t)
	from, to := oracleCount(t, 300)
	failed := 0
	for seed := from; seed < to; seed++ {
		g := newGenerator(seed, seed%3 == 0)
		g.noClusters = true
		cols, rows := 2+g.r.IntN(50), 1+g.r.IntN(16)
		term := New(Options{Cols: cols, Rows: rows, Scrollback: 30})
		var ops []oracleOp
		var ours []oracleDump
		var all []string
		for range 6 {
			stream := g.stream(12)
			term.Write(stream)
			ours = append(ours, term.dump())
			c, r := 2+g.r.IntN(50), 1+g.r.IntN(16)
			switch g.r.IntN(3) {
			case 0:
				c = term.cols
			case 1:
				r = term.rows
			}
			term.Resize(c, r)
			ours = append(ours, term.dump())
			all = append(all, fmt.Sprintf("%q → %dx%d", stream, c, r))
			ops = append(ops, oracleOp{Write: stream, Dump: true}, oracleOp{Resize: []int{c, r}, Dump: true})
		}
		if term.Faults() != 0 {
			t.Errorf("seed %d: %d faults", seed, term.Faults())
		}
		dumps := o.run(t, cols, rows, 30, ops)
		if dumps == nil {
			continue
		}
		theirs := dumps[0]
		for i := range ours {
			if d := difference(ours[i], theirs[i]); d != "" {
				t.Errorf("seed %d, %dx%d, step %d: %s\nstream %s", seed, cols, rows, i, d, strings.Join(all[:i/2+1], "\n"))
				if failed++; failed > 8 {
					t.FailNow()
				}
				break
			}
		}
	}
}
