// Package agenthelm holds nothing but the test of the project's structure:
// which package may import which, and which outside library belongs to which
// package. The table is DESIGN §2 as data.
package agenthelm

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/agent-helm/agent-helm"

// rule forbids imports to a part of the tree.
type rule struct {
	// packages are path prefixes below the module root; "" is the whole tree.
	packages []string
	// not are import path prefixes (module-relative ones start with "./").
	not []string
	// except are package prefixes that the rule leaves alone.
	except  []string
	because string
}

var rules = []rule{
	{packages: []string{"daemon", "hooks"}, not: []string{"./server"}, because: "the host side must not link a database or an HTTP API, and one trust boundary lies between the two"},
	{packages: []string{"server"}, not: []string{"./daemon", "./hooks"}, because: "the server never runs what belongs to a host"},
	{packages: []string{"internal"}, not: []string{"./daemon", "./server", "./web"}, except: []string{"internal/e2e"}, because: "shared packages stand below both sides"},
	{packages: []string{"internal/wire", "internal/vt", "internal/untrusted", "internal/redial", "internal/logging", "internal/buildinfo"}, not: []string{"outside"}, because: "the standard library is enough there, and hostile bytes meet this code first"},
	{packages: []string{"internal/ring"}, not: []string{"outside", "./internal/vt"}, because: "a ring knows positions, not terminals"},
	{packages: []string{"internal/wire"}, not: []string{"./internal/vt", "./internal/ring"}, because: "frames know nothing of what they carry"},
	{packages: []string{"web"}, not: []string{"./daemon", "./server", "./internal", "outside"}, because: "the embedding package only embeds"},
	{packages: []string{"daemon/pty", "daemon/holder"}, not: []string{"./daemon/uplink", "./daemon/control", "./daemon/supervisor", "net/http"}, because: "a holder runs per session and outlives the daemon: it stays small and knows nothing above it"},
	{packages: []string{"daemon/attach"}, not: []string{"./daemon/uplink", "./daemon/control"}, because: "a local terminal talks to the holder alone"},
	{packages: []string{"server/session"}, not: []string{"./server/fleet", "./server/hostlink", "./server/viewer", "./server/httpapi", "./server/store"}, because: "a session is independent of transport and storage"},
	{packages: []string{"server/socket", "server/hostlink", "server/viewer"}, not: []string{"./server/httpapi", "./server/store", "./server/auth"}, because: "socket ends only translate; who may open them is decided before"},
	{packages: []string{"server/tailnet"}, not: []string{"./server/httpapi", "./server/auth", "./server/store", "./server/fleet"}, because: "a tailnet says who is at the other end; what they may do is decided elsewhere"},
	{packages: []string{"server/store"}, not: []string{"./server/session", "./server/fleet", "./server/httpapi", "./server/auth"}, because: "storage serves the nouns, not their users"},
}

// homes names the packages that may import an outside library. A library that
// is missing here may be imported by nobody: adding one is a decision.
var homes = map[string][]string{
	"github.com/coder/websocket":      {"daemon/uplink", "server/socket", "server/hostlink", "server/viewer", "server/httpapi", "internal/e2e"},
	"github.com/creack/pty":           {"daemon/pty", "internal/e2e"},
	"github.com/alecthomas/kong":      {"daemon/cmd", "server/cmd"},
	"github.com/willabides/kongplete": {"daemon/cmd", "server/cmd"},
	"github.com/posener/complete":     {"daemon/cmd", "server/cmd"},
	"github.com/go-chi/chi":           {"server/httpapi"},
	"github.com/danielgtaylor/huma":   {"server/httpapi"},
	"github.com/gorilla/sessions":     {"server/auth"},
	"github.com/gorilla/securecookie": {"server/auth"},
	"github.com/skip2/go-qrcode":      {"server/cmd", "daemon/cmd"},
	"modernc.org/sqlite":              {"server/store/sqlite"},
	"tailscale.com":                   {"server/tailnet"},
	"golang.org/x/term":               {"daemon/attach", "daemon/cmd", "server/cmd", "internal/e2e"},
	"golang.org/x/sys":                {"daemon", "server/socket", "server/store/sqlite", "server/cmd", "internal/e2e"},
	"golang.org/x/sync":               {""},
}

