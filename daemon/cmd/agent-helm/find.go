package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/posener/complete"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/holder"
	"github.com/agent-helm/agent-helm/daemon/supervisor"
)

// filter chooses sessions.
type filter func(daemon.Session) bool

func anySession(daemon.Session) bool       { return true }
func runningSession(s daemon.Session) bool { return s.State == daemon.StateRunning }
func endedSession(s daemon.Session) bool   { return s.State != daemon.StateRunning }

// sessions opens the supervisor of this installation.
func (a *app) sessions() (*supervisor.Supervisor, error) {
	dirs, err := a.dirs()
	if err != nil {
		return nil, err
	}
	return supervisor.Open(dirs, nil)
}

// find returns the session that a person means by name or id. An id or name
// given in full wins; then a prefix, if only one session has it. Of several
// those that suit the command are meant; of several with one name the one that
// runs, or else the newest.
func find(list []daemon.Session, reference string, suits filter) (daemon.Session, error) {
	matches := matching(list, func(s daemon.Session) bool { return s.ID == reference })
	if len(matches) == 0 {
		matches = matching(list, func(s daemon.Session) bool { return s.Name == reference })
	}
	if len(matches) == 0 && reference != "" {
		matches = matching(list, func(s daemon.Session) bool {
			return strings.HasPrefix(s.Name, reference) || strings.HasPrefix(s.ID, strings.ToLower(reference))
		})
	}
	if len(matches) > 1 {
		if suiting := matching(matches, suits); len(suiting) > 0 {
			matches = suiting
		}
	}
	switch len(matches) {
	case 0:
		return daemon.Session{}, notFound("no session is called %q: agent-helm ls lists them", clean(reference, 80))
	case 1:
		return matches[0], nil
	}
	if sameName(matches) {
		switch running := matching(matches, runningSession); len(running) {
		case 0:
			return matches[len(matches)-1], nil // the newest: ids sort by age
		case 1:
			return running[0], nil
		}
	}
	var ids []string
	for _, s := range matches {
		ids = append(ids, fmt.Sprintf("%s (%s)", clean(s.Name, 40), s.ID))
	}
	return daemon.Session{}, notFound("%q could be %s: write more of it, or the id", clean(reference, 80), strings.Join(ids, ", "))
}

func matching(list []daemon.Session, suits filter) []daemon.Session {
	var found []daemon.Session
	for _, s := range list {
		if suits(s) {
			found = append(found, s)
		}
	}
	return found
}

func sameName(list []daemon.Session) bool {
	for _, s := range list {
		if s.Name != list[0].Name {
			return false
		}
	}
	return true
}

// findSession lists the sessions and finds one of them.
func (a *app) findSession(ctx context.Context, reference string, suits filter) (*supervisor.Supervisor, daemon.Session, error) {
	sessions, err := a.sessions()
	if err != nil {
		return nil, daemon.Session{}, err
	}
	list, err := sessions.List(ctx)
	if err != nil {
		return nil, daemon.Session{}, err
	}
	session, err := find(list, reference, suits)
	return sessions, session, err
}

// findOnly is findSession for a reference that may be left out when only one
// session suits.
func (a *app) findOnly(ctx context.Context, reference string, suits filter) (daemon.Session, error) {
	if reference != "" {
		_, session, err := a.findSession(ctx, reference, suits)
		return session, err
	}
	sessions, err := a.sessions()
	if err != nil {
		return daemon.Session{}, err
	}
	list, err := sessions.List(ctx)
	if err != nil {
		return daemon.Session{}, err
	}
	switch suiting := matching(list, suits); len(suiting) {
	case 0:
		return daemon.Session{}, notFound("there is no session: start one with agent-helm run -- COMMAND")
	case 1:
		return suiting[0], nil
	default:
		return daemon.Session{}, usage("there are %d sessions: say which (agent-helm ls lists them)", len(suiting))
	}
}

// sessionPredictor completes names, and ids where a name is not unique.
func (a *app) sessionPredictor(suits filter) complete.Predictor {
	return complete.PredictFunc(func(complete.Args) []string {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		sessions, err := a.sessions()
		if err != nil {
			return nil
		}
		list, err := sessions.List(ctx)
		if err != nil {
			return nil
		}
		seen := map[string]bool{}
		var names []string
		for _, s := range matching(list, suits) {
			name := s.Name
			if seen[name] || strings.ContainsAny(name, " \t'\"\\$`") {
				name = s.ID
			}
			seen[name] = true
			names = append(names, name)
		}
		return names
	})
}

// inside says whether this command runs in a session: by its environment, or by
// its process tree, which a program cannot take off.
func (a *app) inside(dirs daemon.Dirs) bool {
	return a.getenv(holder.EnvSession) != "" || holder.Inside(dirs)
}

// errInside is the refusal of a session's own programs (THREATS S-5).
var errInside = errors.New("this terminal is inside a session already")
