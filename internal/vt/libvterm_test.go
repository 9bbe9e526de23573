package vt

import (
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// libvtermSkipped are the scripts that say nothing about a screen.
var libvtermSkipped = map[string]string{
	"02parser":           "asserts the callbacks of libvterm's parser",
	"03encoding_utf8":    "asserts the decoder alone, with U+FFFD where xterm.js drops bytes",
	"14state_encoding":   "runs without UTF-8, which neither xterm.js nor this package can",
	"17state_mouse":      "mouse events are written by the browser",
	"18state_termprops":  "asserts callbacks; modes are compared by the oracle",
	"25state_input":      "keys of libvterm's own numbering; see TestEncodeKey",
	"29state_fallback":   "asserts callbacks for what libvterm does not know",
	"40state_selection":  "a clipboard that answers, which no holder does",
	"68screen_termprops": "asserts callbacks",
	"92lp1640917":        "mouse events are written by the browser",
}

// TestLibvterm runs libvterm's scripts. What they say of the screen, the
// cursor, the pen and replies either holds or is listed with its reason in
// libvtermDifferences; and at each such place we are equal to xterm.js, which
// is what counts where the two disagree.
func TestLibvterm(t *testing.T) {
	readFixture(t, "libvterm/LICENSE")
	files, err := filepath.Glob(filepath.Join(fixtures, "libvterm/*.test"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	held, seen := 0, map[string]bool{}
	var scripts []*libvtermScript
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".test")
		if libvtermSkipped[name] != "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			s := &libvtermScript{name: name, open: func(cols, rows int) *Terminal {
				return New(Options{Cols: cols, Rows: rows, Scrollback: 100})
			}}
			s.run(t, string(readFixture(t, "libvterm/"+name+".test")))
			for _, a := range s.asserts {
				key := fmt.Sprintf("%s:%d", name, a.line)
				reason := libvtermDifferences[key]
				switch {
				case a.problem == "":
					held++
					if reason != "" {
						t.Errorf("%s holds, and is listed as a difference", key)
					}
				case reason == "":
					t.Errorf("%s: %s\n%s", key, a.text, a.problem)
				default:
					seen[key] = true
				}
			}
			scripts = append(scripts, s)
		})
	}
	t.Run("as xterm.js", func(t *testing.T) {
		o := startOracle(t)
		for _, s := range scripts {
			s.compare(t, o)
		}
	})
	for key := range libvtermDifferences {
		if name, _, _ := strings.Cut(key, ":"); !seen[key] && slices.Contains(files, filepath.Join(fixtures, "libvterm", name+".test")) {
			t.Errorf("%s is listed as a difference, and is none", key)
		}
	}
	t.Logf("%d assertions hold, %d are explained", held, len(seen))
}

type libvtermAssert struct {
	line          int
	text, problem string
}

// A libvtermScript is one script under way.
type libvtermScript struct {
	name    string
	open    func(cols, rows int) *Terminal
	term    *Terminal
	replies string
	// pushed is how many rows of the scrollback the script knows of.
	pushed  int
	asserts []libvtermAssert
	// ops and dumps are what was done since INIT, for the oracle.
	ops   []oracleOp
	dumps []oracleDump
}

var libvtermRepeat = regexp.MustCompile(`^\$(SEQ|REP) +(\d+)(?: +(\d+))?: *(.*)$`)

func (s *libvtermScript) run(t *testing.T, script string) {
	for i, text := range strings.Split(script, "\n") {
		text = strings.TrimSpace(text)
		if text == "" || text[0] == '#' || text[0] == '!' {
			continue
		}
		m := libvtermRepeat.FindStringSubmatch(text)
		if m == nil {
			s.command(t, i+1, text)
			continue
		}
		from, last := 1, m[2]
		if m[1] == "SEQ" {
			from, _ = strconv.Atoi(m[2])
			last = m[3]
		}
		to, _ := strconv.Atoi(last)
		for n := from; n <= to; n++ {
			s.command(t, i+1, strings.ReplaceAll(m[4], `\#`, strconv.Itoa(n)))
		}
	}
}

