package vt

import (
	"encoding/binary"
	"unicode/utf8"
)

// Output that comes faster than anybody looks has lines that come in at the
// bottom of the screen and leave it at the top within one Write. Such lines are
// taken into the histories as they are read, without drawing them: what the
// histories and the screen hold in the end is the same.
//
// A line passes when it is whole, has only characters with a width of their own
// and the graphic renditions (SGR) that fastGraphic knows, is no wider than the
// screen, and leaves the next row empty. Enough lines must follow it to push it
// off the screen.

// minPassing is how much input is worth looking for lines that pass.
const minPassing = 4 << 10

// A passingLine is a line that was read ahead.
type passingLine struct {
	// end is where the next line begins in the input, text where this one's text
	// ends in its passage's text, and runs where its runs end there.
	end, text, runs int32
	cells           int32
	// fg and bg are the pen's behind the line.
	fg, bg uint32
	ascii  bool
}

// A styleRun is so many cells of one style.
type styleRun struct{ style, cells uint32 }

// A passage is what was read ahead.
type passage struct {
	lines []passingLine
	text  []byte
	runs  []styleRun
}

// passages serve all terminals: much is needed, for a moment.
var passages = make(chan *passage, 2)

func borrowPassage() *passage {
	select {
	case p := <-passages:
		return p
	default:
		return new(passage)
	}
}

func (p *passage) giveBack() {
	select {
	case passages <- p:
	default:
	}
}

// passing is what a terminal knows between two passages.
type passing struct {
	// again is how many bytes must be consumed before looking is worth it again.
	again uint64
	// lines counts those that passed, for tests.
	lines uint64
}

// maxPassing and maxPassingLines bound what is read ahead at a time.
const (
	maxPassing      = 32 << 10
	maxPassingLines = 2048
)

// pass takes the lines that pass from the start of t.rest. The cursor is at the
// start of an empty last row.
func (t *Terminal) pass() {
	s := t.cur
	if s != t.main || s.top != 0 || s.bottom != t.rows-1 || t.scrollbackMax == 0 || t.charset != 0 || t.odd ||
		t.modes.insert || t.archive.reprint.active || t.pen.bg&colorMask != 0 || t.consumed() < t.passing.again {
		return
	}
	if l := s.live(s.y); s.x != 0 || l.wrapped || l.rest != 0 || len(l.cells) > 0 {
		return
	}
	p := borrowPassage()
	defer p.giveBack()
	fg, bg := t.pen.fg, t.pen.bg
	read := t.readAhead(p, t.rest[:min(len(t.rest), maxPassing)])
	t.setPen(fg, bg)
	t.passing.again = t.consumed() + uint64(read)
	n := len(p.lines) - (t.rows - 1)
	if n < t.rows {
		return
	}
	for range t.rows - 1 {
		t.scroll(false)
	}
	s.y = 0
	text, runs := int32(0), int32(0)
	for i := range p.lines[:n] {
		l := &p.lines[i]
		t.passLine(l, p.text[text:l.text], p.runs[runs:l.runs])
		text, runs = l.text, l.runs
	}
	last := &p.lines[n-1]
	t.setPen(last.fg, last.bg)
	t.rest = t.rest[last.end:]
	t.passing.lines += uint64(n)
}

func (t *Terminal) setPen(fg, bg uint32) {
	t.pen.fg, t.pen.bg = fg, bg
	t.penStale = true
}

