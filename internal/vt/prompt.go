package vt

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Prompt is a question that waits on the screen: a dialog of a coding agent, a
// menu, or a line that ends in [y/N]. It is read off the screen, so it is a hint
// and never proof.
type Prompt struct {
	// ID is the same while the same dialog is on the screen, whatever option
	// is highlighted and however it is wrapped. It covers the text above the
	// question too, so two dialogs that ask the same about different things
	// differ. Empty means that there is no prompt.
	ID string `json:"id"`
	// Kind says what is asked.
	Kind PromptKind `json:"kind,omitempty"`
	// Question is the line that asks, up to 500 bytes.
	Question string `json:"question"`
	// Options are the choices in order, at most 9.
	Options []PromptOption `json:"options"`
}

// PromptKind says what a prompt asks for.
type PromptKind string

// The kinds of prompts.
const (
	// PromptPermission is an agent that wants to do something; see dialogs.
	PromptPermission PromptKind = "permission"
	// PromptChoice is any other menu.
	PromptChoice PromptKind = "choice"
	// PromptConfirm is a line that takes yes or no.
	PromptConfirm PromptKind = "confirm"
)

// PromptOption is one choice.
type PromptOption struct {
	// Key has the names of the keys that choose it, as EncodeKey takes them,
	// parted by single spaces: "1", "esc", "y enter". They come from tables,
	// never from the screen.
	Key   string `json:"key"`
	Label string `json:"label"`
}

const (
	maxOptions    = 9
	maxPromptText = 500
	promptRows    = 100 // the lowest rows of the screen are looked at
	promptContext = 30  // lines above the options that belong to the dialog
	promptFooter  = 6   // lines of text that may follow the options
	promptLabel   = 20  // letters of a label that count for the ID
)

// prompt finds the question that waits.
func (t *Terminal) prompt() Prompt {
	s := t.readScreen()
	for _, find := range []func(*promptScreen) (Prompt, bool){menuPrompt, buttonPrompt, pointerPrompt, linePrompt} {
		if p, ok := find(s); ok {
			return p
		}
	}
	return Prompt{}
}

// promptScreen is the screen as lines: rows that continue one another are one.
type promptScreen struct {
	t     *Terminal
	lines []promptLine
	// cursor is the line of the cursor, -1 where it is hidden or not among the
	// lines. x is its column in its row.
	cursor, x int
}

type promptLine struct {
	text  string // without the spaces at its end
	inner string // without the sides of a box, a scroll bar and spaces
	end   int    // the column behind inner
	edge  int    // the column at which the line had to break
	boxed bool   // begins with the side of a box
	y     int    // the first of its rows
}

// readScreen reads the lowest rows of the screen.
func (t *Terminal) readScreen() *promptScreen {
	s := &promptScreen{t: t, cursor: -1, x: t.cur.x}
	from := max(0, t.rows-promptRows)
	for y := from; y < t.rows; y++ {
		row := t.cur.row(y)
		text := string(t.appendPlain(nil, t.visible(row)))
		edge := t.cols
		if n := len(s.lines); row.wrapped && n > 0 {
			above := s.lines[n-1]
			full := t.cols * (y - above.y)
			text = above.text + strings.Repeat(" ", max(0, full-textWidth(above.text))) + text
			s.lines[n-1] = newPromptLine(text, edge+full, above.y)
		} else {
			s.lines = append(s.lines, newPromptLine(text, edge, y))
		}
		if y == t.cur.y && !t.modes.cursorHidden {
			s.cursor = len(s.lines) - 1
		}
	}
	return s
}

func newPromptLine(text string, edge, y int) promptLine {
	l := promptLine{text: strings.TrimRight(text, " "), edge: edge, y: y}
	body := strings.TrimRightFunc(l.text, isSide)
	l.end = textWidth(body)
	for i, r := range l.text[len(body):] {
		if !unicode.IsSpace(r) {
			l.edge = min(edge, l.end+textWidth(l.text[len(body):len(body)+i]))
			break
		}
	}
	l.inner = strings.TrimLeftFunc(body, isSide)
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(body, " "))
	l.boxed = l.inner != "" && isBox(first)
	if l.inner == "" {
		l.boxed = strings.ContainsFunc(l.text, isBox)
	}
	return l
}

func textWidth(s string) int {
	n := 0
	for _, r := range s {
		n += runeWidth(r)
	}
	return n
}

// isBox says whether a character is the vertical line of a box.
func isBox(r rune) bool {
	return r == '│' || r == '┃' || r == '║' || r == '|' || r == '╻' || r == '╹'
}

// isSide says whether a character at the end of a line is no text: a side of a
// box, a scroll bar, a space.
func isSide(r rune) bool { return unicode.IsSpace(r) || isBox(r) || r >= 0x2580 && r <= 0x259f }

// isRule says whether a line is a horizontal line or the edge of a box.
func isRule(s string) bool {
	n := 0
	for _, r := range s {
		switch {
		case r == ' ' || isBox(r):
		case r >= 0x2500 && r <= 0x259f || r == '-' || r == '=' || r == '_':
			n++
		default:
			return false
		}
	}
	return n >= 3
}

