package uplink

import (
	"context"
	"errors"
	"fmt"

	"github.com/agent-helm/agent-helm/internal/wire"
	"golang.org/x/sync/errgroup"
)

const (
	// lagMS is how far the server may fall behind before it gets a Gap and a
	// State instead of minutes of backlog.
	lagMS = 2000
	// stateHistory is how many lines of history come with a state that the
	// server asked for; older ones are fetched as pages.
	stateHistory = 1000
	// lagHistory is the same for a state that replaces a backlog: it has to be
	// small, because the link is slow.
	lagHistory = 100
	// streamWindow is what a holder may send unacknowledged, in bytes: with the
	// costs of frames, what fits into a lane.
	streamWindow = 192 << 10
	// ackBytes is how much of it is acknowledged at once. Less stays unanswered:
	// a message back for every echo would cost the holder more than the echo.
	ackBytes = 16 << 10
)

var (
	// errHole says that a holder's stream skipped something.
	errHole = errors.New("holder's stream has a hole")
	// errDone says that everything of an ended session was forwarded.
	errDone = errors.New("stream is complete")
	// errWish says that the server asked for another position.
	errWish = errors.New("server asked to resume elsewhere")
)

// pump forwards one session's stream from a position on. One goroutine of the
// session uses it; attempt starts and ends those that help.
type pump struct {
	session    *session
	generation uint64

	// position is what was put into the lane; the next attempt begins there.
	position wire.Position
	// needState says that only a State makes sense next.
	needState bool
	// partial says that a State has begun and not ended.
	partial bool
	exited  bool
	// wish is what the server asked for during an attempt, which ended it.
	wish *wire.SessionResume
	// shorten asks the helper that writes to the holder to attach again after
	// a first state, with less history for those that may replace a backlog.
	shorten chan wire.Position
}

func newPump(s *session, wish wire.SessionResume) *pump {
	return &pump{
		session: s, position: wish.From, needState: wish.State,
		generation: s.link.box.begin(s.lane, wish.From),
	}
}

// attempt connects to the holder and forwards until something ends it: errDone,
// errWish, or a fault after which another attempt makes sense.
func (p *pump) attempt(ctx context.Context) error {
	s := p.session
	dialing, cancel := context.WithTimeout(ctx, dialHolder)
	conn, err := s.link.u.options.Sessions.Dial(dialing, s.id)
	cancel()
	if errors.Is(err, ErrNoHolder) {
		return p.sendRecord(ctx)
	}
	if err != nil {
		return fmt.Errorf("connect to holder: %w", err)
	}
	p.partial, p.shorten = false, nil
	attach := &wire.HolderAttach{Want: wire.WantStream, From: p.position, Window: streamWindow, LagMS: lagMS, History: lagHistory}
	if p.needState {
		attach.Want, attach.From, attach.History = wire.WantState, wire.Position{}, stateHistory
		p.shorten = make(chan wire.Position, 1)
	}
	shorten := p.shorten
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		<-ctx.Done()
		return conn.Close()
	})
	group.Go(func() error { return p.confirm(ctx, conn, attach, shorten) })
	group.Go(func() error { return p.forward(ctx, conn) })
	group.Go(func() error { return p.awaitWish(ctx.Done(), nil) })
	return group.Wait()
}

// awaitWish ends with errWish when the server asks for another position.
func (p *pump) awaitWish(ended, finished <-chan struct{}) error {
	select {
	case wish := <-p.session.resumes:
		p.wish = &wish
		return errWish
	case <-ended:
	case <-finished:
	}
	return nil
}

