package vt

// near paints rows around the cursor, nearest first.
func (p *painter) near(s *screen) {
	t := p.t
	for d := 0; d < t.rows; d++ {
		for _, y := range []int{s.y - d, s.y + d}[min(d, 1)^1:] {
			if y < 0 || y >= t.rows {
				continue
			}
			before := len(p.buf)
			p.row(s, y, false)
			if len(p.buf) > maxRepaint/2 {
				p.buf = p.buf[:before]
				p.known = false
				return
			}
		}
	}
}

// row paints one row. With wraps the row's wrap flag is made too.
func (p *painter) row(s *screen, y int, wraps bool) {
	t := p.t
	l := s.row(y)
	dirty := newDirty()
	if wraps && l.wrapped {
		p.wrapInto(s, y, dirty)
	}
	n := min(l.used(), t.cols)
	p.tails(l, y, n, dirty)
	p.odd(l, y, n, dirty)
	for x := 0; x < n || x < t.cols && dirty.from(x); x++ {
		c := l.at(x)
		if !c.hasContent() {
			run := 1
			for x+run < t.cols && l.at(x+run) == c && (c != 0 || dirty.has(x+run) == dirty.has(x)) {
				run++
			}
			if c.width() == 1 && (c != 0 || dirty.has(x)) && !dirty.done(x) {
				p.move(x, y)
				p.setStyle(t.styles.list[c.style()])
				p.csi(run, "X")
			}
			if dirty.done(x) {
				run = 1
			}
			x += run - 1
			continue
		}
		width := c.width()
		if width == 2 && x == t.cols-1 {
			// Half a character, left over by a narrower screen.
			p.move(x, y)
			p.setStyle(t.styles.list[c.style()])
			p.puts(" ")
			p.x++
			continue
		}
		if width == 2 && x == t.cols-2 && p.stretched(l, y) {
			break
		}
		p.move(x, y)
		st := t.styles.list[c.style()]
		p.setStyle(st)
		if width == 0 {
			p.standalone()
		}
		text := t.appendCellText(nil, c)
		p.buf = append(p.buf, text...)
		p.x += max(width, 1)
		if width == 0 {
			continue
		}
		if next := l.at(x + 1); width == 2 && x == t.cols-2 && next.withoutTag() != wideTail {
			// Without autowrap a second wide character takes the tail away and
			// is not printed.
			p.puts("\x1b[?7l")
			p.jump(x, y)
			p.buf = append(append(p.buf, text...), "一"...)
			if next.hasContent() && next.width() == 1 {
				p.buf = t.appendCellText(p.buf, next)
			}
			p.puts("\x1b[?7h")
			p.known = false
			break
		}
		run := 1
		for x+run*width+width <= t.cols && l.at(x+run*width) == c && (width == 1 || l.at(x+run*width+1).withoutTag() == wideTail) {
			run++
		}
		if extra := run - 1; extra > 0 {
			if extra*len(text) <= 4 {
				for range extra {
					p.buf = append(p.buf, text...)
				}
			} else {
				p.csi(extra, "b")
			}
			p.x += extra * width
		}
		x += run*width - 1
	}
}

// isStretched says that a cell's narrow character is two wide: without
// autowrap a wide character is not printed in the last column, but a combining
// mark behind it joins the character before the cursor and brings the width
// along.
func (p *painter) isStretched(c cell) bool {
	if c.width() != 2 {
		return false
	}
	for _, r := range p.t.cellText(c) {
		return runeWidth(r) != 2
	}
	return false
}

// narrow paints a stretched cell at the last column but one, without the mark
// that stretches it, which it returns. place moves to a column of its row.
func (p *painter) narrow(c cell, place func(x int)) string {
	t := p.t
	text := []rune(t.cellText(c))
	mark := len(text) - 1
	place(t.cols - 2)
	p.setStyle(t.styles.list[c.style()])
	if mark == 0 {
		p.csi(1, "X")
	}
	p.typed(string(text[:mark]))
	return string(text[mark:])
}

// stretched paints the last two columns where the first is a stretched cell.
func (p *painter) stretched(l *line, y int) bool {
	t := p.t
	c, next := l.at(t.cols-2), l.at(t.cols-1)
	if !p.isStretched(c) || next.withoutTag() == wideTail || next.hasContent() && next.style() != c.style() {
		return false
	}
	if !next.hasContent() {
		p.move(t.cols-1, y)
		p.setStyle(t.styles.list[next.style()])
		p.csi(1, "X")
	}
	mark := p.narrow(c, func(x int) { p.jump(x, y) })
	p.puts("\x1b[?7l")
	p.jump(t.cols-1, y)
	p.puts("一" + mark + t.cellText(next))
	p.puts("\x1b[?7h")
	p.known = false
	return true
}

// standalone makes the next combining mark a cell of its own: any control
// before it will do.
func (p *painter) standalone() { p.puts("\x00") }

// A dirtySet holds the columns of a row that were drawn on and are not right
// yet, and those that are right already.
type dirtySet struct{ columns, finished map[int]bool }

func newDirty() *dirtySet { return &dirtySet{} }

func (d *dirtySet) add(x int) {
	if d.columns == nil {
		d.columns = make(map[int]bool)
	}
	d.columns[x] = true
}

func (d *dirtySet) finish(x int) {
	if d.finished == nil {
		d.finished = make(map[int]bool)
	}
	d.finished[x] = true
}

func (d *dirtySet) has(x int) bool  { return d.columns[x] }
func (d *dirtySet) done(x int) bool { return d.finished[x] }

// from says whether a column at or behind x is dirty.
func (d *dirtySet) from(x int) bool {
	for c := range d.columns {
		if c >= x {
			return true
		}
	}
	return false
}

