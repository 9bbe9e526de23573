package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/agent-helm/agent-helm/internal/e2e"
)

// all waits until every one of a crowd has seen what was typed.
type all struct {
	waiting atomic.Int64
	mu      sync.Mutex
	done    chan struct{}
}

func (a *all) expect(count int) {
	a.mu.Lock()
	a.done = make(chan struct{})
	a.mu.Unlock()
	a.waiting.Store(int64(count))
}

func (a *all) saw(data []byte) {
	for _, c := range data {
		if c == 'x' && a.waiting.Add(-1) == 0 {
			a.mu.Lock()
			close(a.done)
			a.mu.Unlock()
		}
	}
}

// time is how long typing takes to reach everybody, in milliseconds.
func (a *all) time(count int, kind func() error) (float64, error) {
	a.expect(count)
	ctx, cancel := context.WithTimeout(context.Background(), e2e.Patience)
	defer cancel()
	began := time.Now()
	if err := kind(); err != nil {
		return 0, err
	}
	select {
	case <-a.done:
		return float64(time.Since(began).Microseconds()) / 1000, nil
	case <-ctx.Done():
		return 0, fmt.Errorf("%d of %d did not see what was typed: %w", a.waiting.Load(), count, ctx.Err())
	}
}

// manyViewers: a thousand viewers of one session, beside as many of the floor.
func (b *bench) manyViewers() error {
	const count = 1000
	s := e2e.NewDirectStack(b)
	id := s.Run("echo", self("echo")...)
	before := rss(s.ServerPID())
	var helm, floor all
	began := time.Now()
	_, streams, err := b.crowd(s, id, count, e2e.ViewerOptions{Sink: true}, func(_ int, data []byte) { helm.saw(data) })
	if err != nil {
		return err
	}
	opened := time.Since(began).Seconds()
	perViewer := (rss(s.ServerPID()) - before) / count
	idle := idleCPU(s.ServerPID())

	f, err := b.startFloor(self("echo"))
	if err != nil {
		return err
	}
	floorBefore := rss(f.server)
	var conns []*websocket.Conn
	var readers sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	b.Cleanup(func() { cancel(); readers.Wait() })
	for range count {
		conn, err := f.view(b)
		if err != nil {
			return err
		}
		conns = append(conns, conn)
		readers.Go(func() {
			for {
				_, message, err := conn.Read(ctx)
				if err != nil {
					return
				}
				floor.saw(message)
			}
		})
	}
	floorEach := (rss(f.server) - floorBefore) / count

	var times, floorTimes []float64
	for range 20 * b.rounds {
		took, err := helm.time(count, func() error {
			streams[0].Type("x")
			return nil
		})
		if err != nil {
			return fmt.Errorf("agent-helm: %w", err)
		}
		times = append(times, took)
		took, err = floor.time(count, func() error { return conns[0].Write(ctx, websocket.MessageBinary, []byte("x")) })
		if err != nil {
			return fmt.Errorf("floor: %w", err)
		}
		floorTimes = append(floorTimes, took)
	}
	one := func(v float64) []float64 { return []float64{v} }
	p50 := b.report.add("1,000 viewers: one echo to all, p50", "agent-helm", "ms", one(quantile(sortedCopy(times), 0.5)))
	floor50 := b.report.add("1,000 viewers: one echo to all, p50", "floor", "ms", one(quantile(sortedCopy(floorTimes), 0.5)))
	b.report.add("1,000 viewers: one echo to all, p99", "agent-helm", "ms", one(quantile(sortedCopy(times), 0.99)))
	b.report.add("1,000 viewers: one echo to all, p99", "floor", "ms", one(quantile(sortedCopy(floorTimes), 0.99)))
	b.report.add("1,000 viewers: opened, one after the other", "agent-helm", "s", one(opened))
	b.report.add("1,000 viewers: server memory for each, RSS", "agent-helm", "KiB", one(perViewer))
	b.report.add("1,000 viewers: server memory for each, RSS", "floor", "KiB", one(floorEach))
	b.report.add("1,000 viewers: server at rest, share of a CPU", "agent-helm", "%", one(idle))
	b.report.goal("server memory for each of 1,000 viewers", perViewer, 40, "KiB")
	b.report.goal("server with 1,000 viewers at rest, share of a CPU", idle, 0.5, "%")
	b.report.goal("one echo to 1,000 viewers, p50, against the floor", p50/floor50, 1.25, "×")
	return nil
}
