package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"testing"

	"github.com/coder/websocket"

	"github.com/agent-helm/agent-helm/internal/wire"
)

// These tests play each party that DESIGN §9 does not trust, over the real wire
// and against the real binaries.

// peer is one end of a host's link that a test holds.
type peer struct {
	conn   *websocket.Conn
	reader *wire.Reader
	writer interface{ Write([]byte) (int, error) }
}

func newPeer(ctx context.Context, conn *websocket.Conn) (*peer, error) {
	conn.SetReadLimit(wire.MaxMessage)
	stream := websocket.NetConn(ctx, conn, websocket.MessageBinary)
	p := &peer{conn: conn, reader: wire.NewReader(stream), writer: stream}
	_, err := stream.Write(wire.AppendPreamble(nil))
	return p, err
}

func (p *peer) send(frames ...wire.Frame) error {
	encoded, err := wire.AppendAll(nil, frames...)
	if err != nil {
		return err
	}
	_, err = p.writer.Write(encoded)
	return err
}

// await reads until a frame of type F that satisfies accept.
func await[F wire.Frame](p *peer, accept func(F) bool) (F, error) {
	for {
		f, err := p.reader.ReadFrame()
		if err != nil {
			var none F
			return none, err
		}
		if wanted, ok := f.(F); ok && accept(wanted) {
			return wanted, nil
		}
	}
}

// hostToken is the bearer token of a stack's host.
func hostToken(t *testing.T, s *Stack) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(s.dir, "config", "host.json"))
	must(t, err)
	var config struct {
		Token string `json:"token"`
	}
	must(t, json.Unmarshal(content, &config))
	if config.Token == "" {
		t.Fatalf("no token in %s", content)
	}
	return config.Token
}

// TestTrust_hostTokenOpensNoRoute asks for every operation of the API document
// with the token of a host, which speaks for its own link and nothing else.
func TestTrust_hostTokenOpensNoRoute(t *testing.T) {
	s := NewStack(t)
	unharmed := bystander(t, s)
	var document struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	must(t, s.GetJSON("/api/openapi.json", &document))
	token, parameter := hostToken(t, s), regexp.MustCompile(`\{[^}]+\}`)
	asked := 0
	for path, operations := range document.Paths {
		for method := range operations {
			method = strings.ToUpper(method)
			switch {
			case method == "PARAMETERS", path == "/api/health", path == "/api/version", path == "/api/check", path == "/api/hosts/link":
				// Open to anyone, or the host's own.
				continue
			}
			asked++
			var want []int
			for _, bearer := range []string{token, ""} {
				request, err := http.NewRequestWithContext(s.Context(), method, s.URL+parameter.ReplaceAllString(path, "x"), strings.NewReader("{}"))
				must(t, err)
				request.Header.Set("Content-Type", "application/json")
				if bearer != "" {
					request.Header.Set("Authorization", "Bearer "+bearer)
				}
				response, err := http.DefaultClient.Do(request)
				must(t, err)
				response.Body.Close()
				want = append(want, response.StatusCode)
			}
			// Pairing needs a code and no credential; an empty one is refused.
			if want[0] < 400 || want[1] < 400 {
				t.Errorf("%s %s: %d with a host's token, %d without any", method, path, want[0], want[1])
			}
		}
	}
	if asked < 20 {
		t.Errorf("only %d operations were asked for", asked)
	}
	unharmed()
}

