package fleet

import (
	"context"
	"slices"
	"time"

	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/session"
)

// maxClients is how many client ids of one attachment are routed back to it: a
// viewer that retires one goes on with the next.
const maxClients = 8

// receiver is who is told what became of an input.
type receiver interface {
	acknowledged(ack wire.InputAck)
	// actor is whose input it is.
	actor() server.Actor
}

// Viewer is a connection that shows sessions. Its methods must not block and
// must not call the fleet.
type Viewer interface {
	// InputAck tells what became of an input; the handle is the viewer's.
	InputAck(ack wire.InputAck)
	// Removed says that the session of a handle is no longer here.
	Removed(handle uint32)
}

// Attachment is a viewer's hold on one session.
type Attachment struct {
	*session.Attachment

	// Static.
	fleet  *Fleet
	entry  *entry
	viewer Viewer
	handle uint32
	by     server.Actor

	clients []wire.ClientID // newest last; guarded by entry.mu
}

// AttachOptions say what a viewer wants.
type AttachOptions struct {
	// Sink takes the session's stream; its frames carry Handle.
	Sink    session.Sink
	Handle  uint32
	From    *wire.Position
	Client  wire.ClientID
	Visible bool
	// By is who watches, for audit lines.
	By server.Actor
}

// Attach shows a session to a viewer. It fails with CodeUnknownSession, or
// with CodeLimit when the session has too many viewers.
func (f *Fleet) Attach(ctx context.Context, key server.SessionKey, v Viewer, o AttachOptions) (*Attachment, error) {
	e, err := f.entry(key)
	if err != nil {
		return nil, err
	}
	a := &Attachment{fleet: f, entry: e, viewer: v, handle: o.Handle, by: o.By}
	e.mu.Lock()
	if e.gone {
		e.mu.Unlock()
		return nil, server.NewError(server.CodeUnknownSession)
	}
	e.attachments[a] = struct{}{}
	e.mu.Unlock()
	if !o.Client.IsZero() {
		a.claim(o.Client)
	}
	a.Attachment, err = e.session.Attach(ctx, session.AttachOptions{Sink: o.Sink, Handle: o.Handle, From: o.From, Client: o.Client, Visible: o.Visible})
	if err != nil {
		a.forget()
		return nil, noSession(err)
	}
	return a, nil
}

// Key is the session's key.
func (a *Attachment) Key() server.SessionKey { return a.entry.key }

// Detach ends the attachment.
func (a *Attachment) Detach() {
	a.forget()
	a.Attachment.Detach()
}

func (a *Attachment) forget() {
	e := a.entry
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.attachments, a)
	for _, client := range a.clients {
		if e.receivers[client] == receiver(a) {
			delete(e.receivers, client)
		}
	}
	a.clients = nil
}

// claim routes what is said to a client to this attachment. It reports whether
// the client is new to it.
func (a *Attachment) claim(client wire.ClientID) bool {
	e := a.entry
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.receivers[client] == receiver(a) {
		return false
	}
	if slices.Contains(a.clients, client) {
		return false // a newer attachment of the same viewer has it
	}
	e.receivers[client] = a
	a.clients = append(a.clients, client)
	if len(a.clients) > maxClients {
		if e.receivers[a.clients[0]] == receiver(a) {
			delete(e.receivers, a.clients[0])
		}
		a.clients = slices.Delete(a.clients, 0, 1)
	}
	return true
}

func (a *Attachment) acknowledged(ack wire.InputAck) {
	ack.Handle = a.handle
	a.viewer.InputAck(ack)
}

func (a *Attachment) actor() server.Actor { return a.by }

// Input passes an input on to the host. One that cannot be is answered at once:
// nothing is queued for a host that is absent.
func (a *Attachment) Input(f wire.Input, received time.Time) {
	a.use(f.Client)
	r := a.entry.route.Load()
	if r == nil || !r.link.Input(withHandle(f, r.handle), received) {
		a.acknowledged(wire.InputAck{Client: f.Client, Seq: f.Seq, Status: wire.InputHostOffline})
	}
}

func withHandle(f wire.Input, handle uint32) wire.Input {
	f.Handle = handle
	return f
}

// Retire passes on that a client is given up. While the host is absent nobody
// knows what was applied, and the answer says so.
func (a *Attachment) Retire(f wire.Retire) {
	a.use(f.Client)
	r := a.entry.route.Load()
	if r == nil || !r.link.Send(&wire.Retire{Handle: r.handle, Client: f.Client}) {
		a.acknowledged(wire.InputAck{Client: f.Client, Status: wire.InputHostOffline})
	}
}

// ClaimSize passes a claim on. It is dropped while the host is absent: a size
// is for now.
func (a *Attachment) ClaimSize(f wire.ClaimSize) {
	a.use(f.Client)
	if r := a.entry.route.Load(); r != nil {
		f.Handle = r.handle
		r.link.Send(&f)
	}
}

// ReleaseSize passes a release on.
func (a *Attachment) ReleaseSize(f wire.ReleaseSize) {
	a.use(f.Client)
	if r := a.entry.route.Load(); r != nil {
		f.Handle = r.handle
		r.link.Send(&f)
	}
}

// Presence notes a sign of life and passes it on.
func (a *Attachment) Presence(f wire.Presence) {
	a.use(f.Client)
	a.Attachment.Presence(f.Visible)
	if r := a.entry.route.Load(); r != nil {
		f.Handle = r.handle
		r.link.Send(&f)
	}
}

// use makes a client one of this attachment's.
func (a *Attachment) use(client wire.ClientID) {
	if !client.IsZero() && a.claim(client) {
		a.Client(client)
	}
}

// acknowledged takes the holder's word to whom it concerns; nobody when they
// have left, who then ask again. It returns who typed, if that is somebody else
// than before.
func (e *entry) acknowledged(ack wire.InputAck) (typist server.Actor, other bool) {
	e.mu.Lock()
	r := e.receivers[ack.Client]
	if r != nil && ack.Status == wire.InputApplied {
		if typist = r.actor(); !typist.Same(e.typist) {
			e.typist, other = typist, true
		}
	}
	e.mu.Unlock()
	if r != nil {
		r.acknowledged(ack)
	}
	return typist, other
}

// leave tells every viewer that the session is gone.
func (e *entry) leave() {
	e.mu.Lock()
	e.gone = true
	left := make([]*Attachment, 0, len(e.attachments))
	for a := range e.attachments {
		left = append(left, a)
	}
	e.mu.Unlock()
	for _, a := range left {
		a.viewer.Removed(a.handle)
	}
}
