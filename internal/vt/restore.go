package vt

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"math"
	"unicode/utf8"
)

// Restore makes a terminal from a State. It checks everything: bytes that State
// did not write give an error, and never a panic or a terminal that could
// misbehave.
func Restore(state []byte) (*Terminal, error) {
	const head = len(stateMagic) + 1
	if len(state) < head+4 || string(state[:len(stateMagic)]) != stateMagic {
		return nil, errState
	}
	if v := state[len(stateMagic)]; v != stateVersion {
		return nil, fmt.Errorf("terminal state of unknown version %d", v)
	}
	body := state[:len(state)-4]
	if crc32.Checksum(body, castagnoli) != binary.BigEndian.Uint32(state[len(body):]) {
		return nil, errState
	}
	d := decoder{buf: body[head:]}
	t := d.state()
	if d.failed || len(d.buf) != 0 {
		return nil, errState
	}
	return t, nil
}

// A decoder reads what an encoder wrote. After a failure it gives zeros, and
// the caller looks at failed at the end and before anything costly.
type decoder struct {
	t      *Terminal
	buf    []byte
	styles []style
	failed bool
}

func (d *decoder) fail() { d.failed = true; d.buf = nil }

func (d *decoder) u64() uint64 {
	v, n := binary.Uvarint(d.buf)
	if n <= 0 {
		d.fail()
		return 0
	}
	d.buf = d.buf[n:]
	return v
}

// num reads a number of at most limit.
func (d *decoder) num(limit int) int { return int(d.bounded(uint64(limit))) }

func (d *decoder) u32() uint32 { return uint32(d.bounded(math.MaxUint32)) }

func (d *decoder) bounded(limit uint64) uint64 {
	v := d.u64()
	if v > limit {
		d.fail()
		return 0
	}
	return v
}

func (d *decoder) byte(limit byte) byte {
	if len(d.buf) == 0 || d.buf[0] > limit {
		d.fail()
		return 0
	}
	b := d.buf[0]
	d.buf = d.buf[1:]
	return b
}

func (d *decoder) bool() bool { return d.byte(1) != 0 }

func (d *decoder) bytes(limit int) []byte {
	n := d.num(min(limit, len(d.buf)))
	if n > len(d.buf) {
		d.fail()
		return nil
	}
	p := d.buf[:n]
	d.buf = d.buf[n:]
	return p
}

func (d *decoder) str(limit int) string {
	s := string(d.bytes(limit))
	if !utf8.ValidString(s) {
		d.fail()
	}
	return s
}

func (d *decoder) charset() charset {
	c := charset(d.byte(0x7e))
	if c == 0 {
		return 0
	}
	if _, ok := charsetTables[c]; !ok {
		d.fail()
		return 0
	}
	return c
}

func (d *decoder) table() {
	links := make([]*link, d.num(len(d.buf)/2))
	for i := range links {
		links[i] = &link{id: d.str(maxURI), uri: d.str(maxURI)}
		if d.failed {
			return
		}
	}
	n := d.num(min(maxStateStyles, len(d.buf)/4))
	d.styles = make([]style, n)
	for i := range d.styles {
		s := &d.styles[i]
		s.fg, s.bg, s.ext = d.u32(), d.u32(), d.u32()
		if k := d.num(len(links)); k > 0 {
			s.link = links[k-1]
		}
		if !validColor(s.fg) || !validColor(s.bg) || !validColor(s.ext) || s.bg&0x80000000 != 0 || s.ext&^(extUnderline|colorMask) != 0 ||
			s.ext&extUnderline>>extUnderlineShift > 5 {
			d.fail()
		}
		if d.failed {
			return
		}
	}
	if n == 0 {
		d.fail()
	}
}

// validColor says whether the colour among the bits of a style can be.
func validColor(v uint32) bool {
	switch value := v & colorValue; v & colorMode {
	case colorDefault:
		return value == 0
	case color16:
		return value < 16
	case color256:
		return value < 256
	}
	return true
}

// row reads a record of at most limit cells.
func (d *decoder) row(l *line, limit int) {
	if rec := d.bytes(len(d.buf)); !d.failed && !d.t.decodeRecord(l, rec, d.styles, limit) {
		d.fail()
	}
}

func (d *decoder) state() *Terminal {
	d.table()
	cols, rows := d.num(maxSize), d.num(maxSize)
	if cols < minCols || rows < 1 {
		d.fail()
	}
	scrollback, limit := d.num(maxScrollback), d.num(maxArchive)
	if d.failed {
		return nil
	}
	t := New(Options{Cols: cols, Rows: rows})
	t.scrollbackMax, t.archive.limit = scrollback, limit
	t.archive.reprint = reprint{}
	d.t = t

	m := &t.modes
	for _, b := range []*bool{&m.cursorHidden, &m.newLine, &m.blinkOption, &m.insert, &m.cursorKeys, &m.keypad,
		&m.paste, &m.origin, &m.reverseWrap, &m.focus, &m.synchronized, &m.wrap} {
		*b = d.bool()
	}
	m.mouse = MouseProtocol(d.byte(byte(MouseAny)))
	m.mouseEncoding = MouseEncoding(d.byte(byte(MouseSGRPixels)))
	m.modifyOtherKeys = d.byte(2)
	m.cursorShape = CursorShape(d.byte(byte(CursorBar)))
	m.cursorBlink = CursorBlinking(d.byte(byte(BlinkOn)))

	if i := d.num(len(d.styles) - 1); !d.failed {
		t.pen = pen(d.styles[i])
	}
	t.charset = d.charset()
	t.glevel = int(d.byte(3))
	for i := range t.gsets {
		t.gsets[i] = d.charset()
	}
	t.lastWidth = d.byte(2)
	t.inRun = d.bool()
	d.parser(&t.parser)

	if d.bool() {
		t.cur = t.alt
	}
	d.screen(t.main, true)
	d.screen(t.alt, t.cur == t.alt)
	if d.failed {
		return nil
	}
	t.missing = d.num(t.scrollbackMax)
	d.scrollback()
	d.archive()
	d.observed()
	if d.failed {
		return nil
	}
	t.penStale = true
	t.sweep()
	return t
}

