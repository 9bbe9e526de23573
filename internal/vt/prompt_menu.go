package vt

import (
	"strings"
	"unicode/utf8"
)

// option reads a line of a numbered menu: "❯ 2. Label" or "2) Label".
func (l promptLine) option() (number int, label string, marked, ok bool) {
	s := l.inner
	if r, rest := l.first(); r != utf8.RuneError && strings.ContainsRune(pointers+"○◯", r) {
		marked = strings.ContainsRune(pointers, r)
		s = rest
	}
	if len(s) < 3 || s[0] < '1' || s[0] > '9' || s[1] != '.' && s[1] != ')' || s[2] != ' ' {
		return 0, "", false, false
	}
	label = strings.TrimSpace(s[3:])
	return int(s[0] - '0'), label, marked, label != ""
}

// A menu is a numbered list on the screen.
type menu struct {
	options     []PromptOption
	marks       int // how many options are highlighted
	first, last int // the lines of its options, with what continues the last
}

// menuPrompt finds the lowest numbered menu, if it waits.
func menuPrompt(s *promptScreen) (Prompt, bool) {
	below := 0
	for y := len(s.lines) - 1; y >= 0; y-- {
		l := s.lines[y]
		number, _, _, ok := l.option()
		if !ok {
			// What explains or continues the last option counts too.
			if l.inner != "" && !isRule(l.text) {
				below++
			}
			if below > promptFooter {
				return Prompt{}, false
			}
			continue
		}
		m, ok := s.menuAt(y, number)
		if !ok {
			return Prompt{}, false
		}
		typed, ok := s.waits(m)
		if !ok {
			return Prompt{}, false
		}
		top := s.dialogTop(m.first)
		question, dialog := s.question(top, m.first)
		if question == "" {
			return Prompt{}, false // what a person is writing, or a bare list
		}
		p := Prompt{Kind: dialog.kind, Question: question, Options: m.options}
		p.ID = promptID(s.lines[top:m.first], m.options)
		if typed {
			for i := range p.Options {
				p.Options[i].Key += " enter"
			}
		}
		return p, true
	}
	return Prompt{}, false
}

// menuAt reads the menu whose last option, with this number, stands at a line.
// Between options there may be a rule, one blank line, and what explains them.
func (s *promptScreen) menuAt(last, number int) (menu, bool) {
	const explains = 4 // lines below an option
	m := menu{options: make([]PromptOption, number), first: last, last: last}
	if number < 2 {
		return m, false
	}
	for m.last+1 < len(s.lines) && s.lines[m.last+1].continues(s.lines[m.last], keptByLabels) {
		m.last++
	}
	want, blanks, lines := number, 0, 0
	for y := last; y >= 0 && want > 0; y-- {
		l := s.lines[y]
		n, label, marked, ok := l.option()
		switch {
		case ok && n == want:
			for i := y + 1; i < len(s.lines) && i <= y+explains && s.lines[i].continues(s.lines[i-1], keptByLabels); i++ {
				label = joinWrapped(label, s.lines[i].inner)
			}
			m.options[n-1] = PromptOption{Key: string(rune('0' + n)), Label: clip(label, maxPromptText)}
			if marked {
				m.marks++
			}
			m.first = y
			want--
			blanks, lines = 0, 0
		case ok:
			return m, false
		case l.inner == "" && !isRule(l.text):
			if blanks++; blanks > 1 {
				return m, false
			}
		case isRule(l.text):
		default:
			if lines++; lines > explains || l.saysSomething() {
				return m, false
			}
		}
	}
	return m, want == 0 && m.marks <= 1
}

// waits says whether a menu is waiting for an answer, and whether the answer is
// typed and ended by Enter. A menu that was answered stays on the screen of
// simple programs, and text is full of numbered lists; so there has to be a
// highlighted option, a line that says which keys work, or one that asks for a
// number.
func (s *promptScreen) waits(m menu) (typed, ok bool) {
	hints, others, points := 0, 0, false
	for y := m.last + 1; y < len(s.lines); y++ {
		l := s.lines[y]
		switch {
		case l.inner == "" || isRule(l.text):
			continue
		case l.points():
			points = true
			hints++
		case l.hints() || y > 0 && hints > 0 && l.continues(s.lines[y-1], keptByText):
			hints++
		case m.marks == 0 && y == s.cursor && y-m.last <= 3 && l.asksForNumber() && !s.ruleBetween(m.last, y):
			return true, others == 0
		case l.takesInput():
			return false, false
		default:
			others++
		}
	}
	switch {
	case s.cursor > m.last && others > 0:
		return false, false // the program went on below
	case m.marks == 1:
		return false, true
	}
	return false, points
}

// ruleBetween says whether a rule stands between two lines, as around the box in
// which a person writes.
func (s *promptScreen) ruleBetween(from, to int) bool {
	for y := from + 1; y <= to; y++ {
		if isRule(s.lines[y].text) {
			return true
		}
	}
	return false
}

