package vt

// runeWidth is the number of columns of a character: 0, 1 or 2, as
// @xterm/addon-unicode11 has it.
func runeWidth(r rune) int {
	if r < 0x300 {
		if r < 0x20 || r >= 0x7f && r < 0xa0 {
			return 0
		}
		return 1
	}
	if r >= 0x4e00 && r < 0xa000 {
		return 2
	}
	if r > 0x10ffff {
		return 1
	}
	block := int(widthIndex[r>>8]) << 6
	return int(widthBlocks[block|int(r&0xff)>>2]>>(uint(r&3)*2)) & 3
}
