// Package payload makes what programs print, for measuring terminals: the kinds
// that VT benchmarks know (after the shapes of vtebench), logs, and the output
// of full-screen programs. The same name always gives the same bytes.
//
// It only makes bytes: it knows no terminal and never reads the network. The
// tests of internal/vt and the benchmark beside it call it; nothing that runs in
// a program does.
package payload

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// Cols and Rows are the size of the screen that the payloads are made for.
const (
	Cols = 80
	Rows = 24
)

// size is how many bytes a generated payload has at least. A repetition is
// longer than every cache's favourite, and short enough to make at once.
const size = 1 << 20

// A Payload is one kind of output.
type Payload struct {
	// Name is what tables call it.
	Name string
	// Scrolls says that its lines leave the screen, so that a full history
	// belongs to the measurement.
	Scrolls bool

	make func(g *generator)
}

// List names the payloads in the order of the tables.
var List = []Payload{
	{"yes, 3-byte lines", true, (*generator).yes},
	{"ascii log, 44-byte lines", true, (*generator).asciiLog},
	{"scrolling full-width lines", true, (*generator).scrollingFullscreen},
	{"light cells", false, (*generator).lightCells},
	{"colour log", true, (*generator).colourLog},
	{"dense cells", false, (*generator).denseCells},
	{"cursor motion", false, (*generator).cursorMotion},
	{"medium cells, an editor", false, (*generator).mediumCells},
	{"unicode", true, (*generator).unicode},
	{"CJK, emoji, boxes, scrolling", true, (*generator).cjk},
	{"agent UI, redrawn in place", false, (*generator).agentUI},
	{"editor, process list, pager", false, (*generator).fullScreenPrograms},
}

// Bytes makes the payload.
func (p Payload) Bytes() []byte {
	g := &generator{random: rand.New(rand.NewPCG(20, 26))}
	for g.Len() < size {
		p.make(g)
	}
	return g.Bytes()
}

// Captures is the output of real agent programs recorded in a folder, one after
// the other, with the number of recordings; 0 where there are none.
func Captures(folder string) ([]byte, int) {
	files, _ := filepath.Glob(filepath.Join(folder, "*.bin"))
	var all []byte
	n := 0
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		// Each begins on a terminal that an earlier one did not change.
		all = append(append(all, "\x1b[?1049l\x1b[!p\x1b[r\x1b[?25h\x1b[m\r\n"...), content...)
		n++
	}
	return all, n
}

type generator struct {
	bytes.Buffer
	random *rand.Rand
	turn   int
}

func (g *generator) printf(format string, args ...any) { fmt.Fprintf(g, format, args...) }

var words = strings.Fields("building package main with cache hit for target linux amd64 took ms error warning info request served")

func (g *generator) word() string { return words[g.random.IntN(len(words))] }

// text is n columns of words.
func (g *generator) text(n int) string {
	var b strings.Builder
	for b.Len() < n {
		b.WriteString(g.word())
		b.WriteByte(' ')
	}
	return b.String()[:n]
}

func (g *generator) yes() { g.WriteString("y\r\n") }

func (g *generator) asciiLog() { g.printf("%s\r\n", g.text(42)) }

func (g *generator) scrollingFullscreen() {
	g.printf("%s\r\n", strings.Repeat(string(rune('A'+g.turn%26)), Cols))
	g.turn++
}

func (g *generator) lightCells() {
	g.printf("\x1b[H%s", strings.Repeat(string(rune('A'+g.turn%26)), Cols*Rows))
	g.turn++
}

func (g *generator) colourLog() {
	level := []string{"\x1b[32mINFO\x1b[0m", "\x1b[1;33mWARN\x1b[0m", "\x1b[31mERROR\x1b[0m", "\x1b[36mDEBUG\x1b[0m"}[g.random.IntN(4)]
	g.printf("\x1b[2m12:%02d:%02d\x1b[0m %s \x1b[38;5;%dm%s\x1b[0m %s \x1b[1m%s\x1b[22m=%d\r\n",
		g.random.IntN(60), g.random.IntN(60), level, g.random.IntN(256), g.word(), g.text(16), g.word(), g.random.IntN(1000))
}

