package viewer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/fleet"
	"github.com/agent-helm/agent-helm/server/socket"
)

// conn is one viewer's connection. It is the fleet's Viewer and the socket's
// Source.
type conn struct {
	handler   *Handler
	socket    *socket.Socket
	principal server.Principal
	ctx       context.Context
	cancel    context.CancelCauseFunc
	outbox    outbox
	pages     sync.WaitGroup

	// Owned by the reader.
	welcomed    bool
	attachments map[uint32]*shown

	// changes is set by the reader before the socket is ready, and then the
	// writer's.
	changes *fleet.Subscription
	events  []wire.Event // taken and not written yet; owned by the writer

	mu      sync.Mutex
	clients map[wire.ClientID]struct{} // this viewer's own; guarded by mu
	waiting int                        // pages asked for; guarded by mu
}

// shown is a session that the viewer shows.
type shown struct {
	*fleet.Attachment
	slot *slot
}

// maxClients bounds the client ids that one socket is known by.
const maxClients = 1024

func newConn(h *Handler, s *socket.Socket, p server.Principal, ctx context.Context, cancel context.CancelCauseFunc) *conn {
	c := &conn{
		handler: h, socket: s, principal: p, ctx: ctx, cancel: cancel,
		attachments: map[uint32]*shown{},
		clients:     map[wire.ClientID]struct{}{},
	}
	c.outbox.init(s)
	return c
}

// end lets everything go. The socket's goroutines have ended.
func (c *conn) end() {
	for _, a := range c.attachments {
		a.Detach()
	}
	if c.changes != nil {
		c.changes.Close()
	}
	c.pages.Wait()
}

// owns says whether a client is one of this viewer's.
func (c *conn) owns(client wire.ClientID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, own := c.clients[client]
	return own
}

