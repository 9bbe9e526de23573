package auth

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"

	"go.uber.org/goleak"

	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is a Service on a store of its own.
type bench struct {
	*Service
	t     *testing.T
	store *sqlite.Store
	dir   string
}

func newBench(t *testing.T) *bench {
	t.Helper()
	return benchIn(t, t.TempDir())
}

// benchIn makes a Service on a data directory; a second one is another process.
func benchIn(t *testing.T, dir string) *bench {
	t.Helper()
	store, err := sqlite.Open(t.Context(), dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	key, err := LoadKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{Service: New(store, key, slog.New(slog.DiscardHandler)), t: t, store: store, dir: dir}
	t.Cleanup(b.close)
	return b
}

func (b *bench) close() {
	if err := b.store.Close(); err != nil {
		b.t.Error(err)
	}
}

func (b *bench) ticket(scopes server.Scopes) string {
	b.t.Helper()
	secret, _, err := b.CreateTicket(b.t.Context(), Console(), scopes)
	b.ok(err)
	return secret
}

func (b *bench) code(kind server.PrincipalKind) (string, server.CodeRecord) {
	b.t.Helper()
	code, record, err := b.CreateCode(b.t.Context(), Console(), kind, server.AllScopes)
	b.ok(err)
	return code, record
}

// from is a browser at an address.
func from(address string) PairRequest {
	return PairRequest{Name: "Pixel 7", Address: address, Transport: TransportLoopback}
}

// browser is a paired browser with its cookie jar of one.
type browser struct {
	b         *bench
	paired    Paired
	transport Transport
	cookie    *http.Cookie
}

func (b *bench) pair(transport Transport) *browser {
	b.t.Helper()
	request := from("192.0.2.7")
	request.Transport = transport
	paired, err := b.PairWithTicket(b.t.Context(), b.ticket(server.AllScopes), request)
	b.ok(err)
	br := &browser{b: b, paired: paired, transport: transport}
	recorder := httptest.NewRecorder()
	b.ok(b.SetCookie(recorder, br.request(), transport, paired.Cookie))
	br.take(recorder)
	return br
}

func (br *browser) request() *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/api/me", nil)
	if br.cookie != nil {
		r.AddCookie(br.cookie)
	}
	return r.WithContext(br.b.t.Context())
}

// take keeps the cookie that an answer sets, as a browser does, and reports
// whether there was one.
func (br *browser) take(recorder *httptest.ResponseRecorder) bool {
	for _, cookie := range recorder.Result().Cookies() {
		br.cookie = cookie
		return true
	}
	return false
}

// visit makes a request and returns whether it got a new cookie.
func (br *browser) visit() (*httptest.ResponseRecorder, server.Principal, error) {
	r := br.request()
	recorder := httptest.NewRecorder()
	p, credential, err := br.b.Authenticate(r, br.transport)
	if err == nil {
		err = br.b.RotateCookie(recorder, r, br.transport, p, credential)
	}
	return recorder, p, err
}

func (b *bench) ok(err error) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) fails(code server.Code, err error) {
	b.t.Helper()
	if got := server.CodeOf(err); got != code {
		b.t.Fatalf("code %q (%v), want %q", got, err, code)
	}
}

func (b *bench) actions() []string {
	b.t.Helper()
	lines, err := b.store.Audit(context.Background(), server.AuditQuery{Max: 1000})
	b.ok(err)
	var actions []string
	for _, line := range lines {
		actions = append([]string{line.Action}, actions...)
	}
	return actions
}
