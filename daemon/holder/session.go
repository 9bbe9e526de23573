package holder

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/pty"
	"github.com/agent-helm/agent-helm/internal/logging"
	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
)

const (
	// readSize is how much output is taken in at once: large enough to make few
	// steps of a flood, small enough that nobody waits for the lock.
	readSize = 32 << 10
	// resizeInterval is the shortest time between two sizes, so that dragging a
	// window sends the program a few SIGWINCH and not hundreds.
	resizeInterval = 80 * time.Millisecond
	// drainTime bounds how long output is awaited after the program ended, from
	// other processes that still have its terminal.
	drainTime = 2 * time.Second
	// minReopen and maxReopen are how often a terminal that nobody has open is
	// looked at while its program still runs.
	minReopen = 10 * time.Millisecond
	maxReopen = 500 * time.Millisecond
	// minColumns is the narrowest terminal that internal/vt emulates.
	minColumns = 2
)

// session is the program, its terminal and everybody who is connected.
type session struct {
	// Static after start.
	dirs    daemon.Dirs
	spec    daemon.Spec // without the environment
	process *pty.Process
	inputs  *inputs
	logger  *slog.Logger
	started time.Time

	// resizeWanted tells the reading goroutine to apply want.
	resizeWanted atomic.Bool
	// draining tells it to stop at the next interruption.
	draining atomic.Bool
	// lastBusy is when much memory was last needed, for output or a snapshot, in
	// Unix nanoseconds.
	lastBusy atomic.Int64

	// ended is closed when exit is set and its record is on disk.
	ended chan struct{}
	// routines are the session's goroutines that the holder waits for.
	routines sync.WaitGroup

	// Guarded by mu.
	mu          sync.Mutex
	name        string
	terminal    *vt.Terminal
	log         *outputLog
	sizes       *sizes
	cols, rows  uint16 // in force
	want        [2]uint16
	lastResize  time.Time
	resizeTimer *time.Timer
	leaseTimer  *time.Timer
	focused     bool
	intruder    string // a warning about a program of this session
	exit        *daemon.Exit
	connections map[*connection]struct{} // past their hello
	sockets     map[*net.UnixConn]struct{}
	// served says that somebody has attached; lastGone is when the last reader left.
	served   bool
	lastGone time.Time
	scratch  []byte // for reading the log
	killing  bool
}

// start begins to read and write. The program runs already.
func (s *session) start() {
	s.ended = make(chan struct{})
	s.connections = make(map[*connection]struct{})
	s.sockets = make(map[*net.UnixConn]struct{})
	s.scratch = make([]byte, wire.MaxOutput)
	s.terminal = newTerminal(s.spec.Cols, s.spec.Rows)
	s.sizes = newSizes(s.spec.Cols, s.spec.Rows)
	s.cols, s.rows = s.spec.Cols, s.spec.Rows
	s.want = [2]uint16{s.cols, s.rows}
	s.inputs = newInputs(s.process, inputRules{encode: s.encode, pause: s.pause, blocked: s.inputBlocked})
	s.routines.Go(s.inputs.run)
	s.routines.Go(s.read)
}

// newTerminal is a holder's terminal: all of one session's must be made alike.
func newTerminal(cols, rows uint16) *vt.Terminal {
	return vt.New(vt.Options{Cols: int(cols), Rows: int(rows), Scrollback: daemon.HistoryLines, Archive: daemon.ArchiveBytes})
}

