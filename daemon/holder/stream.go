package holder

import (
	"time"

	"github.com/agent-helm/agent-helm/internal/logging"
	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
)

const (
	// defaultWindow is how many bytes may be on their way to one reader.
	defaultWindow = 256 << 10
	minWindow     = 4 << 10
	maxWindow     = 4 << 20
	// lagFloor is how far any reader may fall behind before it is resynchronised.
	lagFloor = 1 << 20
	// lagUnknown is how far, as long as nothing says how fast it is: a flood
	// prints that much in a tenth of a second, and a reader may well keep up.
	lagUnknown = 8 << 20
	// rateInterval is over how long a reader's own rate is measured.
	rateInterval = 250 * time.Millisecond
)

// stream is what one connection has been sent of the session. Guarded by the
// session's lock.
type stream struct {
	attached bool
	want     string
	history  int
	position wire.Position // sent so far
	acked    uint64        // taken in by the reader
	window   uint64
	lag      time.Duration

	live, exitSent bool

	// state is what is left to send of a state at position.
	state       []byte
	stateBegun  bool
	stateSize   [2]uint16
	gap         *wire.Gap
	repaint     *wire.Repaint
	rate        float64 // bytes a second that the reader takes in while it is behind
	rateSince   time.Time
	rateCounted uint64
}

// attach begins, or begins anew, a connection's stream.
func (s *session) attach(c *connection, f *wire.HolderAttach) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.served = true
	window := uint64(f.Window)
	if window == 0 {
		window = defaultWindow
	}
	c.stream = stream{
		attached: true, want: f.Want, history: f.History, position: f.From, acked: f.From.Offset,
		window: min(max(window, minWindow), maxWindow), lag: time.Duration(f.LagMS) * time.Millisecond,
	}
	switch f.Want {
	case wire.WantRepaint:
		s.snapshot(c)
	case wire.WantStream:
		if _, _, _, err := s.log.Read(f.From, nil); err != nil {
			s.resynchronise(c)
		}
	default:
		c.stream.want = wire.WantState
		s.snapshot(c)
	}
	c.signal()
}

// resynchronise gives up what the reader has not got: a gap, then a snapshot.
func (s *session) resynchronise(c *connection) {
	from, end := c.stream.position.Offset, s.log.End().Offset
	lost := uint64(0)
	if from < end {
		lost = end - from
	}
	c.stream.gap = &wire.Gap{Offset: min(from, end), Lost: lost}
	s.snapshot(c)
}

// snapshot makes the reader continue from the present position.
func (s *session) snapshot(c *connection) {
	s.lastBusy.Store(time.Now().UnixNano())
	st := &c.stream
	st.position = s.log.End()
	st.acked = st.position.Offset
	st.live, st.state, st.repaint, st.stateBegun = false, nil, nil, false
	st.rateSince = time.Time{}
	if st.want == wire.WantRepaint {
		st.repaint = &wire.Repaint{Position: st.position, Cols: s.cols, Rows: s.rows, Data: s.terminal.Repaint()}
		return
	}
	st.state, st.stateSize = s.terminal.State(st.history), [2]uint16{s.cols, s.rows}
}

// acknowledge takes in how far a reader has come and measures its rate.
func (s *session) acknowledge(c *connection, offset uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &c.stream
	if !st.attached || offset <= st.acked || offset > st.position.Offset {
		return // late, or about something that was never sent
	}
	now := time.Now()
	if !st.rateSince.IsZero() {
		st.rateCounted += offset - st.acked
		if elapsed := now.Sub(st.rateSince); elapsed >= rateInterval {
			rate := float64(st.rateCounted) / elapsed.Seconds()
			if st.rate > 0 {
				rate = (rate + st.rate) / 2
			}
			st.rate, st.rateCounted, st.rateSince = rate, 0, now
		}
	}
	st.acked = offset
	if st.acked == st.position.Offset {
		st.rateSince = time.Time{} // an idle reader says nothing about its rate
	}
	c.signal()
}

// behind says whether a reader lags more than it may.
func (s *session) behind(st *stream) bool {
	if st.lag == 0 {
		return false
	}
	limit := max(float64(lagFloor), st.rate*st.lag.Seconds())
	if st.rate == 0 && (st.rateSince.IsZero() || time.Since(st.rateSince) < st.lag) {
		limit = lagUnknown
	}
	return float64(s.log.End().Offset-st.acked) > limit
}