// confirm is the only one that writes to the holder: it attaches, acknowledges
// what the socket has taken, and asks for a state when the lane lags.
func (p *pump) confirm(ctx context.Context, conn Conn, attach *wire.HolderAttach, shorten <-chan wire.Position) error {
	box, lane := p.session.link.box, p.session.lane
	if err := conn.Send(attach); err != nil {
		return fmt.Errorf("attach to holder: %w", err)
	}
	skipping := false
	for {
		again := *attach
		again.History = lagHistory
		select {
		case <-lane.wrote:
			lagging := box.lagging(lane)
			if lagging && !skipping {
				again.Want, again.From = wire.WantState, wire.Position{}
				if err := conn.Send(&again); err != nil {
					return fmt.Errorf("attach to holder: %w", err)
				}
			}
			skipping = lagging
		case again.From = <-shorten:
			again.Want = wire.WantStream
			if err := conn.Send(&again); err != nil {
				return fmt.Errorf("attach to holder: %w", err)
			}
		case <-ctx.Done():
			return nil
		}
		offset, due := box.due(lane, p.generation)
		if !due {
			continue
		}
		if err := conn.Send(&wire.Ack{Offset: offset}); err != nil {
			return fmt.Errorf("acknowledge to holder: %w", err)
		}
	}
}

// forward takes the holder's frames into the lane.
func (p *pump) forward(ctx context.Context, conn Conn) error {
	for {
		f, err := conn.Receive()
		if err != nil {
			if p.exited {
				return errDone
			}
			return fmt.Errorf("read from holder: %w", err)
		}
		// After the exit the connection stays until the holder, which waits for
		// the last acknowledgement, closes it.
		if err := p.take(ctx, f); err != nil {
			return err
		}
	}
}

// take trims what the server has, refuses what would leave a hole, and puts
// the rest into the lane with the link's handle.
func (p *pump) take(ctx context.Context, f wire.Frame) error {
	box, lane := p.session.link.box, p.session.lane
	switch f := f.(type) {
	case *wire.Output:
		end := f.Offset + uint64(len(f.Data))
		switch {
		case p.needState || f.Offset > p.position.Offset:
			return errHole
		case end <= p.position.Offset:
			return nil
		}
		data := f.Data[p.position.Offset-f.Offset:]
		f = &wire.Output{Handle: lane.handle, Offset: p.position.Offset, Data: data}
		if box.putPrompt(lane, f) {
			p.session.link.writeNow()
		} else if err := box.put(ctx, lane, f); err != nil {
			return err
		}
		p.position.Offset = end
	case *wire.Resize:
		if fresh, err := p.mark(f.Offset, f.Ordinal); !fresh {
			return err
		}
		f.Handle = lane.handle
		if err := box.put(ctx, lane, f); err != nil {
			return err
		}
		p.position.Marks = f.Ordinal
	case *wire.Reset:
		if fresh, err := p.mark(f.Offset, f.Ordinal); !fresh {
			return err
		}
		f.Handle = lane.handle
		if err := box.put(ctx, lane, f); err != nil {
			return err
		}
		p.position.Marks = f.Ordinal
	case *wire.Gap:
		p.needState, p.partial = true, false
		p.position.Offset = f.Offset + f.Lost
		box.skip(lane, f)
	case *wire.State:
		return p.takeState(ctx, f)
	case *wire.Problem:
		return &wire.Fault{Code: f.Code, Message: f.Message}
	case *wire.Exit:
		if p.needState || f.Offset > p.position.Offset {
			return errHole
		}
		f.Handle = lane.handle
		if err := box.put(ctx, lane, f); err != nil {
			return err
		}
		p.exited = true
	}
	// Live, updates and what belongs to input come by the other connection or
	// are of no use to the server.
	return nil
}

// mark says whether a numbered mark is the next one.
func (p *pump) mark(offset uint64, ordinal uint32) (fresh bool, err error) {
	switch {
	case p.needState:
		return false, errHole
	case ordinal <= p.position.Marks:
		return false, nil
	case ordinal != p.position.Marks+1 || offset != p.position.Offset:
		return false, errHole
	}
	return true, nil
}

