package uplink

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/redial"
	"github.com/agent-helm/agent-helm/internal/wire"
	"golang.org/x/sync/errgroup"
)

// Bounds of what waits for one holder to answer. A holder answers at once or
// says why not, so they are reached only when it is stopped.
const (
	maxWaiting      = 512
	maxWaitingBytes = 1 << 20
	// answerTime is how long an input is kept to be repeated.
	answerTime = 6 * wire.InputLifetime
	// promptInput is the largest input that the link's reader sends itself.
	promptInput = 1 << 10
)

// waiting is a frame for the holder. Inputs and retirements stay until they
// are answered, because the connection to the holder may break in between and
// the person's client would wait for ever; the holder recognises a repetition.
type waiting struct {
	frame   wire.Frame
	arrived time.Time
	sent    bool
	answers bool
}

// inputQueue is the order in which one session's holder gets what people did.
type inputQueue struct {
	// wake is signalled (capacity 1) when there is something to send.
	wake chan struct{}

	mu     sync.Mutex
	list   []*waiting
	bytes  int
	prompt promptSender // see open
	opened time.Time
	// taken counts what next has given out and sentOne has not seen sent yet.
	taken int
}

func newInputQueue() *inputQueue { return &inputQueue{wake: make(chan struct{}, 1)} }

func inputBytes(f wire.Frame) int {
	if input, ok := f.(*wire.Input); ok {
		return len(input.Data)
	}
	return 0
}

// promptSender is a connection to a holder that takes little at once.
type promptSender interface{ TrySend(...wire.Frame) bool }

// open says over which connection inputs may be sent at once; nil for none.
func (q *inputQueue) open(conn promptSender, opened time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.prompt, q.opened = conn, opened
}

// sendNow sends an input that was just queued, if nothing is before it. The
// mutex is held.
func (q *inputQueue) sendNow(w *waiting) bool {
	if q.prompt == nil || q.taken > 0 || len(q.list) > 1 && !q.list[len(q.list)-2].sent || inputBytes(w.frame) > promptInput {
		return false
	}
	w.sent = q.prompt.TrySend(forHolder(w, time.Now(), q.opened))
	return w.sent
}

// add queues a frame; false says that the queue is full and nothing was done.
func (q *inputQueue) add(f wire.Frame, arrived time.Time) bool {
	_, isInput := f.(*wire.Input)
	_, isRetire := f.(*wire.Retire)
	q.mu.Lock()
	defer q.mu.Unlock()
	// A holder that has not answered for so long will not; what it may still
	// say is passed on all the same.
	q.settle(func(w *waiting) bool { return w.sent && arrived.Sub(w.arrived) > answerTime })
	limit := maxWaiting
	if isRetire {
		// A retirement is how a client gets out of a full queue.
		limit *= 2
	}
	if len(q.list) >= limit || isInput && q.bytes > 0 && q.bytes+inputBytes(f) > maxWaitingBytes {
		return false
	}
	w := &waiting{frame: f, arrived: arrived, answers: isInput || isRetire}
	q.list = append(q.list, w)
	q.bytes += inputBytes(f)
	if isInput && q.sendNow(w) {
		return true
	}
	select {
	case q.wake <- struct{}{}:
	default:
	}
	return true
}

// next returns the first frame that was not sent on this connection, marked as
// sent, or nil.
func (q *inputQueue) next() *waiting {
	q.mu.Lock()
	defer q.mu.Unlock()
	for i, w := range q.list {
		if w.sent {
			continue
		}
		w.sent = true
		q.taken++
		if !w.answers {
			q.remove(i)
		}
		return w
	}
	return nil
}

// sentOne says that what next gave out is on its way.
func (q *inputQueue) sentOne() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken--
}

// remove is called with the mutex held.
func (q *inputQueue) remove(i int) {
	q.bytes -= inputBytes(q.list[i].frame)
	q.list = append(q.list[:i], q.list[i+1:]...)
}

// repeat marks everything as not sent, for a new connection.
func (q *inputQueue) repeat() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.taken = 0
	for _, w := range q.list {
		w.sent = false
	}
}

