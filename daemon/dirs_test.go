package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func environment(values map[string]string) func(string) string {
	return func(name string) string { return values[name] }
}

func testDirs(t *testing.T) Dirs {
	root := t.TempDir()
	return Dirs{Config: root + "/c", State: root + "/s", Run: root + "/s/run"}
}

func TestResolveDirs(t *testing.T) {
	home := t.TempDir()
	for name, c := range map[string]struct {
		env  map[string]string
		want Dirs
	}{
		"home": {map[string]string{"HOME": home}, Dirs{Config: home + "/.config/agent-helm", State: home + "/.local/state/agent-helm", Run: home + "/.local/state/agent-helm/run"}},
		"xdg": {map[string]string{"HOME": home, "XDG_STATE_HOME": "/s", "XDG_CONFIG_HOME": "/c"},
			Dirs{Config: "/c/agent-helm", State: "/s/agent-helm", Run: "/s/agent-helm/run"}},
		"own": {map[string]string{EnvStateDir: "/s", EnvConfigDir: "/c"}, Dirs{Config: "/c", State: "/s", Run: "/s/run"}},
	} {
		got, err := ResolveDirs(environment(c.env))
		if err != nil || (len(c.want.SessionSocket(NewSessionID())) <= MaxSocketPath && got != c.want) {
			t.Errorf("%s: got %+v, %v; want %+v", name, got, err, c.want)
		}
	}
	if _, err := ResolveDirs(environment(nil)); err == nil {
		t.Error("no home directory was taken")
	}
}

func TestResolveDirs_LongPath(t *testing.T) {
	env := func(state string) map[string]string {
		return map[string]string{"HOME": "/h", EnvStateDir: "/" + strings.Repeat(state, 90)}
	}
	a, err := ResolveDirs(environment(env("a")))
	if err != nil {
		t.Fatal(err)
	}
	b, err := ResolveDirs(environment(env("b")))
	if err != nil {
		t.Fatal(err)
	}
	if a.Run == b.Run || !strings.HasPrefix(a.Run, sharedRunDir()+"/") || len(a.SessionSocket(NewSessionID())) > MaxSocketPath {
		t.Errorf("run directories %s, %s", a.Run, b.Run)
	}
}

func TestDirs_Create(t *testing.T) {
	root := t.TempDir()
	env := map[string]string{EnvStateDir: root + "/s", EnvConfigDir: root + "/c"}
	resolve := func() (Dirs, error) { return ResolveDirs(environment(env)) }
	dirs, err := resolve()
	if err != nil {
		t.Fatal(err)
	}
	if err := dirs.Create(); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{dirs.Config, dirs.State, dirs.Run, filepath.Join(dirs.State, "sessions")} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if err := os.Chmod(dirs.State, 0o750); err != nil { //nolint:gosec // the fault under test
		t.Fatal(err)
	}
	if _, err := resolve(); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("an open directory: %v", err)
	}
	if err := os.RemoveAll(dirs.State); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(root, dirs.State); err != nil {
		t.Fatal(err)
	}
	if _, err := resolve(); err == nil || !strings.Contains(err.Error(), "symbolic link") {
		t.Errorf("a symbolic link: %v", err)
	}
	if err := os.Remove(dirs.State); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dirs.State, 0o700); err != nil {
		t.Fatal(err)
	}
	if os.Getuid() == 0 {
		if err := os.Chown(dirs.State, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if _, err := resolve(); err == nil || !strings.Contains(err.Error(), "belongs to user 65534") {
			t.Errorf("another owner: %v", err)
		}
	}
}

func TestHostConfig(t *testing.T) {
	dirs := testDirs(t)
	if _, err := LoadHostConfig(dirs); !errors.Is(err, ErrNotPaired) {
		t.Errorf("without a file: %v", err)
	}
	want := HostConfig{Server: "http://127.0.0.1:8080", HostID: "h", Name: "desk", Token: "ah_a_b"}
	if err := want.Save(dirs); err != nil {
		t.Fatal(err)
	}
	if got, err := LoadHostConfig(dirs); err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	if err := os.Chmod(dirs.HostConfigPath(), 0o644); err != nil { //nolint:gosec // the fault under test
		t.Fatal(err)
	}
	if _, err := LoadHostConfig(dirs); err == nil || !strings.Contains(err.Error(), "chmod 600") {
		t.Errorf("a readable token: %v", err)
	}
	for _, server := range []string{"http://example.org", "ws://127.0.0.1", "https://", "https://u:p@h", "https://h/#f", "127.0.0.1:80"} {
		if err := ValidateServerURL(server); err == nil {
			t.Errorf("%s is taken", server)
		}
	}
}

func TestPolicy(t *testing.T) {
	dirs := testDirs(t)
	policy, err := LoadPolicy(dirs)
	if err != nil || policy != DefaultPolicy() {
		t.Fatalf("without a file: %+v, %v", policy, err)
	}
	if !policy.AllowsStart("claude", nil) || policy.AllowsStart("", []string{"rm"}) || policy.AllowsStart("claude", []string{"rm"}) {
		t.Error("the default starts something other than known agents")
	}
	policy.Locked = true
	if err := policy.Save(dirs); err != nil {
		t.Fatal(err)
	}
	if policy, err = LoadPolicy(dirs); err != nil || policy.Effective() != (Policy{Watch: true, Start: StartOff, Locked: true}) || policy.AllowsStart("claude", nil) {
		t.Errorf("locked: %+v, %v", policy, err)
	}
	if err := os.WriteFile(dirs.PolicyPath(), []byte(`{"start":"everything"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if policy, err := LoadPolicy(dirs); err == nil || policy != (Policy{Start: StartOff}) {
		t.Errorf("a damaged policy allows: %+v, %v", policy, err)
	}
}
