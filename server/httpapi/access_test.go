package httpapi

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/auth"
)

func TestPair_ticket(t *testing.T) {
	b := newBench(t)
	ticket, _, err := b.auth.CreateTicket(t.Context(), auth.Console(), server.AllScopes)
	if err != nil {
		t.Fatal(err)
	}
	// A preview bot, or anybody else who only reads, does not use it up.
	for _, path := range []string{"/?t=" + ticket, "/api/pair", "/api/pair?ticket=" + ticket} {
		b.stranger().get(path)
		b.stranger().do(http.MethodHead, path, nil)
	}
	for _, body := range []map[string]any{{"name": "x"}, {"name": "x", "ticket": ticket, "code": "222222"}, {"ticket": ticket}, {"ticket": ticket, "name": ""}} {
		b.stranger().post("/api/pair", body).is(http.StatusUnprocessableEntity).refused(server.CodeInvalid)
	}
	answer := b.stranger().post("/api/pair", map[string]any{"ticket": ticket, "name": "Pix\u202eel\x1b 7", "from": "a newer app"}).is(http.StatusOK)
	var paired struct {
		Name, Proof string
		Scopes      []string
		Insecure    bool
	}
	answer.into(&paired)
	if paired.Name != "Pixel 7" || paired.Proof == "" || len(paired.Scopes) != 5 || paired.Insecure {
		t.Errorf("paired %+v", paired)
	}
	cookie := answer.Result().Cookies()
	if len(cookie) != 1 || cookie[0].Name != "agent_helm" || !cookie[0].HttpOnly || cookie[0].SameSite != http.SameSiteLaxMode {
		t.Errorf("cookies %v", cookie)
	}
	sentence := b.stranger().post("/api/pair", map[string]any{"ticket": ticket, "name": "thief"}).is(http.StatusGone).refused(server.CodeTicketUsed)
	if !strings.Contains(sentence, "already used at") || !strings.Contains(sentence, "Pixel 7") {
		t.Errorf("second use: %s", sentence)
	}
	b.stranger().post("/api/pair", map[string]any{"ticket": "wrong", "name": "x"}).is(http.StatusUnauthorized).refused(server.CodeTicketInvalid)
}

func TestPair_code(t *testing.T) {
	b := newBench(t)
	admin := b.token(server.AllScopes)
	var made struct {
		ID, Code, URL string
		ExpiresMS     int64 `json:"expires_ms"`
	}
	admin.post("/api/codes", map[string]any{"kind": "device", "scopes": []string{"read"}}).is(http.StatusCreated).into(&made)
	if len(made.Code) != 6 || made.URL != origin || made.ExpiresMS <= 0 {
		t.Fatalf("code %+v", made)
	}
	state := func(want string) {
		t.Helper()
		var status struct{ State string }
		admin.get("/api/codes/" + made.ID).is(http.StatusOK).into(&status)
		if status.State != want {
			t.Errorf("state %q, want %q", status.State, want)
		}
	}
	state("live")
	b.stranger().post("/api/pair", map[string]any{"code": "222222", "name": "x"}).is(http.StatusUnauthorized).refused(server.CodePairCode)
	var paired struct{ Scopes []string }
	b.stranger().post("/api/pair", map[string]any{"code": strings.ToLower(made.Code), "name": "phone"}).is(http.StatusOK).into(&paired)
	if len(paired.Scopes) != 1 || paired.Scopes[0] != "read" {
		t.Errorf("scopes %v", paired.Scopes)
	}
	state("used")
	// The device sees no more than its scopes in the matrix; here, that guessing ends.
	for range 3 {
		b.stranger().post("/api/pair", map[string]any{"code": "222222", "name": "x"}).refused(server.CodePairCode)
	}
	refused := b.stranger().post("/api/pair", map[string]any{"code": "222222", "name": "x"}).is(http.StatusTooManyRequests)
	refused.refused(server.CodeTooManyTries)
	if got := refused.Header().Get("Retry-After"); got != "60" {
		t.Errorf("Retry-After %q", got)
	}
	if got := b.stranger().get("/api/me").is(http.StatusUnauthorized).Header().Get("WWW-Authenticate"); got != "Bearer" {
		t.Errorf("WWW-Authenticate %q", got)
	}
	admin.post("/api/codes", map[string]any{"kind": "robot"}).is(http.StatusUnprocessableEntity)
	admin.post("/api/codes", map[string]any{"kind": "device", "scopes": []string{"root"}}).refused(server.CodeInvalid)
}

