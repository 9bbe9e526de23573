package main

import (
	"github.com/agent-helm/agent-helm/daemon"
)

type policyCommand struct {
	JSON bool `name:"json" help:"Print the policy as JSON."`
}

func (policyCommand) Help() string {
	return `The policy is a file on this host. No server and no phone can change it; edit it with an editor. It holds from the next frame on.`
}

func (policyCommand) Examples() string { return "agent-helm policy\nagent-helm policy --json" }

func (c *policyCommand) Run(app *app) error {
	dirs, err := app.dirs()
	if err != nil {
		return err
	}
	policy, err := daemon.LoadPolicy(dirs)
	if err != nil {
		return err
	}
	if c.JSON {
		return app.printJSON(policy)
	}
	app.print("%s", app.style(app.stdout, styleBold, "What the server may do on this host"))
	effective := policy.Effective()
	for _, line := range policyLines(effective) {
		mark, style := "no ", styleDim
		if line.allowed {
			mark, style = "yes", styleGreen
		}
		app.print("  %s  %-8s %s", app.style(app.stdout, style, mark), line.name, line.meaning)
	}
	if policy.Locked {
		app.print("%s", app.style(app.stdout, styleAmber, "Locked: everything but watching is off. agent-helm unlock undoes it."))
	}
	app.note("Change it in %s", dirs.PolicyPath())
	return nil
}

// policyLine is one permission in words.
type policyLine struct {
	name    string
	allowed bool
	meaning string
}

func policyLines(p daemon.Policy) []policyLine {
	start := "start programs: none"
	switch p.Start {
	case daemon.StartKnown:
		start = "start known agents by name"
	case daemon.StartAny:
		start = "start any program"
	}
	return []policyLine{
		{"watch", p.Watch, "see sessions and what they print"},
		{"input", p.Input, "type into sessions, set their size, stop them"},
		{"start", p.Start != daemon.StartOff, start},
		{"answer", p.Answer, "answer what agents ask"},
		{"exec", p.Exec, "run commands outside a session"},
		{"rules", p.Rules, "make lasting permissions"},
		{"tasks", p.Tasks, "use the task system"},
		{"files", p.Files, "read and upload files"},
	}
}
