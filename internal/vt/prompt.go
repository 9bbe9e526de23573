package vt

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Prompt is a question that waits on the screen: a numbered menu as coding
// agents draw it, or a line that ends in [y/N]. It is read off the screen, so
// it is a hint and never proof.
type Prompt struct {
	// ID is the same while the same dialog is on the screen, whatever option
	// is highlighted and however it is wrapped. It covers the text above the
	// question too, so two dialogs that ask the same about different things
	// differ. Empty means that there is no prompt.
	ID string `json:"id"`
	// Question is the line that asks, up to 500 bytes.
	Question string `json:"question"`
	// Options are the choices in order, at most 9.
	Options []PromptOption `json:"options"`
}

// PromptOption is one choice. Key is what the program expects: a digit, or "y".
type PromptOption struct {
	Key   string `json:"key"`
	Label string `json:"label"`
}

const (
	maxOptions       = 9
	maxPromptText    = 500
	promptContext    = 30 // rows above the options that belong to the dialog
	promptFooter     = 6  // text rows that may follow the options
	promptCursorRows = 3  // rows between an unmarked menu and the cursor
)

func (t *Terminal) prompt() Prompt {
	rows := &screenRows{t: t, text: make([]string, t.rows), read: make([]bool, t.rows)}
	if p := menuPrompt(rows, t.cur.y, !t.modes.cursorHidden); p.ID != "" {
		return p
	}
	return yesNoPrompt(rows, t.cur.y, t.cur.x)
}

// screenRows are the texts of the screen's rows, made when they are asked for:
// mostly the lowest few are enough.
type screenRows struct {
	t    *Terminal
	text []string
	read []bool
}

func (r *screenRows) at(y int) string {
	if !r.read[y] {
		r.text[y] = string(r.t.appendPlain(nil, r.t.visible(r.t.cur.row(y))))
		r.read[y] = true
	}
	return r.text[y]
}

// between are the rows from … to-1.
func (r *screenRows) between(from, to int) []string {
	for y := from; y < to; y++ {
		r.at(y)
	}
	return r.text[from:to]
}

// unbox removes the vertical lines of a box, a scroll bar and the spaces around
// the text.
func unbox(s string) string {
	return strings.TrimFunc(s, func(r rune) bool {
		return unicode.IsSpace(r) || r == '│' || r == '┃' || r == '║' || r == '|' || r >= 0x2580 && r <= 0x259f
	})
}

// isRule says whether a row is a horizontal line or the edge of a box.
func isRule(s string) bool {
	n := 0
	for _, r := range s {
		switch {
		case r == ' ' || r == '│' || r == '┃':
		case r >= 0x2500 && r <= 0x259f || r == '-' || r == '=' || r == '_':
			n++
		default:
			return false
		}
	}
	return n >= 3
}

// isSolidRule tells rules that part a dialog from what is above it from dashed
// ones, which stand inside.
func isSolidRule(s string) bool {
	return isRule(s) && !strings.ContainsAny(s, "╌┄┈╍┅┉")
}

// menuLine reads "❯ 2. Label" or "2) Label".
func menuLine(row string) (number int, label string, marked, ok bool) {
	s := unbox(row)
	r, size := utf8.DecodeRuneInString(s)
	if strings.ContainsRune("❯›>●▶→*➜▸◉", r) && size > 0 {
		marked = true
		s = strings.TrimLeft(s[size:], " ")
	} else if strings.ContainsRune("○◯", r) && size > 0 {
		s = strings.TrimLeft(s[size:], " ")
	}
	if len(s) < 3 || s[0] < '1' || s[0] > '9' || s[1] != '.' && s[1] != ')' || s[2] != ' ' {
		return 0, "", false, false
	}
	label = strings.TrimSpace(s[3:])
	return int(s[0] - '0'), label, marked, label != ""
}

// menuPrompt finds the lowest numbered menu.
func menuPrompt(rows *screenRows, cursorY int, cursorVisible bool) Prompt {
	footer := 0
	for last := len(rows.text) - 1; last >= 0; last-- {
		row := rows.at(last)
		number, _, _, ok := menuLine(row)
		if !ok {
			if unbox(row) != "" && !isRule(row) {
				footer++
			}
			// Rows that continue the last option count as footer too.
			if footer > promptFooter {
				return Prompt{}
			}
			continue
		}
		if number < 2 {
			return Prompt{}
		}
		if p, ok := menuAt(rows, last, number, cursorY, cursorVisible); ok {
			return p
		}
		return Prompt{}
	}
	return Prompt{}
}

