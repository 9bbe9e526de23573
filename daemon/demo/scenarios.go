package demo

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// scenario is one thing that the agent can do.
type scenario struct {
	about  string
	prompt string   // what the person seems to have entered when a script plays it
	words  []string // in a prompt, these choose it
	run    func(*agent) error
}

// scenarios by name. They are only read.
var scenarios map[string]scenario

func init() {
	scenarios = map[string]scenario{
		"edit":     {"edit a file; asks before it does", "fix the typo in greeting.txt", []string{"edit", "fix", "typo"}, runEdit},
		"check":    {"run a command; it fails, the agent repairs, it passes", "run the checks", []string{"check", "test", "run"}, runCheck},
		"question": {"ask a question with several answers", "where should notes be stored?", []string{"question", "store", "where", "database"}, runQuestion},
		"plan":     {"propose a plan and wait for a go", "plan a changelog", []string{"plan", "changelog"}, runPlan},
		"long":     {"work for a while, with progress and much output", "read everything and sum up", []string{"long", "read", "everything"}, runLong},
	}
}

func scenarioNames() []string { return []string{"edit", "check", "question", "plan", "long"} }

// scenarioFor finds the scenario whose words occur in the prompt.
func scenarioFor(prompt string) (scenario, bool) {
	words := strings.FieldsFunc(strings.ToLower(prompt), func(r rune) bool { return r < 'a' || r > 'z' })
	for _, name := range scenarioNames() {
		for _, word := range scenarios[name].words {
			if slices.Contains(words, word) {
				return scenarios[name], true
			}
		}
	}
	return scenario{}, false
}

const (
	greetingFile = "greeting.txt"
	notesFile    = "notes.txt"
	checkFile    = "check.sh"

	greetingText = "Dear reader,\n\nwellcome to the demo.\nNothing here leaves this directory.\n"
	notesText    = "first note\nsecond note\n"
	checkText    = "#!/bin/sh\n# Passes when every note ends with a full stop.\nbad=$(grep -c -v '\\.$' notes.txt)\nif [ \"$bad\" -gt 0 ]; then\n  echo \"FAIL: $bad notes have no full stop\"\n  exit 1\nfi\necho \"ok: all notes are fine\"\n"
)

func workDir(options Options) (string, error) {
	if options.Dir == "" {
		dir, err := os.MkdirTemp("", "agent-helm-demo-")
		if err != nil {
			return "", fmt.Errorf("make work directory: %w", err)
		}
		return dir, nil
	}
	if err := os.MkdirAll(options.Dir, 0o700); err != nil {
		return "", fmt.Errorf("make work directory: %w", err)
	}
	return options.Dir, nil
}

// writeProject puts the files there that the scenarios change.
func writeProject(dir string) error {
	for name, text := range map[string]string{greetingFile: greetingText, notesFile: notesText, checkFile: checkText} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("write project: %w", err)
		}
	}
	return nil
}

func (a *agent) read(name string) (string, error) {
	text, err := os.ReadFile(filepath.Join(a.dir, name))
	if err != nil {
		return "", fmt.Errorf("read %s: %w", name, err)
	}
	a.tool("Read("+name+")", fmt.Sprintf("%d lines", len(splitLines(string(text)))))
	return string(text), nil
}

// allow asks for permission unless it was given for good. A refusal is
// errInterrupted, as it is in the agents that people know.
func (a *agent) allow(what, question string, detail []string) error {
	if a.allowed[what] {
		return nil
	}
	choice, err := a.ask("permission", question, detail,
		"Yes", "Yes, and don't ask again for "+what, "No, and tell the agent what to do differently")
	switch {
	case err != nil:
		return err
	case choice == 2:
		a.allowed[what] = true
	case choice == 3:
		return errInterrupted
	}
	return nil
}

// update writes a file after permission and shows what changed.
func (a *agent) update(name, old, changed string) error {
	changes := diff(old, changed)
	if err := a.allow("edits", "Do you want to make this edit to "+name+"?", append([]string{styleBold + "Edit " + name + styleReset}, changes...)); err != nil {
		return err
	}
	if err := a.work("Writing", 300*time.Millisecond); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(a.dir, name), []byte(changed), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	a.tool("Update("+name+")", changes...)
	return nil
}

var thinking = []string{"Thinking", "Pondering", "Reading", "Considering"}

func (a *agent) think(duration time.Duration) error {
	return a.work(thinking[a.random.IntN(len(thinking))], duration)
}

func runEdit(a *agent) error {
	if err := a.think(1500 * time.Millisecond); err != nil {
		return err
	}
	a.say("I'll look at the file first.")
	old, err := a.read(greetingFile)
	if err != nil {
		return err
	}
	if err := a.think(1200 * time.Millisecond); err != nil {
		return err
	}
	changed := strings.Replace(old, "wellcome", "welcome", 1)
	if changed == old { // played again: something is always left to do
		changed = strings.TrimSuffix(old, "\n") + fmt.Sprintf("\nRead %d times.\n", 1+strings.Count(old, "times."))
	}
	if err := a.update(greetingFile, old, changed); err != nil {
		return err
	}
	if err := a.think(600 * time.Millisecond); err != nil {
		return err
	}
	a.say("Done: greeting.txt is in order.")
	return nil
}

