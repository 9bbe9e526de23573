package attach

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

// maxRepeat bounds how often a character is repeated: a row has no more.
const maxRepeat = 1000

// portable rewrites a repaint, which is made for the browser's terminal, for
// those that people use: REP, which several do not know, is written out, and
// what would erase the terminal's own history is left out. A sequence that is
// unfinished at the end stays.
func portable(repaint []byte) []byte {
	out := make([]byte, 0, len(repaint)+len(repaint)/2)
	var last []byte // the character printed last, with its combining marks
	for len(repaint) > 0 {
		if repaint[0] != 0x1b {
			r, n := utf8.DecodeRune(repaint)
			switch {
			case r < 0x20:
				last = last[:0]
			case runeWidth(r) == 0 && len(last) > 0:
				last = append(last, repaint[:n]...)
			default:
				last = append(last[:0], repaint[:n]...)
			}
			out = append(out, repaint[:n]...)
			repaint = repaint[n:]
			continue
		}
		n := sequenceLength(repaint)
		sequence := repaint[:n]
		repaint = repaint[n:]
		switch {
		case string(sequence) == "\x1b[3J":
		case bytes.HasPrefix(sequence, []byte("\x1b[")) && sequence[n-1] == 'b':
			count, err := strconv.Atoi(string(sequence[2 : n-1]))
			if err != nil || count < 1 {
				count = 1
			}
			for range min(count, maxRepeat) {
				out = append(out, last...)
			}
		default:
			out = append(out, sequence...)
		}
	}
	return out
}

// sequenceLength is the length of the escape sequence at the start of b, up to
// its end or that of b.
func sequenceLength(b []byte) int {
	if len(b) < 2 {
		return len(b)
	}
	switch b[1] {
	case '[':
		for i := 2; i < len(b); i++ {
			if b[i] >= 0x40 && b[i] <= 0x7e {
				return i + 1
			}
		}
		return len(b)
	case ']', 'P', '_', '^', 'X':
		for i := 2; i < len(b); i++ {
			if b[i] == 0x07 {
				return i + 1
			}
			if b[i] == 0x1b && i+1 < len(b) && b[i+1] == '\\' {
				return i + 2
			}
		}
		return len(b)
	}
	for i := 1; i < len(b); i++ {
		if b[i] >= 0x30 {
			return i + 1
		}
	}
	return len(b)
}
