package vt

import (
	"fmt"
	"slices"
)

// A Page is a piece of the archive, newest line first. Its JSON is what a
// browser gets.
type Page struct {
	Lines []PageLine `json:"lines"`
	// More says that older lines exist; ask for those before the last Line.
	More bool `json:"more"`
}

// A PageLine is one logical line of the archive.
type PageLine struct {
	// ID never changes and is never used again.
	ID   LineID `json:"id"`
	Runs []Run  `json:"runs"`
	// Alternate says that the line scrolled off the alternate screen.
	Alternate bool `json:"alt,omitempty"`
	// Open says that the line's end is still on the screen; it will come again,
	// whole.
	Open bool `json:"open,omitempty"`
}

// A Run is a text in one style. The zero style is the default one.
type Run struct {
	Text string `json:"t"`
	// Fg, Bg and UnderlineColor are "" (default), "0" … "255" (palette) or
	// "#rrggbb".
	Fg             string `json:"fg,omitempty"`
	Bg             string `json:"bg,omitempty"`
	UnderlineColor string `json:"ulc,omitempty"`
	// Underline is 0 none, 1 single, 2 double, 3 curly, 4 dotted, 5 dashed.
	Underline int  `json:"ul,omitempty"`
	Bold      bool `json:"bold,omitempty"`
	Dim       bool `json:"dim,omitempty"`
	Italic    bool `json:"italic,omitempty"`
	Blink     bool `json:"blink,omitempty"`
	Inverse   bool `json:"inverse,omitempty"`
	Hidden    bool `json:"hidden,omitempty"`
	Strike    bool `json:"strike,omitempty"`
	Overline  bool `json:"overline,omitempty"`
	// Link is the target of a hyperlink, whatever its scheme.
	Link string `json:"link,omitempty"`
}

const (
	maxPageLines = 1000
	// maxPageBytes bounds the text of a page, so that its JSON fits a frame.
	maxPageBytes = 256 << 10
)

// Page returns at most max lines of the archive, and at least one where there
// is one, that are older than before; 0 means from the newest on. A page may be
// shorter than asked for when its lines are long.
func (t *Terminal) Page(before LineID, max int) Page {
	a := &t.archive
	p := Page{Lines: []PageLine{}}
	max = min(max, maxPageLines)
	size := 0
	var l line
	if before == 0 || before > a.next {
		before = a.next
		for _, n := range t.notYet() {
			if len(p.Lines) < max {
				p.Lines = append(p.Lines, n)
				size += runsSize(n.Runs)
			}
		}
	}
	oldest := a.oldest()
	id := before
	for id > oldest && len(p.Lines) < max {
		c, i := a.store.at(int(id - 1 - oldest))
		rec := c.record(i)
		t.decodeRecord(&l, rec, c.table.list, maxCells)
		runs := t.runs(l.cells)
		if size += runsSize(runs); size > maxPageBytes && len(p.Lines) > 0 {
			break
		}
		id--
		p.Lines = append(p.Lines, PageLine{ID: id, Runs: runs, Alternate: rec[0]&recordAlt != 0})
	}
	p.More = id > oldest
	t.sweep()
	return p
}

// notYet are the lines above the screen that the archive does not have yet, newest
// first.
func (t *Terminal) notYet() []PageLine {
	a := &t.archive
	var lines []PageLine
	var l line
	a.waiting(func(c *chunk, i int) {
		rec := c.record(i)
		t.decodeRecord(&l, rec, c.table.list, maxCells)
		lines = append(lines, PageLine{ID: a.next + LineID(len(lines)), Runs: t.runs(l.cells), Alternate: rec[0]&recordAlt != 0, Open: true})
	})
	if a.hasOpen() {
		lines = append(lines, PageLine{ID: a.next + LineID(len(lines)), Runs: t.runs(a.open.cells), Alternate: a.openAlt, Open: true})
	}
	slices.Reverse(lines)
	return lines
}

// ArchiveEnd returns the id that the next line of the archive will get.
func (t *Terminal) ArchiveEnd() LineID { return t.archive.next }

func runsSize(runs []Run) int {
	n := 16
	for _, r := range runs {
		n += len(r.Text) + len(r.Link) + 64
	}
	return n
}

// runs turns cells into texts of one style each. Empty cells become spaces;
// those at the end are left out where their style shows nothing.
func (t *Terminal) runs(cells []cell) []Run {
	n := len(cells)
	for n > 0 && cells[n-1] == 0 {
		n--
	}
	runs := []Run{}
	var text []byte
	for i := 0; i < n; {
		id := cells[i].style()
		text = text[:0]
		for ; i < n && cells[i].style() == id; i++ {
			switch c := cells[i]; {
			case c.hasContent():
				text = t.appendCellText(text, c)
			case c.width() != 0:
				text = append(text, ' ')
			}
		}
		if len(text) > 0 {
			runs = append(runs, makeRun(string(text), t.styles.list[id]))
		}
	}
	return runs
}

func makeRun(text string, s style) Run {
	r := Run{
		Text:      text,
		Fg:        colorName(s.fg),
		Bg:        colorName(s.bg),
		Underline: s.underlineStyle(),
		Bold:      s.fg&fgBold != 0,
		Dim:       s.bg&bgDim != 0,
		Italic:    s.bg&bgItalic != 0,
		Blink:     s.fg&fgBlink != 0,
		Inverse:   s.fg&fgInverse != 0,
		Hidden:    s.fg&fgInvisible != 0,
		Strike:    s.fg&fgStrike != 0,
		Overline:  s.bg&bgOverline != 0,
	}
	if r.Underline != 0 {
		r.UnderlineColor = colorName(s.ext)
	}
	if s.link != nil {
		r.Link = s.link.uri
	}
	return r
}

// underlineStyle is the underline that shows, links aside.
func (s style) underlineStyle() int {
	switch {
	case s.fg&fgUnderline == 0:
		return 0
	case s.bg&bgExtended == 0:
		return 1
	}
	return int(s.ext & extUnderline >> extUnderlineShift)
}

func colorName(c uint32) string {
	switch c & colorMode {
	case color16, color256:
		return itoa(int(c & 255))
	case colorRGB:
		return fmt.Sprintf("#%06x", c&colorValue)
	}
	return ""
}

// A Screen is what a terminal shows, for programs that want no escape
// sequences.
type Screen struct {
	Cols int `json:"cols"`
	Rows int `json:"rows"`
	// Lines are the rows from top to bottom.
	Lines []ScreenLine `json:"lines"`
	// CursorX and CursorY count from 0.
	CursorX       int  `json:"cursor_x"`
	CursorY       int  `json:"cursor_y"`
	CursorVisible bool `json:"cursor_visible"`
	Alternate     bool `json:"alternate"`
}

// A ScreenLine is one row. Wrapped says that it continues the row above.
type ScreenLine struct {
	Runs    []Run `json:"runs"`
	Wrapped bool  `json:"wrapped,omitempty"`
}

// Screen returns the screen's cells as styled runs.
func (t *Terminal) Screen() Screen {
	s := Screen{
		Cols: t.cols, Rows: t.rows,
		CursorX: min(t.cur.x, t.cols-1), CursorY: t.cur.y,
		CursorVisible: !t.modes.cursorHidden,
		Alternate:     t.cur == t.alt,
	}
	for y := range t.rows {
		l := t.cur.row(y)
		s.Lines = append(s.Lines, ScreenLine{t.runs(t.visible(l)), l.wrapped})
	}
	return s
}

// visible is the part of a row that is on the screen.
func (t *Terminal) visible(l *line) []cell { return l.cells[:min(len(l.cells), t.cols)] }
