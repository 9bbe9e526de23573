package vt

import (
	"encoding/binary"
	"unicode/utf8"
)

// A recordText walks through the text of a record without making cells of it.
type recordText struct{ rest []byte }

// A textPiece is a part of a record's text.
type textPiece struct {
	text []byte
	// spaces, when not 0, is how many spaces the text is; text is nil then.
	spaces int
	// runes are its characters, cells its columns. Each character has a column of
	// its own unless shared says that all of them are in all columns.
	runes, cells int
	shared       bool
}

// textOf begins a walk through a record.
func textOf(rec []byte) recordText {
	if len(rec) == 0 {
		return recordText{}
	}
	if rec[0]&recordPlain != 0 {
		return recordText{rec[1:]}
	}
	rest := rec[1:]
	_, n := binary.Uvarint(rest)
	rest = rest[max(n, 0):]
	runs, n := binary.Uvarint(rest)
	rest = rest[max(n, 0):]
	for ; runs > 0 && len(rest) > 0; runs-- {
		for range 2 { // style, cells
			_, n := binary.Uvarint(rest)
			if n <= 0 {
				return recordText{}
			}
			rest = rest[n:]
		}
	}
	return recordText{rest}
}

// next returns the next piece, false at the end.
func (w *recordText) next() (p textPiece, ok bool) {
	if len(w.rest) == 0 {
		return p, false
	}
	if n := printableRun(w.rest); n > 0 {
		return w.take(textPiece{runes: n, cells: n}, 0, n), true
	}
	switch w.rest[0] {
	case markEmpty:
		return w.take(textPiece{spaces: 1, runes: 1, cells: 1}, 1, 0), true
	case markTail:
		return w.take(textPiece{cells: 1}, 1, 0), true
	case markEmpties:
		n, size, ok := w.number(1)
		if !ok {
			return p, false
		}
		return w.take(textPiece{spaces: n, runes: n, cells: n}, size, 0), true
	case markRune, markCluster:
		if len(w.rest) < 3 {
			return p, false
		}
		p.cells, p.shared = 1, true
		if w.rest[1]&markWithTail != 0 {
			p.cells = 2
		}
		if w.rest[0] == markRune {
			p.runes = 1
			_, size := utf8.DecodeRune(w.rest[2:])
			wide := w.rest[1] == 2
			p = w.take(p, 2, size)
			if wide && len(w.rest) > 0 && w.rest[0] == markTail {
				w.rest = w.rest[1:]
				p.cells = 2
			}
			return p, true
		}
		n, size, ok := w.number(2)
		if !ok || n > len(w.rest)-size {
			return p, false
		}
		p.runes = utf8.RuneCount(w.rest[size : size+n])
		return w.take(p, size, n), true
	}
	r, size := utf8.DecodeRune(w.rest)
	p.runes, p.cells, p.shared = 1, 1, true
	if runeWidth(r) == 2 {
		p.cells = 2
	}
	return w.take(p, 0, size), true
}

// take finishes a piece that has n bytes of text behind skip others.
func (w *recordText) take(p textPiece, skip, n int) textPiece {
	if p.spaces == 0 {
		p.text = w.rest[skip : skip+n]
	}
	w.rest = w.rest[skip+n:]
	return p
}

// number reads a uvarint at an index; size is the index behind it.
func (w *recordText) number(at int) (n, size int, ok bool) {
	v, used := binary.Uvarint(w.rest[at:])
	if used <= 0 || v > maxCells {
		return 0, 0, false
	}
	return int(v), at + used, true
}

// appendRecordText appends a record's text without trailing spaces, as
// appendPlain does with cells.
func appendRecordText(dst, rec []byte) []byte {
	start := len(dst)
	w := textOf(rec)
	for p, ok := w.next(); ok; p, ok = w.next() {
		for range p.spaces {
			dst = append(dst, ' ')
		}
		dst = append(dst, p.text...)
	}
	return dst[:start+len(trimSpaces(dst[start:]))]
}

// recordCells is where the characters [from, to) of a record's text stand: its
// first column and the one behind the last. Characters that share a cell are
// all of it.
func recordCells(rec []byte, s span) (first, end int) {
	w := textOf(rec)
	runes, cells := 0, 0
	for p, ok := w.next(); ok && runes < s.to; p, ok = w.next() {
		if p.runes > 0 {
			if s.from >= runes && s.from < runes+p.runes {
				first = cells
				if !p.shared {
					first += s.from - runes
				}
			}
			end = cells + p.cells
			if !p.shared {
				end = cells + min(p.runes, s.to-runes)
			}
		}
		runes += p.runes
		cells += p.cells
	}
	return first, end
}
