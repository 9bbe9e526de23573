package vt

import "strings"

// linePrompt reads a line that ends in its choices, "[y/N]", "(yes/no)" or the
// like, with the cursor behind it. What is typed there is ended by Enter.
func linePrompt(s *promptScreen) (Prompt, bool) {
	if s.cursor < 0 {
		return Prompt{}, false
	}
	l := s.lines[s.cursor]
	row := s.t.cur.y - l.y
	if s.x+row*s.t.cols < textWidth(l.text) || l.isCommand() {
		return Prompt{}, false
	}
	body := strings.TrimRight(l.text, " :?>")
	question, choices, ok := cutChoices(body)
	if !ok {
		return Prompt{}, false
	}
	p := Prompt{Kind: PromptConfirm}
	yes, no := false, false
	for _, c := range choices {
		o, known := readChoice(c)
		if !known {
			continue
		}
		yes = yes || o.Label == "Yes"
		no = no || o.Label == "No"
		p.Options = append(p.Options, o)
	}
	if !yes || !no || len(p.Options) > maxOptions {
		return Prompt{}, false
	}
	from := s.cursor
	for question = strings.TrimFunc(question, isSide); question == "" && from > 0 && from > s.cursor-2; {
		from--
		question = s.lines[from].inner
	}
	p.Question = clip(question, maxPromptText)
	p.ID = promptID(s.lines[max(0, s.cursor-2):s.cursor+1], p.Options)
	return p, true
}

// isCommand says whether a line is what somebody enters at a shell or an agent.
func (l promptLine) isCommand() bool {
	word, _, more := strings.Cut(l.inner, " ")
	return l.takesInput() || more && (word == "%" || strings.HasSuffix(word, "$") || strings.HasSuffix(word, "#"))
}

// cutChoices parts "Go on? [y/n]" and "(Y)es/(N)o [Yes]" into the question and the
// choices.
func cutChoices(s string) (question string, choices []string, ok bool) {
	if s == "" {
		return "", nil, false
	}
	switch s[len(s)-1] {
	case ']':
		open := strings.LastIndexByte(s, '[')
		if open < 0 {
			return "", nil, false
		}
		inside := s[open+1 : len(s)-1]
		if !strings.ContainsAny(inside, "/,|") {
			// The default stands behind the choices.
			return cutMarked(strings.TrimRight(s[:open], " "))
		}
		return s[:open], splitChoices(inside), true
	case ')':
		// "(yes/no/[fingerprint])"
		open := strings.LastIndexByte(s, '(')
		if open < 0 {
			return "", nil, false
		}
		inside := s[open+1 : len(s)-1]
		return s[:open], splitChoices(inside), true
	}
	return cutMarked(s)
}

// cutMarked parts "Allow this? (Y)es/(N)o/(D)on't ask again" before its choices.
func cutMarked(s string) (question string, choices []string, ok bool) {
	at := strings.Index(strings.ToLower(s), "(y)es")
	if at < 0 {
		return "", nil, false
	}
	return s[:at], splitChoices(s[at:]), true
}

func splitChoices(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r == '/' || r == ',' || r == '|' })
}

// choiceNames are the letters that can be keys, and what they stand for. No other
// character of the screen becomes a key.
var choiceNames = map[string]string{"y": "Yes", "n": "No", "a": "All", "q": "Quit", "d": "Don't ask again", "s": "Skip", "e": "Edit", "?": "Help"}

// choiceKeys are the words that can be written out.
var choiceKeys = map[string]PromptOption{"yes": {"y e s enter", "Yes"}, "no": {"n o enter", "No"}}

// readChoice reads one of the choices: "Y", "yes", "(D)on't ask again". What is
// known by neither table is left out, as ssh's fingerprint.
func readChoice(s string) (PromptOption, bool) {
	s = strings.TrimSpace(s)
	label := ""
	if len(s) > 3 && s[0] == '(' && s[2] == ')' {
		label = clip(s[1:2]+s[3:], maxPromptText)
		s = s[1:2]
	}
	word := strings.ToLower(s)
	if o, ok := choiceKeys[word]; ok {
		return o, true
	}
	name, ok := choiceNames[word]
	if label == "" {
		label = name
	}
	return PromptOption{word + " enter", label}, ok
}
