package vt

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A promptCase is one screen of testdata/prompts: what is on it and what it asks.
type promptCase struct {
	file, name string
	cols, rows int
	alternate  bool
	hidden     bool
	x, y       int
	screen     []string
	want       Prompt // without the ID
}

// readPrompts reads testdata/prompts; its README says what the files hold.
func readPrompts(t *testing.T) []promptCase {
	t.Helper()
	files, err := filepath.Glob("testdata/prompts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no screens", err)
	}
	var cases []promptCase
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sections := strings.Split("\n"+strings.TrimSuffix(string(data), "\n"), "\n=== ")
		for _, section := range sections[1:] {
			head, screen, ok := strings.Cut(section, "\n---")
			if !ok {
				t.Fatalf("%s: a section without a screen: %q", file, section)
			}
			c := promptCase{file: filepath.Base(file), screen: strings.Split(strings.TrimPrefix(screen, "\n"), "\n")}
			lines := strings.Split(head, "\n")
			c.parseHead(t, lines[0])
			for _, line := range lines[1:] {
				if key, label, ok := strings.Cut(line, " = "); ok {
					c.want.Options = append(c.want.Options, PromptOption{key, label})
				} else if kind, ok := strings.CutPrefix(line, "kind "); ok {
					c.want.Kind = PromptKind(kind)
				} else if question, ok := strings.CutPrefix(line, "question "); ok {
					c.want.Question = question
				} else {
					t.Fatalf("%s: %q", file, line)
				}
			}
			cases = append(cases, c)
		}
	}
	return cases
}

// parseHead reads "NAME COLSxROWS [alternate] cursor X,Y" or "… cursor hidden".
func (c *promptCase) parseHead(t *testing.T, head string) {
	t.Helper()
	head, cursor, ok := strings.Cut(head, " cursor ")
	if c.hidden = cursor == "hidden"; !ok || !c.hidden {
		if _, err := fmt.Sscanf(cursor, "%d,%d", &c.x, &c.y); err != nil {
			t.Fatalf("%s: %q: %v", c.file, head, err)
		}
	}
	head, c.alternate = strings.CutSuffix(head, " alternate")
	space := strings.LastIndexByte(head, ' ')
	if _, err := fmt.Sscanf(head[space+1:], "%dx%d", &c.cols, &c.rows); err != nil {
		t.Fatalf("%s: %q: %v", c.file, head, err)
	}
	c.name = head[:space]
}

// draw shows the screen, with an SGR sequence before each row.
func (c *promptCase) draw(sgr string) *Terminal {
	term := New(Options{Cols: c.cols, Rows: c.rows})
	var b strings.Builder
	if c.alternate {
		b.WriteString("\x1b[?1049h")
	}
	for y, row := range c.screen {
		row = strings.ReplaceAll(row, "␛", "\x1b")
		if rest, ok := strings.CutPrefix(row, "⤷"); ok {
			// The row above ran into this one: its end is filled.
			fmt.Fprintf(&b, "\x1b[%d;%dH\x1b[m%s%s", y, c.cols, c.lastCell(y-1), rest)
			continue
		}
		fmt.Fprintf(&b, "\x1b[%d;1H%s%s\x1b[m", y+1, sgr, row)
	}
	fmt.Fprintf(&b, "\x1b[%d;%dH", c.y+1, c.x+1)
	if c.hidden {
		b.WriteString("\x1b[?25l")
	}
	term.Write([]byte(b.String()))
	return term
}

// lastCell is what stands in the last column of a row.
func (c *promptCase) lastCell(y int) string {
	row := []rune(strings.TrimPrefix(c.screen[y], "⤷"))
	if len(row) < c.cols {
		return " "
	}
	return string(row[c.cols-1])
}

