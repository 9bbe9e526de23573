package httpapi

import (
	"bytes"
	"compress/gzip"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"testing/fstest"
	"testing/synctest"
	"time"
)

func TestApp(t *testing.T) {
	b := newBench(t)
	for path, want := range map[string]struct {
		status      int
		mediaType   string
		cache, body string
	}{
		"/":                    {200, "text/html; charset=utf-8", "no-cache", "<!doctype html>app"},
		"/index.html":          {200, "text/html; charset=utf-8", "no-cache", "<!doctype html>app"},
		"/welcome":             {200, "text/html; charset=utf-8", "no-cache", "<!doctype html>app"},
		"/sessions/a/b":        {200, "text/html; charset=utf-8", "no-cache", "<!doctype html>app"},
		"/../../etc/passwd":    {200, "text/html; charset=utf-8", "no-cache", "<!doctype html>app"},
		"/sw.js":               {200, "text/javascript; charset=utf-8", "no-cache", "// worker"},
		"/assets/index-abc.js": {200, "text/javascript; charset=utf-8", "public, max-age=31536000, immutable", ""},
		"/icons/icon.png":      {200, "image/png", "no-cache", "\x89PNG"},
		"/assets/missing.js":   {404, problemType, "", ""},
		"/missing.html":        {404, problemType, "", ""},
		"/apiary":              {200, "text/html; charset=utf-8", "no-cache", "<!doctype html>app"},
	} {
		answer := b.stranger().get(path).is(want.status)
		if got := answer.Header().Get("Content-Type"); got != want.mediaType {
			t.Errorf("%s: type %s", path, got)
		}
		if got := answer.Header().Get("Cache-Control"); got != want.cache {
			t.Errorf("%s: Cache-Control %q", path, got)
		}
		if want.body != "" && answer.Body.String() != want.body {
			t.Errorf("%s: %s", path, answer.Body)
		}
	}
	b.stranger().with("Service-Worker", "script").get("/sw.js").is(http.StatusOK)
	b.stranger().with("Service-Worker", "script").get("/assets/index-abc.js").is(http.StatusForbidden)
}

func TestApp_caching_and_compression(t *testing.T) {
	b := newBench(t)
	const path = "/assets/index-abc.js"
	plain := b.stranger().get(path).is(http.StatusOK)
	tag := plain.Header().Get("ETag")
	notModified := b.stranger().with("If-None-Match", tag).get(path).is(http.StatusNotModified)
	if notModified.Body.Len() != 0 {
		t.Error("304 has a body")
	}
	head := b.stranger().do(http.MethodHead, path, nil).is(http.StatusOK)
	if head.Body.Len() != 0 || head.Header().Get("Content-Length") != plain.Header().Get("Content-Length") {
		t.Error("HEAD is not GET without its body")
	}
	compressed := b.stranger().with("Accept-Encoding", "br, gzip;q=0.5").get(path).is(http.StatusOK)
	if compressed.Header().Get("Content-Encoding") != "gzip" || compressed.Body.Len() >= plain.Body.Len() {
		t.Fatalf("not compressed: %d bytes", compressed.Body.Len())
	}
	reader, err := gzip.NewReader(compressed.Body)
	if err != nil {
		t.Fatal(err)
	}
	if content, err := io.ReadAll(reader); err != nil || !bytes.Equal(content, plain.Body.Bytes()) {
		t.Errorf("compressed content differs: %v", err)
	}
	for _, accept := range []string{"", "br", "gzip;q=0", "gzip; q=0", "gzipped"} {
		if got := b.stranger().with("Accept-Encoding", accept).get(path).Header().Get("Content-Encoding"); got != "" {
			t.Errorf("Accept-Encoding %q: %s", accept, got)
		}
	}
	if got := b.stranger().with("Accept-Encoding", "gzip").get("/sw.js").Header().Get("Content-Encoding"); got != "" {
		t.Errorf("a few bytes are compressed: %s", got)
	}
}

func TestApp_placeholder(t *testing.T) {
	b := newBench(t, func(c *Config) {
		c.App = fstest.MapFS{"placeholder.html": {Data: []byte("not built")}}
		c.Placeholder = "placeholder.html"
	})
	for _, path := range []string{"/", "/sessions"} {
		if got := b.stranger().get(path).is(http.StatusOK).Body.String(); got != "not built" {
			t.Errorf("%s: %s", path, got)
		}
	}
	if _, err := readApp(fstest.MapFS{}, ""); err == nil {
		t.Error("an app without a page was taken")
	}
}

// The committed description is what the code says.
func TestOpenAPI_is_up_to_date(t *testing.T) {
	got, err := Describe()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("openapi.json is out of date: run make generate")
	}
	b := newBench(t)
	if served := b.stranger().get("/api/openapi.json").is(http.StatusOK).Body.Bytes(); !bytes.Equal(served, want) {
		t.Error("the server serves another description than is committed")
	}
}

