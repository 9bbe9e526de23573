package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/coder/websocket"

	"github.com/agent-helm/agent-helm/internal/e2e"
)

// floods measures how fast a flood reaches one and ten viewers.
func (b *bench) floods() error {
	for _, viewers := range []int{1, 10} {
		var helm, floor []float64
		for range b.rounds {
			speed, err := b.helmFlood(viewers)
			if err != nil {
				return fmt.Errorf("agent-helm with %d viewers: %w", viewers, err)
			}
			helm = append(helm, speed)
			b.cleanup()
			if speed, err = b.floorFlood(viewers); err != nil {
				return fmt.Errorf("floor with %d viewers: %w", viewers, err)
			}
			floor = append(floor, speed)
			b.cleanup()
		}
		metric := fmt.Sprintf("flood of %d MiB, %d viewer(s), program to last screen", b.flood>>20, viewers)
		b.report.add(metric, "agent-helm", "MB/s", helm)
		b.report.add(metric, "floor", "MB/s", floor)
		b.report.goalAtLeast(fmt.Sprintf("flood with %d viewer(s), against the floor", viewers), ratio(helm, floor), 0.9)
	}
	return nil
}

// helmFlood is the bytes of one flood per second until the last of the
// viewers shows its end.
func (b *bench) helmFlood(viewers int) (float64, error) {
	s := e2e.NewStack(b)
	id := s.Run("flood", self("flood", fmt.Sprint(b.flood), filepath.Join(s.Dir(), "status"))...)
	var streams []*e2e.Stream
	for range viewers {
		v := e2e.NewViewer(e2e.ViewerOptions{URL: s.URL, Token: s.Token})
		b.Cleanup(v.Close)
		stream := v.Attach(s.HostID, id, nil)
		if err := stream.WaitFor(patience(b), "the program", func(now e2e.Snapshot) bool { return containsAll(now.Text, "ready") }); err != nil {
			return 0, err
		}
		streams = append(streams, stream)
	}
	began := time.Now()
	streams[0].Type("s")
	for _, stream := range streams {
		if err := stream.WaitFor(patience(b), "the end of the flood", func(now e2e.Snapshot) bool { return containsAll(now.Text, "over") }); err != nil {
			return 0, err
		}
	}
	return float64(b.flood) / 1e6 / time.Since(began).Seconds(), nil
}

