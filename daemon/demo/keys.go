package demo

import (
	"unicode/utf8"
)

// key is one thing that the person did: a name such as "up" or "enter", or
// text with the name "text".
type key struct {
	name string
	text string
}

// keyNames are the sequences of a terminal in normal and application mode.
var keyNames = map[string]string{
	"\r": "enter", "\n": "enter", "\t": "tab", "\x7f": "backspace", "\b": "backspace",
	"\x03": "ctrl+c", "\x04": "ctrl+d", "\x15": "ctrl+u",
	"\x1b[A": "up", "\x1b[B": "down", "\x1b[C": "right", "\x1b[D": "left",
	"\x1bOA": "up", "\x1bOB": "down", "\x1bOC": "right", "\x1bOD": "left",
	"\x1b[Z": "shift+tab", "\x1b[I": "focus", "\x1b[O": "blur", "\x1b\r": "newline",
}

const (
	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
	maxPaste   = 1 << 20
)

// decoder turns bytes into keys. An escape sequence or a UTF-8 character that
// is not complete yet is kept for the next call.
type decoder struct {
	kept    []byte
	pasting bool
	pasted  []byte
}

// feed adds bytes and returns the keys that are complete.
func (d *decoder) feed(p []byte) []key {
	d.kept = append(d.kept, p...)
	var keys []key
	for len(d.kept) > 0 {
		if d.pasting {
			if !d.takePaste() {
				return keys
			}
			keys = append(keys, key{"text", string(d.pasted)})
			d.pasted = nil
			continue
		}
		k, n := next(d.kept)
		if n == 0 {
			return keys
		}
		d.kept = d.kept[n:]
		switch k.name {
		case "":
		case "paste":
			d.pasting = true
		default:
			keys = append(keys, k)
		}
	}
	return keys
}

// flush says what a held-back escape means when nothing follows it.
func (d *decoder) flush() []key {
	if d.pasting || len(d.kept) == 0 || d.kept[0] != 0x1b {
		return nil
	}
	rest := d.kept[1:]
	d.kept = nil
	return append([]key{{name: "esc"}}, d.feed(rest)...)
}

// takePaste moves pasted bytes and says whether the paste is complete.
func (d *decoder) takePaste() bool {
	for i := range d.kept {
		rest := d.kept[i:]
		if rest[0] != 0x1b {
			continue
		}
		if len(rest) < len(pasteEnd) {
			d.keepPaste(d.kept[:i])
			d.kept = rest
			return false
		}
		if string(rest[:len(pasteEnd)]) == pasteEnd {
			d.keepPaste(d.kept[:i])
			d.kept, d.pasting = rest[len(pasteEnd):], false
			return true
		}
	}
	d.keepPaste(d.kept)
	d.kept = nil
	return false
}

func (d *decoder) keepPaste(p []byte) {
	d.pasted = append(d.pasted, p[:min(len(p), maxPaste-len(d.pasted))]...)
}

// next returns the first key of b and its length: 0 when b is not complete.
// A sequence that means nothing here has a length and no name.
func next(b []byte) (key, int) {
	if b[0] != 0x1b {
		if name, ok := keyNames[string(b[:1])]; ok {
			return key{name: name}, 1
		}
		if b[0] < 0x20 {
			return key{}, 1
		}
		if !utf8.FullRune(b) {
			return key{}, 0
		}
		_, n := utf8.DecodeRune(b)
		return key{"text", string(b[:n])}, n
	}
	if len(b) == 1 {
		return key{}, 0
	}
	switch b[1] {
	case '[':
		for i := 2; i < len(b); i++ {
			if b[i] >= 0x40 && b[i] <= 0x7e {
				sequence := string(b[:i+1])
				if sequence == pasteStart {
					return key{name: "paste"}, i + 1
				}
				return key{name: keyNames[sequence]}, i + 1
			}
		}
		return key{}, 0
	case 'O':
		if len(b) < 3 {
			return key{}, 0
		}
		return key{name: keyNames[string(b[:3])]}, 3
	case 0x1b:
		return key{name: "esc"}, 1
	default:
		return key{name: keyNames[string(b[:2])]}, 2
	}
}