// answered removes what an acknowledgement settles. A holder answers a client's
// inputs in order; what was applied settles everything before it, and a
// retirement settles everything of the client that it was sent.
func (q *inputQueue) answered(ack *wire.InputAck) {
	q.mu.Lock()
	defer q.mu.Unlock()
	own := func(w *waiting) (*wire.Input, bool) {
		input, ok := w.frame.(*wire.Input)
		return input, ok && w.sent && input.Client == ack.Client
	}
	switch ack.Status {
	case wire.InputApplied:
		q.settle(func(w *waiting) bool {
			input, ok := own(w)
			return ok && input.Seq <= ack.Seq
		})
		return
	case wire.InputRetired:
		q.settle(func(w *waiting) bool {
			retire, isRetire := w.frame.(*wire.Retire)
			_, isInput := own(w)
			return isInput || isRetire && w.sent && retire.Client == ack.Client
		})
		return
	}
	// A gap names the last one applied; every other refusal the input itself.
	named := func(w *waiting) bool {
		input, ok := own(w)
		return ok && input.Seq == ack.Seq && ack.Status != wire.InputGap
	}
	if q.settle(named) > 0 {
		return
	}
	for i, w := range q.list {
		if input, ok := own(w); ok && input.Seq > ack.Seq {
			q.remove(i)
			return
		}
	}
}

// settle removes everything that fits and says how much that was. The mutex is
// held.
func (q *inputQueue) settle(fits func(*waiting) bool) (removed int) {
	q.list = slices.DeleteFunc(q.list, func(w *waiting) bool {
		if !fits(w) {
			return false
		}
		q.bytes -= inputBytes(w.frame)
		removed++
		return true
	})
	return removed
}

// drain empties the queue and returns what was in it.
func (q *inputQueue) drain() []*waiting {
	q.mu.Lock()
	defer q.mu.Unlock()
	list := q.list
	q.list, q.bytes = nil, 0
	return list
}

// serveInput keeps the connection that carries input to the holder and its
// answers back.
func (s *session) serveInput(ctx context.Context) error {
	backoff := redial.Backoff{First: holderFirst, Max: holderMax}
	conn := s.takeFirst()
	for {
		var err error
		if conn == nil {
			conn, err = s.dialForInput(ctx)
		}
		if err == nil {
			backoff.Reset()
			s.inputs.repeat()
			s.setLive(true)
			err = s.exchange(ctx, conn)
			s.setLive(false)
		}
		conn = nil
		if ctx.Err() != nil {
			return nil
		}
		if errors.Is(err, errPeerStopped) {
			return err
		}
		wait := time.After(backoff.Next())
		if errors.Is(err, ErrNoHolder) {
			// Nobody will ever write this; the person is told at once.
			if err := s.refuseAll(); err != nil {
				return err
			}
			select {
			case <-s.inputs.wake:
				continue
			case <-ctx.Done():
				return nil
			}
		}
		select {
		case <-wait:
		case <-ctx.Done():
			return nil
		}
	}
}

func (s *session) dialForInput(ctx context.Context) (Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialHolder)
	defer cancel()
	return s.link.u.options.Sessions.Dial(ctx, s.id)
}

// refuseAll answers everything that waits for a holder that is gone.
func (s *session) refuseAll() error {
	for _, w := range s.inputs.drain() {
		ack := &wire.InputAck{Handle: s.handle, Status: wire.InputEnded}
		switch f := w.frame.(type) {
		case *wire.Input:
			ack.Client, ack.Seq = f.Client, f.Seq
		case *wire.Retire:
			ack.Client = f.Client
		default:
			continue
		}
		if err := s.link.box.send(ack); err != nil {
			return err
		}
	}
	return nil
}

// exchange serves one connection until it breaks.
func (s *session) exchange(ctx context.Context, conn Conn) error {
	opened := time.Now()
	if err := s.updateMeta(conn.Welcome().Session.Meta); err != nil {
		return errors.Join(err, conn.Close())
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		<-ctx.Done()
		return conn.Close()
	})
	group.Go(func() error { return s.sendInputs(ctx, conn, opened) })
	defer s.inputs.open(nil, opened)
	group.Go(func() error {
		for {
			f, err := conn.Receive()
			if err != nil {
				return fmt.Errorf("read from holder: %w", err)
			}
			if err := s.passBack(f); err != nil {
				return err
			}
		}
	})
	return group.Wait()
}

