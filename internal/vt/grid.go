package vt

// maxSize bounds both dimensions of the screen.
const maxSize = 1000

// minCols is xterm.js's: a wide character must fit.
const minCols = 2

// A screen is the main or the alternate screen, xterm.js's Buffer.
type screen struct {
	// rows is a ring: row y is rows[(base+y) % len(rows)]. It is empty while
	// the alternate screen is not shown.
	rows []*line
	base int
	// spare are the rows of an alternate screen that is not shown, for the next
	// time. What they hold does not count.
	spare []*line
	// Filling the whole screen is put off: a row whose seq is not the screen's
	// is all cells of fillCell in a width of fillCols.
	seq      uint64
	fillCell cell
	fillCols int
	scratch  []*line
	// x may be cols: the next character wraps first ("pending wrap").
	x, y int
	// top and bottom are the first and last row of the scroll region.
	top, bottom int
	tabs        tabStops
	// savedY counts from the first line of the scrollback, as in xterm.js.
	savedX, savedY   int
	savedFg, savedBg uint32
	savedCharset     charset
	// keyboard is the stack of kitty keyboard flags, the last one in force.
	keyboard []uint8
}

// row is row y with all its cells written out.
func (s *screen) row(y int) *line {
	l := s.live(y)
	if l.rest != 0 {
		l.flatten()
	}
	return l
}

// live is row y, which may still have a rest.
func (s *screen) live(y int) *line {
	l := s.peek(y)
	if l.seq != s.seq {
		s.settle(l)
	}
	return l
}

// peek is row y as it stands, for who overwrites it whole and then sets its seq.
func (s *screen) peek(y int) *line {
	y += s.base
	if y >= len(s.rows) {
		y -= len(s.rows)
	}
	return s.rows[y]
}

// settle makes up for the fills that a row has missed.
func (s *screen) settle(l *line) {
	l.seq = s.seq
	l.wrapped = false
	l.fill(s.fillCell, s.fillCols)
}

// fillAll fills every row and ends soft wraps.
func (s *screen) fillAll(c cell, cols int) {
	s.seq++
	s.fillCell, s.fillCols = c, cols
}

// renew empties the rows from up to and without to, see line.reset.
func (s *screen) renew(from, to int, style uint32, cols int) {
	for y := from; y < to; y++ {
		l := s.peek(y)
		l.reset(style, cols)
		l.seq = s.seq
	}
}

// clear makes the screen as new. It keeps the memory of its rows.
func (s *screen) clear(cols, rows int) {
	kept := *s
	*s = screen{rows: kept.rows, spare: kept.spare, scratch: kept.scratch, seq: kept.seq, bottom: rows - 1}
	s.tabs.setup(0, cols)
	if len(s.rows) != rows {
		s.rows, s.seq = newRows(rows), 0
	} else if rows > 0 {
		s.fillAll(0, cols)
	}
}

// hide puts the rows away.
func (s *screen) hide() {
	if len(s.rows) > 0 {
		s.spare = s.rows
	}
	s.rows, s.base = nil, 0
}

// show brings rows back, filled.
func (s *screen) show(c cell, cols, rows int) {
	s.rows, s.spare, s.base = s.spare, nil, 0
	if len(s.rows) != rows {
		s.rows, s.seq = newRows(rows), 0
	}
	for _, l := range s.rows {
		l.long = 0
	}
	s.fillAll(c, cols)
}

// list is the rows from top to bottom, written out. Rows made by others may be
// put among them.
func (s *screen) list() []*line {
	out := make([]*line, len(s.rows))
	for y := range out {
		out[y] = s.row(y)
		out[y].seq = 0
	}
	s.seq = 0
	return out
}

func newRows(n int) []*line {
	rows := make([]*line, n)
	block := make([]line, n)
	for i := range rows {
		rows[i] = &block[i]
	}
	return rows
}

// ybase is the number of lines above the screen, xterm.js's buffer.ybase.
func (t *Terminal) ybase() int {
	if t.cur != t.main {
		return 0
	}
	return t.missing + t.scrollback.len()
}

// rowOrNil is row y, nil below the screen.
func (s *screen) rowOrNil(y int) *line {
	if y >= len(s.rows) {
		return nil
	}
	return s.row(y)
}

// liveOrNil is rowOrNil without writing the row out.
func (s *screen) liveOrNil(y int) *line {
	if y >= len(s.rows) {
		return nil
	}
	return s.live(y)
}

func (t *Terminal) enterAlt() {
	if t.cur == t.alt {
		return
	}
	if len(t.alt.rows) == 0 {
		t.alt.show(blank(t.eraseStyle()), t.cols, t.rows)
	}
	t.alt.x, t.alt.y = t.main.x, t.main.y
	t.cur = t.alt
}

func (t *Terminal) leaveAlt() {
	if t.cur == t.main {
		return
	}
	t.main.x, t.main.y = t.alt.x, t.alt.y
	a := t.alt
	a.hide()
	a.x, a.y = 0, 0
	a.top, a.bottom = 0, t.rows-1
	a.tabs = tabStops{}
	a.tabs.setup(0, t.cols)
	t.archive.flush(t)
	t.cur = t.main
}
