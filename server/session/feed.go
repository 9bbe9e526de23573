package session

import (
	"context"
	"errors"
	"time"

	"github.com/agent-helm/agent-helm/internal/logging"
	"github.com/agent-helm/agent-helm/internal/ring"
	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
)

const (
	// resumeEvery is the shortest time between two requests to send again: the
	// frames in flight behind a hole would each ask for themselves otherwise.
	resumeEvery = time.Second
	// wholeStream is the longest log that a new session takes in from its first
	// byte; beyond, a State costs less.
	wholeStream = 256 << 10
	// catchUp is the most that a session takes in behind its host; beyond, a
	// State costs less than the bytes.
	catchUp = 8 << 20
	// savedHistory bounds the lines of history in a saved state.
	savedHistory = 2000
)

// Connect puts the session online and says from where its host is to send.
// info comes from the host and was validated by the caller.
func (s *Session) Connect(ctx context.Context, up Upstream, info wire.SessionInfo) (wire.SessionResume, error) {
	return call(ctx, s, func() wire.SessionResume {
		s.up, s.asked, s.assembling = up, resumption{}, nil
		s.announced = info.End
		s.faults = nil
		s.facts.online(time.Now())
		s.update(info.Meta)
		if s.complete(info) {
			s.changed(true)
			return wire.SessionResume{Handle: info.Handle, From: info.End}
		}
		s.wake()
		s.changed(true)
		return s.resumeFrom(info)
	})
}

// complete says that the session has ended and its saved terminal shows all of
// it. That need not be read before somebody looks at it.
func (s *Session) complete(info wire.SessionInfo) bool {
	if s.terminal != nil || !s.facts.state.Ended() {
		return false
	}
	saved, ok := s.load()
	return ok && saved.Position == info.End
}

// resumeFrom decides where the host's stream goes on.
func (s *Session) resumeFrom(info wire.SessionInfo) wire.SessionResume {
	end := s.ring.End()
	switch {
	case s.primed && within(info.Start, end, info.End) && info.End.Offset-end.Offset <= catchUp:
		return wire.SessionResume{Handle: info.Handle, From: end}
	case !s.primed && info.Start == wire.Position{} && info.End.Marks == 0 && info.End.Offset <= wholeStream:
		// A short log that was never resized: its size now is its first size.
		s.begin(wire.Position{}, info.Cols, info.Rows)
		return wire.SessionResume{Handle: info.Handle}
	default:
		return wire.SessionResume{Handle: info.Handle, From: end, State: true}
	}
}

func within(start, p, end wire.Position) bool {
	return start.Offset <= p.Offset && p.Offset <= end.Offset && start.Marks <= p.Marks && p.Marks <= end.Marks
}

// begin starts with an empty terminal at a position.
func (s *Session) begin(position wire.Position, cols, rows uint16) {
	s.terminal = vt.New(vt.Options{Cols: int(cols), Rows: int(rows)})
	s.at(position, cols, rows)
}

// at says that the terminal now stands at a position of the stream which the
// ring does not lead to. Viewers are repainted.
func (s *Session) at(position wire.Position, cols, rows uint16) {
	s.primed = true
	s.ring.Reset(position)
	s.repaint = repaintCache{}
	s.facts.cols, s.facts.rows = cols, rows
	for _, a := range s.attachments {
		if !s.behind(a.position) && a.position != position {
			a.resync = true
		}
	}
}

// Disconnect puts the session offline, unless another link has taken over.
func (s *Session) Disconnect(up Upstream) {
	s.post(func() {
		if s.up != up {
			return
		}
		s.up, s.assembling = nil, nil
		s.facts.offline(time.Now())
		s.setOwner(wire.SizeOwner{})
		s.changed(true)
	})
}

// Update replaces what the host says of the session. When it returns, Changed
// has been told.
func (s *Session) Update(ctx context.Context, meta wire.SessionMeta) error {
	_, err := call(ctx, s, func() struct{} {
		s.update(meta)
		s.changed(true)
		return struct{}{}
	})
	return err
}

// update takes in the host's word. The end that the stream told stays: an older
// word may have been on its way.
func (s *Session) update(meta wire.SessionMeta) {
	if s.exit != nil && !server.SessionState(meta.State).Ended() {
		meta.State, meta.ExitSignal = string(server.StateExited), s.exit.Signal
		code := int(s.exit.Code)
		meta.ExitCode = &code
	}
	s.facts.update(meta, time.Now())
}