// testHomes are libraries for tests, allowed in every _test.go file.
var testHomes = []string{
	"github.com/google/go-cmp", "go.uber.org/goleak", "github.com/rogpeppe/go-internal",
	"github.com/creack/pty", "github.com/coder/websocket", "golang.org/x/sys", "golang.org/x/term",
}

type source struct {
	pkg, path string
	imports   []string
	doc       bool
	name      string
	test      bool
}

func readTree(t *testing.T) []source {
	t.Helper()
	var sources []source
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name := entry.Name(); path != "." && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "testdata") {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); path != "." && err == nil {
				return filepath.SkipDir // a module of its own, with dependencies of its own
			}
			return nil
		}
		if !strings.HasSuffix(path, ".go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly|parser.ParseComments)
		if err != nil {
			return err
		}
		s := source{pkg: filepath.ToSlash(filepath.Dir(path)), path: path, doc: hasDoc(file), name: file.Name.Name, test: strings.HasSuffix(path, "_test.go")}
		for _, spec := range file.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			s.imports = append(s.imports, imported)
		}
		sources = append(sources, s)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return sources
}

func hasDoc(file *ast.File) bool { return file.Doc != nil && strings.TrimSpace(file.Doc.Text()) != "" }

func within(path string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(prefix string) bool {
		return prefix == "" || path == prefix || strings.HasPrefix(path, prefix+"/")
	})
}

func outside(imported string) bool {
	first, _, _ := strings.Cut(imported, "/")
	return strings.Contains(first, ".") && imported != module && !strings.HasPrefix(imported, module+"/")
}

func TestArchitecture(t *testing.T) {
	sources := readTree(t)
	for _, s := range sources {
		for _, imported := range s.imports {
			local := "./" + strings.TrimPrefix(imported, module+"/")
			for _, r := range rules {
				if s.test || !within(s.pkg, r.packages) || within(s.pkg, r.except) && len(r.except) > 0 {
					continue
				}
				for _, forbidden := range r.not {
					if forbidden == "outside" && outside(imported) || within(local, []string{forbidden}) || within(imported, []string{forbidden}) {
						t.Errorf("%s imports %s: %s", s.path, imported, r.because)
					}
				}
			}
			if !outside(imported) || s.test && within(imported, testHomes) {
				continue
			}
			home, known := homeOf(imported)
			switch {
			case !known:
				t.Errorf("%s imports %s, which has no home: a dependency is added deliberately, in this table", s.path, imported)
			case !within(s.pkg, home):
				t.Errorf("%s imports %s, which belongs to %s", s.path, imported, strings.Join(home, ", "))
			}
		}
	}
}

func homeOf(imported string) (home []string, known bool) {
	for library, home := range homes {
		if within(imported, []string{library}) {
			return home, true
		}
	}
	return nil, false
}

func TestPackageComments(t *testing.T) {
	comments := make(map[string]int)
	for _, s := range readTree(t) {
		if s.test && (strings.HasSuffix(s.name, "_test") || s.pkg != ".") {
			continue
		}
		if _, seen := comments[s.pkg]; !seen {
			comments[s.pkg] = 0
		}
		if s.doc {
			comments[s.pkg]++
		}
	}
	for pkg, n := range comments {
		if n != 1 {
			t.Errorf("package %s has %d package comments, want one that says what it owns, what it never does, who calls it and how long it lives", pkg, n)
		}
	}
}

// TestRules checks that the checker can fail: a table that never fires guards nothing.
func TestRules(t *testing.T) {
	if !within("server/session", []string{"server"}) || within("servers", []string{"server"}) {
		t.Error("prefixes are not matched by path element")
	}
	if !outside("github.com/creack/pty") || outside("net/http") || outside(module+"/internal/vt") {
		t.Error("outside libraries are not told from our own packages")
	}
	for _, r := range rules {
		if r.because == "" || len(r.packages) == 0 || len(r.not) == 0 {
			t.Errorf("rule %+v says nothing", r)
		}
	}
}
