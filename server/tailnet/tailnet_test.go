package tailnet

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tailscale.com/ipn/ipnstate"
	"tailscale.com/tailcfg"
	"tailscale.com/types/views"

	"github.com/agent-helm/agent-helm/server"
)

func TestAllow(t *testing.T) {
	for _, bad := range []string{"tagged-devices", "*", "*@example.com", "example.com", "tag:", "", "alice", "a@b c"} {
		if allow, err := ParseAllow([]string{bad}); err == nil {
			t.Errorf("%q became %v", bad, allow)
		}
	}
	allow, err := ParseAllow([]string{"Alice@example.com", "tag:phones"})
	if err != nil {
		t.Fatal(err)
	}
	user := func(login string) Identity {
		return identityOf(&tailcfg.Node{Name: "pixel.tail.ts.net."}, &tailcfg.UserProfile{LoginName: login})
	}
	tagged := func(tags ...string) Identity {
		// What the tailnet gives as the login of every tagged node.
		return identityOf(&tailcfg.Node{Name: "pixel.tail.ts.net.", Tags: tags}, &tailcfg.UserProfile{LoginName: "tagged-devices"})
	}
	for _, test := range []struct {
		identity Identity
		want     string
	}{
		{user("alice@example.com"), "alice@example.com"},
		{user("ALICE@example.com"), "alice@example.com"},
		{user("mallory@example.com"), ""},
		{user("alice@example.com.evil.example"), ""},
		{user("tagged-devices"), ""},
		{user(""), ""},
		{tagged("tag:phones"), "tag:phones"},
		{tagged("tag:agents", "tag:phones"), "tag:phones"},
		{tagged("tag:agents"), ""},
		// A tagged node is nobody's, even if it once was alice's.
		{identityOf(&tailcfg.Node{Tags: []string{"tag:agents"}}, &tailcfg.UserProfile{LoginName: "alice@example.com"}), ""},
		{Identity{}, ""},
	} {
		names, err := allow.Admit(test.identity)
		if got := strings.Join(names, " "); got != test.want || (err == nil) != (test.want != "") || err != nil && server.CodeOf(err) != server.CodeTailnet {
			t.Errorf("%+v: %q, %v", test.identity, got, err)
		}
	}
	if names, err := Allow(nil).Admit(user("alice@example.com")); err == nil {
		t.Errorf("nobody is allowed, and got %v", names)
	}
}