func (s *session) sendInputs(ctx context.Context, conn Conn, opened time.Time) error {
	prompt, _ := conn.(promptSender)
	s.inputs.open(prompt, opened)
	for {
		w := s.inputs.next()
		if w == nil {
			select {
			case <-s.inputs.wake:
			case <-ctx.Done():
				return nil
			}
			continue
		}
		if err := conn.Send(forHolder(w, time.Now(), opened)); err != nil {
			return fmt.Errorf("write to holder: %w", err)
		}
		s.inputs.sentOne()
	}
}

// forHolder is the frame in the holder's dialect. An input has become older
// while it waited here.
func forHolder(w *waiting, now, opened time.Time) wire.Frame {
	switch f := w.frame.(type) {
	case *wire.Input:
		own := *f
		own.Handle = 0
		own.Age = older(f.Age, longest(elapsed(w.arrived, now)))
		own.Sent = milliseconds(now.Sub(opened))
		return &own
	case *wire.Retire:
		return &wire.Retire{Client: f.Client}
	case *wire.ClaimSize:
		own := *f
		own.Handle = 0
		return &own
	case *wire.ReleaseSize:
		return &wire.ReleaseSize{Client: f.Client}
	case *wire.Presence:
		own := *f
		own.Handle = 0
		return &own
	}
	return w.frame
}

func older(age uint32, by time.Duration) uint32 {
	return uint32(min(uint64(age)+uint64(milliseconds(by)), 1<<32-1))
}

// passBack hands a holder's answer to the server with the link's handle.
func (s *session) passBack(f wire.Frame) error {
	switch f := f.(type) {
	case *wire.InputAck:
		s.inputs.answered(f)
		own := *f
		own.Handle = s.handle
		return s.link.box.sendAck(&own)
	case *wire.SizeOwner:
		own := *f
		own.Handle = s.handle
		return s.link.box.send(&own)
	case *wire.SessionUpdate:
		return s.updateMeta(f.Meta)
	}
	return nil
}

// input passes one input to its holder, if the policy allows.
func (l *link) input(f *wire.Input, arrived time.Time) error {
	// Observed even when refused: each reading makes the best one better.
	f.Age = older(f.Age, l.delay.Observe(f.Sent, arrived.Sub(l.opened)))
	refuse := func(status wire.InputStatus) error {
		return l.box.send(&wire.InputAck{Handle: f.Handle, Client: f.Client, Seq: f.Seq, Status: status})
	}
	if !l.u.policy().Input {
		l.u.options.Audit.refused("input", l.sessionID(f.Handle), "")
		return refuse(wire.InputForbidden)
	}
	s := l.session(f.Handle)
	switch {
	case s == nil:
		return refuse(wire.InputEnded)
	case !s.inputs.add(f, arrived):
		return refuse(wire.InputBlocked)
	}
	l.u.options.Audit.input(s.id, f.Client)
	return nil
}

// retire passes a retirement on, whatever the policy says: it writes nothing
// and tells the person what was applied.
func (l *link) retire(f *wire.Retire, arrived time.Time) error {
	s := l.session(f.Handle)
	if s == nil {
		return l.box.send(&wire.InputAck{Handle: f.Handle, Client: f.Client, Status: wire.InputEnded})
	}
	if !s.inputs.add(f, arrived) {
		return l.box.send(&wire.InputAck{Handle: f.Handle, Client: f.Client, Status: wire.InputBlocked})
	}
	return nil
}

// passOn hands a frame without an answer to a holder; sizes and presence act
// on the program and are input for the policy.
func (l *link) passOn(handle uint32, f wire.Frame, arrived time.Time) {
	if !l.u.policy().Input {
		return
	}
	if s := l.session(handle); s != nil {
		s.inputs.add(f, arrived)
	}
}

func (l *link) sessionID(handle uint32) string {
	if s := l.session(handle); s != nil {
		return s.id
	}
	return ""
}

// policy is the host's policy with the lock applied. One that cannot be read
// allows nothing but watching.
func (u *Uplink) policy() daemon.Policy {
	policy, err := u.options.Policy()
	if err != nil {
		u.warn("policy", err.Error())
		return daemon.Policy{Watch: true, Start: daemon.StartOff}
	}
	return policy.Effective()
}
