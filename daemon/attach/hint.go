package attach

import (
	"fmt"
)

// hintState is what has to be done to remove the hint.
type hintState int

const (
	hintNone hintState = iota
	// hintOnEmpty: it stands on an empty row of a session that printed nothing.
	hintOnEmpty
	// hintOver: it covers something, which a repaint brings back.
	hintOver
)

// showHint writes on the last row how to detach, once. It saves and restores
// the cursor, which the repaint that removes it sets right.
func (c *client) showHint(empty bool) {
	if !c.options.Hint {
		return
	}
	c.options.Hint = false
	text := clipText(c.hintText(), c.cols-1)
	c.outbox.put(fmt.Sprintf("\x1b7\x1b[%d;1H\x1b[0;2m%s\x1b[0m\x1b[K\x1b8", c.rows, text))
	c.hint = hintOver
	if empty {
		c.hint = hintOnEmpty
	}
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

// hideHint removes the hint before anything else is drawn.
func (c *client) hideHint() {
	switch c.hint {
	case hintOnEmpty:
		c.outbox.put(fmt.Sprintf("\x1b7\x1b[%d;1H\x1b[0m\x1b[K\x1b8", c.rows))
	case hintOver:
		if !c.drawing {
			c.repaint()
		}
	}
	c.hint = hintNone
}

// clipText cuts plain text to so many cells, a rune each: it is our own.
func clipText(text string, cells int) string {
	runes := []rune(text)
	return string(runes[:min(len(runes), max(cells, 0))])
}
