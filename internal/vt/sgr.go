package vt

// selectGraphic is SGR, a copy of xterm.js's reading of it.
func (t *Terminal) selectGraphic(p *params) {
	t.penStale = true
	a := &t.pen
	for i := 0; i < p.n; i++ {
		v := p.value[i]
		switch {
		case v == 0:
			a.fg, a.bg = 0, 0
			a.ext &^= extUnderline | colorMask
			a.updateExtended()
		case v >= 30 && v <= 37:
			a.fg = a.fg&^colorMask | color16 | uint32(v-30)
		case v >= 40 && v <= 47:
			a.bg = a.bg&^colorMask | color16 | uint32(v-40)
		case v >= 90 && v <= 97:
			a.fg = a.fg&^colorMask | color16 | uint32(v-90) | 8
		case v >= 100 && v <= 107:
			a.bg = a.bg&^colorMask | color16 | uint32(v-100) | 8
		case v == 1:
			a.fg |= fgBold
		case v == 2:
			a.bg |= bgDim
		case v == 3:
			a.bg |= bgItalic
		case v == 4:
			how := int32(1)
			if sub := p.subsOf(i); len(sub) > 0 {
				how = sub[0]
			}
			a.underline(how)
		case v == 5:
			a.fg |= fgBlink
		case v == 7:
			a.fg |= fgInverse
		case v == 8:
			a.fg |= fgInvisible
		case v == 9:
			a.fg |= fgStrike
		case v == 21:
			a.underline(2)
		case v == 22:
			a.fg &^= fgBold
			a.bg &^= bgDim
		case v == 23:
			a.bg &^= bgItalic
		case v == 24:
			a.underline(0)
		case v == 25:
			a.fg &^= fgBlink
		case v == 27:
			a.fg &^= fgInverse
		case v == 28:
			a.fg &^= fgInvisible
		case v == 29:
			a.fg &^= fgStrike
		case v == 39:
			a.fg &^= colorMask
		case v == 49:
			a.bg &^= colorMask
		case v == 38 || v == 48 || v == 58:
			i += a.extendedColor(p, i)
		case v == 53:
			a.bg |= bgOverline
		case v == 55:
			a.bg &^= bgOverline
		case v == 59:
			// xterm.js stores -1 here, which reads back as white.
			a.ext |= colorMask
			a.updateExtended()
		}
	}
}

// underline sets an underline style, 0 … 5.
func (a *pen) underline(how int32) {
	if how < 0 || how > 5 {
		how = 1
	}
	a.ext = a.ext&^extUnderline | uint32(how)<<extUnderlineShift
	a.fg |= fgUnderline
	if how == 0 {
		a.fg &^= fgUnderline
	}
	a.updateExtended()
}

// extendedColor reads 38, 48 or 58 with what follows, in the semicolon, the
// colon or a mixed form, and returns how many further parameters it took.
func (a *pen) extendedColor(p *params, pos int) int {
	// target, mode, colour space, three values
	accu := [8]int32{0, 0, -1, 0, 0, 0}
	const size = 6
	space, advance := 0, 0
	for {
		accu[advance+space] = p.value[pos+advance]
		if sub := p.subsOf(pos + advance); len(sub) > 0 {
			for i := 0; ; {
				if accu[1] == 5 {
					space = 1
				}
				accu[advance+i+1+space] = sub[i]
				if i++; i >= len(sub) || i+advance+1+space >= size {
					break
				}
			}
			break
		}
		if accu[1] == 5 && advance+space >= 2 || accu[1] == 2 && advance+space >= 5 {
			break
		}
		if accu[1] != 0 {
			space = 1
		}
		if advance++; advance+pos >= p.n || advance+space >= size {
			break
		}
	}
	for i := 2; i < size; i++ {
		accu[i] = max(accu[i], 0)
	}
	target := &a.ext
	switch accu[0] {
	case 38:
		target = &a.fg
	case 48:
		target = &a.bg
	}
	switch accu[1] {
	case 2:
		*target = *target&^colorMask | colorRGB |
			uint32(accu[3]&255)<<16 | uint32(accu[4]&255)<<8 | uint32(accu[5]&255)
	case 5:
		*target = *target&^colorMask | color256 | uint32(accu[3]&255)
	}
	return advance
}