// own makes a client one of this viewer's.
func (c *conn) own(client wire.ClientID) {
	if client.IsZero() {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, known := c.clients[client]; known {
		return
	}
	if len(c.clients) >= maxClients {
		clear(c.clients)
	}
	c.clients[client] = struct{}{}
}

// take takes one frame of the viewer.
func (c *conn) take(f wire.Frame) error {
	if !c.welcomed {
		hello, ok := f.(*wire.ViewerHello)
		if !ok {
			return socket.Malformed(fmt.Errorf("%s before ViewerHello: %w", f.Type(), wire.ErrMalformed))
		}
		return c.hello(hello)
	}
	switch f := f.(type) {
	case *wire.Attach:
		return c.attach(f)
	case *wire.Detach:
		c.detach(f.Handle)
	case *wire.Ack:
		if a := c.attachments[f.Handle]; a != nil {
			a.Ack(f.Offset)
		}
	case *wire.Input:
		return c.input(f)
	case *wire.Retire:
		return c.retire(f)
	case *wire.ClaimSize:
		if a := c.allowed(f.Handle, server.ScopeInput); a != nil {
			c.own(f.Client)
			a.ClaimSize(*f)
		}
	case *wire.ReleaseSize:
		if a := c.allowed(f.Handle, server.ScopeInput); a != nil {
			a.ReleaseSize(*f)
		}
	case *wire.Presence:
		c.presence(f)
	case *wire.Page:
		return c.page(f)
	case *wire.ViewerHello:
		return socket.Malformed(fmt.Errorf("second ViewerHello: %w", wire.ErrMalformed))
	default:
		return socket.Malformed(fmt.Errorf("%s is not for a viewer to send: %w", f.Type(), wire.ErrMalformed))
	}
	return nil
}

func (c *conn) hello(hello *wire.ViewerHello) error {
	if check := c.handler.config.CheckProof; check != nil && c.principal.Kind == server.PrincipalDevice {
		ctx, cancel := context.WithTimeout(c.ctx, wire.AuthTimeout)
		defer cancel()
		if err := check(ctx, c.principal, hello.Proof); err != nil {
			return err
		}
	}
	c.welcomed = true
	c.socket.Send(c.handler.welcome(c.principal))
	c.changes = c.handler.config.Fleet.SubscribeViewer(c.principal, c.owns, c.socket.Wake)
	c.socket.Ready()
	return nil
}

// say answers a frame. A viewer that does not read its answers is closed.
func (c *conn) say(f wire.Frame) error {
	if c.socket.Send(f) {
		return nil
	}
	return errUnread
}

var errUnread = server.Errorf(server.CodeTimeout, "too many answers were left unread")

func (c *conn) problem(handle uint32, err error) error {
	e, ok := errors.AsType[*server.Error](err)
	if !ok {
		e = server.NewError(server.CodeInternal)
	}
	return c.say(&wire.Problem{Handle: handle, Code: string(e.Code), Message: e.Message})
}

func (c *conn) attach(f *wire.Attach) error {
	if f.Handle == 0 {
		return socket.Malformed(fmt.Errorf("handle 0 is the connection's own: %w", wire.ErrMalformed))
	}
	key := server.SessionKey{Host: f.Host, ID: f.Session}
	if err := c.principal.RequireSession(server.ScopeRead, key); err != nil {
		return c.problem(f.Handle, err)
	}
	c.detach(f.Handle) // an attach replaces what the handle showed
	if len(c.attachments) >= MaxAttachments {
		return c.problem(f.Handle, server.Errorf(server.CodeLimit, "this window shows %d sessions already: close one", MaxAttachments))
	}
	c.own(f.Client)
	place := c.outbox.open()
	a, err := c.handler.config.Fleet.Attach(c.ctx, key, c, fleet.AttachOptions{
		Sink: place, Handle: f.Handle, From: f.From, Client: f.Client, Visible: f.Visible,
		By: server.ActorOf(c.principal, server.AddressFrom(c.ctx)),
	})
	if err != nil {
		place.close()
		if c.ctx.Err() != nil {
			return context.Cause(c.ctx)
		}
		return c.problem(f.Handle, err)
	}
	c.attachments[f.Handle] = &shown{a, place}
	place.bind(a)
	return nil
}

func (c *conn) detach(handle uint32) {
	a := c.attachments[handle]
	if a == nil {
		return
	}
	delete(c.attachments, handle)
	a.slot.close()
	a.Detach()
}

// allowed is the attachment of a handle, if the principal may do what needs the
// scope with it. Frames about sizes and presence are for now: one that is not
// allowed is dropped.
func (c *conn) allowed(handle uint32, scope server.Scopes) *shown {
	a := c.attachments[handle]
	if a == nil || c.principal.RequireSession(scope, a.Key()) != nil {
		return nil
	}
	return a
}

func (c *conn) input(f *wire.Input) error {
	late := c.socket.Late(f.Sent)
	f.Age = socket.AddAge(f.Age, late)
	a := c.attachments[f.Handle]
	switch {
	case a == nil:
		// The session may have been detached or removed meanwhile. Nothing was
		// written, and nobody is to wait for ever.
		return c.say(&wire.InputAck{Handle: f.Handle, Client: f.Client, Seq: f.Seq, Status: wire.InputHostOffline})
	case c.principal.RequireSession(server.ScopeInput, a.Key()) != nil:
		return c.say(&wire.InputAck{Handle: f.Handle, Client: f.Client, Seq: f.Seq, Status: wire.InputForbidden})
	}
	c.own(f.Client)
	a.Input(*f, time.Now())
	return nil
}

func (c *conn) retire(f *wire.Retire) error {
	a := c.allowed(f.Handle, server.ScopeInput)
	if a == nil {
		return c.say(&wire.InputAck{Handle: f.Handle, Client: f.Client, Status: wire.InputHostOffline})
	}
	a.Retire(*f)
	return nil
}

// presence notes that a person is there. Only one who may type has a say in who
// owns the size, so only theirs is passed on to the host.
func (c *conn) presence(f *wire.Presence) {
	a := c.attachments[f.Handle]
	if a == nil {
		return
	}
	if c.principal.RequireSession(server.ScopeInput, a.Key()) != nil {
		a.Attachment.Attachment.Presence(f.Visible)
		return
	}
	c.own(f.Client)
	a.Presence(*f)
}

// page fetches history in a goroutine of its own: the host may be asked, and
// the reader must not wait for that.
func (c *conn) page(f *wire.Page) error {
	a := c.allowed(f.Handle, server.ScopeRead)
	if a == nil {
		return c.pageFault(f, server.NewError(server.CodeUnknownSession))
	}
	c.mu.Lock()
	full := c.waiting >= maxPages
	if !full {
		c.waiting++
	}
	c.mu.Unlock()
	if full {
		return c.pageFault(f, server.Errorf(server.CodeLimit, "%d pages are on their way: wait for one", maxPages))
	}
	c.pages.Go(func() {
		body, err := c.handler.config.Fleet.Page(c.ctx, a.Key(), f.Before, f.Max)
		c.mu.Lock()
		c.waiting--
		c.mu.Unlock()
		switch {
		case c.ctx.Err() != nil:
			return
		case err != nil:
			err = c.pageFault(f, err)
		case len(body) > maxPageBody:
			err = c.pageFault(f, server.Errorf(server.CodeTooLarge, "the page is too large: ask for fewer lines"))
		default:
			err = c.say(&wire.PageReply{Handle: f.Handle, Request: f.Request, Body: body})
		}
		if err != nil {
			c.cancel(err)
		}
	})
	return nil
}

// maxPageBody leaves room in a frame for what stands around a page.
const maxPageBody = wire.MaxFrame - 1024

func (c *conn) pageFault(f *wire.Page, err error) error {
	e, ok := errors.AsType[*server.Error](err)
	if !ok {
		e = server.NewError(server.CodeInternal)
	}
	return c.say(&wire.PageReply{Handle: f.Handle, Request: f.Request, Error: e.Message})
}

// InputAck takes the holder's word to the viewer. One that does not read it is
// closed: it will ask again.
func (c *conn) InputAck(ack wire.InputAck) {
	if ack.Status == wire.InputApplied && c.socket.SendSoon(&ack) {
		return // the program's echo most often follows at once
	}
	if err := c.say(&ack); err != nil {
		c.cancel(err)
	}
}

// Removed says that the session of a handle is gone.
func (c *conn) Removed(handle uint32) {
	if err := c.problem(handle, server.NewError(server.CodeUnknownSession)); err != nil {
		c.cancel(err)
	}
}

// eventBatch is how many bytes of changes are on their way to a viewer at most,
// but for one that is larger by itself.
const eventBatch = 16 << 10

// Collect appends changes and then what the sessions have sent. Nobody
// acknowledges changes, so a Ping goes behind them, and the next ones wait for
// its Pong: on a slow line they must not fill the kernel's queue in front of
// what a person types and sees. Meanwhile they are replaced by newer ones.
func (c *conn) Collect(dst []byte, limit int) []byte {
	if !c.socket.Probing() {
		dst = c.collectEvents(dst)
	}
	return c.outbox.collect(dst, limit)
}

func (c *conn) collectEvents(dst []byte) []byte {
	start := len(dst)
	for len(dst)-start < eventBatch {
		if len(c.events) == 0 {
			var err error
			if c.events, err = c.changes.Take(); err != nil {
				c.cancel(err)
				return dst
			}
			if len(c.events) == 0 {
				break
			}
		}
		encoded, err := wire.Append(dst, &c.events[0])
		if err != nil {
			c.cancel(err)
			return dst
		}
		dst, c.events = encoded, c.events[1:]
	}
	if len(dst) > start {
		dst = c.socket.Probe(dst)
	}
	return dst
}