func (g *generator) denseCells() {
	g.WriteString("\x1b[H")
	for i := range Cols * Rows {
		g.printf("\x1b[38;5;%d;48;5;%d;1;3;4m%c", (g.turn+i)%156+100, 255-(g.turn+i)%156, 'A'+rune(g.turn%26))
	}
	g.turn++
}

func (g *generator) cursorMotion() {
	for left, top := 0, 0; left < Cols/2 && top < Rows/2; left, top = left+1, top+1 {
		for x := left; x < Cols-left; x++ {
			g.printf("\x1b[%d;%dH%c", top+1, x+1, 'A'+rune(g.turn%26))
		}
		for y := top; y < Rows-top; y++ {
			g.printf("\x1b[%d;%dH%c", y+1, Cols-left, 'A'+rune(g.turn%26))
		}
		for x := Cols - left; x > left; x-- {
			g.printf("\x1b[%d;%dH%c", Rows-top, x, 'A'+rune(g.turn%26))
		}
		for y := Rows - top; y > top; y-- {
			g.printf("\x1b[%d;%dH%c", y, left+1, 'A'+rune(g.turn%26))
		}
	}
	g.turn++
}

// sourceLine is a line of source text in an editor's colours.
func (g *generator) sourceLine(number int) {
	g.printf("\x1b[38;5;130m%4d \x1b[m%s\x1b[38;5;130m%s\x1b[m %s \x1b[34m// %s\x1b[m\x1b[K",
		number, strings.Repeat("    ", g.random.IntN(4)), g.word(), g.text(8+g.random.IntN(16)), g.text(g.random.IntN(24)))
}

// mediumCells is an editor that scrolls through a file and inserts lines.
func (g *generator) mediumCells() {
	if g.turn%40 == 0 {
		g.WriteString("\x1b[?1049h\x1b[?1h\x1b=\x1b[?2004h\x1b[1;24r\x1b[H\x1b[2J")
		for y := 1; y < Rows; y++ {
			g.printf("\x1b[%d;1H", y)
			g.sourceLine(g.turn + y)
		}
	}
	g.turn++
	switch g.random.IntN(4) {
	case 0, 1:
		g.WriteString("\x1b[?25l\x1b[1;23r\x1b[23;1H\n\x1b[1;24r\x1b[23;1H")
		g.sourceLine(g.turn + Rows)
	case 2:
		g.WriteString("\x1b[?25l\x1b[1;23r\x1b[1;1H\x1b[L\x1b[1;24r\x1b[1;1H")
		g.sourceLine(g.turn)
	case 3:
		y := 1 + g.random.IntN(Rows-2)
		g.printf("\x1b[?25l\x1b[%d;6H\x1b[1m%s\x1b[m\x1b[%d;%dH\x1b[P\x1b[@", y, g.text(20), y, 10+g.random.IntN(40))
	}
	g.printf("\x1b[24;1H\x1b[1m-- INSERT --\x1b[m\x1b[24;63H%d,%d\x1b[24;77H%d%%\x1b[K\x1b[%d;%dH\x1b[?25h",
		g.turn, g.random.IntN(60), g.turn%100, 1+g.random.IntN(23), 1+g.random.IntN(80))
}

// unicode is text of many scripts and symbols, wrapped at the margin.
func (g *generator) unicode() {
	blocks := [...][2]rune{
		{0xa1, 0x24f}, {0x391, 0x3ff}, {0x410, 0x44f}, {0x5d0, 0x5ea}, {0x2190, 0x22ff}, {0x2500, 0x259f},
		{0x3041, 0x3096}, {0x4e00, 0x9fa5}, {0xac00, 0xd7a3}, {0x1f300, 0x1f5ff}, {0x1f600, 0x1f64f},
	}
	b := blocks[g.random.IntN(len(blocks))]
	for range 24 {
		g.WriteRune(b[0] + rune(g.random.IntN(int(b[1]-b[0])+1)))
	}
	g.WriteByte(' ')
	if g.turn++; g.turn%8 == 0 {
		g.WriteString("\r\n")
	}
}

func (g *generator) cjk() {
	lines := [...]string{
		"日本語の文字列を端末に表示する 한국어 🎉 ─── │ ok",
		"│ 编译完成：12 个文件，0 个错误 ✅ │ 用时 3.2 秒",
		"├──────────────┼───────────┤ 漢字かな交じり文",
		"🚀 배포 시작… 완료 👍 ╭─╮ データベース接続",
	}
	g.printf("%s %d\r\n", lines[g.random.IntN(len(lines))], g.random.IntN(1000))
}

