package httpapi

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
)

func TestListSessions(t *testing.T) {
	b := newBench(t)
	reader := b.token(server.ScopeRead)
	type list struct {
		Items []server.Session
		Next  *string
	}
	keys := func(l list) string {
		var parts []string
		for _, s := range l.Items {
			parts = append(parts, string(s.Name))
		}
		return strings.Join(parts, " ")
	}
	var all list
	answer := reader.get("/api/sessions").is(http.StatusOK)
	answer.into(&all)
	if keys(all) != "b a twin" || all.Next != nil {
		t.Errorf("all: %s, next %v", keys(all), all.Next)
	}
	if strings.ContainsAny(answer.Body.String(), "\u202e\x1b") || strings.Contains(answer.Body.String(), `\u001b`) || strings.Contains(answer.Body.String(), `\u202e`) {
		t.Errorf("a title is not cleaned: %s", answer.Body)
	}
	var pages []string
	cursor := ""
	for {
		var page list
		reader.get("/api/sessions?limit=1&cursor=" + cursor).is(http.StatusOK).into(&page)
		pages = append(pages, keys(page))
		if page.Next == nil {
			break
		}
		cursor = *page.Next
	}
	if got := strings.Join(pages, "|"); got != "b|a|twin" {
		t.Errorf("pages %s", got)
	}
	for query, want := range map[string]string{"host=" + hostB: "twin", "state=exited": "b", "state=running": "a twin", "host=nobody": ""} {
		var l list
		reader.get("/api/sessions?" + query).is(http.StatusOK).into(&l)
		if keys(l) != want || l.Items == nil {
			t.Errorf("%s: %q", query, keys(l))
		}
	}
	for _, bad := range []string{"cursor=!!", "cursor=YWJj", "limit=0", "limit=501", "limit=x", "state=gone"} {
		reader.get("/api/sessions?" + bad).is(http.StatusUnprocessableEntity).refused(server.CodeInvalid)
	}
}

func TestSession_names(t *testing.T) {
	b := newBench(t)
	reader := b.token(server.ScopeRead)
	name := func(c *caller, path string) string {
		t.Helper()
		var s server.Session
		c.get(path).is(http.StatusOK).into(&s)
		return string(s.Name)
	}
	// A bare id means the session that came first, whatever another host claims.
	if got := name(reader, "/api/sessions/"+sessionA); got != "a" {
		t.Errorf("bare id is %q", got)
	}
	if got := name(reader, "/api/sessions/"+sessionA+"?host="+hostB); got != "twin" {
		t.Errorf("with its host it is %q", got)
	}
	bound := b.boundToken(server.ScopeRead|server.ScopeInput, server.Binding{Sessions: []server.SessionKey{{Host: hostB, ID: sessionA}}})
	if got := name(bound, "/api/sessions/"+sessionA); got != "twin" {
		t.Errorf("for a bound token it is %q", got)
	}
	for _, path := range []string{"/api/sessions/" + sessionB, "/api/sessions/" + sessionA + "?host=" + hostA, "/api/sessions/nonsense"} {
		bound.get(path).is(http.StatusNotFound).refused(server.CodeUnknownSession)
	}
	bound.post("/api/sessions/"+sessionB+"/input", map[string]any{"text": "x"}).is(http.StatusNotFound)
	bound.post("/api/hosts/"+hostB+"/sessions", map[string]any{"agent": "shell"}).is(http.StatusForbidden)
	var hosts struct{ Items []server.Host }
	bound.get("/api/hosts").is(http.StatusOK).into(&hosts)
	if len(hosts.Items) != 1 || hosts.Items[0].ID != hostB {
		t.Errorf("a bound token sees hosts %v", hosts.Items)
	}
}

