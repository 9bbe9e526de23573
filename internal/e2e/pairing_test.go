package e2e

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// askForCode starts agent-helm pair on the host and waits until its request
// waits for a decision.
func askForCode(t *testing.T, s *Stack, args ...string) (command *exec.Cmd, id string, code *lockedBuffer) {
	t.Helper()
	command = s.HelmCommand(append([]string{"pair"}, args...)...)
	code = &lockedBuffer{}
	command.Stdout = code
	said, err := command.StderrPipe()
	must(t, err)
	must(t, command.Start())
	t.Cleanup(func() { _ = command.Process.Kill() })
	line, err := bufio.NewReader(said).ReadString('\n')
	must(t, err)
	found := regexp.MustCompile(`Request ([A-Z2-9]{4}) of e2e-host`).FindStringSubmatch(line)
	if found == nil {
		t.Fatalf("the terminal says %q", line)
	}
	return command, found[1], code
}

// redeem pairs a browser with a code and returns what it may do.
func redeem(t *testing.T, s *Stack, code string) []string {
	t.Helper()
	body, err := json.Marshal(map[string]string{"code": code, "name": "phone"})
	must(t, err)
	response, err := http.Post(s.URL+"/api/pair", "application/json", bytes.NewReader(body))
	must(t, err)
	defer response.Body.Close()
	var paired struct{ Scopes []string }
	if response.StatusCode != http.StatusOK {
		t.Fatalf("the code is answered with %s", response.Status)
	}
	must(t, json.NewDecoder(response.Body).Decode(&paired))
	return paired.Scopes
}

func waitingPairings(s *Stack) (ids []string, err error) {
	var list struct{ Items []struct{ ID string } }
	err = s.GetJSON("/api/pairings", &list)
	for _, item := range list.Items {
		ids = append(ids, item.ID)
	}
	return ids, err
}

// TestPairing_request plays a host that asks for codes: what the person at its
// terminal sees, what an admin and the console do, and what a request that
// nobody waits for any more is worth (THREATS S-2).
func TestPairing_request(t *testing.T) {
	s := NewStack(t)
	codes := func() int {
		var audit struct{ Items []struct{ Action string } }
		must(t, s.GetJSON("/api/audit?action=code.made", &audit))
		return len(audit.Items)
	}
	before := codes()

	command, id, code := askForCode(t, s)
	requests := s.mustServer("pair", "--data", s.dataDir(), "--requests", "--json")
	if !strings.Contains(requests, `"id": "`+id+`"`) || !strings.Contains(requests, `"name": "e2e-host"`) {
		t.Errorf("the console sees %s", requests)
	}
	if got := codes(); got != before || code.String() != "" {
		t.Fatalf("%d codes were made before anybody confirmed", got-before)
	}
	s.mustServer("pair", "--data", s.dataDir(), "--confirm", strings.ToLower(id))
	must(t, command.Wait())
	if scopes := redeem(t, s, strings.TrimSpace(code.String())); fmt.Sprint(scopes) != "[read input answer]" {
		t.Errorf("the phone may %v", scopes)
	}
	if _, err := s.Request(http.MethodPost, "/api/pairings/"+id+"/confirm", struct{}{}); err == nil {
		t.Error("a request was confirmed twice")
	}

	// An admin gives less than what was asked for.
	command, id, code = askForCode(t, s, "--scope", "read,admin", "--json")
	if waiting, err := waitingPairings(s); err != nil || fmt.Sprint(waiting) != "["+id+"]" {
		t.Errorf("waiting %v, %v", waiting, err)
	}
	_, err := s.Request(http.MethodPost, "/api/pairings/"+id+"/confirm", map[string]any{"scopes": []string{"read"}})
	must(t, err)
	must(t, command.Wait())
	var answer struct{ Code, URL string }
	must(t, json.Unmarshal([]byte(code.String()), &answer))
	if scopes := redeem(t, s, answer.Code); fmt.Sprint(scopes) != "[read]" || answer.URL == "" {
		t.Errorf("the phone may %v, at %q", scopes, answer.URL)
	}

	// Both phones are seen and revoked with a token of one's own, not with the host's.
	admin, host := filepath.Join(t.TempDir(), "admin"), filepath.Join(t.TempDir(), "host")
	must(t, os.WriteFile(admin, []byte(s.Token+"\n"), 0o600))
	must(t, os.WriteFile(host, []byte(hostToken(t, s)+"\n"), 0o600))
	if out := s.mustHelm("devices", "ls", "--token-file", admin); strings.Count(out, "phone") != 2 {
		t.Errorf("devices: %s", out)
	}
	if out, err := s.Helm("devices", "ls", "--token-file", host); err == nil {
		t.Errorf("the host's token lists %s", out)
	}
	s.mustHelm("clients", "revoke-all", "--yes", "--token-file", admin)
	if out := s.mustHelm("devices", "ls", "--json", "--token-file", admin); strings.TrimSpace(out) != "[]" {
		t.Errorf("devices after all were revoked: %s", out)
	}

	// The command is killed: its request goes with it, and makes nothing.
	command, id, _ = askForCode(t, s)
	must(t, command.Process.Kill())
	_ = command.Wait()
	s.Eventually("the request is withdrawn", func() error {
		if waiting, err := waitingPairings(s); err != nil || len(waiting) > 0 {
			return fmt.Errorf("waiting %v: %w", waiting, err)
		}
		return nil
	})
	if _, err := s.Request(http.MethodPost, "/api/pairings/"+id+"/confirm", struct{}{}); err == nil {
		t.Error("a withdrawn request was confirmed")
	}

	// That was often enough for ten minutes.
	out, err := s.Helm("pair")
	var ended *exec.ExitError
	if !errors.As(err, &ended) || !strings.Contains(err.Error()+out, "3 times in 10 minutes") {
		t.Errorf("a fourth request ended with %v: %s", err, out)
	}
	if made := codes() - before; made != 2 {
		t.Errorf("%d codes were made, want the 2 that were confirmed", made)
	}
}
