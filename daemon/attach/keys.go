package attach

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// DefaultDetachKey is the detach key of a person who chose none: telnet's, on
// which no agent and hardly any program puts a meaning.
const DefaultDetachKey = "ctrl+]"

// Key is a control key recognised in input. The zero Key is none and matches
// nothing.
type Key struct {
	letter byte // lower case; what kitty and modifyOtherKeys report
	code   byte // legacy byte
}

// ParseKey reads "ctrl+x", "ctrl-x" or "^x", with x a letter or one of @\]^_
// or the word space; "none" is no key. Tab, Enter and Esc have the codes of
// ctrl+i, ctrl+m and ctrl+[, which are therefore refused.
func ParseKey(text string) (Key, error) {
	name := strings.ToLower(strings.TrimSpace(text))
	if name == "none" {
		return Key{}, nil
	}
	rest, ok := cutPrefixes(name, "ctrl+", "ctrl-", "^")
	if rest == "space" {
		rest = " "
	}
	if !ok || len(rest) != 1 {
		return Key{}, fmt.Errorf("key %q: write it as ctrl+x or none", text)
	}
	letter := rest[0]
	switch {
	case letter == 'i' || letter == 'm' || letter == '[':
		return Key{}, fmt.Errorf("key %q cannot be told from Tab, Enter or Esc: choose another", text)
	case letter == ' ' || letter == '@':
		return Key{letter: letter, code: 0}, nil
	case letter >= 'a' && letter <= 'z', letter >= '\\' && letter <= '_':
		return Key{letter: letter, code: letter & 0x1f}, nil
	}
	return Key{}, fmt.Errorf("key %q: use a letter, or one of @ \\ ] ^ _ space", text)
}

func cutPrefixes(text string, prefixes ...string) (string, bool) {
	for _, prefix := range prefixes {
		if rest, ok := strings.CutPrefix(text, prefix); ok {
			return rest, true
		}
	}
	return text, false
}

// IsNone says that the key matches nothing.
func (k Key) IsNone() bool { return k.letter == 0 }

// String is the form that ParseKey reads.
func (k Key) String() string {
	switch {
	case k.IsNone():
		return "none"
	case k.letter == ' ':
		return "ctrl+space"
	}
	return "ctrl+" + string(rune(k.letter))
}

// Modifier bits of kitty's and xterm's encodings, after 1 was taken off.
const (
	modifierControl = 4
	modifierLocks   = 64 | 128 // caps lock, num lock
)

// matchesSequence says whether a whole CSI sequence is this key, in kitty's
// encoding (CSI code:shifted:base ; modifiers:event u) or that of
// modifyOtherKeys (CSI 27 ; modifiers ; code ~). A key's repeat and release
// match as well: the release of the detach key means nothing to the program.
func (k Key) matchesSequence(sequence []byte) bool {
	if k.IsNone() || len(sequence) < 4 {
		return false
	}
	parameters := strings.Split(string(sequence[2:len(sequence)-1]), ";")
	var modifiers string
	var codes []string
	switch final := sequence[len(sequence)-1]; {
	case final == 'u' && len(parameters) >= 2:
		codes, modifiers = strings.Split(parameters[0], ":"), parameters[1]
	case final == '~' && len(parameters) == 3 && parameters[0] == "27":
		codes, modifiers = parameters[2:], parameters[1]
	default:
		return false
	}
	modifiers, _, _ = strings.Cut(modifiers, ":")
	bits, err := strconv.Atoi(modifiers)
	if err != nil || bits < 1 || (bits-1)&^modifierLocks != modifierControl {
		return false
	}
	code, err := strconv.Atoi(codes[0])
	if err != nil {
		return false
	}
	// A layout without Latin letters reports the key of the same place on a
	// Latin one as the third code.
	if code > 0x7f && len(codes) == 3 {
		if code, err = strconv.Atoi(codes[2]); err != nil {
			return false
		}
	}
	return code == int(k.letter)
}

// event is what the scanner took out of the input.
type event int

const (
	eventDetach event = iota + 1
	eventTake
	eventFocusIn
	eventFocusOut
)

