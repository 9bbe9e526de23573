package e2e

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// ViewerOptions say how a Viewer reaches the server.
type ViewerOptions struct {
	// URL is the server's address, http://127.0.0.1:port.
	URL string
	// Via is the host:port to dial instead, a Proxy's; empty dials URL.
	Via string
	// Token is a bearer token.
	Token string
	// Sink makes the viewer count bytes instead of drawing them: for floods.
	Sink bool
}

// Viewer is a phone without a screen: it speaks the true viewer protocol,
// reconnects for ever, resumes by position, draws into a terminal of
// internal/vt and treats input as DESIGN §3 says. It is the instrument of the
// end-to-end tests, the chaos test and the benchmark.
type Viewer struct {
	options ViewerOptions
	stop    context.CancelFunc
	done    sync.WaitGroup
	opened  time.Time

	mu        sync.Mutex
	changed   *sync.Cond
	conn      *websocket.Conn
	dials     int
	lastError error
	streams   map[uint32]*Stream
	traffic   uint64 // bytes of messages received
}

// Stream is one attached session. Its fields are guarded by the viewer's lock;
// use the methods.
type Stream struct {
	viewer  *Viewer
	handle  uint32
	host    string
	session string

	terminal *vt.Terminal
	position wire.Position
	known    bool // position is valid
	attached bool // on the present connection
	live     bool
	prompt   string
	cols     uint16
	rows     uint16
	owner    wire.SizeOwner
	exit     *wire.Exit
	problem  *wire.Problem

	received  uint64 // bytes of output
	repaints  int
	repainted uint64 // bytes of repaint
	onOutput  func(offset uint64, data []byte)
	onRepaint func()
	pages     map[uint32]*wire.PageReply
	pageCount uint32

	client   wire.ClientID
	seq      uint64
	pending  []pendingInput
	sent     time.Time     // when pending was last sent
	patience time.Duration // how long to wait for an answer before sending again
	retiring bool
	applied  int
	draft    []string
	reasons  map[string]int // why clients were retired
}

type pendingInput struct {
	seq    uint64
	kind   wire.InputKind
	data   []byte
	typed  time.Time
	prompt string
}

// NewViewer starts a viewer; it connects in the background.
func NewViewer(options ViewerOptions) *Viewer {
	ctx, stop := context.WithCancel(context.Background())
	v := &Viewer{options: options, stop: stop, streams: make(map[uint32]*Stream)}
	v.changed = sync.NewCond(&v.mu)
	v.done.Go(func() { v.run(ctx) })
	v.done.Go(func() { v.watchInputAge(ctx) })
	return v
}

// Close ends the viewer and waits for its goroutines.
func (v *Viewer) Close() {
	v.stop()
	v.mu.Lock()
	if v.conn != nil {
		v.conn.CloseNow()
	}
	v.changed.Broadcast()
	v.mu.Unlock()
	v.done.Wait()
}

// Cut drops the present connection; the viewer comes back by itself.
func (v *Viewer) Cut() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.conn != nil {
		v.conn.CloseNow()
	}
}

// Dials is how often the viewer has tried to connect, and why the last try
// or connection ended.
func (v *Viewer) Dials() (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.dials, v.lastError
}

// Traffic is how many bytes of messages were received, over all connections.
func (v *Viewer) Traffic() uint64 {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.traffic
}

// Attach begins a session's stream. onOutput, which may be nil, sees every
// fresh byte once and in order; it runs under the viewer's lock.
func (v *Viewer) Attach(host, session string, onOutput func(offset uint64, data []byte)) *Stream {
	v.mu.Lock()
	defer v.mu.Unlock()
	s := &Stream{viewer: v, handle: uint32(len(v.streams) + 1), host: host, session: session, onOutput: onOutput,
		pages: make(map[uint32]*wire.PageReply), client: newClient()}
	if !v.options.Sink {
		s.terminal = vt.New(vt.Options{Cols: 80, Rows: 24})
	}
	v.streams[s.handle] = s
	if v.conn != nil {
		v.send(s.attachFrame())
	}
	return s
}

