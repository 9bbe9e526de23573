package vt

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Key modifiers, as xterm numbers them less one.
const (
	modShift = 1 << iota
	modAlt
	modCtrl
	modSuper
)

// A namedKey says how a key that is no character is written.
type namedKey struct {
	// final with number 1 is CSI 1;m final, CSI final alone, SS3 in cursor key
	// mode; final '~' is CSI number ~.
	number int
	final  byte
	// ss3 says that the key is SS3 final without modifiers in every mode.
	ss3 bool
	// cursor says that DECCKM turns CSI into SS3.
	cursor bool
}

var namedKeys = map[string]namedKey{
	"up":       {1, 'A', false, true},
	"down":     {1, 'B', false, true},
	"right":    {1, 'C', false, true},
	"left":     {1, 'D', false, true},
	"home":     {1, 'H', false, true},
	"end":      {1, 'F', false, true},
	"insert":   {2, '~', false, false},
	"delete":   {3, '~', false, false},
	"pageup":   {5, '~', false, false},
	"pagedown": {6, '~', false, false},
	"f1":       {1, 'P', true, false},
	"f2":       {1, 'Q', true, false},
	"f3":       {1, 'R', true, false},
	"f4":       {1, 'S', true, false},
	"f5":       {15, '~', false, false},
	"f6":       {17, '~', false, false},
	"f7":       {18, '~', false, false},
	"f8":       {19, '~', false, false},
	"f9":       {20, '~', false, false},
	"f10":      {21, '~', false, false},
	"f11":      {23, '~', false, false},
	"f12":      {24, '~', false, false},
}

// textKeys are keys that have names and stand for one code.
var textKeys = map[string]rune{
	"enter": '\r', "return": '\r', "tab": '\t', "esc": 0x1b, "escape": 0x1b,
	"backspace": 0x7f, "space": ' ', "plus": '+',
}

var modifierNames = map[string]int{
	"shift": modShift, "alt": modAlt, "meta": modAlt, "option": modAlt,
	"ctrl": modCtrl, "control": modCtrl, "super": modSuper, "cmd": modSuper,
}

// EncodeKey writes a named key as a program with these modes expects it. Names
// are lower case: "up", "f5", "enter", "pageup", one character, with modifiers
// before it, as "ctrl+c", "shift+tab" or "alt+b".
func EncodeKey(name string, m Modes) ([]byte, error) {
	mods, base, err := splitKey(name)
	if err != nil {
		return nil, err
	}
	if k, ok := namedKeys[base]; ok {
		return k.encode(mods, m), nil
	}
	r, named := textKeys[base]
	if !named {
		var size int
		if r, size = utf8.DecodeRuneInString(base); size != len(base) || size == 0 || r == utf8.RuneError || r < 0x20 || r >= 0x7f && r < 0xa0 {
			return nil, fmt.Errorf("unknown key %q", name)
		}
	}
	if m.Keyboard != 0 {
		if out := kittyKey(r, named, mods, m.Keyboard); out != nil {
			return out, nil
		}
	}
	if out := otherKey(r, mods, m); out != nil {
		return out, nil
	}
	return legacyKey(r, mods, name)
}

// splitKey parts a name into modifiers and key.
func splitKey(name string) (mods int, base string, err error) {
	base = name
	for {
		i := strings.IndexByte(base, '+')
		if i <= 0 || i == len(base)-1 {
			break
		}
		mod, ok := modifierNames[strings.ToLower(base[:i])]
		if !ok {
			return 0, "", fmt.Errorf("unknown key %q", name)
		}
		mods |= mod
		base = base[i+1:]
	}
	if len(base) > 1 && utf8.RuneCountInString(base) > 1 {
		base = strings.ToLower(base)
	}
	return mods, base, nil
}

func (k namedKey) encode(mods int, m Modes) []byte {
	switch {
	case k.final == '~' && mods == 0:
		return fmt.Appendf(nil, "\x1b[%d~", k.number)
	case k.final == '~':
		return fmt.Appendf(nil, "\x1b[%d;%d~", k.number, mods+1)
	case mods != 0 && k.final == 'R' && m.Keyboard != 0:
		// CSI 1;m R is a cursor report; the kitty protocol writes F3 so.
		return fmt.Appendf(nil, "\x1b[13;%d~", mods+1)
	case mods != 0:
		return fmt.Appendf(nil, "\x1b[1;%d%c", mods+1, k.final)
	case k.final == 'R' && m.Keyboard != 0:
		return []byte("\x1b[13~")
	case k.ss3 && m.Keyboard != 0:
		return []byte{0x1b, '[', k.final}
	case k.ss3 || k.cursor && m.CursorKeys:
		return []byte{0x1b, 'O', k.final}
	}
	return []byte{0x1b, '[', k.final}
}