// read takes the program's output until it has ended, then records the end.
func (s *session) read() {
	buffer := make([]byte, readSize)
	wait := minReopen
	for {
		n, err := s.process.Read(buffer)
		if n > 0 {
			s.take(buffer[:n])
			wait = minReopen
		}
		if errors.Is(err, pty.ErrInterrupted) {
			if s.draining.Load() {
				break
			}
			err = s.process.Continue()
		}
		// Looked at after Continue: an interruption that Continue lifted was
		// announced before it.
		if s.resizeWanted.Swap(false) {
			s.applySize()
		}
		if err == nil {
			continue
		}
		if !errors.Is(err, io.EOF) {
			s.logger.Warn("terminal cannot be read", logging.KeyError, err)
		}
		// Nobody has the terminal open: the program has ended, or is between
		// closing and opening it.
		pause := time.NewTimer(wait)
		select {
		case <-s.process.Exited():
			pause.Stop()
			s.takeRest(buffer)
		case <-pause.C:
			wait = min(2*wait, maxReopen)
			continue
		}
		break
	}
	<-s.process.Exited()
	s.finish()
}

// takeRest takes what a program printed between opening its terminal again and
// ending, while nobody was reading.
func (s *session) takeRest(buffer []byte) {
	for {
		n, err := s.process.Read(buffer)
		if n == 0 || err != nil {
			return
		}
		s.take(buffer[:n])
	}
}

// drain ends reading some time after the program has ended, in case another
// process keeps its terminal open.
func (s *session) drain() {
	<-s.process.Exited()
	timer := time.NewTimer(drainTime)
	defer timer.Stop()
	select {
	case <-s.ended:
	case <-timer.C:
		s.draining.Store(true)
		_ = s.process.Interrupt() // a closed terminal needs none
	}
}

// take feeds output to the terminal and the log, and answers its queries.
func (s *session) take(output []byte) {
	s.mu.Lock()
	before, warning := s.log.End(), s.log.Warning()
	s.log.Append(output)
	s.deliver(before, output)                           // readers need not wait for our own terminal
	s.guard(func() { _, _ = s.terminal.Write(output) }) // it never fails
	replies := s.terminal.TakeReplies()
	if s.log.wantsKeyframe() {
		s.guard(func() { s.log.keyframe(s.cols, s.rows, s.terminal.Repaint()) })
	}
	changed := warning != s.log.Warning()
	if changed {
		s.broadcastUpdate()
	}
	s.wakeReaders()
	s.mu.Unlock()
	s.lastBusy.Store(time.Now().UnixNano())
	s.inputs.reply(replies)
	if len(output) > promptOutput {
		// A flood fills the buffer anew by itself: the readers' turn.
		runtime.Gosched()
	}
}

// guard runs a step of the terminal. Should that fail, the session goes on with
// an empty terminal: the program's work is worth more than its screen.
func (s *session) guard(step func()) {
	defer func() {
		if fault := recover(); fault != nil {
			s.logger.Error("terminal failed and was emptied", logging.KeyError, fmt.Sprint(fault), "stack", string(debug.Stack()))
			s.terminal = newTerminal(s.cols, s.rows)
		}
	}()
	step()
}

// requestSize asks the reading goroutine for a size, at most one in a
// resizeInterval, and none at all when it is back to what it was.
func (s *session) requestSize(cols, rows uint16) {
	s.want = [2]uint16{max(cols, minColumns), rows}
	if s.resizeTimer != nil {
		return // it will look at want
	}
	if s.want == [2]uint16{s.cols, s.rows} {
		return
	}
	if wait := time.Until(s.lastResize.Add(resizeInterval)); wait > 0 {
		s.resizeTimer = time.AfterFunc(wait, s.interruptForSize)
		return
	}
	s.resizeWanted.Store(true)
	_ = s.process.Interrupt() // a closed terminal has no size
}

func (s *session) interruptForSize() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.resizeTimer = nil
	s.resizeWanted.Store(true)
	_ = s.process.Interrupt() // as above
}

// applySize sets the wanted size between two reads: window size, mark, read on.
func (s *session) applySize() {
	s.mu.Lock()
	defer s.mu.Unlock()
	cols, rows := s.want[0], s.want[1]
	if cols == s.cols && rows == s.rows {
		return
	}
	if err := s.process.Resize(cols, rows); err != nil {
		s.logger.Warn("window size cannot be set", logging.KeyError, err)
		return
	}
	s.cols, s.rows, s.lastResize = cols, rows, time.Now()
	s.log.Mark(cols, rows)
	s.guard(func() { s.terminal.Resize(int(cols), int(rows)) })
	s.wakeReaders()
}

