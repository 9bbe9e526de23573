package main

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
)

type listCommand struct {
	All  bool `short:"a" help:"All ended sessions too, not only the newest."`
	JSON bool `name:"json" help:"Print a list of objects: id, name, state and more."`
}

func (listCommand) Help() string {
	return `Below the sessions stands how this host is connected to its server. Of the sessions that ended within a day the newest are listed; --all and --json list all until they are forgotten.`
}

func (listCommand) Examples() string {
	return `agent-helm ls
agent-helm ls --all
agent-helm ls --json | jq -r '.[] | select(.state == "running") | .name'`
}

func (c *listCommand) Run(ctx context.Context, app *app) error {
	sessions, err := app.sessions()
	if err != nil {
		return err
	}
	list, err := sessions.List(ctx)
	if err != nil {
		return err
	}
	if c.JSON {
		return app.printSessionsJSON(list)
	}
	hidden := 0
	if !c.All {
		list, hidden = app.recent(list)
	}
	if len(list) == 0 {
		app.print("No session runs. Start one: agent-helm run -- COMMAND")
	} else {
		app.printSessions(list)
	}
	if hidden > 0 {
		app.note("%s not shown: agent-helm ls --all", plural(hidden, "more ended session"))
	}
	return app.printConnection(ctx)
}

// printSessionsJSON prints an array, also when it is empty.
func (a *app) printSessionsJSON(list []daemon.Session) error {
	if list == nil {
		list = []daemon.Session{}
	}
	return a.printJSON(list)
}

// printJSON prints a value for a script.
func (a *app) printJSON(value any) error {
	encoder := json.NewEncoder(a.stdout)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(value)
}

// shownEnded is how many ended sessions a listing shows.
const shownEnded = 6

// recent leaves out what ended more than a day ago, and of the rest all but
// the newest few.
func (a *app) recent(list []daemon.Session) (shown []daemon.Session, hidden int) {
	room := shownEnded
	for _, s := range slices.Backward(list) {
		last := s.Created
		if s.Ended != nil {
			last = *s.Ended
		}
		if s.State != daemon.StateRunning {
			if room == 0 || a.now().Sub(last) > 24*time.Hour {
				hidden++
				continue
			}
			room--
		}
		shown = append(shown, s)
	}
	slices.Reverse(shown)
	return shown, hidden
}

func (a *app) printSessions(list []daemon.Session) {
	t := table{header: []string{"NAME", "STATE", "AGE", "SIZE", "COMMAND", "DIRECTORY", "ID"}, flexible: 4}
	home := a.getenv("HOME")
	for _, s := range list {
		state, style := stateOf(s)
		size := ""
		if s.State == daemon.StateRunning {
			size = fmt.Sprintf("%d×%d", s.Cols, s.Rows)
		}
		t.rows = append(t.rows, []cell{
			{clean(s.Name, daemon.MaxNameRunes), styleBold}, {state, style}, {age(a.now().Sub(s.Created)), ""},
			{size, styleDim}, {clean(s.Command, 200), ""}, {shortPath(clean(s.Cwd, 200), home), styleDim}, {s.ID, styleDim},
		})
	}
	if a.columns() > 0 && a.columns() < 110 {
		t.drop(3, 5) // size and directory
	}
	t.print(a)
	for _, s := range list {
		switch {
		case s.LostReason != "":
			a.note("%s was lost: %s", clean(s.Name, 40), clean(s.LostReason, 200))
		case s.Warning != "":
			a.note("%s: %s", clean(s.Name, 40), clean(s.Warning, 200))
		case s.InputBlocked:
			a.note("%s does not read what is typed", clean(s.Name, 40))
		}
	}
}

// stateOf is a session's state in a word or two.
func stateOf(s daemon.Session) (text, style string) {
	switch {
	case s.State == daemon.StateRunning && !s.Online:
		return "no answer", styleAmber
	case s.State == daemon.StateRunning:
		return "running", styleGreen
	case s.State == daemon.StateLost:
		return "lost", styleRed
	case s.ExitSignal != "":
		return clean(s.ExitSignal, 12), styleDim
	case s.ExitCode != nil && *s.ExitCode != 0:
		return fmt.Sprintf("exit %d", *s.ExitCode), styleRed
	}
	return "exit 0", styleDim
}

func shortPath(path, home string) string {
	if home == "" || !filepath.IsAbs(home) {
		return path
	}
	if path == home {
		return "~"
	}
	if rest, ok := strings.CutPrefix(path, home+"/"); ok {
		return "~/" + rest
	}
	return path
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
