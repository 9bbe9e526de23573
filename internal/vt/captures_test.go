package vt

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// captures are recordings of coding agents, with the screens that
// @xterm/headless showed at some points.
var captures = []string{"claude", "claude-7501", "claude-noreply", "codex", "gemini", "gemini-alt", "gemini-noreply"}

// playCapture calls at for every mark.
func playCapture(t *testing.T, name string, at func(mark string, term *Terminal)) {
	t.Helper()
	playSteps(t, name, func(kind, mark string, term *Terminal) {
		if kind == "m" {
			at(mark, term)
		}
	})
}

// playSteps calls after for every mark ("m"), output ("o"), resize ("r") and key
// ("i").
func playSteps(t *testing.T, name string, after func(kind, mark string, term *Terminal)) {
	t.Helper()
	output := readFixture(t, "agents/captures/"+name+".bin")
	script := bufio.NewScanner(bytes.NewReader(readFixture(t, "agents/captures/"+name+".cast.jsonl")))
	var term *Terminal
	for script.Scan() {
		var e struct {
			K, Name    string
			Off, Len   int
			Cols, Rows int
			Auto       bool // an answer of the terminal's
		}
		if err := json.Unmarshal(script.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		switch e.K {
		case "start":
			term = New(Options{Cols: e.Cols, Rows: e.Rows, Scrollback: 1000})
		case "o":
			term.Write(output[e.Off : e.Off+e.Len])
		case "r":
			term.Resize(e.Cols, e.Rows)
		}
		if term != nil && !e.Auto {
			after(e.K, e.Name, term)
		}
	}
}

var screenHead = regexp.MustCompile(`(?m)^===== (\S+) @.* cursor (\d+),(\d+)\)$`)

func captureScreens(t *testing.T, name string) map[string][]string {
	text := string(readFixture(t, "agents/captures/"+name+".screens.txt"))
	screens := map[string][]string{}
	heads := screenHead.FindAllStringSubmatchIndex(text, -1)
	for i, h := range heads {
		end := len(text)
		if i+1 < len(heads) {
			end = heads[i+1][0]
		}
		var rows []string
		for _, row := range strings.Split(text[h[1]+1:end], "\n") {
			rows = append(rows, strings.TrimRight(row, " "))
		}
		for len(rows) > 0 && rows[len(rows)-1] == "" {
			rows = rows[:len(rows)-1]
		}
		screens[text[h[2]:h[3]]] = append(rows, "cursor "+text[h[4]:h[5]]+","+text[h[6]:h[7]])
	}
	return screens
}

// TestCaptures_screens compares our screens with the recorded ones.
func TestCaptures_screens(t *testing.T) {
	for _, name := range captures {
		t.Run(name, func(t *testing.T) {
			screens := captureScreens(t, name)
			seen := 0
			playCapture(t, name, func(mark string, term *Terminal) {
				want, ok := screens[mark]
				if !ok {
					return
				}
				seen++
				got := screenText(term)
				for len(got) > 0 && got[len(got)-1] == "" {
					got = got[:len(got)-1]
				}
				got = append(got, fmt.Sprintf("cursor %d,%d", term.cur.x, term.cur.y))
				if a, b := strings.Join(got, "\n"), strings.Join(want, "\n"); a != b {
					t.Errorf("%s:\n%s\nwant:\n%s", mark, a, b)
				}
			})
			if seen != len(screens) {
				t.Errorf("saw %d of %d screens", seen, len(screens))
			}
		})
	}
}

// TestCaptures_prompt looks for the agents' dialogs.
func TestCaptures_prompt(t *testing.T) {
	questions := map[string]string{
		"claude": "Do you want to proceed?", "codex": "Would you like to run the following command?",
		"gemini": "Allow execution of [Shell]?",
	}
	last := map[string]string{
		"claude": "No", "codex": "No, and tell Codex what to do differently (esc)", "gemini": "No, suggest changes (esc)",
	}
	for _, name := range captures {
		t.Run(name, func(t *testing.T) {
			agent, _, _ := strings.Cut(name, "-")
			id := ""
			playCapture(t, name, func(mark string, term *Terminal) {
				p := term.Observe().Prompt
				switch {
				case strings.HasPrefix(mark, "prompt"):
					if p.ID == "" || p.Question != questions[agent] {
						t.Errorf("%s: %+v", mark, p)
						return
					}
					if n := len(p.Options); n < 3 || p.Options[n-1].Label != last[agent] || p.Options[0].Key != "1" {
						t.Errorf("%s: options %+v", mark, p.Options)
					}
					if id != "" && id != p.ID {
						t.Errorf("%s: the id changed from %s to %s with the size", mark, id, p.ID)
					}
					id = p.ID
				case mark == "ready" || strings.HasPrefix(mark, "done"):
					if p.ID != "" {
						t.Errorf("%s: %+v", mark, p)
					}
				}
			})
		})
	}
}

// TestCaptures_promptStays looks after every piece of output, as it came: the
// dialog appears once and stays the same until a key is pressed, but for the
// moment after a resize, and does not come back when it was answered. Frames that
// a program brackets by mode 2026 are not looked at before they are whole.
func TestCaptures_promptStays(t *testing.T) {
	for _, name := range captures {
		t.Run(name, func(t *testing.T) {
			id, settled, pressed, answered := "", false, false, false
			playSteps(t, name, func(kind, mark string, term *Terminal) {
				switch kind {
				case "r":
					settled = false
				case "i":
					pressed = id != ""
				case "m":
					// Marks are set where nothing had come for a while.
					settled = settled || strings.HasPrefix(mark, "prompt")
					answered = answered || mark == "done"
				case "o":
					p := term.Observe().Prompt
					if term.Modes().Synchronized {
						return
					}
					switch {
					case answered && p.ID != "":
						t.Fatalf("after the answer: %+v", p)
					case pressed:
					case settled && p.ID != id:
						t.Fatalf("the dialog %s became %+v", id, p)
					case p.ID != "" && id == "":
						id, settled = p.ID, true
					}
				}
			})
			if id == "" || !answered {
				t.Errorf("dialog %q, answered %v", id, answered)
			}
		})
	}
}

// TestCaptures_program reads the states that agents report of themselves.
func TestCaptures_program(t *testing.T) {
	for name, want := range map[string]string{
		"codex":       "idle working blocked/permission working done idle clear",
		"claude-7501": "blocked/permission working done clear",
	} {
		t.Run(name, func(t *testing.T) {
			output := readFixture(t, "agents/captures/"+name+".bin")
			term := New(Options{Cols: 100, Rows: 30})
			var got []string
			count := uint64(0)
			for _, b := range output {
				term.Write([]byte{b})
				if p := term.observed.Program; p.Count != count {
					count = p.Count
					s := p.State
					if s == "" {
						s = "clear"
					}
					if p.Kind != "" {
						s += "/" + p.Kind
					}
					if len(got) == 0 || got[len(got)-1] != s {
						got = append(got, s)
					}
				}
			}
			if s := strings.Join(got, " "); !strings.Contains(s, want) && s != want {
				t.Errorf("states %q, want %q", s, want)
			}
		})
	}
}

// TestCaptures_repaint: every recorded screen fits 6 KiB where it is 80×24 or
// about that, and is the same after a Repaint.
func TestCaptures_repaint(t *testing.T) {
	for _, name := range captures {
		t.Run(name, func(t *testing.T) {
			playCapture(t, name, func(mark string, term *Terminal) {
				p := term.Repaint()
				if len(p) > 8<<10 {
					t.Errorf("%s: %d bytes for %dx%d", mark, len(p), term.cols, term.rows)
				}
				again := New(Options{Cols: term.cols, Rows: term.rows})
				again.Write(p)
				if a, b := strings.Join(screenText(again), "\n"), strings.Join(screenText(term), "\n"); a != b {
					t.Errorf("%s:\n%s\nwant:\n%s", mark, a, b)
				}
			})
		})
	}
}
