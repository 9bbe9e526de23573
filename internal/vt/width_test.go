package vt

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestRuneWidth compares the whole table with the addon that the browser uses.
func TestRuneWidth(t *testing.T) {
	for r, want := range map[rune]int{'a': 1, 0x7f: 0, 0x301: 0, '日': 2, '😀': 2, '✅': 2, '✳': 1, 0x200d: 0, 0xfe0f: 0, 'é': 1, 0x10ffff: 1, '─': 1, '한': 2} {
		if got := runeWidth(r); got != want {
			t.Errorf("%U is %d wide, want %d", r, got, want)
		}
	}
	folder := os.Getenv("AGENT_HELM_ORACLE")
	if folder == "" {
		folder = "../../web"
	}
	manifest, err := os.ReadFile(filepath.Join(folder, "node_modules/@xterm/addon-unicode11/package.json"))
	if err != nil {
		t.Skip("@xterm/addon-unicode11 is not installed in web/node_modules: run npm install there")
	}
	var addon struct{ Version string }
	if err := json.Unmarshal(manifest, &addon); err != nil {
		t.Fatal(err)
	}
	table, err := os.ReadFile("width_table.go")
	if err != nil {
		t.Fatal(err)
	}
	if first, _, _ := bytes.Cut(table, []byte("\n")); !bytes.Contains(first, []byte("@xterm/addon-unicode11 "+addon.Version+";")) {
		t.Errorf("the table is not of version %s: %s", addon.Version, first)
	}
	cmd := exec.Command("node", "--input-type=commonjs", "-e", `
		const { Unicode11Addon } = require('@xterm/addon-unicode11');
		let p; new Unicode11Addon().activate({ unicode: { register: (x) => { p = x; } } });
		const runs = [];
		for (let r = 0x20, last = -1; r < 0x110000; r++) {
			const w = p.wcwidth(r);
			if (w !== last) { runs.push([r, w]); last = w; }
		}
		console.log(JSON.stringify(runs));`)
	cmd.Dir = folder
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var runs [][2]int
	if err := json.Unmarshal(out, &runs); err != nil {
		t.Fatal(err)
	}
	for i, run := range runs {
		end := 0x110000
		if i+1 < len(runs) {
			end = runs[i+1][0]
		}
		for r := run[0]; r < end; r++ {
			if got := runeWidth(rune(r)); got != run[1] {
				t.Fatalf("%U is %d wide, the addon says %d", r, got, run[1])
			}
		}
	}
}

// TestPrintableRun puts every byte at every place of two words.
func TestPrintableRun(t *testing.T) {
	for b := range 256 {
		for at := range 17 {
			p := []byte("0000000000000000z")
			p[at] = byte(b)
			want := len(p)
			if b < 0x20 || b > 0x7e {
				want = at
			}
			if got := printableRun(p); got != want {
				t.Fatalf("byte %#x at %d: run of %d, want %d", b, at, got, want)
			}
		}
	}
}
