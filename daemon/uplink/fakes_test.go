package uplink

import (
	"bytes"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/ring"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// fakeHolder is one session.
type fakeHolder struct {
	id string

	mu         sync.Mutex
	wake       chan struct{} // closed and replaced when something changed
	log        *ring.Ring
	cols, rows uint16
	exit       *wire.Exit
	gone       bool
	frozen     bool // it does not read or write
	small      bool // its state is only the newest output, as a screen is
	broken     int  // so many connections get garbage in their stream
	applied    map[wire.ClientID]uint64
	inputs     []*wire.Input
	sizes      []wire.Frame
	conns      []*fakeConn
	dials      int
	command    string
}

func (f *fakeHolder) session() daemon.Session {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.describe()
}

// describe is session for a caller that holds the mutex.
func (f *fakeHolder) describe() daemon.Session {
	s := daemon.Session{ID: f.id, Name: "fake", Command: f.command, State: daemon.StateRunning, Created: time.Now(), Cols: f.cols, Rows: f.rows}
	if f.exit != nil {
		s.State = daemon.StateExited
		code := int(f.exit.Code)
		s.ExitCode = &code
	}
	return s
}

func (f *fakeHolder) signal() {
	close(f.wake)
	f.wake = make(chan struct{})
}

// state stands for internal/vt's: the whole stream so far, so that a test can
// tell whether the server's copy is right.
func (f *fakeHolder) state() []byte {
	position := f.log.Start()
	if end := f.log.End().Offset; f.small && end > 8192 {
		position.Offset = max(position.Offset, end-8192)
	}
	return append([]byte("state:"), f.from(position)...)
}

func (f *fakeHolder) from(position wire.Position) []byte {
	var all []byte
	for {
		chunk, err := f.log.Read(position, 1<<20)
		if err != nil || chunk.Next == position {
			return all
		}
		all = append(all, chunk.Data...)
		position = chunk.Next
	}
}

func (f *fakeHolder) print(text []byte) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, err := f.log.Append(f.log.End().Offset, text); err != nil {
		panic(err)
	}
	f.signal()
}

func (f *fakeHolder) resize(cols, rows uint16) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.cols, f.rows = cols, rows
	end := f.log.End()
	if _, err := f.log.Mark(ring.Mark{Offset: end.Offset, Ordinal: end.Marks + 1, Cols: cols, Rows: rows}); err != nil {
		panic(err)
	}
	f.signal()
}

func (f *fakeHolder) end(code int32) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.exit = &wire.Exit{Offset: f.log.End().Offset, Code: code}
	f.signal()
}

// vanish ends the holder: its connections close and new ones fail.
func (f *fakeHolder) vanish() {
	f.mu.Lock()
	f.gone = true
	conns := f.conns
	f.conns = nil
	f.mu.Unlock()
	for _, c := range conns {
		c.Close()
	}
}

func (f *fakeHolder) freeze(frozen bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.frozen = frozen
	f.signal()
}

// forget drops everything from the log but the end.
func (f *fakeHolder) forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.log.Reset(f.log.End())
	f.signal()
}

func (f *fakeHolder) written() []*wire.Input {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.inputs)
}

func (f *fakeHolder) cutConnections() {
	f.mu.Lock()
	conns := f.conns
	f.conns = nil
	f.mu.Unlock()
	for _, c := range conns {
		c.Close()
	}
}

func (f *fakeHolder) dial() (Conn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dials++
	if f.gone {
		return nil, ErrNoHolder
	}
	c := &fakeConn{holder: f, closed: make(chan struct{}), out: make(chan wire.Frame, 64)}
	if f.broken > 0 {
		f.broken--
		c.broken = true
	}
	c.welcome = wire.HolderWelcome{Session: wire.SessionInfo{
		ID: f.id, Start: f.log.Start(), End: f.log.End(), Cols: f.cols, Rows: f.rows,
		Meta: f.describe().Meta(time.Now()),
	}}
	f.conns = append(f.conns, c)
	return c, nil
}

// fakeConn is one connection to a fakeHolder.
type fakeConn struct {
	holder  *fakeHolder
	welcome wire.HolderWelcome
	out     chan wire.Frame
	once    sync.Once
	closed  chan struct{}
	broken  bool

	mu      sync.Mutex
	acked   uint64
	attach  *wire.HolderAttach
	streams chan struct{} // closed to end the stream before
}

func (c *fakeConn) Welcome() *wire.HolderWelcome { return &c.welcome }

func (c *fakeConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return nil
}

func (c *fakeConn) Receive() (wire.Frame, error) {
	select {
	case f := <-c.out:
		return f, nil
	case <-c.closed:
		return nil, io.ErrUnexpectedEOF
	}
}

