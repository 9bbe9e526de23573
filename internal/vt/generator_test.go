package vt

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// A generator writes grammar-aware terminal output: text of all widths, SGR,
// cursor movement, erasing, scrolling, modes, strings, and broken sequences.
type generator struct {
	r *rand.Rand
	// tame leaves out what xterm.js throws or hangs on, or mangles by a defect
	// of its own.
	tame bool
	// noClusters leaves out combining marks: xterm.js mixes up neighbouring
	// clusters when it rewraps.
	noClusters bool
	// log writes mostly lines of text, and leaves out what empties histories.
	log bool
}

func (g *generator) pick(list ...string) string { return list[g.r.IntN(len(list))] }

func (g *generator) number() string {
	switch g.r.IntN(10) {
	case 0:
		return ""
	case 1:
		return "0"
	case 2:
		if g.tame {
			return fmt.Sprint(g.r.IntN(120))
		}
		return g.pick("999", "99999999999999999999", "2147483647", "70000")
	default:
		return fmt.Sprint(g.r.IntN(30))
	}
}

func (g *generator) text() string {
	switch g.r.IntN(12) {
	case 0:
		return g.pick("日本語", "한국", "✅", "😀", "界", "中")
	case 1:
		return g.pick("é", "ß", "─", "│", "┌", "█", "≠")
	case 2:
		if g.noClusters {
			return "-"
		}
		return g.pick("e\u0301", "\u0301", "👩\u200d👩", "a\u0308", "日\u0301", "\u200b")
	case 3:
		return strings.Repeat(g.pick("x", "=", " ", "あ"), g.r.IntN(60))
	case 4:
		return " "
	default:
		n := g.r.IntN(14) + 1
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(0x20 + g.r.IntN(0x5f))
		}
		return string(b)
	}
}

func (g *generator) sgr() string {
	var p []string
	for range g.r.IntN(4) + 1 {
		switch g.r.IntN(8) {
		case 0:
			p = append(p, g.pick("38;5;", "48;5;")+fmt.Sprint(g.r.IntN(256)))
		case 1:
			p = append(p, fmt.Sprintf("%s;2;%d;%d;%d", g.pick("38", "48"), g.r.IntN(256), g.r.IntN(256), g.r.IntN(256)))
		case 2:
			p = append(p, fmt.Sprintf("%s:2::%d:%d:%d", g.pick("38", "48", "58"), g.r.IntN(256), g.r.IntN(256), g.r.IntN(256)))
		case 3:
			p = append(p, g.pick("4:0", "4:1", "4:2", "4:3", "4:4", "4:5", "58:5:77", "58;5;3"))
		case 4:
			p = append(p, g.pick("30", "31", "37", "39", "40", "44", "47", "49", "90", "97", "100", "107"))
		case 5:
			p = append(p, "0")
		default:
			p = append(p, g.pick("1", "2", "3", "4", "5", "7", "8", "9", "21", "22", "23", "24", "25", "27", "28", "29", "53", "55", "59"))
		}
	}
	return "\x1b[" + strings.Join(p, ";") + "m"
}

