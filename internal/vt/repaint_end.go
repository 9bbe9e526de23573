package vt

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
		shape = CursorBar + 1 // unknown: xterm.js takes the blinking alone
	}
	n := int(shape) * 2
	if blink == BlinkOn {
		n--
	}
	return n
}

// cursor puts the cursor where it belongs, with the pen, a pending wrap, and
// the last character printed again where a combining mark could still join it.
func (p *painter) cursor() {
	t := p.t
	s := t.cur
	pen := style(t.pen)
	if !p.asleep && !t.pen.natural() {
		// It cannot be had; what the next character looks like can.
		pen = t.pen.style()
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

	if !again && width == 2 && s.x == t.cols-1 && p.dropped(l) {
		return
	}
	if again || pending && (prints || c.hasContent() && c.width() == 0) {
		p.place(lead)
		wrapOff()
		st := pen
		if !again {
			st = t.styles.list[c.style()]
		}
		if again || (st.bg^p.style.bg)&bgExtended != 0 {
			p.setPen(st)
		} else {
			p.setStyle(st)
		}
		if t.modes.insert {
			if !pending {
				p.csi(c.width(), "P")
			}
			p.puts("\x1b[4h")
		}
		if c.width() == 0 {
			p.standalone()
		}
		p.typed(t.cellText(c))
		if !again {
			// Any control ends what a combining mark could join.
			p.puts("\x00")
		}
		p.setPen(pen)
		p.beyond(again)
		return
	}
	if pending {
		p.place(t.cols - 1)
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
		p.setPen(pen)
		p.beyond(false)
		return
	}
	p.place(s.x)
	wrapOff()
	if t.modes.insert {
		p.puts("\x1b[4h")
	}
	p.setPen(pen)
}

// place puts the cursor into a column of the cursor's row. In origin mode rows
// count from the top of the region. The main screen's cursor can be outside of
// it, where it came from the alternate screen; it goes that way again.
func (p *painter) place(x int) {
	t := p.t
	s := t.cur
	switch {
	case !t.modes.origin:
		p.jump(x, s.y)
	case s.y >= s.top && s.y <= s.bottom || s == t.alt:
		p.jump(x, s.y-s.top)
	default:
		p.puts("\x1b[?47h")
		p.jump(x, s.y)
		p.puts("\x1b[?47l")
		p.known = false
	}
}

// dropped handles a wide character that found one column and no autowrap: it
// was not printed, and moved the cursor there.
func (p *painter) dropped(l *line) bool {
	t := p.t
	if t.modes.wrap {
		return false
	}
	last, before := l.at(t.cols-1), l.at(t.cols-2)
	from, again, text := t.cols-1, "", "一"
	switch {
	case last.withoutTag() == wideTail:
		return false
	case before.width() != 2:
	case p.isStretched(before):
		// Painting it anew costs the cell behind it.
		text += p.narrow(before, p.place)
		p.place(t.cols - 1)
		p.setStyle(t.styles.list[last.style()])
		if last.hasContent() {
			p.typed(t.cellText(last))
		} else {
			p.csi(1, "X")
		}
	case before.style() == t.penStyle() && last == blank(t.penStyle()):
		// It came together with the one before, which lost its tail to it.
		from, again = t.cols-2, t.cellText(before)
	default:
		return false
	}
	p.place(from)
	p.puts("\x1b[?7l")
	if t.modes.insert {
		p.puts("\x1b[4h")
	}
	p.setPen(style(t.pen))
	p.typed(again)
	p.puts(text)
	return true
}

// beyond repeats combining marks that found no column and moved the cursor on.
func (p *painter) beyond(joined bool) {
	n := min(p.t.cur.x-p.t.cols, 16)
	if n <= 0 || joined {
		return
	}
	p.standalone()
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
