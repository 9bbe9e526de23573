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
		case ps.state == stGround:
			if t.ground(); len(t.rest) == 0 {
				return
			}
			p = t.rest
			c = p[0]
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
			t.step(r)
		}
	}
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
	case stDCSIgnore:
	case stDCSPass:
		if c != 0x7f {
			ps.putRune(c)
		}
	default:
		t.stepSequence(c)
	}
}

// afterIntermediate is the state of an unfinished sequence behind an
// intermediate byte.
var afterIntermediate = [...]parserState{
	stEscape: stEscapeInter, stEscapeInter: stEscapeInter,
	stCSIEntry: stCSIInter, stCSIParam: stCSIInter, stCSIInter: stCSIInter,
	stDCSEntry: stDCSInter, stDCSParam: stDCSInter, stDCSInter: stDCSInter,
}

// stepSequence feeds one code point to a sequence whose final byte has not come.
func (t *Terminal) stepSequence(c rune) {
	ps := &t.parser
	dcs := ps.state >= stDCSEntry
	switch {
	case c < 0x20:
		if !dcs {
			t.execute(c)
		}
	case c < 0x30:
		ps.collect = ps.collect<<8 | uint32(c)
		ps.state = afterIntermediate[ps.state]
	case c == 0x7f:
	case c > 0x7f:
		ps.state = stGround
	case ps.state == stEscape:
		t.stepEscape(byte(c))
	case ps.state == stEscapeInter:
		ps.state = stGround
		t.dispatchESC(byte(c))
	case c >= 0x40 && dcs:
		ps.dcs = ps.collect<<8 | uint32(c)
		ps.dropText()
		ps.state = stDCSPass
	case c >= 0x40:
		ps.state = stGround
		t.dispatchCSI(byte(c))
	default:
		ps.stepParameter(c)
	}
}

// stepEscape handles the byte behind ESC, one of 0x30 … 0x7e.
func (t *Terminal) stepEscape(c byte) {
	ps := &t.parser
	switch c {
	case '[':
		ps.clear()
		ps.state = stCSIEntry
	case ']':
		ps.dropText()
		ps.state = stOSC
	case 'P':
		ps.clear()
		ps.state = stDCSEntry
	case 'X', '^', '_':
		ps.stringKind = c
		ps.state = stString
	default:
		ps.state = stGround
		t.dispatchESC(c)
	}
}

// stepParameter handles one of 0x30 … 0x3f inside a CSI or DCS sequence. A
// prefix may only come first, and nothing of the kind behind an intermediate.
func (p *parser) stepParameter(c rune) {
	prefix := c >= 0x3c
	first := p.state == stCSIEntry || p.state == stDCSEntry
	inter := p.state == stCSIInter || p.state == stDCSInter
	dcs := p.state >= stDCSEntry
	switch {
	case inter || prefix && !first:
		p.state = stCSIIgnore
		if dcs {
			p.state = stDCSIgnore
		}
		return
	case dcs:
		p.state = stDCSParam
	default:
		p.state = stCSIParam
	}
	if prefix {
		p.collect = p.collect<<8 | uint32(c)
		return
	}
	p.params.byteIn(c)
}
