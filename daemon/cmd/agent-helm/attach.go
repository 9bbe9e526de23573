package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/attach"
	"github.com/agent-helm/agent-helm/daemon/attach/tty"
	"github.com/agent-helm/agent-helm/daemon/holder"
	"github.com/agent-helm/agent-helm/internal/wire"
)

type attachCommand struct {
	Session string `arg:"" optional:"" predictor:"running" help:"Name, id or the beginning of one; may be left out when only one session runs."`

	ReadOnly  bool   `short:"r" help:"Only watch: send no keys and leave the size alone."`
	Take      bool   `short:"t" help:"Take the size even from somebody who uses it now."`
	DetachKey string `placeholder:"KEY" default:"ctrl+]" env:"AGENT_HELM_DETACH_KEY" help:"Key that detaches; none for no key. Default ctrl+]."`
	Clipboard bool   `help:"Let the program write to this terminal's clipboard."`
	History   int    `placeholder:"N" default:"500" help:"Lines that scrolled away before, printed into this terminal's own history: 500 when left out."`
	Nested    bool   `help:"Allow this inside another session."`
}

func (attachCommand) Help() string {
	return `What stands on your screen is scrolled up, not erased. The session keeps running when you detach, and when this terminal closes. While somebody else, a phone say, owns another size, you see a cut-out of theirs; Ctrl+T takes the size.`
}

func (attachCommand) Examples() string {
	return `agent-helm attach claude
agent-helm attach --read-only build
AGENT_HELM_DETACH_KEY=ctrl+q agent-helm attach api`
}

func (c *attachCommand) Run(ctx context.Context, app *app) error {
	key, err := parseDetachKey(c.DetachKey)
	if err != nil {
		return err
	}
	if !app.interactive() {
		return usage("there is no terminal to attach; agent-helm logs prints what a session printed")
	}
	if app.getenv(holder.EnvSession) != "" && !c.Nested {
		return fmt.Errorf("%w: add --nested if that is what you want", errInside)
	}
	session, err := app.findOnly(ctx, c.Session, runningSession)
	if err != nil {
		return err
	}
	if session.State != daemon.StateRunning {
		return notFound("%s has ended: agent-helm logs %[1]s shows what it printed, agent-helm resume %[1]s starts it again", clean(session.Name, daemon.MaxNameRunes))
	}
	dirs, err := app.dirs()
	if err != nil {
		return err
	}
	return app.attach(ctx, dirs, session, attachOptions{key: key, readOnly: c.ReadOnly, take: c.Take, clipboard: c.Clipboard, history: c.History})
}

// maxHistory bounds the lines that attach prints into a terminal's history.
const maxHistory = 10_000

type attachOptions struct {
	key                       attach.Key
	readOnly, take, clipboard bool
	history                   int
}

func parseDetachKey(text string) (attach.Key, error) {
	key, err := attach.ParseKey(text)
	if err != nil {
		return key, usageError{fmt.Errorf("detach %w", err)}
	}
	return key, nil
}

// attach joins the terminal to a session until one of them ends, and says
// what happened.
func (a *app) attach(ctx context.Context, dirs daemon.Dirs, session daemon.Session, options attachOptions) error {
	terminal, err := tty.Open(a.stdin, a.stdout)
	if err != nil {
		return err
	}
	connection, err := dialHolder(ctx, dirs, session.ID, wire.RoleLocal)
	if err != nil {
		return errors.Join(err, terminal.Close())
	}
	name := clean(session.Name, daemon.MaxNameRunes)
	outcome, err := attach.Run(ctx, terminal, connection, attach.Options{
		Name: name, ReadOnly: options.readOnly, Take: options.take, Clipboard: options.clipboard,
		Detach: options.key, History: min(max(options.history, 0), maxHistory), Hint: true,
	})
	if err = errors.Join(err, terminal.Close()); err != nil {
		return err
	}
	if outcome.Dropped > 0 {
		a.note("%d bytes that you typed did not reach the program: it did not read them in time", outcome.Dropped)
	}
	switch outcome.Reason {
	case attach.Detached:
		a.note("detached from %s, which keeps running: agent-helm attach %[1]s", name)
	case attach.Exited:
		return a.sayExit(name, outcome)
	case attach.Broken:
		return unreachable(fmt.Errorf("lost the connection to %s: %w; agent-helm ls says whether it still runs", name, outcome.Err))
	}
	return nil
}

func (a *app) sayExit(name string, outcome attach.Outcome) error {
	if outcome.ExitSignal != "" {
		a.note("%s was ended by %s", name, clean(outcome.ExitSignal, 20))
		a.code = 128 + signalNumber(outcome.ExitSignal)
		return nil
	}
	a.note("%s exited with code %d", name, outcome.ExitCode)
	a.code = outcome.ExitCode
	return nil
}
