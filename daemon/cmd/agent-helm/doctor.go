package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/holder"
	"github.com/agent-helm/agent-helm/internal/buildinfo"
)

type doctorCommand struct {
	JSON bool `name:"json" help:"Print a list of objects: check, result (ok, warning or fault) and text."`
}

func (doctorCommand) Help() string {
	return `It changes nothing. The exit code is 1 when something is broken; a warning is none.`
}

func (doctorCommand) Examples() string { return "agent-helm doctor\nagent-helm doctor --json" }

// finding is the result of one check.
type finding struct {
	Check  string `json:"check"`
	Result string `json:"result"`
	Text   string `json:"text"`
}

// Results of a finding.
const (
	findingOK      = "ok"
	findingWarning = "warning"
	findingFault   = "fault"
)

func (c *doctorCommand) Run(ctx context.Context, app *app) error {
	findings := app.examine(ctx)
	faults := 0
	for _, f := range findings {
		if f.Result == findingFault {
			faults++
		}
	}
	if c.JSON {
		if err := app.printJSON(findings); err != nil {
			return err
		}
	} else {
		for _, f := range findings {
			mark, style := "ok  ", styleGreen
			switch f.Result {
			case findingWarning:
				mark, style = "note", styleAmber
			case findingFault:
				mark, style = "BAD ", styleRed
			}
			app.print("%s  %-9s %s", app.style(app.stdout, style, mark), f.Check, clean(f.Text, 300))
		}
	}
	if faults > 0 {
		return fmt.Errorf("%s found", plural(faults, "fault"))
	}
	return nil
}

// examine runs every check. A later one may need what an earlier one found.
func (a *app) examine(ctx context.Context) []finding {
	var findings []finding
	add := func(check, result, format string, arguments ...any) {
		findings = append(findings, finding{check, result, fmt.Sprintf(format, arguments...)})
	}
	add("version", findingOK, "agent-helm %s", buildinfo.Version())
	dirs, err := a.dirs()
	if err != nil {
		add("files", findingFault, "%v", err)
		return findings
	}
	a.examineFiles(dirs, add)
	a.examineTerminal(add)
	a.examineAgents(add)
	a.examineSessions(ctx, add)
	a.examineServer(ctx, dirs, add)
	return findings
}

type addFinding func(check, result, format string, arguments ...any)

func (a *app) examineFiles(dirs daemon.Dirs, add addFinding) {
	for _, dir := range []struct{ what, path string }{{"config", dirs.Config}, {"state", dirs.State}, {"sockets", dirs.Run}} {
		switch info, err := os.Stat(dir.path); {
		case errors.Is(err, fs.ErrNotExist):
			add("files", findingOK, "%s directory %s will be made when it is needed", dir.what, dir.path)
		case err != nil:
			add("files", findingFault, "%s directory: %v", dir.what, err)
		default:
			add("files", findingOK, "%s directory %s, mode %04o", dir.what, dir.path, info.Mode().Perm())
		}
	}
	if n := len(dirs.SessionSocket(daemon.NewSessionID())); n > daemon.MaxSocketPath {
		add("files", findingFault, "socket paths have %d bytes, %d fit: set %s to a shorter directory", n, daemon.MaxSocketPath, daemon.EnvStateDir)
	}
	if free, err := freeBytes(dirs.State); err == nil {
		result := findingOK
		if free < 1<<30 {
			result = findingWarning
		}
		add("disk", result, "%.1f GB are free for session logs", float64(free)/1e9)
	}
	if _, err := daemon.LoadPolicy(dirs); err != nil {
		add("policy", findingFault, "%v; until then the server may do nothing", err)
	} else {
		add("policy", findingOK, "%s", dirs.PolicyPath())
	}
}

