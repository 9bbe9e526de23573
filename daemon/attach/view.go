package attach

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// view shows a session whose grid is not the window's: as much of it as fits,
// following the cursor, and a status line below. It draws on the alternate
// screen. The client owns it.
type view struct {
	terminal *vt.Terminal

	x, y  int      // of the grid's cell in the window's first
	drawn []string // rows as they stand on the screen; nil before the first
	modes string   // input modes as last set
	due   bool     // drawing is planned
	// patience counts the drawings put off for a program that is in the middle
	// of a frame.
	patience int
}

// frameTime is how often the view is drawn at most.
const frameTime = 16 * time.Millisecond

// maxPatience bounds how many frames an unfinished drawing of the program may
// hold the view back: about 150 ms.
const maxPatience = 10

// openView shows a session of another size than the window's.
func (c *client) openView(session *vt.Terminal, offset uint64) {
	c.hint, c.hintOver = nil, nil
	c.view = &view{terminal: session}
	c.outbox.putReset(pushTitle + "\x1b[?1049h\x1b[?7l\x1b[2J" + watchFocus)
	c.outbox.putOutput(nil, offset)
	c.planDraw()
}

// planDraw draws the view soon, once for many changes.
func (c *client) planDraw() {
	if c.view != nil && !c.view.due {
		c.view.due = true
		c.draw = time.After(frameTime)
	}
}

// drawView writes what changed since the view was last drawn.
func (c *client) drawView() {
	c.draw = nil
	v := c.view
	if v == nil {
		return
	}
	v.due = false
	modes := v.terminal.Modes()
	if modes.Synchronized && v.drawn != nil {
		// The program is in the middle of a frame; it says when it is done.
		if v.patience++; v.patience < maxPatience {
			c.planDraw()
			return
		}
	}
	v.patience = 0
	rows := v.rows(c.cols, c.rows)
	rows = append(rows, c.statusLine())
	var b strings.Builder
	b.WriteString("\x1b[?2026h\x1b[?25l")
	if len(v.drawn) != len(rows) {
		v.drawn = make([]string, len(rows))
		b.WriteString("\x1b[0m\x1b[2J")
	}
	for i, row := range rows {
		if row != v.drawn[i] {
			fmt.Fprintf(&b, "\x1b[%d;1H\x1b[0m%s\x1b[0m\x1b[K", i+1, row)
			v.drawn[i] = row
		}
	}
	if input := inputModes(modes); input != v.modes {
		b.WriteString(input)
		v.modes = input
	}
	x, y := v.terminal.Cursor()
	x, y = min(x, v.gridCols()-1)-v.x, y-v.y
	fmt.Fprintf(&b, "\x1b[%d;%dH", min(max(y, 0), c.rows-1)+1, min(max(x, 0), c.cols-1)+1)
	if modes.CursorVisible && x >= 0 && x < c.cols && y >= 0 && y < c.rows-1 {
		b.WriteString("\x1b[?25h")
	}
	b.WriteString("\x1b[?2026l")
	c.outbox.put(b.String())
}

func (v *view) gridCols() int {
	cols, _ := v.terminal.Size()
	return cols
}

// rows are the rows of the cut-out, moved so that the cursor is in it.
func (v *view) rows(cols, rows int) []string {
	gridCols, gridRows := v.terminal.Size()
	rows = max(rows-1, 0) // the status line
	cursorX, cursorY := v.terminal.Cursor()
	v.x = follow(v.x, cursorX, cols, gridCols)
	v.y = follow(v.y, cursorY, rows, gridRows)
	lines := v.terminal.Screen().Lines
	drawn := make([]string, rows)
	for i := range drawn {
		if y := v.y + i; y < len(lines) {
			drawn[i] = cutRuns(lines[y].Runs, v.x, cols)
		}
	}
	return drawn
}

// follow moves a window of size over a grid so that position is in it.
func follow(start, position, size, grid int) int {
	position = min(position, grid-1)
	if position < start {
		start = position
	}
	if position >= start+size {
		start = position - size + 1
	}
	return min(max(start, 0), max(grid-size, 0))
}

