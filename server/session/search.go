package session

import (
	"context"

	"github.com/agent-helm/agent-helm/internal/vt"
)

// searchWork bounds one search of our own copy, in the unit of
// vt.SearchOptions.
const searchWork = 8 << 20

// Search looks through the screen and the history as this copy has them, newest
// first. complete says that the copy has the history from its beginning on; else
// only the host may have older lines, which are before oldest. It never asks the
// host, and lets output in between.
func (s *Session) Search(ctx context.Context, pattern *vt.Pattern, o vt.SearchOptions) (result vt.SearchResult, oldest vt.LineID, complete bool, err error) {
	o.Work = searchWork
	search := vt.NewSearching(pattern, o)
	for done := false; !done; {
		done, err = call(ctx, s, func() bool {
			t := s.shown()
			oldest = t.ArchiveStart()
			complete = oldest <= 1 && s.primed
			return search.Step(t)
		})
		if err != nil {
			return result, 0, false, err
		}
	}
	return search.Result(), oldest, complete, nil
}
