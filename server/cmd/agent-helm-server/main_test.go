package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"agent-helm-server": func() {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		code := run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
		stop()
		os.Exit(code)
	}})
}

// Every command as a person or script types it.
func TestCommands(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("XDG_STATE_HOME", "")
			env.Setenv("D", env.WorkDir+"/data")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"eventually": eventually, "setfrom": setFrom, "mode": mode,
		},
	})
}

// eventually FILE waits until a file has content.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: eventually FILE")
	}
	deadline := time.Now().Add(30 * time.Second)
	for {
		content, err := os.ReadFile(ts.MkAbs(args[0]))
		if err == nil && len(content) > 0 {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s has no content: %v", args[0], err)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// setfrom NAME FILE PREFIX sets a variable to the rest of the first line with
// a prefix.
func setFrom(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: setfrom NAME FILE [PREFIX]")
	}
	prefix := ""
	if len(args) > 2 {
		prefix = args[2]
	}
	for line := range strings.SplitSeq(ts.ReadFile(args[1]), "\n") {
		if rest, ok := strings.CutPrefix(strings.TrimSpace(line), prefix); ok {
			ts.Setenv(args[0], rest)
			return
		}
	}
	ts.Fatalf("%s has no line with %q", args[1], prefix)
}

// mode OCTAL FILE compares permissions.
func mode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mode OCTAL FILE")
	}
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := strings.TrimPrefix(info.Mode().Perm().String(), "-"); got != args[0] {
		ts.Fatalf("%s has mode %s, want %s", args[1], got, args[0])
	}
}

func TestReachable(t *testing.T) {
	for address, want := range map[string]bool{
		"http://127.0.0.1:7777": false, "http://localhost": false, "http://x.localhost": false, "http://[::1]:80": false, "http://0.0.0.0": false, "%": false,
		"http://192.168.1.20:7777": true, "https://helm.example": true, "http://pi.local": true,
	} {
		if got := reachable(address); got != want {
			t.Errorf("%s: %v", address, got)
		}
	}
}

func TestParseListen(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1:7777": "127.0.0.1:7777", "localhost:0": "127.0.0.1:0", ":80": "0.0.0.0:80", "*:80": "0.0.0.0:80", "[::1]:80": "[::1]:80",
		"": "", "7777": "", "127.0.0.1": "", "helm.example:80": "", "127.0.0.1:http": "", "127.0.0.1:70000": "",
	} {
		got, err := parseListen(text)
		if (err == nil) != (want != "") || err == nil && got.String() != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestSentence_is_clean(t *testing.T) {
	if got := sentence(errors.New("open x\x1b]0;y\a\u202e: no")); got != "open x]0;y: no" {
		t.Errorf("%q", got)
	}
}
