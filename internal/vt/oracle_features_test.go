package vt

import (
	"fmt"
	"strings"
	"testing"
)

// allASCII prints every character that a charset may translate.
var allASCII = func() string {
	b := make([]byte, 0, 0x5f)
	for c := byte(0x20); c < 0x7f; c++ {
		b = append(b, c)
	}
	return string(b)
}()

// A feature is streams, each played from a new terminal of 20×6 and compared
// with xterm.js after every step. Steps are parted by "|"; "→ 10x6" resizes.
type feature struct {
	name    string
	streams []string
}

func features() []feature {
	var list []feature
	add := func(name string, streams ...string) { list = append(list, feature{name, streams}) }
	const text = "\x1b[Habcdefghij klmnopqr\r\n0123456789\r\nAB日本CD한국EF\r\nlast line"

	add("IRM",
		"abcdef\x1b[H\x1b[4hXY|日|\x1b[4lZ",
		"\x1b[4habcdefghijklmnopqr日|\x1b[Hx|e\u0301|\x1b[10Gあ",
		"\x1b[4h"+text+"|\x1b[3;4Hx|\x1b[3;18Hyz!")
	add("REP",
		"a\x1b[5b|\x1b[b|\r\x1b[3b", "日\x1b[3b|x\x1b[99b", "e\u0301\x1b[2b|\x1b[1mx\x1b[2b|x\x1b[31m\x1b[2b",
		"abc\x1b[0b|\x1b[20Gz\x1b[2b|\x1b[?7l\x1b[20Gy\x1b[4b", "\x1b(0q\x1b[4b|\x1b(B", "\x1b[4habc\x1b[H1\x1b[3b", "👩\u200d👩\x1b[2b")
	add("insert and delete",
		text+"|\x1b[3;3H\x1b[@|\x1b[4@|\x1b[99@", text+"|\x1b[3;4H\x1b[P|\x1b[2P|\x1b[99P", text+"|\x1b[3;4H\x1b[X|\x1b[3X|\x1b[99X",
		text+"|\x1b[2;5H\x1b[L|\x1b[2L|\x1b[99L", text+"|\x1b[2;5H\x1b[M|\x1b[2M|\x1b[99M",
		text+"\x1b[2;4r|\x1b[3H\x1b[L|\x1b[6H\x1b[L|\x1b[2H\x1b[2M",
		"\x1b[44m"+text+"\x1b[42m|\x1b[2;2H\x1b[3@\x1b[2P\x1b[4X\x1b[L\x1b[M")
	add("scrolling",
		text+"|\x1b[S|\x1b[2S|\x1b[99S", text+"|\x1b[T|\x1b[2T|\x1b[99T", text+"\x1b[2;4r|\x1b[S|\x1b[T|\x1b[2;1H\x1bM|\x1b[4;1H\x1bD|\x1bE|\x1bE",
		text+"|\x1b[ @|\x1b[2 @|\x1b[ A|\x1b[3 A", text+"|\x1b[3;5H\x1b['}|\x1b[3'}|\x1b['~|\x1b[2'~", text+"\x1b[2;3r\x1b[2;5H|\x1b['}|\x1b[ @|\x1b[5;1H\x1b[ @",
		"\x1b[3;5r\x1b[5;1Ha\r\nb\r\nc|\x1b[1;1Hx\n\n\n\n\n\n|y", "\x1b[41m"+text+"\r\n\r\n\r\n|\x1b[S\x1b[T")
	add("erasing",
		text+"|\x1b[2;5H\x1b[K|\x1b[1K|\x1b[2K", text+"|\x1b[3;4H\x1b[K", text+"|\x1b[3;4H\x1b[1K", text+"|\x1b[2;5H\x1b[J", text+"|\x1b[3;5H\x1b[1J", text+"|\x1b[2J|\x1b[3J",
		strings.Repeat("x", 50)+"|\x1b[2;3H\x1b[K|\x1b[2;1H\x1b[K|\x1b[1;20Hy\x1b[K|z", "\x1b[45m"+text+"|\x1b[2;3H\x1b[K\x1b[1K\x1b[J\x1b[3J")
	add("protected cells",
		"a\x1b[1\"qbc\x1b[0\"qde\x1b[1\"q日\x1b[2\"qf|\x1b[?K|\x1b[3G\x1b[?K|\x1b[?1K|\x1b[?2K|\x1b[2K",
		"a\x1b[1\"qb\r\nc\x1b[\"qd\r\n\x1b[1\"qef\x1b[m g|\x1b[2;1H\x1b[?J|\x1b[?1J|\x1b[?2J|\x1b[?3J|\x1b[J|\x1b[2J",
		"\x1b[1\"q"+text+"|\x1b[m|\x1b[3;4H\x1b[X|\x1b[P|\x1b[@|\x1b[?2K", "\x1b[1\"qab\x1b7\x1b[0\"qc\x1b8d|\x1b[?2J")
	var sets []string
	for _, p := range charsetPairs {
		c := string(rune(p.name))
		sets = append(sets, "\x1b("+c+allASCII, "\x1b)"+c+"#@\x0e#@[q|\x0f#@", "\x1b*"+c+"\x1bn#@[q|\x1b+"+c+"\x1bo~{|\x1b%Gq#|\x1b("+c+"\x1b7\x1b(B#@\x1b8#@")
	}
	add("charsets", append(sets, "\x1b(%5q[|\x1b(!#|\x1b-0\x1b~q|\x1b.0\x1b}q|\x1b/0\x1b|q|\x1b(0q\x1b[?2hq|\x1b(0q\x1b[!pq|\x1b(0q\x1bcq", "\x1b(0日q\u0301\x7fq")...)
	add("wrapping",
		strings.Repeat("x", 20)+"|y|\x1b[20Gz\x1b[K|\r|w", strings.Repeat("x", 20)+"|\b|y", strings.Repeat("x", 20)+"\n|y", strings.Repeat("x", 20)+"\t|y",
		strings.Repeat("x", 19)+"日|\x1b[20G日|\x1b[?7l\x1b[20G日|x|日本|\u0301", "\x1b[?7l"+strings.Repeat("y", 25)+"|z|\x1b[?7h!",
		"\x1b[?45habc\r\n"+strings.Repeat("x", 21)+"|\b\b|\b\b\b|\x1b[2;1H\b|\x1b[3;1H\b\b\b", "\x1b[6;1H"+strings.Repeat("x", 45), "\x1b[20hab\ncd\x1b[20l\nef\x0bg\x0ch")
	add("cursor",
		text+"|\x1b[H\x1b[3B\x1b[2C|\x1b[A\x1b[D|\x1b[99A\x1b[99D|\x1b[99B\x1b[99C|\x1b[0A\x1b[0D|\x1b[2E|\x1b[2F|\x1b[7G|\x1b[3`|\x1b[2d|\x1b[2e\x1b[3a|\x1b[;5H|\x1b[2H|\x1b[0;0f|\x1b[99;99H",
		"\x1b[2;4r|\x1b[99A\x1b[99B\x1b[99B|\x1b[1;3H\x1b[A|\x1b[6H\x1b[B\x1b[A\x1b[9A|\x1b[9E\x1b[9F|\x1b[;r\x1b[0;0r\x1b[4;2r\x1b[9;9r\x1b[3r")
	add("origin mode",
		"\x1b[2;5r\x1b[?6h|\x1b[2;3Hx|\x1b[99;99Hy|\x1b[H\x1b[9Az|\x1b[9Bw|\x1b[3d\x1b[2e|\x1b[2F\x1b[E|\x1b[?6l|\x1b[3;3H\x1b7\x1b[?6h\x1b8|\x1b[r\x1b[2H",
		"\x1b[2;5r\x1b[?6h\x1b[2J\x1b#8|\x1b[6n|\x1b[?6n|\x1b[!p\x1b[2;2H")
	add("tab stops",
		"\ta|\tb|\tc|\td|\x1b[Z|\x1b[2Z|\x1b[9Z", "\x1b[5G\x1bH\x1b[11G\x1bH\r\t|\t|\t|\x1b[5G\x1b[g\r\t|\x1b[3g\r\t|\r\x1b[2Ix", "\r\x1b[I|\x1b[2I|\x1b[99I|\x1b[0Z", strings.Repeat("x", 20)+"\ty",
		"\x1b[3g\x1b[7G\x1bH|→ 40x6|\r\t.\t.\t.|→ 12x6|\r\t.\t.")
	add("save and restore",
		"\x1b[1;31mab\x1b7\x1b[m\x1b[4Hc|\x1b8d|\x1b[s\x1b[H\x1b[ue|\x1b[?1048h\x1b[5Hx\x1b[?1048ly", "\x1b[4;58:5:3mab\x1b7\x1b[mc\x1b8d|\x1b]8;;http://a\x1b\\e\x1b8f\x1b[mg",
		"\x1b[3;3H\x1b7\n\n\n\n\n\n\n|\x1b8x", "\x1b8x|\x1b[!p\x1b[5;5H\x1b8y", strings.Repeat("x", 20)+"\x1b7|\x1b8y")
	add("alternate screen",
		text+"|\x1b[?1049h|alt\x1b[31;44m|\x1b[?1049l|x", text+"|\x1b[?47hq|\x1b[?47l|\x1b[?47h", text+"|\x1b[?1047h\x1b[42mq\x1b[2;4r|\x1b[?1047l|\x1b[?1047h", text+"|\x1b[?1049h\x1b[?1049hx\x1b[?1047ly\x1b[?1049lz",
		text+"\x1b[?1049h"+text+"|→ 10x6|→ 25x4|\x1b[?1049l")
	add("resets",
		"\x1b[2;4r\x1b[?6h\x1b[?1;7;25;45;66;1004;2004;2026;1003;1006h\x1b[4;20h\x1b[1;4:3;31;44m\x1b[1\"q\x1b(0\x1b[5 q\x1b[3g\x1b]8;;http://a\x1b\\x\x1b7|\x1b[!p|y|\x1b8z|\x1bc|w",
		"\x1b[?1049hx\x1bc|y", text+"\n\n\n\x1bcx", "\x1b[?25l\x1bcx|\x1b[!p")
	add("synchronized output and cursor style",
		"\x1b[?2026hx|\x1b[?2026l|\x1b[1 q|\x1b[2 q|\x1b[3 q|\x1b[4 q|\x1b[5 q|\x1b[6 q|\x1b[7 q|\x1b[8 q|\x1b[0 q|\x1b[ q|\x1b[?12h|\x1b[?12l|\x1b[?25l|\x1b[?25h")
	add("kitty keyboard and modifyOtherKeys draw nothing",
		"x\x1b[3;3H\x1b[>1uy\x1b[=3;2uz\x1b[<u\x1b[<9uw|\x1b[>4;2m!\x1b[>4m\x1b[>4n\x1b[?4m\x1b[1mb\x1b[>1;2mc")
	add("title stack",
		"\x1b]0;one\a\x1b[22;0t\x1b]2;two\x1b\\|\x1b[22t\x1b[22;2t\x1b]2;three\x07|\x1b[23;2t|\x1b[23t|\x1b[23;0t|\x1b[23;0t|\x1b]1;icon\a\x1b]2;\a|\x1b[22;1t\x1b]2;x\a\x1b[23;1t", strings.Repeat("\x1b]2;t\a\x1b[22;2t", 12)+"|\x1b]2;a;b ✳\a"+strings.Repeat("\x1b[23;2t", 11))
	add("hyperlinks",
		"\x1b]8;;http://a\x1b\\one\x1b]8;;\x1b\\ two|\x1b]8;id=1;http://b\atwo\x1b]8;id=1;http://b\a\x1b]8;;\athree", "\x1b]8;id=1:x=y;http://b?q=1;2\x1b\\x\r\ny\x1b[mz\x1b[4mu|\x1b]8;id=1;\x1b\\v|\x1b]8;;\x1b\\w", "\x1b]8;http://bad\x1b\\x\x1b]8\x1b\\y\x1b]8;;http://long/"+strings.Repeat("x", 60)+"\x1b\\"+strings.Repeat("z", 30))
	add("SGR",
		"\x1b[1;2;3;4;5;7;8;9;53mx|\x1b[22;23;24;25;27;28;29;55my", "\x1b[4:0mA\x1b[4:1mB\x1b[4:2mC\x1b[4:3mD\x1b[4:4mE\x1b[4:5mF\x1b[4:6mG\x1b[21mH\x1b[24mI",
		"\x1b[38;5;1ma\x1b[38:5:2mb\x1b[38;2;1;2;3mc\x1b[38:2:1:2:3md\x1b[38:2::1:2:3me\x1b[38;2;1;2mf\x1b[38;5mg\x1b[38mh\x1b[48:5:999mi\x1b[58:2::9:8:7;4mj\x1b[59mk\x1b[58;5;4ml", "\x1b[38;5;1;48;5;2;1mx\x1b[38;5:1;4my\x1b[;31;mz\x1b[100;90m!\x1b[39;49m.")
	add("widths",
		"✅❌⏳|😀👍🏽|👩\u200d👩\u200d👧\u200d👦|✳\ufe0f❤\ufe0f|🇩🇪|\u00ad\u200b\u2060.|한국 ｱ ＡＢ|\u0300x\u0301\u0302|\u3099か\u3099", "\x1b[19G✅|❌|\x1b[20G⏳x")
	add("strings that draw nothing",
		"a\x1bP1;2|xyz\x1b\\b\x1b_apc\x1b\\c\x1b^pm\x1b\\d\x1bXsos\x1b\\e\x1b]9;n\af\x1b]52;c;aGk=\ag\x1b]133;A\ah\x1b]7501;state=idle\ai\x1b]7;file:///\aj\x1b]777;notify;a;b\ak", "a\x1b[?1;2|x\x18b\x1b[3\x1ac\x1b[1;2\x1b[md\x1b[1\ne\x1b[<1f\x1b[1<2gh\x1b[1:2:3ii\x1b[1 2jj", "\u009b3Cx\u0085y\u0084z\u009d0;t\u009cw\u0090q\u009cv")
	add("reflow",
		"The quick brown fox jumps over the lazy dog\r\nnext\r\n|→ 10x6|→ 33x6|→ 7x3|→ 50x8", "日本語日本語日本語日本語\r\n$ |→ 7x6|→ 11x6|→ 20x6", strings.Repeat("line that is longer than the screen\r\n", 9)+"|→ 15x4|→ 40x9|→ 20x2|→ 12x12", "\x1b[44m"+strings.Repeat("colour ", 9)+"\x1b[m\r\n\r\n|→ 9x6|→ 30x6", "prompt "+strings.Repeat("typed ", 6)+"|→ 10x6|→ 40x6")
	return list
}