// pointerPrompt finds a menu without numbers, in which arrows move a pointer. How
// many lines the others are away cannot be read off, as explanations may stand
// between; so only the highlighted one can be taken, or none. Where the dialog is
// known to have a line for each, the keys are counted from there.
func pointerPrompt(s *promptScreen) (Prompt, bool) {
	at, hints, points, below := -1, "", false, 0
	take := func(l promptLine) {
		hints += strings.ToLower(l.inner) + " "
		points = points || l.points()
	}
	for y := len(s.lines) - 1; y >= 0 && at < 0 && below <= promptContext; y-- {
		l := s.lines[y]
		r, rest := l.first()
		switch {
		case l.inner == "":
			continue
		case l.hints():
			take(l)
		case strings.ContainsRune("❯▸▶➜", r) && rest != "" && !strings.HasSuffix(rest, "?"):
			at = y
		case l.takesInput():
			return Prompt{}, false
		}
		below++
	}
	if at < 0 || s.cursor > at {
		return Prompt{}, false
	}
	top := s.dialogTop(at)
	for _, l := range s.lines[top:at] {
		if l.hints() {
			take(l)
		}
	}
	question, dialog := s.question(top, at)
	if hints == "" || dialog.asks == "" && (!points || !strings.HasSuffix(question, "?")) {
		return Prompt{}, false
	}
	p := Prompt{Kind: dialog.kind, Question: question, Options: s.pointed(at, dialog.lines)}
	if strings.Contains(hints, "esc") && len(p.Options) < maxOptions {
		p.Options = append(p.Options, PromptOption{"esc", "Esc"})
	}
	p.ID = promptID(s.lines[top:at], nil)
	return p, true
}

// pointed is the option that a line points at and, with all, those in the lines
// above and below it.
func (s *promptScreen) pointed(at int, all bool) []PromptOption {
	isOption := func(y int) bool {
		l := s.lines[y]
		return all && l.inner != "" && !isRule(l.text) && !l.hints() && y-at < maxOptions/2 && at-y < maxOptions/2
	}
	first, last := at, at
	for first > 0 && isOption(first-1) {
		first--
	}
	for last+1 < len(s.lines) && isOption(last+1) {
		last++
	}
	var options []PromptOption
	for y := first; y <= last; y++ {
		label := s.lines[y].inner
		if y == at {
			_, label = s.lines[y].first()
		}
		keys := strings.Repeat("up ", max(0, at-y)) + strings.Repeat("down ", max(0, y-at)) + "enter"
		options = append(options, PromptOption{keys, clip(label, maxPromptText)})
	}
	return options
}

// buttonPrompt finds a row of buttons. The highlighted one differs in its
// background, and the keys are counted from there; where it cannot be told, only
// the key that refuses is offered.
func buttonPrompt(s *promptScreen) (Prompt, bool) {
	for y := len(s.lines) - 1; y >= 0; y-- {
		for _, buttons := range buttonRows {
			columns, ok := s.lines[y].find(buttons.labels)
			if !ok {
				continue
			}
			top := s.dialogTop(y)
			question, dialog := s.question(top, y)
			if question == "" {
				return Prompt{}, false
			}
			p := Prompt{Kind: dialog.kind, Question: question}
			lit := s.highlighted(s.lines[y].y, columns)
			for i, label := range buttons.labels {
				switch refuses := i == len(buttons.labels)-1; {
				case refuses:
					p.Options = append(p.Options, PromptOption{"esc", label})
				case lit >= 0:
					keys := strings.Repeat("right ", max(0, i-lit)) + strings.Repeat("left ", max(0, lit-i)) + "enter"
					p.Options = append(p.Options, PromptOption{keys, label})
				}
			}
			p.ID = promptID(s.lines[top:y], nil)
			return p, true
		}
	}
	return Prompt{}, false
}

// find returns the columns of labels that stand in a line, in this order and at
// its beginning.
func (l promptLine) find(labels []string) (columns []int, ok bool) {
	if !strings.HasPrefix(l.inner, labels[0]) {
		return nil, false
	}
	rest, column := l.text, 0
	for _, label := range labels {
		before, after, ok := strings.Cut(rest, label)
		if !ok {
			return nil, false
		}
		column += textWidth(before)
		columns = append(columns, column)
		column += textWidth(label)
		rest = after
	}
	return columns, true
}

// highlighted is the one among some columns of a row whose background is alone,
// or -1.
func (s *promptScreen) highlighted(y int, columns []int) int {
	count := map[uint32]int{}
	colors := make([]uint32, len(columns))
	for i, x := range columns {
		if x >= s.t.cols {
			return -1
		}
		style := s.t.styles.list[s.t.cur.row(y).at(x).style()]
		colors[i] = style.bg & (colorMode | colorValue)
		if style.fg&fgInverse != 0 {
			colors[i] = ^colors[i]
		}
		count[colors[i]]++
	}
	found := -1
	for i, c := range colors {
		if count[c] == 1 {
			if found >= 0 {
				return -1
			}
			found = i
		}
	}
	return found
}