func TestSession_actions(t *testing.T) {
	b := newBench(t)
	c := b.token(server.ScopeInput)
	running, ended := "/api/sessions/"+sessionA, "/api/sessions/"+sessionB
	for _, test := range []struct {
		method, path string
		body         any
		status       int
		asked        string
	}{
		{http.MethodPatch, running, map[string]any{"name": " new\x1b name "}, http.StatusNoContent, "rename " + hostA + "/" + sessionA + " new name"},
		{http.MethodDelete, running, nil, http.StatusOK, "kill " + hostA + "/" + sessionA},
		{http.MethodDelete, ended, nil, http.StatusOK, "forget " + hostA + "/" + sessionB},
		{http.MethodDelete, running + "?host=" + hostB, nil, http.StatusOK, "kill " + hostB + "/" + sessionA},
		{http.MethodPost, running + "/signal", map[string]any{"signal": "ctrl-c"}, http.StatusNoContent, "signal " + hostA + "/" + sessionA + " ctrl-c"},
		{http.MethodPost, running + "/resize", map[string]any{"cols": 120, "rows": 40}, http.StatusAccepted, "resize " + hostA + "/" + sessionA},
	} {
		c.do(test.method, test.path, test.body).is(test.status)
		if got := b.fleet.last(); got != test.asked {
			t.Errorf("%s %s: the fleet was asked %q, want %q", test.method, test.path, got, test.asked)
		}
	}
	asked := len(b.fleet.calls)
	c.post(ended+"/signal", map[string]any{"signal": "esc"}).is(http.StatusConflict).refused(server.CodeSessionEnded)
	c.post(ended+"/resize", map[string]any{"cols": 80, "rows": 24}).refused(server.CodeSessionEnded)
	for path, body := range map[string]any{"/signal": map[string]any{"signal": "stop"}, "/resize": map[string]any{"cols": 0, "rows": 24}} {
		c.post(running+path, body).is(http.StatusUnprocessableEntity).refused(server.CodeInvalid)
	}
	c.do(http.MethodPatch, running, map[string]any{"name": "\u200b"}).refused(server.CodeInvalid)
	if len(b.fleet.calls) != asked {
		t.Errorf("refused requests reached the fleet: %v", b.fleet.calls[asked:])
	}
}

func TestStartSession(t *testing.T) {
	b := newBench(t)
	path := "/api/hosts/" + hostA + "/sessions"
	input, exec := b.token(server.ScopeInput), b.token(server.ScopeExec)
	var started struct{ ID, Host string }
	exec.post(path, map[string]any{"argv": []string{"sh", "-c", "true"}, "cwd": "/src", "cols": 100, "rows": 30}).is(http.StatusCreated).into(&started)
	if started.ID != sessionA || started.Host != hostA || !strings.Contains(b.fleet.last(), `"argv":["sh","-c","true"]`) {
		t.Errorf("started %+v, asked %s", started, b.fleet.last())
	}
	input.post(path, map[string]any{"agent": "claude"}).is(http.StatusCreated)
	input.post(path, map[string]any{"argv": []string{"sh"}}).is(http.StatusForbidden)
	exec.post(path, map[string]any{"agent": "claude"}).is(http.StatusForbidden)
	for _, bad := range []map[string]any{{}, {"agent": "claude", "argv": []string{"sh"}}, {"agent": "claude", "cols": 80}, {"argv": "sh"}, {"unknown": 1, "agent": "claude"}} {
		input.post(path, bad).is(http.StatusUnprocessableEntity).refused(server.CodeInvalid)
	}
}

// What a host says is wrong is told as its word; what is wrong inside is not told.
func TestErrors(t *testing.T) {
	b := newBench(t)
	c := b.token(server.AllScopes)
	path := "/api/sessions/" + sessionA + "/input"
	for _, test := range []struct {
		fault error
		code  server.Code
		says  string
	}{
		{server.NewError(server.CodeHostOffline), server.CodeHostOffline, "not connected"},
		{fmt.Errorf("wrapped: %w", server.NewError(server.CodeInputBlocked)), server.CodeInputBlocked, "does not read"},
		{&wire.Fault{Code: "invalid", Message: "no\x1b such key"}, server.CodeInvalid, "no such key"},
		{&wire.Fault{Code: "unauthenticated", Message: "sign out"}, server.CodeInternal, ""},
		{fmt.Errorf("database is on fire at /secret/path"), server.CodeInternal, "its log says"},
	} {
		b.fleet.fail = test.fault
		sentence := c.post(path, map[string]any{"text": "x"}).refused(test.code)
		if !strings.Contains(sentence, test.says) || strings.Contains(sentence, "secret") || strings.Contains(sentence, "\x1b") {
			t.Errorf("%v is told as %q", test.fault, sentence)
		}
	}
	if !strings.Contains(b.log.String(), "on fire") {
		t.Errorf("the log does not say what is wrong: %s", b.log)
	}
}

