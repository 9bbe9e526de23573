package vt

// The state machine of step is complete; what stands here only makes the input
// that programs print all day go around it: printable characters, CR and LF,
// and whole ordinary control sequences, all of them in the ground state.

// ground consumes t.rest up to what only the state machine knows.
func (t *Terminal) ground() {
	for len(t.rest) > 0 {
		p := t.rest
		switch c := p[0]; {
		case c >= 0x20 && c < 0x7f:
			n := printableRun(p)
			t.rest = p[n:]
			t.printASCII(p[:n], 1)
		case c == '\n':
			t.rest = p[1:]
			t.inRun = false
			t.lastWidth = 0
			t.lineFeed()
			if len(t.rest) >= minPassing && t.cur.y == t.rows-1 {
				t.pass()
			}
		case c == '\r':
			t.rest = p[1:]
			t.inRun = false
			t.lastWidth = 0
			t.cur.x = 0
		case c == 0x1b:
			if len(p) < 3 || p[1] != '[' {
				return
			}
			if n := t.shortGraphic(p); n > 0 {
				t.rest = p[n:]
				t.inRun = false
				t.lastWidth = 0
				t.boundStyles()
			} else if !t.fastCSI(p) {
				return
			}
		case c < 0xc0 || !t.printText(p):
			return
		}
	}
}

// printText prints the characters beyond ASCII at the start of p, without
// controls and what is not whole.
func (t *Terminal) printText(p []byte) bool {
	n := 0
	for n < len(p) && p[n] >= 0xc0 {
		r, size := decode(p[n:])
		if r < 0xa0 {
			break
		}
		width := runeWidth(r)
		if width == 0 || !t.inRun || t.modes.insert {
			n += size
			t.rest = p[n:]
			t.printRune(r)
			if len(t.clusters.text) > t.clusters.limit {
				t.sweep()
			}
			continue
		}
		if more := t.printInRow(p[n:]); more > 0 {
			n += more
			continue
		}
		// It begins a row. No charset has characters beyond ASCII to translate.
		n += size
		t.rest = p[n:]
		t.lastWidth = uint8(width)
		t.put(cell(r), width)
	}
	return n > 0
}

// printInRow prints the characters at the start of p that have a width of their
// own and fit into the cursor's row, and says how many bytes they are.
func (t *Terminal) printInRow(p []byte) int {
	s := t.cur
	l := s.live(s.y)
	tag := blank(t.penStyle())
	x, n, last := s.x, 0, 0
	// No character has more columns than bytes. Room for some is made at a time:
	// it is in vain where a control follows soon.
	length, whole := len(l.cells), l.rest == 0 // else the rest was written out
	l.grow(min(t.cols, x+min(len(p), 64)))
	cells := l.cells[:min(t.cols, len(l.cells))]
	for n < len(p) && x < len(cells) {
		c := p[n]
		if c < 0xc0 {
			if c < 0x20 || c >= 0x7f || t.charset != 0 {
				break
			}
			cells[x] = tag | cell(c)
			x, n, last = x+1, n+1, 1
			continue
		}
		r, size := decode(p[n:])
		if r < 0xa0 {
			break
		}
		width := runeWidth(r)
		if width == 1 {
			cells[x] = tag | cell(r)
		} else {
			if width == 0 || x+1 >= len(cells) {
				break
			}
			cells[x] = tag | cell(r) | 3<<widthShift
			cells[x+1] = tag | wideTail
			l.special = true
		}
		x, n, last = x+width, n+size, width
	}
	if whole {
		l.cells = l.cells[:max(length, min(x, len(cells)))] // x may be beyond the edge
	}
	if n == 0 {
		return 0
	}
	t.rest = p[n:]
	t.lastWidth = uint8(last)
	s.x = x
	t.mendTail(l)
	return n
}

// fastCSI handles a whole ordinary CSI sequence at the start of p: digits and
// semicolons, then a final byte. It returns false when the sequence is not
// ordinary or not complete.
func (t *Terminal) fastCSI(p []byte) bool {
	// Numbers up to here need no care.
	const ordinary = 1 << 24
	ps := &t.parser
	i := 2
	collect := uint32(0)
	if c := p[2]; c >= '<' && c <= '?' {
		collect = uint32(c)
		i++
	}
	ps.params.reset()
	n, v := 0, int32(0)
	for ; i < len(p); i++ {
		c := p[i]
		if d := c - '0'; d <= 9 {
			if v = v*10 + int32(d); v > ordinary {
				return false
			}
			continue
		}
		ps.params.value[n] = v
		if c == ';' {
			if n++; n == maxParams {
				return false
			}
			ps.params.subStart[n], ps.params.subEnd[n] = 0, 0
			v = 0
			continue
		}
		if c < 0x40 || c > 0x7e {
			return false
		}
		ps.params.n = n + 1
		ps.collect = collect
		t.rest = p[i+1:]
		t.inRun = false
		if c == 'm' && collect == 0 && t.fastGraphic(ps.params.value[:n+1]) {
			t.lastWidth = 0
			t.boundStyles()
			return true
		}
		t.dispatchCSI(c)
		return true
	}
	return false
}

