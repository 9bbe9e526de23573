package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/willabides/kongplete"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/holder"
	"github.com/agent-helm/agent-helm/daemon/supervisor"
	"github.com/agent-helm/agent-helm/internal/buildinfo"
)

// commands is the command line. The order is that of the help.
type commands struct {
	ShowVersion kong.VersionFlag `name:"version" help:"Print the version."`

	Overview overviewCommand `cmd:"" default:"1" hidden:""`

	Run    runCommand    `cmd:"" group:"sessions" help:"Run a program in a session and attach to it."`
	Attach attachCommand `cmd:"" group:"sessions" help:"Attach this terminal to a session."`
	List   listCommand   `cmd:"" group:"sessions" name:"ls" aliases:"list" help:"List the sessions of this host."`
	Send   sendCommand   `cmd:"" group:"sessions" help:"Type into a session."`
	Logs   logsCommand   `cmd:"" group:"sessions" help:"Print what a session printed."`
	Rename renameCommand `cmd:"" group:"sessions" help:"Give a session another name."`
	Kill   killCommand   `cmd:"" group:"sessions" help:"End the program of a session."`
	Resume resumeCommand `cmd:"" group:"sessions" help:"Start an ended session's program again."`
	Forget forgetCommand `cmd:"" group:"sessions" help:"Remove ended sessions and their logs."`

	Pair    pairCommand    `cmd:"" group:"server" aliases:"join" help:"Pair this host with a server."`
	Devices devicesCommand `cmd:"" group:"server" aliases:"clients" help:"List and revoke the browsers that are paired with the server."`
	Daemon  daemonCommand  `cmd:"" group:"server" help:"Link this host to its server."`
	Policy  policyCommand  `cmd:"" group:"server" help:"Show what the server may do on this host."`
	Lock    lockCommand    `cmd:"" group:"server" help:"Let the server only watch, at once."`
	Unlock  unlockCommand  `cmd:"" group:"server" help:"Undo lock."`

	Doctor     doctorCommand     `cmd:"" group:"other" help:"Check this installation and say what to mend."`
	Version    versionCommand    `cmd:"" group:"other" help:"Print the version."`
	Completion completionCommand `cmd:"" group:"other" help:"Print a completion script for a shell."`

	Demo demoCommand `cmd:"" name:"demo-agent" hidden:"" help:"Play a scripted agent."`
}

const description = `Run programs so that you can leave them, and come back from anywhere.

A session is a program in a terminal that stays when you close yours. Nothing else has to run for it: no daemon, no server. With a server you reach the same sessions from your phone.`

const exitCodeHelp = `Exit codes: 0 done; 1 error; 2 wrong usage; 3 no such session or program; 4 the holder, daemon or server does not answer. When the program of run or attach ends while you watch, its own code (128 + n after signal n).`

// exit is panicked by kong's exit hook, which help and completion call.
type exit int

// run parses arguments and runs one command. It returns the exit code.
func run(ctx context.Context, app *app, arguments []string) (code int) {
	defer func() {
		if failure := recover(); failure != nil {
			wanted, ok := failure.(exit)
			if !ok {
				panic(failure)
			}
			code = int(wanted)
		}
	}()
	var line commands
	parser, err := kong.New(&line,
		kong.Name("agent-helm"),
		kong.Description(description+"\n\n"+exitCodeHelp),
		kong.Help(printHelp),
		kong.ShortHelp(kong.DefaultShortHelpPrinter),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true, WrapUpperBound: 100}),
		kong.Writers(app.stdout, app.stderr),
		kong.Exit(func(code int) { panic(exit(code)) }),
		kong.Vars{"agents": agentNames(), "version": "agent-helm " + buildinfo.Version()},
		kong.ExplicitGroups([]kong.Group{
			{Key: "sessions", Title: "Sessions:"}, {Key: "server", Title: "Server:"}, {Key: "other", Title: "Other:"},
		}),
		kong.BindTo(ctx, (*context.Context)(nil)),
		kong.Bind(app),
	)
	if err != nil {
		panic(err) // the struct above is wrong
	}
	// With COMP_LINE set, the shell asks for completions.
	kongplete.Complete(parser,
		kongplete.WithPredictor("session", app.sessionPredictor(anySession)),
		kongplete.WithPredictor("running", app.sessionPredictor(runningSession)),
		kongplete.WithPredictor("ended", app.sessionPredictor(endedSession)),
	)
	command, err := parser.Parse(arguments)
	if err != nil {
		app.printError(usageError{err})
		var parse *kong.ParseError
		if errors.As(err, &parse) && parse.Context != nil && parse.Context.Selected() != nil {
			fmt.Fprintf(app.stderr, "See agent-helm %s --help\n", parse.Context.Selected().Name)
		} else {
			fmt.Fprintln(app.stderr, "See agent-helm --help")
		}
		return exitUsage
	}
	if err := command.Run(); err != nil {
		app.printError(err)
		return exitCode(err)
	}
	return app.code
}

// printHelp is kong's help with the examples of a command below it.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	node := ctx.Selected()
	if node == nil {
		node = ctx.Model.Node
	}
	examples := rootExamples
	if node.Target.CanAddr() {
		if with, ok := node.Target.Addr().Interface().(interface{ Examples() string }); ok {
			examples = with.Examples()
		} else if node.Parent != nil {
			return nil
		}
	}
	_, err := fmt.Fprintf(ctx.Stdout, "\nExamples:\n%s\n", indent(examples))
	return err
}

const rootExamples = `agent-helm run -- claude          # start an agent and watch it
agent-helm ls                     # what runs here
agent-helm attach claude          # go on watching
agent-helm pair https://helm.example CODE`

func agentNames() string {
	var names []string
	for _, agent := range daemon.KnownAgents() {
		names = append(names, agent.Name)
	}
	return strings.Join(names, ", ")
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}

// Exit codes.
const (
	exitError       = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitUnreachable = 4
)

// usageError is a mistake in the arguments.
type usageError struct{ err error }

func (e usageError) Error() string { return e.err.Error() }
func (e usageError) Unwrap() error { return e.err }

// codedError carries the exit code it is worth.
type codedError struct {
	code int
	err  error
}

func (e codedError) Error() string { return e.err.Error() }
func (e codedError) Unwrap() error { return e.err }

func notFound(format string, arguments ...any) error {
	return codedError{exitNotFound, fmt.Errorf(format, arguments...)}
}

func unreachable(err error) error { return codedError{exitUnreachable, err} }

func usage(format string, arguments ...any) error {
	return usageError{fmt.Errorf(format, arguments...)}
}

func exitCode(err error) int {
	var usage usageError
	var coded codedError
	switch {
	case errors.As(err, &usage):
		return exitUsage
	case errors.As(err, &coded):
		return coded.code
	case errors.Is(err, daemon.ErrInvalidSpec), errors.Is(err, daemon.ErrInvalidName):
		return exitUsage
	case errors.Is(err, holder.ErrNoHolder):
		return exitUnreachable
	case errors.Is(err, holder.ErrNoSession), errors.Is(err, supervisor.ErrUnknownSession), errors.Is(err, supervisor.ErrEnded):
		return exitNotFound
	}
	return exitError
}