// sizesChanged acts on a change of claims or presence. It also arms the timer
// for the next lease to end and tells the program about the focus.
func (s *session) sizesChanged(owner bool) {
	if s.exit != nil {
		return
	}
	now := time.Now()
	if owner {
		s.broadcast(s.sizeOwner())
		current := s.sizes.owner()
		s.requestSize(current.cols, current.rows)
	}
	if focused := s.sizes.focused(now); focused != s.focused {
		s.focused = focused
		if s.terminal.Modes().FocusEvents {
			s.inputs.interject(focusReport(focused))
		}
	}
	if next := s.sizes.nextExpiry(); !next.IsZero() {
		if s.leaseTimer == nil {
			s.leaseTimer = time.AfterFunc(time.Until(next), s.expireLeases)
		} else {
			s.leaseTimer.Reset(time.Until(next))
		}
	}
}

func focusReport(focused bool) []byte {
	if focused {
		return []byte("\x1b[I")
	}
	return []byte("\x1b[O")
}

func (s *session) expireLeases() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sizesChanged(s.sizes.expire(time.Now()))
}

func (s *session) sizeOwner() *wire.SizeOwner {
	owner := s.sizes.owner()
	return &wire.SizeOwner{Client: owner.client, Kind: owner.kind, Cols: owner.cols, Rows: owner.rows}
}

// info describes the session. The lock is held.
func (s *session) info() wire.SessionInfo {
	return wire.SessionInfo{
		ID: s.spec.ID, Start: s.log.Start(), End: s.log.End(), Cols: s.cols, Rows: s.rows, Meta: s.meta(),
	}
}

func (s *session) meta() wire.SessionMeta {
	meta := wire.SessionMeta{
		Name: s.name, Command: s.spec.Command(), Cwd: s.spec.Cwd, Agent: s.spec.Agent,
		AgeMS: time.Since(s.spec.Created).Milliseconds(), State: string(daemon.StateRunning),
		InputBlocked: s.exit == nil && s.inputs.isStuck(), Warning: s.log.Warning(),
	}
	if meta.Warning == "" {
		meta.Warning = s.intruder
	}
	if s.exit != nil {
		meta.State, meta.ExitSignal = string(daemon.StateExited), s.exit.Signal
		if s.exit.Signal == "" {
			code := s.exit.Code
			meta.ExitCode = &code
		}
	}
	return meta
}

// inputBlocked is called by the writing goroutine.
func (s *session) inputBlocked(bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broadcastUpdate()
}

func (s *session) broadcastUpdate() { s.broadcast(&wire.SessionUpdate{Meta: s.meta()}) }

// broadcast queues a frame for everybody who said hello. The lock is held.
func (s *session) broadcast(frame wire.Frame) {
	for c := range s.connections {
		c.send(frame)
	}
}

func (s *session) wakeReaders() {
	for c := range s.connections {
		if c.stream.attached && (c.stream.position != s.log.End() || s.exit != nil) {
			c.signal()
		}
	}
}

// encode turns an input into bytes by the modes of this moment. The writing
// goroutine calls it.
func (s *session) encode(kind wire.InputKind, data []byte) ([]byte, error) {
	s.mu.Lock()
	modes := s.terminal.Modes()
	s.mu.Unlock()
	switch kind {
	case wire.InputBytes:
		return data, nil
	case wire.InputKeys:
		return encodeKeys(string(data), modes)
	case wire.InputPaste:
		return vt.EncodePaste(string(data), modes), nil
	case wire.InputSubmit:
		if !s.submitProfile().Bracketed {
			modes.BracketedPaste = false
		}
		return vt.EncodePaste(string(data), modes), nil
	}
	return nil, errInvalidInput
}

func (s *session) pause(bytes int) time.Duration { return s.submitProfile().PauseFor(bytes) }
