package untrusted

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestClean(t *testing.T) {
	for _, test := range []struct {
		name, in string
		max      int
		want     string
	}{
		{"plain", "make test", 80, "make test"},
		{"empty", "", 80, ""},
		{"no room", "abc", 0, ""},
		{"negative room", "abc", -1, ""},
		{"other scripts stay", "你好 мир 🙂 é e\u0301", 80, "你好 мир 🙂 é e\u0301"},
		{"escape sequence", "\x1b[31mred\x1b]0;title\a", 80, "[31mred]0;title"},
		{"C1 controls", "a\u009b31mb\u0085c", 80, "a31mbc"},
		{"line breaks become space", "one\r\n\ttwo\u2028three", 80, "one two three"},
		{"space at the ends", "  a  b\u3000", 80, "a b"},
		{"bidirectional controls", "safe\u202eexe.txt\u2066x\u2069\u200f", 80, "safeexe.txtx"},
		{"zero width", "ad\u200bm\u200cin\u2060\ufeff", 80, "admin"},
		{"tags and fillers", "a\U000e0041\U000e0042\u3164\u115fb", 80, "ab"},
		{"invalid UTF-8", "a\xff\xc0\x80b\xed\xa0\x80", 80, "ab"},
		{"replacement character that was meant", "a\ufffdb", 80, "a\ufffdb"},
		{"fits exactly", "abcd", 4, "abcd"},
		{"cut", "abcde", 4, "abc…"},
		{"cut between wide runes", "你好世界", 3, "你好…"},
		{"cut at a space", "ab cd", 3, "ab…"},
		{"one rune", "ab", 1, "…"},
		{"invisible at the end is not a cut", "abcd\u200b\x1b", 4, "abcd"},
		{"only rubbish", "\x00\u200b\xff  ", 80, ""},
	} {
		if got := Clean(test.in, test.max); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}

func TestText_is_clean_at_every_sink(t *testing.T) {
	const hostile = Text("a\x1b]0;x\a\nb\u202e\u200bc")
	const want = "a]0;x bc"
	encoded, err := json.Marshal(map[string]any{"title": hostile})
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "title", hostile)
	for sink, got := range map[string]string{
		"%s": fmt.Sprintf("title %s", hostile), "%v": fmt.Sprintf("title %v", hostile), "Sprint": fmt.Sprint(hostile),
		"JSON": string(encoded), "log": log.String(),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s: %q does not hold %q", sink, got, want)
		}
	}
	var back Text
	if err := json.Unmarshal([]byte(`"a\u001bb"`), &back); err != nil || back.String() != "ab" {
		t.Errorf("read back %q, %v", back, err)
	}
}

func TestMask(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "plain": "plain", "  two  spaces ": "  two  spaces ", "日本": "日本", "👨\u200d👩": "👨\u200d👩",
		"a\u202eb\x1b[31m\u0085\u2066": "a\ufffdb\ufffd[31m\ufffd\ufffd", "\xff": "\ufffd", "e\u0301\u200b": "e\u0301\ufffd",
	} {
		if got := Mask(text); got != want {
			t.Errorf("%q becomes %q, want %q", text, got, want)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, seed := range []string{"", "plain", "\x1b[31m", "a\u202eb", "你好", "\xff\xfe", "  a  ", "a\u0085"} {
		f.Add(seed, 5)
	}
	f.Fuzz(func(t *testing.T, s string, max int) {
		max %= 300
		got := Clean(s, max)
		if !utf8.ValidString(got) {
			t.Fatalf("%q: invalid UTF-8 %q", s, got)
		}
		if n := utf8.RuneCountInString(got); n > max && max > 0 {
			t.Fatalf("%q: %d runes, want at most %d", s, n, max)
		}
		if strings.TrimSpace(got) != got {
			t.Fatalf("%q: space at the ends of %q", s, got)
		}
		for _, r := range got {
			if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || r != ' ' && unicode.IsSpace(r) {
				t.Fatalf("%q: %U in %q", s, r, got)
			}
		}
		if again := Clean(got, max); again != got {
			t.Fatalf("%q: cleaned twice it is %q", got, again)
		}
	})
}