// TestTrust_hostileHost enrols a second host that claims the first one's
// session and floods the server with frames that are not for it to send.
func TestTrust_hostileHost(t *testing.T) {
	s := NewStack(t)
	unharmed := bystander(t, s)
	victim := s.Run("victim", program(t, "echo")...)
	stream := s.Viewer().Attach(s.HostID, victim, nil)
	must(t, stream.WaitFor(s.Context(), "the victim", func(now Snapshot) bool { return strings.Contains(now.Text, "ready") }))

	other := s.SecondHost("hostile")
	token := hostToken(t, other)
	other.StopDaemon()
	dial := func() *peer {
		conn, _, err := websocket.Dial(s.Context(), "ws"+strings.TrimPrefix(s.URL, "http")+"/api/hosts/link",
			&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + token}}})
		must(t, err)
		t.Cleanup(func() { conn.CloseNow() })
		p, err := newPeer(s.Context(), conn)
		must(t, err)
		return p
	}
	hello := &wire.HostHello{Instance: "hostile", Version: "\x1b[2J", Sessions: []wire.SessionInfo{{
		Handle: 1, ID: victim, Cols: 80, Rows: 24,
		Meta: wire.SessionMeta{Name: "victim \u202e\x1b]0;evil\a", Command: "\x1b[31mcat", State: "running"},
	}}}

	t.Run("its words stay in its own namespace", func(t *testing.T) {
		p := dial()
		must(t, p.send(hello))
		if _, err := p.reader.ReadPreamble(); err != nil {
			t.Fatal(err)
		}
		welcome, err := await(p, func(*wire.HostWelcome) bool { return true })
		must(t, err)
		if welcome.Host != "hostile" {
			t.Errorf("the server calls it %q", welcome.Host)
		}
		var frames []wire.Frame
		for _, handle := range []uint32{0, 1, 2, 77, 1<<32 - 1} {
			frames = append(frames,
				&wire.Output{Handle: handle, Data: []byte("FORGED")}, &wire.Gap{Handle: handle, Lost: 1 << 40},
				&wire.Exit{Handle: handle, Code: 1}, &wire.InputAck{Handle: handle, Client: wire.ClientID{1}, Seq: 1 << 60},
				&wire.SizeOwner{Handle: handle, Cols: 1, Rows: 1}, &wire.Resize{Handle: handle, Ordinal: 9, Cols: 1, Rows: 1})
		}
		must(t, p.send(frames...))
		must(t, p.send(&wire.RPCReply{ID: 1}, &wire.RPCReply{ID: 1 << 60, Error: &wire.Fault{Code: "x\x1b", Message: "\x1b[2J"}}))
		must(t, p.send(&wire.Ping{Nonce: 7}))
		if _, err := await(p, func(f *wire.Pong) bool { return f.Nonce == 7 }); err != nil {
			t.Fatalf("the link did not survive what is only ignored: %v", err)
		}
		// It may ask for a code, and for nothing else.
		must(t, p.send(&wire.RPC{ID: 5, Method: wire.MethodKill, Params: json.RawMessage(`{"id":"` + victim + `"}`)}))
		reply, err := await(p, func(f *wire.RPCReply) bool { return f.ID == 5 })
		must(t, err)
		if reply.Error == nil || reply.Error.Code != wire.CodeUnsupported {
			t.Errorf("a call of the host is answered with %+v", reply)
		}
		body, err := s.Request(http.MethodGet, "/api/sessions", nil)
		must(t, err)
		if strings.ContainsAny(string(body), "\x1b\u202e\a") {
			t.Errorf("what a host says reaches the API raw: %q", body)
		}
		stream.Type("mine ")
		must(t, stream.WaitFor(s.Context(), "the victim's own echo", func(now Snapshot) bool { return strings.Contains(now.Text, "mine") }))
		if text := stream.Snapshot().Text; strings.Contains(text, "FORGED") {
			t.Errorf("the victim shows %q", text)
		}
	})
	for name, frames := range map[string][]wire.Frame{
		"a viewer's frames":  {&wire.Attach{Handle: 1, Host: s.HostID, Session: victim}},
		"a server's frames":  {&wire.SessionResume{Handle: 1}},
		"input for a victim": {&wire.Input{Handle: 1, Client: wire.ClientID{1}, Seq: 1, Data: []byte("x")}},
		"a second hello":     {hello},
	} {
		t.Run(name, func(t *testing.T) {
			p := dial()
			must(t, p.send(hello))
			if _, err := p.reader.ReadPreamble(); err != nil {
				t.Fatal(err)
			}
			if _, err := await(p, func(*wire.HostWelcome) bool { return true }); err != nil {
				t.Fatal(err)
			}
			must(t, p.send(frames...))
			_, err := await(p, func(*wire.Live) bool { return true })
			if status := websocket.CloseStatus(err); status != wire.CloseProtocol {
				t.Errorf("the link ended with %v, want the protocol's close code", err)
			}
		})
	}
	unharmed()
}

// hostileServer enrols whoever asks and hands each link to the test.
type hostileServer struct {
	*httptest.Server
	links chan *websocket.Conn
}