func TestRegisterHost(t *testing.T) {
	b := newBench(t)
	var made struct{ Code string }
	b.token(server.AllScopes).post("/api/codes", map[string]any{"kind": "host"}).is(http.StatusCreated).into(&made)
	var host struct {
		HostID string `json:"host_id"`
		Name   string
		Token  string
	}
	b.stranger().post("/api/hosts/register", map[string]any{"code": made.Code, "name": "lap\x1btop", "os": "linux", "arch": "arm64", "version": "9"}).is(http.StatusCreated).into(&host)
	if host.Name != "laptop" || host.HostID == "" || !strings.HasPrefix(host.Token, "ah_") || b.fleet.last() != "add laptop" {
		t.Errorf("host %+v, fleet %q", host, b.fleet.last())
	}
	link := &caller{b: b, headers: http.Header{"Authorization": {"Bearer " + host.Token}}}
	link.get("/api/hosts/link").is(http.StatusSwitchingProtocols)
	admin := b.token(server.AllScopes)
	admin.do(http.MethodDelete, "/api/hosts/"+host.HostID, nil).is(http.StatusNoContent)
	if b.fleet.last() != "remove "+host.HostID {
		t.Errorf("fleet %q", b.fleet.last())
	}
	link.get("/api/hosts/link").is(http.StatusUnauthorized)
	admin.do(http.MethodDelete, "/api/hosts/"+host.HostID, nil).is(http.StatusNotFound).refused(server.CodeUnknownHost)
}

func TestDevices(t *testing.T) {
	b := newBench(t)
	admin, reader := b.browser(server.AllScopes), b.browser(server.ScopeRead)
	var listed struct{ Items []server.Device }
	admin.get("/api/devices").is(http.StatusOK).into(&listed)
	if len(listed.Items) != 2 || listed.Items[0].Current == listed.Items[1].Current {
		t.Errorf("devices %+v", listed.Items)
	}
	reader.do(http.MethodDelete, "/api/devices/"+admin.device, nil).is(http.StatusForbidden)
	admin.do(http.MethodDelete, "/api/devices/nobody", nil).is(http.StatusNotFound).refused(server.CodeUnknownDevice)

	admin.do(http.MethodDelete, "/api/devices/"+reader.device, nil).is(http.StatusNoContent)
	answer := reader.get("/api/me").is(http.StatusUnauthorized)
	answer.refused(server.CodeRevoked)
	if got := answer.Header().Get("Clear-Site-Data"); !strings.Contains(got, "storage") {
		t.Errorf("a revoked browser keeps what it has: Clear-Site-Data %q", got)
	}
	if cookies := answer.Result().Cookies(); len(cookies) != 1 || cookies[0].MaxAge >= 0 {
		t.Errorf("a revoked browser keeps its cookie: %v", cookies)
	}
	// A device may end itself, whatever its scopes.
	self := b.browser(server.ScopeRead)
	self.do(http.MethodDelete, "/api/devices/"+self.device, nil).is(http.StatusNoContent)
	self.get("/api/me").is(http.StatusUnauthorized)
}

func TestSignOut(t *testing.T) {
	b := newBench(t)
	browser := b.browser(server.ScopeRead)
	answer := browser.post("/api/signout", nil).is(http.StatusNoContent)
	if cookies := answer.Result().Cookies(); len(cookies) != 1 || cookies[0].MaxAge >= 0 {
		t.Errorf("cookies %v", cookies)
	}
	browser.get("/api/me").is(http.StatusUnauthorized)
	b.token(server.ScopeRead).post("/api/signout", nil).is(http.StatusUnprocessableEntity)
}

func TestMe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		browser := b.browser(server.ScopeRead)
		answer := browser.get("/api/me").is(http.StatusOK)
		var me struct {
			Kind, ID, Name, Version, URL string
			Scopes                       []string
			Insecure                     bool
		}
		answer.into(&me)
		if me.Kind != "device" || me.ID != browser.device || me.Name != "Pixel" || me.Version != "1.2.3" || me.Insecure || len(me.Scopes) != 1 {
			t.Errorf("me %+v", me)
		}
		if cookies := answer.Result().Cookies(); len(cookies) != 0 {
			t.Errorf("a fresh cookie was replaced: %v", cookies)
		}
		time.Sleep(25 * time.Hour)
		if cookies := browser.get("/api/me").is(http.StatusOK).Result().Cookies(); len(cookies) != 1 {
			t.Errorf("a day later: cookies %v", cookies)
		}
	})
}