func (s *libvtermScript) command(t *testing.T, line int, text string) {
	word, rest, _ := strings.Cut(text, " ")
	rest = strings.TrimSpace(rest)
	switch {
	case word == "INIT":
		s.term = s.open(80, 25)
	case word == "RESET":
		// A hard reset is more than RIS is in xterm.js.
		s.write("\x1bc\x1b[20l\x1b[?25h")
	case word == "PUSH":
		s.write(libvtermString(t, rest))
	case word == "RESIZE":
		rows, cols, _ := strings.Cut(rest, ",")
		r, _ := strconv.Atoi(strings.TrimSpace(rows))
		c, _ := strconv.Atoi(cols)
		s.pushed = s.term.scrollback.len()
		s.term.Resize(c, r)
		s.did(oracleOp{Resize: []int{c, r}})
	case strings.HasPrefix(word, "WANT"), strings.HasPrefix(word, "DAMAGE"), word == "UTF8", word == "SETDEFAULTCOL":
	default:
		if problem, ok := s.assert(t, word, rest); ok {
			s.asserts = append(s.asserts, libvtermAssert{line, text, problem})
		}
	}
}

func (s *libvtermScript) write(text string) {
	s.pushed = s.term.scrollback.len()
	s.term.Write([]byte(text))
	s.replies = string(s.term.TakeReplies())
	s.did(oracleOp{Write: []byte(text)})
}

func (s *libvtermScript) did(op oracleOp) {
	op.Dump = true
	s.ops = append(s.ops, op)
	s.dumps = append(s.dumps, s.term.dump())
}

// compare plays the script to xterm.js too.
func (s *libvtermScript) compare(t *testing.T, o *oracle) {
	t.Helper()
	dumps := o.run(t, 80, 25, 100, s.ops)
	if dumps == nil {
		t.Errorf("%s: xterm.js failed", s.name)
		return
	}
	for i := range s.dumps {
		if strings.Contains(s.dumps[i].Main.Lines[0], strings.Repeat("\u0301", maxClusterRunes-1)) {
			continue // xterm.js joins marks without bound
		}
		if d := difference(s.dumps[i], dumps[0][i]); d != "" {
			t.Errorf("%s, %q: unlike xterm.js: %s", s.name, s.ops[i].Write, d)
			return
		}
	}
}

