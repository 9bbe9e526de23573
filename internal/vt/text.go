package vt

import "strings"

// TextOptions say what Text and ANSI return.
type TextOptions struct {
	// Part is the screen to take.
	Part TextPart
	// History is how many lines stand above the screen; < 0 means all.
	History int
	// Scrollback takes rows of the scrollback for History, which the program can
	// erase, instead of lines of the archive.
	Scrollback bool
	// Join puts soft-wrapped rows of the screen and the scrollback together.
	// Lines of the archive are whole anyway.
	Join bool
	// Rows keeps empty rows at the screen's end; else they are left out.
	Rows bool
}

// A TextPart names a screen.
type TextPart int

// Screens of a terminal.
const (
	// PartShown is the screen that is shown.
	PartShown TextPart = iota
	// PartMain is the main screen, also while it is covered.
	PartMain
	// PartAlternate is the alternate screen. It has no rows while it is not shown.
	PartAlternate
)

func (t *Terminal) part(p TextPart) *screen {
	switch p {
	case PartMain:
		return t.main
	case PartAlternate:
		return t.alt
	}
	return t.cur
}

// Text returns the screen as text, a line break behind every line.
func (t *Terminal) Text(o TextOptions) string {
	return t.render(o, func(b *strings.Builder, cells []cell) {
		b.Write(t.appendPlain(nil, cells))
	})
}

// ANSI returns the screen as text with SGR sequences and nothing else.
func (t *Terminal) ANSI(o TextOptions) string {
	return t.render(o, func(b *strings.Builder, cells []cell) {
		b.Write(t.appendStyledText(nil, cells))
	})
}

// appendStyledText appends cells with SGR; the default style is in force before
// and after.
func (t *Terminal) appendStyledText(dst []byte, cells []cell) []byte {
	n := len(cells)
	for n > 0 && cells[n-1] == 0 {
		n--
	}
	const plain = "\x1b[0m"
	inForce, current := plain, uint32(0)
	for _, c := range cells[:n] {
		if id := c.style(); id != current {
			current = id
			var room [64]byte
			// Styles that differ in a link or in protection look alike.
			if sgr := appendSGR(room[:0], t.styles.list[id]); string(sgr) != inForce {
				inForce = string(sgr)
				dst = append(dst, sgr...)
			}
		}
		switch {
		case c.hasContent():
			dst = t.appendCellText(dst, c)
		case c.width() != 0:
			dst = append(dst, ' ')
		}
	}
	if inForce != plain {
		dst = append(dst, plain...)
	}
	return dst
}

// render writes a screen and what is above it.
func (t *Terminal) render(o TextOptions, write func(*strings.Builder, []cell)) string {
	w := textWriter{cols: t.cols, join: o.Join, write: write}
	s := t.part(o.Part)
	if o.Scrollback {
		t.renderScrollback(&w, o.History, s)
	} else {
		t.renderArchive(&w, o.History, s)
	}
	rows := len(s.rows)
	end := rows
	for !o.Rows && end > 0 && len(t.appendPlain(nil, t.visible(s.row(end-1)))) == 0 {
		end--
	}
	for y := range end {
		w.row(s.row(y), y+1 < end && s.row(y+1).wrapped, s.rowOrNil(y+1))
	}
	t.sweep()
	return w.out.String()
}

func (t *Terminal) renderArchive(w *textWriter, history int, s *screen) {
	a := &t.archive
	var again map[LineID]*screenLine // those that the screen shows
	open := a.hasOpen()
	if s == t.main && history != 0 {
		lines := t.linesOf(nil, s)
		again = t.archivedLines(lines)
		// A line that comes back from its middle on begins in the archive still.
		open = open || len(lines) > 0 && lines[0].archived && len(lines[0].starts) > 0 && lines[0].starts[0] > 0
	}
	n := a.store.len()
	if history >= 0 {
		n = min(history+len(again), n)
	}
	var l line
	for i := a.store.len() - n; i < a.store.len(); i++ {
		if again[a.oldest()+LineID(i)] != nil {
			continue
		}
		c, k := a.store.at(i)
		t.decodeRecord(&l, c.record(k), c.table.list, maxCells)
		w.line(l.cells)
	}
	if history != 0 {
		a.waiting(func(c *chunk, i int) {
			t.decodeRecord(&l, c.record(i), c.table.list, maxCells)
			w.line(l.cells)
		})
	}
	if history != 0 && open {
		w.pending = append(w.pending, a.open.cells...)
		if !w.join || len(s.rows) == 0 || !s.row(0).wrapped || a.openAlt != (s == t.alt) {
			w.end()
		}
	}
}

// renderScrollback writes rows of the scrollback, which are above the main
// screen only.
func (t *Terminal) renderScrollback(w *textWriter, history int, s *screen) {
	if s != t.main {
		return
	}
	n := t.scrollback.len()
	if history >= 0 {
		n = min(history, n)
	}
	var l, next line
	for k := n - 1; k >= 0; k-- {
		c, i := t.scrollback.fromEnd(k)
		t.decodeRecord(&l, c.record(i), c.table.list, maxCells)
		below := s.row(0)
		if k > 0 {
			c, i = t.scrollback.fromEnd(k - 1)
			t.decodeRecord(&next, c.record(i), c.table.list, maxCells)
			below = &next
		}
		w.row(&l, below.wrapped, below)
	}
}

