package fleet

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
)

const (
	// callTimeout is how long a host may take for a call.
	callTimeout = 15 * time.Second
	// inputTimeout is how long an input over HTTP may wait for its
	// acknowledgement before its client is retired. It is longer than an input
	// may live, so that the holder has decided.
	inputTimeout = wire.InputLifetime + 2*time.Second
	// retireTimeout is how long the holder may take to say what it applied.
	retireTimeout = 5 * time.Second
	// maxPageLines bounds one page.
	maxPageLines = 1000
)

// call calls a method of a host.
func (f *Fleet) call(ctx context.Context, hostID, method string, params, result any) error {
	link, err := f.link(hostID)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, callTimeout, server.NewError(server.CodeTimeout))
	defer cancel()
	return link.Call(ctx, method, params, result)
}

// Start starts a session on a host. The session appears by itself.
func (f *Fleet) Start(ctx context.Context, hostID string, params wire.StartParams) (wire.StartResult, error) {
	var result wire.StartResult
	if err := f.call(ctx, hostID, wire.MethodStart, params, &result); err != nil {
		return result, err
	}
	if !server.ValidSessionID(result.ID) {
		return wire.StartResult{}, fmt.Errorf("host %s answered with no session id", hostID)
	}
	return result, nil
}

// Rename gives a session another name.
func (f *Fleet) Rename(ctx context.Context, key server.SessionKey, name string) error {
	if _, err := f.entry(key); err != nil {
		return err
	}
	return f.call(ctx, key.Host, wire.MethodRename, wire.SessionParams{ID: key.ID, Name: name}, nil)
}

// Kill ends a session's program: HUP, and KILL when it is still there after 5 s.
func (f *Fleet) Kill(ctx context.Context, key server.SessionKey) error {
	if _, err := f.entry(key); err != nil {
		return err
	}
	return f.call(ctx, key.Host, wire.MethodKill, wire.SessionParams{ID: key.ID}, nil)
}

// Signal does one of the Stop actions: "esc", "ctrl-c", "hup", "term", "kill".
func (f *Fleet) Signal(ctx context.Context, key server.SessionKey, signal string) error {
	if _, err := f.entry(key); err != nil {
		return err
	}
	return f.call(ctx, key.Host, wire.MethodSignal, wire.SessionParams{ID: key.ID, Signal: signal}, nil)
}

// Forget takes a session out of the list for good. A running one is for its
// host to forget, so that fails with CodeHostOffline while it is absent.
func (f *Fleet) Forget(ctx context.Context, key server.SessionKey) error {
	shown, err := f.Session(key)
	if err != nil {
		return err
	}
	err = f.call(ctx, key.Host, wire.MethodForget, wire.SessionParams{ID: key.ID}, nil)
	switch code := server.CodeOf(err); {
	case err == nil, code == server.CodeUnknownSession:
	case code == server.CodeHostOffline && shown.State.Ended():
	default:
		return err
	}
	if err := f.remove(ctx, key); err != nil && server.CodeOf(err) != server.CodeUnknownSession {
		return err
	}
	return nil
}

// Page is history older than before, newest first, as vt.Page in JSON: from our
// own copy, and beyond it from the host. It fails with CodeHostOffline when
// only the absent host may have more.
func (f *Fleet) Page(ctx context.Context, key server.SessionKey, before uint64, max int) (json.RawMessage, error) {
	e, err := f.entry(key)
	if err != nil {
		return nil, err
	}
	max = min(maxPageLines, max)
	if max < 1 {
		return nil, server.Errorf(server.CodeInvalid, "a page has at least one line")
	}
	own, err := e.session.Page(ctx, before, max)
	if err != nil {
		return nil, noSession(err)
	}
	page := own.Page
	switch {
	case own.Complete:
	case len(page.Lines) > 0:
		page.More = true
	default:
		if page, err = f.hostPage(ctx, key, before, max); err != nil {
			return nil, err
		}
	}
	data, err := json.Marshal(page)
	if err != nil {
		return nil, fmt.Errorf("encode page: %w", err)
	}
	return data, nil
}

func (f *Fleet) hostPage(ctx context.Context, key server.SessionKey, before uint64, max int) (vt.Page, error) {
	var page vt.Page
	if err := f.call(ctx, key.Host, wire.MethodPage, wire.PageParams{ID: key.ID, Before: before, Max: max}, &page); err != nil {
		return page, err
	}
	if len(page.Lines) > max {
		page.Lines, page.More = page.Lines[:max], true
	}
	if page.Lines == nil {
		page.Lines = []vt.PageLine{}
	}
	return page, nil
}

// Input is what a script types.
type Input struct {
	Kind wire.InputKind
	Data []byte
	// Idempotency names the input: the same again is not typed twice. Whoever
	// calls puts into it whose it is. Empty: every call is another input.
	Idempotency string
}

