package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/agent-helm/agent-helm/daemon/attach/tty"
)

// Modes of Options.
const (
	ModeAgent   = "agent"
	ModeCounter = "counter"
	ModeEcho    = "echo"
	ModeFlood   = "flood"
	ModeDeaf    = "deaf"
)

// Modes are all of them.
var Modes = []string{ModeAgent, ModeCounter, ModeEcho, ModeFlood, ModeDeaf}

// Options choose what the demo agent does.
type Options struct {
	// Mode is one of Modes; empty is ModeAgent.
	Mode string
	// Script names the scenarios that play at the start, separated by commas;
	// "none" plays nothing, empty is "edit". ModeAgent only.
	Script string
	// Exit ends the program after Script.
	Exit bool
	// Seed chooses words and pauses.
	Seed uint64
	// Fast leaves the pauses out.
	Fast bool
	// Dir is where the agent works; empty makes a temporary directory that is
	// removed at the end.
	Dir string
	// Ledger is a file that the counter appends to; empty keeps none.
	Ledger string
	// Rate is the counter's lines per second; 0 is as fast as it can.
	Rate int
	// Lines is where the counter stops counting; 0 is never.
	Lines int
	// Bytes is how much the flood prints.
	Bytes int64
	// In and Out are the terminal, or plain files.
	In, Out *os.File
}

// Run is the program. It returns its exit code, and an error only for what a
// person should read: bad options, a directory that cannot be written.
func Run(ctx context.Context, options Options) (code int, err error) {
	terminal, err := tty.OpenAny(options.In, options.Out)
	if err != nil {
		return 1, err
	}
	defer func() { err = errors.Join(err, terminal.Close()) }()
	if err := terminal.Raw(); err != nil {
		return 1, err
	}
	switch options.Mode {
	case "", ModeAgent:
		err = runAgent(ctx, terminal, options)
	case ModeCounter:
		err = runCounter(ctx, terminal, options)
	case ModeEcho:
		err = runEcho(ctx, terminal)
	case ModeFlood:
		err = runFlood(ctx, terminal, options.Bytes)
	case ModeDeaf:
		err = runDeaf(ctx, terminal)
	default:
		return 2, fmt.Errorf("mode %q: use one of %s", options.Mode, strings.Join(Modes, ", "))
	}
	switch {
	case err == nil || errors.Is(err, errDone):
		return 0, nil
	case ctx.Err() != nil:
		return 130, nil
	}
	return 1, err
}
