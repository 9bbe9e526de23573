package vt

import "strings"

// A query is a sequence that asks the terminal for an answer. The tables below
// and testdata/queries/queries.json say the same; the latter has the answers too,
// with what each of them claims, and the browser's handlers are made from it.

// csiQueries are the control sequences that ask, by prefix, intermediate and
// final byte; the list of first parameters is nil where every one asks.
var csiQueries = map[uint32][]int32{
	key(0, 0, 'c'):     nil,                                  // DA1
	key('>', 0, 'c'):   nil,                                  // DA2
	key('=', 0, 'c'):   nil,                                  // DA3
	key(0, 0, 'n'):     nil,                                  // DSR, CPR
	key('?', 0, 'n'):   nil,                                  // DECDSR, DECXCPR
	key(0, '$', 'p'):   nil,                                  // DECRQM, ANSI
	key('?', '$', 'p'): nil,                                  // DECRQM, private
	key('?', 0, 'u'):   nil,                                  // kitty keyboard
	key('?', 0, 'm'):   nil,                                  // XTQMODKEYS
	key('?', 0, 'g'):   nil,                                  // XTQFMTKEYS
	key('>', 0, 'q'):   nil,                                  // XTVERSION
	key(0, 0, 't'):     {11, 13, 14, 15, 16, 18, 19, 20, 21}, // XTWINOPS, reports
	key(0, 0, 'x'):     nil,                                  // DECREQTPARM
	key('?', 0, 'S'):   nil,                                  // XTSMGRAPHICS
	key(0, '*', 'y'):   nil,                                  // DECRQCRA
	key(0, '$', 'w'):   nil,                                  // DECRQPSR
	key(0, '$', 'u'):   nil,                                  // DECRQTSR
	key(0, '&', 'u'):   nil,                                  // DECRQUPSS
	key(0, '"', 'v'):   nil,                                  // DECRQDE
	key(0, '\'', '|'):  nil,                                  // DECRQLP
	key(0, '#', 'R'):   nil,                                  // XTREPORTCOLORS
	key(0, '#', '|'):   nil,                                  // XTREPORTSGR
}

// dcsQueries are the device control strings that ask, by intermediate and final
// byte.
var dcsQueries = map[uint32]bool{
	key(0, '$', 'q'): true, // DECRQSS
	key(0, '+', 'q'): true, // XTGETTCAP
	key(0, '+', 'Q'): true, // XTGETXRES
}

// How an OSC string asks.
type oscAsk uint8

const (
	askNever oscAsk = iota
	askSlot         // one of the slots between semicolons is "?"
	askThird        // OSC 52: what follows the selection is "?"
	askValue        // OSC 21: a value after "=" is "?"
	askKitty        // OSC 99: p=?
	askITerm        // OSC 1337: names that report
	askAlways
)

// oscQueries are the OSC strings that can ask.
var oscQueries = map[int]oscAsk{
	3: askSlot, 4: askSlot, 5: askSlot,
	10: askSlot, 11: askSlot, 12: askSlot, 13: askSlot, 14: askSlot,
	15: askSlot, 16: askSlot, 17: askSlot, 18: askSlot, 19: askSlot,
	21: askValue, 22: askSlot, 50: askSlot, 52: askThird,
	60: askAlways, 61: askAlways, 99: askKitty, 702: askSlot,
	1337: askITerm, 5522: askAlways, 7501: askSlot,
}

// oscAsks says whether an OSC string asks. It must be complete.
func oscAsks(text []byte) bool {
	number, data, ok := splitOSC(text)
	if !ok {
		return false
	}
	switch oscQueries[number] {
	case askAlways:
		return true
	case askSlot:
		for _, slot := range strings.Split(data, ";") {
			if slot == "?" {
				return true
			}
		}
	case askThird:
		_, what, _ := strings.Cut(data, ";")
		return what == "?"
	case askValue:
		for _, slot := range strings.Split(data, ";") {
			if _, value, ok := strings.Cut(slot, "="); ok && value == "?" {
				return true
			}
		}
	case askKitty:
		options, _, _ := strings.Cut(data, ";")
		for _, o := range strings.Split(options, ":") {
			if o == "p=?" {
				return true
			}
		}
	case askITerm:
		return strings.HasPrefix(data, "Report") || strings.HasPrefix(data, "Capabilities") ||
			strings.HasPrefix(data, "RequestUpload")
	}
	return false
}

// oscMayAsk says whether an OSC string that begins so may turn out to ask.
func oscMayAsk(text []byte) bool {
	i, number := 0, 0
	for i < len(text) && text[i] >= '0' && text[i] <= '9' {
		if number = number*10 + int(text[i]-'0'); number > 1<<24 {
			return false
		}
		i++
	}
	if i == len(text) {
		return true
	}
	ask := oscQueries[number]
	if text[i] != ';' || ask == askNever {
		return false
	}
	if ask == askThird {
		_, what, ok := strings.Cut(string(text[i+1:min(len(text), i+64)]), ";")
		return !ok && len(text) < i+64 || what == "" || what == "?"
	}
	return true
}

// apcAsks says whether an APC string asks: kitty graphics with a=q.
func apcAsks(text []byte) bool {
	if len(text) == 0 || text[0] != 'G' {
		return false
	}
	control, _, _ := strings.Cut(string(text[1:]), ";")
	for _, o := range strings.Split(control, ",") {
		if o == "a=q" {
			return true
		}
	}
	return false
}
