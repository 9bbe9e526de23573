package vt

import "testing"

func TestEncodeKey(t *testing.T) {
	app := Modes{CursorKeys: true}
	other := Modes{ModifyOtherKeys: 2}
	kitty := Modes{Keyboard: 1}
	all := Modes{Keyboard: 9}
	for _, c := range []struct {
		name string
		m    Modes
		want string
	}{
		{"up", Modes{}, "\x1b[A"}, {"up", app, "\x1bOA"}, {"ctrl+up", app, "\x1b[1;5A"}, {"shift+alt+left", Modes{}, "\x1b[1;4D"},
		{"home", Modes{}, "\x1b[H"}, {"end", app, "\x1bOF"}, {"insert", Modes{}, "\x1b[2~"}, {"delete", Modes{}, "\x1b[3~"},
		{"pageup", Modes{}, "\x1b[5~"}, {"ctrl+pagedown", Modes{}, "\x1b[6;5~"}, {"f1", Modes{}, "\x1bOP"}, {"shift+f1", Modes{}, "\x1b[1;2P"},
		{"f5", Modes{}, "\x1b[15~"}, {"f12", Modes{}, "\x1b[24~"}, {"ctrl+f5", Modes{}, "\x1b[15;5~"},
		{"enter", Modes{}, "\r"}, {"alt+enter", Modes{}, "\x1b\r"}, {"tab", Modes{}, "\t"}, {"shift+tab", Modes{}, "\x1b[Z"},
		{"esc", Modes{}, "\x1b"}, {"escape", Modes{}, "\x1b"}, {"backspace", Modes{}, "\x7f"}, {"ctrl+backspace", Modes{}, "\b"},
		{"space", Modes{}, " "}, {"ctrl+space", Modes{}, "\x00"}, {"ctrl+c", Modes{}, "\x03"}, {"Ctrl+C", Modes{}, "\x03"},
		{"ctrl+[", Modes{}, "\x1b"}, {"ctrl+\\", Modes{}, "\x1c"}, {"ctrl+_", Modes{}, "\x1f"}, {"ctrl+@", Modes{}, "\x00"},
		{"alt+b", Modes{}, "\x1bb"}, {"alt+ctrl+c", Modes{}, "\x1b\x03"}, {"a", Modes{}, "a"}, {"A", Modes{}, "A"}, {"shift+a", Modes{}, "A"},
		{"1", Modes{}, "1"}, {"é", Modes{}, "é"}, {"+", Modes{}, "+"}, {"ctrl++", other, "\x1b[27;5;43~"}, {"plus", Modes{}, "+"},
		{"ctrl+c", other, "\x1b[27;5;99~"}, {"shift+enter", other, "\x1b[27;2;13~"}, {"shift+tab", other, "\x1b[Z"}, {"a", other, "a"},
		{"ctrl+c", Modes{ModifyOtherKeys: 1}, "\x03"}, {"ctrl+enter", Modes{ModifyOtherKeys: 1}, "\x1b[27;5;13~"},
		{"esc", kitty, "\x1b[27u"}, {"ctrl+c", kitty, "\x1b[99;5u"}, {"enter", kitty, "\r"}, {"shift+enter", kitty, "\x1b[13;2u"},
		{"a", kitty, "a"}, {"A", kitty, "A"}, {"alt+b", kitty, "\x1b[98;3u"}, {"up", kitty, "\x1b[A"}, {"f3", kitty, "\x1b[13~"},
		{"f1", kitty, "\x1b[P"}, {"tab", kitty, "\t"}, {"shift+tab", kitty, "\x1b[9;2u"}, {"backspace", kitty, "\x7f"},
		{"a", all, "\x1b[97u"}, {"enter", all, "\x1b[13u"}, {"A", all, "\x1b[97;2u"}, {"a", Modes{Keyboard: 25}, "\x1b[97;1;97u"},
	} {
		got, err := EncodeKey(c.name, c.m)
		if err != nil || string(got) != c.want {
			t.Errorf("%s with %+v: %q %v, want %q", c.name, c.m, got, err, c.want)
		}
	}
	for _, name := range []string{"", "nokey", "hyper+a", "ctrl+", "ctrl+é", "\x1b", "ab", "super+a"} {
		if got, err := EncodeKey(name, Modes{}); err == nil {
			t.Errorf("%q gave %q", name, got)
		}
	}
}

func TestEncodePaste(t *testing.T) {
	for _, c := range []struct {
		text  string
		paste bool
		want  string
	}{
		{"plain", false, "plain"}, {"a\r\nb\nc\rd", false, "a\rb\rc\rd"}, {"tab\tok", true, "\x1b[200~tab\tok\x1b[201~"},
		{"x\x1b[201~rm\x00\u009b\u0085y", true, "\x1b[200~x[201~rmy\x1b[201~"}, {"日\xffx", false, "日x"}, {"", true, "\x1b[200~\x1b[201~"},
	} {
		if got := string(EncodePaste(c.text, Modes{BracketedPaste: c.paste})); got != c.want {
			t.Errorf("%q: %q, want %q", c.text, got, c.want)
		}
	}
}

func TestModes(t *testing.T) {
	term := New(Options{Cols: 80, Rows: 24})
	term.Write([]byte("\x1b[?1;1004;1003;1006;2004;2026h\x1b=\x1b[>5u\x1b[>4;2m\x1b[?25l\x1b[5 q\x1b[?1049h\x1b[>1u\x1b[=2;2u"))
	m := term.Modes()
	want := Modes{
		CursorKeys: true, Keypad: true, BracketedPaste: true, FocusEvents: true, Mouse: MouseAny, MouseEncoding: MouseSGR,
		Alternate: true, CursorShape: CursorBar, CursorBlink: BlinkOn, Synchronized: true, Keyboard: 3, ModifyOtherKeys: 2, Wrap: true,
	}
	if m != want {
		t.Errorf("got  %+v\nwant %+v", m, want)
	}
	term.Write([]byte("\x1b[?1049l"))
	if k := term.Modes().Keyboard; k != 5 {
		t.Errorf("keyboard flags %d on the main screen, want 5", k)
	}
	term.Write([]byte("\x1b[<u\x1b[<9u\x1b[?u"))
	if k, r := term.Modes().Keyboard, term.TakeReplies(); k != 0 || len(r) > 0 {
		t.Errorf("keyboard flags %d after all are popped, reply %q", k, r)
	}
}

// TestTakeReplies_bound: a program that asks and does not read costs nothing.
func TestTakeReplies_bound(t *testing.T) {
	term := New(Options{Cols: 80, Rows: 24})
	for range 10000 {
		term.Write([]byte("\x1b[c\x1b[6n"))
	}
	if n := len(term.TakeReplies()); n > maxReplies || n < maxReplies-20 {
		t.Errorf("%d bytes of answers", n)
	}
	if n := len(term.TakeReplies()); n != 0 {
		t.Errorf("%d bytes again", n)
	}
}
