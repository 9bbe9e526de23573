package vt

// Rewrapping is a copy of xterm.js's BufferReflow and of the parts of Buffer
// around it, down to the order of its steps: where it moves the cursor or drops
// a line, so must we. It works on the list of all rows, scrollback first.
// Scrollback rows are decoded only when they take part.

// A reflowRow is one row of the list.
type reflowRow struct {
	line *line
	// record stands for the row until it is decoded.
	record []byte
	chunk  *chunk
}

func (r *reflowRow) wrapped() bool {
	if r.line != nil {
		return r.line.wrapped
	}
	return r.record[0]&recordWrapped != 0
}

func (r *reflowRow) get(t *Terminal) *line {
	if r.line == nil {
		r.line = new(line)
		t.decodeRecord(r.line, r.record, r.chunk.table.list, maxCells)
	}
	return r.line
}

func (r *reflowRow) textLength(t *Terminal, scratch *line) int {
	if r.line != nil {
		return r.line.textLength()
	}
	if r.record[0]&recordPlain != 0 {
		return len(r.record) - 1
	}
	t.decodeRecord(scratch, r.record, r.chunk.table.list, maxCells)
	return scratch.textLength()
}

// A reflow is one rewrapping under way.
type reflow struct {
	t                *Terminal
	list             []*reflowRow
	missing          int
	ybase, y, savedY int
	oldCols, newCols int
	rows, maxLength  int
	scratch          line
	// known are the marks of the logical lines that do not end above the screen.
	known []uint64
}

func (t *Terminal) reflow(cols, rows int) {
	s := t.main
	f := &reflow{
		t: t, missing: t.missing,
		ybase: t.missing + t.scrollback.len(), y: s.y, savedY: s.savedY,
		oldCols: t.cols, newCols: cols,
		rows: rows, maxLength: rows + t.scrollbackMax,
	}
	f.list = make([]*reflowRow, 0, t.scrollback.len()+rows)
	block := make([]reflowRow, t.scrollback.len()+rows)
	skip := t.scrollback.head
	for _, c := range t.scrollback.chunks {
		for i := skip; i < len(c.ends); i++ {
			r := &block[len(f.list)]
			r.record, r.chunk = c.record(i), c
			f.list = append(f.list, r)
		}
		skip = 0
	}
	for _, l := range s.list() {
		r := &block[len(f.list)]
		r.line = l
		f.list = append(f.list, r)
	}
	above := f.complete()
	f.known = f.marks(above)
	trimmed := 0
	if cols > t.cols {
		f.larger()
	} else {
		trimmed = f.smaller()
		f.cut()
	}
	f.store(above, trimmed)
}

// complete counts the logical lines that end above the screen.
func (f *reflow) complete() int {
	n := 0
	top := f.ybase - f.missing
	for i := 0; i < top && i < len(f.list); i++ {
		if i+1 < len(f.list) && f.list[i+1].wrapped() {
			continue
		}
		n++
	}
	return n
}

// length is the number of rows, the missing ones included.
func (f *reflow) length() int { return len(f.list) + f.missing }

// wrappedLength is the number of columns of row i of a logical line that count.
func wrappedLength(rows []*line, i, cols int) int {
	if i == len(rows)-1 {
		return rows[i].textLength()
	}
	last := rows[i].at(cols - 1)
	if !last.hasContent() && last.width() == 1 && rows[i+1].at(0).width() == 2 {
		return cols - 1
	}
	return cols
}

// copyCells copies n cells, empty ones included, from a row of cols columns.
// What is asked for beyond them, the half of a wide character that was cut,
// comes as xterm.js reads it: without width.
func copyCells(dst, src *line, from, to, n, cols int) {
	if n <= 0 || to < 0 || from < 0 {
		return
	}
	have := min(n, max(0, len(src.cells)-from))
	dst.grow(to + have)
	if have > 0 {
		copy(dst.cells[to:to+have], src.cells[from:from+have])
	}
	dst.fillRange(to+have, to+n, 0)
	for x := max(from, cols); x < from+n; x++ {
		dst.set(to+x-from, wideTail)
	}
	dst.special = dst.special || src.special
}

