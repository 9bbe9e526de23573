// Package uplink is the host's one outbound WebSocket to its server: it says
// hello, resumes every session's stream from the position that the server has,
// carries the sessions fairly, passes input and calls to the holders as far as
// the host's policy allows, and dials again for ever. It owns no session and
// keeps nothing that a reconnect would need: positions live with the server,
// input with the holder. It never slows a program, and a server that stops
// reading stops nothing but its own uplink.
//
// The daemon process runs one Uplink from its start to its end.
//
// # One connection
//
// A reader decodes what the server sends and never waits for a session. A
// writer takes messages from the outbox: control frames first, then the
// sessions' output in turns, inside a window of unacknowledged bytes that
// follows the measured rate. A manager compares the host's sessions with what
// was announced. Each session has two connections to its holder: one for the
// stream, which is simply not read while its lane is full, and one for input,
// which therefore never waits behind a long state. All of them end, and are
// waited for, before the next connection is dialled.
package uplink

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/redial"
	"github.com/agent-helm/agent-helm/internal/ring"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// Conn is one connection to a session's holder, after the hello; a
// *holder.Client is one.
type Conn interface {
	// Welcome is what the holder said of itself and the session.
	Welcome() *wire.HolderWelcome
	// Send writes frames. It waits as long as the holder does not read.
	Send(...wire.Frame) error
	// Receive reads the next frame, which owns its bytes.
	Receive() (wire.Frame, error)
	// Close ends the connection, and every wait in it.
	Close() error
}

// Record is what an ended session left on the host; a *holder.Record is one.
type Record interface {
	// Info describes the session and what Read knows of its stream.
	Info() wire.SessionInfo
	// Exit is how the program ended; nil when it was lost.
	Exit() *daemon.Exit
	// End is the position behind the last byte.
	End() wire.Position
	// Read copies bytes that follow position, up to the next mark, or returns
	// that mark; neither at End. An error: the position is not there.
	Read(position wire.Position, buffer []byte) (n int, mark *ring.Mark, next wire.Position, err error)
	// State is internal/vt's state at End; nil when there is none.
	State() ([]byte, error)
	Close() error
}

// Sessions is what the uplink needs of this host's sessions. The supervisor
// provides it (see FromSupervisor). Errors that are a *wire.Fault reach the
// server as they are.
type Sessions interface {
	// List is every session of this host.
	List(ctx context.Context) ([]daemon.Session, error)
	// Subscribe signals changes until cancel is called.
	Subscribe() (changes <-chan struct{}, cancel func())
	// Dial connects to a session's holder. ErrNoHolder: it is gone for good.
	Dial(ctx context.Context, id string) (Conn, error)
	// Record opens what an ended session left.
	Record(ctx context.Context, id string) (Record, error)

	Start(ctx context.Context, params wire.StartParams) (id string, err error)
	Rename(ctx context.Context, id, name string) error
	Kill(ctx context.Context, id string) error
	Signal(ctx context.Context, id, signal string) error
	Forget(ctx context.Context, id string) error
	Page(ctx context.Context, params wire.PageParams) (json.RawMessage, error)
	Search(ctx context.Context, params wire.SearchParams) (json.RawMessage, error)
	Recording(ctx context.Context, params wire.RecordingParams) (wire.RecordingResult, error)
}

// ErrNoHolder says that a session's holder has ended.
var ErrNoHolder = errors.New("session has no holder")

// State is what the uplink is doing.
type State string

// States of an uplink.
const (
	// StateConnected: the server said welcome and is alive.
	StateConnected State = "connected"
	// StateReconnecting: the server cannot be reached; attempts go on.
	StateReconnecting State = "reconnecting"
	// StateUnpaired: this host has no server.
	StateUnpaired State = "unpaired"
	// StateRefused: the server or this host refused the link; it is tried
	// again slowly, and LastError says what to do.
	StateRefused State = "refused"
)

// Status is the uplink as `agent-helm ls` shows it.
type Status struct {
	State State `json:"state"`
	// Since is when State began.
	Since time.Time `json:"since"`
	// LastError is why the last attempt or link ended. It stays until a link
	// has proved itself.
	LastError string `json:"last_error,omitempty"`
	// Server is the base URL of the server.
	Server string `json:"server,omitempty"`
	// Host is this host's name as the server shows it.
	Host string `json:"host,omitempty"`
	// RTTMS is the last measured round trip in milliseconds; 0 when unknown.
	RTTMS float64 `json:"rtt_ms,omitempty"`
	// Sessions is how many sessions are announced.
	Sessions int `json:"sessions"`
	// Attempts counts the attempts since the last link that proved itself.
	Attempts int `json:"attempts,omitempty"`
	// Warnings are faults beside the link, such as a session that the server refused.
	Warnings []string `json:"warnings,omitempty"`
}

