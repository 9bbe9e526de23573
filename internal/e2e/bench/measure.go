package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agent-helm/agent-helm/internal/e2e"
)

// rss is a process's resident memory in KiB, 0 where the system does not say.
func rss(pid int) float64 { return procField(fmt.Sprintf("/proc/%d/status", pid), "VmRSS:") }

// pss is its proportional share in KiB, 0 where the system does not say.
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

// cpu is the processor time that a process has used, 0 where the system does
// not say.
func cpu(pid int) time.Duration {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name, in parentheses, may hold spaces.
	_, rest, _ := strings.Cut(string(content), ") ")
	fields := strings.Fields(rest)
	const user, system = 11, 12
	if len(fields) <= system {
		return 0
	}
	const tick = 10 * time.Millisecond // USER_HZ is 100 on every Linux
	var ticks time.Duration
	for _, field := range []string{fields[user], fields[system]} {
		n, _ := strconv.Atoi(field)
		ticks += time.Duration(n)
	}
	return ticks * tick
}

// idleCPU is the share of one processor, in percent, that a process uses while
// nothing happens.
func idleCPU(pid int) float64 {
	const watched = 5 * time.Second
	before := cpu(pid)
	time.Sleep(watched)
	return 100 * (cpu(pid) - before).Seconds() / watched.Seconds()
}

// typicalRSS is the median resident memory over a while, in KiB: a collected
// heap breathes.
func typicalRSS(pid int, over time.Duration) float64 {
	var samples []float64
	for end := time.Now().Add(over); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		samples = append(samples, rss(pid))
	}
	return median(samples)
}

// socketsPerToken is below what a server lets one credential open.
const socketsPerToken = 8

// crowd opens viewers of one session, each after the one before is live: a
// server takes few strangers at a time. output is told of every viewer's bytes.
func (b *bench) crowd(s *e2e.Stack, id string, count int, options e2e.ViewerOptions, output func(viewer int, data []byte)) ([]*e2e.Viewer, []*e2e.Stream, error) {
	var viewers []*e2e.Viewer
	var streams []*e2e.Stream
	options.URL = s.URL
	for i := range count {
		if i%socketsPerToken == 0 {
			b.crowds++
			options.Token = s.NewToken(fmt.Sprintf("crowd %d", b.crowds))
		}
		v := e2e.NewViewer(options)
		b.Cleanup(v.Close)
		var onOutput func(uint64, []byte)
		if output != nil {
			onOutput = func(_ uint64, data []byte) { output(i, data) }
		}
		stream := v.Attach(s.HostID, id, onOutput)
		if err := stream.WaitFor(patience(b), fmt.Sprintf("viewer %d", i+1), func(now e2e.Snapshot) bool { return now.Live }); err != nil {
			return nil, nil, err
		}
		viewers, streams = append(viewers, v), append(streams, stream)
	}
	return viewers, streams, nil
}

// progress is what the flood program wrote of itself: bytes printed and the
// time since it began.
func progress(status string) (printed, nanoseconds float64, err error) {
	content, err := os.ReadFile(status)
	if err != nil {
		return 0, 0, err
	}
	if _, err := fmt.Sscan(string(content), &printed, &nanoseconds); err != nil {
		return 0, 0, err
	}
	return printed, nanoseconds, nil
}

// observation is how long an endless flood is watched.
const observation = 3 * time.Second

// programSpeed is what a running flood prints now, in MB/s.
func programSpeed(status string) (float64, error) {
	printed, began, err := progress(status)
	if err != nil {
		return 0, err
	}
	time.Sleep(observation)
	later, ended, err := progress(status)
	if err != nil {
		return 0, err
	}
	// A program that stands still reports nothing; that is a speed of nearly 0.
	return (later - printed) / 1e6 / max((ended-began)/1e9, observation.Seconds()/2), nil
}

// startFlood runs an endless flood and lets it print for a while, so that every
// history is full.
func startFlood(s *e2e.Stack) (id, status string, err error) {
	status = s.Dir() + "/status"
	id = s.Run("flood", self("flood", "0", status)...)
	if _, err := s.Helm("send", "--no-enter", id, "s"); err != nil {
		return "", "", err
	}
	return id, status, e2e.Eventually(func() error { return finished(status, 32<<20) })
}

// finished says whether a flood has printed size bytes.
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

// ratio of two medians.
func ratio(have, base []float64) float64 { return median(have) / median(base) }

// median of an even number of runs is the mean of the middle two.
func median(runs []float64) float64 {
	sorted := sortedCopy(runs)
	if n := len(sorted); n > 0 && n%2 == 0 {
		return (sorted[n/2-1] + sorted[n/2]) / 2
	}
	return quantile(sorted, 0.5)
}

func sortedCopy(values []float64) []float64 {
	sorted := slices.Clone(values)
	slices.Sort(sorted)
	return sorted
}
