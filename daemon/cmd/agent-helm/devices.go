package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/uplink"
)

type devicesCommand struct {
	List   devicesListCommand   `cmd:"" default:"withargs" name:"ls" aliases:"list" help:"List the browsers that are paired with the server."`
	Revoke devicesRevokeCommand `cmd:"" help:"Revoke one, by id or by a name that only one has."`
	All    devicesAllCommand    `cmd:"" name:"revoke-all" help:"Revoke every paired browser."`
}

func (devicesCommand) Help() string {
	return `A host's own token sees no devices, since every program on the host could use it. Give a token with the scope admin, made on the server with agent-helm-server token create --scope admin, in a file that only you can read, or on standard input with --token-file -. On the server itself, with or without it running, use agent-helm-server devices.`
}

func (devicesCommand) Examples() string {
	return `agent-helm devices ls --token-file ~/.config/agent-helm/admin
agent-helm devices revoke "old phone" --token-file ~/.config/agent-helm/admin
agent-helm devices revoke-all --yes --token-file -`
}

// tokenFlag is the credential of a command that asks the server.
type tokenFlag struct {
	TokenFile string `placeholder:"FILE" help:"File with a token that has the scope admin, mode 0600; - for standard input."`
}

// api is the server of this host's pairing, with the person's own token.
func (f tokenFlag) api(app *app) (*uplink.API, error) {
	dirs, err := app.dirs()
	if err != nil {
		return nil, err
	}
	if app.inside(dirs) {
		return nil, fmt.Errorf("%w: a program in a session may not see or change who has access", errInside)
	}
	config, err := daemon.LoadHostConfig(dirs)
	if err != nil {
		return nil, err
	}
	var token string
	switch f.TokenFile {
	case "":
		return nil, usage("this needs a token of your own: add --token-file FILE (see --help), or run agent-helm-server devices on the server")
	case "-":
		if token, err = readLine(bufio.NewReader(app.stdin)); err != nil {
			return nil, usage("no token was given on standard input")
		}
	default:
		if token, err = daemon.ReadSecret(f.TokenFile); err != nil {
			return nil, err
		}
	}
	return uplink.NewAPI(config, token), nil
}

// device is a paired browser as the server tells of it. All of it is the
// server's word.
type device struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	Scopes     []string `json:"scopes"`
	CreatedMS  int64    `json:"created_ms"`
	LastSeenMS int64    `json:"last_seen_ms"`
	Address    string   `json:"address"`
	Insecure   bool     `json:"insecure"`
	ExpiresMS  int64    `json:"expires_ms"`
	// Sessions are the only ones that a guest sees.
	Sessions []struct {
		Host string `json:"host"`
		ID   string `json:"id"`
	} `json:"sessions,omitempty"`
}

func listDevices(ctx context.Context, api *uplink.API) ([]device, error) {
	var answer struct {
		Items []device `json:"items"`
	}
	if err := api.Do(ctx, http.MethodGet, "/api/devices", nil, &answer); err != nil {
		return nil, unreachable(err)
	}
	return answer.Items, nil
}

type devicesListCommand struct {
	tokenFlag
	JSON bool `name:"json" help:"Print a list of objects."`
}

func (c *devicesListCommand) Run(ctx context.Context, app *app) error {
	api, err := c.api(app)
	if err != nil {
		return err
	}
	devices, err := listDevices(ctx, api)
	if err != nil {
		return err
	}
	if c.JSON {
		if devices == nil {
			devices = []device{}
		}
		return app.printJSON(devices)
	}
	list := table{header: []string{"ID", "NAME", "MAY", "PAIRED", "LAST SEEN", "FROM"}, flexible: 1}
	for _, d := range devices {
		may := strings.Join(d.Scopes, ",")
		if len(d.Sessions) > 0 {
			may = "guest"
		}
		list.rows = append(list.rows, []cell{{text: d.ID}, {text: d.Name}, {text: may}, {text: ago(d.CreatedMS)}, {text: ago(d.LastSeenMS)}, {text: d.Address}})
	}
	list.print(app)
	return nil
}

func ago(ms int64) string { return age(time.Duration(ms)*time.Millisecond) + " ago" }

type devicesRevokeCommand struct {
	tokenFlag
	Device string `arg:"" help:"Id or name."`
}

func (c *devicesRevokeCommand) Run(ctx context.Context, app *app) error {
	api, err := c.api(app)
	if err != nil {
		return err
	}
	devices, err := listDevices(ctx, api)
	if err != nil {
		return err
	}
	found, err := findDevice(devices, c.Device)
	if err != nil {
		return err
	}
	if err := api.Do(ctx, http.MethodDelete, "/api/devices/"+url.PathEscape(found.ID), nil, nil); err != nil {
		return unreachable(err)
	}
	app.print("revoked %s (%s): what it had open is closed", clean(found.Name, daemon.MaxNameRunes), clean(found.ID, 64))
	return nil
}

// findDevice finds a device by id, or by a name that only one has.
func findDevice(devices []device, wanted string) (device, error) {
	var named []device
	for _, d := range devices {
		if d.ID == wanted {
			return d, nil
		}
		if d.Name == wanted {
			named = append(named, d)
		}
	}
	switch len(named) {
	case 0:
		return device{}, notFound("there is no device %q: agent-helm devices ls", clean(wanted, daemon.MaxNameRunes))
	case 1:
		return named[0], nil
	}
	return device{}, usage("%d devices are named %q: give the id of one, from agent-helm devices ls", len(named), clean(wanted, daemon.MaxNameRunes))
}

type devicesAllCommand struct {
	tokenFlag
	Yes bool `short:"y" help:"Do not ask."`
}

func (c *devicesAllCommand) Run(ctx context.Context, app *app) error {
	if !c.Yes {
		if c.TokenFile == "-" || !term.IsTerminal(int(app.stdin.Fd())) {
			return usage("nobody is there to confirm: add --yes")
		}
		fmt.Fprint(app.stderr, "Every browser has to be paired again. Revoke all? [y/N] ")
		answer, err := readLine(bufio.NewReader(app.stdin))
		if err != nil || !strings.HasPrefix(strings.ToLower(answer), "y") {
			return errors.New("nothing was revoked")
		}
	}
	api, err := c.api(app)
	if err != nil {
		return err
	}
	var answer struct {
		Revoked int `json:"revoked"`
	}
	if err := api.Do(ctx, http.MethodPost, "/api/devices/revoke", nil, &answer); err != nil {
		return unreachable(err)
	}
	app.print("revoked %s", plural(answer.Revoked, "device"))
	return nil
}
