package vt

// scrollbackBytes bounds the scrollback's memory whatever its lines look like.
// It is beyond what 10,000 lines of any sane program need.
const scrollbackBytes = 16 << 20

// pushHistory moves the main screen's top row into both histories. The caller
// reuses the row.
func (t *Terminal) pushHistory() {
	s := t.main
	first, next := s.live(0), s.liveOrNil(1)
	if t.scrollbackMax == 0 {
		first.flatten()
		t.archive.push(t, first, next, false)
		return
	}
	if t.missing+t.scrollback.len() >= t.scrollbackMax {
		t.trimScrollback(1)
	}
	flags := byte(0)
	if first.wrapped {
		flags = recordWrapped
	}
	rec := t.scrollback.pushLine(t, first, flags)
	if first.wrapped || first.known != 0 || !t.archive.pushRecord(rec, t.scrollback.last().table, next) {
		first.flatten()
		t.archive.push(t, first, next, false)
	}
	t.boundScrollback()
}

// boundScrollback gives up lines that take too much memory. They count as
// missing: what depends on the number of lines above the screen goes on as if
// they were there.
func (t *Terminal) boundScrollback() {
	for t.scrollback.memory() > scrollbackBytes && len(t.scrollback.chunks) > 1 {
		t.missing += t.scrollback.dropFirstChunk()
	}
}

// trimScrollback forgets the oldest n lines.
func (t *Terminal) trimScrollback(n int) {
	gone := min(n, t.missing)
	t.missing -= gone
	for n -= gone; n > 0 && t.scrollback.len() > 0; n-- {
		t.scrollback.dropFirst()
	}
}

// pullScrollback takes the newest line back out of the scrollback. A missing
// one comes back empty.
func (t *Terminal) pullScrollback() *line {
	l := new(line)
	if t.scrollback.len() > 0 {
		t.scrollback.popLast(t, l)
	} else if t.missing > 0 {
		t.missing--
	}
	return l
}
