package httpapi

import (
	"net/http"
	"testing"

	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/auth"
)

func TestPairings(t *testing.T) {
	b := newBench(t)
	code, _, err := b.auth.CreateCode(t.Context(), auth.Console(), server.PrincipalHost, 0)
	if err != nil {
		t.Fatal(err)
	}
	record, _, err := b.auth.EnrolHost(t.Context(), code, "laptop", "192.0.2.7")
	if err != nil {
		t.Fatal(err)
	}
	host := server.Principal{Kind: server.PrincipalHost, ID: record.ID, Name: record.Name}
	admin := b.browser(server.AllScopes)
	ask := func() server.Pairing {
		t.Helper()
		if _, err := b.auth.RequestPairing(t.Context(), host, server.ScopeRead|server.ScopeInput); err != nil {
			t.Fatal(err)
		}
		var list struct{ Items []server.Pairing }
		admin.get("/api/pairings").is(http.StatusOK).into(&list)
		if len(list.Items) != 1 || list.Items[0].HostName != "laptop" || len(list.Items[0].Scopes) != 2 || list.Items[0].ExpiresMS < 1 {
			t.Fatalf("waiting %+v", list.Items)
		}
		return list.Items[0]
	}
	first := ask()
	admin.post("/api/pairings/"+first.ID+"/confirm", map[string]any{"scopes": []string{"root"}}).refused(server.CodeInvalid)
	admin.post("/api/pairings/"+first.ID+"/confirm", map[string]any{"scopes": []string{"read"}}).is(http.StatusNoContent)
	admin.post("/api/pairings/"+first.ID+"/confirm", map[string]any{}).refused(server.CodeUnknownPairing)
	admin.post("/api/pairings/"+first.ID+"/deny", nil).refused(server.CodeUnknownPairing)
	_, made, err := b.auth.AwaitPairing(t.Context(), first.ID)
	if err != nil || made.Scopes != server.ScopeRead {
		t.Errorf("code for %s, %v", made.Scopes, err)
	}
	second := ask()
	bound := b.boundToken(server.AllScopes, server.Binding{Sessions: []server.SessionKey{{Host: hostA, ID: sessionA}}})
	bound.get("/api/pairings").refused(server.CodeForbidden)
	bound.post("/api/pairings/"+second.ID+"/confirm", map[string]any{}).refused(server.CodeForbidden)
	admin.post("/api/pairings/"+second.ID+"/deny", nil).is(http.StatusNoContent)
	if _, _, err := b.auth.AwaitPairing(t.Context(), second.ID); server.CodeOf(err) != server.CodeForbidden {
		t.Errorf("after a denial: %v", err)
	}
	admin.post("/api/pairings/nobody/confirm", map[string]any{}).refused(server.CodeUnknownPairing)
}
