package daemon

import (
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// AgentShell is the name of the agent that is the user's own shell.
const AgentShell = "shell"

// Agent is what we know of one command line program.
type Agent struct {
	// Name is how people, the policy and the wire call it.
	Name string
	// Argv starts it. Empty for the shell, whose path is the user's.
	Argv []string
	// Programs are the file names that identify it in an argv, without
	// directory or extension.
	Programs []string
	// Submit is how text is entered into it.
	Submit SubmitProfile
}

// SubmitProfile says how a submitted text becomes one entry in the program's
// prompt.
type SubmitProfile struct {
	// Pause is the time between the text and Enter. Programs that redraw their
	// prompt take an Enter that follows too fast for part of a paste.
	Pause time.Duration
	// LongPause replaces Pause for a text above LongText bytes.
	LongPause time.Duration
	LongText  int
	// Bracketed sends the text as a paste, bracketed when the program asked
	// for it, so that a line break in it does not submit.
	Bracketed bool
}

// PauseFor is the time to wait after a text of this many bytes.
func (p SubmitProfile) PauseFor(bytes int) time.Duration {
	if p.LongText > 0 && bytes > p.LongText {
		return p.LongPause
	}
	return p.Pause
}

// redrawing is the profile of the agents that redraw their prompt on each key.
var redrawing = SubmitProfile{
	Pause: 150 * time.Millisecond, LongPause: 250 * time.Millisecond, LongText: 1 << 10, Bracketed: true,
}

// UnknownSubmit is for programs that are not in the table: many of them are of
// the redrawing kind, and the others do not mind a pause.
func UnknownSubmit() SubmitProfile { return redrawing }

// agents is the table of what we know.
var agents = []Agent{
	{Name: AgentShell, Programs: []string{"sh", "bash", "zsh", "fish", "dash", "ksh", "mksh", "ash", "tcsh", "csh", "nu", "pwsh", "elvish"}, Submit: SubmitProfile{Bracketed: true}},
	{Name: "claude", Argv: []string{"claude"}, Programs: []string{"claude"}, Submit: redrawing},
	{Name: "gemini", Argv: []string{"gemini"}, Programs: []string{"gemini"}, Submit: redrawing},
	{Name: "codex", Argv: []string{"codex"}, Programs: []string{"codex"}, Submit: redrawing},
}

// KnownAgents lists the agents of the table, the shell first.
func KnownAgents() []Agent { return slices.Clone(agents) }

// AgentByName finds a known agent.
func AgentByName(name string) (Agent, bool) {
	for _, agent := range agents {
		if agent.Name == name {
			return agent, true
		}
	}
	return Agent{}, false
}

// launchers run the program that follows them: `npx claude`, `node gemini.js`.
var launchers = []string{"npx", "bunx", "pnpx", "node", "bun", "deno", "env", "nice", "nohup", "sudo", "python", "python3"}

// DetectAgent names the known agent that an argv starts, or "".
func DetectAgent(argv []string) string {
	for i, argument := range argv {
		if i > 0 && (strings.HasPrefix(argument, "-") || strings.Contains(argument, "=")) {
			continue
		}
		program := programName(argument)
		for _, agent := range agents {
			if slices.Contains(agent.Programs, program) {
				return agent.Name
			}
		}
		if !slices.Contains(launchers, program) {
			return ""
		}
	}
	return ""
}

// programName is the file name of a program without directory, a login
// shell's dash and a script's extension.
func programName(argument string) string {
	name := strings.TrimPrefix(filepath.Base(argument), "-")
	for _, extension := range []string{".js", ".mjs", ".cjs", ".exe"} {
		name = strings.TrimSuffix(name, extension)
	}
	// Scoped packages: @google/gemini-cli, @anthropic-ai/claude-code.
	for _, suffix := range []string{"-cli", "-code"} {
		name = strings.TrimSuffix(name, suffix)
	}
	return name
}
