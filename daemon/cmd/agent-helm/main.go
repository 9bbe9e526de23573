// Command agent-helm is the host's side of agent-helm: it runs programs under
// holders, attaches terminals to them, and is the daemon that links this host
// to a server. main takes signals and arguments, runs one command and turns
// what it returned into an exit code; each command is a file of its own and
// only joins packages of the daemon's side. The holder of a session is this
// same program, called "agent-helm hold" by holder.Start; it is handled before
// anything else so that it stays light.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/agent-helm/agent-helm/daemon/holder"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == "hold" {
		os.Exit(holder.Main(os.Args[2:]))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, newApp(os.Stdin, os.Stdout, os.Stderr, os.Getenv), os.Args[1:])
	stop()
	os.Exit(code)
}
