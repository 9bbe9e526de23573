package auth

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-helm/agent-helm/server"
)

const day = 24 * time.Hour

func TestCookie_attributes(t *testing.T) {
	b := newBench(t)
	for _, test := range []struct {
		transport Transport
		name      string
		secure    bool
		age       time.Duration
	}{
		{TransportTLS, "__Host-agent_helm", true, 90 * day},
		{TransportLoopback, "agent_helm", false, 90 * day},
		{TransportLAN, "agent_helm", false, day},
	} {
		br := b.pair(test.transport)
		c := br.cookie
		if c.Name != test.name || c.Secure != test.secure || !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" ||
			c.MaxAge != int(test.age/time.Second) {
			t.Errorf("%d: %s", test.transport, c)
		}
		if strings.Contains(c.Value, br.paired.Device.ID) || strings.Contains(c.Value, br.paired.Proof) {
			t.Errorf("%d: the cookie tells more than its id: %s", test.transport, c.Value)
		}
	}
}

func TestCookie_life(t *testing.T) {
	for _, test := range []struct {
		name      string
		transport Transport
		// waits are the times between visits; the last visit has to end as want.
		waits []time.Duration
		want  server.Code
	}{
		{"day 31, after the codec's own limit", TransportLoopback, []time.Duration{31 * day}, ""},
		{"day 89", TransportTLS, []time.Duration{89 * day}, ""},
		{"90 days idle", TransportTLS, []time.Duration{90 * day}, server.CodeUnauthenticated},
		{"used every 80 days", TransportTLS, []time.Duration{80 * day, 80 * day, 80 * day, 80 * day}, ""},
		{"a year, though in use", TransportTLS, []time.Duration{80 * day, 80 * day, 80 * day, 80 * day, 45 * day}, server.CodeUnauthenticated},
		{"plain HTTP, 23 hours", TransportLAN, []time.Duration{23 * time.Hour}, ""},
		{"plain HTTP, a day", TransportLAN, []time.Duration{12 * time.Hour, 12 * time.Hour}, server.CodeUnauthenticated},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)
				br := b.pair(test.transport)
				for i, wait := range test.waits {
					time.Sleep(wait)
					recorder, _, err := br.visit()
					if i == len(test.waits)-1 {
						b.fails(test.want, err)
						return
					}
					b.ok(err)
					br.take(recorder)
				}
			})
		})
	}
}

func TestCookie_rotation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		br := b.pair(TransportTLS)
		old := br.cookie
		recorder, _, err := br.visit()
		b.ok(err)
		if br.take(recorder) {
			t.Fatal("a fresh cookie was rotated")
		}

		time.Sleep(day)
		recorder, _, err = br.visit()
		b.ok(err)
		lost := recorder.Result().Cookies() // this answer never arrives
		if len(lost) != 1 {
			t.Fatal("a cookie of a day was not rotated")
		}
		recorder, _, err = br.visit() // right after: the other is under way still
		b.ok(err)
		if br.take(recorder) {
			t.Fatal("rotated twice at once")
		}
		time.Sleep(time.Hour)
		recorder, _, err = br.visit() // the phone is still in, and gets another
		b.ok(err)
		if !br.take(recorder) {
			t.Fatal("no new cookie after a lost one")
		}
		_, _, err = br.visit()
		b.ok(err)
		// A request with the old one that was under way.
		stale := *br
		stale.cookie = old
		_, _, err = stale.visit()
		b.ok(err)
		// The one that was lost is worth nothing now, but no alarm either.
		stale.cookie = lost[0]
		_, _, err = stale.visit()
		b.fails(server.CodeUnauthenticated, err)
		_, _, err = br.visit()
		b.ok(err)

		// Later the old one can only be a copy.
		time.Sleep(rotateGrace + time.Second)
		stale.cookie = old
		_, _, err = stale.visit()
		b.fails(server.CodeRevoked, err)
		_, _, err = br.visit()
		b.fails(server.CodeRevoked, err)
		if !slices.Contains(b.actions(), server.AuditLoginReplayed) {
			t.Errorf("audit lines %v", b.actions())
		}
	})
}