// freeBytes asks the nearest directory that exists.
func freeBytes(path string) (uint64, error) {
	for {
		var stat unix.Statfs_t
		err := unix.Statfs(path, &stat)
		if err == nil {
			return stat.Bavail * uint64(stat.Bsize), nil //nolint:gosec // block sizes are positive
		}
		parent := path[:max(strings.LastIndexByte(path, '/'), 1)]
		if parent == path {
			return 0, err
		}
		path = parent
	}
}

func (a *app) examineTerminal(add addFinding) {
	if !term.IsTerminal(int(a.stdin.Fd())) || !term.IsTerminal(int(a.stdout.Fd())) {
		add("terminal", findingOK, "this is none; run and attach need one")
		return
	}
	cols, rows, err := term.GetSize(int(a.stdout.Fd()))
	if err != nil || cols == 0 || rows == 0 {
		add("terminal", findingWarning, "it does not tell its size: sessions start as 80×24")
	} else {
		add("terminal", findingOK, "%s, %d×%d", clean(a.getenv("TERM"), 40), cols, rows)
	}
	if name := a.getenv("TERM"); name == "" || name == "dumb" {
		add("terminal", findingWarning, "TERM is %q: programs will look wrong", clean(name, 20))
	}
	if !strings.Contains(strings.ToLower(a.getenv("LC_ALL")+a.getenv("LC_CTYPE")+a.getenv("LANG")), "utf") {
		add("terminal", findingWarning, "the locale is not UTF-8: set LANG, for example to C.UTF-8")
	}
	if a.getenv(holder.EnvSession) != "" {
		add("terminal", findingWarning, "this terminal is inside a session")
	}
}

func (a *app) examineAgents(add addFinding) {
	var found []string
	for _, agent := range daemon.KnownAgents() {
		if len(agent.Argv) == 0 {
			continue
		}
		if _, err := exec.LookPath(agent.Argv[0]); err == nil {
			found = append(found, agent.Name)
		}
	}
	if len(found) == 0 {
		add("agents", findingWarning, "none of the known ones is installed; any program can run in a session")
		return
	}
	add("agents", findingOK, "%s", strings.Join(found, ", "))
}

func (a *app) examineSessions(ctx context.Context, add addFinding) {
	sessions, err := a.sessions()
	if err == nil {
		var list []daemon.Session
		if list, err = sessions.List(ctx); err == nil {
			running := matching(list, runningSession)
			silent := matching(running, func(s daemon.Session) bool { return !s.Online })
			add("sessions", findingOK, "%d running, %d ended", len(running), len(list)-len(running))
			for _, s := range silent {
				add("sessions", findingFault, "%s (%s) runs, but its holder does not answer", clean(s.Name, 40), s.ID)
			}
			for _, s := range running {
				if s.Warning != "" {
					add("sessions", findingWarning, "%s: %s", clean(s.Name, 40), clean(s.Warning, 200))
				}
			}
		}
	}
	if err != nil {
		add("sessions", findingFault, "%v", err)
	}
}

func (a *app) examineServer(ctx context.Context, dirs daemon.Dirs, add addFinding) {
	config, err := daemon.LoadHostConfig(dirs)
	switch {
	case errors.Is(err, daemon.ErrNotPaired):
		add("server", findingOK, "not paired: sessions are only reachable on this host")
		return
	case err != nil:
		add("server", findingFault, "%v", err)
		return
	}
	if err := reach(ctx, config.Server); err != nil {
		add("server", findingFault, "%s cannot be reached: %v", config.Server, err)
	} else {
		add("server", findingOK, "%s can be reached", config.Server)
	}
	text, healthy := a.connection(ctx, dirs)
	if healthy {
		add("daemon", findingOK, "%s", text)
	} else {
		add("daemon", findingFault, "%s", text)
	}
}

// reach opens a TCP connection to a server and nothing more.
func reach(ctx context.Context, server string) error {
	u, err := url.Parse(server)
	if err != nil {
		return err
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[u.Scheme]
	}
	conn, err := (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return err
	}
	return conn.Close()
}
