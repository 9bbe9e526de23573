package vt

// params are the numbers of a CSI or DCS sequence. An absent parameter is 0, an
// absent sub-parameter -1.
type params struct {
	n, subs          int
	value            [maxParams]int32
	sub              [maxSubParams]int32
	subStart, subEnd [maxParams]uint8
	rejectDigits     bool
	rejectSubDigits  bool
	digitIsSub       bool
}

func (p *params) reset() {
	p.n, p.subs = 0, 0
	p.rejectDigits, p.rejectSubDigits, p.digitIsSub = false, false, false
	p.add()
}

func (p *params) add() {
	p.digitIsSub = false
	if p.n >= maxParams {
		p.rejectDigits = true
		return
	}
	p.subStart[p.n], p.subEnd[p.n] = uint8(p.subs), uint8(p.subs)
	p.value[p.n] = 0
	p.n++
}

func (p *params) addSub() {
	p.digitIsSub = true
	if p.rejectDigits || p.subs >= maxSubParams {
		p.rejectSubDigits = true
		return
	}
	p.sub[p.subs] = -1
	p.subs++
	p.subEnd[p.n-1]++
}

func (p *params) digit(d int32) {
	if p.rejectDigits || p.digitIsSub && p.rejectSubDigits {
		return
	}
	v := &p.value[p.n-1]
	if p.digitIsSub {
		v = &p.sub[p.subs-1]
	}
	if *v < 0 {
		*v = d
		return
	}
	*v = int32(min(int64(*v)*10+int64(d), paramLimit))
}

// byteIn takes a digit, ';' or ':'.
func (p *params) byteIn(c rune) {
	switch c {
	case ';':
		p.add()
	case ':':
		p.addSub()
	default:
		p.digit(c - '0')
	}
}

// subsOf are the sub-parameters of parameter i.
func (p *params) subsOf(i int) []int32 { return p.sub[p.subStart[i]:p.subEnd[i]] }

// second is the second parameter, 0 when absent.
func (p *params) second() int32 {
	if p.n > 1 {
		return p.value[1]
	}
	return 0
}

// count is parameter 0 as a repeat count: 0 means 1.
func (p *params) count() int { return max(1, int(p.value[0])) }