// Flags of the kitty keyboard protocol that concern us. Presses only are sent,
// so reporting of event types changes nothing.
const (
	kittyDisambiguate = 1
	kittyAllAsEscape  = 8
	kittyText         = 16
)

// kittyKey writes a key as CSI u where the flags ask for it, else nil.
func kittyKey(r rune, named bool, mods int, flags uint8) []byte {
	if !named && r >= 'A' && r <= 'Z' {
		// The protocol names keys by their unshifted character.
		mods |= modShift
		r += 'a' - 'A'
	}
	text := ""
	if flags&kittyText != 0 && flags&kittyAllAsEscape != 0 && mods&^modShift == 0 && r >= 0x20 && r != 0x7f {
		c := r
		if mods&modShift != 0 && c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		text = fmt.Sprintf(";%d", c)
	}
	all := flags&kittyAllAsEscape != 0
	switch {
	case all:
	case flags&kittyDisambiguate == 0:
		return nil
	case r == 0x1b:
	case (r == '\r' || r == '\t' || r == 0x7f) && mods == 0:
		return nil
	case mods&^modShift == 0 && r != '\r' && r != '\t' && r != 0x7f:
		return nil
	}
	switch {
	case text != "":
		return fmt.Appendf(nil, "\x1b[%d;%d%su", r, mods+1, text)
	case mods == 0:
		return fmt.Appendf(nil, "\x1b[%du", r)
	}
	return fmt.Appendf(nil, "\x1b[%d;%du", r, mods+1)
}

// otherKey writes a key as modifyOtherKeys asks for it, else nil. Level 1
// touches only keys without a well-known form.
func otherKey(r rune, mods int, m Modes) []byte {
	if m.ModifyOtherKeys == 0 || mods == 0 {
		return nil
	}
	known := func() bool {
		switch {
		case r == '\t' && mods == modShift, r == '\r' && mods == modAlt:
			return true
		case r == 0x7f || r == 0x1b:
			return mods&^(modAlt|modCtrl) == 0
		case mods&^(modShift|modAlt) == 0 && r >= 0x20:
			return true
		case mods&^(modCtrl|modAlt) == 0:
			_, ok := control(r)
			return ok
		}
		return false
	}
	switch {
	case m.ModifyOtherKeys == 1 && known():
		return nil
	case mods == modShift && r > 0x20 && r != 0x7f:
		return nil // the character is the shifted one
	case r == '\t' && mods == modShift:
		return nil
	}
	return fmt.Appendf(nil, "\x1b[27;%d;%d~", mods+1, r)
}

// control is the code of Ctrl with a character.
func control(r rune) (byte, bool) {
	switch {
	case r >= 'a' && r <= 'z':
		return byte(r - 'a' + 1), true
	case r >= '@' && r <= '_':
		return byte(r - '@'), true
	case r == ' ' || r == '2':
		return 0, true
	case r >= '3' && r <= '7':
		return byte(r - '3' + 0x1b), true
	case r == '8' || r == '?':
		return 0x7f, true
	case r == '/' || r == '-':
		return 0x1f, true
	}
	return 0, false
}

// legacyKey writes a key as xterm always did.
func legacyKey(r rune, mods int, name string) ([]byte, error) {
	if mods&modSuper != 0 {
		return nil, fmt.Errorf("key %q has no encoding in this mode", name)
	}
	var out []byte
	if mods&modAlt != 0 {
		out = append(out, 0x1b)
	}
	switch {
	case r == '\t' && mods&modShift != 0:
		return append(out, "\x1b[Z"...), nil
	case r == 0x7f && mods&modCtrl != 0:
		return append(out, '\b'), nil
	case r == '\r' || r == '\t' || r == 0x1b || r == 0x7f:
		return append(out, byte(r)), nil
	case mods&modCtrl != 0:
		c, ok := control(r)
		if !ok {
			return nil, fmt.Errorf("key %q has no encoding in this mode", name)
		}
		return append(out, c), nil
	case mods&modShift != 0 && r >= 'a' && r <= 'z':
		r -= 'a' - 'A'
	}
	return utf8.AppendRune(out, r), nil
}

// EncodePaste writes a text that is pasted: line breaks become CR, escapes,
// C1 controls, NUL and invalid UTF-8 are left out, and the whole is bracketed
// where the program asked for it.
func EncodePaste(text string, m Modes) []byte {
	out := make([]byte, 0, len(text)+12)
	if m.BracketedPaste {
		out = append(out, "\x1b[200~"...)
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		i += size
		switch {
		case r == utf8.RuneError && size == 1:
		case r == 0 || r == 0x1b || r >= 0x80 && r < 0xa0:
		case r == '\r':
			out = append(out, '\r')
			if i < len(text) && text[i] == '\n' {
				i++
			}
		case r == '\n':
			out = append(out, '\r')
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	if m.BracketedPaste {
		out = append(out, "\x1b[201~"...)
	}
	return out
}
