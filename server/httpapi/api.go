package httpapi

import (
	"context"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"
	"github.com/go-chi/chi/v5"

	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/auth"
)

// Config is what an API works with. All fields but Proxies, Check and
// Placeholder are needed.
type Config struct {
	Auth    *auth.Service
	Fleet   Fleet
	Sockets Sockets
	Sites   *Sites
	Log     *slog.Logger
	// Proxies are trusted on the way of Sites; nil for none.
	Proxies *Proxies
	// Check says how the ways in are, for GET /api/check/server; nil says nothing.
	Check func() ServerCheck
	// Version is the program's, for display.
	Version string
	// App holds the built app. Placeholder, when set, is the one file of App
	// that is served in place of the app, because it was not built.
	App         fs.FS
	Placeholder string
}

// API serves everything under one http.Handler.
type API struct {
	auth    *auth.Service
	fleet   Fleet
	sockets Sockets
	sites   *Sites
	log     *slog.Logger
	checks  func() ServerCheck
	version string
	app     *appFiles

	huma        huma.API
	router      chi.Router
	routes      []routeInfo
	idempotency idempotency
	searching   gate
	recording   gate
	handler     http.Handler
	ignoredAt   atomic.Int64 // of the last note on ignored headers, in ns since 1970
}

// routeInfo is one route as the access test reads it.
type routeInfo struct {
	method, path string
	access       access
}

// New returns an API. It reads the app's files, and fails when it cannot.
func New(config Config) (*API, error) {
	a := &API{
		auth: config.Auth, fleet: config.Fleet, sockets: config.Sockets, sites: config.Sites, log: config.Log, checks: config.Check, version: config.Version,
		router: chi.NewRouter(),
	}
	a.searching.what, a.recording.what = "one search", "one recording"
	var err error
	if a.app, err = readApp(config.App, config.Placeholder); err != nil {
		return nil, err
	}
	a.huma = humachi.New(a.router, humaConfig())
	a.huma.UseMiddleware(a.authorize)
	a.register()
	a.handler = a.By(Way{Sites: a.sites, Proxies: config.Proxies})
	return a, nil
}

// ServeHTTP handles every request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.handler.ServeHTTP(w, r) }

func (a *API) register() {
	a.registerHealth()
	a.registerCheck()
	a.registerAccess()
	a.registerAudit()
	a.registerHosts()
	a.registerSessions()
	a.registerInput()
	a.registerScreen()
	a.registerSearch()
	a.registerRecording()
	a.registerEvents()
	a.raw("/api/ws", access{socket: true, scopes: server.ScopeRead}, a.serveViewer)
	a.raw("/api/hosts/link", access{socket: true, host: true}, a.serveHost)
	a.registerDocuments()
	a.router.NotFound(a.notFound)
	a.router.MethodNotAllowed(func(w http.ResponseWriter, r *http.Request) {
		a.fail(w, r, server.NewError(server.CodeMethod))
	})
}

// notFound is the app for pages, and a problem for everything below /api.
func (a *API) notFound(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path == "/api" || len(r.URL.Path) >= 5 && r.URL.Path[:5] == "/api/" {
		a.fail(w, r, server.NewError(server.CodeNotFound))
		return
	}
	a.app.serve(a, w, r)
}

// raw registers a GET route that huma does not know: sockets and documents.
func (a *API) raw(path string, needed access, handle http.HandlerFunc) {
	a.routes = append(a.routes, routeInfo{method: http.MethodGet, path: path, access: needed})
	a.router.Get(path, func(w http.ResponseWriter, r *http.Request) {
		ctx, err := a.admit(w, r, needed)
		if err != nil {
			a.fail(w, r, err)
			return
		}
		handle(w, r.WithContext(ctx))
	})
}

// operation describes a JSON route.
type operation struct {
	method, path, id, summary, description string
	tag                                    string
	status                                 int
	access                                 access
	// errors are the codes that the route adds to those of every route.
	errors []server.Code
}

// route registers a JSON route. Handlers return server.Errors.
func route[I, O any](a *API, op operation, handle func(context.Context, *I) (*O, error)) {
	a.routes = append(a.routes, routeInfo{method: op.method, path: op.path, access: op.access})
	described := huma.Operation{
		Method: op.method, Path: op.path, OperationID: op.id, Summary: op.summary, Description: op.describe(), Tags: []string{op.tag},
		DefaultStatus: op.status, Errors: op.statuses(), Security: op.security(), Metadata: map[string]any{accessMetadata: op.access},
		MaxBodyBytes: maxBody, BodyReadTimeout: bodyTimeout,
	}
	if op.access.public {
		described.MaxBodyBytes, described.BodyReadTimeout = maxBodyUnauthenticated, bodyTimeoutUnauthenticated
	}
	huma.Register(a.huma, described, func(ctx context.Context, input *I) (*O, error) {
		output, err := handle(ctx, input)
		if err != nil {
			return nil, problemOf(ctx, a.log, err)
		}
		return output, nil
	})
}

func (op operation) describe() string {
	text := op.description
	if scopes := op.access.scopes; scopes != 0 {
		if text != "" {
			text += "\n\n"
		}
		text += "Scope: `" + scopes.String() + "`."
	}
	return text
}

func (op operation) statuses() []int {
	codes := append([]server.Code{server.CodeInvalid, server.CodeInternal}, op.errors...)
	if !op.access.public {
		codes = append(codes, server.CodeUnauthenticated, server.CodeForbidden)
	}
	var statuses []int
	for _, code := range codes {
		if status := code.Status(); !slices.Contains(statuses, status) {
			statuses = append(statuses, status)
		}
	}
	slices.Sort(statuses)
	return statuses
}

func (op operation) security() []map[string][]string {
	if op.access.public {
		return []map[string][]string{}
	}
	return []map[string][]string{{"bearer": {}}, {"cookie": {}}}
}
