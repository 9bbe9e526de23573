package vt

// Resize gives the screen a new size, clamped to 2–1000 columns and 1–1000 rows
// (New alike), and rewraps the main screen and its scrollback as xterm.js does:
// the lines around the cursor stay as they are, because the program will draw
// them again.
func (t *Terminal) Resize(cols, rows int) {
	cols, rows = clampSize(cols, rows)
	if cols == t.cols && rows == t.rows {
		return
	}
	defer func() {
		if recover() != nil {
			t.cols, t.rows = cols, rows
			t.fault()
		}
	}()
	oldCols := t.cols
	t.inRun = false
	t.resizeMain(cols, rows)
	t.resizeAlt(cols, rows)
	t.cols, t.rows = cols, rows
	for _, s := range []*screen{t.main, t.alt} {
		s.tabs.setup(cols, cols)
	}
	if cols != oldCols {
		t.sweep()
	}
}

func clampSize(cols, rows int) (int, int) {
	return max(minCols, min(cols, maxSize)), max(1, min(rows, maxSize))
}

func (t *Terminal) resizeMain(cols, rows int) {
	t.endOpen()
	s := t.main
	list := s.list()
	ybase := func() int { return t.missing + t.scrollback.len() }

	addToY := 0
	for n := t.rows; n < rows; n++ {
		if ybase() > 0 && len(list) <= s.y+addToY+1 {
			list = append([]*line{t.pullScrollback()}, list...)
			addToY++
		} else {
			list = append(list, new(line))
		}
	}
	t.markKnown(list, addToY)
	for n := t.rows; n > rows; n-- {
		if len(list) > s.y+1 {
			list = list[:len(list)-1]
			continue
		}
		// The cursor's line is the last one: the top goes into the history.
		var next *line
		if len(list) > 1 {
			next = list[1]
		}
		t.archive.push(t, list[0], next, false)
		t.growScrollback(list[0])
		list = list[1:]
		s.y--
	}
	s.rows, s.base = list, 0
	if over := ybase() - t.scrollbackMax; over > 0 {
		t.trimScrollback(over)
		s.savedY = max(s.savedY-over, 0)
	}
	s.x = min(s.x, cols-1)
	s.y = min(s.y, rows-1)
	s.y += addToY
	s.savedX = min(s.savedX, cols-1)
	s.top, s.bottom = 0, rows-1

	if cols != t.cols {
		t.reflow(cols, rows)
	}
	t.reopenArchive(cols)
	t.archive.resized(rows)
}

// growScrollback appends a row without making room; the caller trims.
func (t *Terminal) growScrollback(l *line) {
	flags := byte(0)
	if l.wrapped {
		flags = recordWrapped
	}
	t.scrollback.push(t, l.cells, flags)
}

func (t *Terminal) resizeAlt(cols, rows int) {
	s := t.alt
	s.bottom = rows - 1
	if len(s.rows) == 0 {
		return
	}
	list := s.list()
	for _, l := range list {
		switch {
		case cols < t.cols:
			l.long = l.length(t.cols)
		case cols > t.cols:
			l.truncate(cols)
			l.long = 0
		}
	}
	for n := t.rows; n < rows; n++ {
		list = append(list, new(line))
	}
	trimmed := 0
	for n := t.rows; n > rows; n-- {
		if len(list) > trimmed+s.y+1 {
			list = list[:len(list)-1]
		} else {
			trimmed++
		}
	}
	list = list[trimmed:]
	s.savedY = max(s.savedY-trimmed, 0)
	s.rows, s.base = list, 0
	s.x = min(s.x, cols-1)
	s.y = min(s.y, rows-1)
	s.savedX = min(s.savedX, cols-1)
	s.top = 0
}

// reopenArchive makes the archive's open line what stands above the screen of a
// line that goes on at its top.
func (t *Terminal) reopenArchive(cols int) {
	a := &t.archive
	if t.scrollbackMax == 0 || a.openAlt && len(a.open.cells) > 0 {
		return
	}
	a.dropOpen()
	a.openAlt = false
	if a.limit == 0 || !t.main.row(0).wrapped {
		return
	}
	n := 0
	for n < t.scrollback.len() && n < maxCells/cols {
		c, i := t.scrollback.fromEnd(n)
		n++
		if c.record(i)[0]&recordWrapped == 0 {
			break
		}
	}
	rows := make([]line, n)
	for i := range rows {
		c, k := t.scrollback.fromEnd(n - 1 - i)
		t.decodeRecord(&rows[i], c.record(k), c.table.list, maxCells)
	}
	for i := range rows {
		next := t.main.row(0)
		if i+1 < n {
			next = &rows[i+1]
		}
		a.extend(&rows[i], next, cols)
	}
	a.open.known = t.main.row(0).known
}
