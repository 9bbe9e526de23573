package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/agent-helm/agent-helm/internal/e2e"
)

// rss is a process's resident memory in KiB, 0 where the system does not say.
func rss(pid int) float64 { return procField(fmt.Sprintf("/proc/%d/status", pid), "VmRSS:") }

// pss is its proportional share in KiB.
func pss(pid int) float64 { return procField(fmt.Sprintf("/proc/%d/smaps_rollup", pid), "Pss:") }

func procField(path, field string) float64 {
	content, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(content)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			value, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
			return value
		}
	}
	return 0
}

// holders are the process ids of the holders below a state directory.
func holders(state string) []int {
	var out []int
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range paths {
		cmdline, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(cmdline), "agent-helm\x00hold") {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil {
			continue
		}
		if environment, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid)); err == nil && strings.Contains(string(environment), state) {
			out = append(out, pid)
		}
	}
	return out
}

// memory: the server with idle sessions, and holders after output.
func (b *bench) memory() error {
	s := e2e.NewStack(b)
	base := rss(s.ServerPID())
	const sessions = 60 // below the limit of 64 on one host
	for i := range sessions {
		s.Run(fmt.Sprintf("idle-%d", i), "/bin/cat")
	}
	perSession := (rss(s.ServerPID()) - base) / sessions
	b.report.add("server memory at rest", "agent-helm", "MiB", []float64{base / 1024})
	b.report.add(fmt.Sprintf("server memory for each of %d idle sessions", sessions), "agent-helm", "KiB", []float64{perSession})
	b.report.goal("server memory at rest", base/1024, 40, "MiB")
	b.report.goal("server memory for an idle session, 80×24", perSession, 250, "KiB")
	b.cleanup()

	s = e2e.NewStack(b)
	const floods = 20
	for i := range floods {
		status := filepath.Join(s.Dir(), fmt.Sprintf("status-%d", i))
		id := s.Run(fmt.Sprintf("flood-%d", i), self("flood", fmt.Sprint(50<<20), status)...)
		if _, err := s.Helm("send", "--no-enter", id, "s"); err != nil {
			return err
		}
		if err := e2e.Eventually(func() error { return finished(status, 50<<20) }); err != nil {
			return err
		}
	}
	var shares []float64
	for _, pid := range holders(s.Dir()) {
		shares = append(shares, pss(pid)/1024)
	}
	if len(shares) == 0 {
		b.report.skip("holder memory: this system does not tell it")
		return nil
	}
	share := b.report.add(fmt.Sprintf("holder memory (PSS) of %d after 50 MB of output each", len(shares)), "agent-helm", "MiB", shares)
	b.report.goal("holder memory (PSS), 20 sessions, after 50 MB each", share, 6, "MiB")
	return nil
}

// finished says whether a flood of size bytes is over.
func finished(status string, size float64) error {
	printed, _, err := progress(status)
	if err != nil {
		return err
	}
	if printed < size {
		return fmt.Errorf("%.0f of %.0f bytes printed", printed, size)
	}
	return nil
}
