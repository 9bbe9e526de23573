package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/coder/websocket"

	"github.com/agent-helm/agent-helm/internal/wire"
)

// verbose starts server and daemon again with everything that they can log.
func (s *Stack) verbose(t *testing.T) {
	t.Helper()
	address := strings.TrimPrefix(s.URL, "http://")
	s.StopDaemon()
	s.StopServer()
	server := exec.Command(s.bin.Server, "serve", "--data", s.dataDir(), "--listen", address, "--public-url", "http://"+s.Uplink.Addr(), "--log-level", "debug", "--open-ticket",
		"--link-file", filepath.Join(s.dir, "link"))
	daemon := exec.Command(s.bin.Helm, "daemon", "--log-level", "debug")
	server.Env, daemon.Env = s.env(), s.env()
	var err error
	if s.server, err = startProcess("server", server); err != nil {
		t.Fatal(err)
	}
	s.Eventually("the server answers", func() error {
		response, err := http.Get(s.URL + "/api/health")
		if err == nil {
			response.Body.Close()
		}
		return err
	})
	if s.daemon, err = startProcess("daemon", daemon); err != nil {
		t.Fatal(err)
	}
	s.awaitHost("e2e-host")
}

// secrets are what must be found nowhere, by name.
type secrets map[string]string

// pairBrowser signs a browser in by a link, uses everything that it got, and
// returns it all.
func (s *Stack) pairBrowser(t *testing.T, link string) secrets {
	t.Helper()
	_, ticket, _ := strings.Cut(strings.TrimSpace(link), "/#t=")
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	headers := http.Header{"Origin": {s.URL}, "Sec-Fetch-Site": {"same-origin"}, "Content-Type": {"application/json"}}
	request := func(method, path string, body string) (*http.Response, string) {
		r, err := http.NewRequestWithContext(ctx, method, s.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header = headers.Clone()
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		content, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		return response, string(content)
	}
	response, content := request(http.MethodPost, "/api/pair", `{"ticket":"`+ticket+`","name":"Pixel"}`)
	var paired struct{ Proof string }
	if err := json.Unmarshal([]byte(content), &paired); err != nil || paired.Proof == "" || len(response.Cookies()) != 1 {
		t.Fatalf("pair: %s %s", response.Status, content)
	}
	cookie := response.Cookies()[0]
	headers.Set("Cookie", cookie.Name+"="+cookie.Value)
	headers.Set("X-Agent-Helm-Proof", paired.Proof)
	if response, content := request(http.MethodGet, "/api/me", ""); response.StatusCode != http.StatusOK {
		t.Fatalf("me: %s %s", response.Status, content)
	}
	// A used link, a wrong code and a wrong token are told of, without them.
	request(http.MethodPost, "/api/pair", `{"ticket":"`+ticket+`","name":"Again"}`)
	request(http.MethodPost, "/api/pair", `{"code":"QQQ777","name":"Guess"}`)
	headers.Del("Content-Type")
	conn, _, err := websocket.Dial(ctx, s.URL+"/api/ws", &websocket.DialOptions{HTTPHeader: headers})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	hello, err := wire.Append(wire.AppendPreamble(nil), &wire.ViewerHello{Version: "e2e", Visible: true, Proof: paired.Proof})
	if err == nil {
		err = conn.Write(ctx, websocket.MessageBinary, hello)
	}
	if err == nil {
		_, _, err = conn.Read(ctx)
	}
	if err != nil {
		t.Fatalf("socket: %v", err)
	}
	return secrets{"ticket": ticket, "cookie": cookie.Value, "proof": paired.Proof}
}

// TestRedaction uses every kind of secret and looks for each of them in all
// that was written meanwhile: logs, data and state directories, what the
// programs printed, and what the system shows of every process (THREATS S-36).
func TestRedaction(t *testing.T) {
	s := NewStack(t)
	s.verbose(t)
	link, err := os.ReadFile(filepath.Join(s.dir, "link"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(s.dir, "link")); err != nil { // its owner has read it
		t.Fatal(err)
	}
	used := s.pairBrowser(t, string(link))
	used["admin token"], used["host token"] = s.Token, hostToken(t, s)
	used["read token"] = strings.TrimSpace(s.mustServer("token", "create", "--data", s.dataDir(), "--name", "reader", "--scope", "read"))
	used["console link"] = strings.TrimSpace(s.mustServer("link", "--data", s.dataDir()))
	_, used["console link"], _ = strings.Cut(used["console link"], "/#t=")
	code, _, _ := strings.Cut(s.mustServer("pair", "--data", s.dataDir()), "\n")
	used["code"] = code

	// What a person types into a prompt that does not echo is in no log either.
	const typed = "typed-Zx81-where-nothing-echoes"
	used["typed text"] = typed
	session := s.Run("prompt", "sh", "-c", "stty -echo; printf 'Password: '; read answer; stty echo; printf 'got %s characters' ${#answer}; exec cat")
	s.Eventually("the prompt", func() error { return s.shows(session, "Password:") })
	if _, err := s.Request(http.MethodPost, "/api/sessions/"+session+"/input", map[string]any{"text": typed, "submit": true}); err != nil {
		t.Fatal(err)
	}
	s.Eventually("the answer", func() error { return s.shows(session, fmt.Sprintf("got %d characters", len(typed))) })

	for name, secret := range used {
		if len(secret) < 6 {
			t.Fatalf("no %s: %q", name, secret)
		}
	}
	s.searchProcesses(t, used)
	audit, err := s.Request(http.MethodGet, "/api/audit", nil)
	if err != nil {
		t.Fatal(err)
	}
	used.absent(t, "the audit", audit, true)
	if !bytes.Contains(audit, []byte("device.paired")) {
		t.Errorf("the audit tells nothing: %s", audit)
	}
	s.StopDaemon()
	s.StopServer()
	used.absent(t, "the server's output", []byte(s.server.Output()), true)
	used.absent(t, "the daemon's output", []byte(s.daemon.Output()), true)
	if !strings.Contains(s.server.Output(), "level=DEBUG") {
		t.Error("the server did not log everything")
	}
	s.searchFiles(t, used)
}

func (s *Stack) shows(session, text string) error {
	screen, err := s.Screen(session)
	if err == nil && !strings.Contains(screen, text) {
		err = fmt.Errorf("the screen shows %q", screen)
	}
	return err
}

// absent checks a place. Six characters turn up by chance in what is not text.
func (used secrets) absent(t *testing.T, place string, content []byte, text bool) {
	t.Helper()
	for name, secret := range used {
		if !text && name == "code" {
			continue
		}
		if bytes.Contains(content, []byte(secret)) {
			t.Errorf("%s holds the %s", place, name)
		}
	}
}

func (s *Stack) searchFiles(t *testing.T, used secrets) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(s.dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		place := strings.TrimPrefix(path, s.dir)
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %v", place, info.Mode())
		}
		if place == "/config/host.json" {
			// The one place that a secret may be in, as nothing else can hold it.
			content = bytes.ReplaceAll(content, []byte(used["host token"]), nil)
		}
		used.absent(t, place, content, false)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	if files < 5 {
		t.Errorf("only %d files were looked at", files)
	}
}

// searchProcesses looks at what the system shows of every process of ours: the
// programs, holders, and what runs in sessions.
func (s *Stack) searchProcesses(t *testing.T, used secrets) {
	t.Helper()
	processes, err := filepath.Glob("/proc/[0-9]*")
	if err != nil || len(processes) == 0 {
		t.Log("no /proc here: environments and command lines were not looked at")
		return
	}
	ours := 0
	for _, process := range processes {
		environment, err := os.ReadFile(process + "/environ")
		if err != nil {
			continue // ended meanwhile, or somebody else's
		}
		if !bytes.Contains(environment, []byte(s.dir)) {
			continue
		}
		ours++
		arguments, err := os.ReadFile(process + "/cmdline")
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESRCH) {
			t.Error(err)
		}
		used.absent(t, process+"/environ", environment, true)
		used.absent(t, process+"/cmdline", arguments, true)
	}
	if ours < 4 { // server, daemon, holder, the program
		t.Errorf("only %d processes were looked at", ours)
	}
}
