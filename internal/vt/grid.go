package vt

import "math/bits"

// maxSize bounds both dimensions of the screen.
const maxSize = 1000

// minCols is xterm.js's: a wide character must fit.
const minCols = 2

// tabStops is a set of columns 0 … maxSize.
type tabStops [maxSize/64 + 1]uint64

func (s *tabStops) has(x int) bool {
	return uint(x) <= maxSize && s[x>>6]&(1<<(x&63)) != 0
}

func (s *tabStops) set(x int) {
	if uint(x) <= maxSize {
		s[x>>6] |= 1 << (x & 63)
	}
}

func (s *tabStops) clear(x int) {
	if uint(x) <= maxSize {
		s[x>>6] &^= 1 << (x & 63)
	}
}

// prev is the tab stop before x.
func (s *tabStops) prev(x, cols int) int {
	if x = min(x, maxSize+1) - 1; x < 0 {
		return 0
	}
	// The bits up to x, from the word of x downwards.
	word := s[x>>6] << (63 - x&63) >> (63 - x&63)
	for i := x >> 6; ; i-- {
		if word != 0 {
			return min(i<<6+bits.Len64(word)-1, cols-1)
		}
		if i == 0 {
			return 0
		}
		word = s[i-1]
	}
}

// next is the tab stop behind x.
func (s *tabStops) next(x, cols int) int {
	x++
	for i := x >> 6; i < len(s) && i<<6 < cols; i++ {
		word := s[i]
		if i == x>>6 {
			word &= ^uint64(0) << (x & 63)
		}
		if word != 0 {
			return min(i<<6+bits.TrailingZeros64(word), cols-1)
		}
	}
	return cols - 1
}

// setup sets every eighth column from a column on, continuing the stop before
// it, as xterm.js does when the screen grows.
func (s *tabStops) setup(from, cols int) {
	if from > 0 && !s.has(from) {
		from = s.prev(from, cols)
	}
	for ; from < cols; from += 8 {
		s.set(from)
	}
}

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

// rotateUp moves the rows top … bottom up by n, at most their number; the first
// n become the last.
func (s *screen) rotateUp(top, bottom, n int) {
	if top == 0 && bottom == len(s.rows)-1 {
		if s.base += n; s.base >= len(s.rows) {
			s.base -= len(s.rows)
		}
		return
	}
	if s.base+bottom >= len(s.rows) {
		// The region goes around the end of the ring: begin the ring anew.
		s.scratch = append(append(s.scratch[:0], s.rows[s.base:]...), s.rows[:s.base]...)
		copy(s.rows, s.scratch)
		s.base = 0
	}
	region := s.rows[s.base+top : s.base+bottom+1]
	if back := len(region) - n; back < n {
		s.scratch = append(s.scratch[:0], region[n:]...)
		copy(region[back:], region[:n])
		copy(region, s.scratch)
		return
	}
	s.scratch = append(s.scratch[:0], region[:n]...)
	copy(region, region[n:])
	copy(region[len(region)-n:], s.scratch)
}

// removeLines takes n rows away at the top of a region and adds empty ones below.
func (s *screen) removeLines(top, bottom, n int, style uint32, cols int) {
	n = min(n, bottom-top+1)
	s.rotateUp(top, bottom, n)
	s.renew(bottom+1-n, bottom+1, style, cols)
}

// addLines adds n empty rows at the top of a region; the last ones are lost.
func (s *screen) addLines(top, bottom, n int, style uint32, cols int) {
	n = min(n, bottom-top+1)
	s.rotateUp(top, bottom, bottom-top+1-n)
	s.renew(top, top+n, style, cols)
}

// ybase is the number of lines above the screen, xterm.js's buffer.ybase.
func (t *Terminal) ybase() int {
	if t.cur != t.main {
		return 0
	}
	return t.missing + t.scrollback.len()
}

