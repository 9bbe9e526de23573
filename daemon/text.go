package daemon

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// CleanText makes text safe to print on one line: invalid UTF-8, control,
// bidirectional and zero-width characters are removed and at most limit runes
// are kept.
func CleanText(text string, limit int) string {
	var b strings.Builder
	n := 0
	for _, r := range text {
		if n == limit {
			break
		}
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			r = ' '
		case r == utf8.RuneError || hidden(r):
			continue
		}
		b.WriteRune(r)
		n++
	}
	return b.String()
}

// hidden says whether a rune does something other than be seen.
func hidden(r rune) bool {
	switch {
	case unicode.IsControl(r):
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x202a && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	case r == 0x061c, r == 0x180e, r == 0xfeff, r >= 0xfff9 && r <= 0xfffb, r == 0x2028, r == 0x2029:
		return true
	case r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}
