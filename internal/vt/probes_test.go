package vt

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// fixtures is where terminal fixtures stand, outside of the repository.
const fixtures = "../../../shared/fixtures"

func readFixture(tb testing.TB, name string) []byte {
	tb.Helper()
	p, err := os.ReadFile(filepath.Join(fixtures, name))
	if err != nil {
		tb.Skipf("the shared terminal fixtures are not beside the repository: %v", err)
	}
	return p
}

// screenText is the screen, rows trimmed at the right.
func screenText(t *Terminal) []string {
	out := make([]string, t.rows)
	for y := range out {
		out[y] = string(t.appendPlain(nil, t.cur.row(y).cells))
	}
	return out
}

// TestXtermFixtures runs xterm.js's own files, written through a terminal line
// with ONLCR, as its test does.
func TestXtermFixtures(t *testing.T) {
	readFixture(t, "xtermjs/NOTES")
	files, err := filepath.Glob(filepath.Join(fixtures, "xtermjs/*.in"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	// xterm.js fails these and skips them.
	skip := map[string]bool{
		"t0055-EL": true, "t0084-CBT": true, "t0101-NLM": true,
		"t0103-reverse_wrap": true, "t0504-vim": true,
	}
	if n := len(files) - len(skip); n != 71 {
		t.Errorf("%d fixtures, xterm.js's own test has 71", n)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".in")
		if skip[name] {
			continue
		}
		t.Run(name, func(t *testing.T) {
			in, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(strings.TrimSuffix(file, ".in") + ".text")
			if err != nil {
				t.Fatal(err)
			}
			term := New(Options{Cols: 80, Rows: 25})
			term.Write([]byte("\r\n\x1bc\x1b[H"))
			in = bytes.ReplaceAll(in, []byte("\n"), []byte("\r\n"))
			if !utf8.Valid(in) {
				in = []byte(strings.ToValidUTF8(string(in), "\ufffd"))
			}
			term.Write(in)
			got := strings.Join(screenText(term), "\n")
			lines := strings.Split(string(want), "\n")
			for len(lines) > 25 {
				lines = lines[:25]
			}
			for i := range lines {
				lines[i] = strings.TrimRight(lines[i], " ")
			}
			if w := strings.Join(lines, "\n"); strings.TrimRight(got, "\n") != strings.TrimRight(w, "\n") {
				t.Errorf("got:\n%s\nwant:\n%s", got, w)
			}
		})
	}
}

// TestProbes runs hand-written streams whose results are @xterm/headless's.
func TestProbes(t *testing.T) {
	var probes []struct {
		Name   string
		Chunks []string
		Resize []int
		Screen []string
		CX, CY int
		SB     int
		Reply  string
	}
	if err := json.Unmarshal(readFixture(t, "probes.json"), &probes); err != nil {
		t.Fatal(err)
	}
	if len(probes) != 60 {
		t.Errorf("%d probes, want 60", len(probes))
	}
	for _, p := range probes {
		t.Run(p.Name, func(t *testing.T) {
			term := New(Options{Cols: 80, Rows: 25, Scrollback: 1000})
			for _, c := range p.Chunks {
				b, err := base64.StdEncoding.DecodeString(c)
				if err != nil {
					t.Fatal(err)
				}
				term.Write(b)
			}
			if p.Resize != nil {
				term.Resize(p.Resize[0], p.Resize[1])
			}
			if got, want := strings.Join(screenText(term), "\n"), strings.Join(p.Screen, "\n"); got != want {
				t.Errorf("screen:\n%s\nwant:\n%s", strings.TrimRight(got, "\n"), strings.TrimRight(want, "\n"))
			}
			if x, y := term.Cursor(); x != p.CX || y != p.CY {
				t.Errorf("cursor %d,%d, want %d,%d", x, y, p.CX, p.CY)
			}
			if got := term.ybaseMain(); got != p.SB && term.cur == term.main {
				t.Errorf("scrollback %d, want %d", got, p.SB)
			}
			if got := string(term.TakeReplies()); got != p.Reply && p.Reply != "" {
				t.Errorf("reply %q, want %q", got, p.Reply)
			}
		})
	}
}
