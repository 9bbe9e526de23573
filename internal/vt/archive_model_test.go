package vt

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// archiveModel prints lines that occur once each and says which of them the
// archive has to have: those that are no longer on the screen, unless they were
// erased while they were.
type archiveModel struct {
	r    *rand.Rand
	term *Terminal
	next int
	// length is that of each line.
	length []int
	log    strings.Builder
}

func (m *archiveModel) write(s string) {
	if !strings.HasPrefix(s, "n") {
		fmt.Fprintf(&m.log, "write %q after %d of %d\n", s, m.next, m.length[max(0, m.next-1):])
	}
	m.term.Write([]byte(s))
}

// text is a line of its own, now and then longer than the screen is wide.
func (m *archiveModel) text() string {
	m.next++
	l := strings.Repeat(fmt.Sprintf("n%06d-", m.next), 1+m.r.IntN(3)*m.r.IntN(8))
	m.length = append(m.length, len(l))
	return l
}

var modelNumber = regexp.MustCompile(`n(\d{6})-`)

// check looks for lines that are there twice or out of order. A line may be torn
// where a part of it was erased.
func (m *archiveModel) check(t *testing.T, seed uint64) {
	t.Helper()
	last, length := 0, 0
	text := archiveText(m.term)
	for _, l := range text {
		match := modelNumber.FindStringSubmatch(l)
		if match == nil {
			continue
		}
		n, _ := strconv.Atoi(match[1])
		if n > last {
			last, length = n, 0
		}
		if length += len(l); n < last || length > m.length[n-1] {
			t.Fatalf("seed %d: %.40q (%d) behind %d in %.20q\n%s", seed, l, len(l), last, text[max(0, len(text)-60):], m.log.String())
		}
	}
}

// TestArchive_model: whatever clears and resizes come between, no line is there
// twice and the order is that of printing.
func TestArchive_model(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 11))
		m := &archiveModel{r: r, term: New(Options{Cols: 20 + r.IntN(80), Rows: 4 + r.IntN(40), Scrollback: 50 + r.IntN(500)})}
		for range 60 {
			switch k := r.IntN(12); k {
			default:
				for range r.IntN(60) {
					m.write(m.text() + "\r\n")
				}
			case 0, 1, 2, 3:
				cols, rows := 10+r.IntN(120), 2+r.IntN(60)
				fmt.Fprintf(&m.log, "resize %dx%d\n", cols, rows)
				m.term.Resize(cols, rows)
			case 4:
				m.write("\x1b[H\x1b[2J\x1b[3J")
			case 5:
				m.write("\x1b[H\x1b[2J")
			case 6:
				m.write("\x1bc")
			case 7:
				m.write("\x1b[3J")
			}
			m.check(t, seed)
			if r.IntN(8) == 0 {
				again, err := Restore(m.term.State(-1))
				if err != nil {
					t.Fatal(err)
				}
				m.term = again
			}
		}
	}
}

// TestArchive_complete: without clears every line is in the archive or on the
// screen, once, whole and in order.
func TestArchive_complete(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 12))
		m := &archiveModel{r: r, term: New(Options{Cols: 20 + r.IntN(80), Rows: 4 + r.IntN(40)})}
		var want []string
		for range 30 {
			if r.IntN(2) == 0 {
				for range r.IntN(60) {
					l := m.text()
					fmt.Fprintf(&m.log, "print %d × %d\n", m.next, len(l))
					want = append(want, l)
					m.write(l + "\r\n")
				}
			} else {
				cols, rows := 10+r.IntN(120), 2+r.IntN(60)
				fmt.Fprintf(&m.log, "resize %dx%d\n", cols, rows)
				m.term.Resize(cols, rows)
			}
			// Text puts a line together that is half above the screen.
			count := map[string]int{}
			for _, l := range strings.Split(m.term.Text(TextOptions{History: -1, Join: true}), "\n") {
				count[l]++
			}
			for _, l := range want {
				if count[l] == 0 {
					t.Fatalf("seed %d: %q is lost\n%s", seed, l, m.log.String())
				}
			}
			m.check(t, seed)
		}
	}
}

// TestArchive_returned is how a line came to be there twice: rows that the
// screen took back from the scrollback left it again in part, and the rest was
// erased.
func TestArchive_returned(t *testing.T) {
	term := New(Options{Cols: 80, Rows: 24})
	for i := range 400 {
		term.Write([]byte(strings.Repeat(fmt.Sprintf("old-%d-", i), 7) + "\r\n"))
	}
	term.Resize(53, 45)
	term.Write([]byte("clear\r\n\x1b[H\x1b[2J\x1b[3J"))
	for i := range 100 {
		term.Write([]byte(strings.Repeat(fmt.Sprintf("new-%d-", i), 7) + "\r\n"))
	}
	seen := map[string]bool{}
	for _, l := range archiveText(term) {
		if seen[l] && l != "" {
			t.Errorf("%q is there twice", l)
		}
		seen[l] = true
	}
}
