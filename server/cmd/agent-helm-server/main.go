// Command agent-helm-server is the server: it wires store, auth, fleet, sockets
// and HTTP together, and administers a data directory beside a running server.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/server"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// After the first signal the next one has its default effect: it ends a
	// shutdown that hangs.
	context.AfterFunc(ctx, stop)
	code := run(ctx, os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}

// streams are the process's own.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// Exit codes, as documented by --help.
const (
	exitFailed = 1
	exitUsage  = 2
)

type cli struct {
	Serve       serveCommand       `cmd:"" help:"Run the server."`
	Pair        pairCommand        `cmd:"" help:"Print a six-character code for a phone, or with --host for a host."`
	Link        linkCommand        `cmd:"" help:"Print a link that signs one browser in."`
	Token       tokenCommand       `cmd:"" help:"Make, list and revoke tokens for scripts."`
	Devices     devicesCommand     `cmd:"" aliases:"clients" help:"List, rename and revoke paired browsers."`
	Audit       auditCommand       `cmd:"" help:"List, verify and export who did what."`
	Hosts       hostsCommand       `cmd:"" help:"List and remove enrolled hosts."`
	Migrate     migrateCommand     `cmd:"" help:"Bring the database up to date; serve does it by itself."`
	Healthcheck healthcheckCommand `cmd:"" help:"Exit with 0 when the server answers."`
	Doctor      doctorCommand      `cmd:"" help:"Check a data directory and its server, and say what to do."`
	Version     versionCommand     `cmd:"" help:"Print the version."`
	OpenAPI     openapiCommand     `cmd:"" name:"openapi" hidden:"" help:"Print the API's description."`
}

const description = `The server of agent-helm: sessions of all hosts, live, in the browser.

Examples:
  agent-helm-server serve --data ./data
  agent-helm-server link --data ./data
  agent-helm-server pair --data ./data --host
  agent-helm-server token create --data ./data --name ci --scope read

Exit codes: 0 done, 1 failed, 2 wrong usage.`

// run parses and runs one command line and returns the exit code.
func run(ctx context.Context, args []string, std streams) int {
	var commands cli
	exit, exited := 0, false
	parser, err := kong.New(&commands,
		kong.Name("agent-helm-server"), kong.Description(description), kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Writers(std.out, std.err),
		kong.Exit(func(code int) { exit, exited = code, true }),
		kong.Vars{"data": defaultData()},
		kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(std),
	)
	if err != nil {
		fmt.Fprintln(std.err, "agent-helm-server:", err)
		return exitFailed
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if exited {
		return exit
	}
	if err != nil {
		fmt.Fprintf(std.err, "agent-helm-server: %v\nSee agent-helm-server --help.\n", err)
		return exitUsage
	}
	if err := parsed.Run(); err != nil {
		fmt.Fprintln(std.err, "agent-helm-server:", sentence(err))
		return exitFailed
	}
	return 0
}

// sentence is what the person reads of an error. Text that came from elsewhere
// is in it, so it is cleaned.
func sentence(err error) string {
	if known, ok := errors.AsType[*server.Error](err); ok {
		return untrusted.Clean(known.Message, server.MaxText)
	}
	return untrusted.Clean(err.Error(), server.MaxText)
}
