package vt

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// castEvent is one line of a recording.
type castEvent struct {
	at         float64
	kind, data string
}

// parseCast reads a recording as strictly as the format's description is.
func parseCast(t testing.TB, recording []byte) (header map[string]any, events []castEvent) {
	t.Helper()
	if !bytes.HasSuffix(recording, []byte("\n")) {
		t.Fatal("the last line does not end")
	}
	for i, line := range bytes.Split(bytes.TrimSuffix(recording, []byte("\n")), []byte("\n")) {
		if bytes.ContainsFunc(line, func(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }) {
			t.Fatalf("line %d has control characters: %q", i, line)
		}
		if i == 0 {
			if err := json.Unmarshal(line, &header); err != nil {
				t.Fatalf("header %s: %v", line, err)
			}
			continue
		}
		var fields []any
		if err := json.Unmarshal(line, &fields); err != nil {
			t.Fatalf("line %d %s: %v", i, line, err)
		}
		if len(fields) != 3 {
			t.Fatalf("line %d has %d fields", i, len(fields))
		}
		event := castEvent{fields[0].(float64), fields[1].(string), fields[2].(string)}
		if n := len(events); n > 0 && event.at < events[n-1].at {
			t.Fatalf("line %d goes back from %v to %v", i, events[n-1].at, event.at)
		}
		if !strings.Contains("orm", event.kind) {
			t.Fatalf("line %d is of kind %q", i, event.kind)
		}
		events = append(events, event)
	}
	if header["version"] != 2.0 || header["width"].(float64) < 1 || header["height"].(float64) < 1 {
		t.Fatalf("header %v", header)
	}
	return header, events
}

// replayCast plays a recording in a terminal.
func replayCast(t testing.TB, recording []byte) *Terminal {
	t.Helper()
	header, events := parseCast(t, recording)
	term := New(Options{Cols: int(header["width"].(float64)), Rows: int(header["height"].(float64))})
	for _, e := range events {
		playEvent(t, term, e)
	}
	return term
}

// playEvent gives a terminal what a recording's event says.
func playEvent(t testing.TB, term *Terminal, e castEvent) {
	t.Helper()
	switch e.kind {
	case "o":
		term.Write([]byte(e.data))
	case "r":
		var cols, rows int
		if _, err := fmt.Sscanf(e.data, "%dx%d", &cols, &rows); err != nil {
			t.Fatalf("size %q: %v", e.data, err)
		}
		term.Resize(cols, rows)
	}
}

func TestCast_golden(t *testing.T) {
	h := CastHeader{Cols: 80, Rows: 24, Start: 1700000000, Title: "say \"hi\" \x1b[31m", Term: "xterm-256color"}
	var c Cast
	got := h.Append(nil)
	got = c.AppendOutput(got, 0, []byte("a\x1b[31m\r\n\t\"\\\x7f"))
	got = c.AppendOutput(got, 1500*time.Millisecond, []byte("日\xe6\x97"))
	got = c.AppendResize(got, 1400*time.Millisecond, 100, 30)
	got = c.AppendOutput(got, 2*time.Second, []byte("\xa5\u009b"))
	got = c.AppendMarker(got, 62*time.Second+time.Microsecond, "a remark")
	got = c.AppendOutput(got, 63*time.Second, []byte("\xff\xf0\x9f"))
	got = c.AppendOutput(got, 64*time.Second, nil)
	got = c.AppendEnd(got)
	want := `{"version": 2, "width": 80, "height": 24, "timestamp": 1700000000, "title": "say \"hi\" \u001b[31m", "env": {"TERM": "xterm-256color"}}
[0.000000, "o", "a\u001b[31m\r\n\t\"\\\u007f"]
[1.500000, "o", "日"]
[1.500000, "r", "100x30"]
[2.000000, "o", "日\u009b"]
[62.000001, "m", "a remark"]
[63.000000, "o", "` + "\ufffd" + `"]
[63.000000, "o", "` + "\ufffd\ufffd" + `"]
`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if header, _ := parseCast(t, CastHeader{Cols: 1, Rows: 1}.Append(nil)); len(header) != 3 {
		t.Errorf("header with nothing: %v", header)
	}
}

// However the bytes are cut, the recording shows what the terminal shows.
func TestCast_replay(t *testing.T) {
	for seed := range uint64(40) {
		r := rand.New(rand.NewPCG(seed, 3))
		term := New(Options{Cols: 80, Rows: 24})
		recording := CastHeader{Cols: 80, Rows: 24}.Append(nil)
		var c Cast
		at := time.Duration(0)
		stream := []byte(randomLines(r, 60))
		for len(stream) > 0 {
			n := min(len(stream), 1+r.IntN(50))
			term.Write(stream[:n])
			recording = c.AppendOutput(recording, at, stream[:n])
			stream = stream[n:]
			at += time.Duration(r.IntN(3000)-500) * time.Millisecond
			if r.IntN(10) == 0 {
				cols, rows := 20+r.IntN(80), 3+r.IntN(30)
				term.Resize(cols, rows)
				recording = c.AppendResize(recording, at, cols, rows)
			}
		}
		recording = c.AppendEnd(recording)
		if d := term.Diff(replayCast(t, recording)); d != "" {
			t.Fatalf("seed %d: %s", seed, d)
		}
	}
}

func FuzzCast(f *testing.F) {
	f.Add([]byte("abc\xe6\x97\xa5\xff\x9b\x1b]0;x\a"), uint8(3))
	f.Fuzz(func(t *testing.T, p []byte, cut uint8) {
		recording := CastHeader{Cols: 80, Rows: 24, Title: string(p)}.Append(nil)
		var c Cast
		n := min(int(cut), len(p))
		recording = c.AppendOutput(recording, 0, p[:n])
		recording = c.AppendOutput(recording, time.Second, p[n:])
		recording = c.AppendEnd(recording)
		_, events := parseCast(t, recording)
		var all strings.Builder
		for _, e := range events {
			all.WriteString(e.data)
		}
		if want := string([]rune(string(p))); all.String() != want {
			t.Fatalf("%q, want %q", all.String(), want)
		}
	})
}
