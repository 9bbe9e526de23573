package vt

import "unicode/utf8"

// A cell is one column of a row. Zero is an empty cell in the default style,
// so clearing memory clears the screen.
//
//	bits  0–20  code point, or index of a cluster when cellCluster is set
//	bit     21  cellCluster: several code points share the cell
//	bits 22–23  width xor 1: the width is 0 behind a wide character, else 1 or 2
//	bits 32–63  style id
type cell uint64

const (
	cellRune    cell = 1<<21 - 1
	cellCluster cell = 1 << 21
	cellContent cell = 1<<22 - 1

	widthShift = 22
	styleShift = 32

	// wideTail is the cell behind a wide character.
	wideTail cell = 1 << widthShift
)

// narrow is a cell with a character of width 1.
func narrow(r rune, style uint32) cell { return cell(r) | cell(style)<<styleShift }

func (c cell) width() int            { return int(c>>widthShift)&3 ^ 1 }
func (c cell) hasContent() bool      { return c&cellContent != 0 }
func (c cell) style() uint32         { return uint32(c >> styleShift) }
func (c cell) isCluster() bool       { return c&cellCluster != 0 }
func (c cell) withoutTag() cell      { return c & (1<<styleShift - 1) }
func (c cell) number() uint32        { return uint32(c & cellRune) }
func (c cell) restyle(s uint32) cell { return c.withoutTag() | cell(s)<<styleShift }

// blank is an empty cell of width 1 in a style.
func blank(style uint32) cell { return cell(style) << styleShift }

// A line is one row. Columns at and above len(cells) are empty and default, so
// a short row costs what it shows; or, of a row that was filled, all alike, so
// that filling costs nothing either. Whoever reads cells takes the row from
// screen.row, which writes such a fill out.
type line struct {
	cells []cell
	// rest, of width 1, is what the columns from len(cells) up to until hold.
	rest  cell
	until int
	// seq is the screen's fill that this row has seen last.
	seq uint64
	// wrapped says that this row continues the one above (soft wrap).
	wrapped bool
	// special is false while every cell has width 1; it guards the slow paths
	// that mend halves of wide characters.
	special bool
	// long is the row's length where that is more than the screen's columns:
	// xterm.js does not cut rows of the alternate screen when it gets narrower.
	long int
	// known is the textHash of the whole line where a resize took this row back
	// from the scrollback, else 0: the archive has the line, as long as its text
	// is the same.
	known uint64
}

// length is the row's number of columns on a screen of cols.
func (l *line) length(cols int) int { return max(cols, l.long) }

func (l *line) at(x int) cell {
	if uint(x) < uint(len(l.cells)) {
		return l.cells[x]
	}
	return l.beyond(x)
}

// beyond is at, for columns that are not written out.
func (l *line) beyond(x int) cell {
	if l.rest != 0 && x >= 0 && x < l.until {
		return l.rest
	}
	return 0
}

// flatten writes the rest out.
func (l *line) flatten() {
	if l.rest != 0 {
		l.grow(l.until)
		l.rest = 0
	}
}

// grow makes columns below n addressable.
func (l *line) grow(n int) {
	old := len(l.cells)
	if n <= old {
		return
	}
	if n <= cap(l.cells) {
		l.cells = l.cells[:n]
		clear(l.cells[old:])
	} else {
		cells := make([]cell, n, max(n, 2*cap(l.cells), 16))
		copy(cells, l.cells)
		l.cells = cells
	}
	if l.rest != 0 {
		if old < l.until {
			fillCells(l.cells[old:min(n, l.until)], l.rest)
		}
		if n >= l.until {
			l.rest = 0
		}
	}
}

// fillCells sets all of dst. Copying what is already there is several times
// faster than a loop.
func fillCells(dst []cell, c cell) {
	first := dst[:min(8, len(dst))]
	for i := range first {
		first[i] = c
	}
	repeatStart(dst, len(first))
}

// repeatBytes is fillCells for bytes.
func repeatBytes(dst []byte, b byte) {
	first := dst[:min(8, len(dst))]
	for i := range first {
		first[i] = b
	}
	repeatStart(dst, len(first))
}

// repeatStart repeats the first n elements of dst in all of it.
func repeatStart[E any](dst []E, n int) {
	for ; n > 0 && n < len(dst); n *= 2 {
		copy(dst[n:], dst[:n])
	}
}

func (l *line) set(x int, c cell) {
	if x >= len(l.cells) {
		if c == l.beyond(x) {
			return
		}
		l.grow(x + 1)
	}
	l.cells[x] = c
	if c&(3<<widthShift) != 0 {
		l.special = true
	}
}

// reset empties the row. With a style other than the default every one of cols
// columns gets it.
func (l *line) reset(style uint32, cols int) {
	l.cells = l.cells[:0]
	l.wrapped = false
	l.special = false
	l.long = 0
	l.rest = blank(style)
	l.until = cols
	l.known = 0
}

