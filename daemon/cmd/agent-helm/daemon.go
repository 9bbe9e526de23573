package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/control"
	"github.com/agent-helm/agent-helm/daemon/holder"
	"github.com/agent-helm/agent-helm/daemon/supervisor"
	"github.com/agent-helm/agent-helm/daemon/uplink"
	"github.com/agent-helm/agent-helm/internal/buildinfo"
	"github.com/agent-helm/agent-helm/internal/logging"
	"github.com/agent-helm/agent-helm/internal/vt"
)

type daemonCommand struct {
	Background bool   `short:"b" help:"Return once it runs; its log goes to daemon.log in the state directory."`
	Foreground bool   `hidden:"" help:"Stay in the foreground. It always does without --background."`
	Stop       bool   `help:"End the daemon that runs. Sessions go on."`
	LogLevel   string `default:"info" enum:"debug,info,warn,error" help:"debug, info, warn or error."`
	LogJSON    bool   `name:"log-json" help:"Log lines as JSON."`
}

func (daemonCommand) Help() string {
	return `The daemon owns no session: programs keep running when it ends, crashes or is upgraded, and the next one finds them. One daemon serves a state directory; it waits for this host to be paired.`
}

func (daemonCommand) Examples() string {
	return `agent-helm daemon                     # until ^C
agent-helm daemon --background
agent-helm daemon --stop`
}

// daemonLog is the file that a daemon in the background writes.
const daemonLog = "daemon.log"

// backgroundTime is how long a daemon may take to answer after its start.
const backgroundTime = 10 * time.Second

func (c *daemonCommand) Run(ctx context.Context, app *app) error {
	dirs, err := app.dirs()
	if err != nil {
		return err
	}
	switch {
	case c.Background && (c.Stop || c.Foreground):
		return usage("--background goes with neither --stop nor --foreground")
	case c.Stop:
		return c.stop(ctx, app, dirs)
	case app.inside(dirs):
		return fmt.Errorf("%w: the daemon belongs outside of it", errInside)
	case c.Background:
		return c.background(ctx, app, dirs)
	}
	logger, err := logging.New(app.stderr, logging.Options{Level: c.LogLevel, JSON: c.LogJSON})
	if err != nil {
		return usageError{err}
	}
	return serveDaemon(ctx, dirs, logger)
}

// serveDaemon is the daemon's life: supervisor, uplink and control socket,
// until the context is done, somebody asks it to end, or one of them fails.
func serveDaemon(ctx context.Context, dirs daemon.Dirs, logger *slog.Logger) (err error) {
	if err := holder.HideMemory(); err != nil {
		logger.Warn("other programs of this user can read the daemon's memory", logging.KeyError, err)
	}
	server, err := control.Listen(dirs, logger)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	sessions, err := supervisor.Open(dirs, logger)
	if err != nil {
		return err
	}
	audit, err := uplink.OpenAudit(filepath.Join(dirs.State, "audit.log"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, audit.Close()) }()
	policy := uplink.NewPolicyFile(dirs)
	link := uplink.New(uplink.Options{
		Config:   func() (daemon.HostConfig, error) { return daemon.LoadHostConfig(dirs) },
		Policy:   policy.Policy,
		Sessions: uplink.FromSupervisor(sessions),
		Audit:    audit, Logger: logger,
		Version: buildinfo.Version(), VT: vt.StateVersion,
	})
	started := time.Now()
	ctx, end := context.WithCancel(ctx)
	defer end()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return sessions.Run(ctx) })
	group.Go(func() error { return link.Run(ctx) })
	group.Go(func() error {
		defer end() // without the socket nobody could ask it to end
		return server.Serve(ctx, control.Handler{
			Status: func(ctx context.Context) (control.Status, error) {
				list, err := sessions.List(ctx)
				return control.Status{Version: buildinfo.Version(), PID: os.Getpid(), Started: started, Uplink: link.Status(), Sessions: list}, err
			},
			Nudge:    func() { sessions.Nudge(); link.Nudge() },
			Shutdown: end,
			Pair:     link.AskForCode,
		})
	})
	logger.Info("daemon started", "version", buildinfo.Version(), "state", dirs.State, "pid", os.Getpid())
	if err := group.Wait(); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	logger.Info("daemon ended; sessions go on")
	return nil
}

func (c *daemonCommand) stop(ctx context.Context, app *app, dirs daemon.Dirs) error {
	client := control.NewClient(dirs)
	if err := client.Shutdown(ctx); err != nil {
		if errors.Is(err, control.ErrNotRunning) {
			app.note("no daemon is running")
			return nil
		}
		return unreachable(err)
	}
	if !poll(ctx, backgroundTime, func() bool {
		_, err := client.Status(ctx)
		return errors.Is(err, control.ErrNotRunning)
	}) {
		return unreachable(errors.New("the daemon has not ended yet"))
	}
	app.print("the daemon has ended; sessions go on")
	return nil
}

// background starts this program anew as a daemon of its own process session
// and waits until it answers.
func (c *daemonCommand) background(ctx context.Context, app *app, dirs daemon.Dirs) error {
	client := control.NewClient(dirs)
	if status, err := client.Status(ctx); err == nil {
		app.print("the daemon runs already, as process %d", status.PID)
		return nil
	}
	if err := dirs.Create(); err != nil {
		return err
	}
	path := filepath.Join(dirs.State, daemonLog)
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	defer file.Close()
	begin, err := file.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("open log: %w", err)
	}
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	arguments := []string{"daemon", "--log-level", c.LogLevel}
	if c.LogJSON {
		arguments = append(arguments, "--log-json")
	}
	command := exec.Command(binary, arguments...) //nolint:gosec // this very program
	command.Dir = "/"
	command.Stdout, command.Stderr = file, file
	command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := command.Start(); err != nil {
		return fmt.Errorf("start daemon: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }() // ends with the daemon, or with us
	running := poll(ctx, backgroundTime, func() bool {
		_, err := client.Status(ctx)
		return err == nil || len(ended) > 0
	})
	if !running || len(ended) > 0 {
		return unreachable(fmt.Errorf("the daemon did not start: %s", lastLogLine(path, begin)))
	}
	app.print("the daemon runs as process %d, its log is %s", command.Process.Pid, path)
	return nil
}

// lastLogLine is the end of a log behind an offset, for an error message.
func lastLogLine(path string, begin int64) string {
	data, err := os.ReadFile(path)
	if err != nil || int64(len(data)) <= begin {
		return "see " + path
	}
	return clean(string(lastLines(data[begin:], 1)), 500)
}

// poll asks until the answer is yes or time is up.
func poll(ctx context.Context, limit time.Duration, done func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ticker := time.NewTicker(killPoll)
	defer ticker.Stop()
	for !done() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return false
		}
	}
	return true
}
