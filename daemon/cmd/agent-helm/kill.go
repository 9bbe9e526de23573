package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/supervisor"
)

const (
	// killPoll is how often kill looks whether a session has ended.
	killPoll = 50 * time.Millisecond
	// killSlack is how long the records may take after the grace time.
	killSlack = 5 * time.Second
)

type killCommand struct {
	Sessions []string `arg:"" name:"session" predictor:"running" help:"Names, ids or beginnings of them."`

	Signal string `short:"s" placeholder:"SIGNAL" help:"Send only this: hup, term, kill, or the keys esc and ctrl-c."`
}

// killSignals are what a holder takes.
var killSignals = []string{"esc", "ctrl-c", "hup", "term", "kill"}

func (killCommand) Help() string {
	return `Without --signal the whole process group gets a hang-up, five seconds to end, and is then killed. The session stays listed, with its last screen and log, until it is forgotten.`
}

func (killCommand) Examples() string {
	return `agent-helm kill build
agent-helm kill --signal term api worker`
}

func (c *killCommand) Run(ctx context.Context, app *app) error {
	signal := strings.TrimPrefix(strings.ToLower(c.Signal), "sig")
	if signal != "" && !slices.Contains(killSignals, signal) {
		return usage("signal %q: use one of %s", clean(c.Signal, 20), strings.Join(killSignals, ", "))
	}
	var failures []error
	for _, reference := range c.Sessions {
		failures = append(failures, c.kill(ctx, app, reference, signal))
	}
	return errors.Join(failures...)
}

func (c *killCommand) kill(ctx context.Context, app *app, reference, signal string) error {
	sessions, session, err := app.findSession(ctx, reference, runningSession)
	if err != nil {
		return err
	}
	name := clean(session.Name, daemon.MaxNameRunes)
	if session.State != daemon.StateRunning {
		app.note("%s has ended already", name)
		return nil
	}
	if signal != "" {
		if err := sessions.Signal(ctx, session.ID, signal); err != nil {
			return err
		}
		app.print("sent %s to %s", signal, name)
		return nil
	}
	if err := sessions.Kill(ctx, session.ID); err != nil {
		return err
	}
	if !app.waitForEnd(ctx, sessions, session.ID) {
		return unreachable(fmt.Errorf("%s has not ended yet: agent-helm ls shows it", name))
	}
	app.print("ended %s", name)
	return nil
}

// waitForEnd waits until a session has ended, as long as killing may take.
func (a *app) waitForEnd(ctx context.Context, sessions *supervisor.Supervisor, id string) bool {
	return poll(ctx, daemon.KillGrace+killSlack, func() bool {
		session, err := sessions.Get(ctx, id)
		return err == nil && session.State != daemon.StateRunning
	})
}

// signalNumber is the number of "SIGKILL", 0 when there is no such signal here.
func signalNumber(name string) int { return int(unix.SignalNum(name)) }
