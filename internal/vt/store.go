package vt

import (
	"encoding/binary"
	"slices"
	"unicode/utf8"
)

// Lines that left the screen are kept as records:
//
//	flags    1 byte: recordWrapped, recordPlain, recordAlt
//	plain:   the characters, one byte each, all ASCII in the default style
//	others:  cells  uvarint, runs uvarint, runs × (style uvarint, cells uvarint),
//	         then the cells' text
//
// In the text a character stands for its cell, and for the cell behind it when
// it is wide. Bytes below 0x20 are marks, see below. Styles are indexes into a
// table that stands beside the records.
const (
	recordWrapped = 1 << iota
	recordPlain
	recordAlt
	recordFlags = 1<<iota - 1
)

const (
	markEmpty   = 0x00 // an empty cell
	markTail    = 0x01 // the second half of a wide character, alone
	markRune    = 0x02 // width byte, character: a width other than the table's
	markCluster = 0x03 // width byte, length uvarint, text
	markEmpties = 0x04 // count uvarint: empty cells

	// markWithTail in a width byte: the cell behind is markTail.
	markWithTail = 0x10
)

// A styleTable gives styles small numbers within some chunks or one State.
type styleTable struct {
	list  []style
	index map[style]uint32
	// byID caches the numbers of a terminal's style ids, less one, while the
	// ids are those of this generation.
	byID       []uint32
	generation uint32
}

func (k *styleTable) of(s style) uint32 {
	if k.index == nil {
		k.index = make(map[style]uint32)
		for i, s := range k.list {
			k.index[s] = uint32(i)
		}
	}
	if i, ok := k.index[s]; ok {
		return i
	}
	i := uint32(len(k.list))
	k.list = append(k.list, s)
	k.index[s] = i
	return i
}

// ofID is of, for a style id of the terminal.
func (k *styleTable) ofID(t *Terminal, id uint32) uint32 {
	if k.generation != t.styles.generation {
		k.byID = k.byID[:0]
		k.generation = t.styles.generation
	}
	if int(id) >= len(k.byID) {
		k.byID = append(k.byID, make([]uint32, len(t.styles.list)-len(k.byID))...)
	}
	if k.byID[id] == 0 {
		k.byID[id] = k.of(t.styles.list[id]) + 1
	}
	return k.byID[id] - 1
}

// seal gives up what only writing needs.
func (k *styleTable) seal() { k.index, k.byID = nil, nil }

// trimEmpty is cells without those at the end that say nothing. How many a row
// has there depends on how it was written.
func trimEmpty(cells []cell) []cell {
	n := len(cells)
	for n > 0 && cells[n-1] == 0 {
		n--
	}
	return cells[:n]
}

// appendRecord encodes a row.
func (t *Terminal) appendRecord(dst []byte, cells []cell, flags byte, table *styleTable) []byte {
	cells = trimEmpty(cells)
	n := len(cells)
	start := len(dst)
	dst = slices.Grow(dst, n+1)
	plain := dst[start : start+n+1]
	plain[0] = flags | recordPlain
	for i, c := range cells {
		if c-0x20 > 0x7e-0x20 {
			return t.appendStyled(dst, cells, flags, table)
		}
		plain[i+1] = byte(c)
	}
	return dst[:start+n+1]
}

