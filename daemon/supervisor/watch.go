package supervisor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"syscall"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"golang.org/x/sync/errgroup"
)

// mark is what changes when a session's files do, at the price of a stat.
type mark struct {
	directory, spec, exit time.Time
}

func (s *Supervisor) markOf(id string) mark {
	directory := s.dirs.SessionDir(id)
	return mark{modified(directory), modified(filepath.Join(directory, "spec.json")), modified(filepath.Join(directory, "exit.json"))}
}

func modified(path string) time.Time {
	info, err := os.Lstat(path)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// Nudge makes Run look at once.
func (s *Supervisor) Nudge() {
	select {
	case s.nudge <- struct{}{}:
	default:
	}
}

// Subscribe returns a channel that is signalled after List would answer
// something else; several changes may be one signal. cancel ends it. Only Run
// makes signals.
func (s *Supervisor) Subscribe() (changes <-chan struct{}, cancel func()) {
	c := make(chan struct{}, 1)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.subscribers[c] = struct{}{}
	return c, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.subscribers, c)
	}
}

// Run watches the sessions until ctx ends, and returns its cause. It adopts at
// once what is there.
func (s *Supervisor) Run(ctx context.Context) error {
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.known = nil
	}()
	ticker := time.NewTicker(scanInterval)
	defer ticker.Stop()
	refreshed := time.Now()
	all := true
	for {
		if err := s.scan(ctx, all); err != nil && ctx.Err() == nil {
			s.log.Warn("sessions cannot be listed", "error", err)
		}
		if all {
			refreshed = time.Now()
		}
		select {
		case <-ticker.C:
			all = time.Since(refreshed) >= refreshInterval
		case <-s.nudge:
			all = true
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// scan compares the state directory with what is known and asks about what
// changed, or about everything.
func (s *Supervisor) scan(ctx context.Context, all bool) error {
	ids, err := s.dirs.SessionIDs()
	if err != nil {
		return err
	}
	s.mu.Lock()
	before := s.known
	s.mu.Unlock()
	next := make([]*known, len(ids))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(inspectors)
	for i, id := range ids {
		// The mark is taken first: a change in between is seen the next time.
		now := s.markOf(id)
		old, seen := before[id]
		if seen && !all && old.mark == now && stillTrue(old.session) {
			next[i] = &old
			continue
		}
		group.Go(func() error {
			session, err := s.inspect(ctx, id)
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case errors.Is(err, ErrUnknownSession):
				return nil
			case err != nil:
				return err
			}
			next[i] = &known{session: session, mark: now}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	after := make(map[string]known, len(ids))
	for i, k := range next {
		if k != nil {
			after[ids[i]] = *k
		}
	}
	s.publish(before, after)
	return nil
}

// stillTrue is the cheap half of "does its holder live": a session that ended
// stays ended, and one whose holder's process is gone has to be looked at. One
// that does not answer is asked again.
func stillTrue(session daemon.Session) bool {
	if session.State != daemon.StateRunning {
		return true
	}
	if !session.Online {
		return false
	}
	if session.HolderPID <= 0 {
		return true
	}
	return !errors.Is(syscall.Kill(session.HolderPID, 0), syscall.ESRCH)
}

func (s *Supervisor) publish(before, after map[string]known) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known = after
	changed := before == nil || len(before) != len(after)
	for id, k := range after {
		old, seen := before[id]
		if !seen || !reflect.DeepEqual(old.session, k.session) {
			changed = true
			s.logChange(old.session, k.session, seen)
		}
	}
	if !changed {
		return
	}
	for c := range s.subscribers {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

func (s *Supervisor) logChange(old, now daemon.Session, seen bool) {
	switch {
	case !seen && now.State == daemon.StateRunning:
		s.log.Info("session found", "session", now.ID)
	case seen && old.State != now.State:
		s.log.Info("session ended", "session", now.ID, "state", string(now.State), "reason", now.LostReason)
	}
	if now.Warning != "" && now.Warning != old.Warning {
		s.log.Warn("session has a warning", "session", now.ID, "warning", now.Warning)
	}
}
