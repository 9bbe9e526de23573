package attach

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// modeTracker watches what is written to the terminal and remembers which of
// its modes were changed, so that restore resets these and no others. It
// understands only sequences that change a mode; all else passes it by.
type modeTracker struct {
	sequence []byte // an unfinished escape sequence, ESC first

	private map[int]bool // DECSET numbers, as last set, without the next
	screen  int          // the mode that switched to the alternate screen, 0 on the main one
	ansi    map[int]bool // SM numbers, as last set
	saved   int          // titles pushed and not popped
	kitty   [2]kittyState
	keys    map[int]bool // XTMODKEYS resources that were changed
	colours map[int]bool // OSC numbers 4, 5, 10–19 that were set

	pen, region, charset, tabs, protected, cursorStyle, keypad, title, link, progress, status bool
}

// kittyState is the keyboard protocol of one screen, which each has its own.
type kittyState struct {
	depth int
	set   bool
}

const maxTracked = 4 << 10 // bytes of one sequence; longer ones change no mode

// onByDefault are the private modes that a terminal starts with.
var onByDefault = map[int]bool{7: true, 8: true, 25: true, 1007: true}

// write takes in what goes to the terminal.
func (t *modeTracker) write(p []byte) {
	for len(p) > 0 {
		if len(t.sequence) == 0 {
			start := bytes.IndexAny(p, "\x1b\x0e")
			if start < 0 {
				return
			}
			if p[start] == 0x0e {
				t.charset = true
				p = p[start+1:]
				continue
			}
			t.sequence = append(t.sequence, 0x1b)
			p = p[start+1:]
			continue
		}
		b := p[0]
		p = p[1:]
		switch {
		case b == 0x18 || b == 0x1a:
			t.sequence = t.sequence[:0]
		case b == 0x1b:
			// ST ends a string; any other ESC starts anew.
			if t.inString() {
				t.end()
			}
			t.sequence = append(t.sequence[:0], b)
		case b == 0x07 && t.inString():
			t.end()
		default:
			t.sequence = append(t.sequence, b)
			if t.complete() {
				t.end()
			}
		}
		if len(t.sequence) > maxTracked {
			// Long strings hold data, not modes: keep only what tells how they end.
			t.sequence = t.sequence[:maxTracked]
		}
	}
}

func (t *modeTracker) inString() bool {
	return len(t.sequence) > 1 && strings.IndexByte("]P_^X", t.sequence[1]) >= 0
}

func (t *modeTracker) complete() bool {
	last := t.sequence[len(t.sequence)-1]
	switch {
	case t.inString():
		return false
	case len(t.sequence) == 2:
		return last >= 0x30 && last != '['
	case t.sequence[1] == '[':
		return last >= 0x40 && last <= 0x7e
	}
	return last >= 0x30
}

// end takes in a complete sequence.
func (t *modeTracker) end() {
	sequence := t.sequence
	t.sequence = t.sequence[:0]
	switch sequence[1] {
	case '[':
		t.csi(string(sequence[2:len(sequence)-1]), sequence[len(sequence)-1])
	case ']':
		t.osc(string(sequence[2:]))
	case 'c':
		*t = modeTracker{}
	case '=':
		t.keypad = true
	case '>':
		t.keypad = false
	case 'H':
		t.tabs = true
	case '(', ')', '*', '+', '-', '.', '/', 'n', 'o':
		t.charset = true
	}
}

func (t *modeTracker) csi(parameters string, final byte) {
	marker := byte(0)
	if parameters != "" && strings.IndexByte("?<=>", parameters[0]) >= 0 {
		marker, parameters = parameters[0], parameters[1:]
	}
	intermediate := ""
	if i := strings.IndexFunc(parameters, func(r rune) bool { return r >= 0x20 && r <= 0x2f }); i >= 0 {
		parameters, intermediate = parameters[:i], parameters[i:]
	}
	numbers := numbersOf(parameters)
	switch string(marker) + intermediate + string(final) {
	case "?h", "?l":
		for _, number := range numbers {
			switch {
			case number != 1049 && number != 1047 && number != 47:
				t.set(&t.private, []int{number}, final == 'h')
			case final == 'l':
				t.screen = 0 // whichever mode switched to it
			default:
				t.screen = number
			}
		}
	case "\x00h", "\x00l":
		t.set(&t.ansi, numbers, final == 'h')
	case "\x00m":
		t.pen = true
	case "\x00r":
		t.region = parameters != ""
	case "\x00g":
		t.tabs = true
	case "\x00t":
		switch {
		case len(numbers) > 0 && numbers[0] == 22:
			t.saved++
		case len(numbers) > 0 && numbers[0] == 23:
			t.saved = max(t.saved-1, 0)
		}
	case "\x00 q":
		t.cursorStyle = len(numbers) > 0 && numbers[0] != 0
	case "\x00\"q":
		t.protected = true
	case ">u":
		t.keyboard().depth++
	case "<u":
		count := 1
		if len(numbers) > 0 {
			count = max(numbers[0], 1)
		}
		t.keyboard().depth = max(t.keyboard().depth-count, 0)
	case "=u":
		t.keyboard().set = true
	case ">m", ">n":
		if len(numbers) == 0 {
			t.keys = nil
			return
		}
		t.set(&t.keys, numbers[:1], final == 'n' || len(numbers) > 1)
	}
}