// Lose marks a session that its host no longer knows.
func (s *Session) Lose(reason string) {
	s.post(func() {
		s.facts.lose(reason, time.Now())
		s.changed(true)
	})
}

// Rename changes the host's name as it is shown.
func (s *Session) Rename(hostName string) {
	s.post(func() {
		s.config.HostName = hostName
		s.changed(false)
	})
}

// Feed takes in one frame of the host's stream: Output, Resize, Reset, Gap,
// State, Exit or SizeOwner; others are ignored. The session owns the frame's
// bytes from now on. It waits while the session is busy, never for a viewer.
func (s *Session) Feed(f wire.Frame) {
	s.post(func() { s.take(f) })
}

func (s *Session) take(f wire.Frame) {
	switch f := f.(type) {
	case *wire.Output:
		s.output(f)
	case *wire.Resize:
		s.resize(f)
	case *wire.Reset:
		s.reset(f)
	case *wire.Gap:
		s.gap(f)
	case *wire.State:
		s.state(f)
	case *wire.Exit:
		s.exited(f)
	case *wire.SizeOwner:
		s.setOwner(*f)
		s.changed(false)
	}
}

func (s *Session) output(f *wire.Output) {
	if !s.primed {
		return // a State is on its way; what comes before it belongs to it
	}
	fresh, err := s.ring.Append(f.Offset, f.Data)
	if err != nil {
		s.askAgain()
		return
	}
	if fresh == 0 {
		s.acknowledge()
		return
	}
	// Viewers first: they need not wait for our own terminal.
	s.pumpAll(false)
	s.terminal.Write(f.Data[len(f.Data)-fresh:]) //nolint:errcheck // never fails
	s.terminal.TakeReplies()                     // the holder answers, nobody else
	s.acknowledge()
	s.repaint.stale = true
	s.facts.output(fresh, time.Now())
	s.pumpAll(true)
	s.changed(false)
}

func (s *Session) resize(f *wire.Resize) {
	if !s.primed {
		return
	}
	fresh, err := s.ring.Mark(ring.Mark{Offset: f.Offset, Ordinal: f.Ordinal, Cols: f.Cols, Rows: f.Rows})
	if err != nil {
		s.askAgain()
		return
	}
	if !fresh {
		return
	}
	s.terminal.Resize(int(f.Cols), int(f.Rows))
	s.repaint.stale = true
	s.facts.cols, s.facts.rows = f.Cols, f.Rows
	s.pumpAll(true)
	s.changed(false)
}

// reset is a mark like a resize, but no viewer can draw it from bytes.
func (s *Session) reset(f *wire.Reset) {
	end := s.ring.End()
	switch {
	case !s.primed || f.Ordinal <= end.Marks:
		return
	case f.Ordinal != end.Marks+1 || f.Offset != end.Offset:
		s.askAgain()
		return
	}
	s.terminal.Reset()
	s.at(wire.Position{Offset: f.Offset, Marks: f.Ordinal}, s.facts.cols, s.facts.rows)
	s.pumpAll(true)
	s.changed(false)
}

// gap says that bytes are lost. What is on the screen stays until the State
// that follows replaces it.
func (s *Session) gap(f *wire.Gap) {
	if end := s.ring.End(); f.Offset+f.Lost <= end.Offset {
		return
	}
	s.primed = false
	s.assembling = nil
}

// state puts the pieces of a State together.
func (s *Session) state(f *wire.State) {
	if f.First {
		s.assembling = nil
	} else if s.assembling == nil {
		return // its beginning was lost
	}
	if len(s.assembling)+len(f.Data) > wire.MaxState {
		s.assembling = nil
		return
	}
	if f.First && f.Last {
		s.restore(f, f.Data)
		return
	}
	s.assembling = append(s.assembling, f.Data...)
	if s.assembling == nil {
		s.assembling = []byte{}
	}
	if f.Last {
		whole := s.assembling
		s.assembling = nil
		s.restore(f, whole)
	}
}