const (
	maxSequence = 256      // bytes of a CSI sequence that is held
	maxString   = 64 << 10 // bytes of an OSC, DCS or APC string that is held

	pasteStart = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// scanner cuts input into keys, pastes and answers of the terminal. A sequence
// that is not complete is held until the next call, or until flush when
// nothing follows: then it was the Esc key.
type scanner struct {
	detach Key
	// take claims the size; only looked for while takeArmed.
	take      Key
	takeArmed bool

	held  []byte // begins with ESC
	paste int    // 0: not pasting; else 1 + the matched bytes of pasteEnd
}

// feed scans p. It calls pass with bytes for the program, in order, and event
// for what it took out; pass's slices are valid during the call only. A false
// of event stops the scan: the rest of p is dropped.
func (s *scanner) feed(p []byte, pass func([]byte), occurred func(event) bool) {
	var out []byte
	emit := func() {
		if len(out) > 0 {
			pass(out)
			out = out[:0]
		}
	}
	defer emit()
	for _, b := range p {
		if s.paste > 0 {
			out = append(out, b)
			s.advancePaste(b)
			continue
		}
		if len(s.held) == 0 {
			switch {
			case b == 0x1b:
				s.held = append(s.held, b)
			case !s.detach.IsNone() && b == s.detach.code:
				emit()
				if !occurred(eventDetach) {
					return
				}
			case s.takeArmed && !s.take.IsNone() && b == s.take.code:
				emit()
				if !occurred(eventTake) {
					return
				}
			default:
				out = append(out, b)
			}
			continue
		}
		if b == 0x1b && (!s.inString() || s.held[len(s.held)-1] == 0x1b) {
			// A new sequence begins; what was held is complete as it is. In a
			// string the first ESC may begin the ST that ends it.
			out = append(out, s.held...)
			s.held = append(s.held[:0], b)
			continue
		}
		s.held = append(s.held, b)
		if !s.complete() {
			continue
		}
		sequence := s.held
		s.held = nil
		taken, drop := s.classify(sequence)
		switch {
		case taken != 0:
			emit()
			if !occurred(taken) {
				return
			}
		case !drop:
			out = append(out, sequence...)
		}
	}
}

// waiting says that something is held and flush should be called soon.
func (s *scanner) waiting() bool { return len(s.held) > 0 }

// flush gives up waiting for the rest of a sequence.
func (s *scanner) flush() []byte {
	held := s.held
	s.held = nil
	return held
}

func (s *scanner) inString() bool {
	return len(s.held) > 1 && bytes.IndexByte([]byte("]P_^X"), s.held[1]) >= 0
}

// complete says whether the held sequence has its last byte.
func (s *scanner) complete() bool {
	last := s.held[len(s.held)-1]
	switch {
	case len(s.held) == 2:
		return last != '[' && last != 'O' && !s.inString()
	case s.held[1] == 'O':
		return true
	case s.inString():
		return last == 0x07 || last == '\\' && s.held[len(s.held)-2] == 0x1b || len(s.held) >= maxString
	}
	return last >= 0x40 && last <= 0x7e || last < 0x20 || len(s.held) >= maxSequence
}

// classify says what a whole sequence is to us: an event, or an answer of the
// terminal that is dropped, or neither.
func (s *scanner) classify(sequence []byte) (taken event, drop bool) {
	switch {
	case string(sequence) == pasteStart:
		s.paste = 1
	case string(sequence) == "\x1b[I":
		return eventFocusIn, false
	case string(sequence) == "\x1b[O":
		return eventFocusOut, false
	case s.detach.matchesSequence(sequence):
		return eventDetach, false
	case s.takeArmed && s.take.matchesSequence(sequence):
		return eventTake, false
	}
	return 0, isAnswer(sequence)
}

// advancePaste follows the bytes that end a paste.
func (s *scanner) advancePaste(b byte) {
	matched := s.paste - 1
	switch b {
	case pasteEnd[matched]:
		s.paste++
		if matched+1 == len(pasteEnd) {
			s.paste = 0
		}
	case 0x1b:
		s.paste = 2
	default:
		s.paste = 1
	}
}
