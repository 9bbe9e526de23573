package main

import (
	"unicode/utf8"
)

// textFilter leaves of a program's output the text, line breaks, tabs and,
// with colours, SGR sequences. Everything else goes: cursor movement, titles,
// queries, C0 and C1 controls, and what turns the direction of text. It keeps
// unfinished sequences for the next call.
type textFilter struct {
	colours bool

	state    textState
	sequence []byte // CSI, or the bytes of an unfinished character
	out      []byte
	returned bool // the last character was CR
}

type textState int

const (
	inText textState = iota
	inEscape
	inCSI
	inString
	inStringEscape
)

const maxSGR = 256 // bytes; a longer sequence is none that a person wants

// filter returns what remains of p, valid until the next call.
func (f *textFilter) filter(p []byte) []byte {
	f.out = f.out[:0]
	for _, b := range p {
		f.step(b)
	}
	return f.out
}

func (f *textFilter) step(b byte) {
	switch f.state {
	case inText:
		f.text(b)
	case inEscape:
		f.escape(b)
	case inCSI:
		f.csi(b)
	case inString:
		switch b {
		case 0x07, 0x18, 0x1a:
			f.state = inText
		case 0x1b:
			f.state = inStringEscape
		}
	case inStringEscape:
		f.state = inText
		if b != '\\' {
			f.escape(b)
		}
	}
}

func (f *textFilter) escape(b byte) {
	switch {
	case b == '[':
		f.state, f.sequence = inCSI, append(f.sequence[:0], "\x1b["...)
	case b == ']' || b == 'P' || b == '_' || b == '^' || b == 'X':
		f.state = inString
	case b == 0x1b:
		f.state = inEscape
	case b >= 0x20 && b <= 0x2f:
		f.state = inEscape // intermediates
	default:
		f.state = inText
	}
}

func (f *textFilter) csi(b byte) {
	f.sequence = append(f.sequence, b)
	switch {
	case b == 0x1b:
		f.state, f.sequence = inEscape, f.sequence[:0]
	case b >= 0x40 && b <= 0x7e:
		if b == 'm' && f.colours && isSGR(f.sequence) {
			f.lineEnd(false)
			f.out = append(f.out, f.sequence...)
		}
		f.state, f.sequence = inText, f.sequence[:0]
	case b == 0x18 || b == 0x1a || len(f.sequence) > maxSGR:
		f.state, f.sequence = inText, f.sequence[:0]
	}
}

// isSGR tells SGR from xterm's other sequences that end with m.
func isSGR(sequence []byte) bool {
	for _, b := range sequence[2 : len(sequence)-1] {
		if b != ';' && b != ':' && (b < '0' || b > '9') {
			return false
		}
	}
	return true
}

func (f *textFilter) text(b byte) {
	if len(f.sequence) > 0 || b >= 0x80 {
		f.sequence = append(f.sequence, b)
		if !utf8.FullRune(f.sequence) {
			return
		}
		r, n := utf8.DecodeRune(f.sequence)
		rest := append([]byte(nil), f.sequence[n:]...)
		if r == utf8.RuneError || !hiddenInText(r) {
			f.lineEnd(false)
			f.out = utf8.AppendRune(f.out, r)
		}
		f.sequence = f.sequence[:0]
		for _, b := range rest {
			f.step(b)
		}
		return
	}
	switch {
	case b == 0x1b:
		f.state = inEscape
	case b == '\r':
		f.returned = true
	case b == '\n':
		f.lineEnd(true)
	case b == '\t' || b >= 0x20 && b != 0x7f:
		f.lineEnd(false)
		f.out = append(f.out, b)
	}
}

// lineEnd writes a line break for LF, and for a CR that text follows: a line
// that is drawn over begins anew.
func (f *textFilter) lineEnd(feed bool) {
	if feed || f.returned {
		f.out = append(f.out, '\n')
	}
	f.returned = false
}

// hiddenInText are C1 controls and what turns the direction of text.
func hiddenInText(r rune) bool {
	return r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}