// A change is what a parameter of SGR does to a pen's fg and bg.
type change struct {
	known                        bool
	fgKeep, fgSet, bgKeep, bgSet uint32
}

// changes are those of the parameters that do nothing else.
var changes = func() (table [256]change) {
	set := func(n int, fgClear, fgSet, bgClear, bgSet uint32) {
		table[n] = change{true, ^fgClear, fgSet, ^bgClear, bgSet}
	}
	set(1, 0, fgBold, 0, 0)
	set(2, 0, 0, 0, bgDim)
	set(3, 0, 0, 0, bgItalic)
	set(5, 0, fgBlink, 0, 0)
	set(7, 0, fgInverse, 0, 0)
	set(8, 0, fgInvisible, 0, 0)
	set(9, 0, fgStrike, 0, 0)
	set(22, fgBold, 0, bgDim, 0)
	set(23, 0, 0, bgItalic, 0)
	set(25, fgBlink, 0, 0, 0)
	set(27, fgInverse, 0, 0, 0)
	set(28, fgInvisible, 0, 0, 0)
	set(29, fgStrike, 0, 0, 0)
	set(39, colorMask, 0, 0, 0)
	set(49, 0, 0, colorMask, 0)
	for i := range 8 {
		n := uint32(i)
		set(30+i, colorMask, color16|n, 0, 0)
		set(40+i, 0, 0, colorMask, color16|n)
		set(90+i, colorMask, color16|n|8, 0, 0)
		set(100+i, 0, 0, colorMask, color16|n|8)
	}
	return table
}()

// shortGraphic is fastGraphic for a CSI sequence, at the start of p, of one
// parameter below 100. It says how long the sequence is, 0 for others.
func (t *Terminal) shortGraphic(p []byte) int {
	if len(p) < 5 {
		return 0
	}
	v, n := p[2]-'0', 4
	if d := p[3] - '0'; p[3] != 'm' {
		if d > 9 || p[4] != 'm' {
			return 0
		}
		v, n = v*10+d, 5
	}
	switch {
	case p[2]-'0' > 9:
		return 0
	case v == 0:
		if t.pen.ext != 0 || t.pen.link != nil {
			return 0
		}
		t.pen.fg, t.pen.bg = 0, 0
	default:
		c := &changes[v]
		if !c.known {
			return 0
		}
		t.pen.fg = t.pen.fg&c.fgKeep | c.fgSet
		t.pen.bg = t.pen.bg&c.bgKeep | c.bgSet
	}
	t.penStale = true
	return n
}

// fastGraphic is selectGraphic for the parameters that programs use all day. It
// returns false, and has done nothing, where another one is among them.
func (t *Terminal) fastGraphic(values []int32) bool {
	fg, bg := t.pen.fg, t.pen.bg
	for i := 0; i < len(values); i++ {
		v := values[i]
		if int(v) < len(changes) && changes[v].known {
			c := &changes[v]
			fg = fg&c.fgKeep | c.fgSet
			bg = bg&c.bgKeep | c.bgSet
			continue
		}
		switch {
		case v == 0 && t.pen.ext == 0 && t.pen.link == nil:
			fg, bg = 0, 0
		case (v == 38 || v == 48) && i+2 < len(values) && values[i+1] == 5:
			color := color256 | uint32(values[i+2]&255)
			if v == 38 {
				fg = fg&^colorMask | color
			} else {
				bg = bg&^colorMask | color
			}
			i += 2
		case (v == 38 || v == 48) && i+4 < len(values) && values[i+1] == 2:
			color := colorRGB | uint32(values[i+2]&255)<<16 | uint32(values[i+3]&255)<<8 | uint32(values[i+4]&255)
			if v == 38 {
				fg = fg&^colorMask | color
			} else {
				bg = bg&^colorMask | color
			}
			i += 4
		default:
			return false
		}
	}
	t.pen.fg, t.pen.bg = fg, bg
	t.penStale = true
	return true
}
