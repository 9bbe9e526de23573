package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/agent-helm/agent-helm/internal/e2e"
)

// flooded is what one flood showed.
type flooded struct {
	speed float64 // MB/s, from the key that starts it to the last viewer's last byte
	whole float64 // share of the bytes that the viewers got as bytes; the rest was skipped by repaints
	// Processor time per MB in ms.
	server, daemon, holder float64
}

// floods measures how fast a flood reaches one and ten viewers.
func (b *bench) floods() error {
	for _, viewers := range []int{1, 10} {
		var helm, floor []flooded
		for range b.rounds {
			run, err := b.helmFlood(viewers)
			if err != nil {
				return fmt.Errorf("agent-helm with %d viewers: %w", viewers, err)
			}
			helm = append(helm, run)
			b.cleanup()
			if run, err = b.floorFlood(viewers); err != nil {
				return fmt.Errorf("floor with %d viewers: %w", viewers, err)
			}
			floor = append(floor, run)
			b.cleanup()
		}
		metric := fmt.Sprintf("flood of %d MiB, %d viewer(s)", b.flood>>20, viewers)
		speeds := func(f flooded) float64 { return f.speed }
		b.report.add(metric+", start to last byte", "agent-helm", "MB/s", each(helm, speeds))
		b.report.add(metric+", start to last byte", "floor", "MB/s", each(floor, speeds))
		b.report.add(metric+", share that arrived as bytes", "agent-helm", "%", each(helm, func(f flooded) float64 { return 100 * f.whole }))
		servers := func(f flooded) float64 { return f.server }
		b.report.add(metric+", server", "agent-helm", "ms CPU/MB", each(helm, servers))
		b.report.add(metric+", server", "floor", "ms CPU/MB", each(floor, servers))
		b.report.add(metric+", daemon", "agent-helm", "ms CPU/MB", each(helm, func(f flooded) float64 { return f.daemon }))
		b.report.add(metric+", daemon", "floor", "ms CPU/MB", each(floor, func(f flooded) float64 { return f.daemon }))
		b.report.add(metric+", holder", "agent-helm", "ms CPU/MB", each(helm, func(f flooded) float64 { return f.holder }))
		b.report.add(metric+", holder", "floor", "ms CPU/MB", each(floor, func(f flooded) float64 { return f.holder }))
		// A viewer that falls behind is repainted, so the last byte may come sooner
		// than all of them would.
		arrived := each(helm, func(f flooded) float64 { return f.speed * f.whole })
		b.report.add(metric+", of which arrived as bytes", "agent-helm", "MB/s", arrived)
		b.report.goalAtLeast(fmt.Sprintf("flood with %d viewer(s), start to last screen, against the floor", viewers), ratio(each(helm, speeds), each(floor, speeds)), 0.9)
		b.report.goalAtLeast(fmt.Sprintf("flood with %d viewer(s), bytes that arrived as bytes, against the floor", viewers), ratio(arrived, each(floor, speeds)), 0.9)
	}
	return nil
}

func each(runs []flooded, figure func(flooded) float64) []float64 {
	var out []float64
	for _, run := range runs {
		out = append(out, figure(run))
	}
	return out
}

// meter reads what processes use between start and stop, per MB.
type meter struct {
	pids   []int
	before []time.Duration
	began  time.Time
}

func startMeter(pids ...int) *meter {
	m := &meter{pids: pids}
	for _, pid := range pids {
		m.before = append(m.before, cpu(pid))
	}
	m.began = time.Now()
	return m
}

func (m *meter) stop(bytes int) (f flooded) {
	megabytes := float64(bytes) / 1e6
	f.speed = megabytes / time.Since(m.began).Seconds()
	for i, into := range []*float64{&f.server, &f.daemon, &f.holder} {
		*into = float64((cpu(m.pids[i]) - m.before[i]).Microseconds()) / 1000 / megabytes
	}
	return f
}

func (b *bench) helmFlood(viewers int) (flooded, error) {
	s := e2e.NewDirectStack(b)
	id := s.Run("flood", self("flood", fmt.Sprint(b.flood), filepath.Join(s.Dir(), "status"))...)
	_, streams, err := b.crowd(s, id, viewers, e2e.ViewerOptions{Sink: true}, nil)
	if err != nil {
		return flooded{}, err
	}
	ready := func(now e2e.Snapshot) bool { return now.Position.Offset >= uint64(len(floodReady)) }
	if err := streams[0].WaitFor(patience(b), "the program", ready); err != nil {
		return flooded{}, err
	}
	end := uint64(len(floodReady) + floodSize(b.flood) + len(floodOver))
	m := startMeter(s.ServerPID(), s.DaemonPID(), s.HolderPIDs()[id])
	streams[0].Type("s")
	for _, stream := range streams {
		if err := stream.WaitFor(patience(b), "the end of the flood", func(now e2e.Snapshot) bool { return now.Position.Offset >= end }); err != nil {
			return flooded{}, err
		}
	}
	run := m.stop(b.flood)
	for _, stream := range streams {
		run.whole += float64(stream.Snapshot().Received) / float64(end) / float64(viewers)
	}
	return run, nil
}

func (b *bench) floorFlood(viewers int) (flooded, error) {
	dir, err := os.MkdirTemp("", "flood")
	if err != nil {
		return flooded{}, err
	}
	b.Cleanup(func() { os.RemoveAll(dir) })
	f, err := b.startFloor(self("flood", fmt.Sprint(b.flood), filepath.Join(dir, "status")))
	if err != nil {
		return flooded{}, err
	}
	var conns []*websocket.Conn
	for range viewers {
		conn, err := f.view(b)
		if err != nil {
			return flooded{}, err
		}
		conns = append(conns, conn)
	}
	ctx := patience(b)
	// The program's "ready" may have gone by before a viewer came.
	time.Sleep(300 * time.Millisecond)
	m := startMeter(f.server, f.daemon, f.holder)
	if err := conns[0].Write(ctx, websocket.MessageBinary, []byte("s")); err != nil {
		return flooded{}, err
	}
	var readers sync.WaitGroup
	errs := make([]error, len(conns))
	for i, conn := range conns {
		readers.Go(func() { errs[i] = readUntil(ctx, conn, floodSize(b.flood)+len(floodOver)) })
	}
	readers.Wait()
	for _, err := range errs {
		if err != nil {
			return flooded{}, err
		}
	}
	run := m.stop(b.flood)
	run.whole = 1
	return run, nil
}

// readUntil reads a floor viewer until it had so many bytes.
func readUntil(ctx context.Context, conn *websocket.Conn, size int) error {
	for size > 0 {
		_, message, err := conn.Read(ctx)
		if err != nil {
			return fmt.Errorf("%d bytes before the end: %w", size, err)
		}
		size -= len(message)
	}
	return nil
}
