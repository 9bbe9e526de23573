package httpapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/auth"
)

const proxySecret = "0123456789abcdef0123"

func proxies(t *testing.T, networks ...string) *Proxies {
	t.Helper()
	p, err := ParseProxies(networks, proxySecret)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Which address is believed, and from whom (THREATS S-20).
func TestProxies_client(t *testing.T) {
	behind := proxies(t, "127.0.0.1", "172.18.0.0/16", "2001:db8::/32")
	for _, test := range []struct {
		name    string
		proxies *Proxies
		peer    string
		headers map[string][]string
		want    string
	}{
		{"nobody is trusted", nil, "127.0.0.1:5", map[string][]string{ProxySecretHeader: {proxySecret}, "X-Forwarded-For": {"198.51.100.9"}}, "127.0.0.1"},
		{"a proxy", behind, "127.0.0.1:5", map[string][]string{ProxySecretHeader: {proxySecret}, "X-Forwarded-For": {"198.51.100.9"}}, "198.51.100.9"},
		{"another program of the proxy's machine", behind, "127.0.0.1:5", map[string][]string{"X-Forwarded-For": {"198.51.100.9"}}, "127.0.0.1"},
		{"a wrong secret", behind, "127.0.0.1:5", map[string][]string{ProxySecretHeader: {proxySecret + "x"}, "X-Forwarded-For": {"198.51.100.9"}}, "127.0.0.1"},
		{"two secrets", behind, "127.0.0.1:5", map[string][]string{ProxySecretHeader: {proxySecret, "x"}, "X-Forwarded-For": {"198.51.100.9"}}, "127.0.0.1"},
		{"the secret from elsewhere", behind, "192.0.2.7:5", map[string][]string{ProxySecretHeader: {proxySecret}, "X-Forwarded-For": {"198.51.100.9"}}, "192.0.2.7"},
		{"what the caller wrote", behind, "127.0.0.1:5", map[string][]string{ProxySecretHeader: {proxySecret}, "X-Forwarded-For": {"10.0.0.1, 198.51.100.9"}}, "198.51.100.9"},
		{"two proxies", behind, "127.0.0.1:5", map[string][]string{ProxySecretHeader: {proxySecret}, "X-Forwarded-For": {"10.0.0.1, 198.51.100.9, 172.18.0.3"}}, "198.51.100.9"},
		{"several headers", behind, "127.0.0.1:5", map[string][]string{ProxySecretHeader: {proxySecret}, "X-Forwarded-For": {"10.0.0.1", "198.51.100.9", "172.18.0.3"}}, "198.51.100.9"},
		{"a port", behind, "127.0.0.1:5", map[string][]string{ProxySecretHeader: {proxySecret}, "X-Forwarded-For": {"198.51.100.9:4433"}}, "198.51.100.9"},
		{"IPv6", behind, "[2001:db8::1]:5", map[string][]string{ProxySecretHeader: {proxySecret}, "X-Forwarded-For": {"[2001:4860::9]:4433"}}, "2001:4860::9"},
		{"no address", behind, "127.0.0.1:5", map[string][]string{ProxySecretHeader: {proxySecret}, "X-Forwarded-For": {"198.51.100.9, unknown"}}, "127.0.0.1"},
		{"other headers", behind, "127.0.0.1:5", map[string][]string{ProxySecretHeader: {proxySecret}, "Forwarded": {"for=198.51.100.9"}, "X-Real-Ip": {"198.51.100.9"}}, "127.0.0.1"},
		{"a socket", &Proxies{Socket: true}, "@", map[string][]string{"X-Forwarded-For": {"10.0.0.1, 198.51.100.9"}}, "198.51.100.9"},
		{"endless", behind, "127.0.0.1:5", map[string][]string{ProxySecretHeader: {proxySecret}, "X-Forwarded-For": {strings.Repeat("198.51.100.9,", 1000) + strings.Repeat("172.18.0.3,", 20) + "172.18.0.3"}}, "172.18.0.3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.RemoteAddr = test.peer
			for name, values := range test.headers {
				r.Header[http.CanonicalHeaderKey(name)] = values
			}
			at := Way{Sites: &Sites{}, Proxies: test.proxies}.arrive(r)
			if at.address != test.want {
				t.Errorf("address %q, want %q", at.address, test.want)
			}
			if len(r.Header) != 0 {
				t.Errorf("handlers see %v", r.Header)
			}
		})
	}
}

