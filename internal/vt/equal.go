package vt

import "fmt"

// Equal says whether two terminals show the same and will go on alike: size,
// cells, attributes, wrap flags, cursor, modes, parser. The histories may
// differ in length.
func (t *Terminal) Equal(o *Terminal) bool { return t.Diff(o) == "" }

// Diff describes the first difference that Equal sees, "" when there is none.
func (t *Terminal) Diff(o *Terminal) string {
	if t.cols != o.cols || t.rows != o.rows {
		return fmt.Sprintf("size %dx%d, other %dx%d", t.cols, t.rows, o.cols, o.rows)
	}
	if (t.cur == t.alt) != (o.cur == o.alt) {
		return fmt.Sprintf("alternate screen %t, other %t", t.cur == t.alt, o.cur == o.alt)
	}
	if d := t.diffScreen(o, "main", t.main, o.main); d != "" {
		return d
	}
	if d := t.diffScreen(o, "alternate", t.alt, o.alt); d != "" {
		return d
	}
	if t.ybaseMain() != o.ybaseMain() {
		return fmt.Sprintf("rows above the screen %d, other %d", t.ybaseMain(), o.ybaseMain())
	}
	if t.modes != o.modes {
		return fmt.Sprintf("modes %+v, other %+v", t.modes, o.modes)
	}
	if !sameStyle(style(t.pen), style(o.pen)) {
		return fmt.Sprintf("pen %+v, other %+v", t.pen, o.pen)
	}
	if t.charset != o.charset || t.glevel != o.glevel || t.gsets != o.gsets {
		return fmt.Sprintf("charsets %d %d %d, other %d %d %d", t.charset, t.glevel, t.gsets, o.charset, o.glevel, o.gsets)
	}
	if t.lastWidth != o.lastWidth || t.inRun != o.inRun {
		return fmt.Sprintf("last character %d %t, other %d %t", t.lastWidth, t.inRun, o.lastWidth, o.inRun)
	}
	if d := t.parser.diff(&o.parser); d != "" {
		return d
	}
	if t.observed != o.observed {
		return fmt.Sprintf("observation %+v, other %+v", t.observed, o.observed)
	}
	if fmt.Sprint(t.titles) != fmt.Sprint(o.titles) {
		return fmt.Sprintf("title stack %q, other %q", t.titles, o.titles)
	}
	return ""
}

func (t *Terminal) ybaseMain() int { return t.missing + t.scrollback.len() }

func sameStyle(a, b style) bool {
	if a.fg != b.fg || a.bg != b.bg || a.ext != b.ext || (a.link == nil) != (b.link == nil) {
		return false
	}
	return a.link == nil || *a.link == *b.link
}

func (t *Terminal) diffScreen(o *Terminal, name string, a, b *screen) string {
	if len(a.rows) != len(b.rows) {
		return fmt.Sprintf("%s screen: %d rows, other %d", name, len(a.rows), len(b.rows))
	}
	for y := range a.rows {
		if d := t.diffRow(o, a.row(y), b.row(y)); d != "" {
			return fmt.Sprintf("%s screen, row %d, %s", name, y, d)
		}
	}
	if len(a.rows) > 0 && (a.x != b.x || a.y != b.y) {
		return fmt.Sprintf("%s screen: cursor %d,%d, other %d,%d", name, a.x, a.y, b.x, b.y)
	}
	if a.top != b.top || a.bottom != b.bottom {
		return fmt.Sprintf("%s screen: region %d–%d, other %d–%d", name, a.top, a.bottom, b.top, b.bottom)
	}
	if a.tabs != b.tabs {
		return name + " screen: tab stops differ"
	}
	if a.savedX != b.savedX || a.savedY != b.savedY || a.savedFg != b.savedFg || a.savedBg != b.savedBg || a.savedCharset != b.savedCharset {
		return fmt.Sprintf("%s screen: saved cursor %d,%d %x %x %d, other %d,%d %x %x %d", name,
			a.savedX, a.savedY, a.savedFg, a.savedBg, a.savedCharset,
			b.savedX, b.savedY, b.savedFg, b.savedBg, b.savedCharset)
	}
	if string(a.keyboard) != string(b.keyboard) {
		return fmt.Sprintf("%s screen: keyboard %d, other %d", name, a.keyboard, b.keyboard)
	}
	return ""
}

func (t *Terminal) diffRow(o *Terminal, a, b *line) string {
	if a.wrapped != b.wrapped {
		return fmt.Sprintf("wrapped %t, other %t", a.wrapped, b.wrapped)
	}
	if a.long != b.long {
		return fmt.Sprintf("length %d, other %d", a.long, b.long)
	}
	for x := range max(len(a.cells), len(b.cells)) {
		c, d := a.at(x), b.at(x)
		if c.width() != d.width() || t.cellText(c) != o.cellText(d) {
			return fmt.Sprintf("column %d: %q width %d, other %q width %d", x, t.cellText(c), c.width(), o.cellText(d), d.width())
		}
		if s, q := t.styles.list[c.style()], o.styles.list[d.style()]; !sameStyle(s, q) {
			return fmt.Sprintf("column %d %q: style %+v, other %+v", x, t.cellText(c), s, q)
		}
	}
	return ""
}

func (p *parser) diff(o *parser) string {
	if p.state != o.state || p.nTail != o.nTail || string(p.tail[:p.nTail]) != string(o.tail[:o.nTail]) {
		return fmt.Sprintf("parser state %d %x, other %d %x", p.state, p.tail[:p.nTail], o.state, o.tail[:o.nTail])
	}
	switch p.state {
	case stGround:
		return ""
	case stOSC, stDCSPass:
		if string(p.text) != string(o.text) || p.overflow != o.overflow {
			return fmt.Sprintf("unfinished string %q, other %q", clip(string(p.text), 80), clip(string(o.text), 80))
		}
		return ""
	}
	if p.collect != o.collect || p.params.n != o.params.n || p.params.subs != o.params.subs ||
		p.params.value != o.params.value && fmt.Sprint(p.params.value[:p.params.n]) != fmt.Sprint(o.params.value[:o.params.n]) {
		return "unfinished sequence differs"
	}
	return ""
}