// Input types into a session and waits until the holder says what became of it.
// nil: the PTY has taken all of it, now or earlier.
func (f *Fleet) Input(ctx context.Context, key server.SessionKey, input Input) error {
	e, err := f.entry(key)
	if err != nil {
		return err
	}
	if len(input.Data) > wire.MaxInput {
		return server.Errorf(server.CodeTooLarge, "an input has at most %d bytes: send it in parts", wire.MaxInput)
	}
	w := &waiter{answers: make(chan wire.InputAck, 1), by: server.ActorFrom(ctx)}
	client := clientOf(key, input.Idempotency)
	if !e.receive(client, w) {
		return server.Errorf(server.CodeConflict, "the same input is on its way already: wait for its answer")
	}
	defer e.unreceive(client, w)
	r := e.route.Load()
	frame := wire.Input{Client: client, Seq: 1, Kind: input.Kind, Data: input.Data}
	if r == nil || !r.link.Input(withHandle(frame, r.handle), time.Now()) {
		return server.NewError(server.CodeHostOffline)
	}
	waiting, cancel := context.WithTimeoutCause(ctx, inputTimeout, server.NewError(server.CodeTimeout))
	defer cancel()
	select {
	case ack := <-w.answers:
		return inputError(ack)
	case <-waiting.Done():
	}
	// What came of it is not known. After its retirement it is, for ever.
	if r = e.route.Load(); r == nil || !r.link.Send(&wire.Retire{Handle: r.handle, Client: client}) {
		return context.Cause(waiting)
	}
	if server.CodeOf(context.Cause(ctx)) == server.CodeRevoked {
		return context.Cause(ctx) // they are told nothing more
	}
	last, cancel := context.WithTimeout(context.WithoutCancel(ctx), retireTimeout)
	defer cancel()
	select {
	case ack := <-w.answers:
		return inputError(ack)
	case <-last.Done():
		return context.Cause(waiting)
	}
}

// Resize claims a session's size. The holder decides; who owns the size now is
// told by the session's next change. It fails with CodeHostOffline.
func (f *Fleet) Resize(ctx context.Context, key server.SessionKey, cols, rows uint16) error {
	e, err := f.entry(key)
	if err != nil {
		return err
	}
	if cols < 1 || rows < 1 || cols > wire.MaxColumns || rows > wire.MaxRows {
		return server.Errorf(server.CodeInvalid, "a terminal has 1 to %d columns and 1 to %d rows", wire.MaxColumns, wire.MaxRows)
	}
	r := e.route.Load()
	by := server.ActorFrom(ctx)
	claim := &wire.ClaimSize{Client: clientOf(key, "resize "+string(by.Kind)+" "+by.ID), Reason: wire.ClaimFit, Cols: cols, Rows: rows}
	if r == nil {
		return server.NewError(server.CodeHostOffline)
	}
	e.claimed(claim.Client, by)
	claim.Handle = r.handle
	if !r.link.Send(claim) {
		return server.NewError(server.CodeHostOffline)
	}
	return nil
}

// clientOf is the client id of an input by its idempotency key.
func clientOf(key server.SessionKey, idempotency string) (client wire.ClientID) {
	if idempotency == "" {
		rand.Read(client[:])
		return client
	}
	sum := sha256.Sum256([]byte(key.String() + "\x00" + idempotency))
	copy(client[:], sum[:])
	return client
}

// inputError says what an acknowledgement means to a script.
func inputError(ack wire.InputAck) error {
	switch ack.Status {
	case wire.InputApplied:
		return nil
	case wire.InputRetired:
		if ack.Seq >= 1 {
			return nil
		}
		return server.NewError(server.CodeInputRefused)
	case wire.InputLate:
		return server.NewError(server.CodeInputLate)
	case wire.InputBlocked:
		return server.NewError(server.CodeInputBlocked)
	case wire.InputEnded:
		return server.NewError(server.CodeSessionEnded)
	case wire.InputHostOffline:
		return server.NewError(server.CodeHostOffline)
	case inputUnknown:
		return server.NewError(server.CodeTimeout)
	case wire.InputForbidden:
		return server.Errorf(server.CodeForbidden, "the host's policy does not allow input to this session: see agent-helm policy there")
	case wire.InputInvalid:
		return server.Errorf(server.CodeInvalid, "the host cannot type that: an unknown key name, or text that is not UTF-8")
	default:
		return server.NewError(server.CodeInputRefused)
	}
}

// inputUnknown stands for an answer that will not come: the host went away with
// the input. It never crosses the wire.
const inputUnknown wire.InputStatus = 0xff

// waiter waits for the acknowledgement of one input.
type waiter struct {
	answers chan wire.InputAck
	by      server.Actor
}

func (w *waiter) actor() server.Actor { return w.by }

func (w *waiter) acknowledged(ack wire.InputAck) {
	select {
	case w.answers <- ack:
	default:
	}
}

// receive routes what is said to a client to r, unless somebody has it.
func (e *entry) receive(client wire.ClientID, r receiver) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if _, taken := e.receivers[client]; taken || e.gone {
		return false
	}
	e.receivers[client] = r
	return true
}

func (e *entry) unreceive(client wire.ClientID, r receiver) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.receivers[client] == r {
		delete(e.receivers, client)
	}
}

// offline tells waiting scripts that the host went away. Viewers see it by
// themselves and keep their input until they know more.
func (e *entry) offline() {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, r := range e.receivers {
		if w, ok := r.(*waiter); ok {
			w.acknowledged(wire.InputAck{Status: inputUnknown})
		}
	}
}
