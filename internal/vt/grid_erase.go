package vt

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
