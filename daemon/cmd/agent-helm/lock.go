package main

import (
	"context"
	"fmt"

	"github.com/agent-helm/agent-helm/daemon"
)

type lockCommand struct{}

func (lockCommand) Help() string {
	return `The server, and whoever uses it, may then only watch: no keys, no answers, no starts. Your own terminals are not affected.`
}

func (lockCommand) Examples() string { return "agent-helm lock\nagent-helm unlock" }

func (c *lockCommand) Run(ctx context.Context, app *app) error {
	return app.setLock(ctx, true, "locked: the server may only watch. agent-helm unlock undoes it.")
}

type unlockCommand struct{}

func (unlockCommand) Examples() string { return "agent-helm unlock" }

func (c *unlockCommand) Run(ctx context.Context, app *app) error {
	return app.setLock(ctx, false, "unlocked: agent-helm policy shows what the server may do.")
}

func (a *app) setLock(ctx context.Context, locked bool, said string) error {
	dirs, err := a.dirs()
	if err != nil {
		return err
	}
	if !locked && a.inside(dirs) {
		return fmt.Errorf("%w: a program in a session may not unlock this host", errInside)
	}
	policy, err := daemon.LoadPolicy(dirs)
	if err != nil {
		return fmt.Errorf("%w; as long as the policy cannot be read, the server may do nothing at all", err)
	}
	policy.Locked = locked
	if err := policy.Save(dirs); err != nil {
		return err
	}
	nudge(ctx, dirs)
	a.print("%s", said)
	return nil
}
