package vt

import (
	"encoding/binary"
	"math/bits"
)

// printableRun is the number of leading bytes 0x20 … 0x7e. It looks at eight
// bytes at a time.
func printableRun(p []byte) int {
	const (
		ones = 0x0101010101010101
		high = 0x8080808080808080
	)
	i := 0
	for i+8 <= len(p) {
		v := binary.LittleEndian.Uint64(p[i:])
		// A byte below 0x20 borrows into its high bit; 0x7f and above carry
		// into it. Only bytes behind such a one are marked wrongly.
		if marks := ((v - 0x20*ones) | (v + ones) | v) & high; marks != 0 {
			return i + bits.TrailingZeros64(marks)>>3
		}
		i += 8
	}
	for i < len(p) && p[i] >= 0x20 && p[i] < 0x7f {
		i++
	}
	return i
}

// letterRun is printableRun without spaces.
func letterRun(p []byte) int {
	const (
		ones = 0x0101010101010101
		high = 0x8080808080808080
	)
	i := 0
	for i+8 <= len(p) {
		v := binary.LittleEndian.Uint64(p[i:])
		if marks := ((v - 0x21*ones) | (v + ones) | v) & high; marks != 0 {
			return i + bits.TrailingZeros64(marks)>>3
		}
		i += 8
	}
	for i < len(p) && p[i] > 0x20 && p[i] < 0x7f {
		i++
	}
	return i
}

// decode reads one character as xterm.js's Utf8ToUtf32 does: invalid bytes, BOM
// and surrogates are dropped.
func decode(p []byte) (r rune, size int) {
	b := p[0]
	// What most text beyond ASCII is made of: three bytes, no surrogate, no BOM.
	if b > 0xe0 && b < 0xef && b != 0xed && len(p) >= 3 && p[1]&0xc0 == 0x80 && p[2]&0xc0 == 0x80 {
		return rune(b&0x0f)<<12 | rune(p[1]&0x3f)<<6 | rune(p[2]&0x3f), 3
	}
	return decodeAny(p)
}

func decodeAny(p []byte) (r rune, size int) {
	b := p[0]
	var need int
	switch {
	case b < 0x80:
		return rune(b), 1
	case b&0xe0 == 0xc0:
		need = 2
		r = rune(b & 0x1f)
	case b&0xf0 == 0xe0:
		need = 3
		r = rune(b & 0x0f)
	case b&0xf8 == 0xf0:
		need = 4
		r = rune(b & 0x07)
	default:
		return runeInvalid, 1
	}
	for i := 1; i < need; i++ {
		if i == len(p) {
			return runePartial, len(p)
		}
		if p[i]&0xc0 != 0x80 {
			return runeInvalid, i
		}
		r = r<<6 | rune(p[i]&0x3f)
	}
	switch {
	case need == 2 && r < 0x80:
		return runeInvalid, 1
	case need == 3 && (r < 0x800 || r >= 0xd800 && r <= 0xdfff || r == 0xfeff),
		need == 4 && (r < 0x10000 || r > 0x10ffff):
		return runeInvalid, need
	}
	return r, need
}