// OnRepaint has a function called, under the viewer's lock, whenever the
// stream goes on after a repaint instead of where it was.
func (s *Stream) OnRepaint(f func()) {
	s.viewer.mu.Lock()
	defer s.viewer.mu.Unlock()
	s.onRepaint = f
}

func newClient() (c wire.ClientID) {
	_, _ = rand.Read(c[:])
	return c
}

func (v *Viewer) run(ctx context.Context) {
	pause := 20 * time.Millisecond
	for ctx.Err() == nil {
		err := v.connect(ctx)
		v.mu.Lock()
		v.conn, v.lastError = nil, err
		for _, s := range v.streams {
			s.attached, s.live = false, false
		}
		v.changed.Broadcast()
		v.mu.Unlock()
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

func (v *Viewer) connect(ctx context.Context) error {
	v.mu.Lock()
	v.dials++
	v.mu.Unlock()
	dialer := &net.Dialer{Timeout: 5 * time.Second}
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		if v.options.Via != "" {
			address = v.options.Via
		}
		return dialer.DialContext(ctx, network, address)
	}}
	defer transport.CloseIdleConnections()
	dialCtx, cancel := context.WithTimeout(ctx, 8*time.Second)
	defer cancel()
	header := http.Header{}
	if v.options.Token != "" {
		header.Set("Authorization", "Bearer "+v.options.Token)
	}
	conn, _, err := websocket.Dial(dialCtx, "ws"+strings.TrimPrefix(v.options.URL, "http")+"/api/ws",
		&websocket.DialOptions{HTTPHeader: header, HTTPClient: &http.Client{Transport: transport}, Subprotocols: []string{"agent-helm.v1"}})
	if err != nil {
		return fmt.Errorf("dial: %w", err)
	}
	defer conn.CloseNow()
	conn.SetReadLimit(wire.MaxMessage)
	opened := time.Now()
	hello, err := wire.Append(wire.AppendPreamble(nil), &wire.ViewerHello{Version: "e2e", Visible: true})
	if err != nil {
		return err
	}
	if err := conn.Write(ctx, websocket.MessageBinary, hello); err != nil {
		return fmt.Errorf("hello: %w", err)
	}
	first := true
	for {
		readCtx, cancel := context.WithTimeout(ctx, wire.HeartbeatTimeout)
		_, message, err := conn.Read(readCtx)
		cancel()
		if err != nil {
			return fmt.Errorf("read: %w", err)
		}
		size := uint64(len(message))
		if first {
			if message, _, err = wire.CutPreamble(message); err != nil {
				return err
			}
			first = false
		}
		v.mu.Lock()
		v.traffic += size
		err = wire.DecodeAll(message, func(f wire.Frame) error { return v.take(conn, opened, f) })
		v.changed.Broadcast()
		v.mu.Unlock()
		if err != nil {
			return err
		}
	}
}

// take handles one frame under the lock.
func (v *Viewer) take(conn *websocket.Conn, opened time.Time, f wire.Frame) error {
	switch f := f.(type) {
	case *wire.ViewerWelcome:
		v.conn, v.opened = conn, opened
		for _, s := range v.streams {
			v.send(s.attachFrame())
		}
	case *wire.Ping:
		v.send(&wire.Pong{Nonce: f.Nonce, Sent: v.sinceOpen()})
	case *wire.Attached:
		if s := v.streams[f.Handle]; s != nil {
			s.takeAttached(f)
		}
	case *wire.Output:
		if s := v.streams[f.Handle]; s != nil && s.attached {
			return s.takeOutput(f)
		}
	case *wire.Resize:
		if s := v.streams[f.Handle]; s != nil && s.attached && f.Ordinal > s.position.Marks {
			s.position.Marks = f.Ordinal
			s.resize(f.Cols, f.Rows)
		}
	case *wire.Repaint:
		if s := v.streams[f.Handle]; s != nil && s.attached {
			s.takeRepaint(f)
		}
	case *wire.Live:
		if s := v.streams[f.Handle]; s != nil && s.attached {
			s.live = true
		}
	case *wire.InputAck:
		if s := v.streams[f.Handle]; s != nil {
			s.takeInputAck(f)
		}
	case *wire.SizeOwner:
		if s := v.streams[f.Handle]; s != nil {
			s.owner = *f
		}
	case *wire.Exit:
		if s := v.streams[f.Handle]; s != nil {
			s.exit = f
		}
	case *wire.PageReply:
		if s := v.streams[f.Handle]; s != nil {
			s.pages[f.Request] = f
		}
	case *wire.Problem:
		if s := v.streams[f.Handle]; s != nil {
			s.problem = f
		} else if f.Handle == 0 {
			return fmt.Errorf("server: %s: %s", f.Code, f.Message)
		}
	}
	return nil
}