func (f *reflow) larger() {
	cursor := f.ybase + f.y - f.missing
	var kept []*reflowRow
	removed := 0
	flushed := 0
	for y := 0; y < len(f.list)-1; y++ {
		if !f.list[y+1].wrapped() {
			continue
		}
		end := y + 1
		for end < len(f.list) && f.list[end].wrapped() {
			end++
		}
		if cursor >= y && cursor < end {
			y = end - 1
			continue
		}
		rows := make([]*line, end-y)
		for i := range rows {
			rows[i] = f.list[y+i].get(f.t)
		}
		drop := f.unwrap(rows)
		if drop > 0 {
			kept = append(kept, f.list[flushed:end-drop]...)
			flushed = end
			removed += drop
		}
		y = end - 1
	}
	if removed == 0 {
		return
	}
	f.list = append(kept, f.list[flushed:]...)
	for range removed {
		if f.ybase == 0 {
			if f.y > 0 {
				f.y--
			}
			if f.length() < f.rows {
				f.list = append(f.list, &reflowRow{line: new(line)})
			}
		} else {
			f.ybase--
		}
	}
	f.savedY = max(f.savedY-removed, 0)
}

// unwrap moves the cells of a logical line into as few rows as it now needs and
// returns how many rows at its end are no longer used.
func (f *reflow) unwrap(rows []*line) int {
	destLine, destCol := 0, wrappedLength(rows, 0, f.oldCols)
	srcLine, srcCol := 1, 0
	// Halves of wide characters can make the rows look longer than they are;
	// xterm.js throws where they do not fit.
	for srcLine < len(rows) && destLine < len(rows) {
		srcLength := wrappedLength(rows, srcLine, f.oldCols)
		n := min(srcLength-srcCol, f.newCols-destCol)
		copyCells(rows[destLine], rows[srcLine], srcCol, destCol, n, f.newCols)
		destCol += n
		if destCol == f.newCols {
			destLine++
			destCol = 0
		}
		srcCol += n
		if srcCol == srcLength {
			srcLine++
			srcCol = 0
		}
		if destCol == 0 && destLine != 0 && destLine < len(rows) {
			if prev := rows[destLine-1]; prev.at(f.newCols-1).width() == 2 {
				copyCells(rows[destLine], prev, f.newCols-1, destCol, 1, f.newCols)
				destCol++
				prev.set(f.newCols-1, 0)
			}
		}
	}
	if destLine < len(rows) {
		rows[destLine].replaceCells(destCol, f.newCols, 0, f.newCols)
	}
	drop := 0
	for i := len(rows) - 1; i > 0; i-- {
		if i <= destLine && rows[i].textLength() != 0 {
			break
		}
		drop++
	}
	return drop
}

// newLengths is how many cells each row of a logical line gets.
func (f *reflow) newLengths(rows []*line) []int {
	needed := 0
	for i := range rows {
		needed += wrappedLength(rows, i, f.oldCols)
	}
	var lengths []int
	srcCol, srcLine, available := 0, 0, 0
	for available < needed {
		if needed-available < f.newCols {
			lengths = append(lengths, needed-available)
			break
		}
		srcCol += f.newCols
		if old := wrappedLength(rows, srcLine, f.oldCols); srcCol > old {
			srcCol -= old
			srcLine++
		}
		n := f.newCols
		if srcLine < len(rows) && rows[srcLine].at(srcCol-1).width() == 2 {
			srcCol--
			n--
		}
		lengths = append(lengths, n)
		available += n
	}
	return lengths
}

// An insertion is rows that come to stand before row start of the list.
type insertion struct {
	start int
	rows  []*reflowRow
}

// smaller rewraps into narrower rows and returns how many logical lines fell
// off the top.
func (f *reflow) smaller() int {
	var inserts []insertion
	inserted := 0
	// Rows that are cut off the list's end on the way still take part, as in
	// xterm.js: what they need more of is inserted, they are gone.
	all := f.list
	for y := len(all) - 1; y >= 0; y-- {
		if r := all[y]; !r.wrapped() && r.textLength(f.t, &f.scratch) <= f.newCols {
			continue
		}
		end := y + 1
		for all[y].wrapped() && y > 0 {
			y--
		}
		// The cursor moves while lines below it are rewrapped; xterm.js looks
		// at where it is by now.
		if cursor := f.ybase + f.y - f.missing; cursor >= y && cursor < end {
			continue
		}
		rows := make([]*line, end-y)
		for i := range rows {
			rows[i] = all[y+i].get(f.t)
		}
		lengths := f.newLengths(rows)
		add := len(lengths) - len(rows)
		trimmed := max(0, f.length()-f.maxLength+add)
		if f.ybase == 0 && f.y != f.length()-1 {
			trimmed = max(0, f.y-f.maxLength+add)
		}
		if add > 0 {
			fresh := make([]*reflowRow, add)
			for i := range fresh {
				fresh[i] = &reflowRow{line: &line{wrapped: true}}
				rows = append(rows, fresh[i].line)
			}
			inserts = append(inserts, insertion{end, fresh})
			inserted += add
		}
		f.rewrap(rows, lengths, end-y)
		for n := add - trimmed; n > 0; n-- {
			if f.ybase == 0 {
				if f.y < f.rows-1 {
					f.y++
					f.list = f.list[:len(f.list)-1]
				} else {
					f.ybase++
				}
			} else if f.ybase < min(f.maxLength, f.length()+inserted)-f.rows {
				f.ybase++
			}
		}
		f.savedY = min(f.savedY+add, f.ybase+f.rows-1)
	}
	if len(inserts) == 0 {
		return 0
	}
	return f.insert(inserts, inserted)
}

