package vt

import "strconv"

const (
	// maxRepaint bounds a Repaint, in bytes.
	maxRepaint = 64 << 10
	// maxRepaintString bounds an unfinished string that a Repaint carries on.
	maxRepaintString = 4096
	maxRepaintTitle  = 256
)

// Repaint returns terminal bytes that bring a new or just reset xterm.js 6.0.0
// of the same size to this state: both screens, modes, tab stops, charsets,
// pen, saved cursors, title, links, and the escape sequence or character that
// the stream is in the middle of. The scrollback is not in it. It is at most
// 64 KiB; where a screen needs more, it gives up links, then styles, then the
// rows far from the cursor. Nothing in it acts: no bell, query, clipboard or
// notification.
func (t *Terminal) Repaint() []byte {
	for detail := paintAll; ; detail++ {
		p := painter{t: t, detail: detail}
		p.paint()
		if len(p.buf) <= maxRepaint {
			return p.buf
		}
	}
}

// Levels of detail of a Repaint, from all to little.
const (
	paintAll = iota
	paintNoLinks
	paintNoStyles
	paintNear  // rows near the cursor, as many as half of the bound holds
	paintBlank // no rows
)

// A painter writes a Repaint. It knows what the terminal that reads it has as
// cursor and pen.
type painter struct {
	t      *Terminal
	detail int
	buf    []byte
	x, y   int
	known  bool // x and y are right
	style  style
	// charset is the one in force.
	charset charset
	// asleep says that the terminal has an ext or link that is not in force,
	// which some changes of the pen would wake; see restore.
	asleep bool
	// drowsy says that setPen has to wake them.
	drowsy bool
}

func (p *painter) puts(s string) { p.buf = append(p.buf, s...) }

func (p *painter) num(n int) { p.buf = strconv.AppendInt(p.buf, int64(n), 10) }

// csi writes a control sequence with one number, left out when it is 1.
func (p *painter) csi(n int, final string) {
	p.puts("\x1b[")
	if n != 1 {
		p.num(n)
	}
	p.puts(final)
}

// move puts the cursor on a cell.
func (p *painter) move(x, y int) {
	switch {
	case p.known && p.y == y && p.x == x && x < p.t.cols:
	case p.known && p.y == y && x > p.x && p.x < p.t.cols:
		p.csi(x-p.x, "C")
	case p.known && y == p.y+1 && x == 0 && p.y+1 < p.t.rows && p.x < p.t.cols && p.t.rows > 1:
		// IND and CR keep the wrap flag, which LF clears.
		p.puts("\r\x1bD")
	case x == 0:
		p.puts("\x1b[")
		if y > 0 {
			p.num(y + 1)
		}
		p.puts("H")
	default:
		p.puts("\x1b[")
		if y > 0 {
			p.num(y + 1)
		}
		p.puts(";")
		p.num(x + 1)
		p.puts("H")
	}
	p.x, p.y, p.known = x, y, true
}

// setStyle changes the pen. It takes ext and link also where they are not in
// force.
func (p *painter) setStyle(s style) {
	if p.detail >= paintNoLinks {
		s.link = nil
	}
	if p.detail >= paintNoStyles {
		s = style{}
	}
	if p.asleep {
		s.ext, s.link = p.style.ext, p.style.link
		s.fg = s.fg&^fgUnderline | p.style.fg&fgUnderline
		s.bg = s.bg&^bgExtended | p.style.bg&bgExtended
		p.buf = appendSGRChange(p.buf, p.style, s)
		p.protect(p.style.bg&bgProtected, s.bg&bgProtected)
		p.style = s
		return
	}
	if s == p.style {
		return
	}
	if s.link != p.style.link {
		p.setLink(s.link)
	}
	was := p.style.bg & bgProtected
	full := appendSGR(nil, s)
	if string(full) == "\x1b[0m" {
		full = []byte("\x1b[m")
	}
	if diff := appendSGRChange(nil, p.style, s); len(diff) < len(full) && (len(diff) < 3 || diff[2] != '0') {
		full = diff
	} else {
		was = 0 // SGR 0 takes the protection away
	}
	p.buf = append(p.buf, full...)
	p.protect(was, s.bg&bgProtected)
	p.style = s
}

// protect sets DECSCA where it is not what it was.
func (p *painter) protect(was, is uint32) {
	switch {
	case is == was:
	case is != 0:
		p.puts("\x1b[1\"q")
	default:
		p.puts("\x1b[\"q")
	}
}

func (p *painter) setLink(l *link) {
	p.puts("\x1b]8;")
	if l != nil {
		if l.id != "" {
			p.puts("id=")
			p.puts(l.id)
		}
		p.puts(";")
		p.puts(l.uri)
	} else {
		p.puts(";")
	}
	p.puts("\x1b\\")
}

