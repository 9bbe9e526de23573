package vt

// A scanner finds the escape sequences of a stream, in the same states and on
// the same code points as the terminal's parser, and lets a filter decide about
// each. All other bytes pass unchanged.
type scanner struct {
	state   parserState
	collect uint32
	params  params
	// held are the bytes of the sequence so far, controls the C0 codes among
	// them that a terminal obeys at once.
	held, controls []byte
	text           []byte
	kind           byte // of an SOS, PM or APC string
	// passing says that the string under way passes, or, with dropping, that
	// it does not.
	passing, dropping bool
	// ended says that the ESC before this point ended a string that was
	// removed, so that a backslash goes with it.
	ended bool
	// closing ends a string that passed already, should the sequence that ended
	// it be removed.
	closing string
	// pending is the beginning of a character.
	pending []byte
	// raw counts bytes that pass unseen; inPaste that all do up to the end of
	// a bracketed paste, of whose mark pasteEnd bytes were seen.
	raw      int
	inPaste  bool
	pasteEnd int

	// start is where this call's output begins, last the end of the output
	// before it.
	start int
	last  []byte

	rules scannerRules
}

// scannerRules are what a filter removes.
type scannerRules interface {
	csi(s *scanner, k uint32) bool
	esc(collect uint32, final byte) bool
	control(b byte) bool
	// mayString says whether a string that begins so may have to go; string
	// whether the whole one has to.
	mayString(s *scanner) bool
	string(s *scanner) bool
}

func (s *scanner) filter(dst, src []byte) []byte {
	s.start = len(dst)
	dst = s.scan(dst, src)
	s.last = append(s.last, dst[s.start:]...)
	if n := len(s.last); n > 3 {
		s.last = append(s.last[:0], s.last[n-3:]...)
	}
	return dst
}

// part keeps what stood before something removed from joining what stands
// behind it: the beginning of a character that was never finished.
func (s *scanner) part(dst []byte) []byte {
	tail := dst[s.start:]
	if len(tail) < 3 {
		tail = append(append(make([]byte, 0, 6), s.last...), tail...)
	}
	for n := 1; n <= min(3, len(tail)); n++ {
		if b := tail[len(tail)-n]; b >= 0xc0 {
			if r, _ := decode(tail[len(tail)-n:]); r == runePartial {
				return append(dst, 0)
			}
			break
		} else if b < 0x80 {
			break
		}
	}
	return dst
}

func (s *scanner) scan(dst, src []byte) []byte {
	if len(s.pending) > 0 && len(src) > 0 {
		src = append(s.pending, src...)
		s.pending = nil
	}
	for len(src) > 0 {
		switch {
		case s.raw > 0:
			n := min(s.raw, len(src))
			dst = append(dst, src[:n]...)
			s.raw -= n
			src = src[n:]
			continue
		case s.inPaste:
			n := s.scanPaste(src)
			dst = append(dst, src[:n]...)
			src = src[n:]
			continue
		case s.state == stGround:
			n := 0
			for n < len(src) && src[n] != 0x1b && src[n] != 0xc2 && src[n] != 0x05 {
				n++
			}
			if n > 0 {
				dst = append(dst, src[:n]...)
				src = src[n:]
				continue
			}
			if src[0] == 0x05 {
				if s.rules.control(0x05) {
					// NUL in its place keeps apart what it kept apart: a letter
					// and a mark, or the bytes of a character.
					dst = append(dst, 0)
				} else {
					dst = append(dst, 0x05)
				}
				src = src[1:]
				continue
			}
		}
		if b := src[0]; b < 0x80 {
			dst = s.step(dst, rune(b), src[:1])
			src = src[1:]
			continue
		}
		r, size := decode(src)
		if r == runePartial {
			s.pending = append([]byte(nil), src...)
			return dst
		}
		if r < 0 {
			dst = s.keep(dst, src[:size])
		} else {
			dst = s.step(dst, r, src[:size])
		}
		src = src[size:]
	}
	return dst
}

// flush gives up what is held back and begins anew.
func (s *scanner) flush(dst []byte) []byte {
	dst = append(dst, s.held...)
	dst = append(dst, s.pending...)
	rules := s.rules
	raw, inPaste, pasteEnd := s.raw, s.inPaste, s.pasteEnd
	*s = scanner{rules: rules, raw: raw, inPaste: inPaste, pasteEnd: pasteEnd, last: s.last[:0]}
	return dst
}

