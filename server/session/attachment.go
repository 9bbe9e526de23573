package session

import (
	"context"
	"slices"
	"time"

	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
)

const (
	// maxClients is how many client ids of one attachment are remembered: a
	// viewer that retires one goes on with the next.
	maxClients = 8
	// smallest is the least worth sending when more is waiting, in bytes.
	smallest = 2 << 10
	// frameRoom is what a message needs beside its bytes.
	frameRoom = 64
	// frameCost is what a frame counts against the window beside its bytes.
	frameCost = 32
)

// Sink is where one attachment's stream goes: a place in a viewer's connection.
// Its methods are called on the session's goroutine and must not block or call
// the session.
type Sink interface {
	// Room says whether a message can be taken now. After false the sink calls
	// Attachment.Ready once it can.
	Room() bool
	// Send takes one message of whole frames, which the sink owns. true says that
	// it is written and the next may come; after false the sink calls
	// Attachment.Ready when it can take the next.
	Send(message []byte) (written bool)
}

// AttachOptions say who attaches and from where.
type AttachOptions struct {
	Sink   Sink
	Handle uint32
	// From is what the viewer shows already; nil asks for a repaint.
	From *wire.Position
	// Client is the viewer's source of input, zero when it has none.
	Client  wire.ClientID
	Visible bool
}

// Attachment is one viewer of a session. Its methods hand a message to the
// session's goroutine; they wait while the session is busy, never for a viewer.
type Attachment struct {
	session *Session

	// Static.
	sink   Sink
	handle uint32

	// Owned by the session's goroutine.
	position wire.Position // what was sent
	flow     flow
	busy     bool   // the sink has not called Ready yet
	greeted  bool   // Attached was sent
	resync   bool   // only a repaint helps
	painted  uint64 // position of the last repaint
	live     bool   // Live was sent since the last resync
	ended    bool   // Exit was sent
	ownerDue bool   // the size owner changed
	gone     bool
	clients  []wire.ClientID // newest last
	// visibleUntil is when the last sign that a person looks at it expires.
	visibleUntil time.Time
}

// Attach adds a viewer. The stream begins to flow into its sink at once. It
// fails with CodeLimit when the session has too many viewers.
func (s *Session) Attach(ctx context.Context, o AttachOptions) (*Attachment, error) {
	a := &Attachment{session: s, sink: o.Sink, handle: o.Handle, flow: newFlow()}
	attached, err := call(ctx, s, func() bool { return s.attach(a, o) })
	if err != nil {
		// The message may be in the mailbox still.
		a.Detach()
		return nil, err
	}
	if !attached {
		return nil, server.Errorf(server.CodeLimit, "this session has %d viewers already: close one", maxAttachments)
	}
	return a, nil
}

func (s *Session) attach(a *Attachment, o AttachOptions) bool {
	if a.gone || len(s.attachments) >= maxAttachments {
		return false
	}
	s.wake()
	if s.terminal == nil && s.up == nil {
		// Nothing was saved and nobody is there to ask: an empty screen.
		s.terminal = vt.New(vt.Options{Cols: int(s.facts.cols), Rows: int(s.facts.rows)})
	}
	a.resync = true
	if o.From != nil && (s.resumable(*o.From) || s.behind(*o.From)) {
		a.resync, a.position = false, *o.From
		a.flow.acked = o.From.Offset
	}
	if !o.Client.IsZero() {
		a.clients = append(a.clients, o.Client)
	}
	a.see(o.Visible)
	a.ownerDue = true // what it knew from before may be long past
	s.attachments = append(s.attachments, a)
	s.pump(a, true)
	s.changed(false)
	return true
}

// resumable says whether a viewer at a position is best served with the bytes
// that follow.
func (s *Session) resumable(p wire.Position) bool {
	if !s.primed || s.stale(p) {
		return false
	}
	return s.ring.End().Offset-p.Offset <= resumeLimit
}

// stale says that bytes alone do not lead from a position to the present. That
// is so when the ring no longer has them, and when the size changed: a terminal
// that was repainted holds no rows above its screen, so a resize would not draw
// on it what it draws on ours.
func (s *Session) stale(p wire.Position) bool {
	if p.Marks != s.ring.End().Marks {
		return true
	}
	_, err := s.ring.Read(p, 0)
	return err != nil
}