func TestCookie_parallel_requests_rotate_once(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		br := b.pair(TransportTLS)
		time.Sleep(day)
		const parallel = 20
		cookies := make(chan *http.Cookie, parallel)
		var group sync.WaitGroup
		for range parallel {
			group.Go(func() {
				recorder, _, err := br.visit()
				if err != nil {
					t.Error(err)
				}
				for _, cookie := range recorder.Result().Cookies() {
					cookies <- cookie
				}
			})
		}
		group.Wait()
		close(cookies)
		if len(cookies) != 1 {
			t.Fatalf("%d new cookies", len(cookies))
		}
		br.cookie = <-cookies
		_, _, err := br.visit()
		b.ok(err)
	})
}

func TestAuthenticate_cookies_that_are_not_ours(t *testing.T) {
	b := newBench(t)
	br := b.pair(TransportLoopback)
	other := newBench(t) // another server on the same host name
	foreign := other.pair(TransportLoopback)
	for name, cookie := range map[string]*http.Cookie{
		"none":             nil,
		"of another key":   foreign.cookie,
		"changed":          {Name: CookieName, Value: br.cookie.Value[:len(br.cookie.Value)-4] + "AAAA"},
		"garbage":          {Name: CookieName, Value: "x"},
		"under TLS's name": {Name: SecureCookieName, Value: br.cookie.Value},
	} {
		changed := *br
		changed.cookie = cookie
		if _, _, err := changed.visit(); server.CodeOf(err) != server.CodeUnauthenticated {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A plain cookie, which other ports see, is no cookie under TLS.
	changed := *br
	changed.transport = TransportTLS
	if _, _, err := changed.visit(); server.CodeOf(err) != server.CodeUnauthenticated {
		t.Errorf("a plain cookie under TLS: %v", err)
	}
}

func TestAuthenticate_never_trusts_the_source_address(t *testing.T) {
	b := newBench(t)
	for _, remote := range []string{"127.0.0.1:5000", "[::1]:5000", "@", "192.0.2.7:1"} {
		r := httptest.NewRequest(http.MethodGet, "/api/me", nil)
		r.RemoteAddr = remote
		for _, header := range []string{"X-Forwarded-For", "X-Real-Ip", "Forwarded", "Tailscale-User-Login", "X-Webauth-User", "Remote-User"} {
			r.Header.Set(header, "127.0.0.1")
		}
		for _, transport := range []Transport{TransportTLS, TransportLoopback, TransportLAN} {
			if _, _, err := b.Authenticate(r, transport); server.CodeOf(err) != server.CodeUnauthenticated {
				t.Errorf("%s: %v", remote, err)
			}
		}
	}
}

func TestCheckProof(t *testing.T) {
	b := newBench(t)
	br, other := b.pair(TransportLoopback), b.pair(TransportLoopback)
	_, p, err := br.visit()
	b.ok(err)
	b.ok(b.CheckProof(t.Context(), p, br.paired.Proof))
	for _, wrong := range []string{"", "x", other.paired.Proof, br.paired.Proof + " "} {
		b.fails(server.CodeProofRequired, b.CheckProof(t.Context(), p, wrong))
	}
	b.ok(b.CheckProof(t.Context(), server.Principal{Kind: server.PrincipalToken}, ""))
	if TransportTLS.NeedsProof() || !TransportLoopback.NeedsProof() || !TransportLAN.NeedsProof() {
		t.Error("proof is needed on plain HTTP, and only there")
	}
}

func TestAuthenticate_insecure_limits_everybody(t *testing.T) {
	b := newBench(t)
	_, text, err := b.CreateToken(t.Context(), Console(), TokenRequest{Name: "admin", Scopes: server.AllScopes})
	b.ok(err)
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Authorization", "Bearer "+text)
	p, _, err := b.Authenticate(r, TransportLAN)
	b.ok(err)
	if p.Scopes != server.InsecureScopes || !p.Insecure {
		t.Errorf("a token over plain HTTP has %v, insecure %v", p.Scopes, p.Insecure)
	}
	b.fails(server.CodeForbidden, p.Require(server.ScopeExec))
	b.fails(server.CodeForbidden, p.Require(server.ScopeAdmin))
}

func TestBearer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		record, text, err := b.CreateToken(t.Context(), Console(), TokenRequest{Name: "ci", Scopes: server.ScopeRead, Lifetime: time.Hour})
		b.ok(err)
		try := func(header string) error {
			p, err := b.bearer(t.Context(), header)
			if err == nil && (p.ID != record.ID || p.Name != "ci" || p.Scopes != server.ScopeRead) {
				t.Errorf("%q is %+v", header, p)
			}
			return err
		}
		b.ok(try("Bearer " + text))
		b.ok(try("bearer " + text))
		other, otherText, err := b.CreateToken(t.Context(), Console(), TokenRequest{Name: "other", Scopes: server.ScopeRead})
		b.ok(err)
		_, secret, _ := parseToken(text)
		for _, header := range []string{"Bearer", "Bearer ", text, "Basic " + text, "Bearer " + text[:len(text)-1], "Bearer " + text + "a", "Bearer " + strings.ToUpper(text),
			"Bearer " + formatToken(other.ID, secret), "Bearer " + formatToken(randomText(tokenIDBytes), secret)} {
			b.fails(server.CodeUnauthenticated, try(header))
		}
		time.Sleep(time.Hour)
		b.fails(server.CodeRevoked, try("Bearer "+text))
		b.ok(b.RevokeToken(t.Context(), Console(), other.ID))
		_, err = b.bearer(t.Context(), "Bearer "+otherText)
		b.fails(server.CodeRevoked, err)
		// Only who has the secret hears that it was revoked.
		b.fails(server.CodeUnauthenticated, try("Bearer "+formatToken(other.ID, secret)))
	})
}

