package vt

// Filling, erasing and scrolling put their work off until somebody looks. Some
// work cannot wait: moving the columns of every row (SL, SR, DECIC, DECDC),
// erasing around protected cells (DECSED), and comparing a line with the archive.
// A few bytes can ask for a million cells or letters of it, over and over, and
// xterm.js hangs on some of that. It is not done beyond what a program's bytes
// have paid for: the sequence has no effect, the line is kept without comparing.
const (
	// cellsPerByte is how many cells a byte pays for: as many as a screen of
	// 80×24 costs, divided by the length of the shortest such sequence, so that
	// a terminal of that size never runs into debt.
	cellsPerByte = 704
	// cellsPerRow is what a row costs besides its cells.
	cellsPerRow = 32
	// cellsAhead is how many cells may be touched in advance: eight times the
	// largest screen.
	cellsAhead = 8 * maxSize * maxSize

	// lettersPerByte and lettersAhead are the same for comparing. A transcript
	// printed again takes a tenth of that.
	lettersPerByte = 400
	lettersAhead   = 2 << 20
)

// An effort is what was done and is not yet paid for. It depends on the bytes
// alone, not on how they were cut into writes.
type effort struct {
	// debt was owed when the terminal had consumed paid bytes.
	debt int
	paid uint64
}

// owed is the debt after consumed bytes.
func (e *effort) owed(consumed uint64, perByte int) int {
	const most = 1 << 30 // pays for everything
	return max(0, e.debt-int(min(consumed-e.paid, most))*perByte)
}

// spend says whether an effort of a size is possible, and takes note of it.
func (e *effort) spend(consumed uint64, size, perByte, ahead int) bool {
	e.debt, e.paid = e.owed(consumed, perByte), consumed
	if e.debt+size > ahead {
		return false
	}
	e.debt += size
	return true
}

// consumed is how many bytes were read since the terminal was made.
func (t *Terminal) consumed() uint64 { return t.fed - uint64(len(t.rest)+t.ahead) }

// affordRows says whether so many rows may be gone through now.
func (t *Terminal) affordRows(rows int) bool {
	return t.touched.spend(t.consumed(), rows*(t.cols+cellsPerRow), cellsPerByte, cellsAhead)
}

// affordLetters says whether so many letters may be compared now.
func (t *Terminal) affordLetters(n int) bool {
	return t.compared.spend(t.consumed(), n, lettersPerByte, lettersAhead)
}
