package auth

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

func TestLoadKey(t *testing.T) {
	dir := t.TempDir()
	keys := make([]Key, 8)
	var group sync.WaitGroup
	for i := range keys { // several processes at their first start
		group.Go(func() {
			key, err := LoadKey(dir)
			if err != nil {
				t.Error(err)
			}
			keys[i] = key
		})
	}
	group.Wait()
	for _, key := range keys {
		if key != keys[0] || key == (Key{}) {
			t.Fatal("the processes have different keys")
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d files, %v", len(entries), err)
	}
	path := filepath.Join(dir, keyName)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	for _, damage := range []string{"", "short", strings.Repeat("!", 52)} {
		if err := os.WriteFile(path, []byte(damage), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadKey(dir); err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("%q: %v", damage, err)
		}
	}
	if _, err := LoadKey(filepath.Join(dir, "missing")); err == nil {
		t.Error("a key was made in a directory that is not there")
	}
}

func TestNewUUID(t *testing.T) {
	pattern := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	seen := map[string]bool{}
	for range 1000 {
		id := newUUID()
		if !pattern.MatchString(id) || seen[id] {
			t.Fatal(id)
		}
		seen[id] = true
	}
}

func FuzzParseToken(f *testing.F) {
	f.Add(formatToken(randomText(tokenIDBytes), randomText(tokenSecretBytes)))
	f.Add("ah__")
	f.Add("ah_a_b_c")
	f.Add("")
	f.Fuzz(func(t *testing.T, token string) {
		id, secret, ok := parseToken(token)
		if !ok {
			if id != "" && secret != "" && formatToken(id, secret) == token && isRandomText(id, tokenIDBytes) && isRandomText(secret, tokenSecretBytes) {
				t.Fatalf("%q is refused", token)
			}
			return
		}
		if formatToken(id, secret) != token {
			t.Fatalf("%q parses as %q and %q", token, id, secret)
		}
	})
}

func FuzzNormalizeCode(f *testing.F) {
	f.Add("abc-def")
	f.Add(" K7Q P2M ")
	f.Add("ſſſſſſ") // its capital is S
	f.Add("111111")
	f.Fuzz(func(t *testing.T, typed string) {
		code, ok := normalizeCode(typed)
		if !ok {
			return
		}
		if len(code) != CodeLength || strings.Trim(code, CodeAlphabet) != "" {
			t.Fatalf("%q became %q", typed, code)
		}
		if again, ok := normalizeCode(code); !ok || again != code {
			t.Fatalf("%q became %q, then %q", typed, code, again)
		}
	})
}
