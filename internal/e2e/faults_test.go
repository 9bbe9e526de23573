package e2e

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/coder/websocket"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/holder"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// bystander is a session that a fault elsewhere must not touch.
func bystander(t *testing.T, s *Stack) (check func()) {
	t.Helper()
	id := s.Run("bystander", program(t, "echo")...)
	stream := s.Viewer().Attach(s.HostID, id, nil)
	must(t, stream.WaitFor(s.Context(), "the bystander", func(now Snapshot) bool { return strings.Contains(now.Text, "ready") }))
	return func() {
		t.Helper()
		stream.Type("unharmed ")
		must(t, stream.WaitFor(s.Context(), "the bystander's echo", func(now Snapshot) bool { return strings.Contains(now.Text, "unharmed") }))
	}
}

func TestFault_credentials(t *testing.T) {
	s := NewStack(t)
	unharmed := bystander(t, s)
	for _, test := range []struct {
		name   string
		header http.Header
		path   string
		want   int
	}{
		{"no credential", http.Header{}, "/api/sessions", http.StatusUnauthorized},
		{"wrong token", http.Header{"Authorization": {"Bearer ah_0123456789ab_0123456789"}}, "/api/sessions", http.StatusUnauthorized},
		{"token in another scheme", http.Header{"Authorization": {"Basic " + s.Token}}, "/api/sessions", http.StatusUnauthorized},
		{"hostile Origin is refused before any credential is looked at", http.Header{"Origin": {"https://evil.example"}}, "/api/ws", http.StatusForbidden},
		{"health needs none", http.Header{}, "/api/health", http.StatusOK},
	} {
		request, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.URL+test.path, nil)
		must(t, err)
		request.Header = test.header
		response, err := http.DefaultClient.Do(request)
		must(t, err)
		body, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != test.want {
			t.Errorf("%s: %s, want %d: %s", test.name, response.Status, test.want, body)
		}
		if test.want == http.StatusUnauthorized && !strings.Contains(string(body), `"code"`) {
			t.Errorf("%s: the answer has no code: %s", test.name, body)
		}
	}
	request, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.URL+"/api/health", nil)
	must(t, err)
	request.Host = "evil.example"
	response, err := http.DefaultClient.Do(request)
	must(t, err)
	response.Body.Close()
	if response.StatusCode < 400 {
		t.Errorf("a rebound Host got %s", response.Status)
	}
	unharmed()
}

func TestFault_malformedFrames(t *testing.T) {
	s := NewStack(t)
	unharmed := bystander(t, s)
	preamble := wire.AppendPreamble(nil)
	for _, test := range []struct {
		name    string
		message []byte
	}{
		{"no preamble", []byte("GET / HTTP/1.1\r\n\r\n")},
		{"another major version", []byte("AHLM\x63\x00")},
		{"a length beyond the limit", append(preamble, byte(wire.TypeInput), 0xff, 0xff, 0xff, 0xff, 0x7f)},
		{"a truncated frame", append(preamble, byte(wire.TypeInput), 50, 1, 2, 3)},
		{"an input before hello", append(preamble, byte(wire.TypeDetach), 1, 0)},
		{"JSON that is none", append(preamble, byte(wire.TypeViewerHello), 2, '{', '{')},
		{"more than a message may have", make([]byte, wire.MaxMessage+1)},
	} {
		t.Run(test.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), Patience)
			defer cancel()
			conn, _, err := websocket.Dial(ctx, "ws"+strings.TrimPrefix(s.URL, "http")+"/api/ws",
				&websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + s.Token}}})
			must(t, err)
			defer conn.CloseNow()
			_ = conn.Write(ctx, websocket.MessageBinary, test.message)
			for {
				if _, _, err = conn.Read(ctx); err != nil {
					break
				}
			}
			if status := websocket.CloseStatus(err); status < 0 && ctx.Err() != nil {
				t.Errorf("the connection stayed open: %v", err)
			}
		})
	}
	unharmed()
}

func TestFault_unknownSession(t *testing.T) {
	s := NewStack(t)
	unharmed := bystander(t, s)
	for _, path := range []string{"/api/sessions/00000000000000000000000000", "/api/sessions/nonsense", "/api/sessions/00000000000000000000000000/screen?format=text"} {
		body, err := s.Request(http.MethodGet, path, nil)
		if err == nil || !strings.Contains(err.Error(), "404") {
			t.Errorf("%s: %v %s", path, err, body)
		}
	}
	stream := s.Viewer().Attach(s.HostID, "00000000000000000000000000", nil)
	must(t, stream.WaitFor(s.Context(), "the problem", func(now Snapshot) bool { return now.Problem != nil && now.Problem.Code == wire.CodeUnknownSession }))
	unharmed()
}

