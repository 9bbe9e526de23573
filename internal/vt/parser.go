package vt

// Parser states, Williams' (https://vt100.net/emu/dec_ansi_parser) as xterm.js
// has them. The machine runs on code points: U+0080–U+009F are C1 controls, the
// bytes 0x80–0x9F alone are invalid UTF-8 and dropped.
type parserState uint8

const (
	stGround parserState = iota
	stEscape
	stEscapeInter
	stCSIEntry
	stCSIParam
	stCSIInter
	stCSIIgnore
	stString // SOS, PM, APC
	stOSC
	stDCSEntry
	stDCSParam
	stDCSInter
	stDCSIgnore
	stDCSPass
	stLast = stDCSPass
)

const (
	maxParams    = 32
	maxSubParams = 32
	paramLimit   = 1<<31 - 1
	// maxString bounds OSC and DCS payloads; the rest of a longer one is
	// swallowed and the whole has no effect.
	maxString = 1 << 20
)

// A parser turns bytes into calls of its Terminal.
type parser struct {
	state parserState
	// collect is prefix and intermediates, most recent in the lowest byte.
	collect uint32
	params  params
	// text is the payload of an OSC or DCS string, up to maxString.
	text     []byte
	overflow bool
	// stringKind is the byte behind ESC that opened an SOS, PM or APC string.
	stringKind byte
	// dcs is collect and final of the DCS string under way.
	dcs uint32
	// tail is the beginning of a character whose end has not come.
	tail  [4]byte
	nTail int
}

func (p *parser) clear() {
	p.params.reset()
	p.collect = 0
}

func (p *parser) reset() {
	p.state = stGround
	p.clear()
	p.dropText()
	p.nTail = 0
}

// dropText forgets a payload and gives back the memory of a large one.
func (p *parser) dropText() {
	if cap(p.text) > 4096 {
		p.text = nil
	}
	p.text = p.text[:0]
	p.overflow = false
}

// Results of decode that are not code points.
const (
	runeInvalid rune = -1 // drop the bytes
	runePartial rune = -2 // the input ends inside a character
)

// parse consumes p. t.rest always holds what has not been looked at, so that
// Write can go on behind a fault.
func (t *Terminal) parse() {
	ps := &t.parser
	for ps.nTail > 0 && len(t.rest) > 0 {
		ps.tail[ps.nTail] = t.rest[0]
		ps.nTail++
		t.rest = t.rest[1:]
		r, size := decode(ps.tail[:ps.nTail])
		if r == runePartial {
			continue
		}
		// What the decoder did not use is at most one byte of a new character.
		left := ps.nTail - size
		keep := ps.tail
		ps.nTail = 0
		if r >= 0 {
			t.step(r)
		}
		for _, b := range keep[size : size+left] {
			if b < 0x80 {
				t.step(rune(b))
			} else if b >= 0xc0 && b < 0xf8 {
				ps.tail[0] = b
				ps.nTail = 1
			}
		}
	}
	for len(t.rest) > 0 {
		p := t.rest
		c := p[0]
		switch {
		case ps.state == stGround && c >= 0x20 && c < 0x7f:
			n := printableRun(p)
			t.rest = p[n:]
			t.printASCII(p[:n])
			continue
		case ps.state == stGround && c == 0x1b && len(p) > 2 && p[1] == '[':
			if n := t.fastCSI(p); n > 0 {
				continue
			}
		case c < 0x80 && (ps.state == stOSC || ps.state == stDCSPass):
			if n := printableRun(p); n > 0 {
				t.rest = p[n:]
				ps.put(p[:n])
				continue
			}
		}
		if c < 0x80 {
			t.rest = p[1:]
			t.step(rune(c))
			continue
		}
		r, size := decode(p)
		if r == runePartial {
			ps.nTail = copy(ps.tail[:], p)
			t.rest = nil
			return
		}
		t.rest = p[size:]
		if r >= 0 {
			if ps.state == stGround && r >= 0xa0 {
				t.printRune(r)
				if len(t.clusters.text) > t.clusters.limit {
					t.sweep()
				}
				continue
			}
			t.step(r)
		}
	}
}

// fastCSI handles a whole ordinary CSI sequence at the start of p: digits and
// separators, then a final byte. It returns 0 when the sequence is not
// ordinary or not complete, and leaves it to the state machine.
func (t *Terminal) fastCSI(p []byte) int {
	ps := &t.parser
	i := 2
	collect := uint32(0)
	if c := p[2]; c >= '<' && c <= '?' {
		collect = uint32(c)
		i++
	}
	start := i
	for ; i < len(p); i++ {
		c := p[i]
		if c >= '0' && c <= ';' {
			continue
		}
		if c < 0x40 || c > 0x7e {
			return 0
		}
		ps.params.reset()
		for _, b := range p[start:i] {
			ps.params.byteIn(rune(b))
		}
		ps.collect = collect
		t.rest = p[i+1:]
		t.inRun = false
		t.dispatchCSI(c)
		return i + 1
	}
	return 0
}

