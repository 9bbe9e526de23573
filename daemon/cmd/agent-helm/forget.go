package main

import (
	"context"
	"errors"

	"github.com/agent-helm/agent-helm/daemon"
)

type forgetCommand struct {
	Sessions []string `arg:"" optional:"" name:"session" predictor:"ended" help:"Names, ids or beginnings of them."`

	Ended bool `help:"Every session that has ended."`
}

func (forgetCommand) Help() string {
	return `A forgotten session leaves nothing on this host: no log, no last screen. It takes an ended session only; kill ends one.`
}

func (forgetCommand) Examples() string {
	return `agent-helm forget build
agent-helm forget --ended`
}

func (c *forgetCommand) Run(ctx context.Context, app *app) error {
	if c.Ended == (len(c.Sessions) > 0) {
		return usage("name the sessions, or give --ended for all that have ended")
	}
	sessions, err := app.sessions()
	if err != nil {
		return err
	}
	list, err := sessions.List(ctx)
	if err != nil {
		return err
	}
	var chosen []daemon.Session
	var failures []error
	if c.Ended {
		chosen = matching(list, endedSession)
	}
	for _, reference := range c.Sessions {
		session, err := find(list, reference, endedSession)
		switch name := clean(session.Name, daemon.MaxNameRunes); {
		case err != nil:
			failures = append(failures, err)
		case session.State == daemon.StateRunning:
			failures = append(failures, usage("%s still runs: agent-helm kill %[1]s ends it", name))
		default:
			chosen = append(chosen, session)
		}
	}
	for _, session := range chosen {
		if err := sessions.Forget(ctx, session.ID); err != nil {
			failures = append(failures, err)
			continue
		}
		app.print("forgot %s", clean(session.Name, daemon.MaxNameRunes))
	}
	if len(chosen) == 0 && len(failures) == 0 {
		app.print("nothing to forget: no session has ended")
	}
	return errors.Join(failures...)
}