func TestFault_deadHolder(t *testing.T) {
	s := NewStack(t)
	unharmed := bystander(t, s)
	id := s.Run("victim", program(t, "echo")...)
	var victim struct {
		HolderPID int `json:"holder_pid"`
	}
	sessions := s.sessions()
	for _, session := range sessions {
		if session.ID == id {
			victim.HolderPID = session.HolderPID
		}
	}
	if victim.HolderPID == 0 {
		t.Fatalf("ls does not tell the holder: %+v", sessions)
	}
	must(t, syscall.Kill(victim.HolderPID, syscall.SIGKILL))
	s.Eventually("the server lists the session as lost, with a reason", func() error {
		var session struct {
			State  string `json:"state"`
			Reason string `json:"lost_reason"`
		}
		if err := s.GetJSON("/api/sessions/"+id, &session); err != nil {
			return err
		}
		if session.State != "lost" {
			return fmt.Errorf("%+v", session)
		}
		return nil
	})
	unharmed()
}

func TestFault_twoDaemonsWithOneToken(t *testing.T) {
	s := NewStack(t)
	unharmed := bystander(t, s)
	copied := filepath.Join(s.Dir(), "copied")
	must(t, os.CopyFS(filepath.Join(copied, "config"), os.DirFS(filepath.Join(s.Dir(), "config"))))
	must(t, os.Chmod(filepath.Join(copied, "config"), 0o700))
	must(t, os.Chmod(filepath.Join(copied, "config", "host.json"), 0o600))
	second := s.HelmCommand("daemon")
	second.Env = append(second.Env, "AGENT_HELM_CONFIG_DIR="+filepath.Join(copied, "config"), "AGENT_HELM_STATE_DIR="+filepath.Join(copied, "state"))
	process, err := startProcess("second daemon", second)
	must(t, err)
	defer process.Stop()
	s.Eventually("the second daemon says that the token is in use", func() error {
		status := s.HelmCommand("ls", "--json")
		status.Args = []string{status.Path}
		status.Env = second.Env
		out, err := status.CombinedOutput()
		if err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		if !strings.Contains(string(out), "another") {
			return fmt.Errorf("it says:\n%s\n%s", out, process.Output())
		}
		return nil
	})
	unharmed()
}

func TestFault_frozenServer(t *testing.T) {
	s := NewStack(t)
	id := s.Run("shell", "/bin/sh")
	s.server.Signal(syscall.SIGSTOP)
	defer s.server.Signal(syscall.SIGCONT)
	// The host goes on without the server.
	if _, err := s.Helm("send", id, "echo $((6*7))-without-a-server"); err != nil {
		t.Fatal(err)
	}
	s.Eventually("the program ran", func() error {
		out, err := s.Helm("logs", id)
		if err != nil {
			return err
		}
		if !strings.Contains(out, "42-without-a-server") {
			return fmt.Errorf("log: %s", out)
		}
		return nil
	})
	s.server.Signal(syscall.SIGCONT)
	stream := s.Viewer().Attach(s.HostID, id, nil)
	must(t, stream.WaitFor(s.Context(), "the output that came meanwhile", func(now Snapshot) bool { return strings.Contains(now.Text, "42-without-a-server") }))
}

func TestFault_absentHost(t *testing.T) {
	s := NewStack(t)
	id := s.Run("shell", "/bin/sh")
	stream := s.Viewer().Attach(s.HostID, id, nil)
	stream.Submit("echo seen-before")
	must(t, stream.WaitFor(s.Context(), "output", func(now Snapshot) bool { return strings.Contains(now.Text, "seen-before\n") && now.Applied == 1 }))
	s.Uplink.Refuse(true)
	s.Uplink.Cut()
	s.Eventually("the host is offline and its session stays listed", func() error {
		var session struct {
			Online bool   `json:"online"`
			State  string `json:"state"`
		}
		if err := s.GetJSON("/api/sessions/"+id, &session); err != nil {
			return err
		}
		if session.Online || session.State != "running" {
			return fmt.Errorf("%+v", session)
		}
		return nil
	})
	if _, err := s.Request(http.MethodPost, "/api/sessions/"+id+"/input", map[string]any{"text": "x"}); err == nil || !strings.Contains(err.Error(), wire.CodeHostOffline) {
		t.Errorf("input for an absent host: %v, want %s", err, wire.CodeHostOffline)
	}
	// The server forgets nothing over a restart, though the host is away.
	s.StopServer()
	s.RestartServer()
	screen, err := s.Screen(id)
	must(t, err)
	if !strings.Contains(screen, "seen-before") {
		t.Errorf("after a restart the last screen of an absent host is:\n%s", screen)
	}
	s.Uplink.Refuse(false)
	must(t, stream.WaitFor(s.Context(), "live again", func(now Snapshot) bool { return now.Live }))
	stream.Submit("echo seen-after")
	must(t, stream.WaitFor(s.Context(), "output again", func(now Snapshot) bool { return strings.Contains(now.Text, "seen-after\n") }))
}

