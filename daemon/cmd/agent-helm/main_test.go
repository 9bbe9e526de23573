package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/agent-helm/agent-helm/daemon"
)

// TestMain makes the test binary the real program where it is called by its
// name: the scripts, the holders and the daemons they start all run main.
//
// With the race detector a program sleeps for a second before it exits, unless
// it is told not to.
func TestMain(m *testing.M) {
	if os.Getenv(raceOptions) == "" {
		os.Setenv(raceOptions, "atexit_sleep_ms=0")
	}
	testscript.Main(m, map[string]func(){"agent-helm": main})
}

const raceOptions = "GORACE"

// patience is how long a test waits for what must happen. It bounds a failure,
// not a success.
const patience = 30 * time.Second

// goodCode is the pairing code that the scripts' server takes.
const goodCode = "GOOD42"

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(env *testscript.Env) error {
			root := installation(t, env.Defer)
			server := httptest.NewServer(http.HandlerFunc(register))
			env.Defer(server.Close)
			env.Setenv(daemon.EnvStateDir, filepath.Join(root, "s"))
			env.Setenv(daemon.EnvConfigDir, filepath.Join(root, "c"))
			env.Setenv("SERVER", server.URL)
			env.Setenv(raceOptions, os.Getenv(raceOptions))
			env.Setenv("SHELL", "/bin/sh")
			env.Setenv("ENV", "")
			env.Setenv("PS1", "$ ")
			env.Setenv("LANG", "C.UTF-8")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"code":       scriptCode,
			"eventually": scriptEventually,
			"plain":      scriptPlain,
		},
	})
}

// installation makes the directory of an installation, and ends its sessions
// and daemon in the end. Its path is short enough for sockets.
func installation(t testing.TB, deferred func(func())) string {
	root, err := os.MkdirTemp("", "ah")
	if err != nil {
		t.Fatal(err)
	}
	deferred(func() {
		env := append(os.Environ(), daemon.EnvStateDir+"="+filepath.Join(root, "s"), daemon.EnvConfigDir+"="+filepath.Join(root, "c"))
		call := func(arguments ...string) []byte {
			command := exec.Command("agent-helm", arguments...)
			command.Env = env
			output, err := command.Output()
			if err != nil {
				t.Errorf("agent-helm %v: %v", arguments, err)
			}
			return output
		}
		call("daemon", "--stop")
		for _, s := range listed(t, call) {
			if s.State == daemon.StateRunning {
				call("kill", "--signal", "kill", s.ID)
			}
		}
		waitUntil(t, func() bool {
			return !slices.ContainsFunc(listed(t, call), func(s daemon.Session) bool { return s.State == daemon.StateRunning })
		})
		if err := os.RemoveAll(root); err != nil {
			t.Error(err)
		}
	})
	return root
}

func listed(t testing.TB, call func(...string) []byte) (list []daemon.Session) {
	if err := json.Unmarshal(call("ls", "--json"), &list); err != nil {
		t.Error(err)
	}
	return list
}

func waitUntil(t testing.TB, done func() bool) {
	deadline := time.Now().Add(patience)
	for !done() {
		if time.Now().After(deadline) {
			t.Error("it never happened")
			return
		}
		time.Sleep(20 * time.Millisecond) // between two looks at a condition
	}
}

// register plays the server's side of pairing, and of devices for whoever has
// the token "ah_admin".
func register(w http.ResponseWriter, r *http.Request) {
	if strings.HasPrefix(r.URL.Path, "/api/devices") {
		devices(w, r)
		return
	}
	var body struct{ Code, Name string }
	if r.URL.Path != "/api/hosts/register" || json.NewDecoder(r.Body).Decode(&body) != nil {
		http.NotFound(w, r)
		return
	}
	if body.Code != goodCode {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"title":"Forbidden","detail":"the code is wrong or has expired","code":"code_invalid"}`))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]string{"host_id": "h1", "name": body.Name, "token": "ah_pub_secret"})
}

func devices(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "Bearer ah_admin" {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusForbidden)
		_, _ = w.Write([]byte(`{"title":"Forbidden","detail":"this needs the scope admin","code":"forbidden"}`))
		return
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /api/devices":
		_, _ = w.Write([]byte(`{"items":[{"id":"d1","name":"Pixel","scopes":["read"],"created_ms":7200000,"last_seen_ms":60000,"address":"192.0.2.7"},` +
			`{"id":"d2","name":"old \u001b[31mphone\u202e","scopes":["admin"],"sessions":[{"host":"h","id":"s"}]},{"id":"d3","name":"Pixel","scopes":["read"]}]}`))
	case "DELETE /api/devices/d1":
		w.WriteHeader(http.StatusNoContent)
	case "POST /api/devices/revoke":
		_, _ = w.Write([]byte(`{"revoked":3}`))
	default:
		http.NotFound(w, r)
	}
}

// scriptCode is "code N program …": the program exits with that code.
func scriptCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N program [arguments]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	err = ts.Exec(args[1], args[2:]...)
	got := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("it exited with %d, want %d", got, want)
	}
}

// scriptEventually is "eventually PATTERN program …": sooner or later the
// program's output matches. With ! it stops matching.
func scriptEventually(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: [!] eventually PATTERN program [arguments]")
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	ts.Check(err)
	deadline := time.Now().Add(patience)
	for {
		command := exec.Command(args[1], args[2:]...)
		command.Dir = ts.Getenv("WORK")
		for _, name := range []string{"PATH", "HOME", "SHELL", "ENV", "PS1", "LANG", "TMPDIR", raceOptions, daemon.EnvStateDir, daemon.EnvConfigDir} {
			command.Env = append(command.Env, name+"="+ts.Getenv(name))
		}
		var output bytes.Buffer
		command.Stdout, command.Stderr = &output, &output
		_ = command.Run() // an error is something else than the pattern
		if pattern.Match(output.Bytes()) != neg {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("the last output was %s", output.Bytes())
		}
		time.Sleep(20 * time.Millisecond) // between two looks at a condition
	}
}

// scriptPlain is "plain stdout|stderr|FILE": there is nothing in it but text
// and line breaks.
func scriptPlain(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: plain stdout|stderr|FILE")
	}
	for i, r := range ts.ReadFile(args[0]) {
		if r != '\n' && (r < 0x20 || r >= 0x7f && r < 0xa0 || r >= 0x200b && r <= 0x200f || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069) {
			ts.Fatalf("character %U at %d of %s", r, i, args[0])
		}
	}
}