func (t *modeTracker) set(modes *map[int]bool, numbers []int, value bool) {
	if *modes == nil {
		*modes = map[int]bool{}
	}
	for _, number := range numbers {
		if len(*modes) < 256 {
			(*modes)[number] = value
		}
	}
}

// keyboard is the keyboard state of the screen in use.
func (t *modeTracker) keyboard() *kittyState {
	if t.alternate() {
		return &t.kitty[1]
	}
	return &t.kitty[0]
}

func (t *modeTracker) alternate() bool { return t.screen != 0 }

func (t *modeTracker) osc(text string) {
	number, data, _ := strings.Cut(text, ";")
	n, err := strconv.Atoi(number)
	if err != nil {
		return
	}
	switch {
	case n == 0 || n == 1 || n == 2:
		t.title = true
	case n == 4 || n == 5 || n >= 10 && n <= 19:
		t.set(&t.colours, []int{n}, true)
	case n == 8:
		_, target, _ := strings.Cut(data, ";")
		t.link = target != ""
	case n == 9 && strings.HasPrefix(data, "4;"):
		t.progress = data != "4;0" && !strings.HasPrefix(data, "4;0;")
	case n == 7501 && data != "?":
		t.status = !strings.Contains(data, "state=clear")
	}
}

// restore returns what resets everything that was changed and forgets it.
func (t *modeTracker) restore() []byte {
	var b strings.Builder
	// CAN ends a sequence that was cut off; otherwise it would eat ours.
	if len(t.sequence) > 0 {
		b.WriteString("\x18")
	}
	if t.private[2026] {
		b.WriteString("\x1b[?2026l")
	}
	if t.alternate() {
		b.WriteString(t.kitty[1].restore())
		fmt.Fprintf(&b, "\x1b[?%dl", t.screen)
	}
	b.WriteString(t.kitty[0].restore())
	for _, resource := range sortedKeys(t.keys, func(changed bool) bool { return changed }) {
		fmt.Fprintf(&b, "\x1b[>%dm", resource)
	}
	for _, number := range sortedKeys(t.private, func(bool) bool { return true }) {
		if value := t.private[number]; number != 2026 && value != onByDefault[number] {
			fmt.Fprintf(&b, "\x1b[?%d%c", number, map[bool]rune{true: 'l', false: 'h'}[value])
		}
	}
	for _, number := range sortedKeys(t.ansi, func(on bool) bool { return on }) {
		fmt.Fprintf(&b, "\x1b[%dl", number)
	}
	for _, number := range sortedKeys(t.colours, func(bool) bool { return true }) {
		fmt.Fprintf(&b, "\x1b]%d\x1b\\", 100+number)
	}
	for _, reset := range []struct {
		changed  bool
		sequence string
	}{
		{t.link, "\x1b]8;;\x1b\\"},
		{t.progress, "\x1b]9;4;0\x1b\\"},
		{t.status, "\x1b]7501;state=clear\x1b\\"},
		{t.keypad, "\x1b>"},
		{t.cursorStyle, "\x1b[0 q"},
		{t.protected, "\x1b[0\"q"},
		{t.charset, "\x0f\x1b(B"},
		{t.tabs, "\x1b[?5W"},
		{t.region, "\x1b7\x1b[r\x1b8"}, // DECSTBM moves the cursor
		{t.pen, "\x1b[0m"},
	} {
		if reset.changed {
			b.WriteString(reset.sequence)
		}
	}
	b.WriteString(strings.Repeat("\x1b[23;0t", min(t.saved, 16)))
	*t = modeTracker{}
	return []byte(b.String())
}

func (k kittyState) restore() string {
	var b strings.Builder
	if k.depth > 0 {
		fmt.Fprintf(&b, "\x1b[<%du", k.depth)
	}
	if k.set {
		b.WriteString("\x1b[=0u")
	}
	return b.String()
}

func sortedKeys(modes map[int]bool, keep func(bool) bool) []int {
	var numbers []int
	for number, value := range modes {
		if keep(value) {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	return numbers
}

// numbersOf reads "1;2:3;;4"; what is no number is 0, sub-parameters are left
// out.
func numbersOf(parameters string) []int {
	if parameters == "" {
		return nil
	}
	var numbers []int
	for _, field := range strings.Split(parameters, ";") {
		field, _, _ = strings.Cut(field, ":")
		n, err := strconv.Atoi(field)
		if err != nil {
			n = 0
		}
		numbers = append(numbers, n)
	}
	return numbers
}
