package attach

import "bytes"

// clipboardFilter removes sequences that write to the person's clipboard: OSC
// 52, kitty's OSC 5522 and iTerm2's OSC 1337;Copy. Everything else passes byte
// for byte. An unfinished start of an OSC is held until it can be told.
type clipboardFilter struct {
	held     []byte // an unfinished start, introducer first
	dropping bool   // inside a sequence that is removed
	escape   bool   // the last dropped byte was ESC
}

// introducers start an OSC: the 7-bit form, and U+009D as UTF-8.
var introducers = []string{"\x1b]", "\xc2\x9d"}

var clipboardCommands = []string{"52;", "5522;", "1337;Copy"}

// filter appends to dst what remains of src.
func (f *clipboardFilter) filter(dst, src []byte) []byte {
	for i := 0; i < len(src); i++ {
		b := src[i]
		switch {
		case f.dropping:
			dst = f.drop(dst, b)
		case len(f.held) == 0:
			next := bytes.IndexByte(src[i:], 0x1b)
			if c1 := bytes.IndexByte(src[i:], 0xc2); c1 >= 0 && (next < 0 || c1 < next) {
				next = c1
			}
			if next < 0 {
				return append(dst, src[i:]...)
			}
			dst = append(dst, src[i:i+next]...)
			i += next
			f.held = append(f.held, src[i])
		default:
			f.held = append(f.held, b)
			switch f.verdict() {
			case passes:
				// The byte itself may begin the next sequence.
				last := len(f.held) - 1
				dst = append(dst, f.held[:last]...)
				f.held = f.held[:0]
				if b == 0x1b || b == 0xc2 {
					f.held = append(f.held, b)
				} else {
					dst = append(dst, b)
				}
			case removed:
				f.held, f.dropping, f.escape = f.held[:0], true, false
			}
		}
	}
	return dst
}

type filterVerdict int

const (
	undecided filterVerdict = iota
	passes
	removed
)

func (f *clipboardFilter) verdict() filterVerdict {
	for _, introducer := range introducers {
		for _, command := range clipboardCommands {
			start := introducer + command
			switch n := min(len(start), len(f.held)); {
			case string(f.held[:n]) != start[:n]:
			case n == len(start):
				return removed
			default:
				return undecided
			}
		}
	}
	return passes
}

// drop follows a removed sequence to its end: BEL, CAN, SUB, or an ESC, which
// is part of ST or begins another sequence.
func (f *clipboardFilter) drop(dst []byte, b byte) []byte {
	if f.escape {
		f.dropping, f.escape = false, false
		if b == '\\' {
			return dst
		}
		return f.filter(dst, []byte{0x1b, b})
	}
	switch b {
	case 0x07, 0x18, 0x1a:
		f.dropping = false
	case 0x1b:
		f.escape = true
	}
	return dst
}
