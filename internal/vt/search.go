package vt

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// SearchOptions bound a search and say where it goes on.
type SearchOptions struct {
	// Before is where to begin: matches that begin earlier are found. Zero means
	// from the newest on.
	Before SearchCursor
	// Max is how many matches are wanted; 0 means 100, and more than 1000 are
	// never given.
	Max int
	// Work bounds the search, in bytes of text looked at for a text; a regexp
	// costs a multiple. 0 means 1 MiB. At least one line is searched.
	Work int
}

const (
	defaultMatches    = 100
	maxMatches        = 1000
	defaultSearchWork = 1 << 20
	// excerptBefore and excerptRunes bound the text around a match.
	excerptBefore = 40
	excerptRunes  = 200
)

// A SearchCursor is a place among the lines. It stays where it is when the
// program prints, so a search can go on later.
type SearchCursor struct {
	Line LineID
	Rune int
}

// MarshalText writes the cursor as "line.rune".
func (c SearchCursor) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%d.%d", c.Line, c.Rune), nil
}

// UnmarshalText reads what MarshalText wrote; an empty text is the zero cursor.
func (c *SearchCursor) UnmarshalText(text []byte) error {
	*c = SearchCursor{}
	if len(text) == 0 {
		return nil
	}
	line, character, _ := strings.Cut(string(text), ".")
	id, err := strconv.ParseUint(line, 10, 63)
	if err != nil {
		return fmt.Errorf("read search cursor: %w", err)
	}
	n, err := strconv.ParseUint(character, 10, 31)
	if err != nil {
		return fmt.Errorf("read search cursor: %w", err)
	}
	c.Line, c.Rune = LineID(id), int(n)
	return nil
}

// A Match is one occurrence. Its JSON is what a browser gets.
type Match struct {
	// Line is the archive's line; of a line that is still on the screen, the id
	// it will have if everything above it goes into the archive first.
	Line LineID `json:"line"`
	// Row and Column are where on the screen the match begins, from 0. Row is -1
	// for what is above the screen. See Alternate for which screen.
	Row    int `json:"row"`
	Column int `json:"column"`
	// Rune and Runes are where in the line's text the match begins, and how long
	// it is, in code points.
	Rune  int `json:"rune"`
	Runes int `json:"runes"`
	// Cell and Cells are the same in columns of the line, as if the screen were
	// wide enough for it. A match of a part of a cell is the whole cell.
	Cell  int `json:"cell"`
	Cells int `json:"cells"`
	// Alternate says that the line is, or was, of the alternate screen.
	Alternate bool `json:"alt,omitempty"`
	// Text is the line around the match, all of it up to 200 code points;
	// TextStart is how many code points of the line stand before it. It is the
	// program's word.
	Text      string `json:"text"`
	TextStart int    `json:"text_start"`
}

// A SearchResult is what a Search found, newest first: the last match of the
// last line comes first.
type SearchResult struct {
	Matches []Match `json:"matches"`
	// More says that there are lines which were not searched; go on at Next.
	More bool         `json:"more"`
	Next SearchCursor `json:"next,omitzero"`
	// Work is how much of SearchOptions.Work was used.
	Work int `json:"-"`
}

// Search looks through the screen (and, behind the alternate screen, the main
// one), then the archive, newest line first. Soft-wrapped rows are one line.
// It changes nothing.
func (t *Terminal) Search(p *Pattern, o SearchOptions) SearchResult {
	s := searcher{
		t: t, pattern: p, before: o.Before,
		max: min(o.Max, maxMatches), work: o.Work,
		result: SearchResult{Matches: []Match{}},
	}
	if s.max <= 0 {
		s.max = defaultMatches
	}
	if s.work <= 0 {
		s.work = defaultSearchWork
	}
	a := &t.archive
	// More lines than a cursor can name are none that it was made for.
	if s.before == (SearchCursor{}) || s.before.Line > a.next+4*maxSize {
		s.before = SearchCursor{Line: a.next + 4*maxSize}
	}
	lines := t.screenLines()
	s.again = t.archivedLines(lines)
	if s.before.Line >= a.next && !s.screens(lines) {
		return s.result
	}
	s.history()
	return s.result
}

// searcher is one search at work.
type searcher struct {
	t       *Terminal
	pattern *Pattern
	before  SearchCursor
	max     int
	work    int
	result  SearchResult
	size    int // of the matches' text
	// again are the lines of the archive that stand on the screen again.
	again map[LineID]*screenLine

	record, text, folded []byte
	spans                []span
}

