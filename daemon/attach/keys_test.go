package attach

import (
	"slices"
	"strings"
	"testing"
)

func TestParseKey(t *testing.T) {
	for text, want := range map[string]Key{
		"ctrl+]": {']', 0x1d}, "^]": {']', 0x1d}, "Ctrl-A": {'a', 1}, "ctrl+\\": {'\\', 0x1c},
		"ctrl+space": {' ', 0}, "ctrl+@": {'@', 0}, "none": {}, " ctrl+_ ": {'_', 0x1f},
	} {
		got, err := ParseKey(text)
		if err != nil || got != want {
			t.Errorf("%q: got %v, %v; want %v", text, got, err, want)
		}
		if again, err := ParseKey(got.String()); err != nil || again != got {
			t.Errorf("%q: %q reads as %v, %v", text, got, again, err)
		}
	}
	for _, text := range []string{"", "]", "ctrl+i", "ctrl+m", "ctrl+[", "ctrl+ab", "alt+x", "ctrl+1", "f5"} {
		if key, err := ParseKey(text); err == nil {
			t.Errorf("%q is taken as %v", text, key)
		}
	}
}

// scanned is what a scanner made of input.
type scanned struct {
	passed string
	events []event
}

// scanAll feeds pieces of input, and flushes where a piece is "".
func scanAll(s *scanner, pieces ...string) (got scanned) {
	pass := func(p []byte) { got.passed += string(p) }
	for _, piece := range pieces {
		if piece == "" {
			pass(s.flush())
			continue
		}
		s.feed([]byte(piece), pass, func(e event) bool {
			got.events = append(got.events, e)
			return e != eventDetach
		})
	}
	return got
}

func TestScanner_DetachKey(t *testing.T) {
	detach := []event{eventDetach}
	for name, c := range map[string]struct {
		key, input string
		passed     string
		events     []event
	}{
		"legacy":                 {"ctrl+]", "ab\x1dcd", "ab", detach},
		"kitty":                  {"ctrl+]", "ab\x1b[93;5ucd", "ab", detach},
		"kitty press":            {"ctrl+]", "\x1b[93;5:1u", "", detach},
		"kitty with locks":       {"ctrl+]", "\x1b[93;197u", "", detach},
		"kitty with alternates":  {"ctrl+]", "\x1b[93:125;5u", "", detach},
		"kitty with text":        {"ctrl+]", "\x1b[93;5;93u", "", detach},
		"kitty, Russian layout":  {"ctrl+]", "\x1b[1098::93;5u", "", detach},
		"modifyOtherKeys":        {"ctrl+]", "ab\x1b[27;5;93~cd", "ab", detach},
		"letter, legacy":         {"ctrl+q", "\x11", "", detach},
		"letter, kitty":          {"ctrl+q", "\x1b[113;5u", "", detach},
		"letter, modifyOther":    {"ctrl+q", "\x1b[27;5;113~", "", detach},
		"space":                  {"ctrl+space", "\x1b[32;5u", "", detach},
		"none":                   {"none", "\x1d\x1b[93;5u\x00", "\x1d\x1b[93;5u\x00", nil},
		"other key":              {"ctrl+]", "\x1b[94;5u\x1b[27;5;94~", "\x1b[94;5u\x1b[27;5;94~", nil},
		"without control":        {"ctrl+]", "\x1b[93u\x1b[93;1u", "\x1b[93u\x1b[93;1u", nil},
		"with shift":             {"ctrl+]", "\x1b[93;6u\x1b[27;6;93~", "\x1b[93;6u\x1b[27;6;93~", nil},
		"alt":                    {"ctrl+]", "\x1b\x1d", "\x1b\x1d", nil},
		"a German layout's plus": {"ctrl+]", "\x1b[43::93;5u", "\x1b[43::93;5u", nil},
		"other key, same digits": {"ctrl+]", "\x1b[93;5~", "\x1b[93;5~", nil},
		"in a paste":             {"ctrl+]", "\x1b[200~a\x1d\x1b[93;5ub\x1b[201~c\x1dd", "\x1b[200~a\x1d\x1b[93;5ub\x1b[201~c", detach},
		"paste with false end":   {"ctrl+]", "\x1b[200~\x1b[20\x1b[201~\x1d", "\x1b[200~\x1b[20\x1b[201~", detach},
	} {
		key, err := ParseKey(c.key)
		if err != nil {
			t.Fatal(err)
		}
		want := scanned{c.passed, c.events}
		check := func(pieces ...string) {
			got := scanAll(&scanner{detach: key}, pieces...)
			if got.passed != want.passed || !slices.Equal(got.events, want.events) {
				t.Errorf("%s in %q: got %q %v, want %q %v", name, pieces, got.passed, got.events, want.passed, want.events)
			}
		}
		check(c.input)
		if c.events == nil {
			// Everything that follows a detach key is dropped, so pieces differ.
			for i := 1; i < len(c.input); i++ {
				check(c.input[:i], c.input[i:])
			}
			check(strings.Split(c.input, "")...)
		}
	}
}