func (p *parser) put(b []byte) {
	if p.overflow {
		return
	}
	if len(p.text)+len(b) > maxString {
		p.dropText()
		p.overflow = true
		return
	}
	p.text = append(p.text, b...)
}

func (p *parser) putRune(r rune) {
	var buf [4]byte
	p.put(appendRune(buf[:0], r))
}

// step feeds one code point to the state machine.
func (t *Terminal) step(c rune) {
	ps := &t.parser
	if ps.state == stGround && (c >= 0x20 && c < 0x7f || c >= 0xa0) {
		t.printRune(c)
		return
	}
	t.inRun = false

	// Rules that hold in every state, but for the ends of strings below.
	switch {
	case c == 0x1b:
		switch ps.state {
		case stOSC:
			t.endOSC(true)
		case stDCSPass:
			t.endDCS(true)
		}
		ps.clear()
		ps.state = stEscape
		return
	case c == 0x18 || c == 0x1a:
		switch ps.state {
		case stOSC, stDCSPass:
			ps.dropText()
		}
		ps.state = stGround
		t.lastWidth = 0
		return
	case c >= 0x80 && c < 0xa0:
		t.control1(c)
		return
	}

	switch ps.state {
	case stGround:
		if c < 0x20 {
			t.execute(c)
		}
	case stEscape:
		switch {
		case c < 0x20:
			t.execute(c)
		case c < 0x30:
			ps.collect = ps.collect<<8 | uint32(c)
			ps.state = stEscapeInter
		case c == '[':
			ps.clear()
			ps.state = stCSIEntry
		case c == ']':
			ps.dropText()
			ps.state = stOSC
		case c == 'P':
			ps.clear()
			ps.state = stDCSEntry
		case c == 'X' || c == '^' || c == '_':
			ps.stringKind = byte(c)
			ps.state = stString
		case c < 0x7f:
			ps.state = stGround
			t.dispatchESC(byte(c))
		case c == 0x7f:
		default:
			ps.state = stGround
		}
	case stEscapeInter:
		switch {
		case c < 0x20:
			t.execute(c)
		case c < 0x30:
			ps.collect = ps.collect<<8 | uint32(c)
		case c < 0x7f:
			ps.state = stGround
			t.dispatchESC(byte(c))
		case c == 0x7f:
		default:
			ps.state = stGround
		}
	case stCSIEntry, stCSIParam:
		switch {
		case c < 0x20:
			t.execute(c)
		case c < 0x30:
			ps.collect = ps.collect<<8 | uint32(c)
			ps.state = stCSIInter
		case c < 0x3c:
			ps.params.byteIn(c)
			ps.state = stCSIParam
		case c < 0x40:
			if ps.state == stCSIParam {
				ps.state = stCSIIgnore
				break
			}
			ps.collect = ps.collect<<8 | uint32(c)
			ps.state = stCSIParam
		case c < 0x7f:
			ps.state = stGround
			t.dispatchCSI(byte(c))
		case c == 0x7f:
		default:
			ps.state = stGround
		}
	case stCSIInter:
		switch {
		case c < 0x20:
			t.execute(c)
		case c < 0x30:
			ps.collect = ps.collect<<8 | uint32(c)
		case c < 0x40:
			ps.state = stCSIIgnore
		case c < 0x7f:
			ps.state = stGround
			t.dispatchCSI(byte(c))
		case c == 0x7f:
		default:
			ps.state = stGround
		}
	case stCSIIgnore:
		switch {
		case c < 0x20:
			t.execute(c)
		case c >= 0x40 && c < 0x7f:
			ps.state = stGround
		}
	case stString:
		if c >= 0xa0 {
			// xterm.js: a character beyond ASCII ends the string.
			ps.state = stGround
		}
	case stOSC:
		switch {
		case c == 0x07:
			t.endOSC(false)
			ps.state = stGround
			ps.clear()
		case c >= 0x20:
			ps.putRune(c)
		}
	case stDCSEntry, stDCSParam:
		switch {
		case c < 0x20 || c == 0x7f:
		case c < 0x30:
			ps.collect = ps.collect<<8 | uint32(c)
			ps.state = stDCSInter
		case c < 0x3c:
			ps.params.byteIn(c)
			ps.state = stDCSParam
		case c < 0x40:
			if ps.state == stDCSParam {
				ps.state = stDCSIgnore
				break
			}
			ps.collect = ps.collect<<8 | uint32(c)
			ps.state = stDCSParam
		case c < 0x7f:
			t.hookDCS(byte(c))
		default:
			ps.state = stGround
		}
	case stDCSInter:
		switch {
		case c < 0x20 || c == 0x7f:
		case c < 0x30:
			ps.collect = ps.collect<<8 | uint32(c)
		case c < 0x40:
			ps.state = stDCSIgnore
		case c < 0x7f:
			t.hookDCS(byte(c))
		default:
			ps.state = stGround
		}
	case stDCSIgnore:
	case stDCSPass:
		if c != 0x7f {
			ps.putRune(c)
		}
	}
}

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

func (t *Terminal) hookDCS(final byte) {
	ps := &t.parser
	ps.dcs = ps.collect<<8 | uint32(final)
	ps.dropText()
	ps.state = stDCSPass
}