func TestStateOf(t *testing.T) {
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	expires := func(in time.Duration) *time.Time { at := now.Add(in); return &at }
	base := func(change func(*ipnstate.Status)) *ipnstate.Status {
		status := &ipnstate.Status{
			BackendState: "Running", Self: &ipnstate.PeerStatus{DNSName: "helm.tail.ts.net.", UserID: 7},
			User:           map[tailcfg.UserID]tailcfg.UserProfile{7: {LoginName: "alice@example.com"}},
			CurrentTailnet: &ipnstate.TailnetStatus{MagicDNSEnabled: true}, CertDomains: []string{"helm.tail.ts.net"},
		}
		change(status)
		return status
	}
	for _, test := range []struct {
		name    string
		status  *ipnstate.Status
		own     bool
		phase   Phase
		problem string
		url     string
	}{
		{"up", base(func(*ipnstate.Status) {}), false, PhaseUp, "", "https://helm.tail.ts.net"},
		{"asks for a link", base(func(s *ipnstate.Status) { s.BackendState = "NeedsLogin" }), false, PhaseStarting, "", ""},
		{"has a link", base(func(s *ipnstate.Status) { s.BackendState, s.AuthURL = "NeedsLogin", "https://login.example/a/1" }), false, PhaseLogin, "not signed in", ""},
		{"approval", base(func(s *ipnstate.Status) { s.BackendState = "NeedsMachineAuth" }), false, PhaseApproval, "approve", ""},
		{"no names", base(func(s *ipnstate.Status) { s.CurrentTailnet.MagicDNSEnabled = false }), true, PhaseNoHTTPS, "MagicDNS", ""},
		{"no certificates", base(func(s *ipnstate.Status) { s.CertDomains = nil }), false, PhaseNoHTTPS, "HTTPS", ""},
		{"own certificate", base(func(s *ipnstate.Status) { s.CertDomains = nil }), true, PhaseUp, "", "https://helm.tail.ts.net"},
		{"expires", base(func(s *ipnstate.Status) { s.Self.KeyExpiry = expires(3*24*time.Hour + time.Minute) }), false, PhaseUp, "expires in 4 days", "https://helm.tail.ts.net"},
		{"expires later", base(func(s *ipnstate.Status) { s.Self.KeyExpiry = expires(warnBefore) }), false, PhaseUp, "", "https://helm.tail.ts.net"},
		{"expired", base(func(s *ipnstate.Status) { s.Self.KeyExpiry = expires(-time.Minute) }), false, PhaseUp, "has expired", "https://helm.tail.ts.net"},
		{"nothing known", &ipnstate.Status{BackendState: "NoState"}, false, PhaseStarting, "", ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			state := stateOf(test.status, test.own, now)
			if state.Phase != test.phase || state.URL != test.url || (state.Problem == "") != (test.problem == "") || !strings.Contains(state.Problem, test.problem) {
				t.Errorf("%+v", state)
			}
		})
	}
	if state := stateOf(base(func(*ipnstate.Status) {}), false, now); state.Owner != "alice@example.com" {
		t.Errorf("owner %q", state.Owner)
	}
	tags := views.SliceOf([]string{"tag:servers"})
	if state := stateOf(base(func(s *ipnstate.Status) { s.Self.Tags = &tags }), false, now); state.Owner != "" {
		t.Errorf("a tagged node has the owner %q", state.Owner)
	}
}

func TestReadAuthKey(t *testing.T) {
	dir := t.TempDir()
	write := func(content string, mode os.FileMode) string {
		path := filepath.Join(dir, "key")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	if key, err := ReadAuthKey(write("tskey-auth-x\n", 0o600)); err != nil || key != "tskey-auth-x" {
		t.Errorf("%q, %v", key, err)
	}
	for content, mode := range map[string]os.FileMode{"": 0o600, "two keys": 0o600, "tskey-auth-y": 0o640} {
		if key, err := ReadAuthKey(write(content, mode)); err == nil {
			t.Errorf("%q (%v) became %q", content, mode, key)
		}
	}
	if _, err := ReadAuthKey(filepath.Join(dir, "none")); err == nil {
		t.Error("a file that is not there was read")
	}
}

func TestMakePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data", "tailscale")
	for range 2 {
		if err := makePrivate(dir); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(dir); err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("mode %v, %v", info.Mode(), err)
		}
	}
	if err := os.Chmod(dir, 0o750); err != nil {
		t.Fatal(err)
	}
	if err := makePrivate(dir); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("others may read it: %v", err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if err := makePrivate(link); err == nil {
		t.Error("a symbolic link was followed")
	}
}

func TestCheckHostname(t *testing.T) {
	for name, good := range map[string]bool{"helm": true, "agent-helm": true, "h": true, "": false, "-helm": false, "helm-": false, "Helm": false, "helm.tail": false, strings.Repeat("a", 64): false} {
		if err := checkHostname(name); (err == nil) != good {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// Whatever tsnet reads from the environment by itself is on our list: a new
// version may have learnt another.
func TestEnvironment_is_dropped(t *testing.T) {
	for _, name := range []string{"TS_AUTHKEY", "TS_AUTH_KEY", "TS_CLIENT_SECRET", "TS_CONTROL_URL"} {
		if !slices.Contains(dropEnvironment, name) {
			t.Errorf("%s is read", name)
		}
	}
}
