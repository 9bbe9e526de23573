package session

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/agent-helm/agent-helm/internal/logging"
	"github.com/agent-helm/agent-helm/internal/ring"
	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
)

const (
	// defaultRing is what a viewer that keeps up may fall behind for a moment:
	// 50 ms of the fastest program. It is held during floods only, see tidy.
	defaultRing = 4 << 20
	// mailboxSize is small: whoever feeds a session may wait for it, because it
	// waits for nobody.
	mailboxSize = 16
	// maxAttachments bounds the viewers of one session.
	maxAttachments = 4096
	// faultLimit is how many faults within faultWindow a session may have
	// before it no longer asks its host for a fresh state by itself.
	faultLimit  = 3
	faultWindow = time.Minute
)

// ErrClosed says that the session is no longer here.
var ErrClosed = errors.New("session is closed")

// errFault says that the session met a fault while it worked on the call.
var errFault = errors.New("session had a fault and starts over")

// Upstream is a session's way to its host. It is called on the session's
// goroutine and must not block.
type Upstream interface {
	// Acknowledge says that every byte below offset was taken in.
	Acknowledge(offset uint64)
	// Resume asks for the stream from a position on, or for a State first.
	Resume(from wire.Position, state bool)
}

// Config says what a session is and whom it tells.
type Config struct {
	Key      server.SessionKey
	HostName string
	// Ring is how many of the newest bytes are kept for viewers while output
	// comes; 0 is 4 MiB. A quiet session keeps at most 256 KiB.
	Ring int
	// Changed is told of changes on the session's goroutine, at most four times
	// a second, ends at once. It must not block and must not call the session.
	Changed func(Summary)
	// Load reads the saved terminal when it is needed for the first time; nil
	// when none was saved. It may take as long as a read of the disk.
	Load func(ctx context.Context) (server.SessionSnapshot, error)
	// Logger gets faults; nil discards.
	Logger *slog.Logger
}

// Session is the live copy of one session. Its methods are safe for concurrent
// use and return ErrClosed after Close.
type Session struct {
	// Static.
	config  Config
	logger  *slog.Logger
	mailbox chan func()
	stop    context.CancelFunc
	ctx     context.Context
	done    chan struct{}

	// Owned by the goroutine.
	ring     *ring.Ring
	terminal *vt.Terminal // nil until there is something to show
	// primed says that terminal and ring stand at one position of the stream.
	primed bool
	// saved is the position of what Load reads, if isSaved.
	saved   wire.Position
	isSaved bool
	up      Upstream
	asked   resumption
	// announced is the end of the stream that the host told when it connected.
	announced   wire.Position
	assembling  []byte // pieces of a State that has not ended yet
	attachments []*Attachment
	repaint     repaintCache
	exit        *wire.Exit // set when the program's end was seen in the stream
	facts       facts
	reporter    reporter
	faults      []time.Time
}

// resumption is the last time that the host was asked to send again.
type resumption struct {
	at    time.Time
	count int
}

// New starts a session from what is known of it. The caller closes it.
func New(c Config, known Known) *Session {
	if c.Ring <= 0 {
		c.Ring = defaultRing
	}
	logger := c.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Session{
		config:  c,
		logger:  logger.With(logging.KeyHost, c.Key.Host, logging.KeySession, c.Key.ID),
		mailbox: make(chan func(), mailboxSize),
		stop:    cancel,
		ctx:     ctx,
		done:    make(chan struct{}),
		ring:    ring.New(c.Ring),
	}
	s.facts.load(known)
	s.reporter.init()
	go s.run()
	return s
}

// Key is the session's key.
func (s *Session) Key() server.SessionKey { return s.config.Key }

// Close ends the session's goroutine and waits for it. Attached viewers are
// told nothing: whoever closes a session tells them.
func (s *Session) Close() {
	s.stop()
	<-s.done
}

func (s *Session) run() {
	defer close(s.done)
	defer s.reporter.timer.Stop()
	for {
		select {
		case <-s.ctx.Done():
			return
		case message := <-s.mailbox:
			s.guard(message)
		case <-s.reporter.timer.C:
			s.guard(s.reportDue)
		}
	}
}

// guard runs one message. A panic in it must not end the server: the session
// starts over from its host's state.
func (s *Session) guard(message func()) {
	defer func() {
		if fault := recover(); fault != nil {
			s.logger.Error("session fault", logging.KeyError, fmt.Sprint(fault), "stack", string(debug.Stack()))
			s.startOver()
		}
	}()
	message()
}

// startOver throws the terminal away and asks the host for a fresh one.
func (s *Session) startOver() {
	now := time.Now()
	for len(s.faults) > 0 && now.Sub(s.faults[0]) > faultWindow {
		s.faults = s.faults[1:]
	}
	s.faults = append(s.faults, now)
	s.forget()
	for _, a := range s.attachments {
		a.resync = true
	}
	if s.up != nil && len(s.faults) <= faultLimit {
		s.up.Resume(s.ring.End(), true)
	}
}

// forget drops terminal and ring; the position stays.
func (s *Session) forget() {
	s.terminal, s.primed, s.assembling = nil, false, nil
	s.ring.Reset(s.ring.End())
	s.repaint = repaintCache{}
}

// post hands a message to the goroutine. A closed session drops it.
func (s *Session) post(message func()) {
	select {
	case s.mailbox <- message:
	case <-s.done:
	}
}

// call runs f on the goroutine of s and returns its result.
func call[T any](ctx context.Context, s *Session, f func() T) (result T, err error) {
	answer := make(chan T, 1)
	message := func() {
		defer close(answer) // also when f panics
		answer <- f()
	}
	select {
	case s.mailbox <- message:
	case <-s.done:
		return result, ErrClosed
	case <-ctx.Done():
		return result, context.Cause(ctx)
	}
	select {
	case result, ok := <-answer:
		if !ok {
			return result, errFault
		}
		return result, nil
	case <-s.done:
		return result, ErrClosed
	case <-ctx.Done():
		return result, context.Cause(ctx)
	}
}
