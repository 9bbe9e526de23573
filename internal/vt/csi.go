package vt

// key names a CSI sequence by prefix, intermediate and final byte; 0 is none.
func key(prefix, intermediate, final byte) uint32 {
	k := uint32(final)
	if intermediate != 0 {
		k |= uint32(intermediate) << 8
	}
	if prefix != 0 {
		if intermediate != 0 {
			k |= uint32(prefix) << 16
		} else {
			k |= uint32(prefix) << 8
		}
	}
	return k
}

// dispatchCSI performs the control sequence in the parser. Prefix,
// intermediates and final byte together are one number, as in xterm.js.
func (t *Terminal) dispatchCSI(final byte) {
	ps := &t.parser
	p := &ps.params
	s := t.cur
	switch ps.collect<<8 | uint32(final) {
	case 'A':
		n := p.count()
		if d := s.y - s.top; d >= 0 {
			n = min(d, n)
		}
		t.moveCursor(0, -n)
	case 'B':
		t.cursorDown(p.count())
	case 'C', 'a':
		t.moveCursor(p.count(), 0)
	case 'D':
		t.moveCursor(-p.count(), 0)
	case 'E':
		t.cursorDown(p.count())
		s.x = 0
	case 'F':
		n := p.count()
		if d := s.y - s.top; d >= 0 {
			n = min(d, n)
		}
		t.moveCursor(0, -n)
		s.x = 0
	case 'G', '`':
		t.setCursor(p.count()-1, s.y)
	case 'H', 'f':
		t.setCursor(max(1, int(p.second()))-1, p.count()-1)
	case 'I':
		if s.x < t.cols {
			for n := min(p.count(), t.cols); n > 0; n-- {
				s.x = s.tabs.next(s.x, t.cols)
			}
		}
	case 'Z':
		if s.x < t.cols {
			for n := min(p.count(), t.cols); n > 0; n-- {
				s.x = s.tabs.prev(s.x, t.cols)
			}
		}
	case 'J':
		t.eraseInDisplay(p.value[0], false)
	case '?'<<8 | 'J':
		t.eraseInDisplay(p.value[0], true)
	case 'K':
		t.eraseInLine(p.value[0], false)
	case '?'<<8 | 'K':
		t.eraseInLine(p.value[0], true)
	case 'L':
		t.insertLines(p.count())
	case 'M':
		t.deleteLines(p.count())
	case '@':
		t.restrict(t.cols - 1)
		s.row(s.y).insertCells(s.x, p.count(), blank(t.eraseStyle()), t.cols)
	case 'P':
		t.restrict(t.cols - 1)
		s.row(s.y).deleteCells(s.x, p.count(), blank(t.eraseStyle()), t.cols)
	case 'X':
		t.restrict(t.cols - 1)
		s.row(s.y).replaceCells(s.x, s.x+min(p.count(), maxSize), blank(t.eraseStyle()), t.cols)
	case 'S':
		t.scrollUp(p.count())
	case 'T':
		t.scrollDown(p.count())
	case ' '<<8 | '@':
		t.shiftColumns(0, p.count(), false)
	case ' '<<8 | 'A':
		t.shiftColumns(0, p.count(), true)
	case '\''<<8 | '}':
		t.shiftColumns(s.x, p.count(), true)
	case '\''<<8 | '~':
		t.shiftColumns(s.x, p.count(), false)
	case 'b':
		t.repeat(p.count())
	case 'd':
		t.setCursor(s.x, p.count()-1)
	case 'e':
		t.moveCursor(0, p.count())
	case 'g':
		switch p.value[0] {
		case 0:
			s.tabs.clear(s.x)
		case 3:
			s.tabs = tabStops{}
		}
	case 'h', 'l':
		for _, m := range p.value[:p.n] {
			t.setMode(m, final == 'h')
		}
	case '?'<<8 | 'h', '?'<<8 | 'l':
		// A mode may switch screens, but the list of parameters stays.
		list := p.value
		for _, m := range list[:p.n] {
			t.setPrivateMode(m, final == 'h')
		}
	case 'm':
		t.selectGraphic(p)
		t.boundStyles()
	case '>'<<8 | 'm':
		t.setModifyOtherKeys(p)
	case '>'<<8 | 'n':
		if p.value[0] == 4 {
			t.modes.modifyOtherKeys = 0
		}
	case 'r':
		t.setRegion(p)
	case 's':
		t.saveCursor()
	case 'u':
		t.restoreCursor()
	case '>'<<8 | 'u':
		t.pushKeyboard(uint8(p.value[0] & 31))
	case '<'<<8 | 'u':
		t.popKeyboard(p.count())
	case '='<<8 | 'u':
		t.setKeyboard(uint8(p.value[0]&31), p.second())
	case '!'<<8 | 'p':
		t.softReset()
	case ' '<<8 | 'q':
		t.setCursorStyle(p.value[0])
	case '"'<<8 | 'q':
		switch p.value[0] {
		case 0, 2:
			t.pen.bg &^= bgProtected
		case 1:
			t.pen.bg |= bgProtected
		}
		t.penStale = true
	case 't':
		t.windowOption(p)
	default:
		t.answerCSI(ps.collect<<8|uint32(final), p)
	}
	t.lastWidth = 0
}

