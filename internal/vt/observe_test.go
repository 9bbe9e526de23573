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

// TestObserve_programOutlived: the state of a program that was killed ends at the
// prompt of the shell that started it.
func TestObserve_programOutlived(t *testing.T) {
	term := New(Options{Cols: 80, Rows: 24})
	term.Write([]byte("\x1b]133;C\a\x1b]7501;state=working:app=x\a"))
	if p := term.Observe().Program; p.State != "working" {
		t.Fatalf("program %+v", p)
	}
	term.Write([]byte("Killed\r\n\x1b]133;D;137\a\x1b]133;A\a$ "))
	if p := term.Observe().Program; p != (ProgramStatus{Count: 1}) {
		t.Errorf("program %+v at the prompt of a shell", p)
	}
}

// TestObserve_programHostile feeds reports that are broken or too long: a state
// that is unknown changes nothing, a message that cannot be read is left out.
func TestObserve_programHostile(t *testing.T) {
	long := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", 100_000)))
	fits := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("é", 2000)))
	for report, want := range map[string]ProgramStatus{
		"state=blocked:msg=!!!":                   {State: "blocked", Count: 2},
		"state=blocked:msg=/////w==":              {State: "blocked", Count: 2}, // no UTF-8
		"state=blocked:msg=" + long:               {State: "blocked", Count: 2},
		"state=blocked:msg=" + fits:               {State: "blocked", Message: strings.Repeat("é", 2000), Count: 2},
		"state=rm -rf":                            {State: "idle", Count: 1},
		"app=" + strings.Repeat("a", 100):         {App: strings.Repeat("a", 64), Count: 2},
		"state=clear":                             {Count: 2},
		"kind=permission:state=blocked:x:=:msg=;": {State: "blocked", Kind: "permission", Count: 2},
	} {
		term := New(Options{Cols: 80, Rows: 24})
		term.Write([]byte("\x1b]7501;state=idle\a\x1b]7501;" + report + "\a"))
		if got := term.Observe().Program; got != want {
			t.Errorf("%.60s: %+v, want %+v", report, got, want)
		}
	}
}

// TestObserve_osc9 parts notifications from ConEmu's commands.
func TestObserve_osc9(t *testing.T) {
	term := New(Options{Cols: 80, Rows: 24})
	term.Write([]byte("\x1b]9;9;\"/srv/a b\"\a\x1b]9;12\a\x1b]9;2;text\a\x1b]9;1;500\a\x1b]9;\a\x1b]9;4;3\a"))
	o := term.Observe()
	if o.Notification.Count != 0 || o.Cwd != "/srv/a b" || o.Progress.State != 3 {
		t.Errorf("%+v", o)
	}
	term.Write([]byte("\x1b]9;4 of 5 tests passed; see the log\a"))
	if n := term.Observe().Notification; n.Count != 1 || n.Body != "4 of 5 tests passed; see the log" {
		t.Errorf("%+v", n)
	}
}
