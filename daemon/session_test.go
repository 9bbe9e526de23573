package daemon

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestNewSessionID(t *testing.T) {
	early, late := newSessionID(time.UnixMilli(1_000)), newSessionID(time.UnixMilli(1_001))
	if early >= late {
		t.Errorf("ids do not sort by time: %s, %s", early, late)
	}
	seen := map[string]bool{}
	for range 1000 {
		id := NewSessionID()
		if !ValidSessionID(id) || seen[id] {
			t.Fatalf("id %q is malformed or repeated", id)
		}
		seen[id] = true
	}
}

func TestValidSessionID(t *testing.T) {
	valid := NewSessionID()
	for name, id := range map[string]string{
		"empty": "", "short": valid[1:], "long": valid + "0", "upper": strings.ToUpper(valid),
		"path": "../" + valid[3:], "letter": "u" + valid[1:], "above 128 bits": "8" + valid[1:],
	} {
		if ValidSessionID(id) {
			t.Errorf("%s: %q is taken for an id", name, id)
		}
	}
}

func TestSpec_Validate(t *testing.T) {
	good := Spec{Argv: []string{"sh"}, Cwd: "/"}.WithDefaults(time.Now())
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Spec){
		"id":               func(s *Spec) { s.ID = "../../etc" },
		"no argv":          func(s *Spec) { s.Argv = nil },
		"empty program":    func(s *Spec) { s.Argv = []string{""} },
		"NUL argument":     func(s *Spec) { s.Argv = []string{"sh", "a\x00b"} },
		"many arguments":   func(s *Spec) { s.Argv = make([]string, MaxArguments+1); s.Argv[0] = "sh" },
		"large argument":   func(s *Spec) { s.Argv = []string{"sh", strings.Repeat("a", MaxArgumentBytes)} },
		"large environ":    func(s *Spec) { s.Env = []string{strings.Repeat("a", MaxEnvironmentBytes)} },
		"relative cwd":     func(s *Spec) { s.Cwd = "tmp" },
		"unknown agent":    func(s *Spec) { s.Agent = "nobody" },
		"wide":             func(s *Spec) { s.Cols = 1001 },
		"no rows":          func(s *Spec) { s.Rows = 0 },
		"small log":        func(s *Spec) { s.LogBytes = 1 },
		"control in name":  func(s *Spec) { s.Name = "a\x1b[31m" },
		"bidi in name":     func(s *Spec) { s.Name = "a\u202eb" },
		"long name":        func(s *Spec) { s.Name = strings.Repeat("a", MaxNameRunes+1) },
		"blank name":       func(s *Spec) { s.Name = " " },
		"invalid UTF-8":    func(s *Spec) { s.Name = "\xff" },
		"zero width space": func(s *Spec) { s.Name = "a\u200bb" },
	} {
		spec := good
		change(&spec)
		if err := spec.Validate(); !errors.Is(err, ErrInvalidSpec) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestDetectAgent(t *testing.T) {
	for line, want := range map[string]string{
		"claude": "claude", "/usr/bin/claude --resume": "claude", "npx -y @google/gemini-cli": "gemini",
		"node /opt/codex.js": "codex", "env FOO=1 codex": "codex", "-zsh": "shell", "vim claude": "",
		"make test": "", "npx": "",
	} {
		if got := DetectAgent(strings.Fields(line)); got != want {
			t.Errorf("%s: got %q, want %q", line, got, want)
		}
	}
}

func TestAgents(t *testing.T) {
	for _, agent := range KnownAgents() {
		if DetectAgent(agent.Programs) != agent.Name {
			t.Errorf("%s is not detected by its own program", agent.Name)
		}
		if agent.Name != AgentShell && (len(agent.Argv) == 0 || agent.Submit.PauseFor(10) != 150*time.Millisecond || agent.Submit.PauseFor(2000) != 250*time.Millisecond) {
			t.Errorf("%+v", agent)
		}
	}
	if shell, ok := AgentByName(AgentShell); !ok || shell.Submit.PauseFor(1<<20) != 0 {
		t.Errorf("%+v", shell)
	}
}