func (d *decoder) parser(ps *parser) {
	ps.state = parserState(d.byte(byte(stLast)))
	ps.collect = d.u32()
	n := d.num(maxParams)
	if n == 0 {
		d.fail()
		return
	}
	ps.params.n = 0
	for range n {
		ps.params.add()
		i := ps.params.n - 1
		ps.params.value[i] = int32(d.num(paramLimit))
		subs := d.num(maxSubParams - ps.params.subs)
		for range subs {
			ps.params.sub[ps.params.subs] = int32(int64(d.bounded(paramLimit+1)) - 1)
			ps.params.subs++
			ps.params.subEnd[i]++
		}
	}
	ps.params.rejectDigits = d.bool()
	ps.params.rejectSubDigits = d.bool()
	ps.params.digitIsSub = d.bool()
	if ps.params.digitIsSub && !ps.params.rejectSubDigits && ps.params.subs == 0 {
		d.fail()
	}
	ps.text = append([]byte(nil), d.bytes(maxString)...)
	if !utf8.Valid(ps.text) {
		d.fail()
	}
	ps.overflow = d.bool()
	ps.stringKind = d.byte(0x7e)
	switch ps.stringKind {
	case 0, 'X', '^', '_':
	default:
		d.fail()
	}
	ps.dcs = d.u32()
	ps.nTail = copy(ps.tail[:], d.bytes(3))
	if ps.nTail > 0 {
		if r, _ := decode(ps.tail[:ps.nTail]); r != runePartial {
			d.fail()
		}
	}
}

func (d *decoder) screen(s *screen, shown bool) {
	t := d.t
	n := d.num(t.rows)
	if shown && n != t.rows || !shown && n != 0 {
		d.fail()
		return
	}
	s.rows, s.seq = newRows(n), 0
	for _, l := range s.rows {
		long := d.num(maxSize)
		limit := t.cols
		if long != 0 {
			if s != t.alt || long <= t.cols {
				d.fail()
			}
			limit = long
		}
		known := d.u64()
		d.row(l, limit)
		if d.failed {
			return
		}
		l.long, l.known = long, known
	}
	s.x = d.num(1 << 30)
	s.y = d.num(t.rows - 1)
	s.bottom = 0
	s.top = d.num(t.rows - 1)
	s.bottom = d.num(t.rows - 1)
	if s.bottom < s.top {
		d.fail()
	}
	for i := range s.tabs {
		s.tabs[i] = d.u64()
	}
	s.tabs[len(s.tabs)-1] &= 1<<(maxSize%64+1) - 1
	s.savedX = d.num(1 << 30)
	savedY := d.bounded(1 << 31)
	s.savedY = int(int64(savedY>>1) ^ -int64(savedY&1))
	s.savedFg = d.u32()
	s.savedBg = d.u32()
	if !validColor(s.savedFg) || !validColor(s.savedBg) || s.savedBg&0x80000000 != 0 {
		d.fail()
	}
	s.savedCharset = d.charset()
	s.keyboard = append([]uint8(nil), d.bytes(maxKeyboard)...)
	for _, k := range s.keyboard {
		if k > 31 {
			d.fail()
		}
	}
}

func (d *decoder) scrollback() {
	t := d.t
	n := d.num(min(t.scrollbackMax-t.missing, len(d.buf)))
	from := styleTable{list: d.styles}
	var l line
	for range n {
		rec := d.bytes(len(d.buf))
		if d.failed || !t.decodeRecord(&l, rec, d.styles, maxSize) || rec[0]&recordAlt != 0 {
			d.fail()
			return
		}
		t.scrollback.pushCopy(rec, &from)
		t.sweep()
	}
	t.boundScrollback()
}

func (d *decoder) observed() {
	t := d.t
	o := &t.observed
	o.Title = d.str(maxTitle)
	o.Cwd = d.str(maxCwd)
	o.Bell = d.u64()
	o.Program = ProgramStatus{State: d.str(16), App: d.str(64), Kind: d.str(64), Message: d.str(maxMessage), Count: d.u64()}
	o.Progress = Progress{State: d.num(4), Percent: d.num(100)}
	o.Notification = Notification{Title: d.str(maxTitle), Body: d.str(maxMessage), Count: d.u64()}
	o.Shell = ShellMark{Mark: d.str(1), ExitCode: d.num(1<<16) - 1, Count: d.u64()}
	o.Clipboard = Clipboard{Text: d.str(maxClipboard), Count: d.u64()}
	for range d.num(maxTitles) {
		t.titles = append(t.titles, d.str(maxTitle))
	}
	t.replies = append([]byte(nil), d.bytes(maxReplies)...)
	t.faults = d.u64()
	t.touched.debt = d.num(cellsAhead)
	t.compared.debt = d.num(lettersAhead)
}
