package holder

import (
	"encoding/json"

	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// searchWork bounds one search, in the unit of vt.SearchOptions: all of an
// archive for a text, a part of it at a time for a regexp.
const searchWork = 8 << 20

// callSearch looks through the terminal, and lets output in between.
func (s *session) callSearch(raw json.RawMessage) (any, *wire.Fault) {
	var params wire.SearchParams
	if fault := decode(raw, &params); fault != nil {
		return nil, fault
	}
	search, fault := NewSearching(params)
	if fault != nil {
		return nil, fault
	}
	for done := false; !done; {
		s.mu.Lock()
		s.guard(func() { done = search.Step(s.terminal) })
		s.mu.Unlock()
	}
	return search.Result(), nil
}

// NewSearching is the search that params ask for.
func NewSearching(params wire.SearchParams) (*vt.Searching, *wire.Fault) {
	pattern, err := vt.NewPattern(params.Query, vt.PatternOptions{Regexp: params.Regexp, CaseSensitive: params.CaseSensitive})
	if err != nil {
		return nil, &wire.Fault{Code: wire.CodeInvalid, Message: err.Error()}
	}
	options := vt.SearchOptions{Max: params.Max, Work: searchWork}
	if err := options.Before.UnmarshalText([]byte(params.Before)); err != nil {
		return nil, &wire.Fault{Code: wire.CodeInvalid, Message: "the cursor of the search is malformed"}
	}
	return vt.NewSearching(pattern, options), nil
}