func TestTokens(t *testing.T) {
	b := newBench(t)
	admin := b.browser(server.AllScopes)
	key := server.SessionKey{Host: hostA, ID: sessionA}
	var made struct {
		Token Token
		Text  string
	}
	admin.post("/api/tokens", map[string]any{"name": "ci", "scopes": []string{"read"}, "sessions": []any{key}, "expires_ms": 3600_000}).is(http.StatusCreated).into(&made)
	if made.Token.Name != "ci" || made.Token.CreatedBy != "device Pixel" || made.Token.ExpiresMS <= 0 || made.Token.LastUsedMS != -1 {
		t.Errorf("token %+v", made.Token)
	}
	admin.post("/api/tokens", map[string]any{"name": "ci", "scopes": []string{"read"}}).is(http.StatusConflict).refused(server.CodeNameTaken)
	guest := &caller{b: b, headers: http.Header{"Authorization": {"Bearer " + made.Text}}}
	var sessions struct{ Items []server.Session }
	guest.get("/api/sessions").is(http.StatusOK).into(&sessions)
	if len(sessions.Items) != 1 || sessions.Items[0].Key() != key {
		t.Errorf("a bound token sees %v", sessions.Items)
	}
	var listed struct{ Items []Token }
	admin.get("/api/tokens").is(http.StatusOK).into(&listed)
	if len(listed.Items) != 1 || listed.Items[0].ID != made.Token.ID || listed.Items[0].LastUsedMS < 0 {
		t.Errorf("tokens %+v", listed.Items)
	}
	if strings.Contains(admin.get("/api/tokens").Body.String(), made.Text) {
		t.Error("the list shows the secret")
	}
	admin.do(http.MethodDelete, "/api/tokens/"+made.Token.ID, nil).is(http.StatusNoContent)
	guest.get("/api/sessions").is(http.StatusUnauthorized).refused(server.CodeRevoked)
}

// Nothing is trusted for its source address or for what a header claims.
func TestAuth_source_address(t *testing.T) {
	b := newBench(t)
	c := b.stranger().with("X-Forwarded-For", "127.0.0.1").with("X-Real-Ip", "127.0.0.1").with("Forwarded", "for=127.0.0.1").
		with("Tailscale-User-Login", "owner@example.com").with("X-Webauth-User", "owner")
	c.get("/api/sessions").is(http.StatusUnauthorized)
	b.stranger().get("/api/sessions").is(http.StatusUnauthorized)
}

func TestInsecureLAN(t *testing.T) {
	b := newBench(t, func(c *Config) {
		c.Sites = &Sites{Listen: netip.MustParseAddrPort("127.0.0.1:7777"), Insecure: true}
	})
	browser := b.browser(server.AllScopes)
	var me struct {
		Scopes   []string
		Insecure bool
	}
	browser.get("/api/me").is(http.StatusOK).into(&me)
	if got := strings.Join(me.Scopes, ","); got != "read,input,answer" || !me.Insecure {
		t.Errorf("me %+v", me)
	}
	for _, c := range []*caller{browser, b.token(server.AllScopes)} {
		sentence := c.get("/api/devices").is(http.StatusForbidden).refused(server.CodeForbidden)
		if !strings.Contains(sentence, "https") {
			t.Errorf("the refusal does not say why: %s", sentence)
		}
		c.post("/api/hosts/"+hostA+"/sessions", map[string]any{"argv": []string{"sh"}}).is(http.StatusForbidden)
		c.post("/api/sessions/"+sessionA+"/input", map[string]any{"text": "x"}).is(http.StatusOK)
	}
}

func TestTLS_cookie_needs_no_proof(t *testing.T) {
	b := newBench(t, func(c *Config) {
		c.Sites.Public = append(c.Sites.Public, publicURL(t, "https://helm.example"))
	})
	const public = "https://helm.example"
	ticket, _, err := b.auth.CreateTicket(t.Context(), auth.Console(), server.AllScopes)
	if err != nil {
		t.Fatal(err)
	}
	browser := b.stranger().with("Host", "helm.example").with("Origin", public)
	answer := browser.post("/api/pair", map[string]any{"ticket": ticket, "name": "x"}).is(http.StatusOK)
	cookie := answer.Result().Cookies()[0]
	if cookie.Name != "__Host-agent_helm" || !cookie.Secure || answer.Header().Get("Strict-Transport-Security") == "" {
		t.Errorf("cookie %s, HSTS %q", cookie, answer.Header().Get("Strict-Transport-Security"))
	}
	browser.headers.Set("Cookie", cookie.Name+"="+cookie.Value)
	browser.get("/api/me").is(http.StatusOK)
	browser.get("/api/ws").is(http.StatusSwitchingProtocols)
	browser.with("Origin", "").get("/api/ws").is(http.StatusForbidden).refused(server.CodeOrigin)
	// Whoever gets at the cookie and speaks to the plain port has nothing.
	browser.with("Host", "127.0.0.1:7777").with("Origin", origin).get("/api/me").is(http.StatusUnauthorized)
}

func TestViewerSocket_proof(t *testing.T) {
	b := newBench(t)
	browser := b.browser(server.ScopeRead)
	proof := browser.headers.Get(auth.ProofHeader)
	browser = browser.with(auth.ProofHeader, "")
	browser.get("/api/ws?hello-proof=" + proof).is(http.StatusSwitchingProtocols)
	browser.get("/api/ws?hello-proof=x").is(http.StatusTeapot)
	b.token(server.ScopeRead).get("/api/ws").is(http.StatusSwitchingProtocols)
}
