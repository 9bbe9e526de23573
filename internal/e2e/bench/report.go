package main

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// report is everything measured in one run.
type report struct {
	Machine  string   `json:"machine"`
	Finished string   `json:"finished"`
	Load     string   `json:"load"`
	Results  []row    `json:"results"`
	Goals    []goal   `json:"goals"`
	Skipped  []string `json:"skipped,omitempty"`
}

// row is one figure of one subject.
type row struct {
	Metric  string  `json:"metric"`
	Subject string  `json:"subject"` // "agent-helm", "floor", or a peer
	Value   float64 `json:"value"`
	Unit    string  `json:"unit"`
	Runs    int     `json:"runs"`
	Min     float64 `json:"min"`
	Max     float64 `json:"max"`
}

// goal compares a figure with its bound; both come from this run.
type goal struct {
	Text string  `json:"text"`
	Have float64 `json:"have"`
	Want float64 `json:"want"`
	// AtLeast turns the comparison round.
	AtLeast bool   `json:"at_least"`
	Unit    string `json:"unit"`
}

func (g goal) met() bool {
	if g.AtLeast {
		return g.Have >= g.Want
	}
	return g.Have <= g.Want
}

func newReport() *report { return &report{} }

// add records the median of runs.
func (r *report) add(metric, subject, unit string, runs []float64) float64 {
	sorted, middle := sortedCopy(runs), median(runs)
	r.Results = append(r.Results, row{Metric: metric, Subject: subject, Unit: unit, Value: middle, Runs: len(runs),
		Min: sorted[0], Max: sorted[len(sorted)-1]})
	fmt.Printf("   %-46s %-14s %10.3g %s\n", metric, subject, middle, unit)
	return middle
}

func (r *report) goal(text string, have, want float64, unit string) {
	r.Goals = append(r.Goals, goal{Text: text, Have: have, Want: want, Unit: unit})
}

func (r *report) goalAtLeast(text string, have, want float64) {
	r.Goals = append(r.Goals, goal{Text: text, Have: have, Want: want, Unit: "×", AtLeast: true})
}

func (r *report) skip(what string) {
	r.Skipped = append(r.Skipped, what)
	fmt.Printf("   left out: %s\n", what)
}

// quantile of a sorted slice.
func quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	return sorted[min(int(q*float64(len(sorted))), len(sorted)-1)]
}

func microseconds(durations []time.Duration) []float64 {
	out := make([]float64, len(durations))
	for i, d := range durations {
		out[i] = float64(d.Nanoseconds()) / 1000
	}
	slices.Sort(out)
	return out
}

func figure(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "–"
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	default:
		return fmt.Sprintf("%.2f", v)
	}
}

// markdown is docs/PERFORMANCE.md.
func (r *report) markdown() string {
	var b strings.Builder
	b.WriteString("# Performance\n\n")
	b.WriteString("Written by `make bench`; do not edit. Everything here comes from one run on one machine, the subjects of a\n")
	b.WriteString("table measured alternately over loopback without TLS, medians over the rounds. Ratios carry over to other\n")
	b.WriteString("machines, absolute figures do not. \"floor\" is a bare relay over the same hops (PTY, unix socket, two\n")
	b.WriteString("WebSockets, one process each) without terminals, resume or accounting.\n\n")
	fmt.Fprintf(&b, "Machine: %s. Load before the run: %s. Date: %s.\n\n", r.Machine, r.Load, r.Finished)
	b.WriteString("## Goals\n\n| goal | measured | bound | |\n|---|---|---|---|\n")
	for _, g := range r.Goals {
		sign, verdict := "≤", "met"
		if g.AtLeast {
			sign = "≥"
		}
		if !g.met() {
			verdict = "**missed**"
		}
		fmt.Fprintf(&b, "| %s | %s %s | %s %s %s | %s |\n", g.Text, figure(g.Have), g.Unit, sign, figure(g.Want), g.Unit, verdict)
	}
	b.WriteString("\n## Figures\n\n| figure | subject | median | min | max | unit | rounds |\n|---|---|---|---|---|---|---|\n")
	for _, row := range r.Results {
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %d |\n", row.Metric, row.Subject, figure(row.Value), figure(row.Min), figure(row.Max), row.Unit, row.Runs)
	}
	if len(r.Skipped) > 0 {
		b.WriteString("\nLeft out in this run:\n\n")
		for _, what := range r.Skipped {
			fmt.Fprintf(&b, "- %s\n", what)
		}
	}
	return b.String()
}