func TestErrors_of_requests(t *testing.T) {
	b := newBench(t)
	c := b.token(server.AllScopes)
	json := c.with("Content-Type", "application/json")
	path := "/api/sessions/" + sessionA + "/input"
	json.post(path, `{"text":`).is(http.StatusBadRequest).refused(server.CodeInvalid)
	json.post(path, `{"text":1}`).is(http.StatusUnprocessableEntity).refused(server.CodeInvalid)
	problem := c.post("/api/sessions/"+sessionA+"/resize", map[string]any{"cols": 5000, "rows": 24}).problem()
	if len(problem.Errors) != 1 || problem.Errors[0].Location != "body.cols" {
		t.Errorf("fields %+v", problem.Errors)
	}
	json.post(path, `{"text":"`+strings.Repeat("x", maxBody)+`"}`).is(http.StatusRequestEntityTooLarge).refused(server.CodeTooLarge)
	b.stranger().with("Content-Type", "application/json").post("/api/pair", `{"name":"`+strings.Repeat("x", maxBodyUnauthenticated)+`"}`).
		is(http.StatusRequestEntityTooLarge).refused(server.CodeTooLarge)
	c.get("/api/nonsense").is(http.StatusNotFound).refused(server.CodeNotFound)
	c.get("/api").is(http.StatusNotFound).refused(server.CodeNotFound)
	c.do(http.MethodPut, "/api/sessions", nil).is(http.StatusMethodNotAllowed).refused(server.CodeMethod)
	c.post("/api/sessions", map[string]any{}).is(http.StatusMethodNotAllowed)
	c.do(http.MethodPost, "/", nil).is(http.StatusMethodNotAllowed)
}

func TestInput(t *testing.T) {
	b := newBench(t)
	c := b.token(server.ScopeInput)
	path := "/api/sessions/" + sessionA + "/input"
	type body map[string]any
	for _, test := range []struct {
		body body
		want []Input
	}{
		{body{"text": "ls\x1b"}, []Input{{Kind: wire.InputBytes, Data: []byte("ls\x1b")}}},
		{body{"text": "ls", "submit": true}, []Input{{Kind: wire.InputSubmit, Data: []byte("ls")}}},
		{body{"submit": true}, []Input{{Kind: wire.InputSubmit, Data: []byte("")}}},
		{body{"keys": []string{"up", "ctrl+c"}}, []Input{{Kind: wire.InputKeys, Data: []byte("up ctrl+c")}}},
		{body{"text": "y", "keys": []string{"enter"}}, []Input{{Kind: wire.InputBytes, Data: []byte("y")}, {Kind: wire.InputKeys, Data: []byte("enter")}}},
	} {
		b.fleet.inputs = nil
		var applied struct{ Status string }
		c.post(path, test.body).is(http.StatusOK).into(&applied)
		if got, want := fmt.Sprint(b.fleet.inputs), fmt.Sprint(test.want); got != want || applied.Status != "applied" {
			t.Errorf("%v: %s, want %s (%s)", test.body, got, want, applied.Status)
		}
	}
	b.fleet.inputs = nil
	for _, bad := range []body{{}, {"text": ""}, {"keys": []string{}}, {"keys": []string{"up down"}}, {"keys": []string{""}}, {"submit": true, "keys": []string{"up"}},
		{"text": strings.Repeat("é", wire.MaxInput)}} {
		if code := c.post(path, bad).problem().Code; code != server.CodeInvalid && code != server.CodeTooLarge {
			t.Errorf("%.40v: %s", bad, code)
		}
	}
	if len(b.fleet.inputs) != 0 {
		t.Errorf("bad requests typed %v", b.fleet.inputs)
	}
}

