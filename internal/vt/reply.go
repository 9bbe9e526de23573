package vt

import (
	"strconv"
	"strings"
)

// maxReplies bounds the answers that wait for TakeReplies; what does not fit is
// dropped, so that a program that asks and never reads costs nothing.
const maxReplies = 4096

// TakeReplies returns the answers to queries since the last call, at most 4 KiB,
// for the program's input. They hold constants and numbers only.
func (t *Terminal) TakeReplies() []byte {
	r := t.replies
	t.replies = nil
	return r
}

func (t *Terminal) reply(parts ...string) {
	n := 0
	for _, p := range parts {
		n += len(p)
	}
	if len(t.replies)+n > maxReplies {
		return
	}
	for _, p := range parts {
		t.replies = append(t.replies, p...)
	}
}

func itoa(n int) string { return strconv.Itoa(n) }

// answerCSI answers the queries among the control sequences. An answer claims
// that everything between program and person can do a thing. So nothing is said
// of the kitty keyboard and of modifyOtherKeys (CSI ? u, CSI ? 4 m): xterm.js
// 6.0.0 encodes keys as xterm always did, and programs that were told otherwise
// misread them. A program that sets them unasked is believed, see Modes.Keyboard.
func (t *Terminal) answerCSI(k uint32, p *params) {
	first := p.value[0]
	switch k {
	case 'c':
		if first == 0 {
			t.reply("\x1b[?1;2c")
		}
	case '>'<<8 | 'c':
		if first == 0 {
			t.reply("\x1b[>0;276;0c")
		}
	case 'n':
		switch first {
		case 5:
			t.reply("\x1b[0n")
		case 6:
			t.reply("\x1b[", t.cursorReport(), "R")
		}
	case '?'<<8 | 'n':
		if first == 6 {
			t.reply("\x1b[?", t.cursorReport(), "R")
		}
	case '$'<<8 | 'p':
		t.reply("\x1b[", itoa(int(first)), ";", itoa(t.ansiMode(first)), "$y")
	case '?'<<16 | '$'<<8 | 'p':
		t.reply("\x1b[?", itoa(int(first)), ";", itoa(t.privateMode(first)), "$y")
	case 't':
		if first == 18 {
			t.reply("\x1b[8;", itoa(t.rows), ";", itoa(t.cols), "t")
		}
	}
}

// cursorReport is the position as CPR has it. A pending wrap is reported as the
// last column, as terminals do.
func (t *Terminal) cursorReport() string {
	return itoa(t.cur.y+1) + ";" + itoa(min(t.cur.x+1, t.cols))
}

// The colours that OSC 10, 11 and 12 report. They say "dark", which is what
// programs ask for.
const (
	reportForeground = "rgb:ffff/ffff/ffff"
	reportBackground = "rgb:0000/0000/0000"
	reportCursor     = "rgb:ffff/ffff/ffff"
)

// paletteReport is the default colour of a palette entry, as xterm.js has it.
func paletteReport(n int) string {
	r, g, b := paletteColor(n)
	const hex = "0123456789abcdef"
	out := []byte("rgb:")
	for i, v := range [3]uint8{r, g, b} {
		if i > 0 {
			out = append(out, '/')
		}
		pair := [2]byte{hex[v>>4], hex[v&15]}
		out = append(out, pair[0], pair[1], pair[0], pair[1])
	}
	return string(out)
}

var palette16 = [16]uint32{
	0x2e3436, 0xcc0000, 0x4e9a06, 0xc4a000, 0x3465a4, 0x75507b, 0x06989a, 0xd3d7cf,
	0x555753, 0xef2929, 0x8ae234, 0xfce94f, 0x729fcf, 0xad7fa8, 0x34e2e2, 0xeeeeec,
}

// paletteColor is the default colour of a palette entry, 0 … 255.
func paletteColor(n int) (r, g, b uint8) {
	switch {
	case n < 16:
		c := palette16[n]
		return uint8(c >> 16), uint8(c >> 8), uint8(c)
	case n < 232:
		n -= 16
		level := func(v int) uint8 {
			if v == 0 {
				return 0
			}
			return uint8(55 + 40*v)
		}
		return level(n / 36), level(n / 6 % 6), level(n % 6)
	default:
		v := uint8(8 + 10*(n-232))
		return v, v, v
	}
}