// scroll moves the scroll region up by one line, into the history where the
// region begins at the top.
func (t *Terminal) scroll(wrapped bool) {
	s := t.cur
	style := t.eraseStyle()
	if s.top == 0 {
		if s == t.main {
			t.pushHistory()
		} else {
			t.archive.push(t, s.row(0), s.liveOrNil(1), true)
		}
	}
	s.rotateUp(s.top, s.bottom, 1)
	l := s.peek(s.bottom)
	l.reset(style, t.cols)
	l.seq = s.seq
	l.wrapped = wrapped
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

// restrict keeps the cursor on the screen, or in the scroll region in origin
// mode. maxX is cols-1, or cols where a pending wrap may stay.
func (t *Terminal) restrict(maxX int) {
	s := t.cur
	s.x = min(maxX, max(0, s.x))
	if t.modes.origin {
		s.y = min(s.bottom, max(s.top, s.y))
	} else {
		s.y = min(t.rows-1, max(0, s.y))
	}
}

func (t *Terminal) setCursor(x, y int) {
	s := t.cur
	s.x = x
	s.y = y
	if t.modes.origin {
		s.y += s.top
	}
	t.restrict(t.cols - 1)
	if s.y == 0 {
		t.archive.allowReprint()
	}
}

// moveCursor moves by a difference. In origin mode xterm.js adds the top of
// the region to it, and so do we.
func (t *Terminal) moveCursor(dx, dy int) {
	t.restrict(t.cols - 1)
	t.setCursor(t.cur.x+dx, t.cur.y+dy)
}

func (t *Terminal) lineFeed() {
	s := t.cur
	if t.modes.newLine {
		s.x = 0
	}
	s.y++
	switch {
	case s.y == s.bottom+1:
		s.y--
		t.scroll(false)
	case s.y >= t.rows:
		s.y = t.rows - 1
	default:
		s.live(s.y).wrapped = false
	}
	if s.x >= t.cols {
		s.x--
	}
}

// index is IND: down one line, scrolling at the bottom of the region.
func (t *Terminal) indexDown() {
	s := t.cur
	t.restrict(t.cols - 1)
	s.y++
	if s.y == s.bottom+1 {
		s.y--
		t.scroll(false)
	} else if s.y >= t.rows {
		s.y = t.rows - 1
	}
	t.restrict(t.cols - 1)
}

func (t *Terminal) reverseIndex() {
	s := t.cur
	t.restrict(t.cols - 1)
	if s.y == s.top {
		s.addLines(s.top, s.bottom, 1, t.eraseStyle(), t.cols)
		t.archive.allowReprint()
	} else {
		s.y--
		t.restrict(t.cols - 1)
	}
}

func (t *Terminal) backspace() {
	s := t.cur
	if !t.modes.reverseWrap {
		t.restrict(t.cols - 1)
		if s.x > 0 {
			s.x--
		}
		return
	}
	t.restrict(t.cols)
	if s.x > 0 {
		s.x--
	} else if s.y > s.top && s.y <= s.bottom && s.live(s.y).wrapped {
		s.live(s.y).wrapped = false
		s.y--
		s.x = t.cols - 1
		if c := s.live(s.y).at(s.x); c.width() != 0 && !c.hasContent() {
			s.x--
		}
	}
	t.restrict(t.cols - 1)
}

// eraseInRow erases the columns [from, to) of a row.
func (t *Terminal) eraseInRow(y, from, to int, clearWrap, respectProtect bool) {
	l := t.cur.live(y)
	fill := blank(t.eraseStyle())
	if respectProtect && t.styles.protected {
		l.flatten()
		t.eraseUnprotected(l, from, to, fill)
	} else {
		l.replaceCells(from, to, fill, t.cols)
	}
	if clearWrap {
		l.wrapped = false
	}
}

func (t *Terminal) protected(c cell) bool {
	return t.styles.list[c.style()].bg&bgProtected != 0
}

func (t *Terminal) eraseUnprotected(l *line, from, to int, fill cell) {
	if from > 0 && l.at(from-1).width() == 2 && !t.protected(l.at(from-1)) {
		l.set(from-1, fill)
	}
	length := l.length(t.cols)
	if to > 0 && to < length && l.at(to-1).width() == 2 && !t.protected(l.at(to)) {
		l.set(to, fill)
	}
	to = min(to, length)
	if from >= to {
		return
	}
	l.grow(to)
	cells := l.cells[from:to]
	seen, protected := cell(0), false
	for i, c := range cells {
		if c>>styleShift != seen {
			seen = c >> styleShift
			protected = t.protected(c)
		}
		if !protected {
			cells[i] = fill
		}
	}
}

// eraseRows erases the rows from up to and without to, whole.
func (t *Terminal) eraseRows(from, to int, respectProtect bool) {
	s := t.cur
	fill := blank(t.eraseStyle())
	if respectProtect && t.styles.protected {
		if !t.affordRows(to - from) {
			return
		}
		for y := from; y < to; y++ {
			l := s.row(y)
			t.eraseUnprotected(l, 0, l.length(t.cols), fill)
			l.wrapped = false
			l.known = 0
		}
		return
	}
	if from == 0 && to == t.rows {
		s.fillAll(fill, t.cols)
		return
	}
	for y := from; y < to; y++ {
		l := s.peek(y)
		if l.seq == s.seq && l.rest == fill && len(l.cells) == 0 && !l.wrapped && l.until == t.cols && l.known == 0 {
			continue
		}
		l.fill(fill, t.cols)
		l.wrapped = false
		l.seq = s.seq
	}
}

func (t *Terminal) eraseInDisplay(what int32, respectProtect bool) {
	s := t.cur
	t.restrict(t.cols)
	switch what {
	case 0:
		if s.x == 0 && s.y == 0 {
			t.archive.expectReprint()
			if s.peek(0).long <= t.cols {
				t.eraseRows(0, t.rows, respectProtect)
				return
			}
		}
		t.eraseInRow(s.y, s.x, t.cols, s.x == 0, respectProtect)
		t.eraseRows(s.y+1, t.rows, respectProtect)
	case 1:
		t.eraseInRow(s.y, 0, s.x+1, true, respectProtect)
		if s.x+1 >= t.cols && s.y+1 < t.rows {
			s.live(s.y + 1).wrapped = false
		}
		t.eraseRows(0, s.y, respectProtect)
	case 2:
		t.eraseRows(0, t.rows, respectProtect)
		t.archive.expectReprint()
	case 3:
		if s == t.main {
			t.scrollback.reset()
			t.missing = 0
			t.archive.expectReprint()
		}
	}
}

func (t *Terminal) eraseInLine(what int32, respectProtect bool) {
	s := t.cur
	t.restrict(t.cols)
	switch what {
	case 0:
		t.eraseInRow(s.y, s.x, t.cols, s.x == 0, respectProtect)
	case 1:
		t.eraseInRow(s.y, 0, s.x+1, false, respectProtect)
	case 2:
		t.eraseInRow(s.y, 0, t.cols, true, respectProtect)
	}
}

func (t *Terminal) cursorInRegion() bool {
	return t.cur.y >= t.cur.top && t.cur.y <= t.cur.bottom
}

func (t *Terminal) insertLines(n int) {
	s := t.cur
	t.restrict(t.cols - 1)
	if !t.cursorInRegion() {
		return
	}
	s.addLines(s.y, s.bottom, n, t.eraseStyle(), t.cols)
	s.x = 0
}

func (t *Terminal) deleteLines(n int) {
	s := t.cur
	t.restrict(t.cols - 1)
	if !t.cursorInRegion() {
		return
	}
	s.removeLines(s.y, s.bottom, n, t.eraseStyle(), t.cols)
	s.x = 0
}

func (t *Terminal) scrollUp(n int) {
	s := t.cur
	s.removeLines(s.top, s.bottom, n, t.eraseStyle(), t.cols)
}

func (t *Terminal) scrollDown(n int) {
	s := t.cur
	s.addLines(s.top, s.bottom, n, 0, t.cols)
	t.archive.allowReprint()
}

// shiftColumns is SL, SR, DECIC and DECDC: every row of the region loses or
// gains n cells at a column.
func (t *Terminal) shiftColumns(x, n int, insert bool) {
	if !t.cursorInRegion() || !t.affordRows(t.cur.bottom-t.cur.top+1) {
		return
	}
	fill := blank(t.eraseStyle())
	for y := t.cur.top; y <= t.cur.bottom; y++ {
		l := t.cur.live(y)
		if insert {
			l.insertCells(x, n, fill, t.cols)
		} else {
			l.deleteCells(x, n, fill, t.cols)
		}
		l.wrapped = false
	}
}

// alignmentPattern is DECALN.
func (t *Terminal) alignmentPattern() {
	t.setCursor(0, 0)
	s := t.cur
	// xterm.js copies fg and bg only, here as in DECSC.
	style := t.styles.intern(style{fg: t.pen.fg, bg: t.pen.bg})
	first := s.y
	if s == t.alt || t.scrollbackMax == 0 {
		// In origin mode xterm.js starts at the region and comes around.
		first = 0
	}
	if first == 0 {
		s.fillAll(narrow('E', style), t.cols)
	}
	for y := first; first > 0 && y < t.rows; y++ {
		l := s.peek(y)
		l.fill(narrow('E', style), t.cols)
		l.wrapped = false
		l.seq = s.seq
	}
	t.setCursor(0, 0)
}

func (t *Terminal) saveCursor() {
	s := t.cur
	s.savedX = s.x
	s.savedY = t.ybase() + s.y
	s.savedFg = t.pen.fg
	s.savedBg = t.pen.bg
	s.savedCharset = t.charset
}

func (t *Terminal) restoreCursor() {
	s := t.cur
	s.x = s.savedX
	s.y = max(s.savedY-t.ybase(), 0)
	t.pen.fg = s.savedFg
	t.pen.bg = s.savedBg
	t.penStale = true
	t.charset = s.savedCharset
	t.restrict(t.cols - 1)
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
