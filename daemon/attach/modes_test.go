package attach

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestModeTracker_Restore(t *testing.T) {
	for name, c := range map[string]struct{ written, want string }{
		"nothing":               {"plain text\r\n\x1b[2J\x1b[5;5H\x1b[K", ""},
		"mouse":                 {"\x1b[?1000h\x1b[?1006h", "\x1b[?1000l\x1b[?1006l"},
		"mouse, off again":      {"\x1b[?1000;1006h\x1b[?1000;1006l", ""},
		"paste and focus":       {"\x1b[?2004h\x1b[?1004h", "\x1b[?1004l\x1b[?2004l"},
		"alternate screen":      {"\x1b[?1049h", "\x1b[?1049l"},
		"alternate, two ways":   {"\x1b[?47h\x1b[?1049l", ""},
		"cursor hidden":         {"\x1b[?25l", "\x1b[?25h"},
		"cursor shown":          {"\x1b[?25h", ""},
		"no wrap":               {"\x1b[?7l", "\x1b[?7h"},
		"application keys":      {"\x1b[?1h\x1b=", "\x1b[?1l\x1b>"},
		"cursor style":          {"\x1b[5 q", "\x1b[0 q"},
		"cursor style reset":    {"\x1b[5 q\x1b[0 q", ""},
		"synchronized first":    {"\x1b[?25l\x1b[?2026h", "\x1b[?2026l\x1b[?25h"},
		"kitty":                 {"\x1b[>1u\x1b[>5u", "\x1b[<2u"},
		"kitty popped":          {"\x1b[>1u\x1b[<u", ""},
		"kitty set":             {"\x1b[=5;1u", "\x1b[=0u"},
		"kitty on both screens": {"\x1b[>1u\x1b[?1049h\x1b[>7u", "\x1b[<1u\x1b[?1049l\x1b[<1u"},
		"modifyOtherKeys":       {"\x1b[>4;2m", "\x1b[>4m"},
		"modifyOtherKeys off":   {"\x1b[>4;2m\x1b[>4m", ""},
		"colours":               {"\x1b[1;31m", "\x1b[0m"},
		"scroll region":         {"\x1b[2;10r", "\x1b7\x1b[r\x1b8"},
		"scroll region reset":   {"\x1b[2;10r\x1b[r", ""},
		"insert mode":           {"\x1b[4h", "\x1b[4l"},
		"charset":               {"\x1b(0", "\x0f\x1b(B"},
		"title pushed":          {"\x1b[22;0t\x1b]0;x\a", "\x1b[23;0t"},
		"palette":               {"\x1b]4;1;#ff0000\a\x1b]11;#000000\x1b\\", "\x1b]104\x1b\\\x1b]111\x1b\\"},
		"link":                  {"\x1b]8;;http://x\x1b\\text", "\x1b]8;;\x1b\\"},
		"link closed":           {"\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", ""},
		"progress":              {"\x1b]9;4;1;50\a", "\x1b]9;4;0\x1b\\"},
		"status":                {"\x1b]7501;state=working:app=x\x1b\\", "\x1b]7501;state=clear\x1b\\"},
		"status clear":          {"\x1b]7501;state=working\a\x1b]7501;state=clear\a", ""},
		"reset":                 {"\x1b[?1049h\x1b[?1000h\x1b[>1u\x1bc", ""},
		"cut off":               {"\x1b[31", "\x18"},
		"cancelled":             {"\x1b[?25\x18l", ""},
		"tabs":                  {"\x1b[3g\x1bH", "\x1b[?5W"},
	} {
		for _, size := range []int{len(c.written), 1, 3} {
			var tracker modeTracker
			for rest := c.written; rest != ""; {
				n := min(size, len(rest))
				tracker.write([]byte(rest[:n]))
				rest = rest[n:]
			}
			if got := string(tracker.restore()); got != c.want {
				t.Errorf("%s, %d bytes at a time: got %q, want %q", name, size, got, c.want)
			}
			if again := string(tracker.restore()); again != "" {
				t.Errorf("%s: a second restore gives %q", name, again)
			}
		}
	}
}

// Restoring, taken as output, leaves nothing to restore.
func FuzzModeTracker(f *testing.F) {
	f.Add("\x1b[?1049h\x1b[>1u\x1b[?25l\x1b[4h\x1b[2;5r")
	f.Fuzz(func(t *testing.T, written string) {
		var tracker modeTracker
		tracker.write([]byte(written))
		restored := tracker.restore()
		tracker.write([]byte(written))
		tracker.write(restored)
		left := string(tracker.restore())
		// A pop or reset that we wrote is itself no mode that is on; pen and
		// region are remembered as touched by the very reset.
		for _, harmless := range []string{"\x1b[0m", "\x0f\x1b(B", "\x1b[0\"q", "\x1b[?5W", "\x1b[=0u"} {
			left = strings.ReplaceAll(left, harmless, "")
		}
		for n := range 20 {
			left = strings.ReplaceAll(left, "\x1b]"+string([]byte{'1', '0' + byte(n/10), '0' + byte(n%10)})+"\x1b\\", "")
		}
		if left != "" {
			t.Errorf("%q: %q leaves %q", written, restored, left)
		}
	})
}

func TestModeTracker_Bounded(t *testing.T) {
	var tracker modeTracker
	random := rand.New(rand.NewPCG(1, 2))
	tracker.write([]byte("\x1b]52;c;"))
	for range 100 {
		block := make([]byte, 10_000)
		for i := range block {
			block[i] = byte('a' + random.IntN(26))
		}
		tracker.write(block)
	}
	if len(tracker.sequence) > maxTracked {
		t.Errorf("%d bytes are kept", len(tracker.sequence))
	}
	tracker.write([]byte("\a\x1b[?25l"))
	if got := string(tracker.restore()); got != "\x1b[?25h" {
		t.Errorf("after a long string: %q", got)
	}
}
