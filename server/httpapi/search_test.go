package httpapi

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
)

func TestSearch_session(t *testing.T) {
	b := newBench(t)
	c := b.token(server.ScopeRead)
	path := "/api/sessions/" + sessionA + "/search"
	if got := strings.TrimSpace(c.get(path + "?q=x").is(http.StatusOK).Body.String()); got != `{"items":[],"next":null,"complete":true}` {
		t.Errorf("nothing found: %s", got)
	}
	var asked wire.SearchParams
	b.fleet.search = func(_ context.Context, _ server.SessionKey, params wire.SearchParams) (vt.SearchResult, bool, error) {
		asked = params
		return vt.SearchResult{
			Matches: []vt.Match{{Line: 9, Row: -1, Rune: 3, Runes: 2, Cell: 4, Cells: 2, Text: "evil\u202etext"}},
			More:    true, Next: vt.SearchCursor{Line: 9, Rune: 3},
		}, false, nil
	}
	got := strings.TrimSpace(c.get(path + "?q=a%2Bb&regexp=true&case=true&limit=7&cursor=12.4").is(http.StatusOK).Body.String())
	want := `{"items":[{"line":9,"row":-1,"column":0,"rune":3,"runes":2,"cell":4,"cells":2,"text":"evil` + "\ufffd" + `text","text_start":0}],"next":"9.3","complete":false}`
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if asked != (wire.SearchParams{Query: "a+b", Regexp: true, CaseSensitive: true, Before: "12.4", Max: 7}) {
		t.Errorf("asked %+v", asked)
	}
	for _, query := range []string{"", "?q=", "?q=" + strings.Repeat("x", 1001), "?q=x&limit=0", "?q=x&limit=1001"} {
		c.get(path + query).refused(server.CodeInvalid)
	}
	b.fleet.search = func(context.Context, server.SessionKey, wire.SearchParams) (vt.SearchResult, bool, error) {
		return vt.SearchResult{}, false, server.Errorf(server.CodeInvalid, "the pattern cannot be used")
	}
	c.get(path + "?q=(&regexp=true").refused(server.CodeInvalid)
	c.get("/api/sessions/nonsense/search?q=x").refused(server.CodeUnknownSession)
}

func TestSearch_all(t *testing.T) {
	b := newBench(t)
	b.fleet.search = func(_ context.Context, key server.SessionKey, _ wire.SearchParams) (vt.SearchResult, bool, error) {
		switch key {
		case server.SessionKey{Host: hostA, ID: sessionA}:
			return vt.SearchResult{Matches: []vt.Match{{Line: 1, Text: "found"}}, More: true, Next: vt.SearchCursor{Line: 1}}, true, nil
		case server.SessionKey{Host: hostB, ID: sessionA}:
			return vt.SearchResult{}, false, errors.New("broken")
		}
		return vt.SearchResult{}, true, nil
	}
	var found struct {
		Items []struct {
			Host, ID, Name string
			Items          []vt.Match
			Next           *string
			Complete       bool
		}
		Next     *string
		Complete bool
	}
	b.token(server.ScopeRead).get("/api/search?q=found").is(http.StatusOK).into(&found)
	if len(found.Items) != 1 || found.Complete || found.Next != nil {
		t.Fatalf("found %+v", found)
	}
	if one := found.Items[0]; one.Host != hostA || one.ID != sessionA || one.Name != "a" || len(one.Items) != 1 || one.Next == nil || *one.Next != "1.0" || !one.Complete {
		t.Errorf("found %+v", one)
	}
	// Who is bound to one session searches that one.
	bound := b.boundToken(server.ScopeRead, server.Binding{Sessions: []server.SessionKey{{Host: hostA, ID: sessionB}}})
	before := len(b.fleet.calls)
	if got := strings.TrimSpace(bound.get("/api/search?q=x").is(http.StatusOK).Body.String()); got != `{"items":[],"next":null,"complete":true}` {
		t.Errorf("bound: %s", got)
	}
	if calls := b.fleet.calls[before:]; len(calls) != 1 || !strings.Contains(calls[0], sessionB) {
		t.Errorf("bound, but asked %q", calls)
	}
	b.token(server.ScopeRead).get("/api/search?q=(&regexp=true").refused(server.CodeInvalid)
}

// One search at a time for each principal, and a few that wait.
func TestSearch_one_at_a_time(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := gate{what: "one search"}
		p, other := server.Principal{Kind: server.PrincipalToken, ID: "p"}, server.Principal{Kind: server.PrincipalToken, ID: "other"}
		first, err := g.enter(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		if release, err := g.enter(t.Context(), other); err != nil {
			t.Error(err)
		} else {
			release()
		}
		ctx, cancel := context.WithCancel(t.Context())
		entered := make(chan error, maxGateWaiting)
		for range maxGateWaiting {
			go func() {
				release, err := g.enter(ctx, p)
				if err == nil {
					release()
				}
				entered <- err
			}()
		}
		synctest.Wait()
		if _, err := g.enter(t.Context(), p); server.CodeOf(err) != server.CodeLimit {
			t.Errorf("one more: %v", err)
		}
		if len(entered) != 0 {
			t.Error("another search runs")
		}
		first()
		first() // again does nothing
		for range maxGateWaiting {
			if err := <-entered; err != nil {
				t.Error(err)
			}
		}
		last, err := g.enter(ctx, p)
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			_, err := g.enter(ctx, p)
			entered <- err
		}()
		synctest.Wait()
		cancel()
		if err := <-entered; !errors.Is(err, context.Canceled) {
			t.Errorf("a caller that hung up: %v", err)
		}
		last()
		if len(g.turns) != 0 {
			t.Errorf("%d principals are remembered", len(g.turns))
		}
	})
}
