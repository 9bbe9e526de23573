package vt

import "bytes"

// maxHeld bounds a sequence that a filter holds back until it knows what it is.
// A longer one that could still ask is dropped: nothing sensible is so long.
const maxHeld = 64 << 10

const (
	// pasteMark ends a bracketed paste.
	pasteMark = "\x1b[201~"
	// st ends a string well, can breaks it off.
	st  = "\x1b\\"
	can = "\x18"
)

// A QueryFilter removes from a program's output every query, so that a real
// terminal that shows it does not answer as well. Everything else passes byte
// for byte.
type QueryFilter struct{ s scanner }

// NewQueryFilter returns a filter at the start of a stream.
func NewQueryFilter() *QueryFilter { return &QueryFilter{scanner{rules: queryRules{}}} }

// Filter appends to dst what of src passes. It holds back a sequence whose end
// has not come.
func (f *QueryFilter) Filter(dst, src []byte) []byte { return f.s.filter(dst, src) }

// Flush appends what is held back; the stream has ended.
func (f *QueryFilter) Flush(dst []byte) []byte { return f.s.flush(dst) }

type queryRules struct{}

func (queryRules) csi(s *scanner, k uint32) bool {
	list, ok := csiQueries[k]
	if !ok || list == nil {
		return ok
	}
	for _, v := range list {
		if s.params.value[0] == v {
			return true
		}
	}
	return false
}

// esc removes DECID.
func (queryRules) esc(collect uint32, final byte) bool { return collect == 0 && final == 'Z' }

// control removes ENQ.
func (queryRules) control(b byte) bool { return b == 0x05 }

func (queryRules) mayString(s *scanner) bool {
	switch s.state {
	case stOSC:
		return oscMayAsk(s.text)
	case stDCSPass:
		return dcsQueries[s.collect]
	}
	return s.kind == '_' && s.text[0] == 'G'
}

func (queryRules) string(s *scanner) bool {
	switch s.state {
	case stOSC:
		return oscAsks(s.text)
	case stDCSPass:
		return dcsQueries[s.collect]
	}
	return s.kind == '_' && apcAsks(s.text)
}

// A ReplyFilter removes from the input of a real terminal the answers to
// queries, which come late or to somebody else's question. Keys, pastes and
// mouse events pass byte for byte.
//
// The start of an answer looks like a press of Escape, so it is held back; call
// Flush when nothing followed for a moment.
type ReplyFilter struct{ s scanner }

// NewReplyFilter returns a filter at the start of a stream.
func NewReplyFilter() *ReplyFilter { return &ReplyFilter{scanner{rules: replyRules{}}} }

// Filter appends to dst what of src passes.
func (f *ReplyFilter) Filter(dst, src []byte) []byte { return f.s.filter(dst, src) }

// Flush appends what is held back: it was typed.
func (f *ReplyFilter) Flush(dst []byte) []byte { return f.s.flush(dst) }

// Held says whether bytes are held back, so that Flush would give some.
func (f *ReplyFilter) Held() bool { return len(f.s.held)+len(f.s.pending) > 0 }

type replyRules struct{}

func (replyRules) csi(s *scanner, k uint32) bool {
	p := &s.params
	switch k {
	case key(0, 0, '~'):
		if p.value[0] == 200 {
			s.inPaste = true
		}
	case key(0, 0, 'M'):
		// An X10 mouse event: three bytes that can be anything.
		if p.n == 1 && p.value[0] == 0 {
			s.raw = 3
		}
	case key('?', 0, 'c'), key('>', 0, 'c'), key('=', 0, 'c'), key(0, 0, 'n'), key('?', 0, 'n'),
		key('?', 0, 'R'), key(0, '$', 'y'), key('?', '$', 'y'), key('?', 0, 'u'), key('>', 0, 'm'),
		key(0, 0, 't'), key('?', 0, 'S'), key(0, 0, 'x'), key('?', 0, 'x'), key('?', 0, 'g'):
		return true
	case key(0, 0, 'R'):
		// F3 with modifiers is CSI 1;m R too; a report from there is let through.
		return p.n >= 2 && (p.value[0] != 1 || p.value[1] < 2 || p.value[1] > 16)
	}
	return false
}

func (replyRules) esc(uint32, byte) bool { return false }

func (replyRules) control(byte) bool { return false }

func (replyRules) mayString(s *scanner) bool {
	switch s.state {
	case stOSC:
		return oscMayReply(s.text)
	case stDCSPass:
		return true
	}
	return s.kind == '_' && s.text[0] == 'G'
}

func (replyRules) string(s *scanner) bool {
	switch s.state {
	case stOSC:
		return len(s.text) > 0 && oscMayReply(s.text) && (bytes.IndexByte(s.text, ';') > 0 || s.text[0] == 'L' || s.text[0] == 'l')
	case stDCSPass:
		return true
	}
	return s.kind == '_' && len(s.text) > 0 && s.text[0] == 'G'
}

// oscMayReply says whether an OSC string that begins so can be an answer: to
// one of our queries, or a title report.
func oscMayReply(text []byte) bool {
	if len(text) > 0 && (text[0] == 'L' || text[0] == 'l') {
		return true
	}
	i, number := 0, 0
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		if number = number*10 + int(text[i]-'0'); number > 1<<24 {
			return false
		}
		i++
	}
	return i == len(text) || text[i] == ';' && oscQueries[number] != askNever
}
