package payload

import (
	"fmt"
	"strings"
)

// HostileSize is the largest single write that a terminal gets.
const HostileSize = 64 << 10

// A Hostile is a stream whose every byte is meant to cost as much as it can.
type Hostile struct {
	Name string
	// prefix sets the scene, unit is repeated.
	prefix, unit string
}

// Bytes makes the stream, HostileSize long. It ends wherever that is.
func (h Hostile) Bytes() []byte {
	p := []byte(h.prefix)
	for turn := 0; len(p) < HostileSize; turn++ {
		if strings.Contains(h.unit, "%") {
			p = fmt.Appendf(p, h.unit, turn)
			continue
		}
		p = append(p, h.unit...)
	}
	return p[:HostileSize]
}

// HostileList names the hostile streams. Many set up full rows first: an
// alignment pattern costs three bytes and fills the screen.
var HostileList = []Hostile{
	{"alignment pattern", "", "\x1b#8"},
	{"alignment pattern, scrolled", "\x1b[999H", "\x1b#8\x1b[999H\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"},
	{"alignment pattern, drawn on", "", "\x1b#8\x1b[999;999Hx\x1b[9Hy"},
	{"alignment pattern and reset", "", "\x1b#8\x1bc"},
	{"reset", "", "\x1bc"},
	{"reset and a line", "", "\x1bcx\n"},
	{"reset with a colour", "", "\x1bc\x1b[41mx"},
	{"screen erased in colour", "\x1b[41m", "\x1b[2J"},
	{"screen erased in changing colours", "", "\x1b[48;5;%dm\x1b[2J"},
	{"screen erased below", "\x1b[41m\x1b[2H", "\x1b[J"},
	{"screen erased above", "\x1b[41m\x1b[999H", "\x1b[1J"},
	{"screen erased around the cursor", "\x1b#8\x1b[500;500H", "\x1b[41m\x1b[J\x1b[42m\x1b[1J"},
	{"screen erased, history too", "\x1b[41m", "\x1b[3J\x1b[2J\n"},
	{"lines erased", "\x1b[41m", "\x1b[K\x1b[1K\x1b[2K"},
	{"lines erased down the screen", "\x1b#8\x1b[500G", "\x1b[1K\n"},
	{"protected cells", "\x1b[1\"q\x1b#8\x1b[0\"q\x1b[999C", "\x1b[?J\x1b[?1J\x1b[?2J"},
	{"protected columns", "\x1b[999G" + strings.Repeat("\x1b[1\"qP\n", 1000) + "\x1b[0\"q\x1b[H", "\x1b[41m\x1b[?J\x1b[42m\x1b[?J"},
	{"protected line", "\x1b[1\"qabcdef\x1b[0\"q\x1b[999C", "\x1b[?1K"},
	{"repeat", "", "a\x1b[99999b"},
	{"repeat of a wide character", "", "漢\x1b[99999b"},
	{"repeat of a cluster", "", "e\u0301\x1b[99999b"},
	{"repeat from the left", "", "\ra\x1b[999b"},
	{"lines inserted", "\x1b#8\x1b[H", "\x1b[L"},
	{"lines deleted", "\x1b#8\x1b[H", "\x1b[M"},
	{"many lines inserted and deleted", "\x1b#8\x1b[H\x1b[41m", "\x1b[99L\x1b[99M"},
	{"all lines inserted and deleted", "\x1b#8\x1b[H\x1b[41m", "\x1b[999L\x1b[999M"},
	{"screen scrolled up and down", "\x1b#8\x1b[41m", "\x1b[S\x1b[T\x1b[99S\x1b[99T"},
	{"reverse index", "\x1b#8\x1b[2;999r\x1b[2H", "\x1bM"},
	{"index in a region", "\x1b#8\x1b[2;999r\x1b[999H", "\n"},
	{"characters inserted", "\x1b#8\x1b[H", "\x1b[@"},
	{"characters deleted", "\x1b#8\x1b[H", "\x1b[P"},
	{"many characters inserted and deleted", "\x1b#8\x1b[H\x1b[41m", "\x1b[500@\x1b[500P"},
	{"characters erased", "\x1b[41m", "\x1b[999X"},
	{"insert mode", "\x1b#8\x1b[4h", "\rx"},
	{"columns shifted left", "\x1b#8\x1b[H", "\x1b[ @"},
	{"columns shifted right", "\x1b#8\x1b[H", "\x1b[ A"},
	{"columns inserted", "\x1b#8\x1b[500G", "\x1b['}"},
	{"columns deleted", "\x1b#8\x1b[500G", "\x1b['~"},
	{"columns shifted in full rows", strings.Repeat("\x1b[999Gx\n", 1000) + "\x1b[H", "\x1b[ @\x1b[ A"},
	{"line feeds in colour", "\x1b[41m", "\n"},
	{"line feeds", "", "\n"},
	{"a character in the last column", "\x1b[999G", "\x1b[998Gx\n"},
	{"two characters wrapped", "\x1b[999G", "xy\x1b[A\x1b[999G\n\n"},
	{"last column in colour", "\x1b[41m\x1b[998G", "x\x08\n"},
	{"last column, clear to the left", "\x1b[999G", "x\x08\n"},
	{"alternate screen", "\x1b[41m", "\x1b[?47h\x1b[?47l"},
	{"alternate screen with a line", "\x1b[41m", "\x1b[?1049hx\n\x1b[?1049l"},
	{"alternate screen, alignment", "", "\x1b[?47h\x1b#8\x1b[?47l"},
	{"tabs, none set", "\x1b[3g", "\t\r"},
	{"tabs by count", "\x1b[3g", "\r\x1b[9999I\x1b[9999Z"},
	{"tabs set and cleared", "", "\x1b[3g\x1bH\t\r"},
	{"colours", "", "\x1b[38;2;1;2;%dmx"},
	{"links", "", "\x1b]8;;http://%d\ax"},
	{"clusters", "", "e\u0301%d\u0302"},
	{"long clusters", "", "e" + strings.Repeat("\u0301", 40)},
	{"combining marks", "x", "\u0301"},
	{"many combining pairs", "", "%c\u0301"},
	{"reprint", "", "\x1b[2Jline %d\r\n\n\n\n"},
	{"reprint of the same line", "\x1b[999H", "\x1b[2J\n"},
	{"reprint armed at every line", "\x1b[999H", "\x1b[3J\n"},
	{"reprint, wrapped", "\x1b[999H", "\x1b[2Jxxxxxxxxxxx\n"},
	{"digits", "\x1b[", "9"},
	{"separators", "", "\x1b[;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;;m"},
	{"modes", "", "\x1b[?1;2;6;7;9;45;1000;1002;1003;1004;1006;2004;2026h"},
	{"origin mode and saved cursors", "", "\x1b7\x1b[?6h\x1b8\x1b[?6l"},
	{"title stack", "", "\x1b]2;x\a\x1b[22t"},
	{"long title pushed", "\x1b]2;" + strings.Repeat("t", 4000) + "\a", "\x1b[22t\x1b[23t"},
	{"strings", "", "\x1b]0;\a\x1bP\x1b\\\x1b_\x1b\\"},
	{"string without end", "\x1b]52;c;", "QUJD"},
	{"queries", "", "\x1b[c\x1b[6n\x1b[5n"},
	{"invalid UTF-8", "", "\xc3\xe2\x82\xf0\x9f\x98\xff"},
	{"a character beyond ASCII before every control", "", "\u00e9\r"},
	{"lines in a colour of their own", "", "\x1b[38;2;1;2;%dmx\x1b[m\r\n"},
	{"many lines with a tab in the last", "", strings.Repeat("x\r\n", 1500) + "\t"},
	{"a box of clusters, scrolled", "", "e\u0301\x1b[9999b\r\n"},
	{"soft reset", "", "\x1b[!p"},
	{"charsets", "", "\x1b(0q\x1b(B\x0e\x0f"},
}
