package vt

import "bytes"

// Printing. xterm.js mends the left neighbour once, before the first character
// of a run without control codes; inRun says that a run goes on, across writes
// too, so that the result does not depend on how the bytes were cut.

// beginRun clears the first half of a wide character whose second half is about
// to be overwritten.
func (t *Terminal) beginRun() {
	if t.inRun {
		return
	}
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
	s := t.cur
	if s.x >= t.cols {
		return
	}
	if l := s.live(s.y); l.special {
		if c := l.at(s.x); c.width() == 0 && !c.hasContent() {
			l.set(s.x, blank(t.penStyle()))
		}
	}
}

// printASCII prints characters 0x20 … 0x7e.
func (t *Terminal) printASCII(p []byte) {
	if t.charset != 0 || t.modes.insert {
		for _, b := range p {
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
			t.wrap(tag)
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
	r = t.charset.translate(r)
	s := t.cur
	width := runeWidth(r)
	join := width == 0 && t.lastWidth != 0
	if join {
		width = int(t.lastWidth)
	} else {
		t.lastWidth = uint8(width)
	}
	tag := blank(t.penStyle())

	if !join && s.x+width > t.cols {
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
	if join && s.x > 0 {
		x := s.x - 1
		if l.at(x).width() == 0 {
			x--
		}
		t.addToCell(l, x, r, width)
		t.mendRight()
		return
	}
	if t.modes.insert {
		n := width
		if join {
			n = 0
		}
		l.insertCells(s.x, n, tag, t.cols)
		if l.at(t.cols-1).width() == 2 {
			l.set(t.cols-1, tag)
		}
	}
	if s.x < t.cols {
		l.set(s.x, makeCell(r, width, uint32(tag>>styleShift)))
	}
	s.x++
	if width == 2 {
		if s.x < t.cols {
			l.set(s.x, tag|wideTail)
		}
		s.x++
	}
	t.mendRight()
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
		c = makeCell(r, 1, c.style())
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
	text := t.cellText(s.live(s.y).at(x))
	n = min(n, maxRepeat)
	t.inRun = false
	if len(text) == 1 {
		run := bytes.Repeat([]byte(text), n)
		t.printASCII(run)
		n = 0
	}
	for ; n > 0; n-- {
		for _, r := range text {
			t.printRune(r)
		}
	}
	t.inRun = false
}

// maxRepeat bounds REP. Programs repeat a character over a line at most.
const maxRepeat = maxSize