// put sends to the client, or reports that the connection is closed.
func (c *fakeConn) put(f wire.Frame) bool {
	select {
	case c.out <- f:
		return true
	case <-c.closed:
		return false
	}
}

func (c *fakeConn) Send(frames ...wire.Frame) error {
	for _, frame := range frames {
		if err := c.take(frame); err != nil {
			return err
		}
	}
	return nil
}

func (c *fakeConn) take(frame wire.Frame) error {
	select {
	case <-c.closed:
		return io.ErrClosedPipe
	default:
	}
	h := c.holder
	for {
		h.mu.Lock()
		if !h.frozen {
			break
		}
		wake := h.wake
		h.mu.Unlock()
		select {
		case <-wake:
		case <-c.closed:
			return io.ErrClosedPipe
		}
	}
	defer h.mu.Unlock()
	switch frame := frame.(type) {
	case *wire.HolderAttach:
		c.mu.Lock()
		if c.streams != nil {
			close(c.streams)
		}
		c.streams = make(chan struct{})
		c.acked = frame.From.Offset
		c.attach = frame
		stop := c.streams
		c.mu.Unlock()
		go c.stream(*frame, stop)
	case *wire.Ack:
		c.mu.Lock()
		c.acked = max(c.acked, frame.Offset)
		c.mu.Unlock()
		h.signal()
	case *wire.Input:
		ack := &wire.InputAck{Client: frame.Client, Seq: frame.Seq}
		switch last := h.applied[frame.Client]; {
		case frame.Age > uint32(wire.InputLifetime.Milliseconds()):
			ack.Status = wire.InputLate
		case frame.Seq == last+1:
			h.applied[frame.Client] = frame.Seq
			own := *frame
			h.inputs = append(h.inputs, &own)
		case frame.Seq > last+1:
			ack.Status, ack.Seq = wire.InputGap, last
		}
		c.put(ack)
	case *wire.Retire:
		ack := &wire.InputAck{Client: frame.Client, Seq: h.applied[frame.Client], Status: wire.InputRetired}
		c.put(ack)
	case *wire.ClaimSize, *wire.ReleaseSize, *wire.Presence:
		h.sizes = append(h.sizes, frame)
	}
	return nil
}

// stream sends from a position, inside the window, until the connection or
// this attach ends.
func (c *fakeConn) stream(attach wire.HolderAttach, stop chan struct{}) {
	h := c.holder
	position := attach.From
	sendState := attach.Want == wire.WantState
	window := int(attach.Window)
	if window == 0 {
		window = 256 << 10
	}
	for {
		h.mu.Lock()
		wake := h.wake
		c.mu.Lock()
		acked := c.acked
		c.mu.Unlock()
		var frames []wire.Frame
		switch {
		case h.frozen:
		case c.broken:
			frames = append(frames, &wire.Output{Offset: position.Offset + 1000, Data: []byte("hole")})
			c.broken = false
		case sendState:
			position = h.log.End()
			frames = append(frames, splitState(h.state(), position, h.cols, h.rows)...)
			sendState = false
			c.mu.Lock()
			c.acked = position.Offset
			c.mu.Unlock()
		default:
			chunk, err := h.log.Read(position, min(4096, max(window-int(position.Offset-acked), 0)))
			switch {
			case err != nil:
				end := h.log.End()
				frames = append(frames, &wire.Gap{Offset: position.Offset, Lost: end.Offset - position.Offset})
				sendState = true
			case chunk.Mark != nil:
				m := chunk.Mark
				frames = append(frames, &wire.Resize{Offset: m.Offset, Ordinal: m.Ordinal, Cols: m.Cols, Rows: m.Rows})
				position = chunk.Next
			case len(chunk.Data) > 0:
				frames = append(frames, &wire.Output{Offset: position.Offset, Data: bytes.Clone(chunk.Data)})
				position = chunk.Next
			case h.exit != nil && position == h.log.End():
				exit := *h.exit
				frames = append(frames, &exit)
			}
		}
		h.mu.Unlock()
		for _, f := range frames {
			select {
			case c.out <- f:
			case <-c.closed:
				return
			case <-stop:
				return
			}
			if _, last := f.(*wire.Exit); last {
				return
			}
		}
		if len(frames) > 0 {
			continue
		}
		select {
		case <-wake:
		case <-c.closed:
			return
		case <-stop:
			return
		}
	}
}

func splitState(state []byte, position wire.Position, cols, rows uint16) []wire.Frame {
	var frames []wire.Frame
	for first := true; first || len(state) > 0; first = false {
		n := min(len(state), wire.MaxStateChunk)
		frames = append(frames, &wire.State{Position: position, First: first, Last: n == len(state), Cols: cols, Rows: rows, Data: state[:n]})
		state = state[n:]
	}
	return frames
}
