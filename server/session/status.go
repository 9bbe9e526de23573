package session

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/server"
)

const (
	// quietAfter is how long after its last output a program that says nothing
	// of itself no longer counts as working.
	quietAfter = 3 * time.Second
	// silentAfter is how long one that says that it works may show nothing.
	// Agents at work move a spinner; one without is stopped, or was killed.
	silentAfter = 5 * time.Minute
	// burstEnough is how much output counts as work, in bytes: the echo of a
	// few keys does not.
	burstEnough = 256
	// frameTime is how long a program may take to draw a frame (mode 2026).
	frameTime = time.Second
	// workEnough is how long output has to come before its end counts as work
	// done: the first screen of a program does not.
	workEnough = 6 * time.Second
)

// statusOf says what a session is doing, by the most certain source that says
// anything: its end, the program's own word (OSC 7501), the dialog on screen,
// a shell at its prompt, title and progress, a shell's command, and at last
// whether bytes come.
func statusOf(o observed, f *facts, now time.Time) server.Status {
	if status, ok := endStatus(f); ok {
		return status
	}
	program, ok := programStatus(o)
	atRest := program.Kind == server.StatusIdle || program.Kind == server.StatusDone
	if ok && (o.prompt == nil || !atRest) && !f.silent(program, now) {
		return program
	}
	if o.prompt != nil {
		return server.Status{Kind: server.StatusNeedsYou, Text: o.prompt.Question, Source: server.SourceScreen}
	}
	shell, ok := shellStatus(o)
	if ok && shell == server.StatusIdle {
		return server.Status{Kind: shell, Source: server.SourceScreen}
	}
	if status, ok := titleStatus(o); ok && !f.silent(status, now) {
		return f.rested(o, status)
	}
	if ok {
		return server.Status{Kind: shell, Source: server.SourceScreen}
	}
	status := server.Status{Kind: server.StatusIdle, Source: server.SourceActivity}
	switch {
	case f.burst >= burstEnough && now.Sub(f.activeAt) <= quietAfter:
		status.Kind = server.StatusWorking
	case f.agent != "" && f.agent != "shell":
		status.Kind = server.StatusWaiting
	}
	return f.rested(o, status)
}

// silent says whether a program says that it works and has shown nothing for so
// long that it is not believed.
func (f *facts) silent(status server.Status, now time.Time) bool {
	return status.Kind == server.StatusWorking && !f.activeAt.IsZero() && now.Sub(f.activeAt) > silentAfter
}

// rested makes an agent that waits after work one that is done, with what it
// notified the person of.
func (f *facts) rested(o observed, status server.Status) server.Status {
	if status.Kind != server.StatusWaiting || !f.worked {
		return status
	}
	status.Kind = server.StatusDone
	if o.notices > f.notices {
		status.Text = untrusted.Cut(o.notice, server.MaxTitle)
	}
	return status
}

// remember keeps what later states depend on: that the program has worked.
func (f *facts) remember(o observed, status server.Status, now time.Time) {
	switch {
	case status.Kind != server.StatusWorking:
		return
	case status.Source == server.SourceActivity && now.Sub(f.burstAt) < workEnough:
		return
	}
	f.worked, f.notices = true, o.notices
}

// settle keeps the dialog of the last whole frame while a program draws the next.
func (f *facts) settle(o *observed, now time.Time) {
	switch {
	case !o.drawing:
		f.prompt, f.drawsSince = o.prompt, time.Time{}
	case f.drawsSince.IsZero():
		f.drawsSince = now
		fallthrough
	case now.Sub(f.drawsSince) <= frameTime:
		o.prompt = f.prompt
	}
}

// changesAt is when a status may become another although nothing comes; zero
// when never.
func (f *facts) changesAt(status server.Status) time.Time {
	switch {
	case !f.drawsSince.IsZero():
		return f.drawsSince.Add(frameTime + time.Millisecond)
	case status.Kind != server.StatusWorking:
		return time.Time{}
	case status.Source == server.SourceActivity:
		return f.activeAt.Add(quietAfter + time.Millisecond)
	}
	return f.activeAt.Add(silentAfter + time.Millisecond)
}

