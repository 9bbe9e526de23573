// Package untrusted is the one type for text that a program, a payload, a file
// or another machine supplied, and the one function that makes it fit to be
// shown (DESIGN §9). Both sides and every sink use it; it decides nothing about
// what the text says and keeps no state.
package untrusted

import (
	"log/slog"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxShown is how many runes a Text never exceeds where it is shown.
const maxShown = 4096

// Text is text that came from a PTY, a hook, a file or another machine.
// Every way of it to a sink (JSON, log, format verbs) goes through Clean,
// so that a value that was not cleaned when it was taken in is cleaned when it
// is shown. Convert it back to string only to compare.
type Text string

// String is the cleaned text, at most maxShown runes.
func (u Text) String() string { return Clean(string(u), maxShown) }

// MarshalText writes the cleaned text; encoding/json uses it.
func (u Text) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText takes text as it is; it is cleaned on the way out.
func (u *Text) UnmarshalText(text []byte) error {
	*u = Text(text)
	return nil
}

// LogValue is the cleaned text.
func (u Text) LogValue() slog.Value { return slog.StringValue(u.String()) }

// Cut is Clean as a Text.
func Cut(s string, max int) Text { return Text(Clean(s, max)) }

// Clean makes text from elsewhere fit to be shown on one line: control
// characters (C0, DEL, C1), bidirectional controls, zero-width and other
// invisible format characters and invalid UTF-8 are removed, every kind of
// white space becomes one plain space, leading and trailing space goes, and
// what is longer than max runes ends in an ellipsis. The result has at most
// max runes; max below 1 gives the empty string.
func Clean(s string, max int) string {
	if max < 1 {
		return ""
	}
	if isPlain(s) && len(s) <= max {
		return s
	}
	var out strings.Builder
	out.Grow(min(len(s), max+utf8.UTFMax))
	runes, space := 0, false
	cut := 0 // length of out when it held max-1 runes, for the ellipsis
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				continue
			}
		}
		if unicode.IsSpace(r) && r != '\u0085' {
			space = runes > 0
			continue
		}
		if isInvisible(r) {
			continue
		}
		needed := 1
		if space {
			needed = 2
		}
		if runes+needed > max {
			return out.String()[:cut] + "…"
		}
		if space {
			out.WriteByte(' ')
			space = false
			runes++
			if runes < max {
				cut = out.Len()
			}
		}
		out.WriteRune(r)
		runes++
		if runes < max {
			cut = out.Len()
		}
	}
	return out.String()
}

// isPlain says that s is printable ASCII without space at either end or two in
// a row: the common case, which needs no copy.
func isPlain(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c < 0x20 || c > 0x7e {
			return false
		}
		if c == ' ' && (i == 0 || i == len(s)-1 || s[i-1] == ' ') {
			return false
		}
	}
	return true
}

// isInvisible says that a rune draws nothing or changes how its neighbours are
// drawn. Cf holds the bidirectional controls, the zero-width characters, the
// soft hyphen and the tag characters.
func isInvisible(r rune) bool {
	switch r {
	case '\u034f', // combining grapheme joiner
		'\u115f', '\u1160', '\u3164', '\uffa0', // Hangul fillers
		'\u17b4', '\u17b5': // Khmer inherent vowels
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Zl, unicode.Zp) || r >= 0xe0000 && r <= 0xe0fff
}

// Mask is Clean for text in which places were counted: every character that
// draws nothing or changes how its neighbours are drawn becomes U+FFFD, and no
// character is added or removed. Joiners stay, which emoji are made with.
func Mask(s string) string {
	if isPlain(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		if isInvisible(r) && r != '\u200c' && r != '\u200d' {
			return utf8.RuneError
		}
		return r
	}, s)
}
