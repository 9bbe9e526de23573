package vt

import "strings"

// TextOptions say what Text and ANSI return.
type TextOptions struct {
	// History is how many lines of the archive stand above the screen; < 0
	// means all.
	History int
	// Join puts soft-wrapped rows of the screen together.
	Join bool
	// Rows keeps empty rows at the screen's end; else they are left out.
	Rows bool
}

// Text returns the screen as text, a line break behind every line.
func (t *Terminal) Text(o TextOptions) string {
	return t.render(o, func(b *strings.Builder, cells []cell) {
		b.Write(t.appendPlain(nil, cells))
	})
}

// ANSI returns the screen as text with SGR sequences and nothing else.
func (t *Terminal) ANSI(o TextOptions) string {
	return t.render(o, func(b *strings.Builder, cells []cell) {
		b.Write(t.appendStyledText(nil, cells))
	})
}

// appendStyledText appends cells with SGR; the default style is in force before
// and after.
func (t *Terminal) appendStyledText(dst []byte, cells []cell) []byte {
	n := len(cells)
	for n > 0 && cells[n-1] == 0 {
		n--
	}
	current := uint32(0)
	for _, c := range cells[:n] {
		if id := c.style(); id != current {
			dst = appendSGR(dst, t.styles.list[id])
			current = id
		}
		switch {
		case c.hasContent():
			dst = t.appendCellText(dst, c)
		case c.width() != 0:
			dst = append(dst, ' ')
		}
	}
	if current != 0 {
		dst = append(dst, "\x1b[0m"...)
	}
	return dst
}

func (t *Terminal) render(o TextOptions, write func(*strings.Builder, []cell)) string {
	var b strings.Builder
	a := &t.archive
	history := a.store.len()
	if o.History >= 0 {
		history = min(o.History, history)
	}
	var l line
	for i := a.store.len() - history; i < a.store.len(); i++ {
		c, k := a.store.at(i)
		t.decodeRecord(&l, c.record(k), c.table.list, maxCells)
		write(&b, l.cells)
		b.WriteByte('\n')
	}
	if o.History != 0 && len(a.open.cells) > 0 {
		write(&b, a.open.cells)
		if !o.Join || !t.cur.row(0).wrapped {
			b.WriteByte('\n')
		}
	}
	end := t.rows
	for !o.Rows && end > 0 && len(t.appendPlain(nil, t.visible(t.cur.row(end-1)))) == 0 {
		end--
	}
	var joined []cell
	for y := 0; y < end; y++ {
		cells := t.visible(t.cur.row(y))
		if o.Join && y+1 < end && t.cur.row(y+1).wrapped {
			width := t.cols
			if last := t.cur.row(y).at(width - 1); !last.hasContent() && last.width() == 1 && t.cur.row(y+1).at(0).width() == 2 {
				width--
			}
			at := len(joined)
			joined = append(joined, make([]cell, width)...)
			copy(joined[at:], cells)
			continue
		}
		if len(joined) > 0 {
			cells = append(joined, cells...)
			joined = joined[:0]
		}
		write(&b, cells)
		b.WriteByte('\n')
	}
	t.sweep()
	return b.String()
}