// TestPrompts shows every screen of testdata/prompts, plain and coloured.
func TestPrompts(t *testing.T) {
	ids := map[string]string{}   // of a dialog
	names := map[string]string{} // of an ID
	for _, c := range readPrompts(t) {
		t.Run(fmt.Sprintf("%s/%s/%dx%d", c.file, c.name, c.cols, c.rows), func(t *testing.T) {
			got := c.draw("").Observe().Prompt
			id := got.ID
			got.ID = ""
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Fatalf("got  %+v\nwant %+v", got, c.want)
			}
			if (id == "") != (c.want.Question == "") {
				t.Fatalf("id %q of %+v", id, got)
			}
			coloured := c.draw("\x1b[1;3;38;5;12;48;5;236m").Observe().Prompt
			if coloured.ID != id || coloured.Question != got.Question || len(coloured.Options) != len(got.Options) {
				t.Errorf("in colour %+v", coloured)
			}
			if id == "" || c.file == "programs.txt" {
				return
			}
			// The same dialog in another size and with another highlight.
			dialog, _, _ := strings.Cut(c.name, ",")
			dialog = c.file + " " + dialog
			if before := ids[dialog]; before != "" && before != id {
				t.Errorf("the id changed from %s to %s", before, id)
			}
			if other := names[id]; other != "" && other != dialog {
				t.Errorf("the id is that of %s", other)
			}
			ids[dialog], names[id] = id, dialog
			for _, o := range got.Options {
				for _, key := range strings.Split(o.Key, " ") {
					if _, err := EncodeKey(key, Modes{}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
}

// TestPrompts_agents checks that each dialog that is known was seen.
func TestPrompts_agents(t *testing.T) {
	files := map[string]bool{}
	for _, c := range readPrompts(t) {
		files[c.file] = true
	}
	for _, d := range dialogs {
		file := strings.ReplaceAll(strings.ToLower(d.agent), " ", "-") + "-" + d.version + ".txt"
		if !files[file] {
			t.Errorf("%s: no screens of it in %s", d.agent, file)
		}
	}
}

// TestPrompt_id: the highlight does not change the id, the dialog's text does.
func TestPrompt_id(t *testing.T) {
	id := func(s string) string {
		term := New(Options{Cols: 60, Rows: 24})
		term.Write([]byte(s))
		p := term.Observe().Prompt
		if p.ID == "" {
			t.Fatalf("no prompt in %q", s)
		}
		return p.ID
	}
	rule := strings.Repeat("─", 60) + "\r\n"
	a := id(rule + "rm a\r\nProceed?\r\n❯ 1. Yes\r\n  2. No\r\n")
	if b := id(rule + "rm a\r\nProceed?\r\n  1. Yes\r\n❯ 2. No\r\n"); a != b {
		t.Error("the highlight changes the id")
	}
	if b := id(rule + "rm b\r\nProceed?\r\n❯ 1. Yes\r\n  2. No\r\n"); a == b {
		t.Error("another command has the same id")
	}
	if b := id(rule + "rm a\r\nProceed?\r\n❯ 1. Yes\r\n  2. Never\r\n"); a == b {
		t.Error("other options have the same id")
	}
}

// TestPrompt_bounds: what a hostile program draws is bounded and breaks nothing,
// and no character of it becomes a key that is in no table.
func TestPrompt_bounds(t *testing.T) {
	known := map[string]bool{"enter": true, "esc": true, "left": true, "right": true, "up": true, "down": true, "o": true}
	for n := '1'; n <= '9'; n++ {
		known[string(n)] = true
	}
	for letter := range choiceNames {
		known[letter] = true
	}
	check := func(p Prompt) {
		t.Helper()
		if len(p.Question) > maxPromptText || len(p.Options) > maxOptions {
			t.Errorf("question of %d bytes, %d options", len(p.Question), len(p.Options))
		}
		for _, o := range p.Options {
			if len(o.Label) > maxPromptText {
				t.Errorf("label of %d bytes", len(o.Label))
			}
			for _, key := range strings.Split(o.Key, " ") {
				if !known[key] {
					t.Errorf("option %+v", o)
				}
			}
		}
	}
	long := strings.Repeat("é", 3000)
	for _, s := range []string{
		long + "?\r\n❯ 1. " + long + "\r\n  2. " + long + "\r\n",
		strings.Repeat("│❯›>●1.", 4000),
		strings.Repeat("❯ 1. a\r\n", 100),
		strings.Repeat("\r\n", 50) + "? [" + strings.Repeat("y/n/", 5000) + "]",
		"\x1b[20;1H❯ 2. b\x1b[19;1H  1. a",
		"Go on? [y/n/\x1b[31m!/;/~/A/é/ctrl+c/up]",
		"Go on? (Y)es/(N)o/(!)bang/(X)x",
		"Allow once",
		"? (Y)es/",
		"❯",
		"\x1b[?25l↑ navigate · enter to select\r\n❯ ",
		strings.Repeat("⠋", 5000),
	} {
		for _, size := range [][2]int{{80, 24}, {1, 1}, {2, 40}, {40, 20}, {300, 200}} {
			term := New(Options{Cols: size[0], Rows: size[1]})
			term.Write([]byte(s))
			check(term.Observe().Prompt)
		}
	}
	for seed := range uint64(300) {
		term := New(Options{Cols: 30, Rows: 10})
		term.Write(newGenerator(seed, false).stream(60))
		check(term.Observe().Prompt)
	}
}
