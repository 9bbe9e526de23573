package vt

// stepWork is what one step of a search may cost: well below a millisecond for
// a text, a few for a regexp.
const stepWork = 256 << 10

// A Searching is a search in steps, between which the terminal may be written
// to: whoever owns it need not stop for long.
type Searching struct {
	pattern *Pattern
	left    SearchOptions
	result  SearchResult
	size    int
}

// NewSearching prepares a search. The options bound it as a whole.
func NewSearching(p *Pattern, o SearchOptions) *Searching {
	if o.Max <= 0 {
		o.Max = defaultMatches
	}
	o.Max = min(o.Max, maxMatches)
	if o.Work <= 0 {
		o.Work = defaultSearchWork
	}
	return &Searching{pattern: p, left: o, result: SearchResult{Matches: []Match{}}}
}

// Step goes on, and says whether the search is done.
func (s *Searching) Step(t *Terminal) bool {
	o := s.left
	o.Work = min(o.Work, stepWork)
	r := t.Search(s.pattern, o)
	s.result.Matches = append(s.result.Matches, r.Matches...)
	s.result.More, s.result.Next = r.More, r.Next
	s.result.Work += r.Work
	for i := range r.Matches {
		s.size += matchSize(&r.Matches[i])
	}
	s.left.Before = r.Next
	s.left.Max -= len(r.Matches)
	s.left.Work -= max(r.Work, 1)
	return !r.More || s.left.Max <= 0 || s.left.Work <= 0 || s.size > maxPageBytes
}

// Result is what was found so far.
func (s *Searching) Result() SearchResult { return s.result }

// matchSize is about how large a match is as JSON, which has to fit a frame.
func matchSize(m *Match) int { return len(m.Text) + 128 }