func (v *Viewer) sinceOpen() uint32 { return uint32(time.Since(v.opened).Milliseconds()) }

// send writes frames under the lock, so that their order is that of the
// calls. A failure shows as the end of the reading side.
func (v *Viewer) send(frames ...wire.Frame) {
	if v.conn == nil {
		return
	}
	message, err := wire.AppendAll(nil, frames...)
	if err != nil {
		panic(fmt.Sprintf("viewer made an invalid frame: %v", err))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := v.conn.Write(ctx, websocket.MessageBinary, message); err != nil {
		v.conn.CloseNow()
	}
}

func (s *Stream) attachFrame() *wire.Attach {
	attach := &wire.Attach{Handle: s.handle, Host: s.host, Session: s.session, Client: s.client, Visible: true}
	if s.known {
		from := s.position
		attach.From = &from
	}
	return attach
}

func (s *Stream) takeAttached(f *wire.Attached) {
	s.attached, s.problem = true, nil
	s.prompt = f.Prompt
	if f.Mode == wire.AttachedDelta && !s.known {
		// A session without output may begin with a delta from zero.
		s.known = true
		s.resize(f.Cols, f.Rows)
	}
	s.resumeInput()
}

func (s *Stream) takeOutput(f *wire.Output) error {
	end := f.Offset + uint64(len(f.Data))
	switch {
	case f.Offset > s.position.Offset:
		return fmt.Errorf("session %s: output at %d after %d: a hole", s.session, f.Offset, s.position.Offset)
	case end <= s.position.Offset:
		return nil
	}
	fresh := f.Data[s.position.Offset-f.Offset:]
	if s.terminal != nil {
		_, _ = s.terminal.Write(fresh)
		s.terminal.TakeReplies()
	}
	if s.onOutput != nil {
		s.onOutput(s.position.Offset, fresh)
	}
	s.received += uint64(len(fresh))
	s.position.Offset = end
	s.viewer.send(&wire.Ack{Handle: s.handle, Offset: end})
	return nil
}

func (s *Stream) takeRepaint(f *wire.Repaint) {
	s.repaints++
	s.repainted += uint64(len(f.Data))
	s.position, s.known = f.Position, true
	s.cols, s.rows = f.Cols, f.Rows
	if s.terminal != nil {
		s.terminal = vt.New(vt.Options{Cols: int(f.Cols), Rows: int(f.Rows)})
		_, _ = s.terminal.Write(f.Data)
		s.terminal.TakeReplies()
	}
	if s.onRepaint != nil {
		s.onRepaint()
	}
	s.viewer.send(&wire.Ack{Handle: s.handle, Offset: f.Position.Offset})
}

func (s *Stream) resize(cols, rows uint16) {
	s.cols, s.rows = cols, rows
	if s.terminal != nil {
		s.terminal.Resize(int(cols), int(rows))
	}
}

func (s *Stream) input(kind wire.InputKind, data []byte) {
	s.seq++
	p := pendingInput{seq: s.seq, kind: kind, data: data, typed: time.Now(), prompt: s.prompt}
	s.pending = append(s.pending, p)
	if s.attached && !s.retiring {
		if len(s.pending) == 1 {
			s.sent, s.patience = time.Now(), firstPatience
		}
		s.viewer.send(s.inputFrame(p))
	}
}

// firstPatience is how long an input may stay unanswered before it is sent
// again. Sending again is free of effects, and the way between server and
// holder may have broken without this viewer's noticing.
const firstPatience = time.Second

func (s *Stream) inputFrame(p pendingInput) *wire.Input {
	return &wire.Input{Handle: s.handle, Client: s.client, Seq: p.seq, Kind: p.kind,
		Age: uint32(time.Since(p.typed).Milliseconds()), Sent: s.viewer.sinceOpen(), Data: p.data}
}

// resumeInput sends again what may still be sent, or asks what was applied.
func (s *Stream) resumeInput() {
	if len(s.pending) == 0 {
		return
	}
	if s.patience == 0 {
		s.patience = firstPatience
	}
	for _, p := range s.pending {
		switch {
		case s.retiring:
		case time.Since(p.typed) >= wire.InputLifetime:
			s.retire("too old to be sent again")
		case p.prompt != s.prompt:
			s.retire("another dialog")
		}
	}
	s.sent = time.Now()
	if s.retiring {
		s.viewer.send(&wire.Retire{Handle: s.handle, Client: s.client})
		return
	}
	for _, p := range s.pending {
		s.viewer.send(s.inputFrame(p))
	}
}

func (s *Stream) takeInputAck(f *wire.InputAck) {
	if f.Client != s.client {
		return
	}
	switch f.Status {
	case wire.InputApplied:
		for len(s.pending) > 0 && s.pending[0].seq <= f.Seq {
			s.pending = s.pending[1:]
			s.applied++
		}
	case wire.InputRetired:
		for _, p := range s.pending {
			if p.seq <= f.Seq {
				s.applied++
			} else {
				s.draft = append(s.draft, string(p.data))
			}
		}
		s.pending, s.client, s.seq, s.retiring = nil, newClient(), 0, false
	case wire.InputGap:
		// An earlier one was lost between server and holder.
		for len(s.pending) > 0 && s.pending[0].seq <= f.Seq {
			s.pending = s.pending[1:]
			s.applied++
		}
		s.fillGap()
	case wire.InputHostOffline:
		// Tried again while it is young enough.
	case wire.InputUnknownClient:
		if len(s.pending) > 0 && s.pending[0].seq == 1 {
			s.fillGap() // it was the first that was lost
			return
		}
		s.retire("unknown client")
		s.viewer.send(&wire.Retire{Handle: s.handle, Client: s.client})
	default:
		s.retire(fmt.Sprintf("status %d", f.Status))
		s.viewer.send(&wire.Retire{Handle: s.handle, Client: s.client})
	}
}

// fillGap sends all that is pending again, in order. Every input behind the gap
// is refused with it, so only the first answer of a moment counts.
func (s *Stream) fillGap() {
	if time.Since(s.sent) > firstPatience/4 {
		s.resumeInput()
	}
}

func (s *Stream) retire(reason string) {
	if s.retiring {
		return
	}
	s.retiring = true
	if s.reasons == nil {
		s.reasons = make(map[string]int)
	}
	s.reasons[reason]++
}

// watchInputAge retires clients whose input was not acknowledged in time.
func (v *Viewer) watchInputAge(ctx context.Context) {
	ticker := time.NewTicker(250 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		v.mu.Lock()
		for _, s := range v.streams {
			if s.attached && len(s.pending) > 0 && time.Since(s.sent) > s.patience {
				s.patience = min(2*s.patience, 4*firstPatience)
				s.resumeInput()
			}
		}
		v.mu.Unlock()
	}
}

// Type sends bytes as a physical keyboard does.
func (s *Stream) Type(text string) {
	s.viewer.mu.Lock()
	defer s.viewer.mu.Unlock()
	s.input(wire.InputBytes, []byte(text))
}

// Keys sends named keys, separated by spaces.
func (s *Stream) Keys(names string) {
	s.viewer.mu.Lock()
	defer s.viewer.mu.Unlock()
	s.input(wire.InputKeys, []byte(names))
}

// Submit sends text and Enter as one operation.
func (s *Stream) Submit(text string) {
	s.viewer.mu.Lock()
	defer s.viewer.mu.Unlock()
	s.input(wire.InputSubmit, []byte(text))
}

// ClaimSize asks for the size.
func (s *Stream) ClaimSize(reason wire.ClaimReason, cols, rows uint16) {
	s.viewer.mu.Lock()
	defer s.viewer.mu.Unlock()
	s.viewer.send(&wire.ClaimSize{Handle: s.handle, Client: s.client, Reason: reason, Cols: cols, Rows: rows})
}

// ReleaseSize gives the size back.
func (s *Stream) ReleaseSize() {
	s.viewer.mu.Lock()
	defer s.viewer.mu.Unlock()
	s.viewer.send(&wire.ReleaseSize{Handle: s.handle, Client: s.client})
}

// Presence reports a sign of life.
func (s *Stream) Presence(visible, focused bool) {
	s.viewer.mu.Lock()
	defer s.viewer.mu.Unlock()
	s.viewer.send(&wire.Presence{Handle: s.handle, Client: s.client, Visible: visible, Focused: focused})
}

// Page asks for history and waits for the answer.
func (s *Stream) Page(ctx context.Context, before uint64, limit int) (*wire.PageReply, error) {
	v := s.viewer
	v.mu.Lock()
	s.pageCount++
	request := s.pageCount
	v.send(&wire.Page{Handle: s.handle, Request: request, Before: before, Max: limit})
	v.mu.Unlock()
	var reply *wire.PageReply
	err := v.wait(ctx, func() bool { reply = s.pages[request]; return reply != nil })
	if err != nil {
		return nil, fmt.Errorf("page before %d: %w", before, err)
	}
	v.mu.Lock()
	delete(s.pages, request)
	v.mu.Unlock()
	if reply.Error != "" {
		return nil, errors.New(reply.Error)
	}
	return reply, nil
}

// Snapshot is a copy of what a stream has come to.
type Snapshot struct {
	Position             wire.Position
	Live                 bool
	Cols, Rows           uint16
	Received, Repainted  uint64
	Repaints             int
	Text                 string
	Exit                 *wire.Exit
	Owner                wire.SizeOwner
	Mine                 bool
	Applied, Outstanding int
	Draft                []string
	Retired              map[string]int // how many clients were retired, by reason
	Problem              *wire.Problem
}

// Snapshot returns the stream's present state.
func (s *Stream) Snapshot() Snapshot {
	s.viewer.mu.Lock()
	defer s.viewer.mu.Unlock()
	return s.snapshot()
}

func (s *Stream) snapshot() Snapshot {
	snapshot := Snapshot{Position: s.position, Live: s.live, Cols: s.cols, Rows: s.rows, Received: s.received, Repainted: s.repainted,
		Repaints: s.repaints, Exit: s.exit, Owner: s.owner, Mine: s.owner.Client == s.client && !s.owner.Client.IsZero(),
		Applied: s.applied, Outstanding: len(s.pending), Draft: slices.Clone(s.draft), Retired: maps.Clone(s.reasons), Problem: s.problem}
	if s.terminal != nil {
		snapshot.Text = s.terminal.Text(vt.TextOptions{})
	}
	return snapshot
}

// WaitFor waits until the condition holds for the stream's state.
func (s *Stream) WaitFor(ctx context.Context, what string, condition func(Snapshot) bool) error {
	var last Snapshot
	err := s.viewer.wait(ctx, func() bool { last = s.snapshot(); return condition(last) })
	if err != nil {
		_, lastError := s.viewer.Dials()
		return fmt.Errorf("waiting for %s: %w; last connection: %s; screen:\n%s", what, err, fmt.Sprint(lastError), last.Text)
	}
	return nil
}

// wait blocks until the condition, called under the lock, holds.
func (v *Viewer) wait(ctx context.Context, condition func() bool) error {
	wake := context.AfterFunc(ctx, func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.changed.Broadcast()
	})
	defer wake()
	v.mu.Lock()
	defer v.mu.Unlock()
	for !condition() {
		if err := ctx.Err(); err != nil {
			return err
		}
		v.changed.Wait()
	}
	return nil
}
