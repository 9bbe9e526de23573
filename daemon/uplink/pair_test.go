package uplink

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
)

// registry answers registrations; code "GOOD22" is right.
func registry(w http.ResponseWriter, r *http.Request) {
	var got registration
	switch {
	case r.Method != http.MethodPost || r.URL.Path != registerPath:
		http.NotFound(w, r)
	case json.NewDecoder(r.Body).Decode(&got) != nil || got.Name == "" || got.OS == "" || got.Arch == "" || got.Version == "":
		w.WriteHeader(http.StatusUnprocessableEntity)
		io.WriteString(w, `{"title":"Unprocessable Entity","detail":"something is missing"}`)
	case got.Code != "GOOD22":
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusForbidden)
		io.WriteString(w, `{"title":"Forbidden","status":403,"code":"code_invalid","detail":"the code is wrong or used up: ask for a new one"}`)
	default:
		json.NewEncoder(w).Encode(registered{HostID: "h1", Name: got.Name, Token: "ah_a_b"})
	}
}

func plainServer(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(registry))
	t.Cleanup(s.Close)
	return s
}

func tlsServer(t *testing.T, handler http.Handler) (s *httptest.Server, pin string) {
	t.Helper()
	s = httptest.NewUnstartedServer(handler)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	t.Cleanup(s.Close)
	return s, spki(s.Certificate())
}

func TestPair_Loopback(t *testing.T) {
	s := plainServer(t)
	config, err := Pair(t.Context(), s.URL+"/", " GOOD22\n", "laptop")
	if err != nil {
		t.Fatal(err)
	}
	if want := (daemon.HostConfig{Server: s.URL, HostID: "h1", Name: "laptop", Token: "ah_a_b"}); config != want {
		t.Errorf("got %+v", config)
	}
}

func TestPair_PinFromTheAddress(t *testing.T) {
	s, pin := tlsServer(t, http.HandlerFunc(registry))
	sum, err := base64.StdEncoding.DecodeString(pin)
	if err != nil {
		t.Fatal(err)
	}
	for _, fragment := range []string{pin, base64.RawURLEncoding.EncodeToString(sum)} {
		config, err := Pair(t.Context(), s.URL+"/#pin="+fragment, "GOOD22", "laptop")
		if err != nil || config.Pin != pin || config.Server != s.URL {
			t.Errorf("with #pin=%s: %+v, %v", fragment, config, err)
		}
	}
	other := base64.StdEncoding.EncodeToString(make([]byte, 32))
	if _, err := Pair(t.Context(), s.URL+"#pin="+other, "GOOD22", "laptop"); !errors.Is(err, errPin) {
		t.Errorf("with another's pin: %v", err)
	}
	// Without a pin an unknown authority is not trusted, and the code is not sent.
	if _, err := Pair(t.Context(), s.URL, "GOOD22", "laptop"); err == nil || !strings.Contains(err.Error(), "vouches") {
		t.Errorf("without a pin: %v", err)
	}
}

func TestPair_Refusals(t *testing.T) {
	s := plainServer(t)
	notOurs := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "<html>hello</html>") }))
	defer notOurs.Close()
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for name, c := range map[string]struct{ url, code, host, want string }{
		"wrong code":       {s.URL, "BAD222", "laptop", "ask for a new one"},
		"no code":          {s.URL, " ", "laptop", "code is needed"},
		"bad name":         {s.URL, "GOOD22", "a\x1bb", "name"},
		"off loopback":     {"http://192.0.2.1", "GOOD22", "laptop", "https"},
		"ws":               {"ws://127.0.0.1", "GOOD22", "laptop", "https"},
		"no URL":           {"not a url", "GOOD22", "laptop", "https"},
		"ticket link":      {"https://server.example/#t=abc", "GOOD22", "laptop", "for a browser"},
		"damaged pin":      {"https://server.example/#pin=abc", "GOOD22", "laptop", "damaged"},
		"another server":   {notOurs.URL, "GOOD22", "laptop", "not that of an agent-helm server"},
		"nobody there":     {gone.URL, "GOOD22", "laptop", "refused"},
		"wrong path":       {s.URL + "/sub", "GOOD22", "laptop", "no agent-helm server"},
		"user in the URL":  {"https://me:pw@server.example", "GOOD22", "laptop", "https://name"},
		"TLS on a bad one": {strings.Replace(s.URL, "http:", "https:", 1), "GOOD22", "laptop", "does not speak TLS"},
	} {
		t.Run(name, func(t *testing.T) {
			config, err := Pair(t.Context(), c.url, c.code, c.host)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %+v, %v", config, err)
			}
			if err != nil && strings.Contains(err.Error(), "GOOD22") {
				t.Errorf("the code is in the error: %v", err)
			}
		})
	}
}

// runUntil runs an uplink over the real network until its status suits.
func runUntil(t *testing.T, u *Uplink, what string, suits func(Status) bool) Status {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		u.Run(ctx)
	}()
	defer func() {
		cancel()
		<-ended
	}()
	eventually(t, what, func() bool { return suits(u.Status()) })
	return u.Status()
}

// eventually waits until a condition that nothing announces holds.
func eventually(t testing.TB, what string, condition func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for !condition() {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
		<-poll.C
	}
}

func TestRun_Pin(t *testing.T) {
	server := newFakeServer()
	s, pin := tlsServer(t, server)
	host := newFakeHost()
	uplinkTo := func(pin string) *Uplink {
		return New(Options{
			Config: func() (daemon.HostConfig, error) {
				return daemon.HostConfig{Server: s.URL, HostID: "h", Name: "n", Token: testToken, Pin: pin}, nil
			},
			Policy:   func() (daemon.Policy, error) { return daemon.DefaultPolicy(), nil },
			Sessions: host, Version: "test",
		})
	}
	runUntil(t, uplinkTo(pin), "a link to the pinned server", func(s Status) bool { return s.State == StateConnected })
	links := server.links
	other := base64.StdEncoding.EncodeToString(make([]byte, 32))
	status := runUntil(t, uplinkTo(other), "a refusal", func(s Status) bool { return s.State == StateRefused })
	if !strings.Contains(status.LastError, "pinned") {
		t.Errorf("the status is %+v", status)
	}
	if status := runUntil(t, uplinkTo(""), "a refusal", func(s Status) bool { return s.State == StateRefused }); !strings.Contains(status.LastError, "vouches") {
		t.Errorf("without a pin the status is %+v", status)
	}
	server.mu.Lock()
	defer server.mu.Unlock()
	if server.links != links {
		t.Error("a server with another key was told something")
	}
}