// appendSGRChange appends the sequence that turns one style into another,
// nothing where SGR sees no difference.
func appendSGRChange(dst []byte, from, to style) []byte {
	start := len(dst)
	add := func(n int) {
		if len(dst) == start {
			dst = append(dst, "\x1b["...)
		} else {
			dst = append(dst, ';')
		}
		dst = strconv.AppendInt(dst, int64(n), 10)
	}
	flag := func(was, is bool, on, off int) {
		switch {
		case is && !was:
			add(on)
		case was && !is:
			add(off)
		}
	}
	bold, dim := to.fg&fgBold != 0, to.bg&bgDim != 0
	wasBold, wasDim := from.fg&fgBold != 0, from.bg&bgDim != 0
	if wasBold && !bold || wasDim && !dim {
		add(22)
		wasBold, wasDim = false, false
	}
	flag(wasBold, bold, 1, 0)
	flag(wasDim, dim, 2, 0)
	flag(from.bg&bgItalic != 0, to.bg&bgItalic != 0, 3, 23)
	if was, is := from.underlineStyle(), to.underlineStyle(); was != is {
		switch is {
		case 0:
			add(24)
		case 1:
			add(4)
		default:
			add(4)
			dst = append(dst, ':', byte('0'+is))
		}
	}
	flag(from.fg&fgBlink != 0, to.fg&fgBlink != 0, 5, 25)
	flag(from.fg&fgInverse != 0, to.fg&fgInverse != 0, 7, 27)
	flag(from.fg&fgInvisible != 0, to.fg&fgInvisible != 0, 8, 28)
	flag(from.fg&fgStrike != 0, to.fg&fgStrike != 0, 9, 29)
	flag(from.bg&bgOverline != 0, to.bg&bgOverline != 0, 53, 55)
	color := func(was, is uint32, base int) {
		was, is = was&colorMask, is&colorMask
		if was == is {
			return
		}
		if is == 0 {
			add(base + 9)
			return
		}
		if len(dst) == start {
			dst = append(dst, "\x1b["...)
			at := len(dst)
			dst = appendColor(dst, is, base)
			dst = append(dst[:at], dst[at+1:]...)
			return
		}
		dst = appendColor(dst, is, base)
	}
	color(from.fg, to.fg, 30)
	color(from.bg, to.bg, 40)
	if was, is := from.ext&colorMask, to.ext&colorMask; was != is {
		if is == 0 {
			// SGR 59 makes xterm.js draw white; only SGR 0 takes the colour away.
			return appendSGR(dst[:start], to)
		}
		color(was, is, 50)
	}
	if len(dst) > start {
		dst = append(dst, 'm')
	}
	return dst
}

func (p *painter) paint() {
	t := p.t
	p.puts("\x1b[?12l\x1b[20l\x1b[H")
	p.known = true
	p.screen(t.main)
	if t.cur == t.main {
		p.savedOfAlt()
	} else {
		p.setStyle(style{})
		p.puts("\x1b[?47h")
		p.known = false
		p.screen(t.alt)
	}
	p.finish()
}

// savedOfAlt gives the hidden alternate screen its saved cursor, which
// survives there.
func (p *painter) savedOfAlt() {
	if p.t.alt.savedIsDefault() {
		return
	}
	p.setStyle(style{})
	p.puts("\x1b[?47h")
	p.known = false
	p.saved(p.t.alt, 0)
	p.setStyle(style{})
	p.puts("\x1b[?47l")
	p.known = false
}

func (s *screen) savedIsDefault() bool {
	return s.savedX == 0 && s.savedY == 0 && s.savedFg == 0 && s.savedBg == 0 && s.savedCharset == 0
}

// screen paints one screen and what belongs to it.
func (p *painter) screen(s *screen) {
	t := p.t
	switch {
	case p.detail < paintNear:
		for y := 0; y < t.rows && len(p.buf) <= maxRepaint; y++ {
			p.row(s, y, true)
		}
	case p.detail == paintNear && (s == t.cur):
		p.near(s)
	}
	def := tabStops{}
	def.setup(0, t.cols)
	if !sameStops(&s.tabs, &def, t.cols) {
		p.puts("\x1b[3g")
		for x := range t.cols {
			if s.tabs.has(x) {
				p.move(x, 0)
				p.puts("\x1bH")
			}
		}
	}
	ybase := 0
	if s == t.main {
		ybase = t.missing + t.scrollback.len()
	}
	if !s.savedIsDefault() {
		p.saved(s, ybase)
	}
	if s.top != 0 || s.bottom != t.rows-1 {
		p.puts("\x1b[")
		p.num(s.top + 1)
		p.puts(";")
		p.num(s.bottom + 1)
		p.puts("r")
		p.x, p.y, p.known = 0, 0, true
	}
}

func sameStops(a, b *tabStops, cols int) bool {
	for x := range cols {
		if a.has(x) != b.has(x) {
			return false
		}
	}
	return true
}

// saved makes the terminal save a screen's saved cursor.
func (p *painter) saved(s *screen, ybase int) {
	t := p.t
	st := style{fg: s.savedFg, bg: s.savedBg &^ bgExtended}
	if s.savedFg&fgUnderline != 0 {
		st.bg |= bgExtended
		st.ext = 1 << extUnderlineShift
	}
	bare := s.savedBg&bgExtended != 0 && s.savedFg&fgUnderline == 0
	p.setStyle(st)
	if bare {
		// The flag that says "look at the link" is saved, the link is not.
		p.setLink(&link{uri: "x"})
	}
	if s.savedCharset != 0 {
		p.puts("\x1b(")
		p.buf = append(p.buf, byte(s.savedCharset))
	}
	p.move(min(s.savedX, t.cols-1), max(0, min(s.savedY-ybase, t.rows-1)))
	p.puts("\x1b7")
	if s.savedFg&fgUnderline != 0 && s.savedBg&bgExtended == 0 {
		// Underlined, and the flag that says "look at the style of it" unset:
		// SGR 0 forgets the style, OSC 8 takes back the flag of the restored
		// pen.
		p.puts("\x1b[m\x1b8\x1b]8;;\x1b\\\x1b7\x1b[m")
		p.style = style{}
	}
	if s.savedCharset != 0 {
		p.puts("\x1b(B")
	}
	if bare {
		p.setLink(nil)
	}
}
