package vt

// The state machine of step is complete; what stands here only makes the input
// that programs print all day go around it: printable characters, CR and LF,
// and whole ordinary control sequences, all of them in the ground state.

// ground consumes what it knows at the start of p, which is not empty. It
// returns false where the state machine has to look.
func (t *Terminal) ground(p []byte) bool {
	switch c := p[0]; {
	case c >= 0x20 && c < 0x7f:
		n := printableRun(p)
		t.rest = p[n:]
		t.printASCII(p[:n])
		return true
	case c == '\n':
		t.rest = p[1:]
		t.inRun = false
		t.lastWidth = 0
		t.lineFeed()
		return true
	case c == '\r':
		t.rest = p[1:]
		t.inRun = false
		t.lastWidth = 0
		t.cur.x = 0
		return true
	case c == 0x1b:
		return len(p) > 2 && p[1] == '[' && t.fastCSI(p)
	case c >= 0xc0:
		return t.printText(p)
	}
	return false
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
		n += size
		t.rest = p[n:]
		width := runeWidth(r)
		if width == 0 || !t.inRun || t.modes.insert {
			t.printRune(r)
			if len(t.clusters.text) > t.clusters.limit {
				t.sweep()
			}
			continue
		}
		// No charset has characters beyond ASCII to translate.
		t.lastWidth = uint8(width)
		s := t.cur
		if l := s.live(s.y); width == 1 && s.x < min(t.cols, len(l.cells)) && !l.special {
			l.cells[s.x] = blank(t.penStyle()) | cell(r)
			s.x++
			continue
		} else if s.x+width <= t.cols {
			t.store(l, cell(r), width, blank(t.penStyle()))
			continue
		}
		t.put(cell(r), width)
	}
	return n > 0
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
		t.dispatchCSI(c)
		return true
	}
	return false
}
