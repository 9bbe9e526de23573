package uplink

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/redial"
	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/internal/wire"
	"golang.org/x/sync/errgroup"
)

const (
	// dialHolder bounds connecting to a holder, its hello included.
	dialHolder = 5 * time.Second
	// Waits between attempts to reach a holder that should be there.
	holderFirst = 100 * time.Millisecond
	holderMax   = 5 * time.Second
)

// session is this link's side of one session: its lane to the server, its
// stream from the holder and its input to the holder.
type session struct {
	// static
	link   *link
	id     string
	handle uint32
	lane   *lane
	inputs *inputQueue

	// resumes carries the server's newest wish (capacity 1).
	resumes chan wire.SessionResume
	stopped chan struct{}
	once    sync.Once

	mu    sync.Mutex
	first Conn             // the connection that described the session, until run takes it
	meta  wire.SessionMeta // as last announced, without its age
	live  bool             // its holder tells of changes itself
}

func newSession(l *link, id string, handle uint32) *session {
	return &session{
		link: l, id: id, handle: handle, lane: l.box.newLane(handle), inputs: newInputQueue(),
		resumes: make(chan wire.SessionResume, 1), stopped: make(chan struct{}),
	}
}

// stop makes run return; it does not wait for it.
func (s *session) stop() { s.once.Do(func() { close(s.stopped) }) }

// takeFirst hands over the connection of describe.
func (s *session) takeFirst() Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	conn := s.first
	s.first = nil
	return conn
}

func (s *session) closeFirst() {
	if conn := s.takeFirst(); conn != nil {
		conn.Close()
	}
}

// describe asks the holder, or reads what it left, for the announcement. A
// holder that does not answer now is announced with what is known; the server
// then asks for a state.
func (s *session) describe(ctx context.Context, item daemon.Session) wire.SessionInfo {
	info := wire.SessionInfo{
		Handle: s.handle, ID: s.id, Cols: max(item.Cols, 1), Rows: max(item.Rows, 1),
		Meta: cleanMeta(item.Meta(time.Now())),
	}
	s.noteMeta(info.Meta)
	if item.State == daemon.StateRunning {
		conn, err := s.link.u.options.Sessions.Dial(ctx, s.id)
		if err == nil {
			s.mu.Lock()
			s.first = conn
			s.mu.Unlock()
			held := conn.Welcome().Session
			info.Meta = cleanMeta(held.Meta)
			s.noteMeta(info.Meta)
			return s.placed(info, held)
		}
		if !errors.Is(err, ErrNoHolder) {
			// It may only be slow: what the last link knew is still true of the
			// past, and lets the server resume where it was.
			return s.placed(info, s.link.u.remembered(s.id))
		}
	}
	if record, err := s.link.u.options.Sessions.Record(ctx, s.id); err == nil {
		defer record.Close()
		return s.placed(info, record.Info())
	}
	return info
}

// placed adds positions and size to an announcement and remembers them.
func (s *session) placed(info, held wire.SessionInfo) wire.SessionInfo {
	info.Start, info.End = held.Start, held.End
	if held.Cols > 0 && held.Rows > 0 {
		info.Cols, info.Rows = held.Cols, held.Rows
	}
	s.link.u.remember(s.id, info.Start, info.End)
	return info
}

// cleanMeta bounds and cleans what is announced, so that a hello of all
// sessions fits into a frame and a damaged file harms nobody.
func cleanMeta(meta wire.SessionMeta) wire.SessionMeta {
	const maxPath = 512
	meta.Name = untrusted.Clean(meta.Name, daemon.MaxNameRunes)
	meta.Command = untrusted.Clean(meta.Command, daemon.MaxCommandRunes)
	meta.Cwd = untrusted.Clean(meta.Cwd, maxPath)
	meta.Agent = untrusted.Clean(meta.Agent, daemon.MaxNameRunes)
	meta.ExitSignal = untrusted.Clean(meta.ExitSignal, 32)
	meta.LostReason = untrusted.Clean(meta.LostReason, 200)
	meta.Warning = untrusted.Clean(meta.Warning, 200)
	return meta
}

