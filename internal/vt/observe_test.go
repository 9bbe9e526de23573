package vt

import (
	"encoding/base64"
	"strings"
	"testing"
)

func TestObserve(t *testing.T) {
	term := New(Options{Cols: 80, Rows: 24})
	term.Write([]byte("\x1b]0;✳ Claude Code\a\x1b]7;file://host/tmp/a%20b\x1b\\\a\a\x1b]9;done\a\x1b]777;notify;Title;Body; more\a" +
		"\x1b]9;4;1;40\a\x1b]133;A\a\x1b]133;D;3\a\x1b]52;c;aGVsbG8=\a" +
		"\x1b]7501;state=blocked:app=claude-code:kind=permission:msg=" + base64.StdEncoding.EncodeToString([]byte("approve Bash: ls")) + "\x1b\\" +
		"first\r\nlast line  "))
	o := term.Observe()
	want := Observation{
		Title: "✳ Claude Code", Cwd: "/tmp/a b", Bell: 2,
		Program:      ProgramStatus{State: "blocked", App: "claude-code", Kind: "permission", Message: "approve Bash: ls", Count: 1},
		Progress:     Progress{1, 40},
		Notification: Notification{"Title", "Body; more", 2},
		Shell:        ShellMark{"D", 3, 2},
		Clipboard:    Clipboard{"hello", 1},
		LastLine:     "last line",
	}
	if o.Prompt.ID != "" {
		t.Errorf("prompt %+v", o.Prompt)
	}
	o.Prompt = Prompt{}
	if o.Title != want.Title || o.Cwd != want.Cwd || o.Bell != want.Bell || o.Program != want.Program || o.Progress != want.Progress ||
		o.Notification != want.Notification || o.Shell != want.Shell || o.Clipboard != want.Clipboard || o.LastLine != want.LastLine {
		t.Errorf("got  %+v\nwant %+v", o, want)
	}
}

// TestObserve_bounds feeds observations that are too long.
func TestObserve_bounds(t *testing.T) {
	term := New(Options{Cols: 80, Rows: 24})
	long := strings.Repeat("é", 100_000)
	term.Write([]byte("\x1b]2;" + long + "\a\x1b]9;" + long + "\a\x1b]52;c;" + strings.Repeat("QUJD", 60_000) + "\a\x1b]8;;" + long + "\alink"))
	o := term.Observe()
	if len(o.Title) > maxTitle || len(o.Notification.Body) > maxMessage || o.Clipboard.Count != 0 || term.pen.link != nil {
		t.Errorf("title %d, notification %d, clipboard %d", len(o.Title), len(o.Notification.Body), o.Clipboard.Count)
	}
	term.Write([]byte("\x1b]2;" + strings.Repeat("x", 3<<20) + "\aok"))
	if got := term.Text(TextOptions{}); got != "linkok\n" || cap(term.parser.text) > 1<<20 {
		t.Errorf("screen %q", got)
	}
}

func TestPrompt(t *testing.T) {
	for _, c := range []struct {
		name, screen string
		question     string
		keys         string
	}{
		{"menu", "Delete the file?\r\n❯ 1. Yes\r\n  2. No\r\n", "Delete the file?", "1 2"},
		{"plain menu", "Delete the file?\r\n  1) Yes\r\n  2) No\r\n> ", "Delete the file?", "1 2"},
		{"boxed", "╭───╮\r\n│ Go on? │\r\n│ ● 1. Yes │\r\n│   2. No │\r\n╰───╯\r\n", "Go on?", "1 2"},
		{"y/N", "Overwrite a.txt? [y/N] ", "Overwrite a.txt?", "y n"},
		{"yes/no", "Are you sure you want to continue connecting (yes/no/[fingerprint])? ", "Are you sure you want to continue connecting", "yes no"},
		{"Y/n colon", "Proceed (Y/n): ", "Proceed", "y n"},
		{"no prompt", "plain text\r\n$ ", "", ""},
		{"list in text", "Steps:\r\n1. Yes do it\r\n2. No really\r\nand more\r\nand more\r\nand more\r\nand more\r\n$ ", "", ""},
		{"old menu", "Go?\r\n❯ 1. Yes\r\n  2. No\r\na\r\nb\r\nc\r\nd\r\ne\r\nf\r\ng\r\nh\r\n$ ", "", ""},
		{"y/N above", "Overwrite? [y/N] n\r\n$ ", "", ""},
		{"one option", "❯ 1. Yes\r\n", "", ""},
		{"gap", "Go?\r\n❯ 1. Yes\r\n  3. No\r\n", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			term := New(Options{Cols: 80, Rows: 24})
			term.Write([]byte(c.screen))
			p := term.Observe().Prompt
			var keys []string
			for _, o := range p.Options {
				keys = append(keys, o.Key)
			}
			if p.Question != c.question || strings.Join(keys, " ") != c.keys || (p.ID == "") != (c.keys == "") {
				t.Errorf("%+v", p)
			}
		})
	}
}

// TestPrompt_id: the highlight does not change the id, the dialog's text does.
func TestPrompt_id(t *testing.T) {
	id := func(s string) string {
		term := New(Options{Cols: 60, Rows: 24})
		term.Write([]byte(s))
		p := term.Observe().Prompt
		if p.ID == "" {
			t.Fatalf("no prompt in %q", s)
		}
		return p.ID
	}
	rule := strings.Repeat("─", 60) + "\r\n"
	a := id(rule + "rm a\r\nProceed?\r\n❯ 1. Yes\r\n  2. No\r\n")
	if b := id(rule + "rm a\r\nProceed?\r\n  1. Yes\r\n❯ 2. No\r\n"); a != b {
		t.Error("the highlight changes the id")
	}
	if b := id(rule + "rm b\r\nProceed?\r\n❯ 1. Yes\r\n  2. No\r\n"); a == b {
		t.Error("another command has the same id")
	}
}
