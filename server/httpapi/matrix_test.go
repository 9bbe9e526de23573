package httpapi

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"

	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/auth"
)

// routeWants says who may use each route: "public", "host", "any" credential, or
// the scope. It is written by hand, so that a slip in a route's declaration
// shows; a route that is missing here fails the test.
var routeWants = map[string]string{
	"GET /api/health":                   "public",
	"GET /api/version":                  "public",
	"GET /check":                        "public",
	"GET /api/check":                    "public",
	"GET /api/check.js":                 "public",
	"GET /api/check.css":                "public",
	"GET /api/check/server":             "admin",
	"POST /api/pair":                    "public",
	"POST /api/hosts/register":          "public",
	"GET /api/openapi.json":             "public",
	"GET /api/docs":                     "public",
	"GET /api/docs.js":                  "public",
	"GET /api/docs.css":                 "public",
	"GET /api/me":                       "any",
	"POST /api/signout":                 "any",
	"GET /api/devices":                  "admin",
	"DELETE /api/devices/{id}":          "admin",
	"PATCH /api/devices/{id}":           "admin",
	"POST /api/devices/revoke":          "admin",
	"POST /api/sessions/{id}/guests":    "admin",
	"GET /api/audit":                    "admin",
	"GET /api/audit/export":             "admin",
	"GET /api/tokens":                   "admin",
	"POST /api/tokens":                  "admin",
	"DELETE /api/tokens/{id}":           "admin",
	"POST /api/codes":                   "admin",
	"GET /api/codes/{id}":               "admin",
	"GET /api/pairings":                 "admin",
	"POST /api/pairings/{id}/confirm":   "admin",
	"POST /api/pairings/{id}/deny":      "admin",
	"GET /api/hosts":                    "read",
	"DELETE /api/hosts/{host}":          "admin",
	"POST /api/hosts/{host}/sessions":   "exec",
	"GET /api/hosts/link":               "host",
	"GET /api/sessions":                 "read",
	"GET /api/sessions/{id}":            "read",
	"PATCH /api/sessions/{id}":          "input",
	"DELETE /api/sessions/{id}":         "input",
	"POST /api/sessions/{id}/signal":    "input",
	"POST /api/sessions/{id}/input":     "input",
	"POST /api/sessions/{id}/resize":    "input",
	"GET /api/sessions/{id}/screen":     "read",
	"GET /api/sessions/{id}/scrollback": "read",
	"GET /api/sessions/{id}/search":     "read",
	"GET /api/sessions/{id}/recording":  "read",
	"GET /api/search":                   "read",
	"GET /api/events":                   "read",
	"GET /api/ws":                       "read",
}

// routeBodies are good bodies for the routes that need one.
var routeBodies = map[string]any{
	"POST /api/pair":                  map[string]any{"ticket": "wrong", "name": "x"},
	"POST /api/hosts/register":        map[string]any{"code": "222222", "name": "x"},
	"POST /api/tokens":                map[string]any{"name": "made by the matrix", "scopes": []string{"read"}},
	"POST /api/codes":                 map[string]any{"kind": "host"},
	"POST /api/hosts/{host}/sessions": map[string]any{"argv": []string{"sh"}},
	"PATCH /api/sessions/{id}":        map[string]any{"name": "x"},
	"PATCH /api/devices/{id}":         map[string]any{"name": "x"},
	"POST /api/sessions/{id}/guests":  map[string]any{},
	"POST /api/pairings/{id}/confirm": map[string]any{},
	"POST /api/sessions/{id}/signal":  map[string]any{"signal": "esc"},
	"POST /api/sessions/{id}/input":   map[string]any{"text": "x"},
	"POST /api/sessions/{id}/resize":  map[string]any{"cols": 80, "rows": 24},
}

// routeQueries are good queries for the routes that need one.
var routeQueries = map[string]string{
	"GET /api/sessions/{id}/search": "?q=x",
	"GET /api/search":               "?q=x",
}

var fillPath = strings.NewReplacer("/sessions/{id}", "/sessions/"+sessionA, "{id}", "nobody", "{host}", hostA)