// partsDialog says whether a line is the edge of a dialog: a solid rule that is
// not itself inside of a box.
func (l promptLine) partsDialog() bool {
	s := strings.TrimRight(strings.TrimSpace(l.text), " █▐┃")
	if strings.HasPrefix(s, "│") && strings.HasSuffix(s, "│") {
		return false
	}
	return isRule(s) && !strings.ContainsAny(s, "╌┄┈╍┅┉")
}

// Columns at the right that programs keep free when they wrap.
const (
	keptByText   = 4
	keptByLabels = 2 // explanations follow labels, so less is taken for wrapped
)

// continues says whether a line goes on with the one above: the first word of it
// would not have fit there.
func (l promptLine) continues(above promptLine, kept int) bool {
	if l.inner == "" || above.inner == "" || isRule(l.text) || isRule(above.text) || l.boxed != above.boxed {
		return false
	}
	if _, _, _, ok := l.option(); ok {
		return false
	}
	word, _, _ := strings.Cut(l.inner, " ")
	return above.end+1+textWidth(word) > above.edge-kept
}

// joinWrapped puts a line behind the one that it continues. Some programs break
// paths, which have no spaces.
func joinWrapped(above, below string) string {
	if strings.HasSuffix(above, "/") && !strings.HasSuffix(above, " /") {
		return above + below
	}
	return above + " " + below
}

// first is a line's first character, without the selector that some programs put
// behind a symbol, and the rest.
func (l promptLine) first() (r rune, rest string) {
	r, size := utf8.DecodeRuneInString(l.inner)
	return r, strings.TrimLeft(strings.TrimLeft(l.inner[size:], "\ufe0e\ufe0f"), " ")
}

// dialogTop is the first line of the dialog whose options begin at a line: below
// the edge of a box or a rule, what the agent said, or a gap. Without any of
// these it is what there is of a full screen, else the question or a few lines.
func (s *promptScreen) dialogTop(options int) int {
	asks, blanks, y := -1, 0, options-1
	for ; y >= 0 && options-y <= promptContext; y-- {
		l := s.lines[y]
		inBox := s.lines[options].boxed
		switch {
		case l.partsDialog(), inBox && !l.boxed && !isRule(l.text), !inBox && l.saysSomething():
			return y + 1
		case l.inner == "" && l.boxed:
			continue // the dialog's own
		case l.inner == "":
			if blanks++; blanks > 2 {
				return y + blanks
			}
			continue
		case asks < 0 && strings.HasSuffix(l.inner, "?"):
			asks = y
		}
		blanks = 0
	}
	switch {
	case y < 0 && s.t.cur == s.t.alt:
		return 0 // the dialog is as tall as the screen
	case asks >= 0:
		return s.begins(asks, 0)
	}
	return max(0, options-3)
}

// begins is the first of the lines, not above from, that make up one sentence with
// a line.
func (s *promptScreen) begins(line, from int) int {
	for line > from && s.lines[line].continues(s.lines[line-1], keptByText) {
		line--
	}
	return line
}

// question picks what a dialog asks: a sentence that an agent is known to ask
// with, else the lowest that ends in a question mark, else the lowest text. The
// dialog is one of the table or has nothing but a kind.
func (s *promptScreen) question(from, to int) (string, dialog) {
	question, rank, found := "", 0, dialog{kind: PromptChoice}
	for y := to - 1; y >= from; y-- {
		last := y
		if y = s.begins(last, from); s.lines[y].inner == "" || isRule(s.lines[y].text) || s.lines[y].spins() {
			continue
		}
		text := s.lines[y].inner
		for i := y + 1; i <= last; i++ {
			text = joinWrapped(text, s.lines[i].inner)
		}
		known := dialogOf(text)
		switch {
		case known != nil && rank < 3:
			question, rank, found = text, 3, *known
		case strings.HasSuffix(text, "?") && rank < 2:
			question, rank = text, 2
		case rank < 1:
			question, rank = text, 1
		}
	}
	return clip(strings.TrimLeft(question, "▶❯›△⚠?◆✦● \ufe0e\ufe0f"), maxPromptText), found
}

// promptID hashes a dialog's text without spaces, lines and arrows, so that
// wrapping and highlights do not matter. Programs cut long labels where the
// screen is small, so the beginnings of labels count.
func promptID(context []promptLine, options []PromptOption) string {
	var b strings.Builder
	add := func(s string, most int) {
		for _, r := range s {
			if unicode.IsSpace(r) || r >= 0x2190 && r <= 0x21ff || r >= 0x2500 && r <= 0x25ff || r == '❯' || r == '›' {
				continue
			}
			if most--; most < 0 {
				return
			}
			b.WriteRune(r)
		}
	}
	for _, l := range context {
		if !isRule(l.text) && !l.spins() {
			add(l.inner, maxPromptText)
		}
	}
	for _, o := range options {
		b.WriteByte(0)
		add(o.Label, promptLabel)
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:8])
}