func (p *pump) takeState(ctx context.Context, f *wire.State) error {
	if !f.First && !p.partial {
		return errHole
	}
	if f.First && !p.needState {
		// Asked for because the lane lags: it replaces what waits there.
		p.session.link.box.skip(p.session.lane, &wire.Gap{Offset: f.Position.Offset})
	}
	p.needState, p.partial = true, true
	if err := p.putState(ctx, f); err != nil {
		return err
	}
	if !f.Last {
		return nil
	}
	p.needState, p.partial = false, false
	p.position = f.Position
	if p.shorten != nil {
		p.shorten <- p.position
		p.shorten = nil
	}
	return nil
}

// putState puts a State into the lane in small pieces, between which other
// sessions get their turn.
func (p *pump) putState(ctx context.Context, f *wire.State) error {
	data := f.Data
	for first := true; first || len(data) > 0; first = false {
		n := min(len(data), statePiece)
		piece := &wire.State{
			Handle: p.session.lane.handle, Position: f.Position, Cols: f.Cols, Rows: f.Rows,
			First: f.First && first, Last: f.Last && n == len(data), Data: data[:n],
		}
		data = data[n:]
		if err := p.session.link.box.put(ctx, p.session.lane, piece); err != nil {
			return err
		}
	}
	return nil
}

// sendRecord forwards what an ended session left: its log from the position
// on, or its last state where the log does not have that, then how it ended.
func (p *pump) sendRecord(ctx context.Context) error {
	s := p.session
	record, err := s.link.u.options.Sessions.Record(ctx, s.id)
	if err != nil {
		return fmt.Errorf("open what the session left: %w", err)
	}
	defer record.Close()
	if p.exited {
		return errDone
	}
	// A record that can be opened does not block; the server may still ask for
	// another position while its output waits in the lane.
	group, ctx := errgroup.WithContext(ctx)
	finished := make(chan struct{})
	group.Go(func() error { return p.awaitWish(ctx.Done(), finished) })
	group.Go(func() error {
		defer close(finished)
		return p.forwardRecord(ctx, record)
	})
	if err := group.Wait(); err != nil {
		return err
	}
	return errDone
}

func (p *pump) forwardRecord(ctx context.Context, record Record) error {
	s := p.session
	if !p.needState {
		if err := p.forwardLog(ctx, record); err != nil {
			return err
		}
	}
	if end := record.End(); p.needState || p.position.Before(end) {
		state, err := record.State()
		if err != nil {
			return fmt.Errorf("read last screen: %w", err)
		}
		if info := record.Info(); len(state) > 0 && info.Cols > 0 && info.Rows > 0 {
			whole := &wire.State{Position: end, Cols: info.Cols, Rows: info.Rows, First: true, Last: true, Data: state}
			if err := p.takeState(ctx, whole); err != nil {
				return err
			}
		}
	}
	exit := record.Exit()
	if exit == nil {
		return nil
	}
	frame := &wire.Exit{Handle: s.handle, Offset: p.position.Offset, Code: int32(exit.Code), Signal: exit.Signal}
	if err := s.link.box.put(ctx, s.lane, frame); err != nil {
		return err
	}
	p.exited = true
	return nil
}

// forwardLog forwards the log as far as it goes on from the position.
func (p *pump) forwardLog(ctx context.Context, record Record) error {
	for {
		buffer := make([]byte, wire.MaxOutput) // the lane keeps it
		n, mark, _, err := record.Read(p.position, buffer)
		var f wire.Frame
		switch {
		case err != nil, n == 0 && mark == nil:
			return nil // the state does the rest
		case mark != nil:
			f = &wire.Resize{Offset: mark.Offset, Ordinal: mark.Ordinal, Cols: mark.Cols, Rows: mark.Rows}
		default:
			f = &wire.Output{Offset: p.position.Offset, Data: buffer[:n]}
		}
		if err := p.take(ctx, f); err != nil {
			return err
		}
	}
}