// endDCS performs a DCS string that ended well. Only DECRQSS is answered;
// XTGETTCAP is told "unknown", without the name it asked for.
func (t *Terminal) endDCS(bool) {
	t.lastWidth = 0
	ps := &t.parser
	if !ps.overflow {
		switch ps.dcs {
		case '$'<<8 | 'q':
			t.reply("\x1bP", t.statusString(string(ps.text)), "\x1b\\")
		case '+'<<8 | 'q':
			t.reply("\x1bP0+r\x1b\\")
		}
	}
	ps.dropText()
}

// statusString is the answer to DECRQSS.
func (t *Terminal) statusString(what string) string {
	switch what {
	case `"q`:
		v := "0"
		if t.pen.bg&bgProtected != 0 {
			v = "1"
		}
		return "1$r" + v + `"q`
	case `"p`:
		return `1$r61;1"p`
	case "r":
		return "1$r" + itoa(t.cur.top+1) + ";" + itoa(t.cur.bottom+1) + "r"
	case "m":
		sgr := appendSGR(nil, t.pen.style())
		return "1$r" + strings.TrimSuffix(strings.TrimPrefix(string(sgr), "\x1b["), "m") + "m"
	case " q":
		n := 2
		switch t.modes.cursorShape {
		case CursorUnderline:
			n = 4
		case CursorBar:
			n = 6
		}
		if t.modes.cursorBlink == BlinkOn || t.modes.cursorBlink == BlinkDefault && t.modes.blinkOption {
			n--
		}
		return "1$r" + itoa(n) + " q"
	}
	return "0$r"
}

// appendSGR appends a sequence that sets a style from any other one. It leaves
// out the link and the protection, which SGR does not carry.
func appendSGR(dst []byte, s style) []byte {
	dst = append(dst, "\x1b[0"...)
	add := func(n int) {
		dst = append(dst, ';')
		dst = strconv.AppendInt(dst, int64(n), 10)
	}
	if s.fg&fgBold != 0 {
		add(1)
	}
	if s.bg&bgDim != 0 {
		add(2)
	}
	if s.bg&bgItalic != 0 {
		add(3)
	}
	if how := s.ext & extUnderline >> extUnderlineShift; s.fg&fgUnderline != 0 {
		switch {
		case s.bg&bgExtended == 0 || how == 1:
			add(4)
		case how != 0:
			add(4)
			dst = append(dst, ':', byte('0'+how))
		}
	}
	if s.fg&fgBlink != 0 {
		add(5)
	}
	if s.fg&fgInverse != 0 {
		add(7)
	}
	if s.fg&fgInvisible != 0 {
		add(8)
	}
	if s.fg&fgStrike != 0 {
		add(9)
	}
	if s.bg&bgOverline != 0 {
		add(53)
	}
	dst = appendColor(dst, s.fg, 30)
	dst = appendColor(dst, s.bg, 40)
	dst = appendColor(dst, s.ext, 50)
	return append(dst, 'm')
}

// appendColor appends the parameters of a colour; base is 30, 40 or, for the
// underline, 50. Colours of the underline take the colon form, which terminals
// that do not know them skip as one parameter.
func appendColor(dst []byte, c uint32, base int) []byte {
	v := int64(c & colorValue)
	sep := byte(';')
	if base == 50 {
		sep = ':'
	}
	switch c & colorMode {
	case color16:
		dst = append(dst, ';')
		if base == 50 {
			// Written by nothing: an underline colour is 256 or RGB.
			return append(strconv.AppendInt(append(dst, "58:5:"...), v&15, 10), []byte(nil)...)
		}
		n := int64(base) + v&7
		if v&8 != 0 {
			n += 60
		}
		dst = strconv.AppendInt(dst, n, 10)
	case color256:
		dst = append(dst, ';')
		dst = strconv.AppendInt(dst, int64(base)+8, 10)
		dst = append(dst, sep, '5', sep)
		dst = strconv.AppendInt(dst, v&255, 10)
	case colorRGB:
		dst = append(dst, ';')
		dst = strconv.AppendInt(dst, int64(base)+8, 10)
		dst = append(dst, sep, '2', sep)
		if base == 50 {
			dst = append(dst, ':')
		}
		dst = strconv.AppendInt(dst, v>>16, 10)
		dst = append(dst, sep)
		dst = strconv.AppendInt(dst, v>>8&255, 10)
		dst = append(dst, sep)
		dst = strconv.AppendInt(dst, v&255, 10)
	}
	return dst
}
