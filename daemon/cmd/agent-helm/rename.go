package main

import (
	"context"

	"github.com/agent-helm/agent-helm/daemon"
)

type renameCommand struct {
	Session string `arg:"" predictor:"session" help:"Name, id or the beginning of one."`
	Name    string `arg:"" help:"The new name."`
}

func (renameCommand) Examples() string { return "agent-helm rename claude api-refactoring" }

func (c *renameCommand) Run(ctx context.Context, app *app) error {
	if err := daemon.ValidateName(c.Name); err != nil {
		return usageError{err}
	}
	sessions, session, err := app.findSession(ctx, c.Session, anySession)
	if err != nil {
		return err
	}
	list, err := sessions.List(ctx)
	if err != nil {
		return err
	}
	for _, other := range matching(list, runningSession) {
		if other.Name == c.Name && other.ID != session.ID {
			return usage("a session called %q runs already (%s): choose another name", c.Name, other.ID)
		}
	}
	if err := sessions.Rename(ctx, session.ID, c.Name); err != nil {
		return err
	}
	app.print("%s is now %s", clean(session.Name, daemon.MaxNameRunes), c.Name)
	return nil
}
