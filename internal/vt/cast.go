package vt

import (
	"strconv"
	"time"
	"unicode/utf8"
)

// CastType is the media type of a recording.
const CastType = "application/x-asciicast"

// A CastHeader is the first line of a recording in the format asciicast v2,
// see https://docs.asciinema.org/manual/asciicast/v2/.
type CastHeader struct {
	// Cols and Rows are the size at the beginning.
	Cols, Rows int
	// Start is when the recording began, in seconds since 1970; 0 is not known.
	Start int64
	// Title is what was recorded, empty for nothing.
	Title string
	// Term is the value of TERM. No other variable belongs into a recording.
	Term string
}

// Append writes the header with its line break.
func (h CastHeader) Append(dst []byte) []byte {
	dst = append(dst, `{"version": 2, "width": `...)
	dst = strconv.AppendInt(dst, int64(h.Cols), 10)
	dst = append(dst, `, "height": `...)
	dst = strconv.AppendInt(dst, int64(h.Rows), 10)
	if h.Start > 0 {
		dst = append(dst, `, "timestamp": `...)
		dst = strconv.AppendInt(dst, h.Start, 10)
	}
	if h.Title != "" {
		dst = appendJSONString(append(dst, `, "title": `...), h.Title)
	}
	if h.Term != "" {
		dst = appendJSONString(append(dst, `, "env": {"TERM": `...), h.Term)
		dst = append(dst, '}')
	}
	return append(dst, "}\n"...)
}

// A Cast writes the events of a recording, one line each. The zero value is at
// the beginning. Times count from there and never decrease: an earlier one
// counts as the last.
type Cast struct {
	last time.Duration
	// partial is the beginning of a character whose other bytes are to come.
	partial []byte
}

// At is the time of the last event.
func (c *Cast) At() time.Duration { return c.last }

// AppendOutput writes what a program printed. A character cut by the end of p
// waits for its other bytes; what is not UTF-8 becomes U+FFFD, because JSON can
// hold nothing else.
func (c *Cast) AppendOutput(dst []byte, at time.Duration, p []byte) []byte {
	if len(c.partial) > 0 {
		p = append(c.partial, p...)
		c.partial = nil
	}
	if n := partialRune(p); n > 0 {
		c.partial = append([]byte(nil), p[len(p)-n:]...)
		p = p[:len(p)-n]
	}
	if len(p) == 0 {
		return dst
	}
	return c.event(dst, at, 'o', p)
}

// AppendResize writes a new size of the terminal.
func (c *Cast) AppendResize(dst []byte, at time.Duration, cols, rows int) []byte {
	size := strconv.AppendInt(nil, int64(cols), 10)
	size = strconv.AppendInt(append(size, 'x'), int64(rows), 10)
	return c.event(dst, at, 'r', size)
}

// AppendMarker writes a remark that players show on their time line.
func (c *Cast) AppendMarker(dst []byte, at time.Duration, label string) []byte {
	return c.event(dst, at, 'm', []byte(label))
}

// AppendEnd writes what still waits for its other bytes.
func (c *Cast) AppendEnd(dst []byte) []byte {
	if len(c.partial) == 0 {
		return dst
	}
	p := c.partial
	c.partial = nil
	return c.event(dst, c.last, 'o', p)
}

func (c *Cast) event(dst []byte, at time.Duration, kind byte, data []byte) []byte {
	c.last = max(c.last, at)
	dst = append(dst, '[')
	micros := c.last.Microseconds()
	dst = strconv.AppendInt(dst, micros/1e6, 10)
	dst = append(dst, '.')
	fraction := strconv.AppendInt(nil, 1e6+micros%1e6, 10)
	dst = append(dst, fraction[1:]...)
	dst = append(dst, `, "`...)
	dst = append(dst, kind)
	dst = append(dst, `", `...)
	dst = appendJSONString(dst, data)
	return append(dst, "]\n"...)
}

// partialRune is how many bytes at the end are the beginning of a character.
func partialRune(p []byte) int {
	for n := 1; n <= min(len(p), utf8.UTFMax-1); n++ {
		if b := p[len(p)-n]; utf8.RuneStart(b) {
			if utf8.FullRune(p[len(p)-n:]) {
				return 0
			}
			return n
		}
	}
	return 0
}

// appendJSONString writes a JSON string. Every control character is escaped, C1
// too, so that a recording does nothing to a terminal that it is printed to.
func appendJSONString[T []byte | string](dst []byte, text T) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(text); {
		b := text[i]
		switch {
		case b == '"' || b == '\\':
			dst = append(dst, '\\', b)
			i++
		case b == '\n':
			dst = append(dst, `\n`...)
			i++
		case b == '\r':
			dst = append(dst, `\r`...)
			i++
		case b == '\t':
			dst = append(dst, `\t`...)
			i++
		case b < 0x20 || b == 0x7f:
			dst = append(dst, `\u00`...)
			dst = append(dst, hex[b>>4], hex[b&15])
			i++
		case b < utf8.RuneSelf:
			dst = append(dst, b)
			i++
		default:
			end := min(i+utf8.UTFMax, len(text))
			r, size := utf8.DecodeRuneInString(string(text[i:end]))
			if r < 0xa0 {
				dst = append(dst, `\u00`...)
				dst = append(dst, hex[r>>4], hex[r&15])
			} else {
				dst = utf8.AppendRune(dst, r) // U+FFFD for what is none
			}
			i += size
		}
	}
	return append(dst, '"')
}