func TestDocs_load_nothing_from_elsewhere(t *testing.T) {
	b := newBench(t)
	for path, forbidden := range map[string][]string{
		"/api/docs":     {"http:", "https:", "<script>", "onload", "style="},
		"/api/docs.js":  {"http:", "https:", "innerHTML", "insertAdjacentHTML", "eval("},
		"/api/docs.css": {"http:", "https:", "@import", "url("},
		// The page and its script name addresses to the person, and load none.
		"/check":         {"src=\"http", "href=\"http", "<script>", "onload", "style="},
		"/api/check.js":  {"fetch('http", "innerHTML", "insertAdjacentHTML", "eval("},
		"/api/check.css": {"http:", "https:", "@import", "url("},
	} {
		answer := b.stranger().get(path).is(http.StatusOK)
		for _, text := range forbidden {
			if strings.Contains(answer.Body.String(), text) {
				t.Errorf("%s holds %q", path, text)
			}
		}
		if got := answer.Header().Get("Content-Security-Policy"); got != contentSecurityPolicy {
			t.Errorf("%s: policy %q", path, got)
		}
	}
}

// pipeListener hands out the server's ends of in-memory connections.
type pipeListener struct {
	conns chan net.Conn
	done  chan struct{}
}

func (l *pipeListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, net.ErrClosed
	}
}
func (l *pipeListener) Close() error   { close(l.done); return nil }
func (l *pipeListener) Addr() net.Addr { return &net.TCPAddr{} }

// peer is a connection from an address.
type peer struct {
	net.Conn
	from string
}

func (p peer) RemoteAddr() net.Addr {
	return &net.TCPAddr{IP: net.ParseIP(p.from), Port: 5000}
}

func TestConnections_limits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		limits := &Connections{}
		listener := &pipeListener{conns: make(chan net.Conn), done: make(chan struct{})}
		server := &http.Server{
			Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Header.Get("Authorization") != "" {
					authenticated(r.Context())
				}
			}),
			ConnContext: limits.Context, ConnState: limits.State, ReadHeaderTimeout: 10 * time.Second,
		}
		served := make(chan error, 1)
		go func() { served <- server.Serve(limits.Listener(listener)) }()
		dial := func(from string) net.Conn {
			client, remote := net.Pipe()
			listener.conns <- peer{remote, from}
			synctest.Wait()
			return client
		}
		// ask makes a request and reports whether it was answered.
		ask := func(c net.Conn, header string) bool {
			t.Helper()
			if err := c.SetDeadline(time.Now().Add(time.Second)); err != nil {
				return false // closed by the other end
			}
			if _, err := io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n"+header+"\r\n"); err != nil {
				return false
			}
			buffer := make([]byte, 4096)
			n, err := c.Read(buffer)
			synctest.Wait() // until the connection rests again
			return err == nil && strings.HasPrefix(string(buffer[:n]), "HTTP/1.1 200")
		}
		var open []net.Conn
		defer func() {
			for _, c := range open {
				c.Close()
			}
			server.Close()
			<-served
		}()

		for range maxStrangersPerAddress {
			open = append(open, dial("192.0.2.1"))
		}
		if refused := dial("192.0.2.1"); ask(refused, "") {
			t.Error("one more from the same address is answered")
		}
		if refused := dial("2001:db8::1"); !ask(refused, "") {
			t.Error("another address is refused")
		} else {
			open = append(open, refused)
		}
		// Who has shown a credential takes no stranger's place.
		if !ask(open[0], "Authorization: x\r\n") {
			t.Fatal("an accepted connection is not answered")
		}
		another := dial("192.0.2.1")
		open = append(open, another)
		if !ask(another, "") {
			t.Error("no room after one has authenticated")
		}
		// A stranger that rests between requests makes room for a busy one: the
		// 17th connection of a proxy's pool is answered.
		resting := another
		seventeenth := dial("192.0.2.1")
		open = append(open, seventeenth)
		if !ask(seventeenth, "") {
			t.Error("no room although one rests")
		}
		if ask(resting, "") {
			t.Error("the one that rested longest is still there")
		}
		// In all: fill up with other addresses.
		strangers := func() int {
			limits.mu.Lock()
			defer limits.mu.Unlock()
			return len(limits.strangers)
		}
		for i := 0; strangers() < maxStrangers; i++ {
			open = append(open, dial("2001:db8:0:"+string(rune('a'+i%5))+string(rune('0'+i/5))+"::1"))
		}
		for range 2 { // two rest; their places go to the next two, who say nothing
			open = append(open, dial("203.0.113.1"))
		}
		if refused := dial("203.0.113.1"); ask(refused, "") {
			t.Error("one more than all is answered")
		}
		// Strangers who say nothing, or nothing more, are gone soon; the other stays.
		time.Sleep(strangerIdle + 2*time.Second)
		if got := strangers(); got != 0 {
			t.Errorf("%d strangers rest here", got)
		}
		if len(limits.perPeer) != 0 {
			t.Errorf("addresses are remembered: %v", limits.perPeer)
		}
		if !ask(open[0], "Authorization: x\r\n") {
			t.Error("an authenticated connection was closed")
		}
	})
}