func TestBearer_host(t *testing.T) {
	b := newBench(t)
	code, _ := b.code(server.PrincipalHost)
	host, token, err := b.EnrolHost(t.Context(), code, "laptop", "192.0.2.7")
	b.ok(err)
	p, err := b.bearer(t.Context(), "Bearer "+token)
	b.ok(err)
	if p.Kind != server.PrincipalHost || p.ID != host.ID || p.Name != "laptop" || p.Scopes != 0 {
		t.Errorf("principal %+v", p)
	}
	id, _, _ := parseToken(token)
	b.fails(server.CodeUnknownToken, b.RevokeToken(t.Context(), Console(), id))
	b.ok(b.RemoveHost(t.Context(), Console(), host.ID))
	_, err = b.bearer(t.Context(), "Bearer "+token)
	b.fails(server.CodeUnauthenticated, err)
	b.fails(server.CodeUnknownHost, b.RemoveHost(t.Context(), Console(), host.ID))
}

// Revocation ends open sockets: at once in this process, within a second from
// another.
func TestTrack_revocation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		b, command := benchIn(t, dir), benchIn(t, dir)
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { b.Run(ctx) })
		defer group.Wait()
		defer cancel()

		code, _ := b.code(server.PrincipalHost)
		host, _, err := b.EnrolHost(t.Context(), code, "laptop", "192.0.2.7")
		b.ok(err)
		token, _, err := b.CreateToken(t.Context(), Console(), TokenRequest{Name: "ci", Scopes: server.ScopeRead})
		b.ok(err)
		short, _, err := b.CreateToken(t.Context(), Console(), TokenRequest{Name: "short", Scopes: server.ScopeRead, Lifetime: time.Minute})
		b.ok(err)
		first, second, stays := b.pair(TransportTLS).paired.Device.ID, b.pair(TransportTLS).paired.Device.ID, b.pair(TransportTLS).paired.Device.ID

		open := map[string]context.Context{}
		for name, p := range map[string]server.Principal{
			"first":  {Kind: server.PrincipalDevice, ID: first},
			"second": {Kind: server.PrincipalDevice, ID: second},
			"stays":  {Kind: server.PrincipalDevice, ID: stays},
			"token":  {Kind: server.PrincipalToken, ID: token.ID},
			"short":  {Kind: server.PrincipalToken, ID: short.ID, ExpiresAt: short.ExpiresAt},
			"host":   {Kind: server.PrincipalHost, ID: host.ID},
		} {
			tracked, release := b.Track(t.Context(), p)
			defer release()
			open[name] = tracked
		}
		cut := func(want ...string) {
			t.Helper()
			for name, tracked := range open {
				if ended := tracked.Err() != nil; ended != slices.Contains(want, name) {
					t.Errorf("%s ended: %v", name, ended)
				}
				if slices.Contains(want, name) && server.CodeOf(context.Cause(tracked)) != server.CodeRevoked {
					t.Errorf("%s ended because %v", name, context.Cause(tracked))
				}
			}
		}
		cut()
		b.ok(b.RevokeDevice(t.Context(), Console(), first))
		cut("first")
		b.ok(command.RevokeDevice(t.Context(), Console(), second))
		b.ok(command.RevokeToken(t.Context(), Console(), token.ID))
		b.ok(command.RemoveHost(t.Context(), Console(), host.ID))
		time.Sleep(time.Second)
		cut("first", "second", "token", "host")
		time.Sleep(time.Until(short.ExpiresAt) - time.Millisecond)
		cut("first", "second", "token", "host")
		time.Sleep(time.Millisecond)
		synctest.Wait()
		cut("first", "second", "token", "host", "short")

		// Somebody who was revoked a moment before the socket opened.
		late, release := b.Track(t.Context(), server.Principal{Kind: server.PrincipalDevice, ID: first})
		defer release()
		if server.CodeOf(context.Cause(late)) != server.CodeRevoked {
			t.Errorf("a revoked device opened a socket: %v", context.Cause(late))
		}
	})
}

