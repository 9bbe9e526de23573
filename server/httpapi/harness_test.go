package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"go.uber.org/goleak"

	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/auth"
	"github.com/agent-helm/agent-helm/server/store/sqlite"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	origin   = "http://127.0.0.1:7777"
	sessionA = "01jdq0000000000000000000aa"
	sessionB = "01jdq0000000000000000000bb"
	hostA    = "11111111-1111-4111-8111-111111111111"
	hostB    = "22222222-2222-4222-8222-222222222222"
)

// bench is an API on a store of its own, with a fleet that only notes.
type bench struct {
	t     *testing.T
	api   *API
	auth  *auth.Service
	fleet *fakeFleet
	log   *bytes.Buffer
}

func newBench(t *testing.T, change ...func(*Config)) *bench {
	t.Helper()
	dir := t.TempDir()
	store, err := sqlite.Open(context.Background(), dir, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Close(); err != nil {
			t.Error(err)
		}
	})
	key, err := auth.LoadKey(dir)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, fleet: newFakeFleet(), log: &bytes.Buffer{}}
	log := slog.New(slog.NewTextHandler(b.log, nil))
	b.auth = auth.New(store, key, log)
	config := Config{
		Auth: b.auth, Fleet: b.fleet, Sockets: fakeSockets{}, Log: log, Version: "1.2.3",
		Sites: &Sites{Listen: netip.MustParseAddrPort("127.0.0.1:7777")},
		App: fstest.MapFS{
			"index.html": {Data: []byte("<!doctype html>app")}, "assets/index-abc.js": {Data: []byte(strings.Repeat("let a = 1;\n", 1000))},
			"sw.js": {Data: []byte("// worker")}, "icons/icon.png": {Data: []byte("\x89PNG")},
		},
	}
	for _, f := range change {
		f(&config)
	}
	if b.api, err = New(config); err != nil {
		t.Fatal(err)
	}
	return b
}

// caller is somebody with headers of their own.
type caller struct {
	b       *bench
	headers http.Header
	device  string
}

func (b *bench) stranger() *caller { return &caller{b: b, headers: http.Header{}} }

func (b *bench) token(scopes server.Scopes) *caller {
	b.t.Helper()
	return b.boundToken(scopes, server.Binding{})
}

func (b *bench) boundToken(scopes server.Scopes, binding server.Binding) *caller {
	b.t.Helper()
	_, text, err := b.auth.CreateToken(b.t.Context(), auth.Console(), auth.TokenRequest{Name: b.t.Name() + strings.Repeat("'", b.fleet.count()), Scopes: scopes, Binding: binding})
	if err != nil {
		b.t.Fatal(err)
	}
	return &caller{b: b, headers: http.Header{"Authorization": {"Bearer " + text}}}
}

func (b *bench) host() *caller {
	b.t.Helper()
	code, _, err := b.auth.CreateCode(b.t.Context(), auth.Console(), server.PrincipalHost, 0)
	if err != nil {
		b.t.Fatal(err)
	}
	_, text, err := b.auth.EnrolHost(b.t.Context(), code, "laptop", "192.0.2.7")
	if err != nil {
		b.t.Fatal(err)
	}
	return &caller{b: b, headers: http.Header{"Authorization": {"Bearer " + text}}}
}

// browser pairs by a link, over HTTP as a browser does.
func (b *bench) browser(scopes server.Scopes) *caller {
	b.t.Helper()
	ticket, _, err := b.auth.CreateTicket(b.t.Context(), auth.Console(), scopes)
	if err != nil {
		b.t.Fatal(err)
	}
	return b.opened(ticket)
}

// opened is the browser that opens a link.
func (b *bench) opened(ticket string) *caller {
	b.t.Helper()
	c := &caller{b: b, headers: http.Header{"Origin": {origin}, "Sec-Fetch-Site": {"same-origin"}}}
	answer := c.post("/api/pair", map[string]string{"ticket": ticket, "name": "Pixel"})
	answer.is(http.StatusOK)
	var paired struct{ Device, Proof string }
	answer.into(&paired)
	c.device = paired.Device
	c.headers.Set(auth.ProofHeader, paired.Proof)
	for _, cookie := range answer.Result().Cookies() {
		c.headers.Add("Cookie", cookie.Name+"="+cookie.Value)
	}
	return c
}

// with returns the caller with a header changed; an empty value removes it.
func (c *caller) with(name, value string) *caller {
	changed := &caller{b: c.b, headers: c.headers.Clone(), device: c.device}
	changed.headers.Del(name)
	if value != "" {
		changed.headers.Set(name, value)
	}
	return changed
}