// scanPaste is how many bytes of src belong to a paste, its end included.
func (s *scanner) scanPaste(src []byte) int {
	for i, b := range src {
		switch b {
		case pasteMark[s.pasteEnd]:
			if s.pasteEnd++; s.pasteEnd == len(pasteMark) {
				s.inPaste, s.pasteEnd = false, 0
				return i + 1
			}
		case 0x1b:
			s.pasteEnd = 1
		default:
			s.pasteEnd = 0
		}
	}
	return len(src)
}

// keep takes bytes that are part of the sequence under way.
func (s *scanner) keep(dst, raw []byte) []byte {
	switch {
	case s.state == stGround || s.passing:
		return append(dst, raw...)
	case s.dropping:
		return dst
	}
	s.held = append(s.held, raw...)
	if len(s.held) > maxHeld {
		s.dropping = true
		s.held = nil
	}
	return dst
}

// release lets the bytes held so far pass.
func (s *scanner) release(dst []byte) []byte {
	dst = append(dst, s.held...)
	s.held = s.held[:0]
	s.passing = true
	return dst
}

// toGround ends a sequence. removed says that its bytes do not pass.
func (s *scanner) toGround(dst []byte, removed bool) []byte {
	if removed {
		dst = s.part(dst)
		dst = append(dst, s.closing...)
		dst = append(dst, s.controls...)
	} else {
		dst = append(dst, s.held...)
	}
	s.begin(stGround)
	return dst
}

func (s *scanner) begin(state parserState) {
	s.state = state
	s.held, s.controls, s.text = s.held[:0], s.controls[:0], s.text[:0]
	s.passing, s.dropping, s.ended, s.closing = false, false, false, ""
	s.collect = 0
	s.params.reset()
}

// interrupt begins a sequence in the middle of another. What stands unfinished
// goes the way of the new one: it has no effect, but must not swallow what
// follows.
func (s *scanner) interrupt(dst []byte, state parserState, closing string, raw []byte) []byte {
	inString := s.state == stOSC || s.state == stDCSPass || s.state == stString
	switch {
	case s.state == stGround:
		s.begin(state)
	case inString || s.passing || s.dropping:
		removed := s.dropping || inString && closing == st && s.endString()
		dst = s.toGround(dst, removed)
		s.begin(state)
		if s.ended = removed; !removed {
			s.closing = closing
		}
	default:
		s.state = state
		s.ended = false
		s.text = s.text[:0]
		s.collect = 0
		s.params.reset()
	}
	s.held = append(s.held, raw...)
	return dst
}

// endString ends an OSC, DCS or APC string well and says whether it goes.
func (s *scanner) endString() bool {
	return s.dropping || !s.passing && s.rules.string(s)
}

func (s *scanner) step(dst []byte, c rune, raw []byte) []byte {
	inString := s.state == stOSC || s.state == stDCSPass || s.state == stString
	switch {
	case c == 0x1b:
		return s.interrupt(dst, stEscape, st, raw)
	case c == 0x18 || c == 0x1a:
		removed := s.dropping
		dst = s.keep(dst, raw)
		return s.toGround(dst, removed)
	case c >= 0x80 && c < 0xa0:
		if c == 0x9c && inString {
			removed := s.endString()
			if !removed {
				dst = s.keep(dst, raw)
			}
			return s.toGround(dst, removed)
		}
		switch c {
		case 0x90:
			return s.interrupt(dst, stDCSEntry, can, raw)
		case 0x98, 0x9e:
			dst = s.interrupt(dst, stString, can, raw)
			s.kind = 'X'
			return s.release(dst)
		case 0x9f:
			dst = s.interrupt(dst, stString, can, raw)
			s.kind = '_'
			return dst
		case 0x9b:
			return s.interrupt(dst, stCSIEntry, can, raw)
		case 0x9d:
			return s.interrupt(dst, stOSC, can, raw)
		}
		dropped := s.dropping
		dst = s.toGround(dst, dropped)
		return append(dst, raw...)
	}

	switch s.state {
	case stGround:
		return append(dst, raw...)
	case stEscape:
		return s.escape(dst, c, raw)
	case stEscapeInter:
		switch {
		case c < 0x20:
			return s.inner(dst, raw)
		case c < 0x30:
			s.collect = s.collect<<8 | uint32(c)
			return s.keep(dst, raw)
		case c < 0x7f:
			dst = s.keep(dst, raw)
			return s.toGround(dst, s.rules.esc(s.collect, byte(c)))
		case c == 0x7f:
			return s.keep(dst, raw)
		}
		dst = s.keep(dst, raw)
		return s.toGround(dst, false)
	case stCSIEntry, stCSIParam, stCSIInter:
		return s.csi(dst, c, raw)
	case stCSIIgnore:
		if c < 0x20 {
			return s.inner(dst, raw)
		}
		dst = s.keep(dst, raw)
		if c >= 0x40 && c < 0x7f {
			return s.toGround(dst, false)
		}
		return dst
	case stDCSEntry, stDCSParam, stDCSInter:
		return s.dcs(dst, c, raw)
	case stDCSIgnore:
		return s.keep(dst, raw)
	case stString:
		if c >= 0xa0 {
			dst = s.keep(dst, raw)
			return s.toGround(dst, false)
		}
		return s.payload(dst, raw)
	case stOSC:
		if c == 0x07 {
			removed := s.endString()
			if !removed {
				dst = s.keep(dst, raw)
			}
			return s.toGround(dst, removed)
		}
		if c < 0x20 {
			return s.keep(dst, raw)
		}
		return s.payload(dst, raw)
	case stDCSPass:
		return s.payload(dst, raw)
	}
	return dst
}

