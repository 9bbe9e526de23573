package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/agent-helm/agent-helm/daemon"
)

type resumeCommand struct {
	Session string `arg:"" predictor:"ended" help:"Name, id or the beginning of one."`

	Detach    bool   `short:"d" help:"Only start it; do not attach."`
	JSON      bool   `name:"json" help:"Print {\"id\": …} (with --detach)."`
	Nested    bool   `help:"Allow this inside another session."`
	DetachKey string `placeholder:"KEY" default:"ctrl+]" env:"AGENT_HELM_DETACH_KEY" help:"Key that detaches; none for no key. Default ctrl+]."`
	Clipboard bool   `help:"Let the program write to this terminal's clipboard."`
}

func (resumeCommand) Help() string {
	return `It runs the same command in the same directory, under the same name, as a new session. What an agent remembers is the agent's affair: claude --continue, for one, goes on with its last conversation.`
}

func (resumeCommand) Examples() string {
	return `agent-helm resume api
agent-helm resume --detach build`
}

func (c *resumeCommand) Run(ctx context.Context, app *app) error {
	_, session, err := app.findSession(ctx, c.Session, endedSession)
	if err != nil {
		return err
	}
	if session.State == daemon.StateRunning {
		return usage("%s still runs: agent-helm attach %[1]s goes on with it", clean(session.Name, daemon.MaxNameRunes))
	}
	dirs, err := app.dirs()
	if err != nil {
		return err
	}
	var spec daemon.Spec
	if err := daemon.ReadJSON(filepath.Join(dirs.SessionDir(session.ID), "spec.json"), &spec); err != nil {
		return fmt.Errorf("find out how %s was started: %w", clean(session.Name, daemon.MaxNameRunes), err)
	}
	if _, err := os.Stat(spec.Cwd); err != nil {
		return fmt.Errorf("its directory is gone: %w", err)
	}
	run := runCommand{
		Project: spec.Cwd, Agent: spec.Agent, Detach: c.Detach, JSON: c.JSON, Nested: c.Nested,
		DetachKey: c.DetachKey, Clipboard: c.Clipboard, Command: spec.Argv,
	}
	run.Name = spec.Name
	return run.Run(ctx, app)
}