func (t *Terminal) appendStyled(dst []byte, cells []cell, flags byte, table *styleTable) []byte {
	dst = append(dst, flags)
	dst = binary.AppendUvarint(dst, uint64(len(cells)))
	dst = t.appendRuns(dst, cells, table)
	dst = slices.Grow(dst, len(cells))
	for i := 0; i < len(cells); {
		c := cells[i].withoutTag()
		if c-0x20 <= 0x7e-0x20 {
			dst = append(dst, byte(c))
			i++
			continue
		}
		if c == 0 {
			n := 1
			for i+n < len(cells) && cells[i+n].withoutTag() == 0 {
				n++
			}
			i += n
			if n < 3 {
				dst = append(dst, 0, 0)[:len(dst)+n]
				continue
			}
			dst = append(dst, markEmpties)
			dst = binary.AppendUvarint(dst, uint64(n))
			continue
		}
		from, n := len(dst), 1
		width := c.width()
		if width == 2 && i+1 < len(cells) && cells[i+1].withoutTag() == wideTail {
			n = 2
		}
		switch {
		case c == wideTail:
			dst = append(dst, markTail)
		case c.isCluster():
			how := byte(width)
			if n == 2 {
				how |= markWithTail
			}
			text := t.clusters.text[c.number()]
			dst = append(dst, markCluster, how)
			dst = binary.AppendUvarint(dst, uint64(len(text)))
			dst = append(dst, text...)
		case width == 2 && n == 1, t.odd && runeWidth(rune(c.number())) != width:
			dst = append(dst, markRune, byte(width))
			dst = utf8.AppendRune(dst, rune(c.number()))
			n = 1
		default:
			if r := c.number(); r < 0x800 || r >= 0x10000 {
				dst = utf8.AppendRune(dst, rune(r))
			} else {
				dst = append(dst, byte(0xe0|r>>12), byte(0x80|r>>6&0x3f), byte(0x80|r&0x3f))
			}
		}
		// Lines are drawn with one character, and fillers are made of them.
		i += n
		more := 0
		if n == 2 || width != 2 {
			for i+more < len(cells) && cells[i+more] == cells[i+more-n] {
				more++
			}
		}
		if more >= n {
			more /= n
			size := len(dst) - from
			dst = slices.Grow(dst, size*more)
			dst = dst[:len(dst)+size*more]
			repeatStart(dst[from:], size)
			i += more * n
		}
	}
	return dst
}

// appendRun writes a run: the number of a style, and how many cells have it.
func appendRun(dst []byte, number, cells uint32) []byte {
	if number < 0x80 && cells < 0x80 {
		return append(dst, byte(number), byte(cells))
	}
	return binary.AppendUvarint(binary.AppendUvarint(dst, uint64(number)), uint64(cells))
}

// appendRuns writes the number of runs of one style, and the runs.
func (t *Terminal) appendRuns(dst []byte, cells []cell, table *styleTable) []byte {
	start, runs := len(dst), 0
	dst = append(dst, 0)
	for i := 0; i < len(cells); {
		tag := cells[i] >> styleShift
		j := i + 1
		for j < len(cells) && cells[j]>>styleShift == tag {
			j++
		}
		number, length := table.ofID(t, uint32(tag)), j-i
		dst = appendRun(dst, number, uint32(length))
		runs++
		i = j
	}
	if runs < 0x80 {
		dst[start] = byte(runs)
		return dst
	}
	var buf [binary.MaxVarintLen32]byte
	return slices.Replace(dst, start, start+1, buf[:binary.PutUvarint(buf[:], uint64(runs))]...)
}

// recordWidth is a record's number of cells.
func recordWidth(rec []byte) int {
	if rec[0]&recordPlain != 0 {
		return len(rec) - 1
	}
	n, _ := binary.Uvarint(rec[1:])
	return int(n)
}

// validRune says whether a character can stand in a cell.
func validRune(r rune) bool {
	return r >= 0x20 && r < 0x7f || r >= 0xa0 && utf8.ValidRune(r) && r != 0xfeff
}