// agentUI is a coding agent's screen in the manner of Ink: it erases its lines
// from the bottom up and prints them again.
func (g *generator) agentUI() {
	const width = Cols - 2
	g.turn++
	if g.turn%50 == 0 {
		g.WriteString("\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K\x1b[G")
		g.printf("\x1b[38;2;78;186;101m⏺\x1b[39m %s\r\n  ⎿  \x1b[2m%s\x1b[22m\r\n\r\n\r\n\r\n\r\n\r\n\r\n", g.text(60), g.text(40))
	}
	g.WriteString("\x1b[?2026h\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K\x1b[G")
	g.printf("\x1b[38;2;215;119;87m%c\x1b[39m \x1b[38;2;215;119;87m\x1b[1m%s…\x1b[22m\x1b[39m \x1b[2m(%ds · ↑ %d tokens · esc to interrupt)\x1b[22m\r\n\r\n",
		[]rune("·✢✳✶✻✽")[g.turn%6], "Thinking", g.turn/10, g.turn*7)
	g.printf("\x1b[2m\x1b[38;2;136;136;136m╭%s╮\x1b[39m\x1b[22m\r\n", strings.Repeat("─", width))
	g.printf("\x1b[2m\x1b[38;2;136;136;136m│\x1b[39m\x1b[22m > %s\x1b[7m \x1b[27m%s\x1b[2m\x1b[38;2;136;136;136m│\x1b[39m\x1b[22m\r\n", g.text(30), strings.Repeat(" ", width-34))
	g.printf("\x1b[2m\x1b[38;2;136;136;136m╰%s╯\x1b[39m\x1b[22m\r\n", strings.Repeat("─", width))
	g.WriteString("  \x1b[2m? for shortcuts\x1b[22m\x1b[?2026l")
}

// fullScreenPrograms are an editor, a process list and a pager by turns.
func (g *generator) fullScreenPrograms() {
	switch g.turn / 64 % 3 {
	case 0:
		g.mediumCells()
	case 1:
		g.processList()
	case 2:
		g.pager()
	}
}

func (g *generator) processList() {
	g.turn++
	g.WriteString("\x1b[H")
	for n := range 4 {
		used := g.random.IntN(40)
		g.printf("\x1b[36m%3d\x1b(B\x1b[0;1m[\x1b[32m%s\x1b[31m%s\x1b[30m%s %5.1f%%\x1b(B\x1b[0;1m]\x1b(B\x1b[m\x1b[K\r\n",
			n, strings.Repeat("|", used*2/3), strings.Repeat("|", used/3), strings.Repeat(" ", 60-used*2/3-used/3), float64(used)*2.5)
	}
	g.WriteString("\x1b[30;42m  PID USER      PRI  NI  VIRT   RES   SHR S  CPU% MEM%   TIME+  Command\x1b[K\x1b(B\x1b[m\r\n")
	for y := 6; y < Rows; y++ {
		g.printf("\x1b[%dd%5d user       20   0 \x1b[36m %3d\x1b[39mM \x1b[36m%3d\x1b[39mM %4d \x1b[32mR\x1b[39m  %4.1f  0.%d  %d:%02d.%02d \x1b[1m%s\x1b[22m\x1b[K\r\n",
			y, g.random.IntN(32768), g.random.IntN(999), g.random.IntN(999), g.random.IntN(9999), g.random.Float64()*99, g.random.IntN(9),
			g.random.IntN(9), g.random.IntN(60), g.random.IntN(100), g.word())
	}
	g.WriteString("\x1b[24;1H\x1b[1mF1\x1b[30;46mHelp  \x1b(B\x1b[0;1mF2\x1b[30;46mSetup \x1b(B\x1b[0;1mF10\x1b[30;46mQuit\x1b(B\x1b[m\x1b[K")
}

func (g *generator) pager() {
	g.turn++
	if g.turn%2 == 0 {
		g.printf("\x1b[H\x1bM%s\x1b[24;1H\x1b[K:\x1b[K", g.text(70))
		return
	}
	for range 4 {
		g.printf("\r\x1b[K\x1b[1m%s\x1b[0m %s\r\n", g.word(), g.text(50))
	}
	g.WriteString(":\x1b[K")
}
