package vt

import "math/bits"

// tabStops is a set of columns 0 … maxSize.
type tabStops [maxSize/64 + 1]uint64

func (s *tabStops) has(x int) bool {
	return uint(x) <= maxSize && s[x>>6]&(1<<(x&63)) != 0
}

func (s *tabStops) set(x int) {
	if uint(x) <= maxSize {
		s[x>>6] |= 1 << (x & 63)
	}
}

func (s *tabStops) clear(x int) {
	if uint(x) <= maxSize {
		s[x>>6] &^= 1 << (x & 63)
	}
}

// prev is the tab stop before x.
func (s *tabStops) prev(x, cols int) int {
	if x = min(x, maxSize+1) - 1; x < 0 {
		return 0
	}
	// The bits up to x, from the word of x downwards.
	word := s[x>>6] << (63 - x&63) >> (63 - x&63)
	for i := x >> 6; ; i-- {
		if word != 0 {
			return min(i<<6+bits.Len64(word)-1, cols-1)
		}
		if i == 0 {
			return 0
		}
		word = s[i-1]
	}
}

// next is the tab stop behind x.
func (s *tabStops) next(x, cols int) int {
	x++
	for i := x >> 6; i < len(s) && i<<6 < cols; i++ {
		word := s[i]
		if i == x>>6 {
			word &= ^uint64(0) << (x & 63)
		}
		if word != 0 {
			return min(i<<6+bits.TrailingZeros64(word), cols-1)
		}
	}
	return cols - 1
}

// setup sets every eighth column from a column on, continuing the stop before
// it, as xterm.js does when the screen grows.
func (s *tabStops) setup(from, cols int) {
	if from > 0 && !s.has(from) {
		from = s.prev(from, cols)
	}
	for ; from < cols; from += 8 {
		s.set(from)
	}
}