// decodeRecord reads a record into l. It returns false, and leaves l in any
// state, for a record that appendRecord did not write; limit bounds the cells.
func (t *Terminal) decodeRecord(l *line, rec []byte, table []style, limit int) bool {
	l.cells = l.cells[:0]
	l.special = false
	l.long = 0
	if len(rec) == 0 || rec[0]&^recordFlags != 0 {
		return false
	}
	flags := rec[0]
	l.wrapped = flags&recordWrapped != 0
	rec = rec[1:]
	if flags&recordPlain != 0 {
		if len(rec) > limit {
			return false
		}
		l.grow(len(rec))
		for i, b := range rec {
			if b < 0x20 || b > 0x7e {
				return false
			}
			l.cells[i] = cell(b)
		}
		return true
	}
	count, rec, ok := uvarint(rec, limit)
	if !ok {
		return false
	}
	runs, rec, ok := uvarint(rec, count)
	if !ok {
		return false
	}
	l.grow(count)
	x := 0
	for range runs {
		var index, n int
		if index, rec, ok = uvarint(rec, len(table)-1); !ok {
			return false
		}
		if n, rec, ok = uvarint(rec, count-x); !ok {
			return false
		}
		tag := blank(t.styles.intern(table[index]))
		for end := x + n; x < end; x++ {
			l.cells[x] = tag
		}
	}
	if x != count {
		return false
	}
	for x = 0; x < count; {
		if len(rec) == 0 {
			return false
		}
		b := rec[0]
		if b >= 0x20 && b < 0x7f {
			l.cells[x] |= cell(b)
			x++
			rec = rec[1:]
			continue
		}
		width, tail := 0, false
		content := cell(0)
		switch b {
		case markEmpty:
			x++
			rec = rec[1:]
			continue
		case markEmpties:
			var n int
			if n, rec, ok = uvarint(rec[1:], count-x); !ok {
				return false
			}
			x += n
			continue
		case markTail:
			rec = rec[1:]
		case markRune, markCluster:
			if len(rec) < 2 {
				return false
			}
			width, tail = int(rec[1]&^markWithTail), rec[1]&markWithTail != 0
			if width > 2 {
				return false
			}
			rec = rec[2:]
			if b == markRune {
				r, size := utf8.DecodeRune(rec)
				if !validRune(r) || r == utf8.RuneError && size == 1 {
					return false
				}
				rec = rec[size:]
				content = cell(r)
				t.odd = true
				break
			}
			var n int
			if n, rec, ok = uvarint(rec, len(rec)); !ok || n > len(rec) {
				return false
			}
			text := string(rec[:n])
			rec = rec[n:]
			if runes := runeCount(text); runes < 2 || runes > maxClusterRunes || !utf8.ValidString(text) {
				return false
			}
			for _, r := range text {
				if !validRune(r) {
					return false
				}
			}
			content = cellCluster | cell(t.clusters.intern(text))
		default:
			r, size := utf8.DecodeRune(rec)
			if !validRune(r) || r == utf8.RuneError && size == 1 {
				return false
			}
			rec = rec[size:]
			width = runeWidth(r)
			tail = width == 2
			content = cell(r)
		}
		if width != 1 {
			l.special = true
		}
		l.cells[x] |= content | cell(width^1)<<widthShift
		x++
		if tail {
			if x >= count {
				return false
			}
			l.cells[x] |= wideTail
			x++
		}
	}
	return len(rec) == 0
}

// uvarint reads a number of at most limit.
func uvarint(p []byte, limit int) (int, []byte, bool) {
	v, n := binary.Uvarint(p)
	if n <= 0 || limit < 0 || v > uint64(limit) {
		return 0, p, false
	}
	return int(v), p[n:], true
}

// chunkSize is how many bytes of records share one chunk. Eviction frees whole
// chunks, so it is small beside the history and large beside a line.
const chunkSize = 64 << 10

// A chunk is a run of records with the styles they use.
type chunk struct {
	data []byte
	ends []uint32
	// keys are of the lines' letters, as far as they were asked for.
	keys []uint32
	// table may be that of other chunks too; first says that this one began it.
	table *styleTable
	first bool
	// weight is what size was when the chunk was full.
	weight int
}

func (c *chunk) record(i int) []byte {
	start := uint32(0)
	if i > 0 {
		start = c.ends[i-1]
	}
	return c.data[start:c.ends[i]]
}

// size is about how much memory the chunk holds.
func (c *chunk) size() int {
	n := cap(c.data) + 4*cap(c.ends) + 4*cap(c.keys)
	if !c.first {
		return n
	}
	n += 48 * len(c.table.list)
	for _, s := range c.table.list {
		if s.link != nil {
			n += len(s.link.id) + len(s.link.uri)
		}
	}
	return n
}

// A lineStore is a queue of records: lines come at the end and leave at either
// end.
type lineStore struct {
	chunks []*chunk
	// head counts the records of the first chunk that left already.
	head  int
	count int
	// sealed is the weight of all chunks but the last.
	sealed int
	// tables has the table for the next chunk. Both histories share it, so that
	// a record of one is a record of the other.
	tables *tables
	// spares are chunks that were dropped, for the next ones.
	spares []*chunk
}