// The detach key is recognised wherever a read happens to end.
func TestScanner_SplitDetachKey(t *testing.T) {
	key, err := ParseKey(DefaultDetachKey)
	if err != nil {
		t.Fatal(err)
	}
	for _, input := range []string{"\x1b[93;5u", "\x1b[27;5;93~", "\x1b[93:125:93;5:1u"} {
		for i := 1; i < len(input); i++ {
			got := scanAll(&scanner{detach: key}, input[:i], input[i:])
			if got.passed != "" || !slices.Equal(got.events, []event{eventDetach}) {
				t.Errorf("%q split at %d: got %q %v", input, i, got.passed, got.events)
			}
		}
	}
}

func TestScanner_EscapeKey(t *testing.T) {
	s := &scanner{}
	if got := scanAll(s, "\x1b"); got.passed != "" || !s.waiting() {
		t.Errorf("a lone ESC passed at once: %q", got.passed)
	}
	if got := scanAll(s, ""); got.passed != "\x1b" || s.waiting() {
		t.Errorf("after the wait: %q", got.passed)
	}
	for _, input := range []string{"\x1b\x1b", "\x1bx", "\x1b[A", "\x1bOA", "\x1b[1;5A", "\x1b\x1b[A", "\x1b[<0;10;20M", "ж", "\x1b]", "\x1bP", "\x1b["} {
		if got := scanAll(&scanner{}, input, ""); got.passed != input || got.events != nil {
			t.Errorf("%q: got %q %v", input, got.passed, got.events)
		}
	}
}

func TestScanner_Focus(t *testing.T) {
	got := scanAll(&scanner{}, "a\x1b[Ib\x1b[Oc")
	if got.passed != "abc" || !slices.Equal(got.events, []event{eventFocusIn, eventFocusOut}) {
		t.Errorf("got %q %v", got.passed, got.events)
	}
}

func TestScanner_TakeKey(t *testing.T) {
	s := &scanner{take: takeKey}
	if got := scanAll(s, "\x14"); got.passed != "\x14" {
		t.Errorf("taken while not armed: %q %v", got.passed, got.events)
	}
	s.takeArmed = true
	if got := scanAll(s, "\x14\x1b[116;5u"); got.passed != "" || len(got.events) != 2 {
		t.Errorf("armed: %q %v", got.passed, got.events)
	}
}

// Answers of the real terminal are no input.
func TestScanner_Answers(t *testing.T) {
	for _, answer := range []string{
		"\x1b[?62;22c", "\x1b[>41;354;0c", "\x1b[24;80R", "\x1b[?2026;2$y", "\x1b]11;rgb:1e1e/1e1e/1e1e\x1b\\",
		"\x1b]11;rgb:0000/0000/0000\x07", "\x1bP>|WezTerm 2025\x1b\\", "\x1b[?0u", "\x1b[0n",
	} {
		for i := 1; i <= len(answer); i++ {
			got := scanAll(&scanner{}, "a"+answer[:i], answer[i:]+"b")
			if got.passed != "ab" {
				t.Errorf("%q split at %d: passed %q", answer, i, got.passed)
				break
			}
		}
	}
}

func FuzzScanner(f *testing.F) {
	f.Add([]byte("a\x1b[93;5u\x1b[200~\x1b[201~\x1b]11;x\x07"), 3)
	f.Fuzz(func(t *testing.T, input []byte, split int) {
		if len(input) == 0 {
			return
		}
		whole, parts := &scanner{}, &scanner{}
		split = min(max(split, 0), len(input))
		a := scanAll(whole, string(input), "")
		var b scanned
		if split == 0 || split == len(input) {
			b = scanAll(parts, string(input), "")
		} else {
			b = scanAll(parts, string(input[:split]), string(input[split:]), "")
		}
		if a.passed != b.passed || !slices.Equal(a.events, b.events) {
			t.Errorf("%q split at %d: %q %v, whole %q %v", input, split, b.passed, b.events, a.passed, a.events)
		}
		if len(a.passed) > len(input) {
			t.Errorf("%q grew to %q", input, a.passed)
		}
	})
}