// screens searches what has not scrolled off, and what waits to come into the
// archive. It returns false when the search
// has to stop.
func (s *searcher) screens(lines []screenLine) bool {
	var table styleTable
	type waiting struct {
		c *chunk
		i int
	}
	var above []waiting
	s.t.archive.waiting(func(c *chunk, i int) { above = append(above, waiting{c, i}) })
	id := s.t.archive.next + LineID(len(above))
	for i := range lines {
		if !lines[i].archived {
			id++
		}
	}
	for i := len(lines) - 1; i >= 0; i-- {
		l := &lines[i]
		if l.archived {
			continue // it has its turn with the archive
		}
		id--
		s.record = s.t.appendRecord(s.record[:0], l.cells, 0, &table)
		if !s.line(id, s.record, l) {
			return false
		}
	}
	for i := len(above) - 1; i >= 0; i-- {
		id--
		if w := above[i]; !s.line(id, w.c.record(w.i), nil) {
			return false
		}
	}
	return true
}

// history searches the archive.
func (s *searcher) history() {
	store := &s.t.archive.store
	id := s.t.archive.next // of the line behind the chunk
	for n := len(store.chunks) - 1; n >= 0; n-- {
		c := store.chunks[n]
		oldest := 0
		if n == 0 {
			oldest = store.head
		}
		first := id - LineID(len(c.ends)) // of the chunk's record 0
		id = first
		newest := len(c.ends) - 1
		if s.before.Line < first {
			continue
		}
		if past := first + LineID(newest); past > s.before.Line {
			newest -= int(past - s.before.Line)
		}
		for i := newest; i >= oldest; i-- {
			if !s.line(first+LineID(i), c.record(i), s.again[first+LineID(i)]) {
				s.result.More = s.result.Next.Rune > 0 || n > 0 || i > oldest
				if !s.result.More {
					s.result.Next = SearchCursor{}
				}
				return
			}
		}
	}
}

// line searches one line, which is on a screen unless on is nil. It returns
// false when the search has to stop, and then has set where it goes on.
func (s *searcher) line(id LineID, rec []byte, on *screenLine) bool {
	if id > s.before.Line || id == s.before.Line && s.before.Rune == 0 {
		return true
	}
	text := rec[1:]
	if rec[0]&recordPlain == 0 {
		s.text = appendRecordText(s.text[:0], rec)
		text = s.text
	} else {
		text = trimSpaces(text)
	}
	s.spans = s.pattern.find(s.spans[:0], text, &s.folded)
	for i := len(s.spans) - 1; i >= 0; i-- {
		found := s.spans[i]
		if id == s.before.Line && found.from >= s.before.Rune {
			continue
		}
		m := s.match(id, rec, text, found, on)
		s.result.Matches = append(s.result.Matches, m)
		s.size += matchSize(&m)
		if len(s.result.Matches) >= s.max || s.size > maxPageBytes {
			s.stop(SearchCursor{id, found.from})
			return false
		}
	}
	s.result.Work += s.pattern.cost(len(text), len(s.spans))
	if s.result.Work >= s.work {
		s.stop(SearchCursor{id, 0})
		return false
	}
	return true
}

func (s *searcher) stop(next SearchCursor) { s.result.More, s.result.Next = true, next }

func (s *searcher) match(id LineID, rec, text []byte, found span, on *screenLine) Match {
	first, end := recordCells(rec, found)
	m := Match{
		Line: id, Row: -1, Rune: found.from, Runes: found.to - found.from, Cell: first, Cells: end - first,
		Alternate: rec[0]&recordAlt != 0,
	}
	if on != nil {
		m.Alternate = on.alt
		m.Row, m.Column = on.place(first)
	}
	m.TextStart = max(0, min(found.from-excerptBefore, utf8.RuneCount(text)-excerptRunes))
	for range m.TextStart {
		_, size := utf8.DecodeRune(text)
		text = text[size:]
	}
	n := 0
	for runes := 0; n < len(text) && runes < excerptRunes; runes++ {
		_, size := utf8.DecodeRune(text[n:])
		n += size
	}
	m.Text = string(text[:n])
	return m
}

// ArchiveStart returns the id of the oldest line that the archive still has, or
// will have when it is empty.
func (t *Terminal) ArchiveStart() LineID { return t.archive.oldest() }
