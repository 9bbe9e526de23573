package attach

import (
	"fmt"
	"strings"

	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// pipeline is what output passes on its way to the terminal. It is new with
// every repaint.
type pipeline struct {
	queries   *vt.QueryFilter
	clipboard *clipboardFilter
	a, b      []byte
}

func newPipeline(clipboard bool) pipeline {
	p := pipeline{queries: vt.NewQueryFilter()}
	if !clipboard {
		p.clipboard = &clipboardFilter{}
	}
	return p
}

// filter returns what goes to the terminal, valid until the next call.
func (p *pipeline) filter(data []byte) []byte {
	p.a = p.a[:0]
	if p.clipboard != nil {
		p.b = p.clipboard.filter(p.b[:0], data)
		data = p.b
	}
	p.a = p.queries.Filter(p.a, data)
	return p.a
}

func (c *client) takeOutput(f *wire.Output) {
	end := f.Offset + uint64(len(f.Data))
	switch {
	case c.drawing:
		// The coming repaint has it. The holder must still hear of it.
		c.outbox.putOutput(nil, end)
	case c.view != nil:
		_, _ = c.view.terminal.Write(f.Data)
		c.view.terminal.TakeReplies() // the holder has answered
		c.outbox.putOutput(nil, end)
		c.planDraw()
	default:
		if c.hintBefore(f.Data) {
			c.outbox.putOutput(nil, end)
			return
		}
		c.outbox.putOutput(c.output.filter(f.Data), end)
		c.lineStart = len(f.Data) > 0 && f.Data[len(f.Data)-1] == '\n'
	}
}

// takeState collects a state and shows the session from there on.
func (c *client) takeState(f *wire.State) {
	if f.First {
		c.state = c.state[:0]
	}
	if len(c.state)+len(f.Data) <= wire.MaxState {
		c.state = append(c.state, f.Data...)
	}
	if !f.Last {
		return
	}
	session, err := vt.Restore(c.state)
	c.state = nil
	if err != nil {
		c.foreign = true
		c.repaint()
		return
	}
	c.show(session, f.Position.Offset)
}

// show draws the session as it is at offset: in the window itself when it has
// the session's size, else cut out of it.
func (c *client) show(session *vt.Terminal, offset uint64) {
	c.drawing = false
	c.gridCols, c.gridRows = session.Size()
	if c.again {
		c.repaint()
		return
	}
	if c.gridCols != c.cols || c.gridRows != c.rows {
		c.openView(session, offset)
		return
	}
	c.view, c.draw = nil, nil
	c.hint, c.hintOver = nil, nil
	c.output = newPipeline(c.options.Clipboard)
	c.outbox.putReset(pushTitle + c.history(session) + c.emptyScreen())
	c.outbox.putOutput(c.output.filter(portable(session.Repaint())), offset)
	c.outbox.put(keyboardModes(session.Modes()) + watchFocus)
	column, _ := session.Cursor()
	c.lineStart = column == 0
	c.showHint(session)
}

// history is what scrolled off the session's screen before, once: it goes
// into the terminal's own history.
func (c *client) history(session *vt.Terminal) string {
	if c.options.History <= 0 || c.view != nil {
		return ""
	}
	lines := session.Page(0, c.options.History).Lines
	c.options.History = 0
	if len(lines) == 0 {
		return ""
	}
	var b strings.Builder
	for i := len(lines) - 1; i >= 0; i-- {
		for _, run := range lines[i].Runs {
			b.WriteString(sgr(run) + run.Text)
		}
		b.WriteString("\x1b[0m\r\n")
	}
	return b.String() + strings.Repeat("\n", c.rows)
}

// keyboardModes are the modes that a repaint leaves out, because a browser's
// terminal has none of them.
func keyboardModes(m vt.Modes) string {
	sequence := ""
	if m.Keyboard != 0 {
		// Pushed, so that the program's pop has something to take.
		sequence += fmt.Sprintf("\x1b[>%du", m.Keyboard)
	}
	if m.ModifyOtherKeys != 0 {
		sequence += fmt.Sprintf("\x1b[>4;%dm", m.ModifyOtherKeys)
	}
	return sequence
}

// repaint asks for the session as it is now; what comes before is skipped.
func (c *client) repaint() {
	c.drawing, c.again = true, false
	want := wire.WantState
	if c.foreign {
		// A holder of another version still draws for everybody.
		want = wire.WantRepaint
	}
	c.send(&wire.HolderAttach{Want: want, History: c.options.History})
}

// emptyScreen is how a repaint finds the terminal, once its modes are reset.
// Rows are erased one by one: erasing the whole screen at once makes some
// terminals copy it to their history.
func (c *client) emptyScreen() string {
	return "\x1b[?1049l\x1b[0m\x1b[r\x1b[?6l\x1b[?7h\x1b[H" + strings.Repeat("\x1b[2K\x1b[1B", c.rows) + "\x1b[H"
}

// makeRoom scrolls what stands on the screen above the cursor into the
// terminal's history, so that the session begins on an empty screen without
// erasing anything. The cursor's own row is empty: a command was just entered.
func (c *client) makeRoom() {
	c.outbox.put(pushTitle + "\x1b[0m\r" + strings.Repeat("\n", max(c.rows-1, 0)) + "\x1b[H")
}
