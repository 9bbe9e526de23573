package vt

import (
	"encoding/base64"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Bounds of what is observed, in bytes.
const (
	maxTitle     = 1024
	maxCwd       = 4096
	maxMessage   = 4096
	maxClipboard = 64 << 10
	maxLastLine  = 200 // characters
)

// An Observation is what a terminal shows from outside. All text is the
// program's: cap, clean and label it before it is shown.
type Observation struct {
	// Title is the window title, up to 1 KiB.
	Title string `json:"title"`
	// Cwd is the path of the last OSC 7, empty when none came.
	Cwd string `json:"cwd,omitempty"`
	// Bell counts BEL outside of strings.
	Bell uint64 `json:"bell"`
	// Program is the state by OSC 7501.
	Program ProgramStatus `json:"program"`
	// Progress is the state by OSC 9;4.
	Progress Progress `json:"progress"`
	// Notification is the last OSC 9 or 777.
	Notification Notification `json:"notification"`
	// Shell is the last OSC 133 mark.
	Shell ShellMark `json:"shell"`
	// Clipboard is the last text a program put into the clipboard by OSC 52.
	Clipboard Clipboard `json:"clipboard"`
	// LastLine is the last line of the screen that is not blank, up to 200
	// characters.
	LastLine string `json:"last_line"`
	// Prompt is the question that waits on the screen.
	Prompt Prompt `json:"prompt"`
}

// ProgramStatus is what a program said of itself by OSC 7501.
type ProgramStatus struct {
	// State is one of "idle", "working", "blocked", "done", "error", or ""
	// before the first report and after "clear" or the prompt of a shell.
	State string `json:"state,omitempty"`
	App   string `json:"app,omitempty"`
	// Kind says what a blocked program waits for: "permission", "question",
	// "auth".
	Kind    string `json:"kind,omitempty"`
	Message string `json:"message,omitempty"`
	// Count grows with every report.
	Count uint64 `json:"count"`
}

// Progress is a progress bar. State is 0 none, 1 normal, 2 error,
// 3 indeterminate, 4 paused.
type Progress struct {
	State   int `json:"state"`
	Percent int `json:"percent"`
}

// Notification is a desktop notification. Count grows with every one.
type Notification struct {
	Title string `json:"title,omitempty"`
	Body  string `json:"body,omitempty"`
	Count uint64 `json:"count"`
}

// ShellMark is the last mark of shell integration: "A" prompt begins, "B"
// prompt ends, "C" command runs, "D" command ended with ExitCode (-1 unknown).
type ShellMark struct {
	Mark     string `json:"mark,omitempty"`
	ExitCode int    `json:"exit_code"`
	// Count grows with every mark.
	Count uint64 `json:"count"`
}

// Clipboard is a text for the clipboard, up to 64 KiB; larger ones are dropped.
type Clipboard struct {
	Text  string `json:"text,omitempty"`
	Count uint64 `json:"count"`
}

// observed is the part of an Observation that is kept; the rest is read off the
// screen.
type observed struct {
	Title        string
	Cwd          string
	Bell         uint64
	Program      ProgramStatus
	Progress     Progress
	Notification Notification
	Shell        ShellMark
	Clipboard    Clipboard
}

// Observe returns what can be seen from outside now. It reads the screen and
// costs some ten microseconds.
func (t *Terminal) Observe() Observation {
	o := &t.observed
	return Observation{
		Title: o.Title, Cwd: o.Cwd, Bell: o.Bell, Program: o.Program,
		Progress: o.Progress, Notification: o.Notification, Shell: o.Shell,
		Clipboard: o.Clipboard,
		LastLine:  t.lastLine(),
		Prompt:    t.prompt(),
	}
}

func (t *Terminal) lastLine() string {
	for y := t.rows - 1; y >= 0; y-- {
		text := strings.TrimSpace(string(t.appendPlain(nil, t.cur.row(y).cells)))
		if text == "" {
			continue
		}
		for i, n := 0, 0; i < len(text); n++ {
			if n == maxLastLine {
				return text[:i]
			}
			_, size := utf8.DecodeRuneInString(text[i:])
			i += size
		}
		return text
	}
	return ""
}

// cwdFromURL reads OSC 7: a file URL, or a bare path.
func cwdFromURL(s string) string {
	if strings.HasPrefix(s, "/") {
		return s
	}
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "file" && u.Scheme != "kitty-shell-cwd" {
		return ""
	}
	return clip(u.Path, maxCwd)
}

// setProgress is OSC 9;4.
func (t *Terminal) setProgress(data string) {
	state, rest, _ := strings.Cut(data, ";")
	n, err := strconv.Atoi(state)
	if err != nil || n < 0 || n > 4 {
		return
	}
	percent, err := strconv.Atoi(rest)
	if err != nil {
		percent = t.observed.Progress.Percent
	}
	if n == 0 {
		percent = 0
	}
	t.observed.Progress = Progress{n, max(0, min(percent, 100))}
}

func (t *Terminal) notify(title, body string) {
	n := &t.observed.Notification
	n.Title, n.Body = clip(title, maxTitle), clip(body, maxMessage)
	n.Count++
}

// setClipboard is OSC 52. Asking for the clipboard is never answered.
func (t *Terminal) setClipboard(data string) {
	_, text, ok := strings.Cut(data, ";")
	if !ok || text == "?" || len(text) > maxClipboard*4/3+4 {
		return
	}
	plain, err := base64.StdEncoding.DecodeString(text)
	if err != nil || len(plain) > maxClipboard || !utf8.Valid(plain) {
		return
	}
	t.observed.Clipboard.Text = string(plain)
	t.observed.Clipboard.Count++
}

// setShellMark is OSC 133.
func (t *Terminal) setShellMark(data string) {
	mark, rest, _ := strings.Cut(data, ";")
	if len(mark) != 1 || mark[0] < 'A' || mark[0] > 'D' {
		return
	}
	if mark == "A" {
		// A shell that draws its prompt has outlived what reported before.
		t.observed.Program = ProgramStatus{Count: t.observed.Program.Count}
	}
	m := &t.observed.Shell
	m.Mark = mark
	m.ExitCode = -1
	if mark == "D" {
		code, _, _ := strings.Cut(rest, ";")
		if n, err := strconv.Atoi(code); err == nil && n >= 0 && n <= 0xffff {
			m.ExitCode = n
		}
	}
	m.Count++
}

// setProgram is OSC 7501: key=value pairs parted by colons.
func (t *Terminal) setProgram(data string) {
	next := ProgramStatus{Count: t.observed.Program.Count + 1}
	for _, pair := range strings.Split(clip(data, 2*maxMessage), ":") {
		name, value, ok := strings.Cut(pair, "=")
		if !ok {
			continue
		}
		switch name {
		case "state":
			switch value {
			case "idle", "working", "blocked", "done", "error":
				next.State = value
			case "clear":
			default:
				return
			}
		case "app":
			next.App = clip(value, 64)
		case "kind":
			next.Kind = clip(value, 64)
		case "msg":
			if text, err := base64.StdEncoding.DecodeString(value); err == nil && utf8.Valid(text) {
				next.Message = clip(string(text), maxMessage)
			}
		}
	}
	t.observed.Program = next
}
