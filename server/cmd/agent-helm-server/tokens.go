package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/auth"
)

type tokenCommand struct {
	Create tokenCreate `cmd:"" help:"Make a token and print it, this once, alone on stdout."`
	List   tokenList   `cmd:"" aliases:"ls" help:"List tokens."`
	Revoke tokenRevoke `cmd:"" help:"Revoke a token by name or id."`
}

type tokenCreate struct {
	dataFlag
	Name    string        `required:"" help:"What to call it; no two tokens share a name."`
	Scope   string        `default:"read" placeholder:"LIST" help:"read, input, answer, exec, admin, separated by commas (${default})."`
	Session []string      `placeholder:"HOST/ID" sep:"," help:"Bind it to these sessions only, each as HOST-ID/SESSION-ID; see GET /api/sessions."`
	Expires time.Duration `placeholder:"DURATION" help:"How long it lives, such as 720h; without end by default."`
	JSON    bool          `name:"json" help:"Print {id, name, scopes, token}."`
}

// Run makes the token. It may come before the first start of the server.
func (c *tokenCreate) Run(ctx context.Context, std streams) (err error) {
	scopes, err := server.ParseScopes(c.Scope)
	if err != nil {
		return err
	}
	binding, err := parseBinding(c.Session)
	if err != nil {
		return err
	}
	data, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = data.close(err) }()
	record, text, err := data.auth.CreateToken(ctx, auth.Console(), auth.TokenRequest{Name: c.Name, Scopes: scopes, Binding: binding, Lifetime: c.Expires})
	if err != nil {
		return err
	}
	if c.JSON {
		return printJSON(std.out, map[string]any{"id": record.ID, "name": record.Name, "scopes": record.Scopes.Names(), "token": text})
	}
	_, err = fmt.Fprintln(std.out, text)
	return err
}

// parseBinding reads sessions as HOST/ID.
func parseBinding(sessions []string) (server.Binding, error) {
	var binding server.Binding
	for _, text := range sessions {
		host, id, ok := strings.Cut(strings.TrimSpace(text), "/")
		if !ok || host == "" || id == "" {
			return server.Binding{}, server.Errorf(server.CodeInvalid, "%q is no session: write HOST-ID/SESSION-ID", text)
		}
		binding.Sessions = append(binding.Sessions, server.SessionKey{Host: host, ID: id})
	}
	return binding, nil
}

type tokenList struct {
	dataFlag
	JSON bool `name:"json" help:"Print a list of objects."`
}

type listedToken struct {
	ID       string   `json:"id"`
	Name     string   `json:"name"`
	Scopes   []string `json:"scopes"`
	By       string   `json:"created_by"`
	Created  string   `json:"created"`
	LastUsed string   `json:"last_used"`
	Expires  string   `json:"expires"`
	// Sessions are the only ones that it reaches, absent for all.
	Sessions []server.SessionKey `json:"sessions,omitempty"`
}

// Run lists the live tokens.
func (c *tokenList) Run(ctx context.Context, std streams) (err error) {
	data, err := c.openConsole(ctx)
	if err != nil {
		return err
	}
	defer func() { err = data.close(err) }()
	records, err := data.auth.Tokens(ctx)
	if err != nil {
		return err
	}
	listed := make([]listedToken, 0, len(records))
	for _, r := range records {
		listed = append(listed, listedToken{ID: r.ID, Name: r.Name, Scopes: r.Scopes.Names(), By: r.CreatedBy,
			Created: moment(r.CreatedAt), LastUsed: moment(r.LastUsedAt), Expires: moment(r.ExpiresAt), Sessions: r.Binding.Sessions})
	}
	if c.JSON {
		return printJSON(std.out, listed)
	}
	table := newTable(std.out, "ID", "NAME", "SCOPES", "CREATED", "LAST USED", "EXPIRES")
	for _, t := range listed {
		table.row(t.ID, t.Name, strings.Join(t.Scopes, ","), t.Created, t.LastUsed, t.Expires)
	}
	return table.flush()
}

type tokenRevoke struct {
	dataFlag
	Token string `arg:"" optional:"" help:"Name or id."`
	Name  string `help:"Name or id, as a flag."`
}

// Run revokes. A running server cuts what the token has open within a second.
func (c *tokenRevoke) Run(ctx context.Context, std streams) (err error) {
	wanted := c.Token
	if wanted == "" {
		wanted = c.Name
	}
	data, err := c.openConsole(ctx)
	if err != nil {
		return err
	}
	defer func() { err = data.close(err) }()
	records, err := data.auth.Tokens(ctx)
	if err != nil {
		return err
	}
	for _, r := range records {
		if wanted != "" && (r.ID == wanted || r.Name == wanted) {
			if err := data.auth.RevokeToken(ctx, auth.Console(), r.ID); err != nil {
				return err
			}
			_, err = fmt.Fprintf(std.out, "revoked %s (%s)\n", r.Name, r.ID)
			return err
		}
	}
	return server.Errorf(server.CodeUnknownToken, "there is no token %q: see agent-helm-server token list", wanted)
}
