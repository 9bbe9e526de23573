package vt

import (
	"strings"
	"unicode/utf8"
)

func appendRune(dst []byte, r rune) []byte { return utf8.AppendRune(dst, r) }

// endOSC performs an OSC string that ended well. byST says that it ended with
// ST rather than BEL; answers end the same way.
func (t *Terminal) endOSC(byST bool) {
	t.lastWidth = 0
	ps := &t.parser
	if !ps.overflow {
		t.osc(ps.text, byST)
	}
	ps.dropText()
}

// splitOSC parts an OSC string into its number and its data.
func splitOSC(text []byte) (number int, data string, ok bool) {
	i := 0
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		if number = number*10 + int(text[i]-'0'); number > 1<<24 {
			return 0, "", false
		}
		i++
	}
	switch {
	case i == 0:
		return 0, "", false
	case i == len(text):
		return number, "", true
	case text[i] != ';':
		return 0, "", false
	}
	return number, string(text[i+1:]), true
}

func (t *Terminal) osc(text []byte, byST bool) {
	number, data, ok := splitOSC(text)
	if !ok {
		return
	}
	end := "\a"
	if byST {
		end = "\x1b\\"
	}
	switch number {
	case 0, 2:
		t.observed.Title = clip(data, maxTitle)
	case 4:
		slots := strings.Split(data, ";")
		for i := 0; i+1 < len(slots); i += 2 {
			n, ok := paletteIndex(slots[i])
			if ok && slots[i+1] == "?" {
				t.reply("\x1b]4;", itoa(n), ";", paletteReport(n), end)
			}
		}
	case 7:
		t.observed.Cwd = cwdFromURL(clip(data, maxCwd))
	case 8:
		t.hyperlink(data)
	case 9:
		t.osc9(data)
	case 10, 11, 12:
		colors := [...]string{reportForeground, reportBackground, reportCursor}
		for i, slot := range strings.SplitN(data, ";", 4) {
			if n := number + i; n <= 12 && slot == "?" {
				t.reply("\x1b]", itoa(n), ";", colors[n-10], end)
			}
		}
	case 52:
		t.setClipboard(data)
	case 133:
		t.setShellMark(data)
	case 777:
		if rest, ok := strings.CutPrefix(data, "notify;"); ok {
			title, body, _ := strings.Cut(rest, ";")
			t.notify(title, body)
		}
	case 7501:
		if data == "?" {
			t.reply("\x1b]7501;?", end)
			return
		}
		t.setProgram(data)
	}
}

// osc9 is a notification as iTerm2 has it, or one of the commands of ConEmu, which
// begin with their number. Of these the progress and the folder are observed.
func (t *Terminal) osc9(data string) {
	command, rest, _ := strings.Cut(data, ";")
	switch command {
	case "4":
		t.setProgress(rest)
	case "9":
		if cwd := clip(strings.Trim(rest, `"`), maxCwd); strings.HasPrefix(cwd, "/") {
			t.observed.Cwd = cwd
		}
	case "", "1", "2", "3", "5", "6", "7", "8", "10", "11", "12":
	default:
		t.notify("", data)
	}
}

func paletteIndex(s string) (int, bool) {
	if s == "" || len(s) > 3 {
		return 0, false
	}
	n := 0
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, n < 256
}

// hyperlink is OSC 8.
func (t *Terminal) hyperlink(data string) {
	options, uri, ok := strings.Cut(data, ";")
	if !ok {
		return
	}
	options = strings.TrimSpace(options)
	t.penStale = true
	if uri == "" {
		if options == "" {
			t.pen.link = nil
			t.pen.updateExtended()
		}
		return
	}
	id := ""
	for _, o := range strings.Split(options, ":") {
		if v, ok := strings.CutPrefix(o, "id="); ok {
			id = v
			break
		}
	}
	t.pen.link = nil
	if len(uri) <= maxURI && len(id) <= maxURI {
		t.pen.link = t.internLink(id, uri)
	}
	t.pen.updateExtended()
}

// clip shortens s to at most n bytes, at a character's edge.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
