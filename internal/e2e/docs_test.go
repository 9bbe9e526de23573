package e2e

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The tests that docs/SECURITY.md names are there, under these names.
func TestSecurityPage_names_tests_that_exist(t *testing.T) {
	root, err := moduleRoot()
	must(t, err)
	page, err := os.ReadFile(filepath.Join(root, "docs", "SECURITY.md"))
	must(t, err)
	_, rest, found := strings.Cut(string(page), "\n## Which test shows it\n")
	table, _, _ := strings.Cut(rest, "\n## ")
	if !found {
		t.Fatal("the page has no such table")
	}
	named := 0
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) != 4 {
			continue
		}
		pkg := ""
		for _, word := range regexp.MustCompile("`[^`]+`|Test[A-Za-z0-9_]+").FindAllString(cells[2], -1) {
			if dir, quoted := strings.CutPrefix(word, "`"); quoted {
				pkg = strings.TrimSuffix(dir, "`")
				continue
			}
			named++
			if !testExists(t, filepath.Join(root, pkg), word) {
				t.Errorf("%s has no %s", pkg, word)
			}
		}
	}
	if named < 40 {
		t.Errorf("only %d tests were looked for", named)
	}
}

func testExists(t *testing.T, dir, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	must(t, err)
	for _, file := range files {
		content, err := os.ReadFile(file)
		must(t, err)
		if strings.Contains(string(content), "\nfunc "+name+"(") {
			return true
		}
	}
	return false
}