func runCheck(a *agent) error {
	if err := a.think(1200 * time.Millisecond); err != nil {
		return err
	}
	if err := a.allow("sh check.sh", "Do you want to run this command?", []string{styleBold + "sh check.sh" + styleReset, styleDim + "Run the project's checks"}); err != nil {
		return err
	}
	passed, err := a.check()
	if err != nil || passed {
		return err
	}
	a.say("Some notes have no full stop. I can repair that.")
	old, err := a.read(notesFile)
	if err != nil {
		return err
	}
	if err := a.think(900 * time.Millisecond); err != nil {
		return err
	}
	fixed := splitLines(old)
	for i, line := range fixed {
		if !strings.HasSuffix(line, ".") {
			fixed[i] = line + "."
		}
	}
	if err := a.update(notesFile, old, strings.Join(fixed, "\n")+"\n"); err != nil {
		return err
	}
	if _, err := a.check(); err != nil {
		return err
	}
	a.say("The checks pass now.")
	return nil
}

// check really runs the script.
func (a *agent) check() (passed bool, err error) {
	if err := a.work("Running checks", 900*time.Millisecond); err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(a.ctx, 10*time.Second)
	defer cancel()
	command := exec.CommandContext(ctx, "/bin/sh", checkFile)
	command.Dir = a.dir
	output, err := command.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return false, fmt.Errorf("run checks: %w", err)
	}
	style := styleGreen
	if err != nil {
		style = styleRed
	}
	a.tool("Bash(sh check.sh)", style+strings.TrimSpace(string(output)))
	return err == nil, nil
}

func runQuestion(a *agent) error {
	if err := a.think(1500 * time.Millisecond); err != nil {
		return err
	}
	stores := []string{"A plain file", "SQLite", "PostgreSQL"}
	choice, err := a.ask("question", "Which store should the notes use?", nil, append(slices.Clone(stores), "None of these, stop here")...)
	if err != nil {
		return err
	}
	if choice > len(stores) {
		return errInterrupted
	}
	if err := a.think(500 * time.Millisecond); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(a.dir, "store.txt"), []byte(stores[choice-1]+"\n"), 0o600); err != nil {
		return fmt.Errorf("write store.txt: %w", err)
	}
	a.say(stores[choice-1] + " it is. I wrote that down in store.txt.")
	return nil
}

func runPlan(a *agent) error {
	if err := a.think(1800 * time.Millisecond); err != nil {
		return err
	}
	a.say("Here is the plan:\n1. Read the notes.\n2. Write CHANGELOG.txt with one line for each.\n3. Run the checks.")
	choice, err := a.ask("permission", "Would you like to go on with this plan?", nil,
		"Yes, and make the edits without asking", "Yes, and ask before each edit", "No, keep planning")
	if err != nil {
		return err
	}
	switch choice {
	case 1:
		a.allowed["edits"] = true
	case 3:
		return errInterrupted
	}
	notes, err := a.read(notesFile)
	if err != nil {
		return err
	}
	if err := a.think(800 * time.Millisecond); err != nil {
		return err
	}
	old, err := os.ReadFile(filepath.Join(a.dir, "CHANGELOG.txt"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("read changelog: %w", err)
	}
	changed := string(old)
	for i, line := range splitLines(notes) {
		changed += fmt.Sprintf("%d. %s\n", i+1, line)
	}
	if err := a.update("CHANGELOG.txt", string(old), changed); err != nil {
		return err
	}
	a.say("The changelog is written.")
	return nil
}

func runLong(a *agent) error {
	const steps = 40
	for step := 1; step <= steps; step++ {
		a.setProgress(step * 100 / steps)
		if err := a.work("Reading", 400*time.Millisecond); err != nil {
			return err
		}
		a.screen.keep(fmt.Sprintf("%s  chapter %2d%s  %s", styleDim, step, styleReset, sentence(a)))
	}
	a.screen.keep("")
	a.say("That was all of it. In short: nothing to worry about.")
	return nil
}

var sentenceParts = [3][]string{
	{"The parser", "The old cache", "A long queue", "This test", "Nobody"},
	{"keeps", "forgets", "waits for", "counts", "guards"},
	{"every byte.", "its own tail.", "the slow reader.", "what was typed.", "the first answer."},
}

func sentence(a *agent) string {
	words := make([]string, len(sentenceParts))
	for i, part := range sentenceParts {
		words[i] = part[a.random.IntN(len(part))]
	}
	return strings.Join(words, " ")
}