// answer is a response with checks.
type answer struct {
	*httptest.ResponseRecorder
	t    *testing.T
	what string
}

func (c *caller) do(method, path string, body any) *answer {
	c.b.t.Helper()
	var reader io.Reader
	headers := c.headers.Clone()
	if text, ok := body.(string); ok {
		reader = strings.NewReader(text)
	} else if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			c.b.t.Fatal(err)
		}
		reader = bytes.NewReader(encoded)
		if headers.Get("Content-Type") == "" {
			headers.Set("Content-Type", "application/json")
		}
	}
	r := httptest.NewRequestWithContext(c.b.t.Context(), method, path, reader)
	r.RequestURI = ""
	r.RemoteAddr = "192.0.2.7:5000"
	r.Host = "127.0.0.1:7777"
	if host := headers.Get("Host"); host != "" {
		r.Host = host
		headers.Del("Host")
	}
	r.Header = headers
	recorder := httptest.NewRecorder()
	c.b.api.ServeHTTP(recorder, r)
	return &answer{ResponseRecorder: recorder, t: c.b.t, what: method + " " + path}
}

func (c *caller) get(path string) *answer { c.b.t.Helper(); return c.do(http.MethodGet, path, nil) }
func (c *caller) post(path string, body any) *answer {
	c.b.t.Helper()
	return c.do(http.MethodPost, path, body)
}

func (a *answer) is(status int) *answer {
	a.t.Helper()
	if a.Code != status {
		a.t.Fatalf("%s: status %d, want %d: %s", a.what, a.Code, status, a.Body)
	}
	return a
}

// refused checks a problem document and returns its sentence.
func (a *answer) refused(code server.Code) string {
	a.t.Helper()
	problem := a.problem()
	if problem.Code != code {
		a.t.Fatalf("%s: code %q, want %q: %s", a.what, problem.Code, code, a.Body)
	}
	return problem.Detail
}

// problem reads a problem document and checks its shape.
func (a *answer) problem() Problem {
	a.t.Helper()
	var problem Problem
	if err := json.Unmarshal(a.Body.Bytes(), &problem); err != nil {
		a.t.Fatalf("%s: %d is no problem document: %s", a.what, a.Code, a.Body)
	}
	if a.Header().Get("Content-Type") != problemType || problem.Status != a.Code || problem.Code == "" || problem.Detail == "" ||
		problem.Title != http.StatusText(a.Code) || problem.Type != "/api/docs#"+string(problem.Code) {
		a.t.Fatalf("%s: malformed problem (%s): %s", a.what, a.Header().Get("Content-Type"), a.Body)
	}
	return problem
}

func (a *answer) into(target any) {
	a.t.Helper()
	if err := json.Unmarshal(a.Body.Bytes(), target); err != nil {
		a.t.Fatalf("%s: %v: %s", a.what, err, a.Body)
	}
}

// fakeFleet notes what it is asked and answers what it is told to.
type fakeFleet struct {
	mu        sync.Mutex
	sessions  []server.Session
	calls     []string // guarded by mu
	inputs    []Input  // guarded by mu
	announced []server.Device
	fail      error
	page      string
	events    chan []wire.Event
	// search and recording answer, where they are set.
	search    func(context.Context, server.SessionKey, wire.SearchParams) (vt.SearchResult, bool, error)
	recording func(from *wire.Position) (wire.RecordingResult, error)
	issued    int // guarded by mu
}

func newFakeFleet() *fakeFleet {
	return &fakeFleet{
		sessions: []server.Session{
			{ID: sessionB, Host: hostA, Name: "b", State: server.StateExited, Title: "evil\x1b]0;x\a\u202etitle"},
			{ID: sessionA, Host: hostA, Name: "a", State: server.StateRunning},
			{ID: sessionA, Host: hostB, Name: "twin", State: server.StateRunning},
		},
		page:   `{"lines":[{"id":9,"runs":[{"t":"nine"}]},{"id":8,"runs":[]}],"more":true}`,
		events: make(chan []wire.Event, 10),
	}
}

// count makes names unique.
func (f *fakeFleet) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.issued++
	return f.issued
}

func (f *fakeFleet) note(parts ...string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, strings.Join(parts, " "))
	return f.fail
}

func (f *fakeFleet) last() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.calls) == 0 {
		return ""
	}
	return f.calls[len(f.calls)-1]
}