func (g *generator) step() string {
	if g.log && g.r.IntN(3) > 0 {
		return g.pick("", g.sgr(), "\x1b[m", "\x1b]8;;http://example.com/a\x1b\\", "\x1b]8;;\x1b\\") + g.text() + g.pick("", "\r\n", "\r\n", g.text())
	}
	switch g.r.IntN(44) {
	case 0, 1, 2, 3, 4, 5, 6, 7:
		return g.text()
	case 8, 9, 10:
		return "\r\n"
	case 11:
		return g.pick("\n", "\r", "\b", "\t", "\v", "\f", "\x0e", "\x0f", "\a")
	case 12, 13, 14:
		return g.sgr()
	case 15, 16, 17:
		return "\x1b[" + g.number() + ";" + g.number() + g.pick("H", "H", "f")
	case 18, 19:
		return "\x1b[" + g.number() + g.pick("A", "B", "C", "D", "E", "F", "G", "d", "e", "`", "a", "I", "Z")
	case 20, 21:
		if g.tame {
			return "\x1b[" + g.pick("", "0", "2", "3") + "J"
		}
		return "\x1b[" + g.pick("", "0", "1", "2", "3") + "J"
	case 22:
		return "\x1b[" + g.pick("", "0", "1", "2") + "K"
	case 23, 24:
		return "\x1b[" + g.number() + g.pick("@", "P", "X", "L", "M", "S", "T", " @", " A", "'}", "'~")
	case 25:
		return "\x1b[" + g.number() + ";" + g.number() + "r"
	case 26:
		return g.pick("\x1b7", "\x1b8", "\x1b[s", "\x1b[u", "\x1bD", "\x1bE", "\x1bM", "\x1bH", "\x1b=", "\x1b>")
	case 27:
		return "\x1b[?" + g.pick("1", "6", "7", "45", "25", "2004", "1004", "1000", "1002", "1003", "1006", "1016", "9", "12", "2026", "66") + g.pick("h", "l")
	case 28:
		return "\x1b[?" + g.pick("47", "1047", "1048", "1049") + g.pick("h", "l")
	case 29:
		return "\x1b[" + g.pick("4", "20") + g.pick("h", "l", "l")
	case 30:
		return "\x1b[" + g.number() + "b"
	case 31:
		return "\x1b" + g.pick("(", ")", "*", "+", "-", ".") + g.pick("0", "B", "A", "4", "B", "B") + g.pick("", "\x0e", "\x0f", "\x1bn", "\x1bo")
	case 32:
		return "\x1b[" + g.pick("", "0", "1", "2") + "\"q" + g.pick("", "\x1b[?J", "\x1b[?2K", "\x1b[?1K")
	case 33:
		return "\x1b]" + g.pick("0;title", "2;ti ✳ tle", "8;;http://example.com/a", "8;id=x;http://b", "8;id=x:k=v;http://b", "8;id=y;http://b?a;b", "8;;", "10;?", "52;c;aGk=", "9;note", "133;A", "7501;state=idle") + g.pick("\a", "\x1b\\")
	case 34:
		return g.pick("\x1b[3g", "\x1b[g", "\x1b[5G\x1bH", "\x1b#8", "\x1b[!p", "\x1b[2 q", "\x1b[5 q", "\x1b[ q", "\x1b[0 q")
	case 35:
		if g.r.IntN(6) == 0 {
			return "\x1bc"
		}
		return g.pick("\x1b[c", "\x1b[6n", "\x1b[?6n", "\x1b[5n", "\x1bP$qm\x1b\\", "\x1bP+q544e\x1b\\", "\x1b_Gx\x1b\\", "\x1b^pm\x1b\\", "\x1b[?u", "\x1b[>1u", "\x1b[<u", "\x1b[>4;2m")
	case 36:
		return g.pick("\xff", "\xc3", "\xe2\x80", "\xf0\x9f\x98", "\x80", "\xc2\x9b", "\xc2\x85", "\xc2\x84", "\xef\xbb\xbf", "\xed\xa0\x80", "\x7f")
	case 37:
		return g.pick("\x1b[", "\x1b]0;x", "\x1bP1;2", "\x1b[1;", "\x1b[?", "\x1b(", "\x1b[0<", "\x1b[>c", "\x1b[ ", "\x18", "\x1a",
			"\x1b]8;;http://un", "\x1b]8;id=", "\x1b]52;c;aGk", "\x1b_G", "\x1bX", "\x1b^p", "\x1bP$q", "\x1b[38:2:", "\x1b[1;2;", "\u0090", "\u009d2;t", "\u0098", "\u009c")
	case 38:
		return "\x1b[" + g.pick(">1u", ">5u", "<u", "<2u", "=3;1u", "=4;2u", "=1;3u", "?u", ">4;1m", ">4m", ">4n", "?4m")
	case 39:
		return "\x1b[" + g.pick("22;0t", "22;2t", "23;0t", "23;2t", "22t", "23t", "18t", "8;9;9t")
	case 40:
		return "\x1b[" + g.pick("?", "") + fmt.Sprint(g.r.IntN(26)) + "$p" + g.pick("", "\x1b[?2026$p", "\x1b[?1049$p", "\x1b[4$p")
	case 41:
		return g.pick("\x1b%G", "\x1b%@", "\x1b[?2h", "\x1b~", "\x1b}", "\x1b|", "\x1b(C", "\x1b)R", "\x1b*K", "\x1b+=", "\x1b/0", "\x1b(%5", "\x1b[!p")
	case 42:
		return g.pick("\x1b[1 q", "\x1b[3 q", "\x1b[4 q", "\x1b[6 q", "\x1b[9 q", "\x1b[?2026h", "\x1b[?2026l", "\x1b[?2026;25l", "\x1b[?7;6;1049h")
	default:
		return g.text() + g.pick("", "\r\n", "\n", "\r")
	}
}

func (g *generator) stream(steps int) []byte {
	var b strings.Builder
	for range steps {
		b.WriteString(g.step())
	}
	return []byte(b.String())
}

func newGenerator(seed uint64, tame bool) *generator {
	return &generator{r: rand.New(rand.NewPCG(seed, 7)), tame: tame}
}
