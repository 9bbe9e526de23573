package fleet

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/agent-helm/agent-helm/internal/logging"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/session"
)

const (
	// recordAfter is how long a changed record waits for more changes.
	recordAfter = time.Second
	// snapshotEvery is the shortest time between two saved terminals of one
	// session, unless it ends: a host that comes and goes must not wear out the
	// disk.
	snapshotEvery = 5 * time.Minute
	// retryAfter is how long a failed save waits.
	retryAfter = 30 * time.Second
	// seenEvery is how often it is written that a host is still here.
	seenEvery = 10 * time.Minute
)

// saver writes to the store what survives the server: a session's record when
// it changes in what a list shows of it, its terminal when it ends or its host
// leaves, and when hosts were last seen. One goroutine does all writing, so
// that nobody waits for the disk.
type saver struct {
	fleet *Fleet
	wake  chan struct{}
	done  chan struct{}

	mu       sync.Mutex
	sessions map[*entry]*saved          // guarded by mu
	hosts    map[string]server.HostSeen // guarded by mu
}

// saved is what is on disk of a session and what should be.
type saved struct {
	record     server.SessionRecord // durable part
	position   wire.Position        // of the saved terminal
	snapshotAt time.Time
	// recordDue and snapshotDue are zero when nothing is.
	recordDue, snapshotDue time.Time
}

func newSaver(f *Fleet) *saver {
	return &saver{
		fleet: f,
		wake:  make(chan struct{}, 1), done: make(chan struct{}),
		sessions: map[*entry]*saved{}, hosts: map[string]server.HostSeen{},
	}
}

// durable is what makes a record worth writing again. The rest is written along.
func durable(r server.SessionRecord) server.SessionRecord {
	return server.SessionRecord{
		SessionKey: r.SessionKey, Name: r.Name, Command: r.Command, Agent: r.Agent,
		State: r.State, LostReason: r.LostReason, CreatedAt: r.CreatedAt.Truncate(time.Minute),
	}
}

// known says that a record was read from the store.
func (s *saver) known(e *entry, record server.SessionRecord) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions[e] = &saved{record: durable(record)}
}

// changed looks whether a session's change is worth a write.
func (s *saver) changed(e *entry, summary session.Summary) {
	record := durable(summary.Record())
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.of(e)
	if p.record.State == record.State && p.record.Name == record.Name && p.record.Command == record.Command &&
		p.record.Agent == record.Agent && p.record.LostReason == record.LostReason {
		return
	}
	now := time.Now()
	if record.State.Ended() && p.record.State != record.State {
		p.snapshotDue = now
	}
	p.record = record
	if p.recordDue.IsZero() {
		p.recordDue = now.Add(recordAfter)
	}
	s.nudge()
}

// of is the bookkeeping of a session. The caller holds mu.
func (s *saver) of(e *entry) *saved {
	p := s.sessions[e]
	if p == nil {
		p = &saved{}
		s.sessions[e] = p
	}
	return p
}

// parted says that a session's host left: its terminal stands still now.
func (s *saver) parted(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p, now := s.of(e), time.Now()
	p.recordDue = now
	p.snapshotDue = now
	if next := p.snapshotAt.Add(snapshotEvery); next.After(now) {
		p.snapshotDue = next
	}
	s.nudge()
}

// forget drops a session that was removed.
func (s *saver) forget(e *entry) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, e)
}

// seen says that a host was connected.
func (s *saver) seen(id string, at time.Time, version string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hosts[id] = server.HostSeen{ID: id, At: at, Version: version}
	s.nudge()
}

func (s *saver) nudge() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

func (s *saver) run() {
	defer close(s.done)
	timer := time.NewTimer(seenEvery)
	defer timer.Stop()
	here := time.NewTicker(seenEvery)
	defer here.Stop()
	for {
		select {
		case <-s.fleet.ctx.Done():
			return
		case <-s.wake:
		case <-timer.C:
		case <-here.C:
			s.seeConnected()
		}
		next := s.write(s.fleet.ctx, time.Now())
		timer.Reset(next)
	}
}

// seeConnected notes that the hosts that are connected still are.
func (s *saver) seeConnected() {
	f := s.fleet
	now := time.Now()
	f.mu.Lock()
	defer f.mu.Unlock()
	for id, h := range f.hosts {
		if h.link != nil {
			s.seen(id, now, h.record.Version)
		}
	}
}

