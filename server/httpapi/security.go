package httpapi

import (
	"context"
	"mime"
	"net/http"
	"strings"
	"time"

	"github.com/agent-helm/agent-helm/internal/logging"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/auth"
)

// contentSecurityPolicy is the same on every response (THREATS S-11): no
// script that is not ours, none inline; styles may be inline because xterm.js'
// DOM renderer writes them and shows black otherwise.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' blob: data:; " +
	"font-src 'self'; connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; " +
	"frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types vue"

// Limits of requests.
const (
	maxBodyUnauthenticated = 64 << 10
	maxBody                = 1 << 20
	// A body may take this long to arrive: a megabyte over a bad line, or a few
	// hundred bytes from a stranger.
	bodyTimeout                = time.Minute
	bodyTimeoutUnauthenticated = 10 * time.Second
	// requestTimeout bounds how long an answer that is not a stream may take to
	// be written. The slowest is a first load of the app over a bad line.
	requestTimeout = 2 * time.Minute
	workerScript   = "/sw.js"
)

// guard is the outermost handler: what holds for every request, whatever it
// asks for and whoever asks.
func (a *API) guard(way Way, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		isAPI := r.URL.Path == checkPath || r.URL.Path == "/api" || strings.HasPrefix(r.URL.Path, "/api/")
		at := way.arrive(r)
		setHeaders(w.Header(), isAPI, at.knownHost && !at.plain && at.transport == auth.TransportTLS && way.Sites.strict(r.Host))
		ctx := server.WithAddress(withTransport(r.Context(), at.transport), at.address)
		r = r.WithContext(context.WithValue(ctx, arrivalKey{}, at))
		if at.ignored {
			a.noteIgnored(r)
		}
		if err := a.refusal(r, way, at, isAPI); err != nil {
			a.fail(w, r, err)
			return
		}
		if way.Identify != nil {
			identities, err := way.Identify(r.Context(), r.RemoteAddr)
			if err != nil {
				a.fail(w, r, err)
				return
			}
			r = r.WithContext(auth.WithTailnet(r.Context(), identities))
		}
		r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		// Streams and sockets lift the deadline themselves. A connection that
		// knows none is a test's.
		_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(requestTimeout))
		next.ServeHTTP(w, r)
	})
}

// setHeaders sets what goes with every response. HSTS names no subdomains: they
// are not ours to decide for.
func setHeaders(header http.Header, isAPI, strict bool) {
	header.Set("Content-Security-Policy", contentSecurityPolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("X-Frame-Options", "DENY")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
	if strict {
		header.Set("Strict-Transport-Security", "max-age=31536000")
	}
	if isAPI {
		header.Set("Cache-Control", "no-store")
	}
}

// refusal says why a request goes no further, whoever it comes from.
func (a *API) refusal(r *http.Request, way Way, at arrival, isAPI bool) error {
	if !at.knownHost {
		return server.NewError(server.CodeHostHeader)
	}
	if at.plain && at.transport == auth.TransportTLS {
		// The name says https, and the proxy says that the browser did not use it.
		return server.NewError(server.CodePlainHTTP)
	}
	if origins := r.Header.Values("Origin"); len(origins) > 1 || len(origins) == 1 && !way.Sites.Origin(origins[0]) {
		return server.NewError(server.CodeOrigin)
	}
	// A file of ours that somebody made a worker of would stay in the browser
	// for good (THREATS S-22).
	if r.Header.Get("Service-Worker") != "" && r.URL.Path != workerScript {
		return server.NewError(server.CodeWorkerScript)
	}
	if !isAPI {
		return nil
	}
	if encoding := r.Header.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return server.NewError(server.CodeMediaType)
	}
	kind := r.Header.Get("Content-Type")
	if kind == "" && r.ContentLength == 0 {
		return nil
	}
	if media, _, err := mime.ParseMediaType(kind); err != nil || media != "application/json" {
		return server.NewError(server.CodeMediaType)
	}
	return nil
}

// peerAddress is the other end of the connection, for limits, audit lines and
// display. Headers that claim another are not read: anybody can send them.
func peerAddress(r *http.Request) string {
	network := auth.NetworkOf(r.RemoteAddr)
	if !network.IsValid() {
		return ""
	}
	host := r.RemoteAddr
	if i := strings.LastIndexByte(host, ':'); i >= 0 {
		host = host[:i]
	}
	return strings.Trim(host, "[]")
}

// noteEvery bounds how often headers of an untrusted proxy are written down:
// anybody can send them.
const noteEvery = 24 * time.Hour

// noteIgnored tells, once a day, that headers of a proxy were not believed:
// either a proxy is not configured, or somebody tries.
func (a *API) noteIgnored(r *http.Request) {
	now := time.Now().UnixNano()
	last := a.ignoredAt.Load()
	if last != 0 && now-last < int64(noteEvery) || !a.ignoredAt.CompareAndSwap(last, now) {
		return
	}
	a.log.Warn("headers of a proxy that is not trusted were ignored: see --trusted-proxy", logging.KeyAddress, server.AddressFrom(r.Context()))
	a.auth.Audit(r.Context(), server.AuditProxyIgnored, "", "headers that name a caller were ignored; further ones of this day are not listed")
}

func (a *API) fail(w http.ResponseWriter, r *http.Request, err error) {
	writeProblem(w, problemOf(r.Context(), a.log, err))
}