// TestEqualTerminals: holder and server show the same at the end of random
// resizes and output.
func TestEqualTerminals(t *testing.T) {
	s := NewStack(t)
	id := s.Run("shell", "/bin/sh")
	v := s.Viewer()
	stream := v.Attach(s.HostID, id, nil)
	must(t, stream.WaitFor(s.Context(), "live", func(now Snapshot) bool { return now.Live }))
	for i := range 12 {
		stream.ClaimSize(wire.ClaimFit, uint16(20+(i*37)%120), uint16(6+(i*13)%40))
		stream.Submit(fmt.Sprintf("for i in 1 2 3 4 5 6 7 8 9; do echo round-%d-$i-%s; done", i, strings.Repeat("wide", i*3)))
		must(t, stream.WaitFor(s.Context(), "the round", func(now Snapshot) bool { return now.Applied == i+1 }))
	}
	stream.Submit("echo the-$((1+1))nd-end")
	must(t, stream.WaitFor(s.Context(), "the end", func(now Snapshot) bool { return strings.Contains(now.Text, "the-2nd-end") }))
	s.Eventually("three equal screens", func() error {
		holder, err := s.holderScreen(id)
		if err != nil {
			return err
		}
		server, err := s.Screen(id)
		if err != nil {
			return err
		}
		viewer := stream.Snapshot().Text
		trim := func(text string) string { return strings.TrimRight(text, " \n") }
		if trim(holder) != trim(server) || trim(server) != trim(viewer) {
			return fmt.Errorf("holder:\n%s\nserver:\n%s\nviewer:\n%s", holder, server, viewer)
		}
		return nil
	})
}

// holderScreen asks the holder itself, past daemon and server.
func (s *Stack) holderScreen(id string) (string, error) {
	dirs, err := daemon.ResolveDirs(func(name string) string {
		for _, variable := range slices.Backward(s.env()) {
			if value, ok := strings.CutPrefix(variable, name+"="); ok {
				return value
			}
		}
		return ""
	})
	if err != nil {
		return "", err
	}
	client, err := holder.Dial(s.Context(), dirs, id, wire.RoleTool)
	if err != nil {
		return "", err
	}
	defer client.Close()
	var result wire.TextResult
	err = client.Call(s.Context(), wire.MethodText, wire.TextParams{}, &result)
	return result.Text, err
}

// TestUpgrade: sessions live on while the daemon's binary is replaced.
func TestUpgrade(t *testing.T) {
	s := NewStack(t)
	id := s.Run("counter", program(t, "counter", filepath.Join(s.Dir(), "keys"), "20ms")...)
	var book ledger
	stream := s.Viewer().Attach(s.HostID, id, book.output)
	must(t, stream.WaitFor(s.Context(), "lines", func(Snapshot) bool { return book.last() > 5 }))
	s.StopDaemon()
	copied := filepath.Join(s.Dir(), "agent-helm-new")
	content, err := os.ReadFile(s.bin.Helm)
	must(t, err)
	must(t, os.WriteFile(copied, content, 0o700))
	s.bin.Helm = copied
	s.StartDaemon()
	at := book.last()
	must(t, stream.WaitFor(s.Context(), "lines after the upgrade", func(now Snapshot) bool { return now.Live && book.last() > at+20 }))
	must(t, book.fill(s.Context(), stream))
	book.mu.Lock()
	defer book.mu.Unlock()
	for i := 1; i < len(book.lines); i++ {
		if book.lines[i] != book.lines[i-1]+1 {
			t.Errorf("line %d follows line %d", book.lines[i], book.lines[i-1])
		}
	}
}
