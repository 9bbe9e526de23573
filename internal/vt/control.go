package vt

// Controls and escape sequences without parameters (ECMA-48 C0 and C1, xterm
// ctlseqs "VT100 Mode"), with what xterm.js's InputHandler does for each.

// control1 handles U+0080–U+009F, which act in every state.
func (t *Terminal) control1(c rune) {
	ps := &t.parser
	old := ps.state
	ps.state = stGround
	switch c {
	case 0x90:
		ps.clear()
		ps.state = stDCSEntry
	case 0x98, 0x9e, 0x9f:
		ps.stringKind = map[rune]byte{0x98: 'X', 0x9e: '^', 0x9f: '_'}[c]
		ps.state = stString
	case 0x9b:
		ps.clear()
		ps.state = stCSIEntry
	case 0x9c:
		switch old {
		case stOSC:
			t.endOSC(true)
			ps.clear()
		case stDCSPass:
			t.endDCS(true)
			ps.clear()
		}
	case 0x9d:
		ps.dropText()
		ps.state = stOSC
	case 0x84:
		t.indexDown()
		t.lastWidth = 0
	case 0x85:
		t.cur.x = 0
		t.indexDown()
		t.lastWidth = 0
	case 0x88:
		t.cur.tabs.set(t.cur.x)
		t.lastWidth = 0
	default:
		t.lastWidth = 0
	}
}

// execute performs a C0 control.
func (t *Terminal) execute(c rune) {
	t.lastWidth = 0
	s := t.cur
	switch c {
	case 0x07:
		t.observed.Bell++
	case 0x08:
		t.backspace()
	case 0x09:
		if s.x < t.cols {
			s.x = s.tabs.next(s.x, t.cols)
		}
	case 0x0a, 0x0b, 0x0c:
		t.lineFeed()
	case 0x0d:
		s.x = 0
	case 0x0e:
		t.setLevel(1)
	case 0x0f:
		t.setLevel(0)
	}
}

// dispatchESC performs an escape sequence without parameters.
func (t *Terminal) dispatchESC(final byte) {
	t.lastWidth = 0
	collect := t.parser.collect
	if collect == 0 {
		switch final {
		case '7':
			t.saveCursor()
		case '8':
			t.restoreCursor()
		case 'D':
			t.indexDown()
		case 'E':
			t.cur.x = 0
			t.indexDown()
		case 'H':
			t.cur.tabs.set(t.cur.x)
		case 'M':
			t.reverseIndex()
		case '=':
			t.modes.keypad = true
		case '>':
			t.modes.keypad = false
		case 'c':
			t.ris()
		case 'n', '}':
			t.setLevel(2)
		case 'o', '|':
			t.setLevel(3)
		case '~':
			t.setLevel(1)
		}
		return
	}
	if collect > 0xff {
		return
	}
	switch collect {
	case '#':
		if final == '8' {
			t.alignmentPattern()
		}
	case '%':
		if final == '@' || final == 'G' {
			t.setLevel(0)
			t.setCharset(0, 0)
		}
	case '(', ')', '*', '+', '-', '.':
		if c, ok := parseCharset(final); ok {
			slot := map[uint32]int{'(': 0, ')': 1, '*': 2, '+': 3, '-': 1, '.': 2}[collect]
			t.setCharset(slot, c)
		}
	}
}