// wrapInto prints across the end of the row above, so that row y gets its wrap
// flag. What stands at the row's start is dirty then.
func (p *painter) wrapInto(s *screen, y int, dirty *dirtySet) {
	t := p.t
	first := s.row(y).at(0)
	text := t.appendCellText(nil, first)
	if !first.hasContent() || first.width() == 0 {
		text = []byte(" ")
	}
	if y == 0 {
		// The row above is in the scrollback: wrap into the second row and
		// scroll it up.
		p.setStyle(style{})
		p.move(t.cols-1, 0)
		if t.rows > 1 {
			p.puts("  \x1b[S")
		} else {
			p.puts("  \x1b[3J")
		}
		p.known = false
		dirty.add(0)
		return
	}
	above := s.row(y - 1)
	last := above.at(t.cols - 1)
	switch {
	case !last.hasContent() && last.width() == 1:
		// A wide character that does not fit leaves the last column empty, in
		// its own style.
		p.setStyle(t.styles.list[last.style()])
		p.move(t.cols-1, y-1)
		if first.width() == 2 && first.style() == last.style() && first.hasContent() {
			p.buf = append(p.buf, text...)
		} else {
			p.puts("一")
		}
		dirty.add(0)
		dirty.add(1)
		p.x, p.y, p.known = 2, y, true
		return
	case p.known && p.y == y-1 && p.x == t.cols:
	case last.withoutTag() == wideTail && above.at(t.cols-2).hasContent():
		c := above.at(t.cols - 2)
		p.move(t.cols-2, y-1)
		p.setStyle(t.styles.list[c.style()])
		p.buf = t.appendCellText(p.buf, c)
	case last.hasContent() && last.width() == 1:
		p.move(t.cols-1, y-1)
		p.setStyle(t.styles.list[last.style()])
		p.buf = t.appendCellText(p.buf, last)
	default:
		return
	}
	p.setStyle(t.styles.list[first.style()])
	p.buf = append(p.buf, text...)
	dirty.add(0)
	p.x, p.y, p.known = 1, y, true
	if first.hasContent() && first.width() == 2 {
		dirty.add(1)
		p.x = 2
	}
}

// tails makes the second halves of wide characters that stand alone: inserting
// between the halves clears the first and moves the second on.
func (p *painter) tails(l *line, y, n int, dirty *dirtySet) {
	if !l.special {
		return
	}
	t := p.t
	for x := 1; x < n; x++ {
		c := l.at(x)
		if c.withoutTag() != wideTail || l.at(x-1).width() == 2 {
			continue
		}
		from := max(x-2, 0)
		p.jump(from, y)
		p.setStyle(t.styles.list[c.style()])
		p.puts("一")
		p.jump(from+1, y)
		p.setStyle(style{})
		p.puts("\x1b[@")
		if x == 1 {
			p.jump(0, y)
			p.puts("\x1b[P")
		}
		dirty.add(from)
		dirty.add(x - 1)
	}
}

// odd paints the empty cells that carry more than a background: what is left of
// a wide character that was overwritten. Only overwriting one again makes them.
func (p *painter) odd(l *line, y, n int, dirty *dirtySet) {
	if !l.special && !p.mayBeOdd(l, n) {
		return
	}
	t := p.t
	// At the right edge they are made of second halves, from right to left:
	// each costs the cell before it.
	edge := t.cols
	for edge > 0 && p.isOdd(l.at(edge-1)) {
		edge--
	}
	if edge == 0 && l.at(t.cols-1).style() == l.at(t.cols-2).style() {
		// There is nothing else in the row. Without autowrap, a wide character
		// that does not fit empties both halves of the one it would overwrite.
		p.halves(l, y, t.cols-2, dirty)
		p.setStyle(t.styles.list[l.at(t.cols-1).style()])
		p.jump(t.cols-2, y)
		p.puts("一\x1b[?7l")
		p.jump(t.cols-1, y)
		p.puts("一\x1b[?7h")
		p.known = false
		dirty.finish(t.cols - 2)
		dirty.finish(t.cols - 1)
		return
	}
	for x := t.cols - 1; x >= max(edge, 1); x-- {
		p.setStyle(t.styles.list[l.at(x).style()])
		p.jump(x-1, y)
		p.puts("一")
		p.jump(x-1, y)
		p.puts(" ")
		p.x++
		dirty.add(x - 1)
		dirty.finish(x)
	}
	p.halves(l, y, min(n, edge), dirty)
}

// halves makes the odd cells before column n of first halves of wide characters,
// which cost the cell behind them.
func (p *painter) halves(l *line, y, n int, dirty *dirtySet) {
	t := p.t
	for x := 0; x < n; x++ {
		c := l.at(x)
		if !p.isOdd(c) {
			continue
		}
		p.setStyle(t.styles.list[c.style()])
		p.jump(x, y)
		p.puts("一")
		p.jump(x+1, y)
		p.puts(" ")
		p.x++
		dirty.add(x + 1)
		dirty.finish(x)
	}
}

// jump is move from wherever the cursor may be.
func (p *painter) jump(x, y int) {
	p.known = false
	p.move(x, y)
}

func (p *painter) isOdd(c cell) bool {
	if c.hasContent() || c.width() != 1 || c.style() == 0 || p.detail >= paintNoStyles {
		return false
	}
	s := p.t.styles.list[c.style()]
	return s != style{bg: s.bg & colorMask}
}

func (p *painter) mayBeOdd(l *line, n int) bool {
	for x := 0; x < n; x++ {
		if p.isOdd(l.at(x)) {
			return true
		}
	}
	return false
}
