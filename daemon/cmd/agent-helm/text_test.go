package main

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/agent-helm/agent-helm/daemon"
)

func TestTextFilter(t *testing.T) {
	for name, c := range map[string]struct{ in, plain, coloured string }{
		"text":             {"a é 漢\tb\r\n", "a é 漢\tb\n", "a é 漢\tb\n"},
		"colour":           {"\x1b[1;31mred\x1b[0m", "red", "\x1b[1;31mred\x1b[0m"},
		"modifyOtherKeys":  {"\x1b[>4;2mx", "x", "x"},
		"question m":       {"\x1b[?4mx", "x", "x"},
		"cursor":           {"a\x1b[2J\x1b[5;5Hb", "ab", "ab"},
		"title":            {"\x1b]0;evil\ax\x1b]2;evil\x1b\\y", "xy", "xy"},
		"device control":   {"\x1bPevil\x1b\\x\x1b_evil\x1b\\y", "xy", "xy"},
		"string not ended": {"\x1b]0;evil\x1b[31mx", "x", "\x1b[31mx"},
		"cancelled":        {"\x1b]0;evil\x18x\x1b[3\x18y", "xy", "xy"},
		"two bytes":        {"\x1bMx\x1b(By\x1b7z", "xyz", "xyz"},
		"controls":         {"a\a\b\v\f\x00\x7fb", "ab", "ab"},
		"C1":               {"a\u0085\u009bb", "ab", "ab"},
		"bidi":             {"a\u202eb\u2066c", "abc", "abc"},
		"drawn over":       {"10%\r20%\r\n", "10%\n20%\n", "10%\n20%\n"},
		"invalid":          {"a\xffb\xe6\xbc", "a\ufffdb", "a\ufffdb"},
		"long":             {"\x1b[" + strings.Repeat("1;", 300) + "mx", "", ""},
	} {
		for _, colours := range []bool{false, true} {
			want := c.plain
			if colours {
				want = c.coloured
			}
			for size := 1; size <= len(c.in); size++ {
				filter := textFilter{colours: colours}
				var got []byte
				for rest := []byte(c.in); len(rest) > 0; {
					n := min(size, len(rest))
					got = append(got, filter.filter(rest[:n])...)
					rest = rest[n:]
				}
				if string(got) != want && name != "long" {
					t.Errorf("%s, %d bytes at a time, colours %v: got %q, want %q", name, size, colours, got, want)
				}
			}
		}
	}
}

func FuzzTextFilter(f *testing.F) {
	f.Add("a\x1b[31mb\r\nc\x1b]0;x\a\xe6\xbc\xa2", 3)
	f.Fuzz(func(t *testing.T, in string, split int) {
		split = min(max(split, 0), len(in))
		whole := textFilter{colours: true}
		want := string(whole.filter([]byte(in)))
		parts := textFilter{colours: true}
		got := string(parts.filter([]byte(in[:split])))
		got += string(parts.filter([]byte(in[split:])))
		if got != want {
			t.Errorf("%q split at %d: %q, whole %q", in, split, got, want)
		}
		if !utf8.ValidString(got) {
			t.Errorf("%q gives %q", in, got)
		}
		again := textFilter{}
		for _, r := range string(again.filter([]byte(got))) {
			if r < 0x20 && r != '\n' && r != '\t' || hiddenInText(r) {
				t.Errorf("%q leaves %U", in, r)
			}
		}
	})
}

func TestFind(t *testing.T) {
	session := func(id, name string, state daemon.State) daemon.Session {
		return daemon.Session{ID: id, Name: name, State: state}
	}
	list := []daemon.Session{
		session("01a0", "build", daemon.StateExited), session("01a1", "build", daemon.StateExited),
		session("01a2", "api", daemon.StateExited), session("01a3", "api", daemon.StateRunning),
		session("01b4", "api-docs", daemon.StateRunning), session("01b5", "web", daemon.StateRunning),
		session("01b6", "web", daemon.StateRunning), session("01b7", "01a0", daemon.StateRunning),
	}
	for _, c := range []struct {
		reference string
		suits     filter
		want      string // an id, or part of the error
	}{
		{"build", anySession, "01a1"}, {"api", anySession, "01a3"}, {"api", endedSession, "01a2"},
		{"api-", runningSession, "01b4"}, {"01b4", anySession, "01b4"}, {"01B4", anySession, "01b4"},
		{"01a0", anySession, "01a0"}, {"we", runningSession, "could be web (01b5), web (01b6)"},
		{"01", anySession, "could be"}, {"nobody", anySession, `no session is called "nobody"`},
		{"", anySession, "no session"}, {"bu", runningSession, "01a1"},
	} {
		got, err := find(list, c.reference, c.suits)
		if err != nil {
			if !strings.Contains(err.Error(), c.want) || exitCode(err) != exitNotFound {
				t.Errorf("%q: %v (%d), want %s", c.reference, err, exitCode(err), c.want)
			}
			continue
		}
		if got.ID != c.want {
			t.Errorf("%q: got %s, want %s", c.reference, got.ID, c.want)
		}
	}
}

func TestAge(t *testing.T) {
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 59 * time.Second: "59s", 61 * time.Second: "1m", 3*time.Hour + 4*time.Minute: "3h04m", 49 * time.Hour: "2d",
	} {
		if got := age(d); got != want {
			t.Errorf("%v: %s", d, got)
		}
	}
}

func TestClean(t *testing.T) {
	if got := clean("a\x1b[31mb\u202e\nc", 10); got != "a[31mb c" {
		t.Errorf("got %q", got)
	}
	if got := clean("abcdef", 4); got != "abc…" {
		t.Errorf("got %q", got)
	}
}

func TestLastLines(t *testing.T) {
	for _, c := range []struct {
		n    int
		want string
	}{{0, "a\nb\nc\n"}, {1, "c\n"}, {2, "b\nc\n"}, {9, "a\nb\nc\n"}} {
		if got := string(lastLines([]byte("a\nb\nc\n"), c.n)); got != c.want {
			t.Errorf("%d lines: %q", c.n, got)
		}
	}
}

func TestExitCode(t *testing.T) {
	for want, err := range map[int]error{
		exitError: errors.New("x"), exitUsage: usage("x"), exitNotFound: errors.Join(errors.New("x"), notFound("y")), exitUnreachable: unreachable(errors.New("x")),
	} {
		if got := exitCode(err); got != want {
			t.Errorf("%v: %d, want %d", err, got, want)
		}
	}
}

func TestRecent(t *testing.T) {
	now := time.Now()
	a := &app{now: func() time.Time { return now }}
	var list []daemon.Session
	for i := range 10 {
		ended := now.Add(-time.Duration(10-i) * time.Hour)
		list = append(list, daemon.Session{ID: string(rune('a' + i)), State: daemon.StateExited, Ended: &ended})
	}
	old := now.Add(-25 * time.Hour)
	list = append([]daemon.Session{{ID: "old", State: daemon.StateLost, Created: old}, {ID: "run", State: daemon.StateRunning, Created: old}}, list...)
	shown, hidden := a.recent(list)
	ids := ""
	for _, s := range shown {
		ids += s.ID
	}
	if ids != "runefghij" || hidden != 5 {
		t.Errorf("shown %s, %d hidden", ids, hidden)
	}
}
