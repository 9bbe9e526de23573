package vt

import "bytes"

// A program that prints its transcript while it still grows leaves lines out,
// prints others in another order than before, or wraps one elsewhere than the
// archive has it. The places of a reprint follow the archive's order; what is said
// elsewhere in it is looked for in one stream of the letters of its newest lines.

// maxStream bounds that stream, in letters.
const maxStream = 1 << 20

// A letterStream is the letters of lines of the archive that follow each other.
// It holds nothing that the archive does not say, and is made when needed.
type letterStream struct {
	letters []byte
	// starts are where the lines begin in it; the first is that of line from.
	starts []int
	from   LineID
}

func (s *letterStream) end() LineID { return s.from + LineID(len(s.starts)) }

// place is that of an offset.
func (s *letterStream) place(at int) (LineID, int) {
	lo, hi := 0, len(s.starts)
	for hi-lo > 1 {
		if mid := (lo + hi) / 2; s.starts[mid] <= at {
			lo = mid
		} else {
			hi = mid
		}
	}
	return s.from + LineID(lo), at - s.starts[lo]
}

// streamOf makes the stream of the newest lines before end. Lines too long to be
// compared are one byte in it that no text has.
func (a *archive) streamOf(t *Terminal, end LineID) bool {
	s := &a.stream
	if len(s.starts) > 0 && s.end() >= end && s.from >= a.oldest() {
		// Somebody asked for more.
		n := int(end - min(end, s.from))
		if n == 0 {
			return false
		}
		if n < len(s.starts) {
			s.letters, s.starts = s.letters[:s.starts[n]], s.starts[:n]
		}
		return true
	}
	if len(s.starts) > 0 && s.end() <= end && s.end()+reprintWindow > end && s.from >= a.oldest() && len(s.letters) < maxStream {
		return a.extendStream(t, end)
	}
	s.starts, s.letters = s.starts[:0], s.letters[:0]
	s.from = end
	for size := 0; s.from > a.oldest() && end-s.from < reprintWindow; s.from-- {
		c, i := a.store.at(int(s.from - 1 - a.oldest()))
		if size += min(len(c.record(i)), maxCompared); size > maxStream/2 {
			break
		}
	}
	return a.extendStream(t, end)
}

func (a *archive) extendStream(t *Terminal, end LineID) bool {
	s := &a.stream
	for id := s.end(); id < end; id++ {
		c, i := a.store.at(int(id - a.oldest()))
		rec := c.record(i)
		if !t.couldAfford(len(rec)) {
			return false
		}
		s.starts = append(s.starts, len(s.letters))
		if len(rec) > maxCompared {
			s.letters = append(s.letters, 0)
		} else {
			s.letters = recordLetters(s.letters, rec)
		}
	}
	return len(s.starts) > 0
}

// jump looks for these letters anywhere among the newest lines, behind a place
// first, and goes on behind them.
func (a *archive) jump(t *Terminal, p place, letters []byte) (place, bool) {
	if len(letters) < partLetters || len(letters) > maxCompared || !a.streamOf(t, a.reprint.end) {
		return p, false
	}
	s := &a.stream
	if !t.couldAfford(len(s.letters)) {
		return p, false
	}
	from := 0
	if p.id >= s.end() {
		from = len(s.letters)
	} else if p.id >= s.from {
		from = min(s.starts[p.id-s.from]+p.at, len(s.letters))
	}
	at := bytes.Index(s.letters[from:], letters)
	if at >= 0 {
		at += from
	} else if at = bytes.LastIndex(s.letters[:min(from+len(letters), len(s.letters))], letters); at < 0 {
		return p, false
	}
	q := place{start: p.start, skipped: p.lines + p.skipped}
	q.id, q.at = s.place(at)
	q, n := a.follow(q, letters)
	return q, n == len(letters)
}

// saidLately says whether the archive's newest lines say these letters.
func (a *archive) saidLately(t *Terminal, letters []byte) bool {
	if len(letters) < partLetters || !a.streamOf(t, a.next) {
		return false
	}
	s := &a.stream
	from := 0
	if n := len(s.starts) - reprintInside; n > 0 {
		from = s.starts[n]
	}
	return t.couldAfford(len(s.letters)-from) && bytes.Contains(s.letters[from:], letters)
}

// elsewhere adds places where the archive says a line that it does not say at one
// of those before: as a whole, or its beginning and its end. When only the end is
// there, which is what it goes on with, new is how many letters come before that.
func (a *archive) elsewhere(t *Terminal, after, before []place, letters []byte) (places []place, new int) {
	if q, ok := a.jump(t, a.reprint.best(), letters); ok {
		return addPlace(after, q), 0
	}
	for _, p := range before[:min(maxElsewhere, len(before))] {
		if q, n := a.follow(p, letters); n > 0 && q.at == 0 {
			if q, ok := a.jump(t, q, letters[n:]); ok {
				return addPlace(after, q), 0
			}
		}
	}
	for _, p := range before[:min(maxElsewhere, len(before))] {
		n, q := a.overlap(t, p, letters)
		if n == 0 {
			continue
		}
		if _, ok := a.jump(t, p, letters[:n]); ok {
			return addPlace(after, q), 0
		}
		if len(letters)-n >= partLetters {
			return addPlace(after, q), n
		}
	}
	return after, 0
}

// maxElsewhere is how many places are looked behind so.
const maxElsewhere = 4

// overlap is how many of a line's letters come before those that the archive goes
// on with at a place, and that place; 0 where it does not.
func (a *archive) overlap(t *Terminal, p place, letters []byte) (int, place) {
	if !t.couldAfford(2 * len(letters)) {
		return 0, p
	}
	for n := 1; n+skipLetters <= len(letters); n++ {
		if q, k := a.follow(p, letters[n:]); k == len(letters)-n {
			return n, q
		}
	}
	return 0, p
}

// couldAfford is affordLetters for what may as well not be done: it leaves half of
// what may be owed to comparing itself.
func (t *Terminal) couldAfford(n int) bool {
	if t.compared.owed(t.consumed(), lettersPerByte)+n > lettersAhead/2 {
		return false
	}
	return t.affordLetters(n)
}

// wordEnd is the first cell from n on that begins a word, or the line's end.
func (t *Terminal) wordEnd(cells []cell, n int) int {
	letter := func(c cell) bool { return len(appendLetters(nil, t.appendCellText(nil, c))) > 0 }
	for n > 0 && n < len(cells) && letter(cells[n-1]) {
		n++
	}
	return n
}
