package main

import (
	"context"
)

// overviewCommand is agent-helm alone: where things stand and what comes next.
type overviewCommand struct{}

func (c *overviewCommand) Run(ctx context.Context, app *app) error {
	sessions, err := app.sessions()
	if err != nil {
		return err
	}
	list, err := sessions.List(ctx)
	if err != nil {
		return err
	}
	if err := app.printConnection(ctx); err != nil {
		return err
	}
	app.print("")
	list, _ = app.recent(list)
	if len(list) > 0 {
		app.printSessions(list)
		app.print("")
	}
	next, why := app.nextCommand(ctx, matching(list, runningSession))
	app.print("Next: %s  %s", app.style(app.stdout, styleBold, next), app.style(app.stdout, styleDim, why))
	app.note("agent-helm --help lists every command.")
	return nil
}
