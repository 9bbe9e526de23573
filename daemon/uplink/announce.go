package uplink

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/wire"
	"golang.org/x/sync/errgroup"
)

// hello lists the sessions and asks their holders, at once, for what they hold.
func (l *link) hello(ctx context.Context) (*wire.HostHello, error) {
	list, err := l.u.options.Sessions.List(ctx)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	list = limitSessions(list)
	l.u.forgetOthers(list)
	ctx, cancel := context.WithTimeout(ctx, helloTimeout)
	defer cancel()
	infos := make([]wire.SessionInfo, len(list))
	var group errgroup.Group
	for i, item := range list {
		s := l.add(item)
		group.Go(func() error {
			infos[i] = s.describe(ctx, item)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, err
	}
	l.u.change(func(s *Status) { s.Sessions = len(list) })
	return &wire.HostHello{
		Instance: l.u.instance, Version: l.u.options.Version, VT: l.u.options.VT,
		Capabilities: l.capabilities(), Sessions: l.fitting(infos),
	}, nil
}

// fitting is the announcements that one frame takes. The rest are announced
// one by one after the welcome, as if they had just begun.
func (l *link) fitting(infos []wire.SessionInfo) []wire.SessionInfo {
	const room = wire.MaxFrame / 2
	size := 0
	for i, info := range infos {
		if encoded, err := json.Marshal(info); err == nil {
			size += len(encoded)
		}
		if size > room {
			for _, late := range infos[i:] {
				l.drop(l.session(late.Handle))
			}
			return infos[:i]
		}
	}
	return infos
}

// maxAnnounced bounds the sessions of one hello: those that run, and the newest
// of those that ended, so that the hello always fits into a frame.
const maxAnnounced = 4 * daemon.MaxSessions

func limitSessions(list []daemon.Session) []daemon.Session {
	list = slices.Clone(list)
	for i := 0; i < len(list) && len(list) > maxAnnounced; {
		if list[i].State == daemon.StateRunning {
			i++
			continue
		}
		list = slices.Delete(list, i, i+1)
	}
	return list[:min(len(list), maxAnnounced)]
}

// add makes the link's side of a session and gives it a handle.
func (l *link) add(item daemon.Session) *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.handles++
	s := newSession(l, item.ID, l.handles)
	l.sessions[s.handle] = s
	l.byID[s.id] = s
	return s
}

func (l *link) session(handle uint32) *session {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sessions[handle]
}

// drop forgets a session, which ends by itself once cancelled.
func (l *link) drop(s *session) {
	l.mu.Lock()
	delete(l.sessions, s.handle)
	delete(l.byID, s.id)
	l.mu.Unlock()
	s.stop()
	s.closeFirst()
	l.box.remove(s.lane)
	l.u.warn("session "+s.id, "")
}

// capabilities is what the policy lets the server use.
func (l *link) capabilities() []string {
	policy := l.u.policy()
	var list []string
	if policy.Watch {
		list = append(list, "watch")
	}
	if policy.Input {
		list = append(list, "input")
	}
	switch policy.Start {
	case daemon.StartKnown:
		list = append(list, "start")
	case daemon.StartAny:
		list = append(list, "start", "start-any")
	}
	return list
}

// manage announces sessions that come, change and go.
func (l *link) manage(ctx context.Context, changes <-chan struct{}) error {
	select {
	case <-l.ready:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	for {
		if err := l.compare(ctx); err != nil {
			return err
		}
		select {
		case <-changes:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (l *link) compare(ctx context.Context) error {
	list, err := l.u.options.Sessions.List(ctx)
	if err != nil {
		// What is announced stays; a list that fails says nothing of sessions.
		l.u.warn("sessions", err.Error())
		return nil
	}
	l.u.warn("sessions", "")
	present := make(map[string]bool, len(list))
	for _, item := range list {
		present[item.ID] = true
	}
	list = limitSessions(list)
	for _, item := range list {
		l.mu.Lock()
		s := l.byID[item.ID]
		l.mu.Unlock()
		if s != nil {
			if err := s.listed(item.Meta(time.Now())); err != nil {
				return err
			}
			continue
		}
		s = l.add(item)
		describing, cancel := context.WithTimeout(ctx, helloTimeout)
		info := s.describe(describing, item)
		cancel()
		if err := l.box.send(&wire.SessionOpen{SessionInfo: info}); err != nil {
			s.closeFirst()
			return err
		}
		l.group.Go(func() error { return s.run(ctx) })
	}
	for _, s := range l.snapshot() {
		if !present[s.id] {
			l.drop(s)
			if err := l.box.send(&wire.SessionClosed{Handle: s.handle}); err != nil {
				return err
			}
		}
	}
	l.u.change(func(s *Status) { s.Sessions = len(list) })
	return nil
}
