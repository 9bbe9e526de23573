package attach

import (
	"fmt"
	"time"

	"github.com/agent-helm/agent-helm/internal/vt"
)

// hint is the line that says, for a moment after attaching, how to detach. It
// covers the last row of the window. A terminal of our own follows the session
// meanwhile, because the row must be mended before the program writes there,
// or scrolls it into the history.
type hint struct {
	terminal *vt.Terminal
	modes    modeTracker // tells whether a sequence is unfinished
	row      string      // what the hint covers
	lines    vt.LineID   // how much has scrolled
	// alternate is which screen was shown.
	alternate bool
}

// hintTime is how long the hint stays when nothing needs its row.
const hintTime = 4 * time.Second

// showHint writes the hint over the session as it was drawn, the first time.
func (c *client) showHint(session *vt.Terminal) {
	if !c.options.Hint {
		return
	}
	c.options.Hint = false
	h := &hint{terminal: session}
	// A state may end inside a sequence, where nothing may be inserted.
	if h.modes.write(session.Repaint()); h.unfinished() {
		return
	}
	h.row, h.lines, h.alternate = h.lastRow(), h.terminal.ArchiveEnd(), h.terminal.Modes().Alternate
	c.hint, c.hintOver = h, time.After(hintTime)
	c.outbox.put(fmt.Sprintf("\x1b7\x1b[%d;1H\x1b[0;2m%s\x1b[0m\x1b[K\x1b8", c.rows, clipText(c.hintText(), c.cols-1)))
}

func (c *client) hintText() string {
	text := c.options.Name
	if c.options.ReadOnly {
		text += " (read only)"
	}
	if c.options.Detach.IsNone() {
		return text + ": close the terminal to detach"
	}
	return text + ": " + c.options.Detach.String() + " detaches, the session keeps running"
}

// hintBefore is told of output before it goes to the terminal, and removes a
// hint that would be in its way. It says whether a repaint comes instead of
// this output.
func (c *client) hintBefore(output []byte) (replaced bool) {
	h := c.hint
	if h == nil {
		return false
	}
	blank, unfinished := h.row == "", h.unfinished()
	h.take(output)
	if h.lastRow() == h.row && h.terminal.ArchiveEnd() == h.lines && h.terminal.Modes().Alternate == h.alternate {
		return false
	}
	c.hint, c.hintOver = nil, nil
	if blank && !unfinished {
		c.outbox.put(c.eraseHint())
		return false
	}
	if !c.drawing {
		c.repaint()
	}
	return true
}

// hideHint removes a hint whose time is over.
func (c *client) hideHint() {
	h := c.hint
	c.hint, c.hintOver = nil, nil
	switch {
	case h == nil || c.drawing:
	case h.row == "" && !h.unfinished():
		c.outbox.put(c.eraseHint())
	default:
		c.repaint()
	}
}

// eraseHint empties the last row. It keeps the cursor, which the program may
// have saved elsewhere before; a hint lives too short for that to matter.
func (c *client) eraseHint() string {
	return fmt.Sprintf("\x1b7\x1b[%d;1H\x1b[0m\x1b[2K\x1b8", c.rows)
}

func (h *hint) take(output []byte) {
	_, _ = h.terminal.Write(output) // never fails
	h.terminal.TakeReplies()        // the holder has answered
	h.modes.write(output)
}

// unfinished says that the last output ended inside a sequence, where nothing
// may be inserted.
func (h *hint) unfinished() bool { return len(h.modes.sequence) > 0 }

// lastRow is the text of the row under the hint.
func (h *hint) lastRow() string {
	lines := h.terminal.Screen().Lines
	text := ""
	for _, run := range lines[len(lines)-1].Runs {
		text += run.Text
	}
	return text
}

// clipText cuts plain text to so many cells, a rune each: it is our own.
func clipText(text string, cells int) string {
	runes := []rune(text)
	return string(runes[:min(len(runes), max(cells, 0))])
}