// assert checks one line; ok is false for callbacks of libvterm's inside.
func (s *libvtermScript) assert(t *testing.T, word, rest string) (problem string, ok bool) {
	args, want, _ := strings.Cut(rest, "=")
	args, want = strings.TrimSpace(args), strings.TrimSpace(want)
	n := numbers(args)
	got := ""
	switch word {
	case "?cursor":
		x, y := s.term.Cursor()
		got = fmt.Sprintf("%d,%d", y, min(x, s.term.cols-1))
	case "?screen_row":
		got, want = s.chars(n[0], 0, n[0]+1, s.term.cols), libvtermText(t, want)
	case "?screen_chars", "?screen_text":
		got, want = s.chars(n[0], n[1], n[2], n[3]), libvtermText(t, want)
		if word == "?screen_text" {
			// Bytes, each written as a number.
			raw := make([]byte, 0, len(want))
			for _, r := range want {
				raw = append(raw, byte(r))
			}
			want = string(raw)
		}
	case "?screen_eol":
		got = map[bool]string{true: "1", false: "0"}[s.chars(n[0], n[1], n[0]+1, s.term.cols) == ""]
	case "?screen_cell":
		got = s.cell(n[0], n[1])
	case "?screen_attrs_extent":
		got = s.extent(n[0], n[1])
	case "?lineinfo":
		if s.term.cur.row(n[0]).wrapped {
			got = "cont"
		}
	case "?pen":
		got = s.pen(args)
	case "output":
		want = libvtermString(t, rest)
		if strings.HasPrefix(s.replies, want) {
			s.replies = s.replies[len(want):]
			return "", true
		}
		return fmt.Sprintf("replies %q, want %q", s.replies, want), true
	case "putglyph":
		fields := strings.Fields(rest)
		at := numbers(fields[2])
		c := s.term.cur.row(at[0]).at(at[1])
		got = fmt.Sprintf("%q %d", s.term.cellText(c), c.width())
		want = fmt.Sprintf("%q %s", libvtermText(t, fields[0]), fields[1])
	case "sb_pushline":
		if s.pushed >= s.term.scrollback.len() {
			return "nothing scrolled off", true
		}
		var l line
		c, k := s.term.scrollback.at(s.pushed)
		s.pushed++
		s.term.decodeRecord(&l, c.record(k), c.table.list, maxCells)
		raw, err := hex.DecodeString(strings.ReplaceAll(want, " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		got, want = string(s.term.appendPlain(nil, l.cells)), string(raw)
	case "settermprop", "erase", "scrollrect", "moverect", "movecursor", "damage", "sb_popline", "sb_clear":
		return "", false
	default:
		t.Fatalf("%s: unknown command %q", s.name, word)
	}
	if got != want {
		return fmt.Sprintf("got %q, want %q", got, want), true
	}
	return "", true
}

func numbers(s string) []int {
	var out []int
	for _, f := range strings.Split(s, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(f))
		if err != nil {
			return append(out, 0)
		}
		out = append(out, n)
	}
	return out
}

// chars is the text of a rectangle. Cells never written end a row.
func (s *libvtermScript) chars(y0, x0, y1, x1 int) string {
	var out []byte
	for y := y0; y < y1; y++ {
		if y > y0 {
			out = append(out, '\n')
		}
		l, blanks := s.term.cur.row(y), 0
		for x := x0; x < x1; x++ {
			c := l.at(x)
			switch {
			case c.hasContent():
				out = append(out, strings.Repeat(" ", blanks)...)
				out, blanks = s.term.appendCellText(out, c), 0
			case c.width() != 0:
				blanks++
			}
		}
	}
	return string(out)
}

func (s *libvtermScript) cell(y, x int) string {
	c := s.term.cur.row(y).at(x)
	st := s.term.styles.list[c.style()]
	var runes []string
	for _, r := range s.term.cellText(c) {
		runes = append(runes, fmt.Sprintf("%#x", r))
	}
	attrs := ""
	if st.fg&fgBold != 0 {
		attrs += "B"
	}
	if u := st.underlineStyle(); u != 0 {
		attrs += "U" + strconv.Itoa(u)
	}
	if st.bg&bgItalic != 0 {
		attrs += "I"
	}
	if st.fg&fgInverse != 0 {
		attrs += "R"
	}
	return fmt.Sprintf("{%s} width=%d attrs={%s} fg=%s bg=%s", strings.Join(runes, ","), c.width(), attrs,
		libvtermColor(st.fg, "rgb(240,240,240)"), libvtermColor(st.bg, "rgb(0,0,0)"))
}

// libvtermColor writes a colour as libvterm shows it, in its palette.
func libvtermColor(c uint32, def string) string {
	switch name := colorName(c); name {
	case "":
		return def
	case "0", "1", "2", "3", "4", "5", "6", "7":
		n, _ := strconv.Atoi(name)
		return fmt.Sprintf("rgb(%d,%d,%d)", n&1*224, n>>1&1*224, n>>2&1*224)
	default:
		return name
	}
}

func (s *libvtermScript) extent(y, x int) string {
	l := s.term.cur.row(y)
	from, to := x, x
	for from > 0 && l.at(from-1).style() == l.at(x).style() {
		from--
	}
	for to+1 < s.term.cols && l.at(to+1).style() == l.at(x).style() {
		to++
	}
	return fmt.Sprintf("%d,%d-%d,%d", y, from, y+1, to)
}

func (s *libvtermScript) pen(attribute string) string {
	p := s.term.pen.style()
	on := func(b bool) string { return map[bool]string{true: "on", false: "off"}[b] }
	color := func(c uint32, def string) string {
		switch c & colorMode {
		case color16, color256:
			return fmt.Sprintf("idx(%d)", c&255)
		case colorRGB:
			return fmt.Sprintf("rgb(%d,%d,%d)", c>>16&255, c>>8&255, c&255)
		}
		return def
	}
	switch attribute {
	case "bold":
		return on(p.fg&fgBold != 0)
	case "italic":
		return on(p.bg&bgItalic != 0)
	case "blink":
		return on(p.fg&fgBlink != 0)
	case "reverse":
		return on(p.fg&fgInverse != 0)
	case "underline":
		return strconv.Itoa(p.underlineStyle())
	case "foreground":
		return color(p.fg, "rgb(240,240,240,is_default_fg)")
	case "background":
		return color(p.bg, "rgb(0,0,0,is_default_bg)")
	case "font":
		return "0"
	case "small":
		return "off"
	case "baseline":
		return "normal"
	}
	return "?"
}

var (
	libvtermLiteral = regexp.MustCompile(`^"((?:[^"\\]|\\.)*)"(?: *x *(\d+))?(?: *\. *(".*))?$`)
	libvtermEscape  = regexp.MustCompile(`\\(x\{?[0-9A-Fa-f]{1,2}\}?|.)`)
)

// libvtermString reads a string of Perl's, perhaps repeated or joined:
// "…"x80 . "…".
func libvtermString(t *testing.T, s string) string {
	t.Helper()
	m := libvtermLiteral.FindStringSubmatch(s)
	if m == nil {
		t.Fatalf("not a string: %s", s)
	}
	text := libvtermEscape.ReplaceAllStringFunc(m[1], func(e string) string {
		if e[1] == 'x' {
			n, err := strconv.ParseUint(strings.Trim(e[2:], "{}"), 16, 8)
			if err != nil {
				t.Fatal(err)
			}
			return string([]byte{byte(n)})
		}
		if i := strings.IndexByte("ertnab", e[1]); i >= 0 {
			return "\x1b\r\t\n\a\b"[i : i+1]
		}
		return e[1:]
	})
	if m[2] != "" {
		n, _ := strconv.Atoi(m[2])
		text = strings.Repeat(text, n)
	}
	if m[3] != "" {
		text += libvtermString(t, m[3])
	}
	return text
}

// libvtermText reads a string or a list of code points.
func libvtermText(t *testing.T, s string) string {
	t.Helper()
	if s == "" || s[0] == '"' {
		if s == "" {
			return ""
		}
		return libvtermString(t, s)
	}
	out := ""
	for _, f := range strings.Split(s, ",") {
		n, err := strconv.ParseInt(strings.TrimSpace(f), 0, 32)
		if err != nil {
			t.Fatalf("not a text: %s", s)
		}
		out += string(rune(n))
	}
	return out
}

// libvtermDifferences are the assertions that do not hold, by script and line,
// and why; xterm.js does as we do, or the reason says what else.
var libvtermDifferences = explainLibvterm(map[string]string{
	"a cell joins all marks that follow, here up to 32":    "10state_putglyph:58 61screen_unicode:35 61screen_unicode:41",
	"xterm.js has no HPB and VPB":                          "11state_movecursor:178 11state_movecursor:194",
	"xterm.js has no left and right margins":               "12state_scroll:75 15state_mode:72 15state_mode:79",
	"IL moves to the first column, as ECMA-48 has it":      "13state_edit:81",
	"DECSCA 2 is reported as 0, which means the same":      "13state_edit:269",
	"the glyph was moved or overwritten by the same write": "15state_mode:11 15state_mode:21",
	"no XTVERSION is answered":                             "26state_query:12",
	"a reported style begins with 0, as xterm's does":      "26state_query:37 26state_query:42 26state_query:47",
	"replies are in 7 bits; S8C1T is not known":            "26state_query:62",
	"palette and RGB colours are reported with semicolons": "26state_query:52 26state_query:57",
	"xterm.js has no double-width and double-height lines": "28state_dbl_wh:26 28state_dbl_wh:27 67screen_dbl_wh:16 67screen_dbl_wh:24 " +
		"67screen_dbl_wh:25 67screen_dbl_wh:32 67screen_dbl_wh:37",
	"xterm.js knows no fonts, superscript or subscript": "30state_pen:68 30state_pen:70 30state_pen:118 30state_pen:119 30state_pen:121 30state_pen:122 " +
		"64screen_pen:28 64screen_pen:41 64screen_pen:42",
	"in 38:2:10:20:30 the 10 is the colour space, as ITU-T T.416 has it": "30state_pen:86 30state_pen:102",
	"bold text is made bright when it is drawn, not when it is stored":   "30state_pen:111 30state_pen:114",
	"REP goes on behind the end of a line":                               "31state_rep:127",
	"EL 0 leaves the wrap flag of the row below":                         "32state_flow:28",
	"a shorter screen drops the rows below the cursor": "63screen_resize:48 63screen_resize:49 63screen_resize:50 63screen_resize:51 " +
		"63screen_resize:52 63screen_resize:53 63screen_resize:54 63screen_resize:55 63screen_resize:81 63screen_resize:82 " +
		"63screen_resize:83 63screen_resize:84 63screen_resize:85",
	"the scrollback of the script is made up by its harness": "63screen_resize:103 63screen_resize:104 63screen_resize:105 63screen_resize:106",
	"an erased cell has a background and nothing else":       "64screen_pen:46 64screen_pen:47",
	"xterm.js has no DECSCNM":                                "64screen_pen:51 64screen_pen:52 64screen_pen:54 64screen_pen:59",
	"default colours belong to whoever draws":                "64screen_pen:67 64screen_pen:70 64screen_pen:71",
	"the line that holds the cursor is not rewrapped, the program draws it again": "69screen_reflow:17 69screen_reflow:18 69screen_reflow:19 " +
		"69screen_reflow:20 69screen_reflow:22 69screen_reflow:23 69screen_reflow:24 69screen_reflow:25 69screen_reflow:37 69screen_reflow:38 " +
		"69screen_reflow:39 69screen_reflow:42 69screen_reflow:43 69screen_reflow:44",
	"where a line needs fewer rows, what stands below moves up": "69screen_reflow:74 69screen_reflow:75 69screen_reflow:76 69screen_reflow:78 69screen_reflow:79",
})

func explainLibvterm(reasons map[string]string) map[string]string {
	out := make(map[string]string)
	for reason, places := range reasons {
		for _, place := range strings.Fields(places) {
			out[place] = reason
		}
	}
	return out
}
