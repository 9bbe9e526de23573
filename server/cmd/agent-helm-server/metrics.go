package main

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"runtime"
	"strings"

	"github.com/agent-helm/agent-helm/internal/buildinfo"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/fleet"
	"github.com/agent-helm/agent-helm/server/httpapi"
)

// metricsFlags open the side door for whoever watches the server itself.
type metricsFlags struct {
	MetricsListen    string `name:"metrics-listen" placeholder:"ADDR:PORT" help:"Serve /metrics for Prometheus on a listener of its own; off loopback only with --metrics-token-file."`
	MetricsTokenFile string `name:"metrics-token-file" placeholder:"FILE" help:"File with the bearer token that /metrics asks for."`
	Pprof            bool   `help:"Serve /debug/pprof/ beside /metrics; on loopback only."`
}

// minMetricsToken is the fewest characters of a token that nobody guesses.
const minMetricsToken = 16

// metricsDoor is the listener for metrics.
type metricsDoor struct {
	listener net.Listener
	sites    *httpapi.Sites
	token    [sha256.Size]byte
	asks     bool // whether a token is needed
	pprof    bool
}

// metrics opens the side door, or returns nil when nobody asked for one. It
// refuses to open it to a network without a token (THREATS S-34).
func (c *serveCommand) metrics() (*metricsDoor, error) {
	if c.MetricsListen == "" {
		if c.MetricsTokenFile != "" || c.Pprof {
			return nil, errors.New("--metrics-token-file and --pprof need --metrics-listen")
		}
		return nil, nil
	}
	address, err := parseListen(c.MetricsListen)
	if err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	d := &metricsDoor{pprof: c.Pprof}
	if c.MetricsTokenFile != "" {
		token, err := readSecret(c.MetricsTokenFile)
		if err != nil {
			return nil, err
		}
		if len(token) < minMetricsToken {
			return nil, fmt.Errorf("the token in %s has fewer than %d characters: make one with openssl rand -hex 32", c.MetricsTokenFile, minMetricsToken)
		}
		d.token, d.asks = sha256.Sum256([]byte(token)), true
	}
	if !address.Addr().IsLoopback() {
		switch {
		case c.Pprof:
			return nil, fmt.Errorf("will not serve profiles on %s: they tell much of what the server does; use a loopback address, and ssh -L to reach it", address)
		case !d.asks:
			return nil, fmt.Errorf("will not serve metrics on %s to everybody: give --metrics-token-file, or use a loopback address", address)
		}
	}
	if d.listener, err = bind(address); err != nil {
		return nil, fmt.Errorf("metrics: %w", err)
	}
	bound, err := netip.ParseAddrPort(d.listener.Addr().String())
	if err != nil {
		return nil, errors.Join(fmt.Errorf("metrics: %w", err), d.listener.Close())
	}
	d.sites = &httpapi.Sites{Listen: bound, Insecure: !bound.Addr().IsLoopback()}
	return d, nil
}

// handler serves numbers, and nothing that names a host, session or device.
func (d *metricsDoor) handler(registry *fleet.Fleet) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = w.Write(metricsText(registry.Hosts(), registry.Sessions())) // the reader may be gone
	})
	if d.pprof {
		mux.HandleFunc("GET /debug/pprof/", pprof.Index)
		mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
		mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
		mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A web page may have rebound its name to this port.
		if _, ours := d.sites.TransportOf(r.Host); !ours || r.Header.Get("Origin") != "" || r.Header.Get("Sec-Fetch-Site") == "cross-site" {
			http.Error(w, server.CodeHostHeader.Sentence(), http.StatusMisdirectedRequest)
			return
		}
		if d.asks && !d.admits(r) {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "send the token of --metrics-token-file as Authorization: Bearer …", http.StatusUnauthorized)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

func (d *metricsDoor) admits(r *http.Request) bool {
	token, ok := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	sum := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(sum[:], d.token[:]) == 1 && ok
}

// metricsText is the exposition format of Prometheus.
func metricsText(hosts []server.Host, sessions []server.Session) []byte {
	online, states := 0, map[server.SessionState]int{}
	for _, host := range hosts {
		if host.Online {
			online++
		}
	}
	viewers := 0
	for _, session := range sessions {
		states[session.State]++
		viewers += session.Viewers
	}
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	var out bytes.Buffer
	gauge := func(name, help string, value any) {
		fmt.Fprintf(&out, "# HELP %s %s\n# TYPE %s gauge\n%s %v\n", name, help, name, name, value)
	}
	fmt.Fprintf(&out, "# HELP agent_helm_build_info The version that runs.\n# TYPE agent_helm_build_info gauge\nagent_helm_build_info{version=%q} 1\n", buildinfo.Version())
	gauge("agent_helm_hosts", "Enrolled hosts.", len(hosts))
	gauge("agent_helm_hosts_online", "Hosts that are connected.", online)
	fmt.Fprint(&out, "# HELP agent_helm_sessions Listed sessions by state.\n# TYPE agent_helm_sessions gauge\n")
	for _, state := range []server.SessionState{server.StateRunning, server.StateExited, server.StateLost} {
		fmt.Fprintf(&out, "agent_helm_sessions{state=%q} %d\n", state, states[state])
	}
	gauge("agent_helm_viewers", "Open views of sessions.", viewers)
	gauge("go_goroutines", "Goroutines that exist.", runtime.NumGoroutine())
	gauge("go_memstats_heap_alloc_bytes", "Bytes of live and not yet collected heap objects.", memory.HeapAlloc)
	gauge("go_memstats_sys_bytes", "Bytes taken from the system.", memory.Sys)
	return out.Bytes()
}
