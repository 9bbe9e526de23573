package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/auth"
	"github.com/agent-helm/agent-helm/server/store/sqlite"
)

// dataFlag is the flag that every command on the data directory has.
type dataFlag struct {
	Data string `name:"data" placeholder:"DIR" default:"${data}" env:"AGENT_HELM_DATA" help:"Data directory: database and keys (${default})."`
}

// defaultData is where the server keeps its data when nobody says otherwise.
func defaultData() string {
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "agent-helm-server")
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "agent-helm-server"
	}
	return filepath.Join(home, ".local", "state", "agent-helm-server")
}

// console is the data directory as its owner uses it, beside a server or not.
type console struct {
	store *sqlite.Store
	auth  *auth.Service
}

// openConsole opens an existing data directory.
func (d dataFlag) openConsole(ctx context.Context) (*console, error) {
	if !sqlite.Exists(d.Data) {
		return nil, fmt.Errorf("there is no server data in %s: start one with agent-helm-server serve --data %s, or give the right --data", d.Data, d.Data)
	}
	return d.open(ctx)
}

// open opens a data directory, and makes it where it is missing.
func (d dataFlag) open(ctx context.Context) (*console, error) {
	store, err := sqlite.Open(ctx, d.Data, sqlite.Options{})
	if err != nil {
		return nil, err
	}
	key, err := auth.LoadKey(d.Data)
	if err != nil {
		return nil, errors.Join(err, store.Close())
	}
	return &console{store: store, auth: auth.New(store, key, slog.New(slog.DiscardHandler))}, nil
}

func (c *console) close(err error) error { return errors.Join(err, c.store.Close()) }

// linkBase is what links begin with: the stored public URL, or where the
// server listened when it last started.
func (c *console) linkBase(ctx context.Context) (string, error) {
	public, err := c.store.Setting(ctx, server.SettingPublicURL)
	if err != nil {
		return "", err
	}
	if first, _, _ := strings.Cut(public, " "); first != "" {
		return first, nil
	}
	base, err := c.store.Setting(ctx, server.SettingLinkURL)
	if err != nil {
		return "", err
	}
	if base == "" {
		return "", errors.New("the server has not run on this data directory yet, so its address is not known: start it with agent-helm-server serve, or give --url")
	}
	return base, nil
}

// ticketLink is a link that signs one browser in. The ticket is in the
// fragment, which no request carries.
func ticketLink(base, ticket string) string { return base + "/#t=" + ticket }

func printJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