func TestRun_writes_what_was_seen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		br := b.pair(TransportTLS)
		ctx, cancel := context.WithCancel(t.Context())
		var group sync.WaitGroup
		group.Go(func() { b.Run(ctx) })
		stored := func() time.Time {
			device, err := b.store.Device(t.Context(), br.paired.Device.ID)
			b.ok(err)
			return device.LastSeenAt
		}
		paired := stored()
		time.Sleep(time.Minute)
		_, _, err := br.visit()
		b.ok(err)
		if !stored().Equal(paired) {
			t.Error("a visit was written at once")
		}
		time.Sleep(seenEvery)
		if want := paired.Add(time.Minute); !stored().Equal(want) {
			t.Errorf("stored %v, want %v", stored(), want)
		}
		time.Sleep(time.Minute)
		_, _, err = br.visit()
		b.ok(err)
		cancel()
		group.Wait()
		if want := paired.Add(2*time.Minute + seenEvery); !stored().Equal(want) {
			t.Errorf("after the end stored %v, want %v", stored(), want)
		}
	})
}

func TestSignOut(t *testing.T) {
	b := newBench(t)
	br := b.pair(TransportLoopback)
	_, p, err := br.visit()
	b.ok(err)
	b.ok(b.SignOut(t.Context(), p))
	_, _, err = br.visit()
	b.fails(server.CodeRevoked, err)
	b.fails(server.CodeInvalid, b.SignOut(t.Context(), server.Principal{Kind: server.PrincipalToken}))
	devices, err := b.Devices(t.Context())
	b.ok(err)
	if len(devices) != 0 {
		t.Errorf("devices %v", devices)
	}
}

func TestDevices_leaves_out_the_expired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t)
		b.pair(TransportLAN)
		b.pair(TransportTLS)
		count := func(want int) {
			t.Helper()
			devices, err := b.Devices(t.Context())
			b.ok(err)
			if len(devices) != want {
				t.Errorf("%d devices, want %d", len(devices), want)
			}
		}
		count(2)
		time.Sleep(2 * day)
		count(1)
		time.Sleep(90 * day)
		count(0)
	})
}
