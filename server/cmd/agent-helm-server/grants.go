package main

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/skip2/go-qrcode"

	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/auth"
)

type pairCommand struct {
	dataFlag
	Host  bool   `help:"For a host, not for a phone or browser."`
	Scope string `placeholder:"LIST" help:"What the device may do: read, input, answer, exec, admin; admin, which is everything, when left out."`
	URL   string `placeholder:"URL" help:"Address for the link, instead of the one that the server uses."`
	JSON  bool   `name:"json" help:"Print {code, url, expires}; with --requests a list of objects."`

	Requests bool   `xor:"request" help:"List the hosts that ask for a code: somebody ran agent-helm pair there."`
	Confirm  string `xor:"request" placeholder:"ID" help:"Let the host with this request show a code. --scope changes what the device may do."`
	Deny     string `xor:"request" placeholder:"ID" help:"Refuse this request."`
}

// Help is shown by --help.
func (pairCommand) Help() string {
	return "The code is alone on the first line and works once, for five minutes. For a phone a link follows, and a QR code of it " +
		"where the address is one that a phone can reach.\n\nExamples:\n  agent-helm-server pair --data ./data\n  agent-helm-server pair --data ./data --host --json\n  agent-helm-server pair --data ./data --confirm K7QP"
}

type pairResult struct {
	Code    string `json:"code"`
	URL     string `json:"url"`
	Link    string `json:"link,omitempty"`
	Expires string `json:"expires"`
}

// Run makes the code.
func (c *pairCommand) Run(ctx context.Context, std streams) (err error) {
	var scopes server.Scopes
	if c.Scope != "" {
		if scopes, err = server.ParseScopes(c.Scope); err != nil {
			return err
		}
	}
	data, err := c.openConsole(ctx)
	if err != nil {
		return err
	}
	defer func() { err = data.close(err) }()
	if c.Requests || c.Confirm != "" || c.Deny != "" {
		return c.decide(ctx, data, std, scopes)
	}
	if scopes == 0 {
		scopes = server.AllScopes
	}
	base := strings.TrimSuffix(c.URL, "/")
	if base == "" {
		if base, err = data.linkBase(ctx); err != nil {
			return err
		}
	}
	kind := server.PrincipalDevice
	if c.Host {
		kind = server.PrincipalHost
		if base, err = pinned(ctx, data, base); err != nil {
			return err
		}
	}
	code, record, err := data.auth.CreateCode(ctx, auth.Console(), kind, scopes)
	if err != nil {
		return err
	}
	result := pairResult{Code: code, URL: base, Expires: record.ExpiresAt.UTC().Format(time.RFC3339)}
	if !c.Host {
		ticket, _, err := data.auth.CreateTicket(ctx, auth.Console(), scopes)
		if err != nil {
			return err
		}
		result.Link = ticketLink(base, ticket)
	}
	if c.JSON {
		return printJSON(std.out, result)
	}
	fmt.Fprintln(std.out, code)
	if c.Host {
		fmt.Fprintf(std.out, "\nOn the host, within 5 minutes:\n  agent-helm pair %s\n", base)
		return nil
	}
	fmt.Fprintf(std.out, "\nOpen %s and type the code within 5 minutes, or open this link (once, within 10 minutes):\n  %s\n", base, result.Link)
	if !reachable(base) {
		fmt.Fprintln(std.out, "\nThis address is for this machine only, so there is no QR code: a phone needs --public-url or a --listen on the network.")
		return nil
	}
	return printQR(std.out, result.Link)
}

// pinned adds the key of a server that speaks TLS itself, so that a host need
// not trust any certificate authority.
func pinned(ctx context.Context, data *console, base string) (string, error) {
	pin, err := data.store.Setting(ctx, server.SettingPin)
	if err != nil || pin == "" || !strings.HasPrefix(base, "https:") {
		return base, err
	}
	return base + "/#pin=" + pin, nil
}

// reachable says whether another machine can open the address.
func reachable(base string) bool {
	u, err := url.Parse(base)
	if err != nil {
		return false
	}
	name := u.Hostname()
	if address, err := netip.ParseAddr(name); err == nil {
		return !address.IsLoopback() && !address.IsUnspecified()
	}
	return name != "localhost" && !strings.HasSuffix(name, ".localhost")
}