func TestParseProxies(t *testing.T) {
	if p, err := ParseProxies(nil, ""); p != nil || err != nil {
		t.Errorf("nothing given: %v, %v", p, err)
	}
	for _, bad := range []struct {
		networks []string
		secret   string
	}{
		{[]string{"127.0.0.1"}, ""}, {nil, proxySecret}, {[]string{"127.0.0.1"}, "short"}, {[]string{"nginx"}, proxySecret},
		{[]string{"0.0.0.0/0"}, proxySecret}, {[]string{"::/0"}, proxySecret}, {[]string{"127.0.0.1/40"}, proxySecret},
	} {
		if p, err := ParseProxies(bad.networks, bad.secret); err == nil {
			t.Errorf("%v, %q became %v", bad.networks, bad.secret, p)
		}
	}
}

// Headers that say who somebody is change nothing, whoever sends them, and are
// told of once.
func TestWay_identity_headers(t *testing.T) {
	b := newBench(t)
	c := b.stranger()
	for _, name := range append(identityHeaders, forwardHeaders...) {
		c.headers.Set(name, "owner@example.com")
	}
	for range 3 {
		c.get("/api/me").refused(server.CodeUnauthenticated)
	}
	if n := strings.Count(b.log.String(), "not trusted were ignored"); n != 1 {
		t.Errorf("told %d times", n)
	}
	browser := b.browser(server.AllScopes).with("Tailscale-User-Login", "somebody@example.com")
	browser.get("/api/me").is(http.StatusOK)
}

// A proxy that also listens on plain HTTP does not make it https.
func TestWay_plain_behind_proxy(t *testing.T) {
	b := newBench(t, func(c *Config) {
		c.Sites.Public = append(c.Sites.Public, publicURL(t, "https://helm.example"))
		c.Proxies = proxies(t, "192.0.2.7")
	})
	c := b.stranger().with("Host", "helm.example").with(ProxySecretHeader, proxySecret)
	answer := c.with("X-Forwarded-Proto", "http").get("/api/health")
	answer.refused(server.CodePlainHTTP)
	if answer.Header().Get("Strict-Transport-Security") != "" {
		t.Error("HSTS over plain HTTP")
	}
	c.with("X-Forwarded-Proto", "https").get("/api/health").is(http.StatusOK)
	// From anybody else the header means nothing.
	b.stranger().with("Host", "helm.example").with("X-Forwarded-Proto", "http").get("/api/health").is(http.StatusOK)
}

