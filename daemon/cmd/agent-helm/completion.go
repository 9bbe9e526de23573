package main

import (
	"fmt"
	"os"
	"strings"
)

type completionCommand struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

func (completionCommand) Examples() string {
	return `source <(agent-helm completion bash)             # in ~/.bashrc
source <(agent-helm completion zsh)              # in ~/.zshrc, after compinit
agent-helm completion fish > ~/.config/fish/completions/agent-helm.fish`
}

// completionScripts ask this program for completions, by way of COMP_LINE.
var completionScripts = map[string]string{
	"bash": "complete -C BINARY agent-helm\n",
	"zsh":  "autoload -U +X bashcompinit && bashcompinit\ncomplete -C BINARY agent-helm\n",
	"fish": `function __complete_agent_helm
    set -lx COMP_LINE (commandline -cp)
    test -z (commandline -ct)
    and set COMP_LINE "$COMP_LINE "
    BINARY
end
complete -f -c agent-helm -a "(__complete_agent_helm)"
`,
}

func (c *completionCommand) Run(app *app) error {
	binary, err := os.Executable()
	if err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	_, err = fmt.Fprint(app.stdout, strings.ReplaceAll(completionScripts[c.Shell], "BINARY", shellQuote(binary)))
	return err
}

// shellQuote makes one word of text for all three shells.
func shellQuote(text string) string {
	if strings.IndexFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune("/._-+", r)
	}) < 0 {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}
