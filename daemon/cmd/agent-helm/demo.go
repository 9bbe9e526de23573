package main

import (
	"context"

	"github.com/agent-helm/agent-helm/daemon/demo"
)

type demoCommand struct {
	Mode   string `default:"agent" enum:"agent,counter,echo,flood,deaf" help:"agent, counter, echo, flood or deaf."`
	Script string `help:"Scenarios to play at the start, separated by commas; none for none."`
	Exit   bool   `help:"End after the script."`
	Seed   uint64 `default:"1" help:"Chooses words and pauses."`
	Fast   bool   `help:"Leave pauses out."`
	Dir    string `help:"Directory to work in; a temporary one when left out."`
	Ledger string `help:"counter: file to append received keys to."`
	Rate   int    `default:"50" help:"counter: lines per second; 0 for as fast as possible."`
	Lines  int    `help:"counter: count to here; 0 for ever."`
	Bytes  int64  `default:"1000000" help:"flood: how much to print."`
}

func (demoCommand) Examples() string {
	return `agent-helm run -- agent-helm demo-agent
agent-helm demo-agent --mode counter --rate 100 --ledger keys.txt
agent-helm demo-agent --mode flood --bytes 300000000`
}

func (c *demoCommand) Run(ctx context.Context, app *app) error {
	code, err := demo.Run(ctx, demo.Options{
		Mode: c.Mode, Script: c.Script, Exit: c.Exit, Seed: c.Seed, Fast: c.Fast, Dir: c.Dir,
		Ledger: c.Ledger, Rate: c.Rate, Lines: c.Lines, Bytes: c.Bytes, In: app.stdin, Out: app.stdout,
	})
	app.code = code
	if err != nil {
		return codedError{code, err}
	}
	return nil
}