// behind says that a viewer shows more than there is here, because this server
// restarted and has yet to take in what it had before. Such a viewer keeps what
// it shows and waits: a repaint would take it back in time. A position that the
// host's stream does not reach is not believed.
func (s *Session) behind(p wire.Position) bool {
	end := s.ring.End()
	if !end.Before(p) || p.Offset < end.Offset || p.Marks < end.Marks {
		return false
	}
	if s.up == nil {
		return !s.facts.state.Ended()
	}
	return !s.announced.Before(p) && end.Before(s.announced)
}

// Ack says that the viewer has drawn every byte below offset.
func (a *Attachment) Ack(offset uint64) {
	a.session.post(func() {
		if a.gone {
			return
		}
		a.flow.ack(min(offset, a.position.Offset), time.Now())
		a.session.pump(a, true)
	})
}

// Ready says that the sink can take another message.
func (a *Attachment) Ready() {
	a.session.post(func() {
		a.busy = false
		a.session.pump(a, true)
	})
}

// Client names a source of input of this viewer. What it owns is shown to it as
// its own.
func (a *Attachment) Client(client wire.ClientID) {
	a.session.post(func() {
		if slices.Contains(a.clients, client) {
			return
		}
		a.clients = append(a.clients, client)
		if len(a.clients) > maxClients {
			a.clients = slices.Delete(a.clients, 0, 1)
		}
	})
}

// Presence is a sign of life from the viewer's person.
func (a *Attachment) Presence(visible bool) {
	a.session.post(func() { a.see(visible) })
}

func (a *Attachment) see(visible bool) {
	a.visibleUntil = time.Time{}
	if visible {
		a.visibleUntil = time.Now().Add(wire.PresenceLifetime)
	}
}

// Detach ends the attachment. What the sink has been given may still arrive.
func (a *Attachment) Detach() {
	s := a.session
	s.post(func() {
		a.gone = true
		a.flow = flow{}
		if i := slices.Index(s.attachments, a); i >= 0 {
			s.attachments = slices.Delete(s.attachments, i, i+1)
			s.rest()
			s.changed(false)
		}
	})
}

// Watching is how many people look at the session now: viewers that said so in
// the last 45 s (NET-10).
func (s *Session) Watching(ctx context.Context) (int, error) {
	return call(ctx, s, func() int {
		n, now := 0, time.Now()
		for _, a := range s.attachments {
			if now.Before(a.visibleUntil) {
				n++
			}
		}
		return n
	})
}

func (s *Session) setOwner(owner wire.SizeOwner) {
	if s.facts.owner == owner {
		return
	}
	s.facts.owner = owner
	for _, a := range s.attachments {
		a.ownerDue = true
	}
	s.pumpAll(true)
}

func (s *Session) pumpAll(current bool) {
	for _, a := range s.attachments {
		s.pump(a, current)
	}
}

// pump sends an attachment what its window takes. current says that the
// terminal stands at the end of the ring, so that a repaint can be made.
func (s *Session) pump(a *Attachment, current bool) {
	if a.busy || a.gone {
		return
	}
	if !a.resync && a.flow.room() > 0 && !s.behind(a.position) {
		// A viewer that cannot catch up in a moment skips to the present.
		if s.stale(a.position) || s.ring.End().Offset-a.position.Offset > a.flow.lagLimit() {
			a.resync = true
		}
	}
	if !s.due(a, current) {
		return
	}
	if !a.sink.Room() {
		a.busy = true
		return
	}
	m := message{session: s, attachment: a}
	m.build(current)
	if len(m.frames) == 0 {
		return
	}
	if m.streamed > 0 {
		a.flow.sent(m.start, a.position.Offset, m.streamed, a.position != s.ring.End(), time.Now())
	}
	if a.busy = !a.sink.Send(m.frames); !a.busy && a.position != s.ring.End() {
		s.pump(a, current)
	}
}

