package vt

import (
	"bytes"
	"math"
)

// A line is torn when its beginning left the screen and its rest was erased: a
// program that draws its screen again does so after every resize that rewrapped a
// line over the upper edge. It will print the line again, whole. So a beginning
// torn while a reprint is expected waits, and the lines behind it with it, for one
// that says the same and more. When none comes soon, all are kept as they came.

// maxTorn is how many lines wait behind a torn one.
const maxTorn = 16

// tear takes the open line's beginning, of which the screen has no more.
func (a *archive) tear(t *Terminal) {
	a.keepTorn()
	a.torn.push(t, trimEmpty(a.open.cells), altFlag(a.openAlt))
	a.dropOpen()
}

// keepTorn appends what is torn, and what waits behind it.
func (a *archive) keepTorn() {
	for i := range a.torn.len() {
		c, k := a.torn.at(i)
		a.store.pushCopy(c.record(k), c.table)
		a.appended()
	}
	a.torn.reset()
}

// mend says whether a line that is to be appended may be so now; else it waits.
func (a *archive) mend(t *Terminal, cells []cell, alt bool) bool {
	if a.torn.len() == 0 {
		return true
	}
	c, i := a.torn.at(0)
	rec := c.record(i)
	a.tornLetters = recordLetters(a.tornLetters[:0], rec)
	a.lineLetters = t.appendCellLetters(a.lineLetters[:0], cells)
	torn, letters := a.tornLetters, a.lineLetters
	switch {
	case len(letters) > len(torn) && bytes.HasPrefix(letters, torn):
		a.torn.dropFirst()
		a.keepTorn()
		return true
	case len(letters) >= keyLetters && bytes.HasPrefix(torn, letters):
		// The program breaks it into several lines.
		var l line
		t.decodeRecord(&l, rec, c.table.list, maxCells)
		flags := rec[0] & recordAlt
		a.torn.dropFirst()
		a.keepTorn()
		a.torn.push(t, l.cells[t.cellsBehind(l.cells, len(letters)):], flags)
		return true
	case a.torn.len() <= maxTorn:
		a.torn.push(t, cells, altFlag(alt))
		return false
	}
	a.keepTorn()
	return true
}

// breakOpen ends the open line where the screen no longer goes on with it. When
// the archive has a line that begins so, and the terminal brought it back, or says
// the same not long ago, and a program prints again what it has, there is nothing
// to keep.
func (a *archive) breakOpen(t *Terminal) {
	a.letters = t.appendCellLetters(a.letters[:0], a.open.cells)
	switch {
	case a.open.known != 0:
		for id := a.next; id > max(a.oldest(), a.next-min(a.next, reprintInside)); id-- {
			if line, ok := a.lettersOf(id - 1); ok && bytes.HasPrefix(line, a.letters) {
				a.dropOpen()
				return
			}
		}
	case a.reprint.active && a.saidLately(t, a.letters):
		a.dropOpen()
		return
	case a.reprint.active && len(a.letters) > 0:
		a.tear(t)
		return
	}
	a.flush(t)
}

// waiting calls do for every complete line that left the screen and is not yet in
// the archive, oldest first: it may be that the archive has it.
func (a *archive) waiting(do func(c *chunk, i int)) {
	stores := []*lineStore{&a.torn, &a.reprint.lead}
	if a.reprint.leading == 0 {
		stores = stores[:1]
	}
	for _, s := range stores {
		for i := range s.len() {
			do(s.at(i))
		}
	}
}

// recordLetters appends all the letters of a record's text.
func recordLetters(dst, rec []byte) []byte { return appendRecordLetters(dst, rec, math.MaxInt) }
