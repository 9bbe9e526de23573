package vt

import (
	"encoding/binary"
	"unicode/utf8"
)

// A program that prints its transcript again at another width breaks the lines
// elsewhere, indents them differently and draws its boxes as wide as the screen.
// What stays is the sequence of the letters: everything but spaces, box drawing,
// blocks, geometric shapes and Braille (spinners). Comparing looks at letters
// only and does not care where lines end.

// isLetter says whether a character counts when texts are compared.
func isLetter(r rune) bool {
	switch {
	case r <= 0x20, r == 0xa0, r == 0x3000:
		return false
	case r >= 0x2000 && r <= 0x200b, r >= 0x2500 && r <= 0x25ff, r >= 0x2800 && r <= 0x28ff:
		return false
	}
	return true
}

// appendLetters appends the letters of a text.
func appendLetters(dst, text []byte) []byte {
	for i := 0; i < len(text); {
		if b := text[i]; b < utf8.RuneSelf {
			if b > ' ' {
				n := max(1, letterRun(text[i:]))
				dst = append(dst, text[i:i+n]...)
				i += n - 1
			}
			i++
			continue
		}
		r, n := utf8.DecodeRune(text[i:])
		if isLetter(r) {
			dst = append(dst, text[i:i+n]...)
		}
		i += n
	}
	return dst
}

// appendCellLetters appends the letters of cells.
func (t *Terminal) appendCellLetters(dst []byte, cells []cell) []byte {
	for _, c := range cells {
		switch r := c & cellContent; {
		case r < utf8.RuneSelf:
			if r > ' ' {
				dst = append(dst, byte(r))
			}
		case c.isCluster():
			for _, r := range t.clusters.text[c.number()] {
				if isLetter(r) {
					dst = utf8.AppendRune(dst, r)
				}
			}
		case isLetter(rune(r)):
			dst = utf8.AppendRune(dst, rune(r))
		}
	}
	return dst
}

// appendRecordLetters appends the letters of a record's text: all, or so many
// bytes of them at least.
func appendRecordLetters(dst, rec []byte, enough int) []byte {
	if rec[0]&recordPlain != 0 {
		rec = rec[1:]
		for len(dst) < enough && len(rec) > 0 {
			n := min(len(rec), max(16, enough))
			dst = appendLetters(dst, rec[:n])
			rec = rec[n:]
		}
		return dst
	}
	_, rec, _ = uvarint(rec[1:], maxCells)
	runs, rec, _ := uvarint(rec, maxCells)
	for range 2 * runs {
		_, n := binary.Uvarint(rec)
		rec = rec[n:]
	}
	for i := 0; i < len(rec) && len(dst) < enough; {
		switch b := rec[i]; {
		case b == markEmpties:
			_, n := binary.Uvarint(rec[i+1:])
			i += 1 + n
		case b == markRune:
			i += 2
		case b == markCluster:
			_, n := binary.Uvarint(rec[i+2:])
			i += 2 + n
		case b < utf8.RuneSelf:
			if b > ' ' {
				dst = append(dst, b)
			}
			i++
		default:
			r, n := utf8.DecodeRune(rec[i:])
			if isLetter(r) {
				dst = append(dst, rec[i:i+n]...)
			}
			i += n
		}
	}
	return dst
}

// cellsBehind is how many cells hold the first n bytes of a line's letters, and
// the cells without letters behind them.
func (t *Terminal) cellsBehind(cells []cell, n int) int {
	var text, letters []byte
	for i, c := range cells {
		text = t.appendCellText(text[:0], c)
		letters = appendLetters(letters[:0], text)
		if n -= len(letters); n < 0 {
			return i
		}
	}
	return len(cells)
}

const (
	// keyLetters is how many bytes of letters at a line's start its key is of.
	keyLetters = 8
	// maxCompared bounds the records and lines that are compared; longer ones are
	// always kept.
	maxCompared = 8 << 10

	keyNone  = 0 // not asked for yet
	keyBlank = 2 // no letters
	keyLong  = 4 // too long to be compared
)

// letterKey is odd where a line has letters.
func letterKey(letters []byte) uint32 {
	if len(letters) == 0 {
		return keyBlank
	}
	return uint32(textHash(letters[:min(len(letters), keyLetters)])) | 1
}

// textHash is FNV-1a, so that equal terminals have equal states. It is never 0.
func textHash(text []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, b := range text {
		h = (h ^ uint64(b)) * 1099511628211
	}
	if h == 0 {
		return 1
	}
	return h
}

// key is the letterKey of record i, made when it is first asked for.
func (a *archive) key(c *chunk, i int) uint32 {
	if n := len(c.ends) - len(c.keys); n > 0 {
		c.keys = append(c.keys, make([]uint32, n)...)
	}
	if c.keys[i] == keyNone {
		if rec := c.record(i); len(rec) > maxCompared {
			c.keys[i] = keyLong
		} else {
			a.other = appendRecordLetters(a.other[:0], rec, keyLetters)
			c.keys[i] = letterKey(a.other)
		}
	}
	return c.keys[i]
}

// keyOf is the key of a line that is in the archive.
func (a *archive) keyOf(id LineID) uint32 {
	c, i := a.store.at(int(id - a.oldest()))
	return a.key(c, i)
}

// lettersOf are the letters of a line that is in the archive, until the next
// call. ok is false for a line too long to be compared.
func (a *archive) lettersOf(id LineID) (letters []byte, ok bool) {
	c, i := a.store.at(int(id - a.oldest()))
	rec := c.record(i)
	if len(rec) > maxCompared {
		return nil, false
	}
	if len(rec) > maxKnown {
		a.other = appendRecordLetters(a.other[:0], rec, maxCompared)
		return a.other, true
	}
	if a.known == nil {
		a.known = make([]knownLetters, 2*reprintInside)
	}
	k := &a.known[id%LineID(len(a.known))]
	if k.id != id {
		k.id, k.letters = id, appendRecordLetters(k.letters[:0], rec, maxCompared)
	}
	return k.letters, true
}

// knownLetters are the letters of a line that was looked at lately: comparing
// looks at the same few hundred lines again for every line printed.
type knownLetters struct {
	id      LineID
	letters []byte
}

// maxKnown bounds the records that are remembered so.
const maxKnown = 512

func commonPrefix(a, b []byte) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
