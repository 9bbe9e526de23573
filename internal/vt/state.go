package vt

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"slices"
)

// A state is
//
//	magic    "AHVT"
//	version  1 byte, stateVersion
//	links    uvarint n, n × (id string, target string)
//	styles   uvarint n, n × (fg, bg, ext uvarint, link uvarint: 0 none, else index+1)
//	body     see encodeState, whose calls are the order
//	crc      4 bytes, big endian, CRC-32C of all before
//
// where string is a uvarint length and bytes, and numbers are uvarints. Records
// are those of store.go with the table of styles above.
//
// Version 1, 2026-11-30: first.
// Version 2, 2026-11-30: marks of rows taken back, reprints by letters.
// Version 3, 2026-11-30: the effort not paid for.
// Version 4, 2026-12-01: torn lines, saved rows below 0.
const (
	stateMagic   = "AHVT"
	stateVersion = 4
	// maxStateStyles bounds the table; a state with more styles than any
	// screen shows writes the rest as the default style.
	maxStateStyles = 1 << 17
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errState is what a damaged or hostile state gives.
var errState = errors.New("invalid terminal state")

// State returns everything there is to know about the terminal, for Restore.
// history is how many of the newest rows of the scrollback and lines of the
// archive are in it, < 0 all; the rest counts as missing, and everything else is
// whole. Two terminals that are Equal give equal screens from then on.
func (t *Terminal) State(history int) []byte {
	e := encoder{t: t}
	e.state(history)
	out := append([]byte(stateMagic), stateVersion)
	head := encoder{buf: out}
	links := map[*link]int{}
	var order []*link
	for _, s := range e.table.list {
		if _, ok := links[s.link]; s.link != nil && !ok {
			links[s.link] = len(order)
			order = append(order, s.link)
		}
	}
	head.num(len(order))
	for _, l := range order {
		head.str(l.id)
		head.str(l.uri)
	}
	head.num(len(e.table.list))
	for _, s := range e.table.list {
		head.u32(s.fg)
		head.u32(s.bg)
		head.u32(s.ext)
		if s.link == nil {
			head.num(0)
		} else {
			head.num(links[s.link] + 1)
		}
	}
	out = slices.Concat(head.buf, e.buf)
	t.sweep()
	return binary.BigEndian.AppendUint32(out, crc32.Checksum(out, castagnoli))
}

type encoder struct {
	t     *Terminal
	buf   []byte
	table styleTable
}

func (e *encoder) num(n int)       { e.buf = binary.AppendUvarint(e.buf, uint64(n)) }
func (e *encoder) u32(n uint32)    { e.buf = binary.AppendUvarint(e.buf, uint64(n)) }
func (e *encoder) u64(n uint64)    { e.buf = binary.AppendUvarint(e.buf, n) }
func (e *encoder) byte(b byte)     { e.buf = append(e.buf, b) }
func (e *encoder) bool(b bool)     { e.byte(map[bool]byte{true: 1}[b]) }
func (e *encoder) str(s string)    { e.num(len(s)); e.buf = append(e.buf, s...) }
func (e *encoder) bytes(p []byte)  { e.num(len(p)); e.buf = append(e.buf, p...) }
func (e *encoder) styleOf(s style) { e.num(int(e.table.of(s))) }

func (e *encoder) row(l *line) {
	flags := byte(0)
	if l.wrapped {
		flags = recordWrapped
	}
	e.cells(l.cells, flags)
}

func (e *encoder) cells(cells []cell, flags byte) {
	rec := e.t.appendRecord(nil, cells, flags, &e.table)
	if len(e.table.list) > maxStateStyles {
		// Take the styles away again rather than grow without bound.
		e.table.list = e.table.list[:maxStateStyles]
		e.table.index, e.table.byID = nil, nil
		plain := make([]cell, len(cells))
		for i, c := range cells {
			plain[i] = c.withoutTag()
		}
		rec = e.t.appendRecord(nil, plain, flags, &e.table)
	}
	e.bytes(rec)
}

func (e *encoder) stored(s *lineStore, n int) {
	e.num(n)
	var l line
	for i := s.len() - n; i < s.len(); i++ {
		c, k := s.at(i)
		rec := c.record(k)
		if rec[0]&recordPlain != 0 {
			e.bytes(rec)
			continue
		}
		e.t.decodeRecord(&l, rec, c.table.list, maxCells)
		e.cells(l.cells, rec[0]&^recordPlain)
		e.t.sweep()
	}
}

func (e *encoder) state(history int) {
	t := e.t
	limit := func(n int) int {
		if history >= 0 {
			return min(n, history)
		}
		return n
	}
	e.table.of(style{}) // records of plain text mean the default style
	e.num(t.cols)
	e.num(t.rows)
	e.num(t.scrollbackMax)
	e.num(t.archive.limit)

	m := &t.modes
	for _, b := range []bool{m.cursorHidden, m.newLine, m.blinkOption, m.insert, m.cursorKeys, m.keypad,
		m.paste, m.origin, m.reverseWrap, m.focus, m.synchronized, m.wrap} {
		e.bool(b)
	}
	e.byte(byte(m.mouse))
	e.byte(byte(m.mouseEncoding))
	e.byte(m.modifyOtherKeys)
	e.byte(byte(m.cursorShape))
	e.byte(byte(m.cursorBlink))

	e.styleOf(style(t.pen))
	e.byte(byte(t.charset))
	e.byte(byte(t.glevel))
	for _, c := range t.gsets {
		e.byte(byte(c))
	}
	e.byte(t.lastWidth)
	e.bool(t.inRun)

	ps := &t.parser
	if ps.state == stGround {
		ps.clear() // what the last sequence was says nothing, and not all are kept
	}
	e.byte(byte(ps.state))
	e.u32(ps.collect)
	e.num(ps.params.n)
	for i := range ps.params.n {
		e.u32(uint32(ps.params.value[i]))
		e.num(len(ps.params.subsOf(i)))
		for _, s := range ps.params.subsOf(i) {
			e.u32(uint32(s + 1))
		}
	}
	e.bool(ps.params.rejectDigits)
	e.bool(ps.params.rejectSubDigits)
	e.bool(ps.params.digitIsSub)
	e.bytes(ps.text)
	e.bool(ps.overflow)
	e.byte(ps.stringKind)
	e.u32(ps.dcs)
	e.bytes(ps.tail[:ps.nTail])

	e.bool(t.cur == t.alt)
	for _, s := range []*screen{t.main, t.alt} {
		e.screen(s)
	}
	rows := limit(t.scrollback.len())
	e.num(t.missing + t.scrollback.len() - rows)
	e.stored(&t.scrollback, rows)

	e.archive(limit(t.archive.store.len()))

	o := &t.observed
	e.str(o.Title)
	e.str(o.Cwd)
	e.u64(o.Bell)
	e.str(o.Program.State)
	e.str(o.Program.App)
	e.str(o.Program.Kind)
	e.str(o.Program.Message)
	e.u64(o.Program.Count)
	e.num(o.Progress.State)
	e.num(o.Progress.Percent)
	e.str(o.Notification.Title)
	e.str(o.Notification.Body)
	e.u64(o.Notification.Count)
	e.str(o.Shell.Mark)
	e.num(o.Shell.ExitCode + 1)
	e.u64(o.Shell.Count)
	e.str(o.Clipboard.Text)
	e.u64(o.Clipboard.Count)
	e.num(len(t.titles))
	for _, s := range t.titles {
		e.str(s)
	}
	e.bytes(t.replies)
	e.u64(t.faults)
	e.num(t.touched.owed(t.consumed(), cellsPerByte))
	e.num(t.compared.owed(t.consumed(), lettersPerByte))
}

func (e *encoder) screen(s *screen) {
	e.num(len(s.rows))
	for y := range s.rows {
		l := s.row(y)
		e.num(l.long)
		e.u64(l.known)
		e.row(l)
	}
	e.num(s.x)
	e.num(s.y)
	e.num(s.top)
	e.num(s.bottom)
	for _, w := range s.tabs {
		e.u64(w)
	}
	e.num(s.savedX)
	// xterm.js lets it fall below 0 when lines above it need fewer rows.
	e.u64(uint64(s.savedY)<<1 ^ uint64(int64(s.savedY)>>63))
	e.u32(s.savedFg)
	e.u32(s.savedBg)
	e.byte(byte(s.savedCharset))
	e.bytes(s.keyboard)
}
