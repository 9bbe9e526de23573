package main

import (
	"crypto/sha256"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/fleet"
	"github.com/agent-helm/agent-helm/server/httpapi"
)

func TestMetrics(t *testing.T) {
	data, err := dataFlag{Data: t.TempDir()}.open(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	registry, err := fleet.Open(t.Context(), fleet.Config{Store: data.store, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := data.close(registry.Close(t.Context())); err != nil {
			t.Error(err)
		}
	})
	const token = "secret-of-the-metrics"
	closed := &metricsDoor{sites: &httpapi.Sites{Listen: netip.MustParseAddrPort("127.0.0.1:9477")}, asks: true, token: sha256.Sum256([]byte(token))}
	open := &metricsDoor{sites: closed.sites, pprof: true}
	for _, test := range []struct {
		name    string
		door    *metricsDoor
		path    string
		headers map[string]string
		want    int
	}{
		{"no token", closed, "/metrics", nil, http.StatusUnauthorized},
		{"a wrong token", closed, "/metrics", map[string]string{"Authorization": "Bearer x"}, http.StatusUnauthorized},
		{"the token without its scheme", closed, "/metrics", map[string]string{"Authorization": token}, http.StatusUnauthorized},
		{"the token", closed, "/metrics", map[string]string{"Authorization": "Bearer " + token}, http.StatusOK},
		{"profiles that nobody asked for", closed, "/debug/pprof/", map[string]string{"Authorization": "Bearer " + token}, http.StatusNotFound},
		{"open on loopback", open, "/metrics", nil, http.StatusOK},
		{"profiles", open, "/debug/pprof/", nil, http.StatusOK},
		{"the command line is no profile", open, "/debug/pprof/cmdline", nil, http.StatusNotFound},
		{"a rebound name", open, "/metrics", map[string]string{"Host": "evil.example:9477"}, http.StatusMisdirectedRequest},
		{"a page of another site", open, "/metrics", map[string]string{"Origin": "https://evil.example"}, http.StatusMisdirectedRequest},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodGet, test.path, nil)
			r.Host = "127.0.0.1:9477"
			for name, value := range test.headers {
				if r.Header.Set(name, value); name == "Host" {
					r.Host = value
				}
			}
			w := httptest.NewRecorder()
			test.door.handler(registry).ServeHTTP(w, r)
			if w.Code != test.want {
				t.Errorf("%d, want %d: %s", w.Code, test.want, w.Body)
			}
		})
	}
	text := string(metricsText([]server.Host{{Online: true}, {}}, []server.Session{{State: server.StateRunning, Viewers: 2}, {State: server.StateLost}}))
	for _, want := range []string{"agent_helm_hosts 2\n", "agent_helm_hosts_online 1\n", `agent_helm_sessions{state="running"} 1` + "\n", "agent_helm_viewers 2\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}