// TestOracle_features plays each feature of the terminal by itself.
func TestOracle_features(t *testing.T) {
	o := startOracle(t)
	for _, f := range features() {
		t.Run(f.name, func(t *testing.T) {
			for _, stream := range f.streams {
				term := New(Options{Cols: 20, Rows: 6, Scrollback: 100})
				var ops []oracleOp
				var ours []oracleDump
				for step := range strings.SplitSeq(stream, "|") {
					op := oracleOp{Write: []byte(step), Dump: true}
					var cols, rows int
					if n, _ := fmt.Sscanf(step, "→ %dx%d", &cols, &rows); n == 2 {
						op = oracleOp{Resize: []int{cols, rows}, Dump: true}
						term.Resize(cols, rows)
					} else {
						term.Write(op.Write)
					}
					d := term.dump()
					d.Replies = string(term.TakeReplies())
					ops, ours = append(ops, op), append(ours, d)
				}
				dumps := o.run(t, 20, 6, 100, ops)
				if dumps == nil {
					t.Fatalf("%q: xterm.js failed", stream)
				}
				for i := range ours {
					if d := difference(ours[i], dumps[0][i]); d != "" {
						t.Errorf("%q, step %d: %s", stream, i, d)
						break
					}
				}
				plain := &cut{cols: 20, rows: 6, before: []oracleOp{{Write: []byte(strings.ReplaceAll(stream, "|", ""))}}, after: []oracleOp{{Write: []byte("\x1b[mx\t日")}}}
				if strings.Contains(stream, "→") {
					continue
				}
				if _, problem, _, ok := plain.check(t, o); !ok || problem != "" {
					t.Errorf("%q, repainted: %s", stream, problem)
				}
			}
		})
	}
}

