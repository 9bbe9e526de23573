package vt

// Printing. xterm.js mends the left neighbour once, before the first character
// of a run without control codes; inRun says that a run goes on, across writes
// too, so that the result does not depend on how the bytes were cut.

// beginRun clears the first half of a wide character whose second half is about
// to be overwritten.
func (t *Terminal) beginRun() {
	if !t.inRun {
		t.mendLeft()
	}
}

func (t *Terminal) mendLeft() {
	t.inRun = true
	s := t.cur
	if s.x == 0 {
		return
	}
	if l := s.live(s.y); l.special && l.at(s.x-1).width() == 2 {
		l.set(s.x-1, blank(t.penStyle()))
	}
}

// mendRight clears the second half of a wide character whose first half was
// overwritten.
func (t *Terminal) mendRight() {
	if s := t.cur; s.x < t.cols {
		t.mendTail(s.live(s.y))
	}
}

// mendTail is mendRight for the cursor's row, the cursor being on it.
func (t *Terminal) mendTail(l *line) {
	if !l.special {
		return
	}
	x := t.cur.x
	if c := l.at(x); c.width() == 0 && !c.hasContent() && x < t.cols {
		l.set(x, blank(t.penStyle()))
	}
}

// printASCII prints characters 0x20 … 0x7e. unread is 1 where they are the input
// before t.rest, and 0 where they are none.
func (t *Terminal) printASCII(p []byte, unread int) {
	if t.charset != 0 || t.modes.insert {
		for i, b := range p {
			t.ahead = (len(p) - 1 - i) * unread
			t.printRune(rune(b))
		}
		return
	}
	t.beginRun()
	s := t.cur
	tag := cell(t.penStyle()) << styleShift
	for len(p) > 0 {
		if s.x >= t.cols {
			if !t.modes.wrap {
				// Every further character lands on the last column.
				s.live(s.y).set(t.cols-1, tag|cell(p[len(p)-1]))
				s.x = t.cols
				break
			}
			t.ahead = (len(p) - 1) * unread
			t.wrap(tag)
			t.ahead = 0
		}
		n := min(len(p), t.cols-s.x)
		l := s.live(s.y)
		l.grow(s.x + n)
		dst := l.cells[s.x : s.x+n]
		for i, b := range p[:n] {
			dst[i] = tag | cell(b)
		}
		s.x += n
		p = p[n:]
	}
	t.lastWidth = 1
	t.mendRight()
}

// wrap goes to the start of the next line, scrolling at the bottom of the
// region. What is left of the old line is cleared.
func (t *Terminal) wrap(tag cell) {
	s := t.cur
	old, oldX := s.live(s.y), s.x
	if oldX < t.cols {
		old.fillRange(oldX, t.cols, tag)
	}
	s.x = 0
	s.y++
	if s.y == s.bottom+1 {
		s.y--
		recycled := t.rows == 1 && (s == t.alt || t.scrollbackMax == 0)
		t.scroll(true)
		if recycled && oldX < t.cols {
			// xterm.js makes the new row of the old one, and clears what was
			// left of the old one only then.
			s.live(s.y).fillRange(oldX, t.cols, tag)
		}
	} else {
		if s.y >= t.rows {
			s.y = t.rows - 1
		}
		s.live(s.y).wrapped = true
	}
}

// printRune prints one character of any width.
func (t *Terminal) printRune(r rune) {
	t.beginRun()
	if t.charset != 0 {
		r = t.charset.translate(r)
	}
	width := runeWidth(r)
	if width == 0 && t.lastWidth != 0 {
		t.join(r)
		return
	}
	t.lastWidth = uint8(width)
	t.put(cell(r), width)
}

// join adds a character without width to the one before it.
func (t *Terminal) join(r rune) {
	s := t.cur
	width := int(t.lastWidth)
	if s.x == 0 {
		// There is nothing before it: it stands for itself, as wide as what
		// went before.
		if t.modes.insert {
			s.live(s.y).insertCells(0, 0, blank(t.penStyle()), t.cols)
			t.mendInserted(s.live(s.y))
		}
		t.odd = true
		t.store(s.live(s.y), cell(r), width, blank(t.penStyle()))
		return
	}
	l := s.live(s.y)
	x := s.x - 1
	if l.at(x).width() == 0 {
		x--
	}
	t.addToCell(l, x, r, width)
	t.mendRight()
}

