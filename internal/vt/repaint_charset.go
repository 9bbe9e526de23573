package vt

import "unicode/utf8"

// shifts are SI, SO, LS2 and LS3.
var shifts = [...]string{"\x0f", "\x0e", "\x1bn", "\x1bo"}

// charsets designates and shifts, and brings the terminal into what only a
// DECRC makes.
func (p *painter) charsets() {
	t := p.t
	for slot, c := range t.gsets {
		if c != 0 {
			p.puts("\x1b")
			p.buf = append(p.buf, "()*+"[slot], byte(c))
		}
	}
	if t.glevel != 0 {
		p.puts(shifts[t.glevel])
	}
	p.charset = t.charset
	asleep := !t.pen.natural() && p.detail < paintNoLinks
	odd := t.charset != t.gsets[t.glevel]
	fits := func(s *screen) bool {
		return (!odd || s.savedCharset == t.charset) && (!asleep || t.pen.restoredFrom(s))
	}
	// What came by a DECRC is still saved on that screen, which is the hidden
	// one where they were switched since. Only the main screen can be left and
	// come back to.
	switch {
	case !odd && !asleep:
	case fits(t.cur):
		p.restore(t.cur, asleep)
	case t.cur == t.main && fits(t.alt):
		p.setStyle(style{})
		p.puts("\x1b[?47h")
		p.restore(t.alt, asleep)
	case odd && t.cur.savedCharset == t.charset:
		p.restore(t.cur, false)
	case odd:
		c := byte(t.charset)
		if c == 0 {
			c = 'B'
		}
		p.puts("\x1b")
		p.buf = append(p.buf, "()*+"[t.glevel], c)
	}
}

// typed writes what prints as a text under the charset in force. A character
// that was printed under another one, and has no place in this, takes a moment
// of ASCII.
func (p *painter) typed(text string) {
	t := p.t
	for _, r := range text {
		source := p.charset.source(r)
		if p.charset.translate(source) == r || t.charset != t.gsets[t.glevel] {
			p.buf = utf8.AppendRune(p.buf, source)
			continue
		}
		p.puts(shifts[0] + "\x1b(B")
		p.buf = utf8.AppendRune(p.buf, r)
		if t.gsets[0] != 0 {
			p.puts("\x1b(")
			p.buf = append(p.buf, byte(t.gsets[0]))
		}
		if t.glevel != 0 {
			p.puts(shifts[t.glevel])
		}
	}
}

// natural says that SGR and OSC 8 alone make the pen. DECRC makes others: it
// sets the flags that say whether ext and link are in force, and neither of
// these.
func (p pen) natural() bool {
	awake := p
	awake.updateExtended()
	return p == awake && (p.fg&fgUnderline != 0) == (p.ext&extUnderline != 0)
}

// restoredFrom says whether a DECRC on a screen and OSC 8 lead to the pen.
func (p pen) restoredFrom(s *screen) bool {
	awake := p
	awake.updateExtended()
	return s.savedFg&fgUnderline == p.fg&fgUnderline && (s.savedBg&bgExtended == p.bg&bgExtended || p == awake)
}

// restore writes a DECRC on a screen, with the pen's ext and link in force
// before it, and comes back from a screen that is hidden. Where the pen comes
// from there, it is asleep from then on: a change of the pen may not touch ext
// and link.
func (p *painter) restore(s *screen, asleep bool) {
	t := p.t
	if asleep {
		awake := pen{ext: t.pen.ext, link: t.pen.link}
		if awake.ext&extUnderline != 0 {
			awake.fg = fgUnderline
		}
		awake.updateExtended()
		p.setStyle(style(awake))
	}
	p.puts("\x1b8")
	if s != t.cur {
		p.puts("\x1b[?47l")
	}
	p.known = false
	if p.asleep = asleep; asleep {
		p.style.fg, p.style.bg = s.savedFg, s.savedBg
		p.drowsy = (s.savedBg^t.pen.bg)&bgExtended != 0
	} else {
		p.puts("\x1b[m\x1b[\"q\x1b]8;;\x1b\\")
		p.style = style{}
	}
	if t.charset == t.gsets[t.glevel] && s.savedCharset != t.charset {
		p.puts(shifts[t.glevel])
	}
}

// setPen makes the pen what it is to be in the end. OSC 8 looks anew at what is
// in force where that is wanted.
func (p *painter) setPen(pen style) {
	if p.drowsy {
		p.drowsy = false
		p.setLink(p.t.pen.link)
		p.style.bg ^= bgExtended
	}
	p.setStyle(pen)
}
