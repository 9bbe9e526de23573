package demo

import (
	"fmt"
	"strings"
)

var spinner = []string{"·", "✢", "✳", "✶", "✻", "✽"}

// lines are the live part of the screen: a menu, or the spinner and the
// compose box.
func (a *agent) lines() []string {
	cols, _ := a.screen.size()
	if a.menu != nil {
		return a.menu.lines(cols)
	}
	var lines []string
	if a.working {
		percent := ""
		if a.progress > 0 {
			percent = fmt.Sprintf(" %d%% ·", a.progress)
		}
		seconds := int64(a.ticks) * frameTime.Milliseconds() / 1000
		lines = append(lines, fmt.Sprintf("%s%s %s…%s%s (%ds · esc to interrupt)",
			styleAmber, spinner[a.ticks%len(spinner)], a.verb, styleReset+styleDim, percent, seconds), "")
	}
	for _, queued := range a.queue {
		lines = append(lines, styleDim+"  queued: "+strings.ReplaceAll(queued, "\n", " "))
	}
	rule := styleDim + strings.Repeat("─", max(cols-1, 1))
	lines = append(lines, rule)
	for i, line := range wrap(a.draft, cols-4) {
		mark := "> "
		if i > 0 {
			mark = "  "
		}
		lines = append(lines, mark+line)
	}
	lines[len(lines)-1] += "\x1b[7m \x1b[27m"
	hint := "  /help for what it can do · /quit to leave"
	if a.lastCtrlC {
		hint = "  press ctrl+c again to leave"
	}
	return append(lines, rule, styleDim+hint)
}

func (m *menu) lines(cols int) []string {
	lines := []string{styleTeal + strings.Repeat("─", max(cols-1, 1))}
	for _, line := range m.detail {
		lines = append(lines, " "+line)
	}
	if len(m.detail) > 0 {
		lines = append(lines, "")
	}
	for _, line := range wrap(m.question, cols-3) {
		lines = append(lines, " "+styleBold+line)
	}
	for i, option := range m.options {
		mark, style := " ", ""
		if i == m.chosen {
			mark, style = "❯", styleTeal
		}
		for j, line := range wrap(option, cols-8) {
			if j == 0 {
				lines = append(lines, fmt.Sprintf(" %s%s %d. %s", style, mark, i+1, line))
			} else {
				lines = append(lines, "      "+style+line)
			}
		}
	}
	return append(lines, "", styleDim+" Enter to choose · Esc to cancel")
}

func (a *agent) welcome() {
	a.screen.keep(
		styleTeal+"✻ "+styleReset+styleBold+"Demo agent",
		styleDim+"  scripted: no model, no network, and it only touches the directory below",
		styleDim+"  "+a.dir,
		"",
	)
}

func (a *agent) help() {
	lines := []string{styleBold + "Ask for one of these, or anything else for the next in turn:"}
	for _, name := range scenarioNames() {
		lines = append(lines, fmt.Sprintf("  %s%-9s%s %s", styleTeal, name, styleReset, scenarios[name].about))
	}
	a.screen.keep(append(lines, "")...)
}

// say prints what the agent says, one bullet with wrapped lines.
func (a *agent) say(text string) {
	cols, _ := a.screen.size()
	var lines []string
	for i, line := range wrap(text, cols-3) {
		mark := "● "
		if i > 0 {
			mark = "  "
		}
		lines = append(lines, mark+line)
	}
	a.screen.keep(append(lines, "")...)
}

// tool prints a tool call and its result.
func (a *agent) tool(call string, result ...string) {
	lines := []string{styleGreen + "● " + styleReset + styleBold + call}
	for i, line := range result {
		mark := "     "
		if i == 0 {
			mark = "  ⎿  "
		}
		lines = append(lines, styleDim+mark+styleReset+line)
	}
	a.screen.keep(append(lines, "")...)
}

// diff shows the lines of old that changed beside those of changed: both files
// have the same number of lines except for lines added at the end.
func diff(old, changed string) []string {
	before, after := splitLines(old), splitLines(changed)
	var lines []string
	for i := range max(len(before), len(after)) {
		switch {
		case i < len(before) && i < len(after) && before[i] == after[i]:
			if near(before, after, i) {
				lines = append(lines, fmt.Sprintf("%s%3d   %s", styleDim, i+1, before[i]))
			}
		default:
			if i < len(before) {
				lines = append(lines, fmt.Sprintf("%s%3d - %s", styleRed, i+1, before[i]))
			}
			if i < len(after) {
				lines = append(lines, fmt.Sprintf("%s%3d + %s", styleGreen, i+1, after[i]))
			}
		}
	}
	return lines
}

// near says whether line i stands beside a change.
func near(before, after []string, i int) bool {
	for _, j := range []int{i - 1, i + 1} {
		if j < 0 || j >= max(len(before), len(after)) {
			continue
		}
		if j >= len(before) || j >= len(after) || before[j] != after[j] {
			return true
		}
	}
	return false
}

func splitLines(text string) []string { return strings.Split(strings.TrimSuffix(text, "\n"), "\n") }
