package session

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
)

// States of vt's Progress.
const (
	progressNormal        = 1
	progressError         = 2
	progressIndeterminate = 3
	progressPaused        = 4
)

// repaintGuess is the size expected of a repaint while none was made: that of
// a screen of text.
const repaintGuess = 4 << 10

// observed is what a terminal shows from outside. Texts are the program's word
// and not cleaned, but for the prompt.
type observed struct {
	title, cwd, lastLine string
	bell                 uint64
	program, programText string
	progress             int
	shellMark            string
	notice               string
	notices              uint64
	prompt               *server.Prompt
	drawing              bool // in the middle of a frame
}

func observe(t *vt.Terminal) observed {
	o := t.Observe()
	return observed{
		title: o.Title, cwd: o.Cwd, lastLine: o.LastLine,
		bell:    o.Bell,
		program: o.Program.State, programText: o.Program.Message,
		progress:  o.Progress.State,
		shellMark: o.Shell.Mark,
		notice:    cmp.Or(o.Notification.Body, o.Notification.Title), notices: o.Notification.Count,
		prompt:  promptOf(o.Prompt),
		drawing: t.Modes().Synchronized,
	}
}

func promptOf(p vt.Prompt) *server.Prompt {
	if p.ID == "" {
		return nil
	}
	prompt := &server.Prompt{ID: p.ID, Question: untrusted.Cut(p.Question, server.MaxTitle), Options: []server.PromptOption{}}
	for _, option := range p.Options {
		prompt.Options = append(prompt.Options, server.PromptOption{
			Key: untrusted.Clean(option.Key, server.MaxName), Label: untrusted.Cut(option.Label, server.MaxTitle),
		})
	}
	return prompt
}

// repaintCache keeps one repaint for all the viewers that need it before the
// terminal changes again.
type repaintCache struct {
	stale bool
	data  []byte
	last  int // size of the last one made
}

// size is how large the next repaint will be, as far as can be told.
func (c *repaintCache) size() int {
	if c.last == 0 {
		return repaintGuess
	}
	return c.last
}

func (s *Session) repaintBytes() []byte {
	c := &s.repaint
	if c.stale || c.data == nil {
		c.data = s.terminal.Repaint()
		c.stale, c.last = false, len(c.data)
	}
	return c.data
}

func (s *Session) size() (cols, rows uint16) {
	width, height := s.terminal.Size()
	return uint16(width), uint16(height)
}

// prompt is the id of the dialog on screen.
func (s *Session) prompt() string {
	if s.terminal == nil || s.facts.state.Ended() {
		return ""
	}
	return s.terminal.Observe().Prompt.ID
}

// Format is a way to write a screen down.
type Format string

// Formats of a screen.
const (
	FormatText Format = "text" // plain text
	FormatANSI Format = "ansi" // text with SGR sequences
	FormatJSON Format = "json" // vt.Screen
)

// Screen writes the screen down. It fails with CodeInvalid for another format.
func (s *Session) Screen(ctx context.Context, format Format) ([]byte, error) {
	type result struct {
		data []byte
		err  error
	}
	r, err := call(ctx, s, func() result {
		t := s.shown()
		switch format {
		case FormatText:
			return result{data: []byte(t.Text(vt.TextOptions{}))}
		case FormatANSI:
			return result{data: []byte(t.ANSI(vt.TextOptions{}))}
		case FormatJSON:
			data, err := json.Marshal(t.Screen())
			return result{data, err}
		default:
			return result{err: server.Errorf(server.CodeInvalid, "unknown format: use text, ansi or json")}
		}
	})
	if err != nil {
		return nil, err
	}
	return r.data, r.err
}

// shown is the terminal, an empty one when there is nothing to show yet.
func (s *Session) shown() *vt.Terminal {
	s.wake()
	if s.terminal == nil {
		return vt.New(vt.Options{Cols: int(s.facts.cols), Rows: int(s.facts.rows)})
	}
	return s.terminal
}

// Page is history as this copy has it: lines older than before, newest first, 0
// being the newest. Complete says that older lines, if any, are here too; else
// only the host may have them.
type Page struct {
	vt.Page
	Complete bool
}

// Page reads history. It never asks the host.
func (s *Session) Page(ctx context.Context, before uint64, max int) (Page, error) {
	return call(ctx, s, func() Page {
		t := s.shown()
		page := t.Page(vt.LineID(before), max)
		n := len(page.Lines)
		first := before == 1 || (n > 0 && page.Lines[n-1].ID <= 1) || (s.primed && t.ArchiveEnd() <= 1)
		return Page{Page: page, Complete: page.More || first}
	})
}

// Snapshot is the terminal at its position, for the store. ok is false when
// there is nothing worth saving.
func (s *Session) Snapshot(ctx context.Context) (snapshot server.SessionSnapshot, ok bool, err error) {
	type result struct {
		snapshot server.SessionSnapshot
		ok       bool
	}
	r, err := call(ctx, s, func() result {
		if s.terminal == nil || !s.primed {
			return result{}
		}
		cols, rows := s.size()
		return result{server.SessionSnapshot{
			Position: s.ring.End(), Cols: cols, Rows: rows,
			VT: vt.StateVersion, Data: s.terminal.State(savedHistory), At: time.Now(),
		}, true}
	})
	if err != nil {
		return snapshot, false, fmt.Errorf("snapshot: %w", err)
	}
	return r.snapshot, r.ok, nil
}

// Position is how much of the stream was taken in.
func (s *Session) Position(ctx context.Context) (wire.Position, error) {
	return call(ctx, s, func() wire.Position { return s.ring.End() })
}

// Summary is the session as it is now.
func (s *Session) Summary(ctx context.Context) (Summary, error) {
	return call(ctx, s, func() Summary { return s.summary(time.Now()) })
}

// Rest drops the terminal of a session that has ended or is offline, once it is
// saved and nobody looks at it; it is read again when it is needed. It reports
// whether it did.
func (s *Session) Rest(ctx context.Context, saved wire.Position) (bool, error) {
	return call(ctx, s, func() bool {
		s.saved, s.isSaved = saved, s.config.Load != nil
		return s.rest()
	})
}
