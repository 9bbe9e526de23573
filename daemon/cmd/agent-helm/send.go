package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/wire"
)

type sendCommand struct {
	Session string   `arg:"" predictor:"running" help:"Name, id or the beginning of one."`
	Text    []string `arg:"" optional:"" help:"Text; - reads standard input. With --keys: key names."`

	Keys    bool `short:"k" xor:"how" help:"The words are names of keys: up, enter, esc, ctrl+c, shift+tab, f5, alt+b, pageup."`
	Submit  bool `short:"s" xor:"how" help:"Enter the text as one prompt, the way the agent wants it: paste, pause, Enter. The default."`
	NoEnter bool `short:"n" xor:"how" help:"Paste the text and do not press Enter."`
}

func (sendCommand) Help() string {
	return `It returns once the program's terminal has taken everything, and fails when nothing or not all of it was taken.`
}

func (sendCommand) Examples() string {
	return `agent-helm send claude "run the tests"
agent-helm send claude --keys esc
agent-helm send claude --keys down down enter
git diff | agent-helm send claude --no-enter -`
}

// sendTime is how long a program may take to read its input.
const sendTime = 12 * time.Second

func (c *sendCommand) Run(ctx context.Context, app *app) error {
	if len(c.Text) == 0 {
		return usage("nothing to send: give text, - for standard input, or --keys")
	}
	_, session, err := app.findSession(ctx, c.Session, runningSession)
	if err != nil {
		return err
	}
	if session.State != daemon.StateRunning {
		return notFound("%s has ended: nothing reads what is sent to it", clean(session.Name, daemon.MaxNameRunes))
	}
	input, err := c.input(app)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, sendTime)
	defer cancel()
	dirs, err := app.dirs()
	if err != nil {
		return err
	}
	status, err := app.sendInput(ctx, dirs, session.ID, input)
	if err != nil {
		return err
	}
	return inputError(status, clean(session.Name, daemon.MaxNameRunes))
}

// input is what the arguments mean.
func (c *sendCommand) input(app *app) (*wire.Input, error) {
	text := strings.Join(c.Text, " ")
	if len(c.Text) == 1 && text == "-" {
		data, err := app.readAll(wire.MaxInput)
		if err != nil {
			return nil, err
		}
		// A command's output ends with a line break that nobody means to send.
		text = strings.TrimSuffix(string(data), "\n")
	}
	kind := wire.InputSubmit
	switch {
	case c.Keys:
		kind, text = wire.InputKeys, strings.Join(strings.Fields(strings.ToLower(text)), " ")
	case c.NoEnter:
		kind = wire.InputPaste
	}
	if len(text) > wire.MaxInput {
		return nil, usage("%d bytes are more than the %d KiB that can be sent at once", len(text), wire.MaxInput>>10)
	}
	return &wire.Input{Kind: kind, Seq: 1, Data: []byte(text)}, nil
}

// inputError says what became of an input, in words.
func inputError(status wire.InputStatus, name string) error {
	switch status {
	case wire.InputApplied:
		return nil
	case wire.InputBlocked, wire.InputLate:
		return unreachable(fmt.Errorf("%s does not read its input: nothing was sent", name))
	case wire.InputEnded:
		return notFound("%s has ended", name)
	case wire.InputForbidden:
		return fmt.Errorf("%s refuses input from here: a program inside a session may not type", name)
	case wire.InputInvalid:
		return usage("%s cannot take that: an unknown key name, or text that is not UTF-8", name)
	}
	return fmt.Errorf("%s refused the input (%d)", name, status)
}