// tables holds the style table that new chunks take.
type tables struct{ current *styleTable }

const (
	// maxTable is how many styles a chunk may use.
	maxTable = 4096
	// fullTable is how many styles a table has that no new chunk begins with.
	fullTable = 1024
)

// take is the table for a new chunk, and whether it is the first to use it.
func (k *tables) take() (table *styleTable, first bool) {
	if k.current == nil || len(k.current.list) >= fullTable {
		k.current = new(styleTable)
		return k.current, true
	}
	return k.current, false
}

func (s *lineStore) len() int { return s.count }

func (s *lineStore) reset() {
	// Nobody may still read the records: their memory serves again.
	for _, c := range s.chunks {
		s.keep(c)
	}
	clear(s.chunks)
	*s = lineStore{tables: s.tables, spares: s.spares, chunks: s.chunks[:0]}
}

// detach is reset for who still reads the records.
func (s *lineStore) detach() { *s = lineStore{tables: s.tables, spares: s.spares} }

// maxSpares is how many chunks a store keeps for later.
const maxSpares = 2

// keep has a chunk that was taken away serve again, unless it is odd or many.
func (s *lineStore) keep(c *chunk) {
	if len(s.spares) < maxSpares && cap(c.data) <= 2*chunkSize {
		*c = chunk{data: c.data[:0], ends: c.ends[:0]}
		s.spares = append(s.spares, c)
	}
}

// memory is about how many bytes the store holds.
func (s *lineStore) memory() int {
	if len(s.chunks) == 0 {
		return 0
	}
	return s.sealed + cap(s.chunks[len(s.chunks)-1].data)
}

// tail is the chunk that takes the next record.
func (s *lineStore) tail() *chunk {
	n := len(s.chunks)
	if n > 0 {
		if c := s.chunks[n-1]; len(c.data) < chunkSize && len(c.table.list) < maxTable {
			return c
		}
	}
	return s.grow()
}

// last is the chunk that took the last record.
func (s *lineStore) last() *chunk { return s.chunks[len(s.chunks)-1] }

// grow adds a chunk.
func (s *lineStore) grow() *chunk {
	if s.tables == nil {
		s.tables = new(tables)
	}
	var next *chunk
	if n := len(s.spares); n > 0 {
		next = s.spares[n-1]
		s.spares = s.spares[:n-1]
	}
	if n := len(s.chunks); n > 0 {
		last := s.chunks[n-1]
		if last.table != s.tables.current || len(last.table.list) >= fullTable {
			last.table.seal()
		}
		last.weight = last.size()
		s.sealed += last.weight
		if next == nil {
			// It will most likely fill up as this one did.
			next = &chunk{data: make([]byte, 0, chunkSize+512), ends: make([]uint32, 0, len(last.ends))}
		}
	} else if next == nil {
		next = new(chunk)
	}
	next.table, next.first = s.tables.take()
	s.chunks = append(s.chunks, next)
	return next
}

// drop takes the first chunk away and keeps its memory for the next.
func (s *lineStore) drop() {
	c := s.chunks[0]
	s.sealed -= c.weight
	n := copy(s.chunks, s.chunks[1:])
	s.chunks[n] = nil
	s.chunks = s.chunks[:n]
	s.keep(c)
}

// push appends a row and returns its record.
func (s *lineStore) push(t *Terminal, cells []cell, flags byte) []byte {
	c := s.tail()
	start := len(c.data)
	c.data = t.appendRecord(c.data, cells, flags, c.table)
	c.ends = append(c.ends, uint32(len(c.data)))
	s.count++
	return c.data[start:]
}

// pushLine is push for a row that may have a rest.
func (s *lineStore) pushLine(t *Terminal, l *line, flags byte) []byte {
	letter := l.rest-0x20 <= 0x7e-0x20
	if l.rest == 0 || len(l.cells) > 0 || l.rest.hasContent() && !letter {
		l.flatten()
		return s.push(t, l.cells, flags)
	}
	c := s.tail()
	start := len(c.data)
	if letter {
		c.data = slices.Grow(append(c.data, flags|recordPlain), l.until)
		c.data = c.data[:start+1+l.until]
		repeatBytes(c.data[start+1:], byte(l.rest))
	} else {
		c.data = append(c.data, flags)
		c.data = binary.AppendUvarint(c.data, uint64(l.until))
		c.data = append(c.data, 1)
		c.data = binary.AppendUvarint(c.data, uint64(c.table.ofID(t, l.rest.style())))
		c.data = binary.AppendUvarint(c.data, uint64(l.until))
		c.data = append(c.data, markEmpties)
		c.data = binary.AppendUvarint(c.data, uint64(l.until))
	}
	c.ends = append(c.ends, uint32(len(c.data)))
	s.count++
	return c.data[start:]
}

