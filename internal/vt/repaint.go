package vt

import (
	"strconv"
	"unicode/utf8"
)

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

// near paints rows around the cursor, nearest first.
func (p *painter) near(s *screen) {
	t := p.t
	for d := 0; d < t.rows; d++ {
		for _, y := range []int{s.y - d, s.y + d} {
			if y < 0 || y >= t.rows || d == 0 && y != s.y {
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
	if s.savedCharset != 0 {
		p.puts("\x1b(B")
	}
	if bare {
		p.setLink(nil)
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
		p.move(x, y)
		st := t.styles.list[c.style()]
		p.setStyle(st)
		if width == 0 {
			p.standalone(st)
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
			p.move2(x, y)
			p.buf = append(append(p.buf, text...), text...)
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

// standalone makes the next combining mark a cell of its own: any control
// sequence before it will do.
func (p *painter) standalone(s style) {
	if p.detail >= paintNoStyles {
		s = style{}
	}
	p.buf = appendSGR(p.buf, s)
	p.protect(0, s.bg&bgProtected)
}

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
		p.move2(from, y)
		p.setStyle(t.styles.list[c.style()])
		p.puts("一")
		p.move2(from+1, y)
		p.setStyle(style{})
		p.puts("\x1b[@")
		if x == 1 {
			p.move2(0, y)
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
	for x := 0; x < n; x++ {
		c := l.at(x)
		if !p.isOdd(c) {
			continue
		}
		p.setStyle(t.styles.list[c.style()])
		if x < t.cols-1 {
			p.move(x, y)
			p.puts("一")
			p.x += 2
			p.move2(x+1, y)
			p.puts(" ")
			p.x = x + 2
			dirty.add(x + 1)
		} else if !p.isOdd(l.at(x - 1)) {
			p.move2(x-1, y)
			p.puts("一")
			p.move2(x-1, y)
			p.puts(" ")
			p.x = x
			dirty.add(x - 1)
		} else {
			p.move2(x, y)
			p.puts(" ")
			p.x = x + 1
		}
		dirty.finish(x)
	}
}

// move2 is move, always by an absolute sequence, from a cursor that may stand
// behind the last column.
func (p *painter) move2(x, y int) {
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

// finish sets modes, charsets and the cursor, and continues what the stream is
// in the middle of.
func (p *painter) finish() {
	t := p.t
	m := &t.modes
	if t.observed.Title != "" {
		p.puts("\x1b]2;")
		p.puts(clip(t.observed.Title, maxRepaintTitle))
		p.puts("\x1b\\")
	}
	if n := cursorStyleNumber(m.cursorShape, m.cursorBlink); n != 0 {
		p.puts("\x1b[")
		p.num(n)
		p.puts(" q")
	}
	if m.newLine {
		p.puts("\x1b[20h")
	}
	if m.keypad {
		p.puts("\x1b=")
	}
	private := func(n int, on bool) {
		if on {
			p.puts("\x1b[?")
			p.num(n)
			p.puts("h")
		}
	}
	private(1, m.cursorKeys)
	private(12, m.blinkOption)
	private(45, m.reverseWrap)
	private(1004, m.focus)
	private(2004, m.paste)
	private(2026, m.synchronized)
	private([...]int{0, 9, 1000, 1002, 1003}[m.mouse], m.mouse != MouseNone)
	private([...]int{0, 1006, 1016}[m.mouseEncoding], m.mouseEncoding != MouseDefault)
	if m.cursorHidden {
		p.puts("\x1b[?25l")
	} else {
		p.puts("\x1b[?25h")
	}

	p.charsets()
	if m.origin {
		p.puts("\x1b[?6h")
		p.known = false
	}
	p.cursor()
	p.unfinished()
}

func cursorStyleNumber(shape CursorShape, blink CursorBlinking) int {
	if shape == CursorDefault {
		if blink == BlinkDefault {
			return 0
		}
		shape = CursorBlock
	}
	n := int(shape) * 2
	if blink == BlinkOn {
		n--
	}
	return n
}

// charsets designates and shifts. DECRC can leave a charset in force that no
// designation gives; a DECRC makes it again where the screen still saves it.
func (p *painter) charsets() {
	t := p.t
	for slot, c := range t.gsets {
		if c != 0 {
			p.puts("\x1b")
			p.buf = append(p.buf, "()*+"[slot], byte(c))
		}
	}
	p.puts([...]string{"", "\x0e", "\x1bn", "\x1bo"}[t.glevel])
	if t.charset == t.gsets[t.glevel] {
		return
	}
	if t.cur.savedCharset == t.charset {
		p.puts("\x1b8")
		p.known = false
		// DECRC sets the pen to the saved one; no style is known now.
		p.puts("\x1b[m\x1b[\"q")
		p.style = style{}
		return
	}
	c := byte(t.charset)
	if c == 0 {
		c = 'B'
	}
	p.puts("\x1b")
	p.buf = append(p.buf, "()*+"[t.glevel], c)
}

// cursor puts the cursor where it belongs, with the pen, a pending wrap, and
// the last character printed again where a combining mark could still join it.
func (p *painter) cursor() {
	t := p.t
	s := t.cur
	pen := style(t.pen)
	y := s.y
	if t.modes.origin {
		y -= s.top
	}
	l := s.row(s.y)
	width := int(t.lastWidth)
	wrapOff := func() {
		if !t.modes.wrap {
			p.puts("\x1b[?7l")
		}
	}

	lead := s.x - max(width, 1)
	pending := s.x >= t.cols
	if pending {
		lead = t.cols - 1
		if l.at(lead).withoutTag() == wideTail {
			lead--
		}
	} else if width == 2 || width == 1 && lead >= 0 && l.at(lead).withoutTag() == wideTail {
		lead = s.x - 2
	}
	var c cell
	if lead >= 0 {
		c = l.at(lead)
	}
	prints := c.hasContent() && c.width() != 0 && lead+c.width() <= t.cols
	again := width != 0 && prints && c.width() == width && lead+width == min(s.x, t.cols) &&
		t.styles.list[c.style()] == t.pen.style() && p.detail < paintNoStyles

	if again || pending && (prints || c.hasContent() && c.width() == 0) {
		p.known = false
		p.move(lead, y)
		wrapOff()
		if again {
			p.setStyle(pen)
		} else {
			p.setStyle(t.styles.list[c.style()])
		}
		if t.modes.insert {
			if !pending {
				p.csi(c.width(), "P")
			}
			p.puts("\x1b[4h")
		}
		if c.width() == 0 {
			p.standalone(t.styles.list[c.style()])
		}
		for _, r := range string(t.appendCellText(nil, c)) {
			p.buf = utf8.AppendRune(p.buf, t.charset.source(r))
		}
		if !again {
			// Any control ends what a combining mark could join.
			p.puts("\x00")
		}
		p.setStyle(pen)
		p.beyond(again)
		return
	}
	if pending {
		p.known = false
		p.move(t.cols-1, y)
		// A line erased behind its end: erase it again, which keeps the cursor.
		uniform, ok := l.uniform(t.cols)
		if ok {
			p.setStyle(style{})
			p.puts(" ")
			p.setStyle(t.styles.list[uniform.style()])
			p.puts("\x1b[1K")
		} else {
			p.setStyle(t.styles.list[l.at(t.cols-1).style()])
			p.puts(" ")
		}
		wrapOff()
		if t.modes.insert {
			p.puts("\x1b[4h")
		}
		p.puts("\x00")
		p.setStyle(pen)
		p.beyond(false)
		return
	}
	p.known = false
	p.move(s.x, y)
	wrapOff()
	if t.modes.insert {
		p.puts("\x1b[4h")
	}
	p.setStyle(pen)
}

// beyond repeats combining marks that found no column and moved the cursor on.
func (p *painter) beyond(joined bool) {
	n := min(p.t.cur.x-p.t.cols, 16)
	if n <= 0 || joined {
		return
	}
	p.standalone(style(p.t.pen))
	for range n {
		p.puts("\u0301")
	}
}

// uniform says whether a row is empty in one background, and in which.
func (l *line) uniform(cols int) (cell, bool) {
	first := l.at(0)
	if first.hasContent() || first.width() != 1 {
		return 0, false
	}
	for x := 1; x < cols; x++ {
		if l.at(x) != first {
			return 0, false
		}
	}
	return first, true
}

// unfinished writes the beginning of the sequence that the stream is in the
// middle of, as the parser understood it.
func (p *painter) unfinished() {
	ps := &p.t.parser
	collected := func() {
		for shift := 24; shift >= 0; shift -= 8 {
			if b := byte(ps.collect >> shift); b != 0 {
				p.buf = append(p.buf, b)
			}
		}
	}
	switch ps.state {
	case stEscape:
		p.puts("\x1b")
	case stEscapeInter:
		p.puts("\x1b")
		collected()
	case stCSIEntry, stCSIParam, stCSIInter:
		p.puts("\x1b[")
		p.sequence(ps)
	case stCSIIgnore:
		p.puts("\x1b[0<")
	case stString:
		p.puts("\x1b")
		p.buf = append(p.buf, ps.stringKind)
	case stOSC:
		p.puts("\x1b]")
		p.buf = append(p.buf, inertOSC(ps)...)
	case stDCSEntry, stDCSParam, stDCSInter:
		p.puts("\x1bP")
		p.sequence(ps)
	case stDCSIgnore, stDCSPass:
		// No DCS string draws anything.
		p.puts("\x1bP0<")
	}
	p.buf = append(p.buf, ps.tail[:ps.nTail]...)
}

// sequence writes prefix, parameters and intermediates.
func (p *painter) sequence(ps *parser) {
	var prefix, inter []byte
	for shift := 24; shift >= 0; shift -= 8 {
		switch b := byte(ps.collect >> shift); {
		case b >= 0x3c:
			prefix = append(prefix, b)
		case b != 0:
			inter = append(inter, b)
		}
	}
	p.buf = append(p.buf, prefix...)
	v := &ps.params
	if ps.state != stCSIEntry && ps.state != stDCSEntry {
		for i := range v.n {
			if i > 0 {
				p.puts(";")
			}
			if v.value[i] != 0 || v.n > 1 || len(v.subsOf(i)) > 0 || len(prefix) == 0 && len(inter) == 0 {
				p.num(int(v.value[i]))
			}
			for _, sub := range v.subsOf(i) {
				p.puts(":")
				if sub >= 0 {
					p.num(int(sub))
				}
			}
		}
		if v.rejectDigits {
			p.puts(";")
		}
	}
	p.buf = append(p.buf, inter...)
}

// inertOSC is the part of an unfinished OSC string that may be carried on:
// titles, links and colours. Any other becomes a string that means nothing.
func inertOSC(ps *parser) string {
	const nothing = "7999;"
	if ps.overflow || len(ps.text) > maxRepaintString {
		return nothing
	}
	for i, b := range ps.text {
		if b >= '0' && b <= '9' {
			continue
		}
		switch string(ps.text[:i]) {
		case "0", "1", "2", "8":
			if b == ';' {
				return string(ps.text)
			}
		}
		return nothing
	}
	return string(ps.text)
}