// TestOracle_modes asks for the state of every mode, as it is at first, set and
// reset, and for what DECRQSS and DSR tell. Two answers differ on purpose: the
// column of a pending wrap is the last one, as xterm has it, not one beyond, and
// DECRQSS tells the pen and the cursor style that are in force.
func TestOracle_modes(t *testing.T) {
	o := startOracle(t)
	var asks []string
	for _, r := range [][2]int{{0, 120}, {1000, 1070}, {2000, 2050}} {
		for n := r[0]; n <= r[1]; n++ {
			asks = append(asks, fmt.Sprintf("\x1b[?%d$p\x1b[?%[1]dh\x1b[?%[1]d$p\x1b[?%[1]dl\x1b[?%[1]d$p", n))
		}
	}
	for n := range 40 {
		asks = append(asks, fmt.Sprintf("\x1b[%d$p\x1b[%[1]dh\x1b[%[1]d$p\x1b[%[1]dl\x1b[%[1]d$p", n))
	}
	asks = append(asks, "\x1b[c", "\x1b[>c", "\x1b[0c", "\x1b[1c", "\x1b[5n", "\x1b[2;3H\x1b[6n", "\x1b[?6n", "\x1b[7n",
		"\x1bP$q\"q\x1b\\", "\x1b[1\"q\x1bP$q\"q\x1b\\", "\x1bP$q\"p\x1b\\", "\x1bP$qr\x1b\\", "\x1b[2;4r\x1bP$qr\x1b\\", "\x1bP$qm\x1b\\", "\x1bP$q q\x1b\\", "\x1bP$qx\x1b\\", "\x1bP$q\x1b\\")
	for _, ask := range asks {
		term := New(Options{Cols: 20, Rows: 6})
		term.Write([]byte(ask))
		got := string(term.TakeReplies())
		if want := o.run(t, 20, 6, 100, []oracleOp{{Write: []byte(ask), Dump: true}})[0][0].Replies; got != want {
			t.Errorf("%q is answered by %q, xterm.js says %q", ask, got, want)
		}
	}
}
