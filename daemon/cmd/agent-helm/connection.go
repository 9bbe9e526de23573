package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/control"
	"github.com/agent-helm/agent-helm/daemon/uplink"
)

// controlTime is how long the daemon may take to answer; nobody waits longer
// for a listing.
const controlTime = 2 * time.Second

// nudge tells the daemon that something changed, and says whether there is one.
func nudge(ctx context.Context, dirs daemon.Dirs) bool {
	ctx, cancel := context.WithTimeout(ctx, controlTime)
	defer cancel()
	return control.NewClient(dirs).Nudge(ctx) == nil
}

// printConnection prints how this host stands with its server, in a line or
// two.
func (a *app) printConnection(ctx context.Context) error {
	dirs, err := a.dirs()
	if err != nil {
		return err
	}
	text, healthy := a.connection(ctx, dirs)
	style := styleDim
	if !healthy {
		style = styleAmber
	}
	a.print("%s", a.style(a.stdout, style, text))
	return nil
}

// connection says how this host stands with its server. Healthy is also a host
// that has none.
func (a *app) connection(ctx context.Context, dirs daemon.Dirs) (text string, healthy bool) {
	config, err := daemon.LoadHostConfig(dirs)
	if err != nil && !errors.Is(err, daemon.ErrNotPaired) {
		return "Server: " + clean(err.Error(), 300), false
	}
	paired := err == nil
	ctx, cancel := context.WithTimeout(ctx, controlTime)
	defer cancel()
	status, err := control.NewClient(dirs).Status(ctx)
	switch {
	case errors.Is(err, control.ErrNotRunning) && !paired:
		return "Server: not paired; sessions are reachable on this host only", true
	case errors.Is(err, control.ErrNotRunning):
		return fmt.Sprintf("Server: %s, but the daemon is not running", clean(config.Server, 200)), false
	case err != nil:
		return "Server: unknown, the daemon gives no answer; agent-helm daemon --stop ends it", false
	}
	return a.linkText(status.Uplink)
}

// linkText says what the daemon's link does.
func (a *app) linkText(link uplink.Status) (text string, healthy bool) {
	since := age(a.now().Sub(link.Since))
	server := clean(link.Server, 200)
	switch link.State {
	case uplink.StateConnected:
		text = fmt.Sprintf("Server: connected to %s as %s for %s", server, clean(link.Host, daemon.MaxNameRunes), since)
		if link.RTTMS > 0 {
			text += fmt.Sprintf(", %.0f ms away", link.RTTMS)
		}
		healthy = true
	case uplink.StateUnpaired:
		return "Server: the daemon runs, but this host is not paired", true
	case uplink.StateRefused:
		text = fmt.Sprintf("Server: %s does not let this host in, for %s", server, since)
	default:
		text = fmt.Sprintf("Server: reconnecting to %s for %s", server, since)
	}
	if link.LastError != "" && !healthy {
		text += ": " + clean(link.LastError, 300)
	}
	for _, warning := range link.Warnings {
		text += "; " + clean(warning, 200)
	}
	return text, healthy
}

// nextCommand is the next sensible command and why.
func (a *app) nextCommand(ctx context.Context, running []daemon.Session) (command, why string) {
	dirs, err := a.dirs()
	if err != nil {
		return "agent-helm doctor", "find out what is wrong"
	}
	_, pairing := daemon.LoadHostConfig(dirs)
	ctx, cancel := context.WithTimeout(ctx, controlTime)
	defer cancel()
	_, answer := control.NewClient(dirs).Status(ctx)
	switch {
	case pairing != nil && !errors.Is(pairing, daemon.ErrNotPaired):
		return "agent-helm doctor", "find out what is wrong"
	case pairing == nil && errors.Is(answer, control.ErrNotRunning):
		return "agent-helm daemon", "link this host to its server"
	case len(running) == 0:
		return "agent-helm run -- COMMAND", "start a program that keeps running"
	case len(running) == 1:
		return "agent-helm attach", "go on with " + clean(running[0].Name, daemon.MaxNameRunes)
	case pairing != nil:
		return "agent-helm attach " + clean(running[len(running)-1].Name, daemon.MaxNameRunes), "go on with the newest; agent-helm pair URL brings them to your phone"
	}
	return "agent-helm attach " + clean(running[len(running)-1].Name, daemon.MaxNameRunes), "go on with the newest"
}
