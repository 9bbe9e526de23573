package vt

// A resize moves lines over the upper edge of the screen, in both directions.
// Logical lines keep their order and their number, counted from the oldest; by
// that it is known which of them the archive has.

// endOpen ends the open line where what will be rewrapped does not have all of
// it: the screen does not go on with it, or its beginning was erased from the
// scrollback.
func (t *Terminal) endOpen() {
	a := &t.archive
	if a.openAlt || len(a.open.cells) == 0 || t.scrollbackMax == 0 {
		return
	}
	if t.main.row(0).wrapped && !t.scrollback.wrapped(t.scrollback.startOfLast()) {
		return
	}
	if known := a.open.known; known != 0 && t.main.row(0).wrapped {
		// The rest of a line that came back is a line of its own from here on, and
		// the archive has it, if it has the whole.
		end := 0
		var rows []*line
		for end < t.rows && t.main.row(end).wrapped {
			rows = append(rows, t.main.row(end))
			end++
		}
		rest := t.lineCells(nil, rows, t.cols)
		whole := append(append([]cell(nil), a.open.cells...), rest...)
		if textHash(t.appendPlain(nil, whole)) == known {
			a.dropOpen()
			for _, l := range rows {
				l.known = textHash(t.appendPlain(nil, rest))
			}
			return
		}
	}
	a.breakOpen(t)
}

// startOfLast is the record that the newest record's line begins with, or the
// oldest record; -1 without records.
func (s *lineStore) startOfLast() int {
	i := s.len() - 1
	for i > 0 && s.wrapped(i) {
		i--
	}
	return i
}

func (s *lineStore) wrapped(i int) bool {
	if i < 0 {
		return true
	}
	c, k := s.at(i)
	return c.record(k)[0]&recordWrapped != 0
}

// markKnown marks the first n rows of a list, which were taken back from the
// scrollback and stand behind what is still in it.
func (t *Terminal) markKnown(list []*line, n int) {
	if t.archive.limit == 0 {
		return
	}
	for y := 0; y < n; {
		end := y + 1
		for end < len(list) && list[end].wrapped {
			end++
		}
		if end > n {
			// The end of this line was on the screen: the archive does not have it.
			return
		}
		rows := list[y:end]
		if y == 0 {
			rows = append(t.rowsBefore(list[0]), rows...)
		}
		known := t.linesHash(rows, t.cols)
		for _, l := range list[y:end] {
			l.known = known
		}
		y = end
	}
}

// rowsBefore are the rows at the scrollback's end that this row goes on with.
func (t *Terminal) rowsBefore(l *line) []*line {
	if !l.wrapped {
		return nil
	}
	n := 0
	for n < t.scrollback.len() && n < maxCells/t.cols {
		c, i := t.scrollback.fromEnd(n)
		n++
		if c.record(i)[0]&recordWrapped == 0 {
			break
		}
	}
	rows := make([]*line, n)
	for i := range rows {
		c, k := t.scrollback.fromEnd(n - 1 - i)
		rows[i] = new(line)
		t.decodeRecord(rows[i], c.record(k), c.table.list, maxCells)
	}
	return rows
}

// lineCells appends the cells of the logical line that rows are.
func (t *Terminal) lineCells(dst []cell, rows []*line, cols int) []cell {
	for i, l := range rows {
		if i+1 < len(rows) {
			dst = appendJoined(dst, l, rows[i+1], cols)
		} else {
			dst = append(dst, l.cells[:min(len(l.cells), cols)]...)
		}
	}
	return dst
}

// linesHash is the textHash of the logical line that rows are.
func (t *Terminal) linesHash(rows []*line, cols int) uint64 {
	return textHash(t.appendPlain(nil, t.lineCells(nil, rows, cols)))
}

// lineEnd is the index behind the logical line that begins with row y.
func (f *reflow) lineEnd(y int) int {
	for y++; y < len(f.list) && f.list[y].wrapped(); y++ {
	}
	return y
}

// marks are those of the logical lines that do not end above the screen, of
// which above do.
func (f *reflow) marks(above int) []uint64 {
	var known []uint64
	for y, number := 0, 0; y < len(f.list); number++ {
		end := f.lineEnd(y)
		if number >= above {
			known = append(known, f.mark(y, end))
		}
		y = end
	}
	return known
}

// mark is that of the rows [y, end).
func (f *reflow) mark(y, end int) uint64 {
	for ; y < end; y++ {
		if l := f.list[y].line; l != nil && l.known != 0 {
			return l.known
		}
	}
	return 0
}

// settleArchive gives the archive the logical lines that now end above the
// screen and did not before, and marks those that it has and that now do not.
// above is how many ended above the screen before.
func (f *reflow) settleArchive(above int) {
	t := f.t
	a := &t.archive
	if a.limit == 0 {
		return
	}
	top := f.ybase - f.missing
	for y, number := 0, 0; y < len(f.list); number++ {
		end := f.lineEnd(y)
		known := uint64(0)
		if number >= above && number-above < len(f.known) {
			known = f.known[number-above]
		}
		switch {
		case end <= top && number >= above:
			f.archiveLine(y, end, known)
		case end > top && number < above:
			known = t.linesHash(f.rowsOf(y, end), f.newCols)
			fallthrough
		case end > top:
			for i := max(y, top); i < end; i++ {
				f.list[i].get(t).known = known
			}
		}
		y = end
	}
}

func (f *reflow) rowsOf(y, end int) []*line {
	rows := make([]*line, end-y)
	for i := range rows {
		rows[i] = f.list[y+i].get(f.t)
	}
	return rows
}

// archiveLine gives the archive the logical line of the rows [y, end).
func (f *reflow) archiveLine(y, end int, known uint64) {
	t := f.t
	a := &t.archive
	a.flushAlt(t)
	a.dropOpen()
	for i := y; i < end; i++ {
		var next *line
		if i+1 < end {
			next = f.list[i+1].get(t)
		}
		a.extend(f.list[i].get(t), next, f.newCols)
	}
	a.open.known = known
	if len(a.open.cells) == 0 {
		a.commit(t, nil, false, known)
	}
	a.flush(t)
	a.dropOpen()
}
