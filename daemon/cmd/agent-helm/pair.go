package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/term"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/uplink"
	"github.com/agent-helm/agent-helm/internal/untrusted"
)

type pairCommand struct {
	URL  string `arg:"" optional:"" name:"url" help:"Address of the server, as it prints it. Without it, a paired host asks its server for the code of a new phone or browser."`
	Code string `arg:"" optional:"" help:"Pairing code. Other users of this machine can see arguments: leave it out to be asked, or to give it on standard input."`

	Name string `short:"n" placeholder:"NAME" help:"How the server calls this host; its host name when left out."`
	Yes  bool   `short:"y" help:"Do not ask."`

	Scope string `default:"read,input,answer" placeholder:"LIST" help:"What the new phone or browser shall be able to do: read, input, answer, exec, admin (${default})."`
	JSON  bool   `name:"json" help:"Print the new phone's code as {code, url, scopes, expires}."`
}

func (pairCommand) Help() string {
	return `The server gives out the code: agent-helm-server pair --host, or a signed-in device. Pairing gives a server what agent-helm policy shows, and nothing more.

Without an address it is about another device: this host asks its server for a code, and prints it once somebody confirmed the request on a device with the scope admin, or on the server with agent-helm-server pair --confirm. A host makes no codes itself: every program here could.`
}

func (pairCommand) Examples() string {
	return `agent-helm pair https://helm.example
agent-helm join https://helm.example ABC123
cat code | agent-helm pair --yes https://helm.example
agent-helm pair                                  # a code for another phone, once confirmed`
}

func (c *pairCommand) Run(ctx context.Context, app *app) error {
	dirs, err := app.dirs()
	if err != nil {
		return err
	}
	if app.inside(dirs) {
		return fmt.Errorf("%w: a program in a session may not pair this host", errInside)
	}
	if c.URL == "" {
		return c.ask(ctx, app, dirs)
	}
	name, err := c.hostName()
	if err != nil {
		return err
	}
	server, _, _ := strings.Cut(strings.TrimSpace(c.URL), "#")
	if err := daemon.ValidateServerURL(server); err != nil {
		return usageError{err}
	}
	asked := term.IsTerminal(int(app.stdin.Fd()))
	if err := c.explain(app, dirs, server, name); err != nil {
		return err
	}
	lines := bufio.NewReader(app.stdin)
	if c.Code == "" {
		if asked {
			fmt.Fprint(app.stderr, "Pairing code: ")
		}
		if c.Code, err = readLine(lines); err != nil {
			return usage("no pairing code was given: write it behind the address, or on standard input")
		}
	}
	if !c.Yes {
		if !asked {
			return usage("nobody is there to confirm: add --yes")
		}
		fmt.Fprint(app.stderr, "Pair this host? [y/N] ")
		answer, err := readLine(lines)
		if err != nil || !strings.HasPrefix(strings.ToLower(answer), "y") {
			return errors.New("not paired")
		}
	}
	config, err := uplink.Pair(ctx, c.URL, c.Code, name)
	if err != nil {
		return unreachable(err)
	}
	if err := config.Save(dirs); err != nil {
		return err
	}
	app.print("Paired as %s with %s", clean(config.Name, daemon.MaxNameRunes), config.Server)
	if config.Pin != "" {
		app.note("The server's key is pinned: SHA256 %s", config.Pin)
	}
	if nudge(ctx, dirs) {
		app.note("The daemon connects now: agent-helm ls shows it.")
	} else {
		app.note("Next: agent-helm daemon links this host to it.")
	}
	return nil
}

func (c *pairCommand) hostName() (string, error) {
	name := c.Name
	if name == "" {
		host, err := os.Hostname()
		if err != nil {
			return "", usage("this machine has no name: add --name")
		}
		name, _, _ = strings.Cut(host, ".")
		name = untrusted.Clean(name, daemon.MaxNameRunes)
	}
	if err := daemon.ValidateName(name); err != nil {
		return "", usageError{err}
	}
	return name, nil
}

// explain says what is about to be granted, and what it replaces.
func (c *pairCommand) explain(app *app, dirs daemon.Dirs, server, name string) error {
	policy, err := daemon.LoadPolicy(dirs)
	if err != nil {
		return err
	}
	var granted []string
	for _, line := range policyLines(policy.Effective()) {
		if line.allowed {
			granted = append(granted, line.meaning)
		}
	}
	fmt.Fprintf(app.stderr, "Server:     %s\n", clean(server, 200))
	fmt.Fprintf(app.stderr, "This host:  %s\n", name)
	fmt.Fprintf(app.stderr, "It may:     %s\n", strings.Join(granted, "\n            "))
	app.note("            (agent-helm policy; it is changed only here)")
	switch old, err := daemon.LoadHostConfig(dirs); {
	case err == nil:
		fmt.Fprintf(app.stderr, "Replaces:   the pairing as %s with %s\n", clean(old.Name, daemon.MaxNameRunes), old.Server)
	case !errors.Is(err, daemon.ErrNotPaired):
		fmt.Fprintf(app.stderr, "Replaces:   an unusable pairing (%s)\n", clean(err.Error(), 200))
	}
	return nil
}

// readLine reads one line without its end. An empty one is an error.
func readLine(r *bufio.Reader) (string, error) {
	line, err := r.ReadString('\n')
	line = strings.TrimSpace(line)
	if line == "" {
		if err == nil {
			err = errors.New("empty line")
		}
		return "", err
	}
	return line, nil
}
