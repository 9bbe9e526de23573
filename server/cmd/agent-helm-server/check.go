package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/agent-helm/agent-helm/internal/buildinfo"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/httpapi"
)

type versionCommand struct{}

// Run prints the version alone.
func (versionCommand) Run(std streams) error {
	_, err := fmt.Fprintln(std.out, "agent-helm-server", buildinfo.Version())
	return err
}

type openapiCommand struct {
	Output string `placeholder:"FILE" help:"Write to a file instead of stdout."`
}

// Run prints the API's description. It needs no data directory.
func (c openapiCommand) Run(std streams) error {
	document, err := httpapi.Describe()
	if err != nil {
		return err
	}
	if c.Output != "" {
		return os.WriteFile(c.Output, document, 0o644)
	}
	_, err = std.out.Write(document)
	return err
}

type migrateCommand struct{ dataFlag }

// Run migrates and says to which version.
func (c *migrateCommand) Run(ctx context.Context, std streams) (err error) {
	data, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = data.close(err) }()
	version, err := data.store.SchemaVersion(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.out, "the database is at version %d\n", version)
	return err
}

type healthcheckCommand struct {
	dataFlag
	URL string `placeholder:"URL" help:"Address of the server, instead of the one that it left in the data directory."`
}

// healthTimeout is how long a healthy server may take to answer.
const healthTimeout = 5 * time.Second

// Run asks the server and prints nothing when all is well.
func (c *healthcheckCommand) Run(ctx context.Context) (err error) {
	address := c.URL
	if address == "" {
		data, err := c.openConsole(ctx)
		if err != nil {
			return err
		}
		address, err = data.store.Setting(ctx, server.SettingListenURL)
		if err := data.close(err); err != nil {
			return err
		}
		if address == "" {
			return errors.New("the server has not run on this data directory yet")
		}
	}
	return checkHealth(ctx, address)
}

func checkHealth(ctx context.Context, address string) error {
	u, err := url.Parse(strings.TrimSuffix(address, "/"))
	if err != nil || u.Host == "" {
		return fmt.Errorf("address %q: give one such as http://127.0.0.1:7777", address)
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String()+"/api/health", nil)
	if err != nil {
		return err
	}
	transport := &http.Transport{DisableKeepAlives: true}
	if !reachable(address) {
		// A certificate names the public address, not 127.0.0.1. Nothing secret is
		// sent or believed here.
		transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: true} //nolint:gosec // see above
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return fmt.Errorf("the server does not answer: %w", err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, io.LimitReader(response.Body, 1<<16)); err != nil {
		return fmt.Errorf("the server does not answer: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the server answers %s", response.Status)
	}
	return nil
}

type doctorCommand struct{ dataFlag }

// findings are what doctor has found so far.
type findings struct {
	out    io.Writer
	failed int
}

// check prints what is right, or what is wrong and what to do.
func (f *findings) check(what string, err error) bool {
	if err != nil {
		f.failed++
		fmt.Fprintf(f.out, "✗ %s: %s\n", what, sentence(err))
		return false
	}
	fmt.Fprintf(f.out, "✓ %s\n", what)
	return true
}

// advise prints what may be as it is.
func (f *findings) advise(what, advice string) {
	if advice == "" {
		fmt.Fprintf(f.out, "✓ %s\n", what)
		return
	}
	fmt.Fprintf(f.out, "· %s: %s\n", what, advice)
}

// Run checks one thing after the other and fails when one is wrong.
func (c *doctorCommand) Run(ctx context.Context, std streams) error {
	found := &findings{out: std.out}
	fmt.Fprintf(std.out, "agent-helm-server %s, %s/%s, %s\n", buildinfo.Version(), runtime.GOOS, runtime.GOARCH, c.Data)
	data, err := c.openConsole(ctx)
	if found.check("data directory and database", err) {
		if err := data.close(c.checkData(ctx, data, found)); err != nil {
			return err
		}
	}
	if found.failed > 0 {
		return fmt.Errorf("%d of the checks failed", found.failed)
	}
	return nil
}

func (c *doctorCommand) checkData(ctx context.Context, data *console, found *findings) error {
	bad, err := data.store.VerifyAudit(ctx)
	if err == nil && bad != 0 {
		err = fmt.Errorf("line %d does not fit its predecessors: somebody changed the audit log", bad)
	}
	found.check("audit log is whole", err)
	listen, err := data.store.Setting(ctx, server.SettingListenURL)
	if err != nil {
		return err
	}
	if listen == "" {
		found.check("server answers", errors.New("it has not run on this data directory yet: start it with agent-helm-server serve"))
		return nil
	}
	found.check("server answers at "+listen, checkHealth(ctx, listen))
	base, err := data.linkBase(ctx)
	if err != nil {
		return err
	}
	advice := ""
	if !reachable(base) {
		advice = base + " is for this machine only; phones need a --public-url, or --listen on the network"
	}
	found.advise("phones can reach it", advice)
	devices, err := data.auth.Devices(ctx)
	if err != nil {
		return err
	}
	advice = ""
	if len(devices) == 0 {
		advice = "none yet; agent-helm-server link prints a link for one"
	}
	found.advise("a browser is paired", advice)
	hosts, err := data.store.Hosts(ctx)
	if err != nil {
		return err
	}
	advice = ""
	if len(hosts) == 0 {
		advice = "none yet; agent-helm-server pair --host prints a code for one"
	}
	found.advise("a host is enrolled", advice)
	return nil
}
