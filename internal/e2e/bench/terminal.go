package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/vt/payload"
)

const (
	// perRun is how much processor time a subject is measured for at a time.
	perRun = 200 * time.Millisecond
	// runLimit is when a subject counts as hanging.
	runLimit = 30 * time.Second
	// captures holds recordings of real agents, where there are any beside the
	// repository.
	captures = "../shared/fixtures/agents/captures"

	ours, headless = "agent-helm", "@xterm/headless"
	oneHistory     = "agent-helm, scrollback alone"
)

// terminalSubjects run by turns. Each run is a process of its own: some panic
// or hang on ordinary output.
var terminalSubjects = []string{ours, headless, "vt10x", "x/vt"}

// terminalGoals are how many times faster than another subject ours must be.
// Nothing may be slower than any of them on any payload.
var terminalGoals = map[string]map[string]float64{
	"ascii log, 44-byte lines":     {headless: 12, "vt10x": 25},
	recorded:                       {headless: 8, "vt10x": 12},
	"colour log":                   {headless: 6},
	"CJK, emoji, boxes, scrolling": {headless: 3},
}

// recorded names the payload that cannot be generated.
const recorded = "agent UI, recorded"

// terminalRun is what a subject's program prints.
type terminalRun struct {
	Bytes       float64 `json:"bytes"`
	Nanoseconds float64 `json:"ns"`
	Empty       float64 `json:"empty"`
	Full        float64 `json:"full"`
	Lines       float64 `json:"lines"`
}

// terminal measures the terminal core alone: how fast it reads what programs
// print, what it holds, and how long it can be kept busy by one write.
func (b *bench) terminal() error {
	program := filepath.Join(os.Getenv("AGENT_HELM_BIN"), "vtbench")
	if _, err := os.Stat(program); err != nil {
		b.report.skip("the terminal core: its program was not built (see scripts/bench): " + err.Error())
		return b.hostileWrites()
	}
	folder, err := os.MkdirTemp("", "agent-helm-payloads-")
	if err != nil {
		return err
	}
	b.Cleanup(func() { os.RemoveAll(folder) })

	var names []string
	files := make(map[string]string)
	add := func(name string, content []byte) error {
		files[name] = filepath.Join(folder, strconv.Itoa(len(names)))
		names = append(names, name)
		return os.WriteFile(files[name], content, 0o600)
	}
	for _, p := range payload.List {
		if err := add(p.Name, p.Bytes()); err != nil {
			return err
		}
	}
	if content, n := payload.Captures(captures); n > 0 {
		if err := add(recorded, content); err != nil {
			return err
		}
	} else {
		b.report.skip("terminal core, " + recorded + ": no recordings in " + captures)
	}
	for _, name := range names {
		b.terminalSpeed(program, name, files[name])
	}
	b.terminalMemory(program, files["ascii log, 44-byte lines"])
	return b.hostileWrites()
}

// terminalSpeed measures all subjects on one payload.
func (b *bench) terminalSpeed(program, name, file string) {
	runs := make(map[string][]float64)
	broken := make(map[string]bool)
	for range max(5, b.rounds) {
		for _, subject := range terminalSubjects {
			if broken[subject] {
				continue
			}
			r, err := runTerminal(program, subject, "speed", file, strconv.Itoa(int(perRun.Milliseconds())))
			if err != nil {
				broken[subject] = true
				b.report.skip(fmt.Sprintf("terminal core, %s, %s: %v", name, subject, err))
				continue
			}
			runs[subject] = append(runs[subject], r.Bytes/1e6/(r.Nanoseconds/1e9))
		}
	}
	for _, subject := range terminalSubjects {
		if broken[subject] {
			continue
		}
		b.report.add("terminal core, "+name, subject, "MB/CPU-s", runs[subject])
		if want := max(1, terminalGoals[name][subject]); subject != ours && len(runs[ours]) > 0 {
			b.report.goalAtLeast("terminal core, "+name+", against "+subject, ratio(runs[ours], runs[subject]), want)
		}
	}
}

// terminalMemory measures what subjects hold.
func (b *bench) terminalMemory(program, log string) {
	for _, subject := range []string{ours, oneHistory, headless, "vt10x", "x/vt"} {
		r, err := runTerminal(program, subject, "memory", log)
		if err != nil {
			b.report.skip(fmt.Sprintf("terminal core, memory, %s: %v", subject, err))
			continue
		}
		empty := b.report.add("terminal core, empty 80×24", subject, "KiB", []float64{r.Empty / 1024})
		if subject == ours {
			b.report.goal("terminal core, empty 80×24", empty, 64, "KiB")
		}
		if r.Lines == 0 {
			continue
		}
		each := b.report.add("terminal core, each of 10,000 lines of log in history", subject, "B", []float64{r.Full / r.Lines})
		switch subject {
		case oneHistory:
			b.report.goal("terminal core, a line of log in the scrollback", each, 100, "B")
		case ours:
			b.report.goal("terminal core, a line of log in scrollback and archive, which both have it", each, 2*100, "B")
		}
	}
}

// runTerminal runs a subject once.
func runTerminal(program, subject string, args ...string) (terminalRun, error) {
	argv := append([]string{program, subject}, args...)
	if subject == headless {
		argv = append([]string{"node", "--expose-gc", "internal/vt/bench/headless.mjs", "web"}, args...)
	}
	ctx, cancel := context.WithTimeout(context.Background(), runLimit)
	defer cancel()
	command := exec.CommandContext(ctx, argv[0], argv[1:]...)
	var failure bytes.Buffer
	command.Stderr = &failure
	output, err := command.Output()
	var r terminalRun
	switch {
	case ctx.Err() != nil:
		return r, fmt.Errorf("hangs: no end after %s", runLimit)
	case err != nil:
		first, _, _ := strings.Cut(strings.TrimSpace(failure.String()), "\n")
		return r, errors.Join(err, errors.New(first))
	}
	if err := json.Unmarshal(output, &r); err != nil {
		return r, fmt.Errorf("said %q: %w", output, err)
	}
	return r, nil
}

// hostileWrites measures the longest that one write can keep a terminal busy.
func (b *bench) hostileWrites() error {
	const want = 50
	for _, size := range [][2]int{{80, 24}, {300, 100}, {1000, 1000}} {
		slowest, name := 0.0, ""
		for _, h := range payload.HostileList {
			p := h.Bytes()
			var runs []float64
			for range 3 {
				terminal := vt.New(vt.Options{Cols: size[0], Rows: size[1]})
				start := processorTime()
				_, _ = terminal.Write(p)
				runs = append(runs, (processorTime()-start).Seconds()*1000)
			}
			if took := median(runs); took > slowest {
				slowest, name = took, h.Name
			}
		}
		what := fmt.Sprintf("terminal core, slowest of %d hostile writes of 64 KiB, %d×%d", len(payload.HostileList), size[0], size[1])
		b.report.add(what+" ("+name+")", ours, "ms CPU", []float64{slowest})
		b.report.goal(what, slowest, want, "ms CPU")
	}
	return nil
}

// processorTime is what this process has used.
func processorTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