// everyRoute calls do for each route of the router.
func everyRoute(t *testing.T, b *bench, do func(route, method, path string, body any)) {
	t.Helper()
	declared := map[string]bool{}
	for _, r := range b.api.routes {
		declared[r.method+" "+r.path] = true
	}
	count := 0
	err := chi.Walk(b.api.router, func(method, path string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		route := method + " " + path
		if _, ok := routeWants[route]; !ok {
			t.Errorf("%s is not in the table of this test", route)
		}
		if !declared[route] {
			t.Errorf("%s has no access declared", route)
		}
		count++
		do(route, method, fillPath.Replace(path)+routeQueries[route], routeBodies[route])
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if count != len(routeWants) {
		t.Errorf("%d routes, the table has %d", count, len(routeWants))
	}
}

// closedFleet ends event streams at once, so that every route answers.
func closedFleet(b *bench) {
	close(b.fleet.events)
}

func TestRoutes_principals(t *testing.T) {
	b := newBench(t)
	closedFleet(b)
	type row struct {
		name   string
		caller *caller
		// admits says whether a route of that kind lets the caller in.
		admits func(want string) bool
		// refusal is the code otherwise.
		refusal server.Code
	}
	public := func(want string) bool { return want == "public" }
	scoped := func(scopes server.Scopes) func(string) bool {
		return func(want string) bool {
			switch want {
			case "public", "any":
				return true
			case "host":
				return false
			}
			needed, err := server.ParseScopes(want)
			return err == nil && scopes.Has(needed)
		}
	}
	full := b.browser(server.AllScopes)
	rows := []row{
		{"nobody", b.stranger(), public, server.CodeUnauthenticated},
		{"a wrong token", b.stranger().with("Authorization", "Bearer ah_x_y"), public, server.CodeUnauthenticated},
		{"a cookie without proof", full.with(auth.ProofHeader, ""), func(want string) bool { return want == "public" }, server.CodeProofRequired},
		{"a cookie with another's proof", full.with(auth.ProofHeader, b.browser(server.AllScopes).headers.Get(auth.ProofHeader)), public, server.CodeProofRequired},
		{"a host", b.host(), func(want string) bool { return want == "public" || want == "host" }, server.CodeForbidden},
		{"a browser", full, scoped(server.AllScopes), server.CodeForbidden},
		{"a browser that may read", b.browser(server.ScopeRead), scoped(server.ScopeRead), server.CodeForbidden},
	}
	for _, scope := range []server.Scopes{server.ScopeRead, server.ScopeAnswer, server.ScopeInput, server.ScopeExec, server.AllScopes} {
		rows = append(rows, row{"a token with " + scope.String(), b.token(scope), scoped(scope), server.CodeForbidden})
	}
	for _, row := range rows {
		everyRoute(t, b, func(route, method, path string, body any) {
			want := routeWants[route]
			admits := row.admits(want)
			if (route == "POST /api/signout" || route == "POST /api/devices/revoke") && admits {
				return // they have their own tests: they would end callers here
			}
			if route == "GET /api/ws" && row.refusal == server.CodeProofRequired {
				// The proof comes in the first frame there.
				if got := row.caller.do(method, path, nil).Code; got != http.StatusTeapot {
					t.Errorf("%s by %s: the socket took a wrong proof: %d", route, row.name, got)
				}
				return
			}
			before := len(b.fleet.calls)
			got := row.caller.do(method, path, body)
			if admits {
				if strings.Contains(path, sessionA) && got.Code == http.StatusNotFound {
					t.Errorf("%s by %s: does not find the session", route, row.name)
				}
				if got.Code == http.StatusUnauthorized && want != "public" || got.Code == http.StatusForbidden || got.Code >= 500 {
					if route == "GET /api/ws" && got.Code == http.StatusTeapot {
						return
					}
					t.Errorf("%s by %s: %d %s", route, row.name, got.Code, got.Body)
				}
				return
			}
			refusal := row.refusal
			if want == "host" && refusal == server.CodeProofRequired {
				refusal = server.CodeForbidden // no proof makes a device a host
			}
			if code := got.problem().Code; code != refusal {
				t.Errorf("%s by %s: %s, want %s", route, row.name, code, refusal)
			}
			if len(b.fleet.calls) != before {
				t.Errorf("%s by %s: the fleet was asked: %s", route, row.name, b.fleet.last())
			}
		})
	}
}

// boundWants are the routes outside of single sessions that a principal with a
// binding may use: they show less to it. Every other one is refused, also one
// that is new.
var boundWants = []string{
	"GET /api/me", "POST /api/signout", "GET /api/hosts", "GET /api/sessions", "GET /api/search", "GET /api/events", "GET /api/ws",
}

// Whoever is bound to a session, on every route, for that session, for another
// one, and for one of the same id on another host (THREATS S-9).
func TestRoutes_bound_principals(t *testing.T) {
	b := newBench(t)
	closedFleet(b)
	own := server.SessionKey{Host: hostA, ID: sessionA}
	ticket, _, _, err := b.auth.InviteGuest(t.Context(), auth.Console(), own, 0)
	if err != nil {
		t.Fatal(err)
	}
	binding := server.Binding{Sessions: []server.SessionKey{own}}
	guest := b.opened(ticket)
	for _, row := range []struct {
		name   string
		caller *caller
		scopes server.Scopes
	}{
		{"a guest", guest, server.ScopeRead},
		{"a bound token", b.boundToken(server.AllScopes, binding), server.AllScopes},
		{"a bound token that may read", b.boundToken(server.ScopeRead, binding), server.ScopeRead},
		{"a bound token that may type", b.boundToken(server.ScopeRead|server.ScopeInput, binding), server.ScopeRead | server.ScopeInput},
	} {
		everyRoute(t, b, func(route, method, path string, body any) {
			if routeWants[route] == "public" || route == "POST /api/signout" {
				return
			}
			if !strings.Contains(path, sessionA) {
				got := row.caller.do(method, path, body)
				admitted := got.Code < 400 || got.Code == http.StatusTeapot // the door to the socket, which wants a proof next
				if admitted != slices.Contains(boundWants, route) {
					t.Errorf("%s by %s: %d %s", route, row.name, got.Code, got.Body)
				}
				for _, foreign := range []string{sessionB, hostB, "twin", "beta"} {
					if strings.Contains(got.Body.String(), foreign) {
						t.Errorf("%s by %s tells of %s: %s", route, row.name, foreign, got.Body)
					}
				}
				return
			}
			needed, err := server.ParseScopes(routeWants[route])
			if err != nil {
				t.Fatal(err)
			}
			// A link for a guest is for those who could let anybody in.
			may := row.scopes.Has(needed) && route != "POST /api/sessions/{id}/guests"
			before := len(b.fleet.calls)
			join := "?"
			if strings.Contains(path, "?") {
				join = "&"
			}
			for _, foreign := range []string{strings.Replace(path, sessionA, sessionB, 1), path + join + "host=" + hostB} {
				want := server.CodeUnknownSession // it does not exist for them
				if !may {
					want = server.CodeForbidden
				}
				if code := row.caller.do(method, foreign, body).problem().Code; code != want {
					t.Errorf("%s for another session by %s: %s, want %s", route, row.name, code, want)
				}
			}
			if len(b.fleet.calls) != before {
				t.Errorf("%s for another session by %s: the fleet was asked: %s", route, row.name, b.fleet.last())
			}
			if got := row.caller.do(method, path, body); got.Code < 400 != may {
				t.Errorf("%s by %s: %d %s", route, row.name, got.Code, got.Body)
			}
		})
	}
}

// What a cookie alone must not do, for every route (THREATS S-8).
func TestRoutes_cookies_of_other_pages(t *testing.T) {
	b := newBench(t)
	closedFleet(b)
	browser := b.browser(server.AllScopes)
	for _, page := range []struct {
		name   string
		caller *caller
		// unsafeOnly holds for requests that change something, and sockets.
		unsafeOnly bool
	}{
		{"another port", browser.with("Origin", "http://127.0.0.1:8801").with("Sec-Fetch-Site", "same-site"), false},
		{"a sibling name", browser.with("Origin", "http://evil.127.0.0.1:7777").with("Sec-Fetch-Site", "same-site"), false},
		{"another scheme", browser.with("Origin", "https://127.0.0.1:7777"), false},
		{"a sandboxed page", browser.with("Origin", "null"), false},
		{"a page that hides its origin", browser.with("Origin", ""), true},
		{"same-site by its own word only", browser.with("Origin", "").with("Sec-Fetch-Site", "same-site"), false},
		{"cross-site by its own word only", browser.with("Origin", "").with("Sec-Fetch-Site", "cross-site"), false},
		{"an address typed by the person", browser.with("Origin", "").with("Sec-Fetch-Site", "none"), true},
	} {
		everyRoute(t, b, func(route, method, path string, body any) {
			if routeWants[route] == "public" && page.caller.headers.Get("Origin") == "" {
				return
			}
			if page.unsafeOnly && method == http.MethodGet && route != "GET /api/ws" && route != "GET /api/hosts/link" {
				return
			}
			if code := page.caller.do(method, path, body).problem().Code; code != server.CodeOrigin {
				t.Errorf("%s from %s: %s", route, page.name, code)
			}
		})
	}
}

// What holds for every route and everybody.
func TestRoutes_hostile_requests(t *testing.T) {
	b := newBench(t)
	closedFleet(b)
	admin := b.token(server.AllScopes)
	for _, test := range []struct {
		name   string
		caller *caller
		body   any
		want   server.Code
	}{
		{"another name", admin.with("Host", "evil.example"), nil, server.CodeHostHeader},
		{"a rebound name", admin.with("Host", "evil.example:7777").with("Origin", "http://evil.example:7777"), nil, server.CodeHostHeader},
		{"our name on another port", admin.with("Host", "127.0.0.1:7778"), nil, server.CodeHostHeader},
		{"no port", admin.with("Host", "127.0.0.1"), nil, server.CodeHostHeader},
		{"a hostile origin", admin.with("Origin", "https://evil.example"), nil, server.CodeOrigin},
		{"an origin that begins like ours", admin.with("Origin", origin+".evil.example"), nil, server.CodeOrigin},
		{"an origin with a path", admin.with("Origin", origin+"/"), nil, server.CodeOrigin},
		{"a worker script", admin.with("Service-Worker", "script"), nil, server.CodeWorkerScript},
		{"a form", admin.with("Content-Type", "application/x-www-form-urlencoded"), "text=x", server.CodeMediaType},
		{"text", admin.with("Content-Type", "text/plain"), `{"text":"x"}`, server.CodeMediaType},
		{"no type", admin, `{"text":"x"}`, server.CodeMediaType},
		{"a bad type", admin.with("Content-Type", "application/json; =; x"), `{}`, server.CodeMediaType},
		{"a compressed body", admin.with("Content-Type", "application/json").with("Content-Encoding", "gzip"), "\x1f\x8b", server.CodeMediaType},
	} {
		everyRoute(t, b, func(route, method, path string, _ any) {
			got := test.caller.do(method, path, test.body)
			if code := got.problem().Code; code != test.want {
				t.Errorf("%s with %s: %s, want %s", route, test.name, code, test.want)
			}
		})
	}
	if len(b.fleet.calls) != 0 {
		t.Errorf("the fleet was asked: %v", b.fleet.calls)
	}
}

// Every response carries the same policy, whatever it is.
func TestRoutes_headers(t *testing.T) {
	b := newBench(t)
	closedFleet(b)
	check := func(what string, header http.Header, isAPI bool) {
		t.Helper()
		policy := header.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe-eval") || strings.Contains(policy, "script-src 'self' 'unsafe-inline'") {
			t.Errorf("%s: policy %q", what, policy)
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin", "Referrer-Policy": "no-referrer"} {
			if got := header.Get(name); got != want {
				t.Errorf("%s: %s is %q", what, name, got)
			}
		}
		if isAPI && header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: Cache-Control is %q", what, header.Get("Cache-Control"))
		}
		for _, name := range []string{"Access-Control-Allow-Origin", "Service-Worker-Allowed", "Strict-Transport-Security"} {
			if got := header.Get(name); got != "" {
				t.Errorf("%s: %s is %q", what, name, got)
			}
		}
	}
	for _, c := range []*caller{b.stranger(), b.token(server.AllScopes)} {
		everyRoute(t, b, func(route, method, path string, body any) {
			check(route, c.do(method, path, body).Header(), true)
		})
	}
	for _, path := range []string{"/", "/sessions/x", "/sw.js", "/assets/index-abc.js", "/assets/missing.js", "/api/nonsense", "/api"} {
		check(path, b.stranger().get(path).Header(), strings.HasPrefix(path, "/api"))
	}
	check("wrong name", b.stranger().with("Host", "evil.example").get("/").Header(), false)
}