// fill sets every column to a cell of width 1.
func (l *line) fill(c cell, cols int) {
	l.known = 0
	l.cells = l.cells[:0]
	l.special = false
	l.rest = c
	l.until = l.length(cols)
}

// truncate drops columns at and above cols.
func (l *line) truncate(cols int) {
	if len(l.cells) > cols {
		l.cells = l.cells[:cols]
	}
	l.until = min(l.until, cols)
}

// used is the number of columns up to the last cell that is not empty and
// default.
func (l *line) used() int {
	l.flatten()
	n := len(l.cells)
	for n > 0 && l.cells[n-1] == 0 {
		n--
	}
	return n
}

// textLength is the column behind the last cell with content, background
// ignored.
func (l *line) textLength() int {
	l.flatten()
	for i := len(l.cells) - 1; i >= 0; i-- {
		if l.cells[i].hasContent() {
			return i + l.cells[i].width()
		}
	}
	return 0
}

// insertCells moves the cells from pos on n columns to the right; what passes
// cols is lost.
func (l *line) insertCells(pos, n int, fill cell, cols int) {
	cols = l.length(cols)
	l.restTo(cols)
	pos %= cols
	if pos > 0 && l.special && l.at(pos-1).width() == 2 {
		l.set(pos-1, fill)
	}
	if n < cols-pos {
		if length := len(l.cells); length > pos {
			end := min(length+n, cols)
			l.grow(end)
			copy(l.cells[pos+n:end], l.cells[pos:])
		}
		l.fillRange(pos, pos+n, fill)
	} else {
		l.fillRange(pos, cols, fill)
	}
	if l.special && l.at(cols-1).width() == 2 {
		l.set(cols-1, fill)
	}
}

// deleteCells removes n cells at pos; the rest moves left.
func (l *line) deleteCells(pos, n int, fill cell, cols int) {
	cols = l.length(cols)
	l.restTo(cols)
	pos %= cols
	if n < cols-pos {
		if length := len(l.cells); length > pos {
			moved := 0
			if length > pos+n {
				moved = copy(l.cells[pos:], l.cells[pos+n:])
			}
			l.cells = l.cells[:pos+moved]
		}
		l.fillRange(cols-n, cols, fill)
	} else {
		l.fillRange(pos, cols, fill)
	}
	if !l.special {
		return
	}
	if pos > 0 && l.at(pos-1).width() == 2 {
		l.set(pos-1, fill)
	}
	if c := l.at(pos); c.width() == 0 && !c.hasContent() {
		l.set(pos, fill)
	}
}

// restTo makes sure that a rest goes up to the row's end, so that moving cells
// within the row leaves it where it is.
func (l *line) restTo(cols int) {
	if l.until != cols {
		l.flatten()
	}
}

// fillRange sets the columns [from, to) to a cell of width 1. A range that no
// column follows becomes the rest.
func (l *line) fillRange(from, to int, c cell) {
	if from >= to {
		return
	}
	length := len(l.cells)
	if to < length || l.rest != 0 && to < l.until {
		if from >= length && c == l.rest {
			return
		}
		l.grow(to)
		fillCells(l.cells[from:to], c)
		return
	}
	if from > length {
		if c == l.rest && (c == 0 || to <= l.until) {
			return
		}
		l.grow(from)
	}
	l.cells = l.cells[:from]
	l.rest = c
	l.until = to
}

// replaceCells overwrites [from, to) and mends wide characters cut by either
// edge.
func (l *line) replaceCells(from, to int, fill cell, cols int) {
	cols = l.length(cols)
	if l.special {
		if from > 0 && l.at(from-1).width() == 2 {
			l.set(from-1, fill)
		}
		if to > 0 && to < cols && l.at(to-1).width() == 2 {
			l.set(to, fill)
		}
	}
	l.fillRange(from, min(to, cols), fill)
}

// maxClusterRunes bounds the code points that share one cell. Longer runs of
// combining marks are noise and would grow without bound.
const maxClusterRunes = 32

// clusters interns the texts of cells that hold several code points.
type clusters struct {
	text  []string
	index map[string]uint32
	limit int
}

func (k *clusters) intern(s string) uint32 {
	if i, ok := k.index[s]; ok {
		return i
	}
	if k.index == nil {
		k.index = make(map[string]uint32)
		k.limit = minInterned
	}
	i := uint32(len(k.text))
	k.text = append(k.text, s)
	k.index[s] = i
	return i
}

// cellText is the text of a cell, "" when it has none.
func (t *Terminal) cellText(c cell) string {
	if c.isCluster() {
		return t.clusters.text[c.number()]
	}
	if c&cellRune == 0 {
		return ""
	}
	return string(rune(c & cellRune))
}

func (t *Terminal) appendCellText(dst []byte, c cell) []byte {
	if c.isCluster() {
		return append(dst, t.clusters.text[c.number()]...)
	}
	if c&cellRune == 0 {
		return dst
	}
	return utf8.AppendRune(dst, rune(c&cellRune))
}