// write does what is due and returns how long nothing more is.
func (s *saver) write(ctx context.Context, now time.Time) time.Duration {
	s.writeHosts(ctx)
	wait := seenEvery
	type task struct {
		entry            *entry
		record, snapshot bool
	}
	var tasks []task
	s.mu.Lock()
	for e, p := range s.sessions {
		t := task{entry: e}
		if !p.recordDue.IsZero() && !p.recordDue.After(now) {
			t.record, p.recordDue = true, time.Time{}
		}
		if !p.snapshotDue.IsZero() && !p.snapshotDue.After(now) {
			t.record, t.snapshot = true, true
			p.recordDue, p.snapshotDue = time.Time{}, time.Time{}
		}
		if t.record || t.snapshot {
			tasks = append(tasks, t)
		}
		for _, due := range []time.Time{p.recordDue, p.snapshotDue} {
			if !due.IsZero() {
				wait = min(wait, due.Sub(now))
			}
		}
	}
	s.mu.Unlock()
	for _, t := range tasks {
		if err := s.save(ctx, t.entry, t.snapshot); err != nil && ctx.Err() == nil {
			s.failed(t.entry, t.snapshot, err)
			wait = min(wait, retryAfter)
		}
	}
	return max(wait, 0)
}

func (s *saver) writeHosts(ctx context.Context) {
	s.mu.Lock()
	hosts := make([]server.HostSeen, 0, len(s.hosts))
	for _, seen := range s.hosts {
		hosts = append(hosts, seen)
	}
	clear(s.hosts)
	s.mu.Unlock()
	if len(hosts) == 0 {
		return
	}
	if err := s.fleet.config.Store.SeeHosts(ctx, hosts); err != nil && ctx.Err() == nil {
		s.fleet.logger.Error("hosts not saved", logging.KeyError, err.Error())
	}
}

// failed notes that a save is to be tried again.
func (s *saver) failed(e *entry, snapshot bool, err error) {
	s.fleet.logger.Error("session not saved", logging.KeyHost, e.key.Host, logging.KeySession, e.key.ID, logging.KeyError, err.Error())
	again := time.Now().Add(retryAfter)
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.sessions[e]
	if p == nil {
		return
	}
	p.recordDue = again
	if snapshot {
		p.snapshotDue = again
	}
}

// save writes a session's record and, if wanted and it moved, its terminal. A
// session that was removed meanwhile is no fault.
func (s *saver) save(ctx context.Context, e *entry, snapshot bool) error {
	summary, err := e.session.Summary(ctx)
	if err != nil {
		return ignoreGone(err)
	}
	if err := s.fleet.config.Store.PutSession(ctx, summary.Record()); err != nil {
		return ignoreGone(err)
	}
	if !snapshot {
		return nil
	}
	position, err := e.session.Position(ctx)
	if err != nil {
		return ignoreGone(err)
	}
	s.mu.Lock()
	p := s.of(e)
	moved := p.snapshotAt.IsZero() || p.position != position
	s.mu.Unlock()
	if moved {
		saved, ok, err := e.session.Snapshot(ctx)
		if err != nil {
			return ignoreGone(err)
		}
		if !ok {
			return nil
		}
		if err := s.fleet.config.Store.PutSnapshot(ctx, e.key, saved); err != nil {
			return ignoreGone(err)
		}
		position = saved.Position
		s.mu.Lock()
		p.position, p.snapshotAt = saved.Position, saved.At
		s.mu.Unlock()
	}
	_, err = e.session.Rest(ctx, position)
	return ignoreGone(err)
}

func ignoreGone(err error) error {
	switch code := server.CodeOf(err); {
	case errors.Is(err, session.ErrClosed), code == server.CodeUnknownHost, code == server.CodeUnknownSession:
		return nil
	}
	return err
}

// finish saves everything for the last time.
func (s *saver) finish(ctx context.Context, entries []*entry) error {
	<-s.done
	s.seeConnected()
	s.writeHosts(ctx)
	var faults []error
	for _, e := range entries {
		s.mu.Lock()
		p := s.of(e)
		position, saved := p.position, !p.snapshotAt.IsZero()
		due := !p.recordDue.IsZero() || !p.snapshotDue.IsZero()
		s.mu.Unlock()
		now, err := e.session.Position(ctx)
		if err == nil && (due || !saved || now != position) {
			err = s.save(ctx, e, true)
		}
		if err != nil {
			faults = append(faults, err)
		}
	}
	return errors.Join(faults...)
}
