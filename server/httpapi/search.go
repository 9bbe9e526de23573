package httpapi

import (
	"context"
	"net/http"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
)

const (
	// searchTime bounds a search of all sessions. What was found by then is the
	// answer.
	searchTime = 20 * time.Second
	// searchedAtOnce is how many sessions are searched at the same time.
	searchedAtOnce = 4
	// maxSearched is how many sessions one answer covers.
	maxSearched = 100
)

// SearchInput says what is looked for. It is exported for huma's sake, as
// SessionInput is.
type SearchInput struct {
	Query         string `query:"q" required:"true" minLength:"1" maxLength:"1000" doc:"A text; with regexp, an expression in RE2 syntax"`
	Regexp        bool   `query:"regexp" doc:"Take q as a regular expression, matched against one line at a time"`
	CaseSensitive bool   `query:"case" doc:"Tell capitals from small letters"`
}

func (i *SearchInput) params(cursor string, limit int) wire.SearchParams {
	return wire.SearchParams{Query: i.Query, Regexp: i.Regexp, CaseSensitive: i.CaseSensitive, Before: cursor, Max: limit}
}

type searchSessionInput struct {
	SessionInput
	SearchInput
	Cursor string `query:"cursor" maxLength:"40" doc:"The next of the answer before; absent for the newest lines"`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"100"`
}

// Found is what a search found in one session.
type Found struct {
	Items []vt.Match `json:"items" nullable:"false" doc:"Matches, newest first"`
	Next  *string    `json:"next" doc:"Cursor of older matches, null when there are none"`
	// Complete is false when the host may have older lines and could not be asked.
	Complete bool `json:"complete" doc:"False when older lines are on the host alone, which is away or too old to search"`
}

type searchSessionOutput struct {
	Body Found
}

type searchAllInput struct {
	SearchInput
	Cursor string `query:"cursor" maxLength:"200" doc:"The next of the answer before"`
	Limit  int    `query:"limit" minimum:"1" maximum:"100" default:"20" doc:"Matches of each session"`
	Host   string `query:"host" maxLength:"64" doc:"Only sessions of this host"`
}

// FoundSession is a session with matches.
type FoundSession struct {
	Host string         `json:"host"`
	ID   string         `json:"id"`
	Name untrusted.Text `json:"name"`
	Found
}

type searchAllOutput struct {
	Body struct {
		Items    []FoundSession `json:"items" nullable:"false" doc:"Sessions with matches, newest session first; go on in one with its own search"`
		Next     *string        `json:"next" doc:"Cursor of older sessions, null at the end"`
		Complete bool           `json:"complete" doc:"False when a session could not be searched to its oldest line"`
	}
}

func (a *API) registerSearch() {
	route(a, operation{method: http.MethodGet, path: "/api/sessions/{id}/search", id: "searchSession", summary: "Search a session's screen and history", tag: "sessions",
		access: access{scopes: server.ScopeRead}, errors: []server.Code{server.CodeUnknownSession, server.CodeTimeout, server.CodeLimit},
		description: "Newest first. Lines that wrapped softly are one line; positions count code points and cells of it. One search at a time."}, a.searchSession)
	route(a, operation{method: http.MethodGet, path: "/api/search", id: "search", summary: "Search all sessions of all hosts", tag: "sessions",
		access: access{scopes: server.ScopeRead}, errors: []server.Code{server.CodeLimit},
		description: "The newest matches of each session that has any. One search at a time."}, a.searchAll)
}

func (a *API) searchSession(ctx context.Context, input *searchSessionInput) (*searchSessionOutput, error) {
	session, err := a.find(ctx, &input.SessionInput, server.ScopeRead)
	if err != nil {
		return nil, err
	}
	release, err := a.searching.enter(ctx, callFrom(ctx).principal)
	if err != nil {
		return nil, err
	}
	defer release()
	found, err := a.search(ctx, session.Key(), input.params(input.Cursor, input.Limit))
	if err != nil {
		return nil, err
	}
	return &searchSessionOutput{Body: found}, nil
}

func (a *API) search(ctx context.Context, key server.SessionKey, params wire.SearchParams) (Found, error) {
	result, complete, err := a.fleet.Search(ctx, key, params)
	if err != nil {
		return Found{}, err
	}
	found := Found{Items: result.Matches, Complete: complete}
	if found.Items == nil {
		found.Items = []vt.Match{}
	}
	for i := range found.Items {
		found.Items[i].Text = untrusted.Mask(found.Items[i].Text)
	}
	if result.More {
		text, err := result.Next.MarshalText()
		if err != nil {
			return Found{}, err
		}
		next := string(text)
		found.Next = &next
	}
	return found, nil
}

func (a *API) searchAll(ctx context.Context, input *searchAllInput) (*searchAllOutput, error) {
	after, err := parseCursor(input.Cursor)
	if err != nil {
		return nil, err
	}
	params := input.params("", input.Limit)
	if _, err := vt.NewPattern(params.Query, vt.PatternOptions{Regexp: params.Regexp, CaseSensitive: params.CaseSensitive}); err != nil {
		return nil, server.Errorf(server.CodeInvalid, "%s", err)
	}
	principal := callFrom(ctx).principal
	release, err := a.searching.enter(ctx, principal)
	if err != nil {
		return nil, err
	}
	defer release()
	output := &searchAllOutput{}
	var wanted []server.Session
	for _, session := range a.fleet.Sessions() {
		if !principal.CanSee(session.Key()) || input.Host != "" && session.Host != input.Host || after != nil && newestFirst(session.Key(), *after) <= 0 {
			continue
		}
		if len(wanted) == maxSearched {
			next := formatCursor(wanted[maxSearched-1].Key())
			output.Body.Next = &next
			break
		}
		wanted = append(wanted, session)
	}
	found, complete, err := a.searchEach(ctx, wanted, params)
	if err != nil {
		return nil, err
	}
	output.Body.Items, output.Body.Complete = []FoundSession{}, complete
	for i, session := range wanted {
		if len(found[i].Items) > 0 {
			output.Body.Items = append(output.Body.Items, FoundSession{Host: session.Host, ID: session.ID, Name: session.Name, Found: found[i]})
		}
	}
	return output, nil
}

// searchEach searches sessions. One that cannot be searched, or not in time,
// makes the answer incomplete and no more.
func (a *API) searchEach(ctx context.Context, sessions []server.Session, params wire.SearchParams) ([]Found, bool, error) {
	found := make([]Found, len(sessions))
	limited, cancel := context.WithTimeout(ctx, searchTime)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(searchedAtOnce)
	for i, session := range sessions {
		group.Go(func() error {
			one, err := a.search(limited, session.Key(), params)
			if err == nil {
				found[i] = one
			}
			return nil
		})
	}
	_ = group.Wait() // none returns an error
	if ctx.Err() != nil {
		return nil, false, context.Cause(ctx)
	}
	complete := true
	for _, one := range found {
		complete = complete && one.Complete
	}
	return found, complete, nil
}