func endStatus(f *facts) (server.Status, bool) {
	status := server.Status{Source: server.SourceProgram}
	switch {
	case f.state == server.StateLost:
		status.Kind, status.Text = server.StatusEnded, untrusted.Text(f.lostReason)
	case f.state != server.StateExited:
		return status, false
	case f.exit == nil || f.exit.Signal != "":
		status.Kind = server.StatusEnded
		if f.exit != nil {
			status.Text = f.exit.Signal
		}
	case f.exit.Code == 0:
		status.Kind = server.StatusDone
	default:
		status.Kind = server.StatusFailed
	}
	return status, true
}

// programStatus reads OSC 7501.
func programStatus(o observed) (server.Status, bool) {
	kinds := map[string]server.StatusKind{
		"blocked": server.StatusNeedsYou,
		"working": server.StatusWorking,
		"done":    server.StatusDone,
		"error":   server.StatusFailed,
		"idle":    server.StatusIdle,
	}
	kind, ok := kinds[o.program]
	return server.Status{Kind: kind, Text: untrusted.Cut(o.programText, server.MaxTitle), Source: server.SourceProgram}, ok
}

// titleSigns are what agents put before their titles while nobody answered their
// OSC 7501 query, or always. The rest of a title may be a person's words.
var titleSigns = []struct {
	agent, version string
	begins         string
	kind           server.StatusKind
}{
	{"Claude Code", "2.1.332", "✳", server.StatusWaiting}, // also while a dialog asks
	{"Claude Code", "2.1.332", "◐", server.StatusWorking},
	{"Claude Code", "2.1.332", "◑", server.StatusWorking},
	{"Codex", "0.171.0", "[ ! ] Action Required", server.StatusNeedsYou},
	{"Codex", "0.171.0", "[ . ] Action Required", server.StatusNeedsYou},
	{"Gemini CLI", "0.61.0", "✋", server.StatusNeedsYou},
	{"Gemini CLI", "0.61.0", "✦", server.StatusWorking},
	{"Gemini CLI", "0.61.0", "◇", server.StatusWaiting},
	{"Qwen Code", "0.24.4", "✳", server.StatusWaiting},
	{"Qwen Code", "0.24.4", "◐", server.StatusWorking},
	{"Qwen Code", "0.24.4", "◒", server.StatusWorking},
	{"Qwen Code", "0.24.4", "◑", server.StatusWorking},
	{"Qwen Code", "0.24.4", "◓", server.StatusWorking},
}

// titleStatus reads the title, then OSC 9;4. Codex's spinner, and that of others,
// is of braille.
func titleStatus(o observed) (server.Status, bool) {
	status := server.Status{Source: server.SourceTitle, Text: untrusted.Cut(o.title, server.MaxTitle)}
	title := strings.TrimSpace(o.title)
	for _, sign := range titleSigns {
		if sign.kind != server.StatusWaiting && strings.HasPrefix(title, sign.begins) {
			status.Kind = sign.kind
			return status, true
		}
	}
	glyph, _ := utf8.DecodeRuneInString(title)
	switch {
	case glyph > 0x2800 && glyph <= 0x28ff:
		status.Kind = server.StatusWorking
	case o.progress == progressNormal || o.progress == progressIndeterminate:
		status.Kind = server.StatusWorking
	case o.progress == progressError:
		status.Kind = server.StatusFailed
	case o.progress == progressPaused:
		status.Kind = server.StatusWaiting
	default:
		for _, sign := range titleSigns {
			if sign.kind == server.StatusWaiting && strings.HasPrefix(title, sign.begins) {
				status.Kind = sign.kind
				return status, true
			}
		}
		return status, false
	}
	return status, true
}

// shellStatus reads OSC 133.
func shellStatus(o observed) (server.StatusKind, bool) {
	switch o.shellMark {
	case "A", "B", "D":
		return server.StatusIdle, true
	case "C":
		return server.StatusWorking, true
	default:
		return "", false
	}
}
