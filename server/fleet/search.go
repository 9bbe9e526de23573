package fleet

import (
	"cmp"
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
)

const (
	// defaultFound is how many matches a search without a number gives, and
	// maxFound how many at most.
	defaultFound, maxFound = 100, 1000
	// maxExcerpt is what a host may send as a match's text, in code points.
	maxExcerpt = 200
	// recordingPiece is how much of a recording is asked for at once, in bytes.
	recordingPiece = 256 << 10
)

// Search looks for a text or a regexp in a session, newest first: in our own
// copy, and beyond it at the host. complete is false when the host may have
// older lines and is not there, or is too old to search.
func (f *Fleet) Search(ctx context.Context, key server.SessionKey, params wire.SearchParams) (result vt.SearchResult, complete bool, err error) {
	e, err := f.entry(key)
	if err != nil {
		return result, false, err
	}
	pattern, err := vt.NewPattern(params.Query, vt.PatternOptions{Regexp: params.Regexp, CaseSensitive: params.CaseSensitive})
	if err != nil {
		return result, false, server.Errorf(server.CodeInvalid, "%s", err)
	}
	params.Max = min(cmp.Or(max(params.Max, 0), defaultFound), maxFound)
	options := vt.SearchOptions{Max: params.Max}
	if err := options.Before.UnmarshalText([]byte(params.Before)); err != nil {
		return result, false, server.Errorf(server.CodeInvalid, "the cursor is not one of this server's: begin again without it")
	}
	result, oldest, complete, err := e.session.Search(ctx, pattern, options)
	switch {
	case err != nil:
		return result, false, noSession(err)
	case result.More || complete:
		return result, true, nil
	case len(result.Matches) >= params.Max:
		// The page is full to the last line that we have.
		result.More, result.Next = true, vt.SearchCursor{Line: oldest}
		return result, true, nil
	}
	return f.searchHost(ctx, key, params, result, oldest)
}

// searchHost goes on where our own copy ends, at line oldest.
func (f *Fleet) searchHost(ctx context.Context, key server.SessionKey, params wire.SearchParams, own vt.SearchResult, oldest vt.LineID) (vt.SearchResult, bool, error) {
	var before vt.SearchCursor
	// Read before, and so readable.
	_ = before.UnmarshalText([]byte(params.Before))
	// A copy without a terminal has nothing to go on from.
	if own := (vt.SearchCursor{Line: oldest}); oldest > 1 && (before == (vt.SearchCursor{}) || before.Line >= oldest) {
		before = own
	}
	text, err := before.MarshalText()
	if err != nil {
		return own, false, fmt.Errorf("encode search cursor: %w", err)
	}
	params.ID, params.Before = key.ID, string(text)
	if before == (vt.SearchCursor{}) {
		params.Before = ""
	}
	params.Max -= len(own.Matches)
	var found vt.SearchResult
	err = f.call(ctx, key.Host, wire.MethodSearch, params, &found)
	switch code := server.CodeOf(err); {
	case err == nil:
	case code == server.CodeHostOffline, code == server.CodeUnsupported, code == server.CodeForbidden:
		return own, false, nil
	default:
		return own, false, err
	}
	if len(found.Matches) > params.Max {
		found.Matches, found.More = found.Matches[:params.Max], false
	}
	for i := range found.Matches {
		m := &found.Matches[i]
		m.Text = cutRunes(m.Text, maxExcerpt)
		own.Matches = append(own.Matches, *m)
	}
	// A cursor that does not go back would be asked for ever.
	goesBack := before == (vt.SearchCursor{}) || found.Next.Line < before.Line || found.Next.Line == before.Line && found.Next.Rune < before.Rune
	if found.More && goesBack {
		own.More, own.Next = true, found.Next
	}
	return own, true, nil
}

func cutRunes(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n])
}

// Recording reads a piece of a session's recording from its host: behind from,
// or its beginning. It fails with CodeHostOffline when the host is not there.
func (f *Fleet) Recording(ctx context.Context, key server.SessionKey, from *wire.Position) (wire.RecordingResult, error) {
	var result wire.RecordingResult
	if _, err := f.entry(key); err != nil {
		return result, err
	}
	params := wire.RecordingParams{ID: key.ID, From: from, Max: recordingPiece}
	if err := f.call(ctx, key.Host, wire.MethodRecording, params, &result); err != nil {
		return result, err
	}
	if from == nil {
		if result.Cols < 1 || result.Cols > wire.MaxColumns || result.Rows < 1 || result.Rows > wire.MaxRows {
			return result, fmt.Errorf("host %s began a recording of %d×%d", key.Host, result.Cols, result.Rows)
		}
		result.AgeMS = min(max(result.AgeMS, 0), maxRecordingAge.Milliseconds())
	} else if !result.Done && !from.Before(result.Next) {
		return result, fmt.Errorf("host %s does not go on with a recording", key.Host)
	}
	return result, nil
}

// maxRecordingAge bounds what a host may say of how long ago a recording began.
const maxRecordingAge = 100 * 365 * 24 * time.Hour