// due says whether a message for the attachment would have anything in it.
func (s *Session) due(a *Attachment, current bool) bool {
	end := s.ring.End()
	switch {
	case a.resync:
		return (current && s.mayRepaint(a)) || (a.ownerDue && a.greeted)
	case a.ownerDue || !a.greeted:
		return true
	case end.Before(a.position):
		return false
	case a.position != end:
		return a.flow.room() > 0 && (a.flow.fits(min(smallest, int(end.Offset-a.position.Offset))))
	default:
		return !a.live || (s.exit != nil && !a.ended)
	}
}

// mayRepaint says whether a repaint can be made and sent. While one is on its
// way to the viewer there is no second: it would be old when it arrives.
func (s *Session) mayRepaint(a *Attachment) bool {
	return s.terminal != nil && a.flow.fits(s.repaint.size()) && (a.flow.unacked == 0 || a.painted <= a.flow.acked)
}

// message is one message for a viewer while it is put together.
type message struct {
	session    *Session
	attachment *Attachment
	frames     []byte
	start      uint64 // offset of the first byte
	streamed   int    // what counts against the window
}

func (m *message) add(f wire.Frame) {
	var err error
	if m.frames, err = wire.Append(m.frames, f); err != nil {
		// All sizes are checked on the way in.
		panic(err)
	}
}

func (m *message) build(current bool) {
	s, a := m.session, m.attachment
	repaint := a.resync && current && s.mayRepaint(a)
	if !a.greeted && (repaint || !a.resync) {
		m.greet(repaint)
	}
	if a.ownerDue && a.greeted {
		m.owner()
	}
	if repaint {
		m.repaint()
	}
	if a.resync || s.ring.End().Before(a.position) {
		return
	}
	m.stream()
	if a.position != s.ring.End() {
		return
	}
	if !a.live {
		a.live = true
		m.add(&wire.Live{Handle: a.handle, Position: a.position})
	}
	if s.exit != nil && !a.ended {
		a.ended = true
		m.add(&wire.Exit{Handle: a.handle, Offset: s.exit.Offset, Code: s.exit.Code, Signal: s.exit.Signal})
	}
}

func (m *message) greet(repaint bool) {
	s, a := m.session, m.attachment
	attached := &wire.Attached{Handle: a.handle, Mode: wire.AttachedDelta, Prompt: s.prompt()}
	attached.Cols, attached.Rows = s.size()
	if repaint {
		attached.Mode = wire.AttachedRepaint
	}
	a.greeted = true
	m.add(attached)
}

// owner tells who owns the size. A client id is a viewer's own affair: others
// see the kind only.
func (m *message) owner() {
	a := m.attachment
	owner := m.session.facts.owner
	owner.Handle = a.handle
	if !slices.Contains(a.clients, owner.Client) {
		owner.Client = wire.ClientID{}
	}
	a.ownerDue = false
	m.add(&owner)
}

func (m *message) repaint() {
	s, a := m.session, m.attachment
	data := s.repaintBytes()
	cols, rows := s.size()
	a.position = s.ring.End()
	a.resync, a.live, a.painted = false, false, a.position.Offset
	a.flow.rewind(a.position.Offset)
	m.start = a.position.Offset
	m.streamed += len(data)
	m.add(&wire.Repaint{Handle: a.handle, Position: a.position, Cols: cols, Rows: rows, Data: data})
}

// stream adds bytes up to the window.
func (m *message) stream() {
	s, a := m.session, m.attachment
	end := s.ring.End()
	if m.streamed == 0 {
		m.start = a.position.Offset
	}
	for a.position != end {
		room := min(a.flow.room()-m.streamed, wire.MaxOutput-len(m.frames))
		if room <= 0 {
			return
		}
		chunk, err := s.ring.Read(a.position, room)
		if err != nil || chunk.Mark != nil {
			a.resync = true // pump made sure that this is not so
			return
		}
		if m.frames == nil {
			m.frames = make([]byte, 0, len(chunk.Data)+frameRoom)
		}
		m.add(&wire.Output{Handle: a.handle, Offset: a.position.Offset, Data: chunk.Data})
		a.position = chunk.Next
		m.streamed += len(chunk.Data) + frameCost
	}
}