func newHostileServer(t *testing.T) *hostileServer {
	h := &hostileServer{links: make(chan *websocket.Conn, 8)}
	over := make(chan struct{})
	mux := http.NewServeMux()
	mux.HandleFunc("POST /api/hosts/register", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"host_id":"h_hostile","name":"\u001b[2Jowned","token":"ah_0123456789ab_0123456789012345678901234567890123456789012"}`)
	})
	mux.HandleFunc("GET /api/hosts/link", func(w http.ResponseWriter, r *http.Request) {
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		select {
		case h.links <- conn:
		default:
			conn.CloseNow()
		}
		<-over // the connection is the test's
	})
	h.Server = httptest.NewServer(mux)
	t.Cleanup(func() {
		close(over)
		h.CloseClientConnections()
		h.Close()
	})
	return h
}

// TestTrust_hostileServer lets a host be served by one that wants to run a
// program on it, which the host's own policy does not grant.
func TestTrust_hostileServer(t *testing.T) {
	s := NewStack(t)
	h := newHostileServer(t)
	s.StopDaemon()
	out, err := s.Helm("pair", h.URL, "GOOD42", "--yes", "--name", "mine")
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(out, "\x1b") {
		t.Errorf("what the server calls the host reaches the terminal raw: %q", out)
	}
	shell := strings.TrimSpace(s.mustHelm("run", "--detach", "--name", "shell", "--", "cat"))
	id, _, _ := strings.Cut(shell, " ")
	s.StartDaemon()
	var conn *websocket.Conn
	select {
	case conn = <-h.links:
	case <-s.Context().Done():
		t.Fatal("the daemon did not come")
	}
	defer conn.CloseNow()
	p, err := newPeer(s.Context(), conn)
	must(t, err)
	if _, err := p.reader.ReadPreamble(); err != nil {
		t.Fatal(err)
	}
	hello, err := await(p, func(*wire.HostHello) bool { return true })
	must(t, err)
	must(t, p.send(&wire.HostWelcome{Instance: "evil", Version: "9", Host: "mine"}))
	var handle uint32
	for _, session := range hello.Sessions {
		if session.ID == id {
			handle = session.Handle
		}
	}
	if handle == 0 {
		t.Fatalf("%q is not among %+v", id, hello.Sessions)
	}

	sentinel := filepath.Join(s.dir, "sentinel")
	for i, params := range []any{
		wire.StartParams{Argv: []string{"touch", sentinel}},
		wire.StartParams{Agent: "claude", Argv: []string{"touch", sentinel}},
		wire.StartParams{Agent: "../../bin/touch " + sentinel},
		wire.StartParams{Agent: "touch"},
		wire.StartParams{Argv: []string{"sh", "-c", "touch " + sentinel}, Cwd: "/"},
	} {
		raw, err := json.Marshal(params)
		must(t, err)
		must(t, p.send(&wire.RPC{ID: uint64(i + 1), Method: wire.MethodStart, Params: raw}))
		reply, err := await(p, func(f *wire.RPCReply) bool { return f.ID == uint64(i+1) })
		must(t, err)
		if reply.Error == nil {
			t.Errorf("%s was started: %s", raw, reply.Result)
		}
	}
	for i, method := range []string{"exec.start", "file.read", "policy.set", "host.unlock", "daemon.stop", "pair", ""} {
		must(t, p.send(&wire.RPC{ID: uint64(100 + i), Method: method, Params: json.RawMessage(`{"path":"/etc/passwd","argv":["touch","` + sentinel + `"]}`)}))
		reply, err := await(p, func(f *wire.RPCReply) bool { return f.ID == uint64(100+i) })
		must(t, err)
		if reply.Error == nil {
			t.Errorf("%q was answered: %s", method, reply.Result)
		}
	}
	// Frames of parts that this host does not have, or that no server sends.
	must(t, p.send(&wire.Unknown{FrameType: 0x60, Body: []byte(sentinel)}, &wire.Output{Handle: handle, Data: []byte("touch " + sentinel + "\r")}))

	// A locked host takes no typing any more, from the next frame on.
	s.mustHelm("lock")
	must(t, p.send(&wire.Input{Handle: handle, Client: wire.ClientID{1}, Seq: 1, Data: []byte("typed\r")}))
	ack, err := await(p, func(f *wire.InputAck) bool { return f.Seq == 1 })
	must(t, err)
	if ack.Status != wire.InputForbidden {
		t.Errorf("typing into a locked host was answered by %d", ack.Status)
	}
	if logs := s.mustHelm("logs", "shell"); strings.Contains(logs, "typed") || strings.Contains(logs, "touch") {
		t.Errorf("the session has %q", logs)
	}
	if _, err := os.Stat(sentinel); err == nil {
		t.Error("the server made the host run a program")
	}
	audit, err := os.ReadFile(filepath.Join(s.dir, "state", "audit.log"))
	must(t, err)
	for _, line := range []string{`"what":"` + wire.MethodStart + `"`, `"what":"input"`, `"what":"unknown method"`, `"result":"forbidden"`} {
		if !strings.Contains(string(audit), line) {
			t.Errorf("the host's own audit lacks %s: %s", line, audit)
		}
	}
	if strings.Contains(string(audit), "typed") {
		t.Error("the host's audit holds keystrokes")
	}
}

// TestTrust_programInASession runs a program that tries to drive agent-helm
// from inside, whatever its environment says.
func TestTrust_programInASession(t *testing.T) {
	s := NewStack(t)
	unharmed := bystander(t, s)
	s.Run("victim", "cat")
	helm := s.bin.Helm
	script := strings.Join([]string{
		`env | grep -i agent_helm | sed "s/^/ENV /"`,
		`tr "\0" "\n" </proc/$PPID/environ 2>/dev/null | grep -i token | sed "s/^/PARENT /"`,
		`unset AGENT_HELM_SESSION AGENT_HELM_SESSION_REF`,
		`for attempt in "send victim stolen" "send self stolen" "kill victim" "rename victim stolen" "pair http://127.0.0.1:1 GOOD42 --yes" "pair" "daemon --stop" "unlock"; do`,
		`  ` + helm + ` $attempt >/dev/null 2>&1; echo "TRIED $attempt: $?"`,
		`done`,
		`echo OVER; exec cat`,
	}, "\n")
	s.Run("self", "sh", "-c", script)
	s.Eventually("the attempts", func() error {
		if out, err := s.Helm("logs", "self"); err != nil || !strings.Contains(out, "OVER") {
			return fmt.Errorf("%q: %w", out, err)
		}
		return nil
	})
	logs := s.mustHelm("logs", "self")
	for line := range strings.Lines(logs) {
		line = strings.TrimRight(line, "\r\n ")
		switch {
		case strings.HasPrefix(line, "TRIED ") && strings.HasSuffix(line, ": 0"):
			t.Errorf("a program in a session succeeded: %s", line)
		case strings.HasPrefix(line, "PARENT "):
			t.Errorf("the holder's environment holds a secret")
		case strings.HasPrefix(line, "ENV ") && strings.Contains(line, hostToken(t, s)):
			t.Errorf("the host's token is in the program's environment")
		}
	}
	if !strings.Contains(logs, "TRIED unlock") {
		t.Errorf("the attempts ended early: %q", logs)
	}
	var pairings struct{ Items []json.RawMessage }
	must(t, s.GetJSON("/api/pairings", &pairings))
	if len(pairings.Items) != 0 {
		t.Errorf("a program in a session asks for a code: %s", pairings.Items)
	}
	if out := s.mustHelm("logs", "victim"); strings.Contains(out, "stolen") {
		t.Errorf("the victim has %q", out)
	}
	list := s.mustHelm("ls", "--json")
	if !strings.Contains(list, "victim") || !strings.Contains(list, "was refused") {
		t.Errorf("the attempts do not show: %q", list)
	}
	unharmed()
}

// TestTrust_foreignPage asks as pages of other origins do, with and without a
// credential, and as a rebound name does.
func TestTrust_foreignPage(t *testing.T) {
	s := NewStack(t)
	unharmed := bystander(t, s)
	port := s.URL[strings.LastIndex(s.URL, ":"):]
	origins := []string{"https://evil.example", "null", "http://localhost" + port + ".evil.example", "http://127.0.0.1:1", "http://evil.127.0.0.1" + port, "file://", ""}
	for _, origin := range origins {
		for _, route := range []string{"GET /api/ws", "POST /api/pair", "POST /api/sessions/x/input", "DELETE /api/devices/x"} {
			method, path, _ := strings.Cut(route, " ")
			for _, bearer := range []string{"", s.Token} {
				request, err := http.NewRequestWithContext(s.Context(), method, s.URL+path, strings.NewReader("{}"))
				must(t, err)
				request.Header["Origin"] = []string{origin}
				request.Header.Set("Content-Type", "application/json")
				if bearer != "" {
					request.Header.Set("Authorization", "Bearer "+bearer)
				}
				response, err := http.DefaultClient.Do(request)
				must(t, err)
				response.Body.Close()
				if response.StatusCode != http.StatusForbidden {
					t.Errorf("%s from %q: %s", route, origin, response.Status)
				}
			}
		}
	}
	for _, host := range []string{"evil.example", "evil.example" + port, "127.0.0.1.evil.example" + port, "[::1]:1"} {
		request, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.URL+"/", nil)
		must(t, err)
		request.Host = host
		response, err := http.DefaultClient.Do(request)
		must(t, err)
		response.Body.Close()
		if response.StatusCode != http.StatusMisdirectedRequest {
			t.Errorf("the name %q got %s", host, response.Status)
		}
	}
	unharmed()
}
