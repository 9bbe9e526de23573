package vt

// A charset is named by the final byte of its designation; 0 is US-ASCII.
type charset byte

// charsetPairs maps, for each charset, ASCII characters to what they print. They
// are xterm.js's tables.
var charsetPairs = []struct {
	name     charset
	from, to string
}{
	{'0', "`abcdefghijklmnopqrstuvwxyz{|}~", "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·"},
	{'4', "#@[\\]{|}~", "£¾i½|¨f¼´"},
	{'5', "[\\]^`{|}~", "ÄÖÅÜéäöåü"},
	{'6', "@[\\]^`{|}~", "ÄÆØÅÜäæøåü"},
	{'7', "@[\\]^`{|}~", "ÉÄÖÅÜéäöåü"},
	{'A', "#", "£"},
	{'C', "[\\]^`{|}~", "ÄÖÅÜéäöåü"},
	{'R', "#@[\\]{|}~", "£à°ç§éùè¨"},
	{'Q', "@[\\]^`{|}~", "àâçêîôéùèû"},
	{'K', "@[\\]{|}~", "§ÄÖÜäöüß"},
	{'Y', "#@[\\]`{|}~", "£§°çéùàòèì"},
	{'E', "@[\\]^`{|}~", "ÄÆØÅÜäæøåü"},
	{'Z', "#@[\\]{|}", "£§¡Ñ¿°ñç"},
	{'H', "@[\\]^`{|}~", "ÉÄÖÅÜéäöåü"},
	{'=', "#@[\\]^_`{|}~", "ùàéçêîèôäöüû"},
}

var charsetTables = buildCharsets()

func buildCharsets() map[charset]*[128]rune {
	tables := make(map[charset]*[128]rune, len(charsetPairs))
	for _, p := range charsetPairs {
		table := new([128]rune)
		to := []rune(p.to)
		for i, r := range []rune(p.from) {
			table[r] = to[i]
		}
		tables[p.name] = table
	}
	return tables
}

// parseCharset names the charset of a designation's final byte; ok is false for
// one that xterm.js does not know.
func parseCharset(final byte) (c charset, ok bool) {
	if final == 'B' {
		return 0, true
	}
	_, ok = charsetTables[charset(final)]
	return charset(final), ok
}

// translate maps a character through the charset in force.
func (c charset) translate(r rune) rune {
	if c == 0 || r >= 127 {
		return r
	}
	if to := charsetTables[c][r]; to != 0 {
		return to
	}
	return r
}

// source finds a character that prints as r under the charset.
func (c charset) source(r rune) rune {
	if c == 0 || c.translate(r) == r {
		return r
	}
	for from, to := range charsetTables[c] {
		if to == r {
			return rune(from)
		}
	}
	return r
}

func (t *Terminal) setCharset(slot int, c charset) {
	t.gsets[slot] = c
	if t.glevel == slot {
		t.charset = c
	}
}

func (t *Terminal) setLevel(level int) {
	t.glevel = level
	t.charset = t.gsets[level]
}
