package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/auth"
)

type devicesCommand struct {
	List   devicesList   `cmd:"" aliases:"ls" help:"List paired browsers."`
	Rename devicesRename `cmd:"" help:"Give a paired browser another name."`
	Revoke devicesRevoke `cmd:"" help:"Revoke a paired browser by id, or by a name that only one has."`

	RevokeAll devicesRevokeAll `cmd:"" name:"revoke-all" help:"Revoke every paired browser."`
}

type devicesList struct {
	dataFlag
	JSON bool `name:"json" help:"Print a list of objects."`
}

type listedDevice struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Scopes   []string `json:"scopes"`
	Paired   string   `json:"paired"`
	LastSeen string   `json:"last_seen"`
	From     string   `json:"from"`
	Insecure bool     `json:"insecure"`
	// Sessions are those that a guest sees, absent for a device of one's own.
	Sessions []server.SessionKey `json:"sessions,omitempty"`
	Expires  string              `json:"expires"`
}

// Run lists the devices that can still sign in.
func (c *devicesList) Run(ctx context.Context, std streams) (err error) {
	data, err := c.openConsole(ctx)
	if err != nil {
		return err
	}
	defer func() { err = data.close(err) }()
	records, err := data.auth.Devices(ctx)
	if err != nil {
		return err
	}
	listed := make([]listedDevice, 0, len(records))
	for _, r := range records {
		listed = append(listed, listedDevice{ID: r.ID, Name: r.Name, Scopes: r.Scopes.Names(), Paired: moment(r.CreatedAt),
			LastSeen: moment(r.LastSeenAt), From: r.Address, Insecure: r.Insecure, Sessions: r.Binding.Sessions, Expires: moment(r.ExpiresAt)})
	}
	if c.JSON {
		return printJSON(std.out, listed)
	}
	table := newTable(std.out, "ID", "NAME", "SCOPES", "PAIRED", "LAST SEEN", "FROM")
	for _, d := range listed {
		may := strings.Join(d.Scopes, ",")
		if len(d.Sessions) > 0 {
			may = "guest"
		}
		table.row(d.ID, d.Name, may, d.Paired, d.LastSeen, d.From)
	}
	return table.flush()
}

type devicesRevoke struct {
	dataFlag
	Device string `arg:"" help:"Id or name."`
}

// Run revokes. A running server cuts what the device has open within a second.
func (c *devicesRevoke) Run(ctx context.Context, std streams) (err error) {
	data, err := c.openConsole(ctx)
	if err != nil {
		return err
	}
	defer func() { err = data.close(err) }()
	device, err := findDevice(ctx, data, c.Device)
	if err != nil {
		return err
	}
	if err := data.auth.RevokeDevice(ctx, auth.Console(), device.ID); err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.out, "revoked %s (%s)\n", device.Name, device.ID)
	return err
}

// findDevice finds a device by id, or by a name that only one has.
func findDevice(ctx context.Context, data *console, wanted string) (server.DeviceRecord, error) {
	records, err := data.auth.Devices(ctx)
	if err != nil {
		return server.DeviceRecord{}, err
	}
	var found []server.DeviceRecord
	for _, r := range records {
		if r.ID == wanted {
			return r, nil
		}
		if r.Name == wanted {
			found = append(found, r)
		}
	}
	switch len(found) {
	case 0:
		return server.DeviceRecord{}, server.Errorf(server.CodeUnknownDevice, "there is no device %q: see agent-helm-server devices list", wanted)
	case 1:
		return found[0], nil
	}
	return server.DeviceRecord{}, server.Errorf(server.CodeConflict, "%d devices are named %q: give the id of one, from agent-helm-server devices list", len(found), wanted)
}

type devicesRename struct {
	dataFlag
	Device string `arg:"" help:"Id or name."`
	Name   string `arg:"" help:"The new name."`
}

// Run renames.
func (c *devicesRename) Run(ctx context.Context, std streams) (err error) {
	data, err := c.openConsole(ctx)
	if err != nil {
		return err
	}
	defer func() { err = data.close(err) }()
	device, err := findDevice(ctx, data, c.Device)
	if err != nil {
		return err
	}
	if err := data.auth.RenameDevice(ctx, auth.Console(), device.ID, c.Name); err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.out, "renamed %s (%s)\n", device.Name, device.ID)
	return err
}

type devicesRevokeAll struct {
	dataFlag
	Yes bool `short:"y" help:"Do not ask."`
}

// Run revokes all. A running server cuts what they have open within a second.
func (c *devicesRevokeAll) Run(ctx context.Context, std streams) (err error) {
	data, err := c.openConsole(ctx)
	if err != nil {
		return err
	}
	defer func() { err = data.close(err) }()
	if !c.Yes {
		return errors.New("every browser would have to be paired again: add --yes if that is what you want")
	}
	revoked, err := data.auth.RevokeDevices(ctx, auth.Console(), "")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.out, "revoked %d\n", revoked)
	return err
}