// Options make an Uplink. Config, Policy and Sessions are required.
type Options struct {
	// Config reads the pairing; daemon.ErrNotPaired when there is none. It is
	// asked before every attempt.
	Config func() (daemon.HostConfig, error)
	// Policy reads the host's policy. It is asked for every frame that the
	// policy decides on, so it should be cheap; see PolicyFile.
	Policy func() (daemon.Policy, error)
	// Sessions are this host's sessions.
	Sessions Sessions
	// Audit records what the server had this host do; nil records nothing.
	Audit *Audit
	// Logger is for operators; nil discards.
	Logger *slog.Logger
	// Version is this program's version, and VT that of internal/vt's state.
	Version string
	VT      int
	// Dial replaces the network, for tests.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Times of redialling. A refusal changes only when somebody acts, so it is
// repeated slowly.
const (
	redialFirst  = 500 * time.Millisecond
	redialMax    = 15 * time.Second
	refusedFirst = 5 * time.Second
	refusedMax   = time.Minute
	unpairedPoll = 5 * time.Second
	dialTimeout  = 20 * time.Second
)

// Uplink keeps one host connected to its server.
type Uplink struct {
	options  Options
	log      *slog.Logger
	instance string
	nudged   chan struct{}

	mu     sync.Mutex
	status Status
	// current is the link being served, nil between two.
	current *link
	// places are the last known positions by session.
	places map[string]wire.SessionInfo
}

// New returns an Uplink; Run makes it work.
func New(options Options) *Uplink {
	var instance [16]byte
	_, _ = rand.Read(instance[:]) // it never fails: the runtime ends the program instead
	log := options.Logger
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Uplink{
		options:  options,
		log:      log,
		instance: hex.EncodeToString(instance[:]),
		nudged:   make(chan struct{}, 1),
		places:   make(map[string]wire.SessionInfo),
		status:   Status{State: StateReconnecting, Since: time.Now()},
	}
}

// Status is a copy of the present state.
func (u *Uplink) Status() Status {
	u.mu.Lock()
	defer u.mu.Unlock()
	status := u.status
	status.Warnings = append([]string(nil), u.status.Warnings...)
	return status
}

// Nudge says that the pairing or the policy may have changed: a link that is
// not wanted any more ends, and a waiting attempt starts now.
func (u *Uplink) Nudge() {
	select {
	case u.nudged <- struct{}{}:
	default:
	}
}

// change applies f to the status and moves Since when the state changed.
func (u *Uplink) change(f func(*Status)) {
	u.mu.Lock()
	defer u.mu.Unlock()
	before := u.status.State
	f(&u.status)
	if u.status.State != before {
		u.status.Since = time.Now()
	}
}

// Run connects and reconnects until ctx ends, whose cause it returns. All
// goroutines of the uplink have ended when it returns.
func (u *Uplink) Run(ctx context.Context) error {
	ordinary := redial.Backoff{First: redialFirst, Max: redialMax}
	refused := redial.Backoff{First: refusedFirst, Max: refusedMax}
	proved := func() {
		ordinary.Reset()
		refused.Reset()
	}
	for {
		ended := u.connect(ctx, proved)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if errors.Is(ended.err, errPairingChanged) {
			u.log.Info("pairing changed")
			continue
		}
		var wait time.Duration
		switch {
		case ended.state == StateUnpaired:
			wait = unpairedPoll
		case ended.state == StateRefused:
			wait = refused.Next()
		case ended.after > 0:
			// The server said when it will be back; come spread over a second
			// more, so that all hosts do not arrive at once.
			wait = ended.after + ordinary.Next()
		default:
			wait = ordinary.Next()
		}
		u.report(ended, wait)
		if err := u.pause(ctx, wait); err != nil {
			return err
		}
	}
}

// report makes the end of an attempt visible.
func (u *Uplink) report(e ended, wait time.Duration) {
	reason := ""
	if e.err != nil {
		reason = e.err.Error()
	}
	level := slog.LevelWarn
	u.change(func(s *Status) {
		if s.State == e.state && s.LastError == reason {
			// A server that is away for days is told of once.
			level = slog.LevelDebug
		}
		s.State, s.RTTMS, s.Attempts, s.LastError = e.state, 0, s.Attempts+1, reason
	})
	if e.state == StateUnpaired {
		return
	}
	u.log.Log(context.Background(), level, "uplink ended", "state", string(e.state), "error", e.err, "retry_in", wait.Round(time.Millisecond))
}

func (u *Uplink) pause(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-u.nudged:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// ended says how an attempt or a link ended.
type ended struct {
	state State
	err   error
	after time.Duration // the server's own word on when to come back
}

// connect makes one attempt and serves the link until it ends.
func (u *Uplink) connect(ctx context.Context, proved func()) ended {
	config, err := u.options.Config()
	switch {
	case errors.Is(err, daemon.ErrNotPaired):
		u.change(func(s *Status) { s.Server, s.Host = "", "" })
		return ended{state: StateUnpaired, err: err}
	case err != nil:
		return ended{state: StateRefused, err: err}
	}
	u.change(func(s *Status) { s.Server, s.Host = config.Server, config.Name })
	if policy, err := u.options.Policy(); err != nil {
		u.warn("policy", err.Error())
	} else if u.warn("policy", ""); !policy.Watch {
		return ended{state: StateRefused, err: errNotWatched}
	}
	socket, err := u.dial(ctx, config)
	if err != nil {
		return classify(err)
	}
	l := newLink(u, config, socket, proved)
	u.setCurrent(l)
	err = l.run(ctx)
	u.setCurrent(nil)
	result := classify(err)
	if result.state == StateRefused && l.problem != "" {
		// A close carries 123 bytes; this is the whole sentence.
		result.err = errors.New(l.problem)
	}
	if l.restart > 0 && result.state == StateReconnecting {
		result.after = l.restart
	}
	return result
}

var errNotWatched = errors.New("the policy of this host turns watching off: run agent-helm policy")

func (u *Uplink) setCurrent(l *link) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.current = l
}

// warn sets or, with an empty text, removes one warning.
func (u *Uplink) warn(topic, text string) {
	u.change(func(s *Status) {
		prefix := topic + ": "
		kept := s.Warnings[:0:0]
		for _, warning := range s.Warnings {
			if len(warning) < len(prefix) || warning[:len(prefix)] != prefix {
				kept = append(kept, warning)
			}
		}
		if text != "" {
			kept = append(kept, prefix+text)
		}
		s.Warnings = kept
	})
}