// noteMeta remembers what is announced and says whether it is news.
func (s *session) noteMeta(meta wire.SessionMeta) bool {
	meta.AgeMS = 0
	s.mu.Lock()
	defer s.mu.Unlock()
	if sameMeta(s.meta, meta) {
		return false
	}
	s.meta = meta
	return true
}

func sameMeta(a, b wire.SessionMeta) bool {
	if (a.ExitCode == nil) != (b.ExitCode == nil) || a.ExitCode != nil && *a.ExitCode != *b.ExitCode {
		return false
	}
	a.ExitCode, b.ExitCode = nil, nil
	return a == b
}

// listed takes metadata from the host's list. It is older than what a holder
// says itself, and what has ended never runs again.
func (s *session) listed(meta wire.SessionMeta) error {
	running := meta.State == string(daemon.StateRunning)
	s.mu.Lock()
	ignore := running && (s.live || s.meta.State != meta.State)
	s.mu.Unlock()
	if ignore {
		return nil
	}
	return s.updateMeta(meta)
}

func (s *session) setLive(live bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live = live
}

// updateMeta tells the server of changed metadata.
func (s *session) updateMeta(meta wire.SessionMeta) error {
	meta = cleanMeta(meta)
	if !s.noteMeta(meta) {
		return nil
	}
	return s.link.box.send(&wire.SessionUpdate{Handle: s.handle, Meta: meta})
}

// resumeFrom hands the server's wish to the stream; a newer one replaces it.
func (s *session) resumeFrom(r wire.SessionResume) {
	for {
		select {
		case s.resumes <- r:
			return
		default:
		}
		select {
		case <-s.resumes:
		default:
		}
	}
}

// run serves the session until the link ends or the session is dropped. It
// fails only with what concerns the whole link.
func (s *session) run(ctx context.Context) error {
	defer s.closeFirst()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		select {
		case <-s.stopped:
			cancel()
		case <-ctx.Done():
		}
		return nil
	})
	group.Go(func() error { return s.serveInput(ctx) })
	group.Go(func() error { return s.serveStream(ctx) })
	err := group.Wait()
	if ctx.Err() != nil && !isLinkError(err) {
		return nil
	}
	return err
}

// isLinkError tells the faults that end the link from those of one session.
func isLinkError(err error) bool { return errors.Is(err, errPeerStopped) }

// serveStream forwards the stream, again and again: a fault of the holder or
// of this connection costs only another attempt from the position reached.
func (s *session) serveStream(ctx context.Context) error {
	var p *pump
	select {
	case wish := <-s.resumes:
		p = newPump(s, wish)
	case <-ctx.Done():
		return nil
	}
	backoff := redial.Backoff{First: holderFirst, Max: holderMax}
	for {
		before := p.position
		err := p.attempt(ctx)
		s.link.u.reached(s.id, p.position)
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, errPeerStopped) {
			return err
		}
		if p.wish != nil {
			p = newPump(s, *p.wish)
			continue
		}
		if p.position != before {
			backoff.Reset()
		}
		s.warnOf(err)
		var wait <-chan time.Time
		if !errors.Is(err, errDone) {
			pause := backoff.Next()
			s.link.u.log.Debug("stream of session ended", "session", s.id, "error", err, "retry_in", pause)
			wait = time.After(pause)
		} // else the stream is complete, and only a new wish restarts it
		select {
		case <-wait:
		case wish := <-s.resumes:
			p = newPump(s, wish)
		case <-ctx.Done():
			return nil
		}
	}
}

// warnOf shows a holder's own refusal, which does not pass by itself.
func (s *session) warnOf(err error) {
	var refused *wire.Fault
	if errors.As(err, &refused) {
		s.link.u.warn("session "+s.id, untrusted.Clean(refused.Message, 200))
	}
}