// menuAt reads the menu whose last option, with this number, stands in row
// last.
func menuAt(rows *screenRows, last, number, cursorY int, cursorVisible bool) (Prompt, bool) {
	options := make([]PromptOption, number)
	marks := 0
	want := number
	first := last
	var folded []string // continuation rows below the option being looked for
	for y := last + 1; y < len(rows.text) && continues(rows.at(y)); y++ {
		folded = append(folded, unbox(rows.at(y)))
	}
	blanks := 0
	for y := last; y >= 0 && want > 0; y-- {
		n, label, marked, ok := menuLine(rows.at(y))
		switch {
		case ok && n == want:
			for _, f := range folded {
				label += " " + f
			}
			folded = nil
			options[n-1] = PromptOption{Key: string(rune('0' + n)), Label: clip(label, maxPromptText)}
			if marked {
				marks++
			}
			want--
			first = y
			blanks = 0
		case ok:
			return Prompt{}, false
		case unbox(rows.at(y)) == "":
			if blanks++; blanks > 1 {
				return Prompt{}, false
			}
		case continues(rows.at(y)) && len(folded) < 4:
			folded = append([]string{unbox(rows.at(y))}, folded...)
		default:
			return Prompt{}, false
		}
	}
	if want != 0 || marks > 1 {
		return Prompt{}, false
	}
	if near := cursorVisible && cursorY >= first && cursorY <= last+promptCursorRows; marks == 0 && !near {
		return Prompt{}, false
	}
	top := dialogTop(rows, first)
	p := Prompt{Question: question(rows.between(top, first)), Options: options}
	p.ID = promptID(rows.between(top, first), options)
	return p, true
}

// dialogTop is the first row of the dialog whose options begin in row first: the
// one below a rule or the edge of a box, else the question.
func dialogTop(rows *screenRows, first int) int {
	asks, blanks := -1, 0
	for y := first - 1; y >= 0 && first-y <= promptContext; y-- {
		s := unbox(rows.at(y))
		switch {
		case isSolidRule(unboxSides(rows.at(y))):
			return y + 1
		case s == "":
			if blanks++; blanks > 2 {
				return max(asks, y+blanks)
			}
			continue
		case asks < 0 && strings.HasSuffix(s, "?"):
			asks = y
		}
		blanks = 0
	}
	if asks >= 0 {
		return asks
	}
	return max(0, first-3)
}

// unboxSides keeps a rule inside a box from looking like the dialog's edge.
func unboxSides(row string) string {
	s := strings.TrimRight(strings.TrimSpace(row), " █▐")
	if s == "" {
		return row
	}
	if strings.HasPrefix(s, "│") && strings.HasSuffix(s, "│") {
		return "│"
	}
	return s
}

// continues says whether a row goes on with an option's label: indented, and
// not a menu line, a rule or a hint of its own.
func continues(row string) bool {
	inner := strings.TrimPrefix(strings.TrimLeft(row, " "), "│")
	if isRule(row) || unbox(row) == "" {
		return false
	}
	indent := len(row) - len(strings.TrimLeft(row, " "))
	if strings.HasPrefix(strings.TrimLeft(row, " "), "│") {
		indent = len(inner) - len(strings.TrimLeft(inner, " "))
	}
	if _, _, _, ok := menuLine(row); ok {
		return false
	}
	return indent >= 4
}

// question picks the row that asks: the lowest that ends in a question mark,
// else the lowest with text.
func question(rows []string) string {
	fallback := ""
	for i := len(rows) - 1; i >= 0; i-- {
		s := unbox(rows[i])
		if s == "" || isRule(rows[i]) {
			continue
		}
		if strings.HasSuffix(s, "?") {
			return clip(s, maxPromptText)
		}
		if fallback == "" {
			fallback = s
		}
	}
	return clip(fallback, maxPromptText)
}

// promptID hashes the dialog's text without spaces and lines, so that wrapping
// does not matter.
func promptID(context []string, options []PromptOption) string {
	var b strings.Builder
	add := func(s string) {
		for _, r := range s {
			if !unicode.IsSpace(r) && (r < 0x2500 || r > 0x259f) {
				b.WriteRune(r)
			}
		}
	}
	for _, row := range context {
		add(row)
	}
	for _, o := range options {
		b.WriteByte(0)
		b.WriteString(o.Key)
		b.WriteByte(0)
		add(o.Label)
	}
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:8])
}

// yesNoPrompt reads a line that ends in [y/N], (yes/no) or the like, with the
// cursor behind it.
func yesNoPrompt(rows *screenRows, cursorY, cursorX int) Prompt {
	if cursorY < 0 || cursorY >= len(rows.text) {
		return Prompt{}
	}
	y := cursorY
	row := strings.TrimRight(rows.at(y), " ")
	if row == "" && y > 0 {
		return Prompt{}
	}
	s := strings.TrimRight(row, " :?")
	if len(s) == 0 || s[len(s)-1] != ']' && s[len(s)-1] != ')' {
		return Prompt{}
	}
	if cursorX < utf8.RuneCountInString(row) {
		return Prompt{}
	}
	open := strings.LastIndexAny(s, "[(")
	if s[len(s)-1] == ')' {
		// "(yes/no/[fingerprint])"
		if i := strings.LastIndexByte(s, '('); i >= 0 {
			open = i
		}
	}
	if open < 0 {
		return Prompt{}
	}
	choices := strings.Split(s[open+1:len(s)-1], "/")
	if len(choices) < 2 || len(choices) > maxOptions {
		return Prompt{}
	}
	yes, no := strings.ToLower(choices[0]), strings.ToLower(choices[1])
	if (yes != "y" || no != "n") && (yes != "yes" || no != "no") {
		return Prompt{}
	}
	question := unbox(s[:open])
	for above := y - 1; question == "" && above >= 0 && above >= y-2; above-- {
		question = unbox(rows.at(above))
	}
	p := Prompt{
		Question: clip(question, maxPromptText),
		Options:  []PromptOption{{yes, "Yes"}, {no, "No"}},
	}
	p.ID = promptID(append(slices.Clone(rows.between(max(0, y-2), y)), s), p.Options)
	return p
}
