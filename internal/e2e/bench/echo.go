package main

import (
	"context"
	"fmt"
	"time"

	"github.com/agent-helm/agent-helm/internal/e2e"
)

// echoer types one byte and waits until it comes back. It returns when that
// was: as the byte was read, in every subject, and not when a goroutine that
// waited for it was told.
type echoer struct {
	name string
	key  func(ctx context.Context, key byte) (time.Time, error)
	// peer says that a failure costs its own figures and not the run.
	peer bool
}

// arrival is one byte that came back.
type arrival struct {
	key byte
	at  time.Time
}

// peerPatience is how long a peer's echo may take.
const peerPatience = time.Second

// echo measures keystroke echo, idle and while another session floods.
func (b *bench) echo() error {
	s := e2e.NewDirectStack(b)
	helm, err := b.helmEchoer(s)
	if err != nil {
		return err
	}
	floor, err := b.startFloor(self("echo"))
	if err != nil {
		return err
	}
	floorConn, err := floor.view(b)
	if err != nil {
		return err
	}
	subjects := []echoer{helm, {name: "floor", key: func(ctx context.Context, key byte) (time.Time, error) {
		return echoOverFloor(ctx, floorConn, key)
	}}}
	subjects = append(subjects, b.echoPeers()...)

	idle, err := b.measureEcho(subjects)
	if err != nil {
		return err
	}
	// While another session of the same host floods for ever.
	flood := s.Run("flood", self("flood", "0", s.Dir()+"/status")...)
	v := e2e.NewViewer(e2e.ViewerOptions{URL: s.URL, Token: s.Token, Sink: true})
	b.Cleanup(v.Close)
	stream := v.Attach(s.HostID, flood, nil)
	if err := stream.WaitFor(patience(b), "the flood's viewer", func(now e2e.Snapshot) bool { return now.Live }); err != nil {
		return err
	}
	stream.Type("s")
	if err := stream.WaitFor(patience(b), "the flood", func(now e2e.Snapshot) bool { return now.Received > 1<<20 }); err != nil {
		return err
	}
	busy, err := b.measureEcho(subjects)
	if err != nil {
		return err
	}
	for _, condition := range []struct {
		name string
		by   map[string][2][]float64
	}{{"idle", idle}, {"another session floods", busy}} {
		for _, subject := range subjects {
			runs := condition.by[subject.name]
			b.report.add("echo p50, "+condition.name, subject.name, "µs", runs[0])
			b.report.add("echo p99, "+condition.name, subject.name, "µs", runs[1])
		}
	}
	b.report.goal("echo p50, idle, against the floor of the same hops", ratio(idle["agent-helm"][0], idle["floor"][0]), 1.3, "×")
	if ttyd, ok := idle["ttyd"]; ok {
		b.report.goal("echo p99, idle, against ttyd", ratio(idle["agent-helm"][1], ttyd[1]), 1.8, "×")
		b.report.goal("echo p50 while another session floods, against ttyd", ratio(busy["agent-helm"][0], busy["ttyd"][0]), 1.7, "×")
		b.report.goal("echo p99 while another session floods, against ttyd", ratio(busy["agent-helm"][1], busy["ttyd"][1]), 1.3, "×")
	} else {
		b.report.skip("goals against ttyd (echo p99 idle, p50 and p99 while another session floods): it is not installed")
	}
	return nil
}

// echoKeys do not occur in the escape sequences with which a peer may draw an
// echo, so that seeing one is seeing the key.
const echoKeys = "ejkvwxyz"

// measureEcho runs the subjects alternately and returns, per subject, the p50
// and p99 of each round.
func (b *bench) measureEcho(subjects []echoer) (map[string][2][]float64, error) {
	out := make(map[string][2][]float64)
	lost := make(map[string]int)
	for range b.rounds {
		for _, subject := range subjects {
			var times []time.Duration
			for i := range b.keys {
				patience := e2e.Patience
				if subject.peer {
					patience = peerPatience
				}
				ctx, cancel := context.WithTimeout(context.Background(), patience)
				began := time.Now()
				at, err := subject.key(ctx, echoKeys[i%len(echoKeys)])
				cancel()
				switch {
				case err != nil && subject.peer:
					lost[subject.name]++
					continue
				case err != nil:
					return nil, fmt.Errorf("%s: %w", subject.name, err)
				}
				times = append(times, at.Sub(began))
				// People do not type back to back; a pause lets every
				// subject go idle between keys.
				time.Sleep(time.Millisecond)
			}
			sorted := microseconds(times)
			runs := out[subject.name]
			runs[0] = append(runs[0], quantile(sorted, 0.5))
			runs[1] = append(runs[1], quantile(sorted, 0.99))
			out[subject.name] = runs
		}
	}
	for name, keys := range lost {
		b.report.skip(fmt.Sprintf("%d keys of %s that were not shown within %v", keys, name, peerPatience))
	}
	return out, nil
}

func (b *bench) helmEchoer(s *e2e.Stack) (echoer, error) {
	id := s.Run("echo", self("echo")...)
	v := e2e.NewViewer(e2e.ViewerOptions{URL: s.URL, Token: s.Token, Sink: true})
	b.Cleanup(v.Close)
	arrived := make(chan arrival, 4096)
	stream := v.Attach(s.HostID, id, func(_ uint64, data []byte) {
		at := time.Now()
		for _, c := range data {
			select {
			case arrived <- arrival{c, at}:
			default:
			}
		}
	})
	if err := stream.WaitFor(patience(b), "the echo session", func(now e2e.Snapshot) bool { return now.Live }); err != nil {
		return echoer{}, err
	}
	// The program may still be starting; its first echo proves that it reads.
	stream.Type("!")
	ctx := patience(b)
	for {
		select {
		case c := <-arrived:
			if c.key == '!' {
				return echoer{name: "agent-helm", key: func(ctx context.Context, key byte) (time.Time, error) {
					since := time.Now()
					stream.Type(string(key))
					return awaitKey(ctx, arrived, key, since)
				}}, nil
			}
		case <-ctx.Done():
			return echoer{}, ctx.Err()
		}
	}
}

// awaitKey waits for a key that arrives after since: a peer that draws late may
// still owe an earlier one of the same name.
func awaitKey(ctx context.Context, arrived <-chan arrival, key byte, since time.Time) (time.Time, error) {
	for {
		select {
		case c := <-arrived:
			if c.key == key && c.at.After(since) {
				return c.at, nil
			}
		case <-ctx.Done():
			return time.Time{}, ctx.Err()
		}
	}
}

func patience(b *bench) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 5*e2e.Patience)
	b.Cleanup(cancel)
	return ctx
}
