package vt

// Filling, erasing and scrolling put their work off until somebody looks. Two
// kinds of sequence cannot: those that move the columns of every row (SL, SR,
// DECIC, DECDC), and erasing around protected cells (DECSED). A few bytes of
// them can touch a million cells, over and over; xterm.js hangs on that. They
// have no effect beyond what a program's bytes have paid for.
const (
	// effortPerByte is how many cells a byte pays for: as many as a screen of
	// 80×24 costs, divided by the length of the shortest such sequence, so that
	// a terminal of that size never runs into debt.
	effortPerByte = 704
	// effortPerRow is what a row costs besides its cells.
	effortPerRow = 32
	// maxEffort is how many cells may be touched in advance: eight times the
	// largest screen.
	maxEffort = 8 * maxSize * maxSize
)

// An effort counts the cells touched and not yet paid for. It depends on the
// bytes alone, not on how they were cut into writes.
type effort struct {
	// fed counts the bytes given to Write, those under way included.
	fed uint64
	// debt was owed when paid bytes had been consumed.
	debt int
	paid uint64
}

// owed is the debt after consumed bytes.
func (e *effort) owed(consumed uint64) int {
	payment := min(consumed-e.paid, maxEffort) * effortPerByte
	return max(0, e.debt-int(payment))
}

// afford says whether so many rows may be gone through now, and takes note.
func (t *Terminal) afford(rows int) bool {
	e := &t.effort
	cells := rows * (t.cols + effortPerRow)
	consumed := e.fed - uint64(len(t.rest))
	e.debt, e.paid = e.owed(consumed), consumed
	if e.debt+cells > maxEffort {
		return false
	}
	e.debt += cells
	return true
}