func (s *Session) restore(f *wire.State, data []byte) {
	terminal, err := vt.Restore(data)
	if err != nil {
		// Written by another version, or damaged. The stream from here on is
		// better than nothing: programs that own the screen redraw it.
		s.logger.Warn("terminal state refused", logging.KeyError, err.Error(), "bytes", len(data))
		terminal = vt.New(vt.Options{Cols: int(f.Cols), Rows: int(f.Rows)})
	}
	if cols, rows := terminal.Size(); cols != int(f.Cols) || rows != int(f.Rows) {
		terminal.Resize(int(f.Cols), int(f.Rows))
	}
	terminal.TakeReplies()
	s.terminal = terminal
	s.at(f.Position, f.Cols, f.Rows)
	s.asked = resumption{}
	s.acknowledge()
	s.pumpAll(true)
	s.changed(false)
}

func (s *Session) exited(f *wire.Exit) {
	if s.exit != nil {
		return
	}
	if s.primed && f.Offset > s.ring.End().Offset {
		s.askAgain()
		return
	}
	s.exit = f
	s.facts.exited(int(f.Code), f.Signal, time.Now())
	s.pumpAll(true)
	s.changed(true)
}

// tidy gives back what a flood took once the session is quiet: no viewer
// resumes from further back than resumeLimit.
func (s *Session) tidy() {
	start, end := s.ring.Start(), s.ring.End()
	if end.Offset-start.Offset <= resumeLimit {
		return
	}
	keep := wire.Position{Offset: end.Offset - resumeLimit, Marks: end.Marks}
	small := ring.New(s.config.Ring)
	if s.stale(keep) {
		keep = end // a mark lies between, which nobody resumes across
	}
	small.Reset(keep)
	for keep != end {
		chunk, err := s.ring.Read(keep, resumeLimit)
		if err != nil {
			return
		}
		if _, err := small.Append(keep.Offset, chunk.Data); err != nil {
			return
		}
		keep = chunk.Next
	}
	s.ring = small
}

func (s *Session) acknowledge() {
	if s.up != nil {
		s.up.Acknowledge(s.ring.End().Offset)
	}
}

// askAgain asks the host to send from where the stream broke off. When that did
// not help, it asks for a State.
func (s *Session) askAgain() {
	now := time.Now()
	if s.up == nil || now.Sub(s.asked.at) < resumeEvery {
		return
	}
	s.asked = resumption{at: now, count: s.asked.count + 1}
	state := s.asked.count > 1
	if state {
		s.primed = false
	}
	s.up.Resume(s.ring.End(), state)
}

// load reads the saved terminal. ok is false when there is none.
func (s *Session) load() (saved server.SessionSnapshot, ok bool) {
	if s.config.Load == nil {
		return saved, false
	}
	saved, err := s.config.Load(s.ctx)
	if err != nil {
		if server.CodeOf(err) != server.CodeUnknownSession && !errors.Is(err, context.Canceled) {
			s.logger.Error("saved terminal not read", logging.KeyError, err.Error())
		}
		return saved, false
	}
	return saved, true
}

// wake brings the saved terminal back.
func (s *Session) wake() {
	if s.terminal != nil {
		return
	}
	saved, ok := s.load()
	if !ok {
		return
	}
	terminal, err := vt.Restore(saved.Data)
	if err != nil {
		s.logger.Warn("saved terminal refused", logging.KeyError, err.Error())
		return
	}
	terminal.TakeReplies()
	s.terminal = terminal
	cols, rows := terminal.Size()
	s.at(saved.Position, uint16(cols), uint16(rows))
	s.saved, s.isSaved = saved.Position, true
	if f := &s.facts; s.exit == nil && f.state == server.StateExited && f.exit != nil {
		// It was saved when it had ended, so this is its end.
		s.exit = &wire.Exit{Offset: saved.Position.Offset, Code: int32(f.exit.Code), Signal: string(f.exit.Signal)}
	}
}

// rest drops the terminal again when it is saved as it is, nobody looks at it
// and nothing will change it.
func (s *Session) rest() bool {
	idle := s.up == nil || s.facts.state.Ended()
	if !idle || len(s.attachments) > 0 || s.terminal == nil || !s.primed || !s.isSaved || s.saved != s.ring.End() {
		return false
	}
	s.facts.saved = s.summary(time.Now()).Record()
	s.forget()
	return true
}