// put prints the content of a cell at the cursor.
func (t *Terminal) put(content cell, width int) {
	s := t.cur
	tag := blank(t.penStyle())
	if s.x+width > t.cols {
		if t.modes.wrap {
			t.wrap(tag)
		} else {
			s.x = t.cols - 1
			if width == 2 {
				t.mendRight()
				return
			}
		}
	}
	l := s.live(s.y)
	if t.modes.insert {
		l.insertCells(s.x, width, tag, t.cols)
		t.mendInserted(l)
	}
	t.store(l, content, width, tag)
}

// putMany is put, n times, without insert mode and with wrapping.
func (t *Terminal) putMany(content cell, width, n int) {
	s := t.cur
	for n > 0 {
		t.put(content, width)
		n--
		l := s.live(s.y)
		more := min(n, (t.cols-s.x)/width)
		from, to := s.x-width, s.x+more*width
		if more <= 0 || from < 0 {
			continue
		}
		l.grow(to)
		repeatStart(l.cells[from:to], width)
		s.x = to
		t.mendRight()
		n -= more
	}
}

// mendInserted clears the first half of a wide character whose second half was
// moved out of the row.
func (t *Terminal) mendInserted(l *line) {
	if l.at(t.cols-1).width() == 2 {
		l.set(t.cols-1, blank(t.penStyle()))
	}
}

// store writes a character into the cursor's row and moves on.
func (t *Terminal) store(l *line, content cell, width int, tag cell) {
	s := t.cur
	c := tag | content | cell(width^1)<<widthShift
	x := s.x
	if width == 1 && x < len(l.cells) {
		l.cells[x] = c
		s.x++
	} else if end := x + max(1, width); end <= t.cols {
		if end > len(l.cells) {
			// More will follow.
			l.grow(min(t.cols, end|15))
		}
		l.cells[x] = c
		s.x++
		if width != 1 {
			l.special = true
			if width == 2 {
				l.cells[x+1] = tag | wideTail
				s.x++
			}
		}
	} else {
		if x < t.cols {
			l.set(x, c)
		}
		s.x += max(1, width)
	}
	if l.special {
		t.mendTail(l)
	}
}

// addToCell joins a code point to the character in a cell.
func (t *Terminal) addToCell(l *line, x int, r rune, width int) {
	if x < 0 || x >= t.cols {
		return
	}
	c := l.at(x)
	switch {
	case c.isCluster():
		text := t.clusters.text[c.number()]
		if runeCount(text) >= maxClusterRunes {
			return
		}
		c = c&^cellRune | cell(t.clusters.intern(text+string(r)))
	case c.hasContent():
		c = c&^cellContent | cellCluster | cell(t.clusters.intern(string(rune(c&cellRune))+string(r)))
	default:
		c = narrow(r, c.style())
		t.odd = true
	}
	if width != 0 {
		c = c&^(3<<widthShift) | cell(width^1)<<widthShift
	}
	l.set(x, c)
}

func runeCount(s string) int {
	n := 0
	for range s {
		n++
	}
	return n
}

// repeat is REP: the text of the last printed cell again, n times.
func (t *Terminal) repeat(n int) {
	if t.lastWidth == 0 {
		return
	}
	s := t.cur
	x := s.x - int(t.lastWidth)
	if x < 0 || x >= t.cols {
		return
	}
	c := s.live(s.y).at(x)
	text := t.cellText(c)
	n = min(n, maxSize, max(minRepeat, t.cols))
	t.inRun = false
	switch {
	case len(text) == 1:
		var run [maxSize]byte
		for i := range n {
			run[i] = text[0]
		}
		t.printASCII(run[:n], 0)
	case t.charset == 0 && t.modes.wrap && !t.modes.insert && c.width() == int(t.lastWidth) && text != "":
		// Printing the text would make this cell again.
		t.beginRun()
		t.putMany(c&cellContent, c.width(), n)
	default:
		for ; n > 0; n-- {
			for _, r := range text {
				t.printRune(r)
			}
		}
	}
	t.inRun = false
}

// REP has an effect up to the width of the screen, and of no fewer than
// minRepeat characters: programs repeat a character over a line at most.
const minRepeat = 16