// inner keeps a C0 control that stands inside a sequence.
func (s *scanner) inner(dst, raw []byte) []byte {
	if !s.rules.control(raw[0]) {
		s.controls = append(s.controls, raw...)
		return s.keep(dst, raw)
	}
	return dst
}

// payload takes a piece of a string.
func (s *scanner) payload(dst, raw []byte) []byte {
	if s.passing || s.dropping {
		return s.keep(dst, raw)
	}
	s.text = append(s.text, raw...)
	dst = s.keep(dst, raw)
	if !s.dropping && !s.rules.mayString(s) {
		return s.release(dst)
	}
	return dst
}

func (s *scanner) escape(dst []byte, c rune, raw []byte) []byte {
	ended := s.ended
	switch {
	case c < 0x20:
		return s.inner(dst, raw)
	case c == '\\' && ended:
		s.held = s.held[:0]
		return s.toGround(dst, true)
	}
	dst = s.keep(dst, raw)
	switch {
	case c < 0x30:
		s.collect = s.collect<<8 | uint32(c)
		s.state = stEscapeInter
	case c == '[':
		s.params.reset()
		s.collect = 0
		s.state = stCSIEntry
	case c == ']':
		s.state = stOSC
	case c == 'P':
		s.params.reset()
		s.collect = 0
		s.state = stDCSEntry
	case c == '_':
		s.state, s.kind = stString, '_'
	case c == 'X' || c == '^':
		s.state, s.kind = stString, byte(c)
		return s.release(dst)
	case c < 0x7f:
		return s.toGround(dst, s.rules.esc(0, byte(c)))
	case c == 0x7f:
	default:
		return s.toGround(dst, false)
	}
	return dst
}

func (s *scanner) csi(dst []byte, c rune, raw []byte) []byte {
	if c < 0x20 {
		return s.inner(dst, raw)
	}
	dst = s.keep(dst, raw)
	switch {
	case c < 0x30:
		s.collect = s.collect<<8 | uint32(c)
		s.state = stCSIInter
	case c < 0x3c && s.state != stCSIInter:
		s.params.byteIn(c)
		s.state = stCSIParam
	case c < 0x40:
		if s.state != stCSIEntry {
			s.state = stCSIIgnore
			break
		}
		s.collect = s.collect<<8 | uint32(c)
		s.state = stCSIParam
	case c < 0x7f:
		return s.toGround(dst, s.rules.csi(s, s.collect<<8|uint32(c)))
	case c == 0x7f:
	default:
		return s.toGround(dst, false)
	}
	return dst
}

func (s *scanner) dcs(dst []byte, c rune, raw []byte) []byte {
	dst = s.keep(dst, raw)
	switch {
	case c < 0x20 || c == 0x7f:
	case c < 0x30:
		s.collect = s.collect<<8 | uint32(c)
		s.state = stDCSInter
	case c < 0x3c && s.state != stDCSInter:
		s.params.byteIn(c)
		s.state = stDCSParam
	case c < 0x40:
		if s.state != stDCSEntry {
			s.state = stDCSIgnore
			return s.release(dst)
		}
		s.collect = s.collect<<8 | uint32(c)
		s.state = stDCSParam
	case c < 0x7f:
		s.collect = s.collect<<8 | uint32(c)
		s.state = stDCSPass
		if !s.rules.mayString(s) {
			return s.release(dst)
		}
	default:
		return s.toGround(dst, false)
	}
	return dst
}
