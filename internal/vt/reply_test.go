package vt

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestQueries_claims checks that each answer says what it claims, that nothing
// else claims anything, and that the files named as those who do it exist.
func TestQueries_claims(t *testing.T) {
	files := regexp.MustCompile(`[a-z_]+\.go`)
	for _, q := range readQueries(t) {
		if (q.Answer == "") != (q.Claims == "") {
			t.Errorf("%s: answer %q claims %q", q.Name, q.Answer, q.Claims)
		}
		for _, file := range files.FindAllString(q.Claims, -1) {
			if _, err := os.Stat(file); err != nil {
				t.Errorf("%s: %v", q.Name, err)
			}
		}
	}
}

// answerPattern matches all that may be said: the answers of the table, with
// other numbers in them, and nothing else.
func answerPattern(tb testing.TB) *regexp.Regexp {
	tb.Helper()
	numbers := regexp.MustCompile(`[0-9]+`)
	colour := regexp.MustCompile(`rgb:[0-9a-f]{4}/[0-9a-f]{4}/[0-9a-f]{4}`)
	seen := map[string]bool{}
	var forms []string
	add := func(answer string) {
		form := colour.ReplaceAllString(answer, "\x00")
		form = numbers.ReplaceAllString(form, "\x01")
		form = regexp.QuoteMeta(form)
		form = strings.ReplaceAll(form, "\x00", `rgb:[0-9a-f]{4}/[0-9a-f]{4}/[0-9a-f]{4}`)
		form = strings.ReplaceAll(form, "\x01", `[0-9]{1,10}`)
		if !seen[form] {
			seen[form] = true
			forms = append(forms, form)
		}
	}
	for _, q := range readQueries(tb) {
		if q.Answer != "" {
			add(q.Answer)
			// An OSC string is answered with the end it had itself.
			add(strings.ReplaceAll(q.Answer, "\a", "\x1b\\"))
			add(strings.ReplaceAll(q.Answer, "\x1b\\", "\a"))
		}
	}
	// The pen is a list of numbers, with colons in an underline.
	forms = append(forms, `\x1bP1\$r[0-9;:]{1,120}m\x1b\\`)
	return regexp.MustCompile(`^(?:` + strings.Join(forms, "|") + `)*$`)
}

// TestReplies_constants lets hostile streams put their words wherever a program
// can put one, and asks for everything: no word comes back.
func TestReplies_constants(t *testing.T) {
	pattern := answerPattern(t)
	check := func(stream []byte) int {
		t.Helper()
		term := New(Options{Cols: 80, Rows: 24, Archive: -1})
		term.Write(stream)
		replies := term.TakeReplies()
		if !pattern.Match(replies) {
			t.Errorf("%q is answered by %q", stream, replies)
		}
		return len(replies)
	}
	const word = "rm -rf ~\r"
	places := []string{
		"\x1b]0;%s\a", "\x1b]2;%s\a", "\x1b]1;%s\a", "\x1b]7;%s\a", "\x1b]8;id=%[1]s;http://%[1]s\a", "\x1b]9;%s\a", "\x1b]777;notify;%[1]s;%[1]s\a",
		"\x1b]52;c;cm0gLXJmIH4N\a", "\x1b]133;%s\a", "\x1b]4;1;%s\a", "\x1b]4;%s;?\a", "\x1b]10;%s\a", "\x1b]10;%s;?\a", "\x1b]7501;app=%s\a",
		"\x1b]7501;?%s\a", "\x1bP$q%s\x1b\\", "\x1bP+q%s\x1b\\", "\x1b_%s\x1b\\", "%s", "\x1b[22t%s", "\x1b]%s;?\a", "\x1b[>%sq", "\x1b[%s$p",
	}
	queries := readQueries(t)
	for _, place := range places {
		prefix := fmt.Sprintf(place, word)
		for _, q := range queries {
			check([]byte(prefix + q.Query))
			// The word inside of the question.
			for at := 2; at < len(q.Query); at++ {
				check([]byte(prefix + q.Query[:at] + word + q.Query[at:]))
				check([]byte(q.Query[:at] + "99999999999999999999" + q.Query[at:]))
			}
		}
	}
	answered := 0
	for seed := range uint64(300) {
		answered += check(newGenerator(seed, false).stream(60))
	}
	if answered == 0 {
		t.Error("no random stream asked anything")
	}
}

// TestReplies_onlyToQueries: what the filters let pass gets no answer, for every
// control sequence that there is.
func TestReplies_onlyToQueries(t *testing.T) {
	term := New(Options{Cols: 80, Rows: 24, Scrollback: -1, Archive: -1})
	for _, prefix := range []string{"", "?", ">", "=", "<"} {
		for intermediate := byte(0x1f); intermediate < 0x30; intermediate++ {
			for final := byte(0x40); final < 0x7f; final++ {
				for _, parameters := range []string{"", "0", "1", "4", "5", "6", "11", "14", "18", "21", "996"} {
					middle := parameters
					if intermediate >= 0x20 {
						middle += string(intermediate)
					}
					sequence := "\x1b[" + prefix + middle + string(final)
					term.Write([]byte(sequence))
					answer := term.TakeReplies()
					passed := NewQueryFilter().Filter(nil, []byte(sequence))
					if len(answer) > 0 && len(passed) > 0 {
						t.Errorf("%q passes the filter and is answered by %q", sequence, answer)
					}
				}
			}
		}
	}
}

// TestTakeReplies_whole: an answer that does not fit the bound is left out whole,
// so that the program never reads half of one.
func TestTakeReplies_whole(t *testing.T) {
	pattern := answerPattern(t)
	for _, q := range readQueries(t) {
		term := New(Options{Cols: 80, Rows: 24})
		term.Write(bytes.Repeat([]byte(q.Query), 3000))
		replies := term.TakeReplies()
		if len(replies) > maxReplies || !pattern.Match(replies) {
			t.Errorf("%s: %d bytes end in %q", q.Name, len(replies), replies[max(0, len(replies)-40):])
		}
	}
}
