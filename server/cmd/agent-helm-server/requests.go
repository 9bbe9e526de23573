package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/auth"
)

type listedRequest struct {
	ID      string   `json:"id"`
	Host    string   `json:"host"`
	Name    string   `json:"name"`
	From    string   `json:"from"`
	Scopes  []string `json:"scopes"`
	Expires string   `json:"expires"`
}

// decide lists, confirms or denies what hosts ask for. The code itself appears on
// the host's terminal, within a second.
func (c *pairCommand) decide(ctx context.Context, data *console, std streams, scopes server.Scopes) error {
	switch {
	case c.Confirm != "":
		request, err := data.auth.ConfirmPairing(ctx, auth.Console(), c.Confirm, scopes)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(std.out, "confirmed: the code for %s is on the terminal of %s\n", request.Scopes, request.HostName)
		return err
	case c.Deny != "":
		request, err := data.auth.DenyPairing(ctx, auth.Console(), c.Deny)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(std.out, "denied: %s gets no code\n", request.HostName)
		return err
	}
	requests, err := data.auth.Pairings(ctx)
	if err != nil {
		return err
	}
	listed := make([]listedRequest, 0, len(requests))
	for _, r := range requests {
		listed = append(listed, listedRequest{ID: r.ID, Host: r.Host, Name: r.HostName, From: r.Address, Scopes: r.Scopes.Names(), Expires: moment(r.ExpiresAt)})
	}
	if c.JSON {
		return printJSON(std.out, listed)
	}
	table := newTable(std.out, "ID", "HOST", "FROM", "SCOPES", "LEFT")
	for i, r := range listed {
		table.row(r.ID, r.Name, r.From, strings.Join(r.Scopes, ","), time.Until(requests[i].ExpiresAt).Round(time.Second).String())
	}
	return table.flush()
}