func (b *bench) floorFlood(viewers int) (float64, error) {
	dir, err := os.MkdirTemp("", "flood")
	if err != nil {
		return 0, err
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	f, err := b.startFloor(self("flood", fmt.Sprint(b.flood), filepath.Join(dir, "status")))
	if err != nil {
		return 0, err
	}
	var conns []*websocket.Conn
	for range viewers {
		conn, err := f.view(b)
		if err != nil {
			return 0, err
		}
		conns = append(conns, conn)
	}
	ctx := patience(b)
	// The program's "ready" may have gone by before a viewer came.
	time.Sleep(300 * time.Millisecond)
	began := time.Now()
	if err := conns[0].Write(ctx, websocket.MessageBinary, []byte("s")); err != nil {
		return 0, err
	}
	var all sync.WaitGroup
	errs := make([]error, len(conns))
	for i, conn := range conns {
		all.Go(func() { errs[i] = until(ctx, conn, "\r\nover\r\n") })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	return float64(b.flood) / 1e6 / time.Since(began).Seconds(), nil
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
const observation = 5 * time.Second

// programSpeed starts an endless flood in a new stack, lets disturb do its
// worst before, and returns the program's own speed in MB/s over observation.
// The stack and session are handed to after, which may be nil.
func (b *bench) programSpeed(disturb func(s *e2e.Stack, id string) error, after func(s *e2e.Stack) error) (float64, error) {
	s := e2e.NewStack(b)
	defer b.cleanup()
	status := filepath.Join(s.Dir(), "status")
	id := s.Run("flood", self("flood", "0", status)...)
	if disturb != nil {
		if err := disturb(s, id); err != nil {
			return 0, err
		}
	}
	if _, err := s.Helm("send", "--no-enter", id, "s"); err != nil {
		return 0, err
	}
	err := e2e.Eventually(func() error {
		_, _, err := progress(status)
		return err
	})
	if err != nil {
		return 0, err
	}
	printed, began, err := progress(status)
	if err != nil {
		return 0, err
	}
	time.Sleep(observation)
	later, ended, err := progress(status)
	if err != nil {
		return 0, err
	}
	if after != nil {
		if err := after(s); err != nil {
			return 0, err
		}
	}
	// A program that stands still reports nothing; that is a speed of nearly 0.
	return (later - printed) / 1e6 / max((ended-began)/1e9, observation.Seconds()/2), nil
}

// slowViewer: one viewer at 50 kB/s watches a flood and types ^C.
func (b *bench) slowViewer() error {
	var interrupt, grown, slowed []float64
	for range b.rounds {
		alone, err := b.programSpeed(nil, nil)
		if err != nil {
			return err
		}
		var stream *e2e.Stream
		var before, memory float64
		var took time.Duration
		watched, err := b.programSpeed(func(s *e2e.Stack, id string) error {
			s.Downlink.Throttle(50_000, 0)
			v := e2e.NewViewer(e2e.ViewerOptions{URL: s.URL, Via: s.Downlink.Addr(), Token: s.Token})
			b.Cleanup(v.Close)
			stream = v.Attach(s.HostID, id, nil)
			before = rss(s.ServerPID())
			return stream.WaitFor(patience(b), "the slow viewer", func(now e2e.Snapshot) bool { return now.Live })
		}, func(s *e2e.Stack) error {
			memory = rss(s.ServerPID()) - before
			began := time.Now()
			stream.Type("\x03")
			err := stream.WaitFor(patience(b), "the prompt on the slow screen", func(now e2e.Snapshot) bool { return strings.Contains(now.Text, "prompt$") })
			took = time.Since(began)
			return err
		})
		if err != nil {
			return err
		}
		interrupt = append(interrupt, took.Seconds())
		grown = append(grown, memory)
		slowed = append(slowed, watched/alone)
	}
	b.report.add("^C to prompt on the screen of a viewer at 50 kB/s", "agent-helm", "s", interrupt)
	b.report.add("server memory that the flood and that viewer cost", "agent-helm", "KiB", grown)
	b.report.add("program speed with that viewer, against without", "agent-helm", "×", slowed)
	b.report.goal("time to interrupt on a viewer at 50 kB/s", median(interrupt), 0.25, "s")
	b.report.goalAtLeast("program speed with that viewer, against without", median(slowed), 0.95)
	return nil
}

// slowUplink: the same program while the uplink has 50 kB/s, and while the
// server is stopped.
func (b *bench) slowUplink() error {
	var slow, stopped []float64
	for range b.rounds {
		alone, err := b.programSpeed(nil, nil)
		if err != nil {
			return err
		}
		throttled, err := b.programSpeed(func(s *e2e.Stack, _ string) error {
			s.Uplink.Throttle(0, 50_000)
			return nil
		}, nil)
		if err != nil {
			return err
		}
		frozen, err := b.programSpeed(func(s *e2e.Stack, _ string) error {
			pid := s.ServerPID()
			b.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
			return syscall.Kill(pid, syscall.SIGSTOP)
		}, nil)
		if err != nil {
			return err
		}
		slow = append(slow, throttled/alone)
		stopped = append(stopped, frozen/alone)
	}
	b.report.add("program speed with the uplink at 50 kB/s, against without", "agent-helm", "×", slow)
	b.report.add("program speed with the server stopped, against without", "agent-helm", "×", stopped)
	b.report.goalAtLeast("program speed with the uplink at 50 kB/s, against without", median(slow), 0.95)
	b.report.goalAtLeast("program speed with the server under SIGSTOP, against without", median(stopped), 0.95)
	return nil
}

// reconnect: a viewer comes back after 50 MB of output.
func (b *bench) reconnect() error {
	const output = 50 << 20
	var wireBytes, took []float64
	for range b.rounds {
		s := e2e.NewStack(b)
		status := filepath.Join(s.Dir(), "status")
		id := s.Run("flood", self("flood", fmt.Sprint(output), status)...)
		first := e2e.NewViewer(e2e.ViewerOptions{URL: s.URL, Token: s.Token})
		stream := first.Attach(s.HostID, id, nil)
		if err := stream.WaitFor(patience(b), "the program", func(now e2e.Snapshot) bool { return containsAll(now.Text, "ready") }); err != nil {
			return err
		}
		stream.Type("s")
		if err := stream.WaitFor(patience(b), "the end", func(now e2e.Snapshot) bool { return containsAll(now.Text, "over") }); err != nil {
			return err
		}
		first.Close()
		began := time.Now()
		second := e2e.NewViewer(e2e.ViewerOptions{URL: s.URL, Token: s.Token})
		b.Cleanup(second.Close)
		again := second.Attach(s.HostID, id, nil)
		if err := again.WaitFor(patience(b), "the first correct screen", func(now e2e.Snapshot) bool { return containsAll(now.Text, "over") }); err != nil {
			return err
		}
		took = append(took, float64(time.Since(began).Microseconds())/1000)
		now := again.Snapshot()
		wireBytes = append(wireBytes, float64(now.Received+now.Repainted)/1024)
		b.cleanup()
	}
	b.report.add("reconnect after 50 MB: bytes until the first correct screen", "agent-helm", "KiB", wireBytes)
	b.report.add("reconnect after 50 MB: dial to first correct screen", "agent-helm", "ms", took)
	b.report.goal("bytes on the wire for the first correct screen, 80×24, after 50 MB", median(wireBytes), 16, "KiB")
	return nil
}

// manyViewers: a thousand viewers of one session.
func (b *bench) manyViewers() error {
	const count = 1000
	s := e2e.NewStack(b)
	id := s.Run("echo", self("echo")...)
	before := rss(s.ServerPID())
	var waiting atomic.Int64
	var done chan struct{}
	var mu sync.Mutex
	var streams []*e2e.Stream
	for range count {
		v := e2e.NewViewer(e2e.ViewerOptions{URL: s.URL, Token: s.Token, Sink: true})
		b.Cleanup(v.Close)
		streams = append(streams, v.Attach(s.HostID, id, func(_ uint64, data []byte) {
			if strings.ContainsRune(string(data), 'x') && waiting.Add(-1) == 0 {
				mu.Lock()
				close(done)
				mu.Unlock()
			}
		}))
	}
	for _, stream := range streams {
		if err := stream.WaitFor(patience(b), "every viewer", func(now e2e.Snapshot) bool { return now.Live }); err != nil {
			return err
		}
	}
	perViewer := (rss(s.ServerPID()) - before) / count
	var times []float64
	for range 20 * b.rounds {
		mu.Lock()
		done = make(chan struct{})
		mu.Unlock()
		waiting.Store(count)
		began := time.Now()
		streams[0].Type("x")
		ctx, cancel := context.WithTimeout(context.Background(), e2e.Patience)
		select {
		case <-done:
		case <-ctx.Done():
			cancel()
			return ctx.Err()
		}
		cancel()
		times = append(times, float64(time.Since(began).Microseconds())/1000)
	}
	sorted := sortedCopy(times)
	b.report.add("1,000 viewers: one echo to all, p50", "agent-helm", "ms", []float64{quantile(sorted, 0.5)})
	b.report.add("1,000 viewers: one echo to all, p99", "agent-helm", "ms", []float64{quantile(sorted, 0.99)})
	b.report.add("1,000 viewers: server memory for each", "agent-helm", "KiB", []float64{perViewer})
	b.report.goal("server memory for each of 1,000 viewers", perViewer, 40, "KiB")
	return nil
}
