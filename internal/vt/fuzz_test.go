package vt

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/agent-helm/agent-helm/internal/vt/payload"
)

// A fuzz input is bytes to write, with resizes where a 0x00 stands before two
// bytes. It is written in pieces of that many bytes, 0 for as much as there is.
func playFuzz(t *Terminal, input []byte, piece int) {
	write := func(p []byte) {
		for ; piece > 0 && len(p) > piece; p = p[piece:] {
			t.Write(p[:piece])
		}
		t.Write(p)
	}
	for len(input) > 0 {
		i := bytes.IndexByte(input, 0)
		if i < 0 || i+2 >= len(input) {
			write(input)
			return
		}
		write(input[:i])
		t.Resize(int(input[i+1])%100, int(input[i+2])%40)
		input = input[i+3:]
	}
}

// fuzzSizes are the sizes that a fuzzed terminal begins with.
var fuzzSizes = [][2]int{{20, 6}, {2, 1}, {80, 24}, {1, 1000}, {1000, 1}, {132, 50}, {9, 3}, {300, 100}}

// FuzzWrite feeds anything, and checks that nothing failed, that cutting does
// not matter, that State and Restore lose nothing, and that a Repaint is short
// and asks nothing.
func FuzzWrite(f *testing.F) {
	for seed := range uint64(30) {
		g := newGenerator(seed, false)
		f.Add(append(g.stream(15), append([]byte{0, byte(seed), byte(seed * 3)}, g.stream(15)...)...), uint16(seed*11))
	}
	f.Add([]byte("\x1b[99999999999999999999b\x1b[2147483647I\x1b[-5P\x1b[1;50r\x1b[M\x1b[1500000000S"), uint16(3))
	for i, h := range payload.HostileList {
		f.Add(h.Bytes()[:1024], uint16(i))
	}
	f.Add([]byte("\x1b]0;\u2733 Claude Code\a\x1b[999;999H\x1b[1Jx"), uint16(9))
	f.Fuzz(func(t *testing.T, input []byte, cut uint16) {
		if len(input) > 1<<16 {
			return
		}
		size := fuzzSizes[cut%8]
		options := Options{Cols: size[0], Rows: size[1], Scrollback: 20, Archive: 1 << 20}
		a := New(options)
		playFuzz(a, input, 0)
		if a.Faults() != 0 {
			t.Fatalf("fault on %q", input)
		}
		b := New(options)
		playFuzz(b, input, 1+int(cut/8)%97)
		if d := a.Diff(b); d != "" {
			t.Fatalf("%q in pieces of %d: %s", input, 1+int(cut/8)%97, d)
		}
		if !bytes.Equal(a.State(-1), b.State(-1)) {
			t.Fatalf("%q in pieces of %d: the states differ", input, 1+int(cut/8)%97)
		}
		if n := a.scrollback.memory() + a.archive.store.memory(); n > 8<<20 {
			t.Fatalf("%q: histories of %d bytes", input, n)
		}
		c, err := Restore(a.State(-1))
		if err != nil {
			t.Fatalf("%q: %v", input, err)
		}
		if d := a.Diff(c); d != "" {
			t.Fatalf("%q restored: %s", input, d)
		}
		if !bytes.Equal(a.State(-1), c.State(-1)) {
			t.Fatalf("%q restored: the states differ", input)
		}
		if _, err := Restore(a.State(int(cut % 11))); err != nil {
			t.Fatalf("%q, without all of the history: %v", input, err)
		}
		repaint := a.Repaint()
		if len(repaint) > maxRepaint {
			t.Fatalf("repaint of %d bytes", len(repaint))
		}
		d := New(Options{Cols: a.cols, Rows: a.rows, Scrollback: 20})
		d.Write(repaint)
		if len(d.TakeReplies()) != 0 || d.observed.Bell != 0 || d.observed.Notification.Count != 0 ||
			d.observed.Clipboard.Count != 0 || d.observed.Program.Count != 0 {
			t.Fatalf("%q: the repaint acts: %q", input, repaint)
		}
		a.Page(0, 50)
		a.Observe()
		a.Screen()
		a.ANSI(TextOptions{History: -1, Join: true})
	})
}

// FuzzRestore feeds Restore anything, with the right checksum.
func FuzzRestore(f *testing.F) {
	for seed := range uint64(20) {
		g := newGenerator(seed, false)
		t := New(Options{Cols: 20, Rows: 6, Scrollback: 20})
		t.Write(g.stream(60))
		s := t.State(-1)
		f.Add(s[:len(s)-4])
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		if len(body) > 1<<16 {
			return
		}
		state := binary.BigEndian.AppendUint32(append([]byte(nil), body...), crc32.Checksum(body, castagnoli))
		term, err := Restore(state)
		if err != nil {
			return
		}
		term.Write([]byte("x\r\n\x1b[3J\x1b[2;3H\x1b8\u65e5\u0301\x1b[?1049h\x1b[5Ly\x1b[?1049l"))
		term.Resize(13, 4)
		term.Resize(50, 9)
		term.Write(bytes.Repeat([]byte("line of text\r\n"), 30))
		if term.Faults() != 0 && term.faults < 1<<20 {
			again, _ := Restore(state)
			if again != nil && again.faults != term.faults {
				t.Fatalf("a restored terminal fails")
			}
		}
		if _, err := Restore(term.State(-1)); err != nil {
			t.Fatalf("cannot be restored again: %v", err)
		}
		term.Repaint()
		term.Page(0, 100)
		term.Observe()
	})
}

// TestRestore_damaged truncates and flips states at every byte.
func TestRestore_damaged(t *testing.T) {
	g := newGenerator(5, false)
	term := New(Options{Cols: 20, Rows: 6, Scrollback: 20})
	term.Write(g.stream(60))
	state := term.State(-1)
	for n := range state {
		if _, err := Restore(state[:n]); err == nil {
			t.Fatalf("%d of %d bytes restored", n, len(state))
		}
		bad := bytes.Clone(state)
		bad[n] ^= 0x41
		if _, err := Restore(bad); err == nil {
			t.Fatalf("byte %d changed, restored", n)
		}
		// And with a checksum that fits: an error or a terminal that works.
		if n < len(state)-4 {
			binary.BigEndian.PutUint32(bad[len(bad)-4:], crc32.Checksum(bad[:len(bad)-4], castagnoli))
			if broken, err := Restore(bad); err == nil {
				broken.Write([]byte("x\r\n\u65e5\x1b[?1049h\x1b8\x1b[?1049l"))
				broken.Resize(30, 3)
				broken.Repaint()
			}
		}
	}
}

// setRow is for tests that break a terminal on purpose.
func (s *screen) setRow(y int, l *line) { s.rows[(s.base+y)%len(s.rows)] = l }
