package vt

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// recordingFolder has conversations with coding agents, recorded while their
// terminal got other sizes, and the answers that they showed. Its README says how
// they were made.
const recordingFolder = "testdata/recordings"

// marker is a word of the answers that occurs once in them, and in all others of
// a transcript's lines not at all.
var marker = regexp.MustCompile(`\b(?:item\d{3}|[mw]\d{3}[a-z]?)\b`)

// recordingNames are those whose agent drew on this screen, main or alternate.
func recordingNames(t *testing.T, screen string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(recordingFolder, "*-"+screen+".*.cast.gz"))
	if err != nil || len(paths) < 3 {
		t.Fatalf("%d recordings on the %s screen, %v", len(paths), screen, err)
	}
	for i, p := range paths {
		paths[i] = strings.TrimSuffix(filepath.Base(p), ".cast.gz")
	}
	return paths
}

func readRecording(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(filepath.Join(recordingFolder, name+".cast.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	cast, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return cast
}

// transcriptMarkers are those of the answers that a recording shows, in order.
func transcriptMarkers(t *testing.T, name string) []string {
	t.Helper()
	answers, err := os.ReadFile(filepath.Join(recordingFolder, strings.TrimPrefix(filepath.Ext(name), ".")+".md"))
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	seen := map[string]bool{}
	for _, m := range marker.FindAllString(string(answers), -1) {
		if !seen[m] {
			out = append(out, m)
		}
		seen[m] = true
	}
	return out
}

// departures says in which order markers first left the main screen: which step
// that was, and how many had done so before. It goes by the scrollback, which is
// xterm.js's, looked at after every line that is printed.
type departures struct {
	step  int
	first map[string]int
	rows  int
}

func (d *departures) look(term *Terminal) {
	d.step++
	rows := term.ybaseMain()
	if rows == d.rows {
		return
	}
	history := -1
	if grown := rows - d.rows; grown > 0 && grown < 8 {
		history = 64 // with the rows that the first of them may go on
	}
	d.rows = rows
	text := term.Text(TextOptions{Part: PartMain, Scrollback: true, History: history, Join: true})
	screen := term.Text(TextOptions{Part: PartMain, Join: true})
	for _, m := range marker.FindAllString(strings.TrimSuffix(text, screen), -1) {
		if _, ok := d.first[m]; !ok {
			d.first[m] = d.step
		}
	}
}

// recordingStats is what a recording has to be to prove something.
type recordingStats struct{ resizes int }

// playByLine plays a recording line by line.
func playByLine(t *testing.T, cast []byte, after func(term *Terminal)) (*Terminal, recordingStats) {
	t.Helper()
	header, events := parseCast(t, cast)
	term := New(Options{Cols: int(header["width"].(float64)), Rows: int(header["height"].(float64))})
	var stats recordingStats
	for _, e := range events {
		if e.kind == "r" {
			stats.resizes++
		}
		for _, piece := range strings.SplitAfter(e.data, "\n") {
			if piece != "" {
				playEvent(t, term, castEvent{kind: e.kind, data: piece})
				after(term)
			}
		}
	}
	return term, stats
}

// grown are lines of a recording that the agent printed unfinished while the
// answer still came in, pushed off the screen when it got smaller, and printed
// again later with more words. Both stand in the scrollback of any terminal, and
// in the archive: nothing in the first says that there will be more of it.
var grown = map[string][]string{
	"gemini-cli-main.talk": {"m097", "m120"},
}

// checkArchive compares the archive with what was said and what left the screen.
func checkArchive(t *testing.T, name string, term *Terminal, left map[string]int) {
	t.Helper()
	lines := archiveText(term)
	unfinished := map[int]bool{}
	for _, m := range grown[name] {
		i := slices.IndexFunc(lines, func(l string) bool { return strings.Contains(l, m+" ") })
		short := appendLetters(nil, []byte(lines[i]))
		j := i + 1 + slices.IndexFunc(lines[i+1:], func(l string) bool { return strings.Contains(l, m+" ") })
		long := appendLetters(nil, []byte(lines[j]))
		if j == i || len(long) <= len(short) || !bytes.HasPrefix(long, short) {
			t.Errorf("%q is not the beginning of %q", lines[i], lines[j])
		}
		unfinished[i] = true
	}
	var wrong []string
	count := map[string]int{}
	last := ""
	for i, l := range lines {
		if unfinished[i] {
			continue
		}
		for _, m := range marker.FindAllString(l, -1) {
			if count[m]++; count[m] == 2 {
				wrong = append(wrong, m+" is there twice")
			} else if last != "" && left[m] < left[last] {
				wrong = append(wrong, fmt.Sprintf("%s stands behind %s, which left the screen later", m, last))
			}
			last = m
		}
	}
	// A line that came in two pieces may be cut within a word.
	stream := string(appendLetters(nil, []byte(strings.Join(lines, ""))))
	shown := term.Text(TextOptions{Join: true})
	for _, m := range transcriptMarkers(t, name) {
		if count[m] > 0 || strings.Count(stream, m) == 1 {
			continue
		}
		if _, ok := left[m]; ok {
			wrong = append(wrong, m+" scrolled away and is gone")
		} else if !strings.Contains(shown, m) {
			wrong = append(wrong, m+" is neither in the archive nor on the screen")
		}
	}
	if len(wrong) > 0 {
		t.Errorf("%d are wrong: %s", len(wrong), strings.Join(wrong[:min(len(wrong), 40)], ", "))
	}
}

// TestArchive_reprintedTranscriptOccursOnce: an agent that reprints its
// transcript over twenty resizes leaves each of its lines in the archive once, in
// the order in which they left the screen, and nothing that scrolled away is gone.
func TestArchive_reprintedTranscriptOccursOnce(t *testing.T) {
	for _, name := range recordingNames(t, "main") {
		t.Run(name, func(t *testing.T) {
			left := departures{first: map[string]int{}}
			term, stats := playByLine(t, readRecording(t, name), left.look)
			if stats.resizes < 20 || len(left.first) < 500 {
				t.Fatalf("%d resizes, %d words left the screen", stats.resizes, len(left.first))
			}
			checkArchive(t, name, term, left.first)
		})
	}
}