// Tailnet identity admits to the door, and a device belongs to one (S-1).
func TestWay_tailnet(t *testing.T) {
	b := newBench(t)
	var caller string
	way := Way{
		Sites: &Sites{},
		Identify: func(_ context.Context, remoteAddr string) ([]string, error) {
			if caller == "" {
				return nil, server.NewError(server.CodeTailnet)
			}
			if remoteAddr != "192.0.2.7:5000" {
				t.Errorf("asked for %s", remoteAddr)
			}
			return []string{caller}, nil
		},
	}
	way.Sites.SetPublic(publicURL(t, "https://helm.tail.ts.net"))
	main := b.api.handler
	overTailnet := func(who string) {
		caller, b.api.handler = who, b.api.By(way)
	}
	ticket, _, err := b.auth.CreateTicket(t.Context(), auth.Console(), server.AllScopes)
	if err != nil {
		t.Fatal(err)
	}
	c := b.stranger().with("Host", "helm.tail.ts.net").with("Origin", "https://helm.tail.ts.net")
	overTailnet("")
	c.get("/api/health").refused(server.CodeTailnet)
	c.get("/").refused(server.CodeTailnet)
	overTailnet("alice@example.com")
	c.get("/api/health").is(http.StatusOK)
	c.with("Host", "127.0.0.1:7777").get("/api/health").refused(server.CodeHostHeader)
	c.post("/api/sessions/"+sessionA+"/input", map[string]string{"text": "y"}).refused(server.CodeUnauthenticated)

	answer := c.post("/api/pair", map[string]string{"ticket": ticket, "name": "Pixel"}).is(http.StatusOK)
	for _, cookie := range answer.Result().Cookies() {
		if !cookie.Secure || cookie.Name != auth.SecureCookieName {
			t.Errorf("cookie %+v", cookie)
		}
		c.headers.Add("Cookie", cookie.Name+"="+cookie.Value)
	}
	c.get("/api/me").is(http.StatusOK)
	overTailnet("mallory@example.com")
	c.get("/api/me").refused(server.CodeUnauthenticated)
	// A copy of it is of no use on the other listener either.
	b.api.handler = main
	c.with("Host", "127.0.0.1:7777").with("Origin", origin).get("/api/me").refused(server.CodeUnauthenticated)
	overTailnet("alice@example.com")
	c.get("/api/me").is(http.StatusOK)
}

func FuzzProxies(f *testing.F) {
	f.Add("10.0.0.1, 198.51.100.9", "127.0.0.1:5")
	f.Add("[::1]:5,,,unknown", "@")
	behind, err := ParseProxies([]string{"127.0.0.1"}, proxySecret)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, forwarded, peer string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.RemoteAddr = peer
		r.Header.Set("X-Forwarded-For", forwarded)
		r.Header.Set(ProxySecretHeader, proxySecret)
		address := Way{Sites: &Sites{}, Proxies: behind}.arrive(r).address
		if strings.ContainsAny(address, " ,\n\x1b") && strings.ContainsAny(forwarded, " ,\n\x1b") && !strings.Contains(peer, address) {
			t.Errorf("%q from %q", address, forwarded)
		}
	})
}

// What a request shows of itself, to anybody; the rest needs the scope admin.
func TestCheck(t *testing.T) {
	b := newBench(t, func(c *Config) {
		c.Sites.Public = append(c.Sites.Public, publicURL(t, "https://helm.example"))
		c.Proxies = proxies(t, "192.0.2.7")
		c.Check = func() ServerCheck { return ServerCheck{Listen: "here", Advice: []string{"do this"}} }
	})
	type check struct {
		Secure, Insecure, Public, Tailnet bool
		Proxy                             string
	}
	for _, test := range []struct {
		name   string
		caller *caller
		want   check
	}{
		{"on this machine", b.stranger(), check{Proxy: "none"}},
		{"the public address", b.stranger().with("Host", "helm.example"), check{Secure: true, Public: true, Proxy: "none"}},
		{"a proxy that is not trusted", b.stranger().with("Host", "helm.example").with("X-Forwarded-For", "198.51.100.9"), check{Secure: true, Public: true, Proxy: "ignored"}},
		{"a trusted proxy", b.stranger().with("Host", "helm.example").with("X-Forwarded-For", "198.51.100.9").with(ProxySecretHeader, proxySecret), check{Secure: true, Public: true, Proxy: "trusted"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			answer := test.caller.get("/api/check").is(http.StatusOK)
			var got check
			answer.into(&got)
			if got != test.want {
				t.Errorf("%+v, want %+v", got, test.want)
			}
			if strings.Contains(answer.Body.String(), "example") {
				t.Errorf("it tells of the configuration: %s", answer.Body)
			}
		})
	}
	if got := b.browser(server.AllScopes).get("/api/check/server").is(http.StatusOK).Body.String(); !strings.Contains(got, "do this") || !strings.Contains(got, `"link":"https://helm.example"`) {
		t.Errorf("%s", got)
	}
	b.browser(server.ScopeRead).get("/api/check/server").refused(server.CodeForbidden)
	b.stranger().get("/check").is(http.StatusOK)
}