func (t *Terminal) cursorDown(n int) {
	if d := t.cur.bottom - t.cur.y; d >= 0 {
		n = min(d, n)
	}
	t.moveCursor(0, n)
}

func (t *Terminal) setRegion(p *params) {
	top := p.count()
	bottom := int(p.second())
	if p.n < 2 || bottom > t.rows || bottom == 0 {
		bottom = t.rows
	}
	if bottom > top {
		t.cur.top, t.cur.bottom = top-1, bottom-1
		t.setCursor(0, 0)
	}
}

// windowOption keeps the title stack. Sizes are asked for elsewhere, and
// nothing else of XTWINOPS acts.
func (t *Terminal) windowOption(p *params) {
	switch p.value[0] {
	case 18:
		t.answerCSI('t', p)
	case 22:
		if which := p.second(); which == 0 || which == 2 {
			t.titles = append(t.titles, t.observed.Title)
			if len(t.titles) > maxTitles {
				t.titles = append(t.titles[:0], t.titles[1:]...)
			}
		}
	case 23:
		if which := p.second(); (which == 0 || which == 2) && len(t.titles) > 0 {
			t.observed.Title = t.titles[len(t.titles)-1]
			t.titles = t.titles[:len(t.titles)-1]
		}
	}
}

// maxTitles bounds the title stack, as xterm.js does.
const maxTitles = 10

// maxKeyboard bounds a kitty keyboard stack; pushing more drops the oldest.
const maxKeyboard = 16

func (t *Terminal) pushKeyboard(flags uint8) {
	s := t.cur
	if len(s.keyboard) >= maxKeyboard {
		s.keyboard = append(s.keyboard[:0], s.keyboard[1:]...)
	}
	s.keyboard = append(s.keyboard, flags)
}

func (t *Terminal) popKeyboard(n int) {
	s := t.cur
	s.keyboard = s.keyboard[:len(s.keyboard)-min(n, len(s.keyboard))]
}

func (t *Terminal) setKeyboard(flags uint8, how int32) {
	s := t.cur
	if len(s.keyboard) == 0 {
		s.keyboard = append(s.keyboard, 0)
	}
	top := &s.keyboard[len(s.keyboard)-1]
	switch how {
	case 0, 1:
		*top = flags
	case 2:
		*top |= flags
	case 3:
		*top &^= flags
	}
}

func (s *screen) keyboardFlags() uint8 {
	if len(s.keyboard) == 0 {
		return 0
	}
	return s.keyboard[len(s.keyboard)-1]
}

// setModifyOtherKeys is XTMODKEYS for resource 4.
func (t *Terminal) setModifyOtherKeys(p *params) {
	switch p.value[0] {
	case 0:
		if p.n == 1 {
			t.modes.modifyOtherKeys = 0
		}
	case 4:
		t.modes.modifyOtherKeys = uint8(min(max(p.second(), 0), 2))
	}
}

func (t *Terminal) setCursorStyle(n int32) {
	if n == 0 {
		t.modes.cursorShape, t.modes.cursorBlink = CursorDefault, BlinkDefault
		return
	}
	switch n {
	case 1, 2:
		t.modes.cursorShape = CursorBlock
	case 3, 4:
		t.modes.cursorShape = CursorUnderline
	case 5, 6:
		t.modes.cursorShape = CursorBar
	}
	t.modes.cursorBlink = BlinkOff
	if n%2 == 1 {
		t.modes.cursorBlink = BlinkOn
	}
}

func (t *Terminal) softReset() {
	s := t.cur
	s.top, s.bottom = 0, t.rows-1
	t.pen = pen{}
	t.penStale = true
	t.modes.soft()
	t.resetCharsets()
	s.savedX, s.savedY = 0, t.ybase()
	s.savedFg, s.savedBg, s.savedCharset = 0, 0, 0
	s.keyboard = nil
	t.modes.modifyOtherKeys = 0
}

func (t *Terminal) resetCharsets() {
	t.charset, t.glevel, t.gsets = 0, 0, [4]charset{}
}
