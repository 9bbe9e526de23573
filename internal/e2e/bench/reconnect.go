package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/agent-helm/agent-helm/internal/e2e"
)

// reconnect: a viewer comes back after 50 MB of output.
func (b *bench) reconnect() error {
	const output = 50 << 20
	var wireBytes, took, peer []float64
	for range b.rounds {
		s := e2e.NewDirectStack(b)
		status := filepath.Join(s.Dir(), "status")
		id := s.Run("flood", self("flood", fmt.Sprint(output), status)...)
		over := func(now e2e.Snapshot) bool { return strings.Contains(now.Text, "\nover") }
		first := e2e.NewViewer(e2e.ViewerOptions{URL: s.URL, Token: s.Token})
		stream := first.Attach(s.HostID, id, nil)
		if err := stream.WaitFor(patience(b), "the program", func(now e2e.Snapshot) bool { return strings.Contains(now.Text, "ready") }); err != nil {
			return err
		}
		stream.Type("s")
		if err := stream.WaitFor(patience(b), "the end", over); err != nil {
			return err
		}
		seen := stream.Snapshot().Text
		first.Close()
		began := time.Now()
		second := e2e.NewViewer(e2e.ViewerOptions{URL: s.URL, Token: s.Token})
		b.Cleanup(second.Close)
		again := second.Attach(s.HostID, id, nil)
		if err := again.WaitFor(patience(b), "the first screen", over); err != nil {
			return err
		}
		took = append(took, float64(time.Since(began).Microseconds())/1000)
		wireBytes = append(wireBytes, float64(second.Traffic())/1024)
		if now := again.Snapshot().Text; now != seen {
			return fmt.Errorf("the first screen after coming back is not the last one before:\n%s\n--- before:\n%s", now, seen)
		}
		b.cleanup()
		if milliseconds, err := b.tmuxReconnect(output); err == nil {
			peer = append(peer, milliseconds)
		} else if len(peer) == 0 && len(took) == 1 {
			b.report.skip(fmt.Sprintf("reconnect of tmux: %v", err))
		}
		b.cleanup()
	}
	b.report.add("reconnect after 50 MB: bytes received until the first correct screen", "agent-helm", "KiB", wireBytes)
	b.report.add("reconnect after 50 MB: dial to first correct screen", "agent-helm", "ms", took)
	b.report.goal("bytes on the wire for the first correct screen, 80×24, after 50 MB", median(wireBytes), 16, "KiB")
	if len(peer) > 0 {
		b.report.add("reconnect after 50 MB: attach to first correct screen", "tmux", "ms", peer)
		b.report.goal("time to the first correct screen after 50 MB, against tmux on the same machine", ratio(took, peer), 2, "×")
	}
	return nil
}
