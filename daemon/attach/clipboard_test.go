package attach

import "testing"

func TestClipboardFilter(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"write, BEL":        {"a\x1b]52;c;aGk=\ab", "ab"},
		"write, ST":         {"a\x1b]52;c;aGk=\x1b\\b", "ab"},
		"C1":                {"a\u009d52;c;aGk=\ab", "ab"},
		"kitty":             {"\x1b]5522;type=write\x1b\\x", "x"},
		"iTerm2":            {"\x1b]1337;CopyToClipboard=\ax", "x"},
		"ended by another":  {"\x1b]52;c;aGk=\x1b[31mx", "\x1b[31mx"},
		"ended by a second": {"\x1b]52;c;aGk=\x1b]52;c;eA==\ax", "x"},
		"cancelled":         {"\x1b]52;c;a\x18x", "x"},
		"title":             {"\x1b]0;52;c\a", "\x1b]0;52;c\a"},
		"5":                 {"\x1b]5;1;#fff\a", "\x1b]5;1;#fff\a"},
		"link":              {"\x1b]8;;http://52;\x1b\\", "\x1b]8;;http://52;\x1b\\"},
		"other 1337":        {"\x1b]1337;SetMark\a", "\x1b]1337;SetMark\a"},
		"text":              {"Â é 52; \x1b[1m\x1bM", "Â é 52; \x1b[1m\x1bM"},
		"ESC twice":         {"\x1b\x1b]52;c;x\ay", "\x1by"},
	} {
		for size := 1; size <= len(c.in); size++ {
			var filter clipboardFilter
			var got []byte
			for rest := []byte(c.in); len(rest) > 0; {
				n := min(size, len(rest))
				got = filter.filter(got, rest[:n])
				rest = rest[n:]
			}
			if string(got) != c.want {
				t.Errorf("%s, %d bytes at a time: got %q, want %q", name, size, got, c.want)
			}
		}
	}
}