// rewrap moves cells backwards, from the end of the logical line, into rows of
// the given lengths. old is the number of rows that hold them now.
func (f *reflow) rewrap(rows []*line, lengths []int, old int) {
	defer func() {
		for i := range min(len(rows), len(lengths)) {
			if lengths[i] < f.newCols {
				rows[i].set(lengths[i], 0)
			}
		}
	}()
	if len(lengths) == 0 {
		return
	}
	destLine := len(lengths) - 1
	destCol := lengths[destLine]
	srcLine := old - 1
	srcCol := rows[srcLine].textLength()
	for srcLine >= 0 && destLine >= 0 && destLine < len(rows) {
		n := min(srcCol, destCol)
		copyCells(rows[destLine], rows[srcLine], srcCol-n, destCol-n, n, f.oldCols)
		destCol -= n
		if destCol == 0 {
			if destLine--; destLine < 0 {
				break
			}
			destCol = lengths[destLine]
		}
		srcCol -= n
		if srcCol == 0 {
			srcLine--
			srcCol = wrappedLength(rows, max(srcLine, 0), f.oldCols)
		}
	}
}

// insert puts the new rows into the list and drops what passes its bound from
// the top.
func (f *reflow) insert(inserts []insertion, inserted int) int {
	total := f.length() + inserted
	// The list was cut at the end while rows were counted in; rows that belong
	// behind the cut go to the end.
	out := make([]*reflowRow, 0, len(f.list)+inserted)
	at := 0
	for i := len(inserts) - 1; i >= 0; i-- {
		start := min(inserts[i].start, len(f.list))
		out = append(out, f.list[at:start]...)
		out = append(out, inserts[i].rows...)
		at = start
	}
	f.list = append(out, f.list[at:]...)
	over := total - f.maxLength
	if over <= 0 {
		return 0
	}
	gone := min(over, f.missing)
	f.missing -= gone
	trimmed := 0
	for over -= gone; over > 0 && len(f.list) > 0; over-- {
		f.list = f.list[1:]
		if len(f.list) > 0 && !f.list[0].wrapped() {
			trimmed++
		}
	}
	return trimmed
}

// cut drops what stands right of the new width, in rows that were not rewrapped.
func (f *reflow) cut() {
	for _, r := range f.list {
		if r.line == nil {
			if recordWidth(r.record) <= f.newCols {
				continue
			}
			r.get(f.t)
		}
		r.line.truncate(f.newCols)
	}
}

// store takes the list apart into scrollback and screen, and gives the archive
// the lines that came to stand above the screen.
func (f *reflow) store(above, trimmed int) {
	t, s := f.t, f.t.main
	f.missing = min(f.missing, f.ybase)
	for len(f.list) < f.ybase-f.missing+f.rows {
		f.list = append([]*reflowRow{{line: new(line)}}, f.list...)
		trimmed--
	}
	f.settleArchive(above - trimmed)

	t.scrollback.detach()
	split := f.ybase - f.missing
	for _, r := range f.list[:split] {
		if r.line != nil {
			t.growScrollback(r.line)
		} else {
			t.scrollback.pushCopy(r.record, r.chunk.table)
		}
	}
	rows := f.list[split:]
	s.rows, s.base = make([]*line, f.rows), 0
	for i := range s.rows {
		s.rows[i] = rows[i].get(t)
	}
	s.y, s.savedY = f.y, f.savedY
	t.missing = f.missing
	t.boundScrollback()
}