// readAhead reads the lines at the start of input that may pass, and says how far
// it came.
func (t *Terminal) readAhead(p *passage, input []byte) int {
	p.lines, p.text, p.runs = p.lines[:0], p.text[:0], p.runs[:0]
	line := passingLine{ascii: true}
	firstRun := len(p.runs)
	for i := 0; i < len(input); {
		c := input[i]
		switch {
		case c >= 0x20 && c < 0x7f || c >= 0xc0:
			n, cells, ascii := textAhead(input[i:], t.cols-int(line.cells))
			if n == 0 {
				return i
			}
			p.text = append(p.text, input[i:i+n]...)
			p.addRun(firstRun, t.penStyle(), cells)
			i += n
			line.cells += int32(cells)
			line.ascii = line.ascii && ascii
		case c == '\r':
			if i+1 == len(input) || input[i+1] != '\n' || t.pen.bg&colorMask != 0 {
				return i
			}
			i += 2
			line.end, line.text, line.runs = int32(i), int32(len(p.text)), int32(len(p.runs))
			line.fg, line.bg = t.pen.fg, t.pen.bg
			p.lines = append(p.lines, line)
			line = passingLine{ascii: true}
			firstRun = len(p.runs)
			if len(p.lines) == maxPassingLines {
				return i
			}
		case c == 0x1b:
			n := t.graphicAhead(input[i:])
			if n == 0 {
				return i
			}
			i += n
		default:
			return i
		}
	}
	return len(input)
}

// textAhead measures the text at the start of p, in bytes and cells. There are no
// bytes where a character would join the one before it, is not valid, or where
// the text needs more cells than there are.
func textAhead(p []byte, room int) (n, cells int, ascii bool) {
	ascii = true
	for n < len(p) {
		c := p[n]
		if c < 0x80 {
			if c < 0x20 || c == 0x7f {
				break
			}
			run := printableRun(p[n:])
			n += run
			cells += run
			continue
		}
		ascii = false
		if c < 0xc0 {
			return 0, 0, false
		}
		r, size := decode(p[n:])
		width := runeWidth(r)
		if r < 0xa0 || width == 0 || size != utf8.RuneLen(r) {
			return 0, 0, false
		}
		n += size
		cells += width
	}
	if cells > room {
		return 0, 0, false
	}
	return n, cells, ascii
}

// addRun adds cells to the line whose runs begin at from.
func (p *passage) addRun(from int, style uint32, cells int) {
	if n := len(p.runs); n > from && p.runs[n-1].style == style {
		p.runs[n-1].cells += uint32(cells)
		return
	}
	p.runs = append(p.runs, styleRun{style, uint32(cells)})
}

// graphicAhead does the graphic rendition at the start of p and says how long it
// is, 0 where fastGraphic does not know it or too many styles were seen.
func (t *Terminal) graphicAhead(p []byte) int {
	if len(p) < 3 || p[1] != '[' || len(t.styles.list) > t.styles.limit {
		return 0
	}
	if n := t.shortGraphic(p); n > 0 {
		return n
	}
	var values [8]int32
	n, v := 0, int32(0)
	for i, c := range p[2:] {
		switch d := c - '0'; {
		case d <= 9:
			if v = v*10 + int32(d); v > 1<<24 {
				return 0
			}
		case c == ';' && n < len(values)-1:
			values[n] = v
			n, v = n+1, 0
		case c == 'm':
			values[n] = v
			if !t.fastGraphic(values[:n+1]) {
				return 0
			}
			return i + 3
		default:
			return 0
		}
	}
	return 0
}

// passLine takes a line into both histories, as pushHistory does with a row.
func (t *Terminal) passLine(l *passingLine, text []byte, runs []styleRun) {
	if t.missing+t.scrollback.len() >= t.scrollbackMax {
		t.trimScrollback(1)
	}
	c := t.scrollback.tail()
	start := len(c.data)
	if l.ascii && (len(runs) == 0 || len(runs) == 1 && runs[0].style == 0) {
		c.data = append(append(c.data, recordPlain), text...)
	} else {
		dst := c.data
		dst = append(dst, 0)
		dst = binary.AppendUvarint(dst, uint64(l.cells))
		dst = binary.AppendUvarint(dst, uint64(len(runs)))
		for _, r := range runs {
			dst = appendRun(dst, c.table.ofID(t, r.style), r.cells)
		}
		dst = append(dst, text...)
		c.data = dst
	}
	c.ends = append(c.ends, uint32(len(c.data)))
	t.scrollback.count++
	if t.archive.limit > 0 {
		t.archive.store.pushCopy(c.data[start:], c.table)
		t.archive.appended()
	}
	t.boundScrollback()
}