// pushRecord appends a record as it stands, made with table; it returns false
// where that is not the table of the next record.
func (s *lineStore) pushRecord(rec []byte, table *styleTable) bool {
	c := s.tail()
	if c.table != table && rec[0]&recordPlain == 0 {
		return false
	}
	c.data = append(c.data, rec...)
	c.ends = append(c.ends, uint32(len(c.data)))
	s.count++
	return true
}

// pushCopy appends a copy of another store's record.
func (s *lineStore) pushCopy(rec []byte, from *styleTable) {
	c := s.tail()
	if rec[0]&recordPlain != 0 || from == c.table {
		c.data = append(c.data, rec...)
	} else {
		c.data = append(c.data, rec[0])
		count, rest, _ := uvarint(rec[1:], maxCells)
		runs, rest, _ := uvarint(rest, maxCells)
		c.data = binary.AppendUvarint(c.data, uint64(count))
		c.data = binary.AppendUvarint(c.data, uint64(runs))
		for range runs {
			var index, n int
			index, rest, _ = uvarint(rest, len(from.list)-1)
			n, rest, _ = uvarint(rest, maxCells)
			c.data = binary.AppendUvarint(c.data, uint64(c.table.of(from.list[index])))
			c.data = binary.AppendUvarint(c.data, uint64(n))
		}
		c.data = append(c.data, rest...)
	}
	c.ends = append(c.ends, uint32(len(c.data)))
	s.count++
}

// at finds record i, counted from the oldest.
func (s *lineStore) at(i int) (*chunk, int) {
	i += s.head
	for _, c := range s.chunks {
		if i < len(c.ends) {
			return c, i
		}
		i -= len(c.ends)
	}
	panic("vt: no such line")
}

// fromEnd finds the record that is n before the newest.
func (s *lineStore) fromEnd(n int) (*chunk, int) {
	for i := len(s.chunks) - 1; i >= 0; i-- {
		c := s.chunks[i]
		if n < len(c.ends) {
			return c, len(c.ends) - 1 - n
		}
		n -= len(c.ends)
	}
	panic("vt: no such line")
}

// dropFirst forgets the oldest record.
func (s *lineStore) dropFirst() {
	if s.count == 0 {
		return
	}
	s.count--
	s.head++
	c := s.chunks[0]
	if s.head < len(c.ends) {
		return
	}
	s.head = 0
	if len(s.chunks) == 1 {
		s.reset()
		return
	}
	s.drop()
}

// dropFirstChunk forgets the oldest records, a chunk full, and says how many.
func (s *lineStore) dropFirstChunk() int {
	if len(s.chunks) == 0 {
		return 0
	}
	n := len(s.chunks[0].ends) - s.head
	for range n {
		s.dropFirst()
	}
	return n
}

// popLast takes the newest record into l. The store must not be empty.
func (s *lineStore) popLast(t *Terminal, l *line) {
	c, i := s.fromEnd(0)
	t.decodeRecord(l, c.record(i), c.table.list, maxCells)
	start := 0
	if i > 0 {
		start = int(c.ends[i-1])
	}
	c.data = c.data[:start]
	c.ends = c.ends[:i]
	c.keys = nil
	s.count--
	if i == 0 || s.count == 0 {
		n := len(s.chunks) - 1
		s.chunks[n] = nil
		s.chunks = s.chunks[:n]
		if n > 0 {
			s.sealed -= s.chunks[n-1].weight
		}
		if s.count == 0 {
			s.chunks, s.head, s.sealed = nil, 0, 0
		}
	}
}

// maxCells bounds a logical line, in cells.
const maxCells = 64 << 10