func (f *fakeFleet) Hosts() []server.Host {
	return []server.Host{{ID: hostA, Name: "alpha", Online: true}, {ID: hostB, Name: "beta"}}
}
func (f *fakeFleet) Sessions() []server.Session { return f.sessions }

func (f *fakeFleet) Find(host, id string) (server.SessionKey, error) {
	for _, s := range f.sessions {
		if s.ID == id && (host == "" || s.Host == host) {
			return s.Key(), nil
		}
	}
	return server.SessionKey{}, server.NewError(server.CodeUnknownSession)
}

func (f *fakeFleet) Session(key server.SessionKey) (server.Session, error) {
	for _, s := range f.sessions {
		if s.Key() == key {
			return s, nil
		}
	}
	return server.Session{}, server.NewError(server.CodeUnknownSession)
}

func (f *fakeFleet) Start(_ context.Context, host string, params wire.StartParams) (wire.StartResult, error) {
	encoded, err := json.Marshal(params)
	return wire.StartResult{ID: sessionA}, errors.Join(err, f.note("start", host, string(encoded)))
}
func (f *fakeFleet) Rename(_ context.Context, key server.SessionKey, name string) error {
	return f.note("rename", key.String(), name)
}
func (f *fakeFleet) Kill(_ context.Context, key server.SessionKey) error {
	return f.note("kill", key.String())
}
func (f *fakeFleet) Forget(_ context.Context, key server.SessionKey) error {
	return f.note("forget", key.String())
}
func (f *fakeFleet) Signal(_ context.Context, key server.SessionKey, signal string) error {
	return f.note("signal", key.String(), signal)
}
func (f *fakeFleet) Input(_ context.Context, key server.SessionKey, input Input) error {
	f.mu.Lock()
	f.inputs = append(f.inputs, input)
	f.mu.Unlock()
	return f.note("input", key.String())
}
func (f *fakeFleet) Resize(_ context.Context, key server.SessionKey, _, _ uint16) error {
	return f.note("resize", key.String())
}
func (f *fakeFleet) Screen(_ context.Context, key server.SessionKey, format string) ([]byte, error) {
	return []byte("<script>" + format), f.note("screen", key.String(), format)
}
func (f *fakeFleet) Page(_ context.Context, key server.SessionKey, _ uint64, _ int) (json.RawMessage, error) {
	return json.RawMessage(f.page), f.note("page", key.String())
}
func (f *fakeFleet) Search(ctx context.Context, key server.SessionKey, params wire.SearchParams) (vt.SearchResult, bool, error) {
	err := f.note("search", key.String(), params.Query, params.Before, strconv.Itoa(params.Max))
	if f.search == nil {
		return vt.SearchResult{}, true, err
	}
	return f.search(ctx, key, params)
}
func (f *fakeFleet) Recording(_ context.Context, key server.SessionKey, from *wire.Position) (wire.RecordingResult, error) {
	err := f.note("recording", key.String())
	if f.recording == nil {
		return wire.RecordingResult{Cols: 80, Rows: 24, Done: true}, err
	}
	return f.recording(from)
}
func (f *fakeFleet) Subscribe(server.Principal) Subscription { return fakeSubscription{f} }
func (f *fakeFleet) AnnounceDevice(d server.Device)          { f.announced = append(f.announced, d) }
func (f *fakeFleet) AddHost(host server.HostRecord)          { f.note("add", host.Name) }
func (f *fakeFleet) RemoveHost(_ context.Context, host string) {
	f.note("remove", host)
}

type fakeSubscription struct{ fleet *fakeFleet }

func (s fakeSubscription) Next(ctx context.Context) ([]wire.Event, error) {
	select {
	case events, ok := <-s.fleet.events:
		if !ok {
			return nil, server.NewError(server.CodeRestarting)
		}
		return events, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}
func (s fakeSubscription) Close() {}

// fakeSockets say that the door was passed.
type fakeSockets struct{}

func (fakeSockets) ServeViewer(w http.ResponseWriter, r *http.Request, viewer Viewer) {
	if viewer.CheckProof != nil {
		if err := viewer.CheckProof(r.Context(), r.URL.Query().Get("hello-proof")); err != nil {
			w.WriteHeader(http.StatusTeapot)
			return
		}
	}
	w.WriteHeader(http.StatusSwitchingProtocols)
}

func (fakeSockets) ServeHost(w http.ResponseWriter, _ *http.Request, _ server.Principal) {
	w.WriteHeader(http.StatusSwitchingProtocols)
}

func publicURL(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := ParsePublicURL(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
