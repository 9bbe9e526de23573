package vt

import (
	"strings"
	"unicode/utf8"
)

// What is known of programs. Each entry was seen on the screen of the version it
// names, or stands among its texts; testdata/prompts has the screens.

// A dialog is a way in which an agent asks.
type dialog struct {
	agent, version string
	asks           string // in the sentence that asks
	kind           PromptKind
	// lines says that its options have no numbers, and each has a line.
	lines bool
}

var dialogs = []dialog{
	{"Claude Code", "2.1.332", "Do you want to proceed?", PromptPermission, false},
	{"Claude Code", "2.1.332", "Do you want to create ", PromptPermission, false},
	{"Claude Code", "2.1.332", "Do you want to make this edit to ", PromptPermission, false},
	{"Claude Code", "2.1.332", "Do you want to allow ", PromptPermission, false},
	{"Claude Code", "2.1.332", "Would you like to proceed?", PromptPermission, false},
	{"Claude Code", "2.1.332", "Exit plan mode?", PromptPermission, false},
	{"Claude Code", "2.1.332", "Is this a project you created or one you trust?", PromptPermission, true},
	{"Codex", "0.171.0", "Would you like to run the following command?", PromptPermission, false},
	{"Codex", "0.171.0", "Would you like to make the following edits?", PromptPermission, false},
	{"Codex", "0.171.0", "Would you like to grant these permissions?", PromptPermission, false},
	{"Codex", "0.171.0", "Would you like to send input to the existing terminal?", PromptPermission, false},
	{"Copilot CLI", "1.0.102", "Do you want to run this command?", PromptPermission, false},
	{"Copilot CLI", "1.0.102", "Do you trust the files in this folder?", PromptPermission, false},
	{"Copilot CLI", "1.0.102", "Do you want to create ", PromptPermission, false},
	{"Gemini CLI", "0.61.0", "Do you trust the files in this folder?", PromptPermission, false},
	{"Gemini CLI", "0.61.0", "Allow execution of ", PromptPermission, false},
	{"Gemini CLI", "0.61.0", "Apply this change?", PromptPermission, false},
	{"Kimi Code", "2.1.0", "Trust this folder?", PromptPermission, false},
	{"Kimi Code", "2.1.0", "Run this command?", PromptPermission, false},
	{"Kimi Code", "2.1.0", "Write this file?", PromptPermission, false},
	{"Kimi Code", "2.1.0", "Apply these edits?", PromptPermission, false},
	{"opencode", "1.18.33", "Permission required", PromptPermission, false},
	{"Qwen Code", "0.24.4", "Allow execution of: ", PromptPermission, false},
	{"Qwen Code", "0.24.4", "Apply this change?", PromptPermission, false},
	{"Qwen Code", "0.24.4", "Do you want to proceed?", PromptPermission, false},
}

// dialogOf finds the dialog that a line belongs to.
func dialogOf(line string) *dialog {
	for i := range dialogs {
		if strings.Contains(line, dialogs[i].asks) {
			return &dialogs[i]
		}
	}
	return nil
}

// buttonRows are choices that stand beside one another and are chosen by arrows.
// The last one refuses, as Esc does.
var buttonRows = []struct {
	agent, version string
	labels         []string
}{
	{"opencode", "1.18.33", []string{"Allow once", "Allow always", "Reject"}},
}

// pointers mark the highlighted option of a menu.
const pointers = "❯›>●▶→*➜▸◉"

// inputMarks begin the line in which a person writes to an agent or a shell.
// A menu above such a line no longer waits.
const inputMarks = "❯›>➜"

// speakers begin what an agent says or does, which ends the dialog below it.
const speakers = "●•✦◆⏺✨→✔✓▣❯›>➜"

// hintWords are in the lines that say which keys a dialog takes.
var hintWords = []string{"esc", "enter", "↵", "⏎", "↑", "tab ", "ctrl", "shift+", "navigate", "to select", "to cancel", "arrow", "choose"}

// choiceWords are in the lines that ask to type an option's number.
var choiceWords = []string{"choice", "choose", "select", "option", "number", "enter ", "answer", "pick", "which"}

// spins says whether a line begins with the frame of a spinner.
func (l promptLine) spins() bool {
	r, _ := utf8.DecodeRuneInString(l.inner)
	return r > 0x2800 && r <= 0x28ff
}

// hints says whether a line says which keys work.
func (l promptLine) hints() bool { return containsAny(strings.ToLower(l.inner), hintWords) }

// points says whether a line says that arrows and Enter choose, or is the half of
// such a line.
func (l promptLine) points() bool {
	return containsAny(strings.ToLower(l.inner), []string{"↑", "navigate", "arrow", "select"}) && l.hints()
}

// saysSomething says whether a line is an agent's word or a person's.
func (l promptLine) saysSomething() bool {
	r, rest := l.first()
	if _, _, _, ok := l.option(); ok || rest == "" || dialogOf(rest) != nil {
		return false
	}
	return strings.ContainsRune(speakers, r) && strings.HasPrefix(strings.TrimLeft(l.inner[utf8.RuneLen(r):], "\ufe0e\ufe0f"), " ")
}

// takesInput says whether a person writes in this line.
func (l promptLine) takesInput() bool {
	r, rest := l.first()
	return strings.ContainsRune(inputMarks, r) && (rest == "" || !l.hints()) && utf8.RuneLen(r) > 0 &&
		(rest == "" || strings.HasPrefix(l.inner[utf8.RuneLen(r):], " "))
}

// asksForNumber says whether a line waits for the number of an option: "#? " of
// bash's select, "> ", or words such as "Your choice [1]:".
func (l promptLine) asksForNumber() bool {
	s := l.inner
	if s == "#?" || s == ">" || s == "?" {
		return true
	}
	if s == "" || !strings.ContainsRune(":?>]", rune(s[len(s)-1])) {
		return false
	}
	return containsAny(strings.ToLower(s), choiceWords)
}

func containsAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
