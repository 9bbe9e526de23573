package vt

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
