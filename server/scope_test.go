package server

import (
	"encoding/json"
	"errors"
	"testing"
)

func TestScopes_admin_is_everything(t *testing.T) {
	admin, err := ParseScopes("admin")
	if err != nil || admin != AllScopes {
		t.Fatalf("admin is %v, %v", admin, err)
	}
	for _, scope := range []Scopes{ScopeRead, ScopeAnswer, ScopeInput, ScopeExec, ScopeAdmin, 0} {
		if !admin.Has(scope) || !ScopeAdmin.Has(scope) {
			t.Errorf("admin lacks %v", scope)
		}
	}
	if got := admin.Limit(InsecureScopes); got != InsecureScopes {
		t.Errorf("admin limited to %v is %v", InsecureScopes, got)
	}
}

func TestScopes_none_includes_another(t *testing.T) {
	all := []Scopes{ScopeRead, ScopeAnswer, ScopeInput, ScopeExec}
	for _, have := range all {
		for _, needed := range append(all, ScopeAdmin) {
			if got := have.Has(needed); got != (have == needed) {
				t.Errorf("%v has %v: %v", have, needed, got)
			}
		}
	}
}

func TestScopes_text_and_JSON_come_back(t *testing.T) {
	for s := Scopes(1); s <= AllScopes; s++ {
		want := s.whole()
		if got, err := ParseScopes(s.String()); err != nil || got != want {
			t.Errorf("%v became %v, %v", want, got, err)
		}
		encoded, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		var got Scopes
		if err := json.Unmarshal(encoded, &got); err != nil || got != want {
			t.Errorf("%s became %v, %v", encoded, got, err)
		}
	}
	for _, bad := range []string{"", ",", "root", "read,", "READ"} {
		if _, err := ParseScopes(bad); CodeOf(err) != CodeInvalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
	var s Scopes
	if json.Unmarshal([]byte(`["root"]`), &s) == nil || json.Unmarshal([]byte(`1`), &s) == nil {
		t.Error("bad JSON was taken")
	}
}

func TestPrincipal_RequireSession(t *testing.T) {
	inside, outside := SessionKey{Host: "a", ID: "1"}, SessionKey{Host: "b", ID: "1"}
	bound := Principal{Kind: PrincipalToken, Name: "guest", Scopes: ScopeRead, Binding: Binding{Sessions: []SessionKey{inside}}}
	if err := bound.RequireSession(ScopeRead, inside); err != nil {
		t.Error(err)
	}
	if got := CodeOf(bound.RequireSession(ScopeInput, inside)); got != CodeForbidden {
		t.Errorf("without the scope: %v", got)
	}
	if got := CodeOf(bound.RequireSession(ScopeRead, outside)); got != CodeUnknownSession {
		t.Errorf("outside the binding: %v", got)
	}
	if !bound.CanSee(inside) || bound.CanSee(outside) || (Principal{Kind: PrincipalHost}).CanSee(inside) {
		t.Error("CanSee is wrong")
	}
}

func TestCodes_have_a_status_and_a_sentence(t *testing.T) {
	for _, code := range Codes() {
		if status := code.Status(); status < 400 || status > 599 {
			t.Errorf("%s has status %d", code, status)
		}
		if code.Sentence() == "" {
			t.Errorf("%s has no sentence", code)
		}
	}
	if Code("nonsense").Status() != 500 || CodeOf(nil) != "" || CodeOf(errors.New("disk on fire")) != CodeInternal {
		t.Error("unknown codes are not internal")
	}
}

func TestValidSessionID(t *testing.T) {
	if !ValidSessionID("01jdq0000000000000000000aa") {
		t.Error("a good id is refused")
	}
	for _, bad := range []string{"", "01jdq0000000000000000000a", "01jdq0000000000000000000aaa", "01JDQ0000000000000000000AA", "01jdq00000000000000000/../", "01jdq0000000000000000000ai", "01jdq0000000000000000000a\n"} {
		if ValidSessionID(bad) {
			t.Errorf("%q is taken", bad)
		}
	}
}
