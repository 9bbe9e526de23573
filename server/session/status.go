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
	// burstEnough is how much output counts as work, in bytes: the echo of a
	// few keys does not.
	burstEnough = 256
)

// statusOf says what a session is doing, by the most certain source that says
// anything: its end, the program's own word (OSC 7501), the dialog on screen,
// title and progress, shell marks, and at last whether bytes come.
func statusOf(o observed, f *facts, now time.Time) server.Status {
	if status, ok := endStatus(f); ok {
		return status
	}
	program, ok := programStatus(o)
	atRest := program.Kind == server.StatusIdle || program.Kind == server.StatusDone
	if ok && (o.prompt == nil || !atRest) {
		return program
	}
	if o.prompt != nil {
		return server.Status{Kind: server.StatusNeedsYou, Text: o.prompt.Question, Source: server.SourceScreen}
	}
	if status, ok := titleStatus(o); ok {
		return status
	}
	if kind, ok := shellStatus(o); ok {
		return server.Status{Kind: kind, Source: server.SourceScreen}
	}
	status := server.Status{Kind: server.StatusIdle, Source: server.SourceActivity}
	switch {
	case f.burst >= burstEnough && now.Sub(f.activeAt) <= quietAfter:
		status.Kind = server.StatusWorking
	case f.agent != "" && f.agent != "shell":
		status.Kind = server.StatusWaiting
	}
	return status
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

// titleStatus reads the state that agents put into the title's first glyph
// while nobody answered their OSC 7501 query, and OSC 9;4.
func titleStatus(o observed) (server.Status, bool) {
	status := server.Status{Source: server.SourceTitle}
	title := strings.TrimSpace(o.title)
	glyph, _ := utf8.DecodeRuneInString(title)
	switch {
	case glyph == '✋' || strings.Contains(title, "Action Required"):
		status.Kind = server.StatusNeedsYou
	case glyph == '✦' || glyph == '◐' || glyph == '◑' || glyph == '◒' || glyph == '◓' || (glyph >= 0x2800 && glyph <= 0x28ff):
		status.Kind = server.StatusWorking
	case o.progress == progressNormal || o.progress == progressIndeterminate:
		status.Kind = server.StatusWorking
	case o.progress == progressError:
		status.Kind = server.StatusFailed
	case o.progress == progressPaused:
		status.Kind = server.StatusWaiting
	case glyph == '◇' || glyph == '✳':
		status.Kind = server.StatusWaiting
	default:
		return status, false
	}
	status.Text = untrusted.Cut(o.title, server.MaxTitle)
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
