// Command vulns reads what govulncheck -format json says and decides: a known
// fault in a module that our code reaches fails, one in the standard library is
// printed, because only a newer Go mends that. scripts/vuln runs it; nothing
// else does.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// message is one of the objects that govulncheck prints after the other.
type message struct {
	OSV *struct {
		ID      string `json:"id"`
		Summary string `json:"summary"`
	} `json:"osv"`
	Finding *struct {
		OSV   string `json:"osv"`
		Fixed string `json:"fixed_version"`
		Trace []struct {
			Module   string `json:"module"`
			Version  string `json:"version"`
			Function string `json:"function"`
		} `json:"trace"`
	} `json:"finding"`
}

// finding is a fault in a module, once, however many ways lead to it.
type finding struct {
	id, module, version, fixed string
	reached                    bool
}

func main() {
	bad, err := report(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "vulns:", err)
		os.Exit(2)
	}
	if bad > 0 {
		os.Exit(1)
	}
}

// report prints every finding and counts those that fail. Without any message
// nothing was checked, which is an error.
func report(in io.Reader, out io.Writer) (bad int, err error) {
	summaries := map[string]string{}
	found := map[string]finding{}
	decoder := json.NewDecoder(in)
	messages := 0
	for {
		var m message
		if err := decoder.Decode(&m); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return 0, fmt.Errorf("read govulncheck's output: %w", err)
		}
		messages++
		if m.OSV != nil {
			summaries[m.OSV.ID] = m.OSV.Summary
		}
		if m.Finding == nil || len(m.Finding.Trace) == 0 {
			continue
		}
		at := m.Finding.Trace[0]
		key := m.Finding.OSV + " " + at.Module
		known := found[key]
		found[key] = finding{id: m.Finding.OSV, module: at.Module, version: at.Version, fixed: m.Finding.Fixed, reached: known.reached || at.Function != ""}
	}
	if messages == 0 {
		return 0, errors.New("govulncheck printed nothing")
	}
	for _, key := range slices.Sorted(maps.Keys(found)) {
		f := found[key]
		verdict := "not reached"
		switch {
		case f.module == "stdlib" && f.reached:
			verdict = "update Go"
		case f.reached:
			verdict, bad = "FAILS", bad+1
		}
		fixed := "no fix yet"
		if f.fixed != "" {
			fixed = "fixed in " + f.fixed
		}
		fmt.Fprintf(out, "%-11s  %s  %s %s, %s: %s\n", verdict, f.id, f.module, f.version, fixed, strings.TrimSpace(summaries[f.id]))
	}
	fmt.Fprintf(out, "%d known faults in what is linked, %d that fail\n", len(found), bad)
	return bad, nil
}