// fill appends what a reader is to get next, about a batch.
func (s *session) fill(c *connection, batch []byte) []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	st := &c.stream
	if !st.attached {
		return batch
	}
	for len(batch) < writeBatch {
		frame := s.nextFrame(c, st)
		if frame == nil {
			break
		}
		appended, err := wire.Append(batch, frame)
		if err != nil {
			// A state or repaint that breaks its limit: the reader cannot be served.
			s.logger.Error("stream frame cannot be encoded", logging.KeyError, err)
			c.net.Close()
			return batch
		}
		batch = appended
	}
	return batch
}

// nextFrame is the next frame of a stream, nil when there is nothing to send or
// the window is full. Output aliases the scratch buffer.
func (s *session) nextFrame(c *connection, st *stream) wire.Frame {
	switch {
	case st.gap != nil:
		gap := st.gap
		st.gap = nil
		return gap
	case st.repaint != nil:
		repaint := st.repaint
		st.repaint = nil
		return repaint
	case st.state != nil:
		return st.nextState()
	}
	if st.position.Offset-st.acked >= st.window {
		return nil
	}
	if s.behind(st) {
		s.resynchronise(c)
		return s.nextFrame(c, st)
	}
	limit := min(uint64(len(s.scratch)), st.window-(st.position.Offset-st.acked))
	n, mark, next, err := s.log.Read(st.position, s.scratch[:limit])
	switch {
	case err != nil:
		s.resynchronise(c)
		return s.nextFrame(c, st)
	case mark != nil:
		st.position = next
		return &wire.Resize{Offset: mark.Offset, Ordinal: mark.Ordinal, Cols: mark.Cols, Rows: mark.Rows}
	case n > 0:
		if st.rateSince.IsZero() {
			st.rateSince, st.rateCounted = time.Now(), 0
		}
		output := &wire.Output{Offset: st.position.Offset, Data: s.scratch[:n]}
		st.position = next
		return output
	case !st.live:
		st.live = true
		return &wire.Live{Position: st.position}
	case s.exit != nil && !st.exitSent:
		st.exitSent = true
		return &wire.Exit{Offset: st.position.Offset, Code: int32(s.exit.Code), Signal: s.exit.Signal}
	}
	return nil
}

// deliver sends fresh output, which began at a position, to the readers that
// stood there, and acknowledgements that waited for it. Whoever cannot be
// served at once is woken as usual.
func (s *session) deliver(from wire.Position, output []byte) {
	if len(output) > promptOutput {
		return
	}
	for c := range s.connections {
		if c.isWaiting() && !c.stream.attached {
			c.writeNow(nil)
		}
	}
	for c := range s.connections {
		st := &c.stream
		if !st.attached || !st.live || st.position != from || st.gap != nil || st.repaint != nil || st.state != nil ||
			st.position.Offset+uint64(len(output))-st.acked > st.window {
			continue
		}
		if c.writeNow(&wire.Output{Offset: from.Offset, Data: output}) {
			st.position.Offset += uint64(len(output))
			if st.rateSince.IsZero() {
				st.rateSince, st.rateCounted = time.Now(), 0
			}
		}
	}
}

func (st *stream) nextState() *wire.State {
	n := min(len(st.state), wire.MaxStateChunk)
	frame := &wire.State{
		Position: st.position, First: !st.stateBegun, Last: n == len(st.state),
		Cols: st.stateSize[0], Rows: st.stateSize[1], Data: st.state[:n],
	}
	st.stateBegun = true
	if st.state = st.state[n:]; len(st.state) == 0 {
		st.state = nil
	}
	return frame
}

// finished says that a reader has taken in everything there will be.
func (s *session) finished(st *stream) bool {
	return st.exitSent && st.acked >= st.position.Offset
}

// encodeKeys turns key names separated by spaces into bytes.
func encodeKeys(names string, modes vt.Modes) ([]byte, error) {
	var encoded []byte
	for name := range splitNames(names) {
		key, err := vt.EncodeKey(name, modes)
		if err != nil {
			return nil, err
		}
		encoded = append(encoded, key...)
	}
	return encoded, nil
}