func printQR(w io.Writer, link string) error {
	code, err := qrcode.New(link, qrcode.Medium)
	if err != nil {
		return fmt.Errorf("make QR code: %w", err)
	}
	_, err = fmt.Fprint(w, "\n", code.ToSmallString(false))
	return err
}

type linkCommand struct {
	dataFlag
	Scope string `default:"admin" placeholder:"LIST" help:"What the browser may do (${default}: everything)."`
	URL   string `placeholder:"URL" help:"Address for the link, instead of the one that the server uses."`
}

// Run prints the link alone on stdout.
func (c *linkCommand) Run(ctx context.Context, std streams) (err error) {
	scopes, err := server.ParseScopes(c.Scope)
	if err != nil {
		return err
	}
	data, err := c.openConsole(ctx)
	if err != nil {
		return err
	}
	defer func() { err = data.close(err) }()
	base := strings.TrimSuffix(c.URL, "/")
	if base == "" {
		if base, err = data.linkBase(ctx); err != nil {
			return err
		}
	}
	ticket, _, err := data.auth.CreateTicket(ctx, auth.Console(), scopes)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(std.out, ticketLink(base, ticket))
	return err
}

type hostsCommand struct {
	List   hostsList   `cmd:"" aliases:"ls" help:"List enrolled hosts."`
	Remove hostsRemove `cmd:"" help:"Remove a host by name or id, with its token and what the server keeps of its sessions."`
}

type hostsList struct {
	dataFlag
	JSON bool `name:"json" help:"Print a list of objects."`
}

type listedHost struct {
	ID       string `json:"id"`
	Name     string `json:"name"`
	Enrolled string `json:"enrolled"`
	LastSeen string `json:"last_seen"`
	Version  string `json:"version"`
}

// Run lists the hosts. A connected one was last seen up to ten minutes ago.
func (c *hostsList) Run(ctx context.Context, std streams) (err error) {
	data, err := c.openConsole(ctx)
	if err != nil {
		return err
	}
	defer func() { err = data.close(err) }()
	records, err := data.store.Hosts(ctx)
	if err != nil {
		return err
	}
	listed := make([]listedHost, 0, len(records))
	for _, r := range records {
		listed = append(listed, listedHost{ID: r.ID, Name: r.Name, Enrolled: moment(r.CreatedAt), LastSeen: moment(r.LastSeenAt), Version: untrusted.Clean(r.Version, server.MaxName)})
	}
	if c.JSON {
		return printJSON(std.out, listed)
	}
	table := newTable(std.out, "ID", "NAME", "ENROLLED", "LAST SEEN", "VERSION")
	for _, h := range listed {
		table.row(h.ID, h.Name, h.Enrolled, h.LastSeen, h.Version)
	}
	return table.flush()
}

type hostsRemove struct {
	dataFlag
	Host string `arg:"" help:"Name or id."`
}

// Run removes a host. Its programs go on; a running server cuts its link within
// a second.
func (c *hostsRemove) Run(ctx context.Context, std streams) (err error) {
	data, err := c.openConsole(ctx)
	if err != nil {
		return err
	}
	defer func() { err = data.close(err) }()
	records, err := data.store.Hosts(ctx)
	if err != nil {
		return err
	}
	for _, r := range records {
		if r.ID == c.Host || r.Name == c.Host {
			if err := data.auth.RemoveHost(ctx, auth.Console(), r.ID); err != nil {
				return err
			}
			_, err = fmt.Fprintf(std.out, "removed %s (%s)\n", r.Name, r.ID)
			return err
		}
	}
	return server.Errorf(server.CodeUnknownHost, "there is no host %q: see agent-helm-server hosts list", c.Host)
}

// moment is a time for a list, empty for none.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// table writes columns. Every cell is cleaned: names were given by people and
// other machines.
type table struct{ writer *tabwriter.Writer }

func newTable(w io.Writer, headings ...string) table {
	t := table{tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)}
	t.row(headings...)
	return t
}

func (t table) row(cells ...string) {
	for i, cell := range cells {
		if cells[i] = untrusted.Clean(cell, server.MaxTitle); cells[i] == "" {
			cells[i] = "-"
		}
	}
	fmt.Fprintln(t.writer, strings.Join(cells, "\t"))
}

func (t table) flush() error { return t.writer.Flush() }
