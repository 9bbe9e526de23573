package main

import (
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/agent-helm/agent-helm/internal/e2e"
)

// slowRate is the link of somebody on a bad train, in bytes per second.
const slowRate = 50_000

// slowViewer: one viewer at 50 kB/s watches a flood and types ^C; then several
// do, to see what memory each of them costs. That is a difference of two heaps
// that breathe, so it can come out below nothing.
func (b *bench) slowViewer() error {
	const crowded = 8
	var interrupt, memory, slowed []float64
	for range b.rounds {
		s := e2e.NewDirectStack(b)
		id, status, err := startFlood(s)
		if err != nil {
			return err
		}
		alone, err := programSpeed(status)
		if err != nil {
			return err
		}
		s.Downlink.Throttle(slowRate, 0)
		slow := e2e.ViewerOptions{Via: s.Downlink.Addr()}
		viewers, streams, err := b.crowd(s, id, 1, slow, nil)
		if err != nil {
			return err
		}
		watched, err := programSpeed(status)
		if err != nil {
			return err
		}

		began := time.Now()
		streams[0].Type("\x03")
		prompt := func(now e2e.Snapshot) bool { return strings.Contains(now.Text, "prompt$") }
		if err := streams[0].WaitFor(patience(b), "the prompt on the slow screen", prompt); err != nil {
			return err
		}
		interrupt = append(interrupt, time.Since(began).Seconds())
		viewers[0].Close()

		// The flood begins anew, first for nobody, then for the slow, then for nobody.
		// What it wrote of itself before is of the past.
		if err := os.Remove(status); err != nil {
			return err
		}
		if _, err := s.Helm("send", "--no-enter", id, "s"); err != nil {
			return err
		}
		if err := e2e.Eventually(func() error { return finished(status, 32<<20) }); err != nil {
			return err
		}
		alone2, err := programSpeed(status)
		if err != nil {
			return err
		}
		slowed = append(slowed, 2*watched/(alone+alone2))
		before := typicalRSS(s.ServerPID(), observation/2)
		if viewers, _, err = b.crowd(s, id, crowded, slow, nil); err != nil {
			return err
		}
		during := typicalRSS(s.ServerPID(), observation)
		for _, v := range viewers {
			v.Close()
		}
		after := typicalRSS(s.ServerPID(), observation/2)
		memory = append(memory, (during-(before+after)/2)/crowded)
		b.cleanup()
	}
	b.report.add("^C to prompt on the screen of a viewer at 50 kB/s", "agent-helm", "s", interrupt)
	b.report.add("server memory that each of 8 viewers at 50 kB/s costs", "agent-helm", "KiB", memory)
	b.report.add("program speed with a viewer at 50 kB/s, against without", "agent-helm", "×", slowed)
	b.report.goal("time to interrupt on a viewer at 50 kB/s", median(interrupt), 0.25, "s")
	b.report.goal("server memory for a viewer at 50 kB/s", median(memory), 256, "KiB")
	b.report.goalAtLeast("program speed with that viewer, against without", median(slowed), 0.95)
	return nil
}

// slowUplink: a program's speed while the server is stopped, and while the
// uplink has 50 kB/s, each against the same flood a moment before.
func (b *bench) slowUplink() error {
	var stopped, slow []float64
	for range b.rounds {
		s := e2e.NewStack(b)
		_, status, err := startFlood(s)
		if err != nil {
			return err
		}
		alone, err := programSpeed(status)
		if err != nil {
			return err
		}
		server := s.ServerPID()
		// A stopped server would not hear the end of a run that fails here.
		b.Cleanup(func() { _ = syscall.Kill(server, syscall.SIGCONT) })
		if err := syscall.Kill(server, syscall.SIGSTOP); err != nil {
			return err
		}
		frozen, err := programSpeed(status)
		if err != nil {
			return err
		}
		if err := syscall.Kill(server, syscall.SIGCONT); err != nil {
			return err
		}

		var hosts any
		if err := e2e.Eventually(func() error { return s.GetJSON("/api/hosts", &hosts) }); err != nil {
			return err
		}
		alone2, err := programSpeed(status)
		if err != nil {
			return err
		}
		stopped = append(stopped, 2*frozen/(alone+alone2))
		s.Uplink.Throttle(0, slowRate)
		throttled, err := programSpeed(status)
		if err != nil {
			return err
		}
		slow = append(slow, throttled/alone2)
		b.cleanup()
	}
	b.report.add("program speed with the uplink at 50 kB/s, against without", "agent-helm", "×", slow)
	b.report.add("program speed with the server stopped, against without", "agent-helm", "×", stopped)
	b.report.goalAtLeast("program speed with the uplink at 50 kB/s, against without", median(slow), 0.95)
	b.report.goalAtLeast("program speed with the server under SIGSTOP, against without", median(stopped), 0.95)
	return nil
}
