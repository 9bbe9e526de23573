package vt

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// payloads are about 1 MiB each of what programs print.
func payloads() map[string][]byte {
	r := rand.New(rand.NewPCG(1, 2))
	words := strings.Fields("building package main with cache hit for target linux amd64 took ms error warning info request served")
	word := func() string { return words[r.IntN(len(words))] }
	var ascii, colour, cjk, ink bytes.Buffer
	for ascii.Len() < 1<<20 {
		fmt.Fprintf(&ascii, "%s %s %s %s %s %d\r\n", word(), word(), word(), word(), word(), r.IntN(10000))
	}
	for colour.Len() < 1<<20 {
		fmt.Fprintf(&colour, "\x1b[32m%s\x1b[0m %s \x1b[1;33m%s\x1b[0m %s \x1b[38;5;%dm%s\x1b[m\r\n", word(), word(), word(), word(), r.IntN(256), word())
	}
	for cjk.Len() < 1<<20 {
		cjk.WriteString("日本語の文字列を端末に表示する 한국어 🎉 ─── │ ok\r\n")
	}
	for ink.Len() < 1<<20 {
		ink.WriteString("\x1b[2K\x1b[1A\x1b[2K\x1b[1A\x1b[2K\x1b[G")
		fmt.Fprintf(&ink, "\x1b[38;2;215;119;87m✻\x1b[39m \x1b[1mThinking…\x1b[22m (%ds)\r\n\x1b[2m╰──────────────╯\x1b[22m\r\n> ", r.IntN(100))
	}
	return map[string][]byte{
		"ascii": ascii.Bytes(), "colour": colour.Bytes(), "cjk": cjk.Bytes(), "ink": ink.Bytes(),
		"yes": bytes.Repeat([]byte("y\r\n"), 1<<20/3),
	}
}

// BenchmarkWrite measures a terminal whose history is full, in 16 KiB writes.
func BenchmarkWrite(b *testing.B) {
	for name, p := range payloads() {
		b.Run(name, func(b *testing.B) {
			t := New(Options{Cols: 80, Rows: 24})
			for t.scrollback.len() < 10000 && name != "ink" {
				t.Write(p)
			}
			b.SetBytes(int64(len(p)))
			b.ReportAllocs()
			for b.Loop() {
				for q := p; len(q) > 0; {
					n := min(len(q), 16<<10)
					t.Write(q[:n])
					q = q[n:]
				}
			}
			if n := t.scrollback.len(); n > 0 {
				used := 0
				for _, c := range t.scrollback.chunks {
					used += c.size()
				}
				b.ReportMetric(float64(used)/float64(n), "B/line")
			}
		})
	}
}

func BenchmarkRepaint(b *testing.B) {
	t := New(Options{Cols: 80, Rows: 24})
	t.Write(payloads()["colour"][:8<<10])
	n := 0
	for b.Loop() {
		n = len(t.Repaint())
	}
	b.ReportMetric(float64(n), "B")
}

func BenchmarkObserve(b *testing.B) {
	t := New(Options{Cols: 80, Rows: 24})
	t.Write(payloads()["colour"][:8<<10])
	for b.Loop() {
		t.Observe()
	}
}

// BenchmarkResize rewraps 10,000 lines.
func BenchmarkResize(b *testing.B) {
	t := New(Options{Cols: 80, Rows: 24})
	t.Write(payloads()["colour"])
	for i := 0; b.Loop(); i++ {
		t.Resize(60+20*(i&1), 24)
	}
}

func BenchmarkState(b *testing.B) {
	t := New(Options{Cols: 80, Rows: 24})
	t.Write(payloads()["colour"])
	n := 0
	for b.Loop() {
		n = len(t.State(-1))
	}
	b.ReportMetric(float64(n), "B")
}

// BenchmarkHostile measures streams made to be slow: none may cost much more
// than its bytes are worth.
func BenchmarkHostile(b *testing.B) {
	var colours, links, reprint, clusters bytes.Buffer
	for i := range 8192 {
		fmt.Fprintf(&colours, "\x1b[38;2;%d;%d;%dmx", i&255, i>>8, i*7&255)
		fmt.Fprintf(&links, "\x1b]8;;http://%d\ax", i)
		fmt.Fprintf(&reprint, "\x1b[2Jline %d\r\n\n\n\n", i%64)
		clusters.WriteString("e" + strings.Repeat("\u0301", 40))
	}
	for name, p := range map[string][]byte{
		"erase":    append([]byte("\x1b[48;5;1m"), bytes.Repeat([]byte("\x1b[2J"), 4096)...),
		"repeat":   bytes.Repeat([]byte("a\x1b[99999b"), 2048),
		"wide":     bytes.Repeat([]byte("漢\x1b[99999b"), 2048),
		"lines":    bytes.Repeat([]byte("\x1b[H\x1b[9999L\x1b[9999M\x1b[9999S\x1b[9999T"), 1024),
		"columns":  bytes.Repeat([]byte("\x1b[ @\x1b[ A"), 2048),
		"screens":  bytes.Repeat([]byte("\x1b[?1049h\x1b[?1049l"), 2048),
		"align":    bytes.Repeat([]byte("\x1b#8"), 4096),
		"reset":    bytes.Repeat([]byte("\x1bc"), 4096),
		"tabs":     bytes.Repeat([]byte("\x1b[3g\r\x1b[9999I\x1b[9999Z"), 2048),
		"colours":  colours.Bytes(),
		"links":    links.Bytes(),
		"reprint":  reprint.Bytes(),
		"clusters": clusters.Bytes(),
		"digits":   append([]byte("\x1b["), bytes.Repeat([]byte("9"), 1<<16)...),
		"titles":   bytes.Repeat([]byte("\x1b]2;x\a\x1b[22t"), 4096),
	} {
		for _, size := range [][2]int{{80, 24}, {300, 100}, {1000, 1000}} {
			b.Run(fmt.Sprintf("%s-%dx%d", name, size[0], size[1]), func(b *testing.B) {
				t := New(Options{Cols: size[0], Rows: size[1]})
				b.SetBytes(int64(len(p)))
				for b.Loop() {
					t.Write(p)
				}
			})
		}
	}
}