// textWriter writes rows as lines.
type textWriter struct {
	cols int
	join bool
	// pending is the beginning of a line that goes on.
	pending []cell
	out     strings.Builder
	write   func(*strings.Builder, []cell)
}

// row writes a row; continues says that the one below it goes on with its line.
func (w *textWriter) row(l *line, continues bool, below *line) {
	if w.join && continues {
		w.pending = appendJoined(w.pending, l, below, w.cols)
		return
	}
	cells := l.cells[:min(len(l.cells), w.cols)]
	if len(w.pending) > 0 {
		w.pending = append(w.pending, cells...)
		w.end()
		return
	}
	w.line(cells)
}

// end writes the pending line.
func (w *textWriter) end() {
	w.line(w.pending)
	w.pending = w.pending[:0]
}

func (w *textWriter) line(cells []cell) {
	w.write(&w.out, cells)
	w.out.WriteByte('\n')
}

// appendJoined appends a row that the one below goes on with. It counts full
// width, less the column that a wide character did not fit into.
func appendJoined(dst []cell, l, below *line, cols int) []cell {
	width := cols
	if last := l.at(cols - 1); !last.hasContent() && last.width() == 1 && below != nil && below.at(0).width() == 2 {
		width--
	}
	from := len(dst)
	dst = append(dst, make([]cell, width)...)
	copy(dst[from:], l.cells[:min(len(l.cells), width)])
	return dst
}

// A screenLine is a logical line that has not wholly scrolled off.
type screenLine struct {
	cells []cell
	alt   bool
	// row is the screen's row of the line's first cell on the screen, -1 when it
	// has none. starts are the cells that this row and those below begin at.
	row    int
	starts []int
	// known is the mark of its rows, see line.known.
	known uint64
	// archived says that the archive has the line: a resize took it back, and it
	// is as it was.
	archived bool
}

// place is the row and column of a cell, row -1 above the screen.
func (l *screenLine) place(at int) (row, column int) {
	row = -1
	for i, start := range l.starts {
		if at >= start {
			row, column = l.row+i, at-start
		}
	}
	return row, column
}

// screenLines are the lines on the screen from top to bottom, those of the main
// screen first when the alternate one covers it. The archive's open line is the
// beginning of the line it belongs to.
func (t *Terminal) screenLines() []screenLine {
	lines := t.linesOf(nil, t.main)
	if t.cur == t.alt {
		lines = t.linesOf(lines, t.alt)
	}
	return lines
}

func (t *Terminal) linesOf(lines []screenLine, s *screen) []screenLine {
	a := &t.archive
	alt := s == t.alt
	l := screenLine{row: -1, alt: alt}
	if len(a.open.cells) > 0 && a.openAlt == alt {
		l.cells, l.known = append(l.cells, a.open.cells...), a.open.known
		if len(s.rows) == 0 || !s.row(0).wrapped {
			if a.hasOpen() {
				lines = append(lines, l)
			}
			l = screenLine{row: -1, alt: alt}
		}
	}
	for y := range len(s.rows) {
		if l.row < 0 {
			l.row = y
		}
		l.starts = append(l.starts, len(l.cells))
		row, below := s.row(y), s.rowOrNil(y+1)
		if l.known == 0 {
			l.known = row.known
		}
		if below != nil && below.wrapped && len(l.cells) < maxCells-maxSize {
			l.cells = appendJoined(l.cells, row, below, t.cols)
			continue
		}
		l.cells = append(l.cells, t.visible(row)...)
		lines = append(lines, l)
		l = screenLine{row: -1, alt: alt}
	}
	return lines
}

// maxKnownScan bounds the lines of the archive that archivedLines looks at.
const maxKnownScan = 4 * maxSize

// archivedLines finds the screen's lines that the archive has, by their ids,
// and says so in them.
func (t *Terminal) archivedLines(lines []screenLine) map[LineID]*screenLine {
	a := &t.archive
	var found map[LineID]*screenLine
	var text, other []byte
	scan := maxKnownScan
	id := a.next
	for i := len(lines) - 1; i >= 0; i-- {
		l := &lines[i]
		if l.known == 0 {
			continue
		}
		text = t.appendPlain(text[:0], l.cells)
		if textHash(text) != l.known {
			continue // the program changed it since
		}
		for before := id; before > a.oldest() && scan > 0; scan-- {
			before--
			c, k := a.store.at(int(before - a.oldest()))
			if other = appendRecordText(other[:0], c.record(k)); string(other) == string(text) {
				if found == nil {
					found = make(map[LineID]*screenLine)
				}
				id, l.archived = before, true
				found[id] = l
				break
			}
		}
	}
	return found
}
