package vt

import "hash/maphash"

// A LineID names a line of the archive. IDs begin at 1, grow by one and are
// never used again.
type LineID uint64

const (
	// matchWindow is how many of the newest lines a reprint is looked for in.
	matchWindow = 4096
	// matchCandidates is how many places a reprint may have begun at.
	matchCandidates = 32
)

// An archive keeps every logical line that scrolled off a screen. A program
// cannot erase it, but programs that clear and print everything again would
// fill it with copies; so after something that looks like the start of a
// reprint, lines that repeat the archive from some line up to its end are
// matched instead of appended. A repetition that stops earlier is appended
// after all: nothing is ever lost for a guess.
type archive struct {
	store lineStore
	next  LineID
	limit int

	// open is the beginning of a line whose end is still on the screen.
	open    line
	openAlt bool

	// armed says that the next line may begin a reprint. While matched > 0
	// lines have been matched from each of the candidates, and covered is how
	// many of them a candidate that reached the end accounts for.
	armed      bool
	candidates []LineID
	matched    int
	covered    int

	text []byte
}

var hashSeed = maphash.MakeSeed()

func (a *archive) oldest() LineID { return a.next - LineID(a.store.len()) }

// expectReprint prepares for a program that prints again what it printed.
func (a *archive) expectReprint() {
	if a.matched == 0 {
		a.armed = true
	}
}

// push takes a row that left a screen at the top; next is the row below it. A
// line is complete when next does not continue it.
func (a *archive) push(t *Terminal, l, next *line, alt bool) {
	if a.limit == 0 {
		return
	}
	follows := next != nil && next.wrapped
	if len(a.open.cells) == 0 && !follows {
		a.commit(t, l.cells, alt)
		return
	}
	if len(a.open.cells) > 0 && a.openAlt != alt {
		a.flush(t)
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
	from := len(a.open.cells)
	cells := l.cells[:min(len(l.cells), cols)]
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
	a.commit(t, a.open.cells, a.openAlt)
	a.dropOpen()
}

// flushAlt ends the open line if the alternate screen began it.
func (a *archive) flushAlt(t *Terminal) {
	if a.openAlt {
		a.flush(t)
	}
}

func (a *archive) dropOpen() {
	a.open.cells = a.open.cells[:0]
	if cap(a.open.cells) > 4096 {
		a.open.cells = nil
	}
}

// commit takes a complete line.
func (a *archive) commit(t *Terminal, cells []cell, alt bool) {
	if !a.armed {
		a.append(t, cells, alt)
		return
	}
	a.text = t.appendPlain(a.text[:0], cells)
	hash := textHash(a.text)
	if a.matched == 0 {
		a.findCandidates(t, hash)
		if len(a.candidates) == 0 {
			a.armed = false
			a.append(t, cells, alt)
			return
		}
		a.matched = 1
		a.settle(t)
		return
	}
	last := a.candidates[0]
	kept := a.candidates[:0]
	for _, id := range a.candidates {
		if id+LineID(a.matched) < a.next && a.equal(t, id+LineID(a.matched), hash, a.text) {
			kept = append(kept, id)
		}
	}
	if len(kept) > 0 {
		a.candidates = kept
		a.matched++
		a.settle(t)
		return
	}
	a.giveUp(t, last)
	a.append(t, cells, alt)
}

// settle notes the candidates that reached the end, and stops matching when no
// other can.
func (a *archive) settle(t *Terminal) {
	going := false
	for _, id := range a.candidates {
		if id+LineID(a.matched) == a.next {
			a.covered = a.matched
		} else {
			going = true
		}
	}
	if !going {
		a.giveUp(t, a.candidates[0])
	}
}

// giveUp ends a match: the lines that no complete repetition accounts for are
// appended from where they stand already, behind id.
func (a *archive) giveUp(t *Terminal, id LineID) {
	matched, covered := a.matched, a.covered
	a.armed, a.matched, a.covered, a.candidates = false, 0, 0, nil
	var l line
	for k := covered; k < matched; k++ {
		c, i := a.store.at(int(id + LineID(k) - a.oldest()))
		alt := c.record(i)[0]&recordAlt != 0
		t.decodeRecord(&l, c.record(i), c.table.list, maxCells)
		before := a.oldest()
		a.append(t, l.cells, alt)
		if a.oldest() > before && id+LineID(k+1) < a.oldest() {
			break
		}
	}
}

func (a *archive) append(t *Terminal, cells []cell, alt bool) {
	flags := byte(0)
	if alt {
		flags = recordAlt
	}
	a.store.push(t, cells, flags)
	a.appended()
}

func (a *archive) appended() {
	a.next++
	for a.store.memory() > a.limit && len(a.store.chunks) > 1 {
		a.store.dropFirstChunk()
	}
}

// pushRecord takes a complete row's record as it stands. It returns false where
// push has to look closer.
func (a *archive) pushRecord(rec []byte, table *styleTable, next *line) bool {
	if a.limit == 0 || a.armed || len(a.open.cells) > 0 || next != nil && next.wrapped {
		return false
	}
	if !a.store.pushRecord(rec, table) {
		return false
	}
	a.appended()
	return true
}

// hash is the hash of a line's text, made when it is first asked for.
func (a *archive) hash(t *Terminal, c *chunk, i int) uint32 {
	if n := len(c.ends) - len(c.hashes); n > 0 {
		c.hashes = append(c.hashes, make([]uint32, n)...)
	}
	if c.hashes[i] == 0 {
		rec := c.record(i)
		if rec[0]&recordPlain != 0 {
			c.hashes[i] = textHash(trimSpaces(rec[1:]))
		} else {
			var l line
			t.decodeRecord(&l, rec, c.table.list, maxCells)
			c.hashes[i] = textHash(t.appendPlain(nil, l.cells))
		}
	}
	return c.hashes[i]
}

func (a *archive) findCandidates(t *Terminal, hash uint32) {
	a.candidates = a.candidates[:0]
	a.covered = 0
	left := min(matchWindow, a.store.len())
	id := a.next
	for n := len(a.store.chunks) - 1; n >= 0 && left > 0; n-- {
		c := a.store.chunks[n]
		for i := len(c.ends) - 1; i >= 0 && left > 0; i-- {
			id--
			left--
			if a.hash(t, c, i) == hash && a.equal(t, id, hash, a.text) {
				if a.candidates = append(a.candidates, id); len(a.candidates) == matchCandidates {
					return
				}
			}
		}
	}
}

// equal says whether an archived line has this text.
func (a *archive) equal(t *Terminal, id LineID, hash uint32, text []byte) bool {
	c, i := a.store.at(int(id - a.oldest()))
	if a.hash(t, c, i) != hash {
		return false
	}
	rec := c.record(i)
	if rec[0]&recordPlain != 0 {
		return string(trimSpaces(rec[1:])) == string(text)
	}
	var l line
	t.decodeRecord(&l, rec, c.table.list, maxCells)
	return string(t.appendPlain(nil, l.cells)) == string(text)
}

// textHash is never 0.
func textHash(text []byte) uint32 { return uint32(maphash.Bytes(hashSeed, text)) | 1 }

func trimSpaces(p []byte) []byte {
	for len(p) > 0 && p[len(p)-1] == ' ' {
		p = p[:len(p)-1]
	}
	return p
}

// appendPlain appends the text of cells without trailing spaces.
func (t *Terminal) appendPlain(dst []byte, cells []cell) []byte {
	start := len(dst)
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