// cutRuns draws the columns from first on, at most cols of them.
func cutRuns(runs []vt.Run, first, cols int) string {
	var b strings.Builder
	column := 0
	for _, run := range runs {
		styled := false
		for text := run.Text; text != ""; {
			r, n := utf8.DecodeRuneInString(text)
			w := runeWidth(r)
			if column+w > first+cols {
				return b.String()
			}
			if column >= first {
				if !styled {
					b.WriteString(sgr(run))
					styled = true
				}
				b.WriteString(text[:n])
			} else if column+w > first {
				b.WriteByte(' ') // the right half of a wide character
			}
			column += w
			text = text[n:]
		}
		if styled {
			b.WriteString("\x1b[0m")
		}
	}
	return b.String()
}

// sgr is the sequence of a run's style. Links are left out: a cut one would
// lead elsewhere than its text says.
func sgr(run vt.Run) string {
	var b strings.Builder
	b.WriteString("\x1b[0")
	for _, attribute := range []struct {
		on   bool
		code string
	}{
		{run.Bold, ";1"}, {run.Dim, ";2"}, {run.Italic, ";3"}, {run.Blink, ";5"},
		{run.Inverse, ";7"}, {run.Hidden, ";8"}, {run.Strike, ";9"}, {run.Overline, ";53"},
	} {
		if attribute.on {
			b.WriteString(attribute.code)
		}
	}
	switch {
	case run.Underline == 1:
		b.WriteString(";4")
	case run.Underline > 1:
		fmt.Fprintf(&b, ";4:%d", run.Underline)
	}
	b.WriteString(colour(38, run.Fg) + colour(48, run.Bg) + colour(58, run.UnderlineColor))
	return b.String() + "m"
}

// colour is the parameter of a palette number or "#rrggbb".
func colour(code int, value string) string {
	var r, g, b int
	switch {
	case value == "":
		return ""
	case value[0] != '#':
		return fmt.Sprintf(";%d;5;%s", code, value)
	}
	if _, err := fmt.Sscanf(value, "#%02x%02x%02x", &r, &g, &b); err != nil {
		return ""
	}
	return fmt.Sprintf(";%d;2;%d;%d;%d", code, r, g, b)
}

// inputModes makes the terminal encode keys as the program wants them. The
// mouse stays off: its coordinates would be the window's.
func inputModes(m vt.Modes) string {
	mode := func(on bool, set, reset string) string {
		if on {
			return set
		}
		return reset
	}
	return mode(m.CursorKeys, "\x1b[?1h", "\x1b[?1l") +
		mode(m.Keypad, "\x1b=", "\x1b>") +
		mode(m.BracketedPaste, "\x1b[?2004h", "\x1b[?2004l") +
		mode(m.Keyboard != 0, fmt.Sprintf("\x1b[=%du", m.Keyboard), "\x1b[=0u") +
		mode(m.ModifyOtherKeys != 0, fmt.Sprintf("\x1b[>4;%dm", m.ModifyOtherKeys), "\x1b[>4m")
}

// statusLine says whose size this is and what can be done about it.
func (c *client) statusLine() string {
	owner := "nobody's window"
	switch c.owner {
	case wire.OwnerViewer:
		owner = "a browser"
	case wire.OwnerLocal:
		owner = "another terminal"
		if c.mine {
			owner = "this window"
		}
	}
	// What can be done stands first: a narrow window cuts the rest.
	text := " " + c.options.Name
	if !c.options.ReadOnly {
		text += " · " + takeKey.String() + " take size"
	}
	if !c.options.Detach.IsNone() {
		text += " · " + c.options.Detach.String() + " detach"
	}
	text += fmt.Sprintf(" · sized for %s, %d×%d", owner, c.gridCols, c.gridRows)
	text = clipText(text, c.cols)
	return "\x1b[7m" + text + strings.Repeat(" ", max(c.cols-utf8.RuneCountInString(text), 0))
}

// runeWidth is the number of cells of a character. It need not be exact:
// wrapping is off while the view draws, so a wrong width shifts a row's rest
// by a cell.
func runeWidth(r rune) int {
	switch {
	case r < 0x20, r == 0x7f, r == 0x200d, r >= 0x300 && r <= 0x36f, r >= 0xfe00 && r <= 0xfe0f:
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xff00 && r <= 0xff60, r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}
