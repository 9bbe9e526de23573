package vt

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