func TestInput_idempotency(t *testing.T) {
	b := newBench(t)
	c, other := b.token(server.ScopeInput), b.token(server.ScopeInput)
	path := "/api/sessions/" + sessionA + "/input"
	hello := map[string]any{"text": "hello"}
	name := func(c *caller, key string, body any) string {
		t.Helper()
		b.fleet.inputs = nil
		c.with("Idempotency-Key", key).post(path, body).is(http.StatusOK)
		return b.fleet.inputs[0].Idempotency
	}
	first := name(c, "k1", hello)
	if first == "" || name(c, "k1", hello) != first {
		t.Error("the same request has another name")
	}
	for what, got := range map[string]string{"another key": name(c, "k2", hello), "another principal": name(other, "k1", hello), "no key": name(c, "", hello)} {
		if got == first {
			t.Errorf("%s has the same name", what)
		}
	}
	c.with("Idempotency-Key", "k1").post(path, map[string]any{"text": "other"}).is(http.StatusConflict).refused(server.CodeConflict)
	// Two operations of one request are told apart.
	b.fleet.inputs = nil
	c.with("Idempotency-Key", "k3").post(path, map[string]any{"text": "y", "keys": []string{"enter"}}).is(http.StatusOK)
	if b.fleet.inputs[0].Idempotency == b.fleet.inputs[1].Idempotency {
		t.Error("text and keys have one name")
	}
	// The memory is bounded, and an old key works again.
	for i := range maxRemembered + 10 {
		name(c, fmt.Sprint("many", i), hello)
	}
	if got := len(b.api.idempotency.bodies); got != maxRemembered || len(b.api.idempotency.order) != maxRemembered {
		t.Errorf("remembers %d keys", got)
	}
	name(c, "k1", map[string]any{"text": "other"})
}

func TestScreen(t *testing.T) {
	b := newBench(t)
	c := b.token(server.ScopeRead)
	for format, mediaType := range map[string]string{"": "text/plain; charset=utf-8", "?format=text": "text/plain; charset=utf-8", "?format=ansi": "text/plain; charset=utf-8", "?format=json": "application/json"} {
		answer := c.get("/api/sessions/" + sessionA + "/screen" + format).is(http.StatusOK)
		if !strings.HasPrefix(answer.Body.String(), "<script>") {
			t.Errorf("%q: %s", format, answer.Body)
		}
		for name, want := range map[string]string{
			"Content-Type": mediaType, "Cache-Control": "no-store", "X-Content-Type-Options": "nosniff",
			"Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'none'", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := answer.Header().Get(name); got != want {
				t.Errorf("%q: %s is %q, want %q", format, name, got, want)
			}
		}
	}
	c.get("/api/sessions/" + sessionA + "/screen?format=html").is(http.StatusUnprocessableEntity)
	c.get("/api/sessions/nonsense/screen").is(http.StatusNotFound).refused(server.CodeUnknownSession)
}

func TestScrollback(t *testing.T) {
	b := newBench(t)
	c := b.token(server.ScopeRead)
	var page struct {
		Items []json.RawMessage
		Next  *string
	}
	path := "/api/sessions/" + sessionA + "/scrollback"
	c.get(path).is(http.StatusOK).into(&page)
	if len(page.Items) != 2 || page.Next == nil || *page.Next != "8" {
		t.Errorf("page %+v", page)
	}
	b.fleet.page = `{"lines":null,"more":false}`
	answer := c.get(path + "?cursor=8").is(http.StatusOK)
	if got := strings.TrimSpace(answer.Body.String()); got != `{"items":[],"next":null}` {
		t.Errorf("the end is %s", got)
	}
	c.get(path + "?cursor=x").refused(server.CodeInvalid)
}

func TestEvents(t *testing.T) {
	b := newBench(t)
	server := httptest.NewUnstartedServer(b.api)
	server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = "127.0.0.1:7777"
		b.api.ServeHTTP(w, r)
	})
	server.Start()
	defer server.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+"/api/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header = b.token(1).headers
	response, err := server.Client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if got := response.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("type %s, %s", got, response.Status)
	}
	lines := bufio.NewScanner(response.Body)
	read := func() string {
		t.Helper()
		var block []string
		for lines.Scan() && lines.Text() != "" {
			block = append(block, lines.Text())
		}
		return strings.Join(block, "\n")
	}
	if got := read(); !strings.HasPrefix(got, ":") {
		t.Errorf("first block %q", got)
	}
	b.fleet.events <- []wire.Event{{Kind: wire.EventSnapshot, Body: json.RawMessage(`{"hosts":[]}`)}, {Kind: wire.EventHost, Body: json.RawMessage(`{}`)}}
	if got := read(); got != "event: snapshot\ndata: {\"hosts\":[]}" {
		t.Errorf("snapshot %q", got)
	}
	if got := read(); got != "event: host\ndata: {}" {
		t.Errorf("host %q", got)
	}
	close(b.fleet.events)
	if got := read(); got != "" {
		t.Errorf("after the end %q", got)
	}
}
