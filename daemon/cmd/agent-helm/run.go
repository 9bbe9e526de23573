package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/holder"
)

type runCommand struct {
	Name    string `short:"n" placeholder:"NAME" help:"Name of the session; the program's, made unique, when left out."`
	Project string `placeholder:"DIR" type:"existingdir" help:"Directory to run in; this one when left out."`
	Detach  bool   `short:"d" help:"Only start it; do not attach."`
	JSON    bool   `name:"json" help:"Print {\"id\": …} (with --detach)."`
	Agent   string `placeholder:"AGENT" help:"Which known agent the program is: ${agents}. Found by itself when left out."`
	AsIs    bool   `help:"Run exactly this command: no name made unique, no agent guessed."`
	Nested  bool   `help:"Allow this inside another session."`

	DetachKey string `placeholder:"KEY" default:"ctrl+]" env:"AGENT_HELM_DETACH_KEY" help:"Key that detaches; none for no key. Default ctrl+]."`
	Clipboard bool   `help:"Let the program write to this terminal's clipboard."`

	Command []string `arg:"" optional:"" passthrough:"" name:"command" help:"Program and arguments; your shell when left out."`
}

func (runCommand) Help() string {
	return `The program runs under a holder, a small process of its own, and keeps running when this terminal closes, or the daemon, or the server. Its own flags are left alone.`
}

func (runCommand) Examples() string {
	return `agent-helm run -- claude
agent-helm run --name api --project ~/src/api -- codex --model gpt-5
agent-helm run --detach --name build --json -- make -j8
agent-helm run                        # your shell`
}

func (c *runCommand) Run(ctx context.Context, app *app) error {
	argv := withoutDashes(c.Command)
	if err := c.check(app, argv); err != nil {
		return err
	}
	key, err := parseDetachKey(c.DetachKey)
	if err != nil {
		return err
	}
	spec, err := c.spec(ctx, app, argv)
	if err != nil {
		return err
	}
	dirs, err := app.dirs()
	if err != nil {
		return err
	}
	if err := dirs.Create(); err != nil {
		return err
	}
	session, err := holder.Start(ctx, dirs, spec)
	if err != nil {
		return err
	}
	nudge(ctx, dirs)
	if c.Detach {
		return c.announce(app, session)
	}
	return app.attach(ctx, dirs, session, attachOptions{key: key, clipboard: c.Clipboard})
}

// check refuses what cannot be meant.
func (c *runCommand) check(app *app, argv []string) error {
	if app.getenv(holder.EnvSession) != "" && !c.Nested {
		return codedError{exitError, fmt.Errorf("%w: a session in a session is drawn twice and answers twice; add --nested if that is what you want", errInside)}
	}
	if c.JSON && !c.Detach {
		return usage("--json prints the id of a session that is only started: add --detach")
	}
	if !c.Detach && !app.interactive() {
		return usage("there is no terminal to attach: add --detach")
	}
	if len(argv) > 0 {
		if _, err := exec.LookPath(argv[0]); err != nil {
			return codedError{exitNotFound, fmt.Errorf("cannot run %q: %s", clean(argv[0], 200), reasonOf(err))}
		}
	}
	return nil
}

// spec says what to start.
func (c *runCommand) spec(ctx context.Context, app *app, argv []string) (daemon.Spec, error) {
	if len(argv) == 0 {
		argv = []string{app.shell()}
	}
	cwd, err := os.Getwd()
	if err != nil {
		return daemon.Spec{}, fmt.Errorf("find the working directory: %w", err)
	}
	if c.Project != "" {
		if cwd, err = filepath.Abs(c.Project); err != nil {
			return daemon.Spec{}, fmt.Errorf("find %s: %w", c.Project, err)
		}
	}
	spec := daemon.Spec{
		Name: c.Name, Argv: argv, Cwd: cwd, Agent: c.Agent, Env: os.Environ(),
	}
	if cols, rows, err := term.GetSize(int(app.stdout.Fd())); err == nil && cols > 0 && rows > 0 {
		spec.Cols, spec.Rows = uint16(min(cols, 1000)), uint16(min(rows, 1000))
	}
	if c.Name != "" {
		if err := daemon.ValidateName(c.Name); err != nil {
			return daemon.Spec{}, usageError{err}
		}
	}
	spec = spec.WithDefaults(app.now())
	sessions, err := app.sessions()
	if err != nil {
		return daemon.Spec{}, err
	}
	list, err := sessions.List(ctx)
	if err != nil {
		return daemon.Spec{}, err
	}
	running := matching(list, runningSession)
	if c.Name != "" && !c.AsIs {
		if taken := matching(running, func(s daemon.Session) bool { return s.Name == c.Name }); len(taken) > 0 {
			return daemon.Spec{}, usage("a session called %q runs already (%s): choose another name, or attach to it", c.Name, taken[0].ID)
		}
	}
	if c.Name == "" {
		spec.Name = uniqueName(running, spec.Name)
	}
	return spec, nil
}

// announce prints what was started: the id alone where a script asked.
func (c *runCommand) announce(app *app, session daemon.Session) error {
	if c.JSON {
		return json.NewEncoder(app.stdout).Encode(map[string]string{"id": session.ID})
	}
	app.print("%s  %s", session.ID, clean(session.Name, daemon.MaxNameRunes))
	app.note("attach to it with: agent-helm attach %s", clean(session.Name, daemon.MaxNameRunes))
	return nil
}

// uniqueName adds a number to a name that a running session has.
func uniqueName(running []daemon.Session, name string) string {
	taken := map[string]bool{}
	for _, s := range running {
		taken[s.Name] = true
	}
	unique := name
	for n := 2; taken[unique]; n++ {
		unique = fmt.Sprintf("%s-%d", name, n)
	}
	return unique
}

// withoutDashes drops the -- that the parser leaves before a command.
func withoutDashes(argv []string) []string {
	if len(argv) > 0 && argv[0] == "--" {
		return argv[1:]
	}
	return argv
}

func (a *app) shell() string {
	if shell := a.getenv("SHELL"); shell != "" {
		return shell
	}
	return "/bin/sh"
}

// reasonOf shortens exec's error, which repeats the name.
func reasonOf(err error) string {
	text := err.Error()
	if i := strings.LastIndex(text, ": "); i >= 0 {
		return text[i+2:]
	}
	return text
}
