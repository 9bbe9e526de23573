package demo

import (
	"io"
	"strings"
	"unicode/utf8"
)

// screen draws the way Ink programs do: lines that stay, and below them a few
// live lines that are erased and drawn again with every change. It never uses
// the alternate screen. One goroutine uses it.
type screen struct {
	out  io.Writer
	size func() (cols, rows int)

	live []string // what is drawn below the lines that stay
	err  error    // the first failed write
}

const (
	styleReset = "\x1b[0m"
	styleDim   = "\x1b[2m"
	styleBold  = "\x1b[1m"
	styleTeal  = "\x1b[38;2;45;180;165m"
	styleAmber = "\x1b[38;5;214m"
	styleRed   = "\x1b[31m"
	styleGreen = "\x1b[32m"

	beginSync = "\x1b[?2026h"
	endSync   = "\x1b[?2026l"
)

// keep prints lines that stay, above the live ones.
func (s *screen) keep(lines ...string) {
	var b strings.Builder
	b.WriteString(beginSync)
	s.erase(&b)
	for _, line := range lines {
		b.WriteString(line + styleReset + "\r\n")
	}
	s.paint(&b)
	b.WriteString(endSync)
	s.write(b.String())
}

// draw replaces the live lines.
func (s *screen) draw(lines []string) {
	var b strings.Builder
	b.WriteString(beginSync)
	s.erase(&b)
	s.live = lines
	s.paint(&b)
	b.WriteString(endSync)
	s.write(b.String())
}

// raw writes a sequence that draws nothing, such as a title.
func (s *screen) raw(sequence string) { s.write(sequence) }

// erase goes to the first live row and clears from there. After a narrower
// window has wrapped the live lines they take more rows than lines.
func (s *screen) erase(b *strings.Builder) {
	if len(s.live) == 0 {
		return
	}
	cols, _ := s.size()
	rows := 0
	for _, line := range s.live {
		rows += max(1, (width(line)+cols-1)/cols)
	}
	b.WriteString("\r" + strings.Repeat("\x1b[1A", rows-1) + "\x1b[J")
}

func (s *screen) paint(b *strings.Builder) {
	cols, _ := s.size()
	for i, line := range s.live {
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(clip(line, cols-1) + styleReset)
	}
}

func (s *screen) write(text string) {
	if s.err == nil {
		_, s.err = io.WriteString(s.out, text)
	}
}

// width counts the cells of a line without its SGR sequences.
func width(line string) int {
	cells := 0
	forEachCell(line, func(_ string, w int) bool { cells += w; return true })
	return cells
}

// clip shortens a line to so many cells and keeps its SGR sequences.
func clip(line string, cells int) string {
	var b strings.Builder
	forEachCell(line, func(text string, w int) bool {
		if w > cells {
			return false
		}
		cells -= w
		b.WriteString(text)
		return true
	})
	return b.String()
}

// wrap cuts text into lines of so many cells, at spaces where there are some.
func wrap(text string, cells int) []string {
	cells = max(cells, 1)
	var lines []string
	for _, paragraph := range strings.Split(text, "\n") {
		line := ""
		for _, word := range strings.Split(paragraph, " ") {
			switch {
			case line == "":
				line = word
			case width(line)+1+width(word) <= cells:
				line += " " + word
			default:
				lines = append(lines, line)
				line = word
			}
			for width(line) > cells {
				head := clip(line, cells)
				if head == "" {
					break // a character wider than the window
				}
				lines = append(lines, head)
				line = line[len(head):]
			}
		}
		lines = append(lines, line)
	}
	return lines
}

// forEachCell calls take for each character and, with width 0, each SGR
// sequence, until take says to stop.
func forEachCell(line string, take func(text string, w int) bool) {
	for len(line) > 0 {
		if strings.HasPrefix(line, "\x1b[") {
			if end := strings.IndexByte(line, 'm'); end > 0 {
				if !take(line[:end+1], 0) {
					return
				}
				line = line[end+1:]
				continue
			}
		}
		r, n := utf8.DecodeRuneInString(line)
		if !take(line[:n], runeWidth(r)) {
			return
		}
		line = line[n:]
	}
}

// runeWidth is good enough for what people type into a demo: East Asian and
// emoji are two cells, combining marks none.
func runeWidth(r rune) int {
	switch {
	case r < 0x20, r == 0x7f, r == 0x200d, r >= 0x300 && r <= 0x36f, r >= 0xfe00 && r <= 0xfe0f:
		return 0
	case r >= 0x1100 && r <= 0x115f, r >= 0x2e80 && r <= 0xa4cf, r >= 0xac00 && r <= 0xd7a3,
		r >= 0xf900 && r <= 0xfaff, r >= 0xff00 && r <= 0xff60, r >= 0x1f300 && r <= 0x1faff, r >= 0x20000 && r <= 0x3fffd:
		return 2
	}
	return 1
}
