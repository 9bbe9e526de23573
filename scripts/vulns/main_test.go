package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestReport(t *testing.T) {
	const osv = `{"osv":{"id":"GO-1","summary":"Panic"}}` + "\n"
	found := func(module, function string) string {
		return `{"finding":{"osv":"GO-1","fixed_version":"v2","trace":[{"module":"` + module + `","version":"v1","function":"` + function + `"},{"module":"ours","function":"main"}]}}` + "\n"
	}
	for _, test := range []struct {
		name, in string
		bad      int
		wants    string
	}{
		{"clean", `{"config":{}}`, 0, "0 that fail"},
		{"a module that we reach", osv + found("example.com/m", "") + found("example.com/m", "Decode") + found("example.com/m", ""), 1, "FAILS        GO-1  example.com/m v1, fixed in v2: Panic"},
		{"a module that we only link", osv + found("example.com/m", ""), 0, "not reached"},
		{"the standard library", osv + found("stdlib", "Do"), 0, "update Go"},
	} {
		var out bytes.Buffer
		bad, err := report(strings.NewReader(test.in), &out)
		if err != nil || bad != test.bad || !strings.Contains(out.String(), test.wants) {
			t.Errorf("%s: %d, %v\n%s", test.name, bad, err, out.String())
		}
	}
	for _, broken := range []string{"", "{", "govulncheck: no database"} {
		if _, err := report(strings.NewReader(broken), &bytes.Buffer{}); err == nil {
			t.Errorf("%q is an answer", broken)
		}
	}
}
