package main

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/control"
	"github.com/agent-helm/agent-helm/daemon/uplink"
)

// ask asks the server for the code of a new device and prints it, alone on the
// first line, once somebody confirmed.
func (c *pairCommand) ask(ctx context.Context, app *app, dirs daemon.Dirs) error {
	if c.Name != "" || c.Yes {
		return usage("--name and --yes are for pairing this host: give the server's address as well")
	}
	config, err := daemon.LoadHostConfig(dirs)
	if errors.Is(err, daemon.ErrNotPaired) {
		return usage("this host is not paired yet: agent-helm pair URL, with a code from agent-helm-server pair --host")
	} else if err != nil {
		return err
	}
	var scopes []string
	for scope := range strings.SplitSeq(c.Scope, ",") {
		scopes = append(scopes, strings.TrimSpace(scope))
	}
	answer, err := control.NewClient(dirs).Pair(ctx, scopes, func(asked uplink.Asked) {
		app.note("Request %s of %s waits for %s, for a device that may %s.", asked.ID, clean(config.Name, daemon.MaxNameRunes), age(asked.Left), strings.Join(scopes, ", "))
		app.note("Confirm it in the app on a device with the scope admin, or on the server: agent-helm-server pair --confirm %s", asked.ID)
	})
	if errors.Is(err, control.ErrNotRunning) {
		return unreachable(err)
	} else if err != nil {
		return err
	}
	if c.JSON {
		return app.printJSON(struct {
			Code    string   `json:"code"`
			URL     string   `json:"url"`
			Scopes  []string `json:"scopes"`
			Expires string   `json:"expires"`
		}{answer.Code, answer.URL, answer.Scopes, app.now().Add(answer.Left).UTC().Format(time.RFC3339)})
	}
	app.print("%s", answer.Code)
	app.note("Open %s there and type the code within %s. The device may %s.", answer.URL, age(answer.Left), strings.Join(answer.Scopes, ", "))
	return nil
}
