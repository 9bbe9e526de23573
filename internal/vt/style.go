package vt

// The bits of a style's fg, bg and ext are those of xterm.js, so that its
// quirks (DECSC saves fg and bg only, SGR 59) follow by themselves.
const (
	colorMode    uint32 = 0x3000000
	colorDefault uint32 = 0
	color16      uint32 = 0x1000000
	color256     uint32 = 0x2000000
	colorRGB     uint32 = 0x3000000
	colorValue   uint32 = 0xffffff
	colorMask    uint32 = colorMode | colorValue

	fgInverse   uint32 = 0x4000000
	fgBold      uint32 = 0x8000000
	fgUnderline uint32 = 0x10000000
	fgBlink     uint32 = 0x20000000
	fgInvisible uint32 = 0x40000000
	fgStrike    uint32 = 0x80000000

	bgItalic    uint32 = 0x4000000
	bgDim       uint32 = 0x8000000
	bgExtended  uint32 = 0x10000000
	bgProtected uint32 = 0x20000000
	bgOverline  uint32 = 0x40000000

	extUnderline      uint32 = 0x1c000000
	extUnderlineShift int    = 26
)

// maxURI bounds a hyperlink's target; longer ones are not links.
const maxURI = 4096

// A link is the target of an OSC 8 hyperlink. Links with equal id and target
// are one.
type link struct{ id, uri string }

// A style is how a cell is drawn. Without bgExtended, ext and link are zero.
type style struct {
	fg, bg, ext uint32
	link        *link
}

// A pen is the style of the next character. Unlike a style it may carry ext
// and link that are not in force (bgExtended unset).
type pen style

func (p pen) style() style {
	s := style(p)
	if s.bg&bgExtended == 0 {
		s.ext = 0
		s.link = nil
	}
	return s
}

// updateExtended sets bgExtended as xterm.js does: a link or an underline style
// counts, an underline colour alone does not.
func (p *pen) updateExtended() {
	if p.ext&extUnderline != 0 || p.link != nil {
		p.bg |= bgExtended
	} else {
		p.bg &^= bgExtended
	}
}

// styles interns styles; id 0 is the default style.
type styles struct {
	list  []style
	index map[style]uint32
	limit int
	// recent are ids by a hash of their styles, a cache in front of the map.
	recent [512]uint32
	// generation changes whenever ids do.
	generation uint32
	// protected says that some style protects cells (DECSCA): without one,
	// erasing what is not protected is erasing.
	protected bool
}

func newStyles(generation uint32) styles {
	return styles{list: []style{{}}, limit: minInterned, generation: generation}
}

// minInterned is how many styles or clusters are kept before it is worth looking
// for unused ones.
const minInterned = 1024

// reset forgets all styles. It keeps the memory of a few.
func (k *styles) reset() {
	if len(k.list) == 1 {
		return
	}
	if len(k.list) > 64 {
		*k = newStyles(k.generation + 1)
		return
	}
	clear(k.list[1:])
	clear(k.index)
	*k = styles{list: k.list[:1], index: k.index, limit: minInterned, generation: k.generation + 1}
}

func (k *styles) intern(s style) uint32 {
	if s == (style{}) {
		return 0
	}
	slot := &k.recent[recentSlot(s.fg, s.bg, s.ext)]
	if int(*slot) < len(k.list) && k.list[*slot] == s {
		return *slot
	}
	id, ok := k.index[s]
	if !ok {
		if k.index == nil {
			k.index = make(map[style]uint32)
		}
		id = uint32(len(k.list))
		k.list = append(k.list, s)
		k.index[s] = id
		k.protected = k.protected || s.bg&bgProtected != 0
	}
	*slot = id
	return id
}

// penStyle is the id of the pen's style.
func (t *Terminal) penStyle() uint32 {
	if t.penStale {
		t.findPen()
	}
	return t.penID
}

func (t *Terminal) findPen() {
	t.penStale = false
	if t.pen.fg|t.pen.bg == 0 {
		t.penID = 0
		return
	}
	if t.pen.bg&bgExtended == 0 {
		// Without link and underline, most are among the recent ones.
		k := &t.styles
		if id := k.recent[recentSlot(t.pen.fg, t.pen.bg, 0)]; int(id) < len(k.list) {
			if s := &k.list[id]; s.fg == t.pen.fg && s.bg == t.pen.bg {
				t.penID = id
				return
			}
		}
	}
	t.penID = t.styles.intern(t.pen.style())
}

// recentSlot is a style's place among the recent ones.
func recentSlot(fg, bg, ext uint32) uint32 {
	return (fg*0x9e3779b1 ^ bg*0x85ebca77 ^ ext*0xc2b2ae3d) >> 23
}

// eraseStyle is the id of the style of erased cells: the pen's background.
func (t *Terminal) eraseStyle() uint32 {
	bg := t.pen.bg & colorMask
	if bg == 0 {
		return 0
	}
	return t.styles.intern(style{bg: bg})
}

// maxLinks bounds the links that a later OSC 8 can share; cells keep their own.
const maxLinks = 1024

func (t *Terminal) internLink(id, uri string) *link {
	key := link{id, uri}
	if l, ok := t.links[key]; ok {
		return l
	}
	if t.links == nil || len(t.links) >= maxLinks {
		t.links = make(map[link]*link)
	}
	l := &link{id, uri}
	t.links[key] = l
	return l
}

// boundStyles sweeps where a program has used too many styles.
func (t *Terminal) boundStyles() {
	if len(t.styles.list) > t.styles.limit {
		t.sweep()
	}
}

// sweep forgets styles and clusters that no cell uses any more. It runs when a
// table passed its limit and sets the next limit to twice what is in use, so
// its cost is spread over the interning that made it necessary.
func (t *Terminal) sweep() {
	if len(t.styles.list) <= t.styles.limit && len(t.clusters.text) <= t.clusters.limit {
		return
	}
	oldStyles, oldText := t.styles.list, t.clusters.text
	newStyles := newStyles(t.styles.generation + 1)
	newClusters := clusters{}
	const unset = ^uint32(0)
	styleMap := make([]uint32, len(oldStyles))
	clusterMap := make([]uint32, len(oldText))
	for i := range styleMap {
		styleMap[i] = unset
	}
	for i := range clusterMap {
		clusterMap[i] = unset
	}
	renumber := func(c cell) cell {
		id := c.style()
		if styleMap[id] == unset {
			styleMap[id] = newStyles.intern(oldStyles[id])
		}
		c = c.restyle(styleMap[id])
		if c.isCluster() {
			k := c.number()
			if clusterMap[k] == unset {
				clusterMap[k] = newClusters.intern(oldText[k])
			}
			c = c&^cellRune | cell(clusterMap[k])
		}
		return c
	}
	lines := []*line{&t.archive.open}
	for _, s := range []*screen{t.main, t.alt} {
		for y := range s.rows {
			lines = append(lines, s.live(y))
		}
	}
	for _, l := range lines {
		if l.rest != 0 {
			l.rest = renumber(l.rest)
		}
		for i, c := range l.cells {
			if c != 0 {
				l.cells[i] = renumber(c)
			}
		}
	}
	// Looking at a large screen is worth it less often.
	least := max(minInterned, t.cols*t.rows/64)
	newStyles.limit = max(least, 2*len(newStyles.list))
	newClusters.limit = max(least, 2*len(newClusters.text))
	t.styles, t.clusters = newStyles, newClusters
	t.penStale = true
}
