package vt

import "sync"

// A LineID names a line of the archive. IDs begin at 1, grow by one and are
// never used again.
type LineID uint64

// An archive keeps every logical line that scrolled off a screen. A program
// cannot erase it, but programs that clear and print everything again would
// fill it with copies. Two things keep them out, and neither ever loses a line
// for a guess:
//
//   - Rows that a resize takes back from the scrollback are marked with the text
//     of their line (line.known). When they leave the screen again as they came,
//     they are in the archive already.
//   - After something that looks like the start of a reprint, lines that say
//     again what the archive says are held back; see reprint.
type archive struct {
	store lineStore
	next  LineID
	limit int

	// open is the beginning of a line whose end is still on the screen. Its known
	// is that of its rows.
	open    line
	openAlt bool

	// torn is a line's beginning whose rest was erased, and what waits behind it;
	// see tear. While there is one, reprint is active.
	torn lineStore

	reprint reprint

	// The rest is scratch.
	text, letters, other     []byte
	tornLetters, lineLetters []byte
	stream                   letterStream
	ahead                    lookahead
	known                    []knownLetters
	before, after, stay      []place
}

// share has the archive's records use the styles of another store.
func (a *archive) share(styles *tables) {
	a.store.tables, a.reprint.held.tables, a.reprint.lead.tables = styles, styles, styles
	a.torn.tables = styles
}

func (a *archive) oldest() LineID { return a.next - LineID(a.store.len()) }

// push takes a row that left a screen at the top; next is the row below it. A
// line is complete when next does not continue it.
func (a *archive) push(t *Terminal, l, next *line, alt bool) {
	if a.limit == 0 {
		return
	}
	follows := next != nil && next.wrapped
	if len(a.open.cells) > 0 && (a.openAlt != alt || !l.wrapped) {
		a.breakOpen(t)
	}
	if len(a.open.cells) == 0 && !follows {
		a.commit(t, l.cells, alt, l.known)
		return
	}
	a.openAlt = alt
	a.extend(l, next, t.cols)
	if !follows || len(a.open.cells) > maxCells-maxSize {
		a.flush(t)
	}
}

// extend adds a row to the open line. Rows that are continued count full width,
// less the column that a wide character did not fit into.
func (a *archive) extend(l, next *line, cols int) {
	if l.known != 0 {
		a.open.known = l.known
	}
	from := len(a.open.cells)
	if from > longOpen/2 && cap(a.open.cells) <= longOpen {
		long := longCells.Get().(*[maxCells]cell)
		a.open.cells = append(long[:0], a.open.cells...)
	}
	cells := trimEmpty(l.cells[:min(len(l.cells), cols)])
	a.open.cells = append(a.open.cells, cells...)
	a.open.special = a.open.special || l.special
	if next != nil && next.wrapped {
		end := cols
		if last := l.at(cols - 1); !last.hasContent() && last.width() == 1 && next.at(0).width() == 2 {
			end--
		}
		if from+end < len(a.open.cells) {
			a.open.cells = a.open.cells[:from+end]
		}
		a.open.grow(from + end)
	}
}

// flush ends the open line.
func (a *archive) flush(t *Terminal) {
	if len(a.open.cells) == 0 {
		return
	}
	a.commit(t, a.open.cells, a.openAlt, a.open.known)
	a.dropOpen()
}

// hasOpen says that there is an open line that the archive does not have.
func (a *archive) hasOpen() bool { return len(a.open.cells) > 0 && a.open.known == 0 }

// flushAlt ends the open line if the alternate screen began it.
func (a *archive) flushAlt(t *Terminal) {
	if a.openAlt {
		a.flush(t)
	}
}

func (a *archive) dropOpen() {
	a.open.cells = a.open.cells[:0]
	a.open.known = 0
	if cap(a.open.cells) == maxCells {
		longCells.Put((*[maxCells]cell)(a.open.cells[:maxCells]))
	}
	if cap(a.open.cells) > longOpen {
		a.open.cells = nil
	}
}

// longOpen is how many cells of an open line an archive keeps room for. Longer
// ones borrow theirs: a stream without line ends would allocate all the time.
const longOpen = 4096

var longCells = sync.Pool{New: func() any { return new([maxCells]cell) }}

// commit takes a complete line. known is the mark of its rows.
func (a *archive) commit(t *Terminal, cells []cell, alt bool, known uint64) {
	cells = trimEmpty(cells)
	if known != 0 {
		a.text = t.appendPlain(a.text[:0], cells)
		if textHash(a.text) == known {
			return
		}
	}
	if a.reprint.active {
		a.compare(t, cells, alt)
		return
	}
	a.append(t, cells, alt)
}

func (a *archive) append(t *Terminal, cells []cell, alt bool) {
	if !a.mend(t, cells, alt) {
		return
	}
	a.store.push(t, cells, altFlag(alt))
	a.appended()
}

func altFlag(alt bool) byte {
	if alt {
		return recordAlt
	}
	return 0
}

func (a *archive) appended() {
	a.next++
	for a.store.memory() > a.limit && len(a.store.chunks) > 1 {
		a.store.dropFirstChunk()
	}
}

// appendAll moves the lines of another store to the archive's end.
func (a *archive) appendAll(s *lineStore) {
	for n, c := range s.chunks {
		for i := range c.ends {
			if n == 0 && i < s.head {
				continue
			}
			if a.torn.len() > maxTorn {
				a.keepTorn()
			}
			if a.torn.len() > 0 {
				a.torn.pushCopy(c.record(i), c.table)
				continue
			}
			a.store.pushCopy(c.record(i), c.table)
			a.appended()
		}
	}
	s.reset()
}

// pushRecord takes a complete row's record as it stands. It returns false where
// push has to look closer.
func (a *archive) pushRecord(rec []byte, table *styleTable, next *line) bool {
	if a.limit == 0 || a.reprint.active || len(a.open.cells) > 0 || next != nil && next.wrapped {
		return false
	}
	if !a.store.pushRecord(rec, table) {
		return false
	}
	a.appended()
	return true
}

// appendPlain appends the text of cells without trailing spaces.
func (t *Terminal) appendPlain(dst []byte, cells []cell) []byte {
	start := len(dst)
	for n := len(cells); n > 0 && !cells[n-1].hasContent(); n-- {
		cells = cells[:n-1]
	}
	for i := 0; i < len(cells); i++ {
		c := cells[i]
		if r := c.withoutTag(); r-0x20 <= 0x7e-0x20 {
			dst = append(dst, byte(r))
			continue
		}
		if !c.hasContent() {
			if c.width() != 0 {
				dst = append(dst, ' ')
			}
			continue
		}
		dst = t.appendCellText(dst, c)
	}
	for len(dst) > start && dst[len(dst)-1] == ' ' {
		dst = dst[:len(dst)-1]
	}
	return dst
}

func trimSpaces(p []byte) []byte {
	for len(p) > 0 && p[len(p)-1] == ' ' {
		p = p[:len(p)-1]
	}
	return p
}
