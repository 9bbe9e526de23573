package vt

import (
	"bytes"
	"slices"
)

const (
	// reprintWindow is how many of the newest lines a reprint is looked for in.
	reprintWindow = 8192
	// reprintInside is the same where it begins within a line.
	reprintInside = 256
	// maxPlaces is how many places of the archive a reprint may be at.
	maxPlaces = 32
	// beginWithin is how many lines after a program cleared the screen a reprint
	// may begin at: banners come first, and change with the width.
	beginWithin = 64
	// beginSoon is the same after the cursor went to the top.
	beginSoon = 8
	// maxSkip is how many lines of the archive a reprint may leave out at once.
	maxSkip = 64
	// skipBytes bounds that in letters, and skipFewBytes where the program prints
	// less than keyLetters. Less than skipLetters say nothing. maxTries bounds how
	// often the beginning of a line is found in vain.
	skipBytes, skipFewBytes, skipLetters, maxTries = 16 << 10, 256, 4, 16
	// maxExtras is how many lines in a row may be new within a reprint before it
	// is none.
	maxExtras = 8
	// maxSoftExtras is the same where all that matters was printed again.
	maxSoftExtras = 64
	// maxLead bounds the lines without letters held back before a reprint begins.
	maxLead = 64
	// Evidence that lines are a reprint, and not the same few words by chance.
	evidenceLines, evidenceLetters = 3, 40
	// This much, word for word, is a reprint even when it breaks off.
	sureLines, sureLetters = 5, 160
	// maxReprintLetters is where counting them ends: more prove nothing more.
	maxReprintLetters = 1 << 30
	// partLetters is the least of a line's letters that may match alone.
	partLetters = 16
	// heldBytes and heldLines bound what is held back. More than that printed
	// again in order is proof.
	heldBytes, heldLines = 1 << 20, 8192
)

// A reprint is the comparison of what is printed now with the archive.
//
// It begins at a line that says what some line of the archive says, and goes on
// while the letters do. Lines that match are held back: they stand in the
// archive already. Once the archive's end is reached, they are proven to be a
// reprint and forgotten. When a line differs before that, all held back are
// appended after all. With evidence enough the reprint may leave out lines of
// the archive (frames of an older size that were pushed off the screen) and have
// lines of its own (status lines), which are appended as soon as it is known that
// it goes on behind them; what is missing at the end may then be as much as a
// quarter of what matched.
//
// Matching lines are also forgotten when the screen is cleared again: what
// follows is the next reprint.
type reprint struct {
	// active says that lines are compared at all.
	active bool
	// budget is how many lines may still pass before a reprint begins; first says
	// that none did. again is how many lines may pass before another one begins
	// while this one waits.
	budget int
	first  bool
	again  int
	// end is the archive's end when the comparison began. The next lines, shown of
	// them, were on the screen then and count as if they had been in the archive.
	end   LineID
	shown int
	// places are where the archive may go on as the program does; none while no
	// line matched.
	places []place
	// held are the lines that matched. lead are lines without letters before the
	// first of them.
	held, lead lineStore
	// lines and letters count what matched, extras the lines since the last match.
	lines, letters, extras int
	// leading is how many letters lead has: the end of a line, of which it is to be
	// seen whether the archive has it.
	leading int
}

// A place is a byte of a line's letters. lines counts those that the program
// printed as they stand before it, misses those since that it printed otherwise,
// and skipped those that it printed before it left lines out. It began with line
// start, 0 where that was within a line.
type place struct {
	id, start              LineID
	at                     int
	lines, misses, skipped int
}

// weight says how sure a place is.
func (p place) weight() int {
	if p.lines >= evidenceLines {
		return p.lines + p.skipped
	}
	return p.lines
}

// restart forgets what was compared and held back, but not its memory.
func (r *reprint) restart(with reprint) {
	r.held.reset()
	r.lead.reset()
	with.held, with.lead, with.places = r.held, r.lead, r.places[:0]
	*r = with
}

// stop ends comparing, but for what still waits for the next line.
func (a *archive) stop() {
	if a.torn.len() > 0 {
		a.reprint.restart(reprint{active: true, budget: 1, end: a.next})
		return
	}
	a.reprint.restart(reprint{})
	if cap(a.stream.letters) > maxStream/16 {
		a.stream = letterStream{}
	}
}

// best is the surest place, of the archive's newest lines among equals.
func (r *reprint) best() place {
	best := r.places[0]
	for _, p := range r.places[1:] {
		if p.weight() > best.weight() {
			best = p
		}
	}
	return best
}

// expectReprint prepares for a program that prints again what it printed,
// because it cleared the screen or the history.
func (a *archive) expectReprint() {
	if a.limit == 0 {
		return
	}
	r := &a.reprint
	a.appendAll(&r.lead)
	r.restart(reprint{active: true, budget: beginWithin, first: true, end: a.next})
}

// allowReprint is for weaker signs: the cursor is at the top, from where a
// program that does not clear begins to print its screen again.
func (a *archive) allowReprint() {
	r := &a.reprint
	switch {
	case a.limit == 0 || r.again == beginSoon && r.end == a.next:
	case len(r.places) > 0:
		r.again = beginSoon
	default:
		r.active, r.first, r.again = true, true, beginSoon
		r.budget = max(r.budget, beginSoon)
		r.end = a.next
	}
}

// resized is allowReprint for a screen of so many rows that got another size:
// the program will print again what is shown.
func (a *archive) resized(rows int) {
	if a.limit == 0 {
		return
	}
	a.allowReprint()
	r := &a.reprint
	r.shown = rows
	r.budget = max(r.budget, rows+beginSoon)
}

// strong says that what matched so far is no chance.
func (r *reprint) strong() bool {
	return r.lines >= evidenceLines && r.letters >= evidenceLetters
}

// sure says that what matched is a reprint whatever comes: it is much, or little
// is missing to the archive's end.
func (r *reprint) sure() bool {
	if !r.strong() {
		return false
	}
	return r.lines >= sureLines && r.letters >= sureLetters || r.nearEnd()
}

// nearEnd says that little is missing to the archive's end.
func (r *reprint) nearEnd() bool {
	return int(r.end-r.best().id) <= min(4*maxSkip, maxExtras+r.lines/4)
}

// ended says that the last lines of the archive were printed again.
func (r *reprint) ended() bool {
	for _, p := range r.places {
		if p.id == r.end {
			return true
		}
	}
	return false
}

// compare takes a complete line while a reprint may be going on.
func (a *archive) compare(t *Terminal, cells []cell, alt bool) {
	r := &a.reprint
	if !t.affordLetters(len(cells) * (1 + len(r.places))) {
		a.stopComparing()
		a.append(t, cells, alt)
		return
	}
	a.letters = t.appendCellLetters(a.letters[:0], cells)
	letters := a.letters
	if len(letters) == 0 {
		switch {
		case r.leading > 0 && r.lead.len() < maxLead:
			r.lead.push(t, cells, altFlag(alt))
		case r.extras > 0:
			a.append(t, cells, alt)
		case len(r.places) > 0:
			r.held.push(t, cells, altFlag(alt))
		case r.lead.len() < maxLead:
			r.lead.push(t, cells, altFlag(alt))
		default:
			r.leading = 0
			a.appendAll(&r.lead)
			a.append(t, cells, alt)
		}
		return
	}
	if len(r.places) == 0 {
		a.begin(t, cells, alt, letters)
		return
	}
	a.proceed(t, cells, alt, letters)
}

// stopComparing keeps what was held back.
func (a *archive) stopComparing() {
	r := &a.reprint
	a.appendAll(&r.held)
	a.appendAll(&r.lead)
	a.keepTorn()
	a.stop()
}

// begin looks for a reprint that begins at this line.
func (a *archive) begin(t *Terminal, cells []cell, alt bool, letters []byte) {
	r := &a.reprint
	if !t.affordLetters(min(a.store.len(), reprintWindow) + maxPlaces*len(letters)) {
		a.stopComparing()
		a.append(t, cells, alt)
		return
	}
	a.find(letters)
	a.checkLead()
	if len(r.places) == 0 && r.first && len(letters) < partLetters && a.lead(t, cells, alt, letters) {
		return
	}
	if len(r.places) == 0 {
		r.first, r.leading = false, 0
		a.appendAll(&r.lead)
		a.append(t, cells, alt)
		if r.shown > 0 {
			r.shown--
			r.end = a.next
		}
		if r.budget--; r.budget <= 0 {
			a.stop()
		}
		return
	}
	// Lines without letters before it belong to it.
	r.held.reset()
	r.held, r.lead = r.lead, r.held
	r.again, r.leading = 0, 0
	r.lines, r.letters, r.extras = 0, 0, 0
	a.matched(t, cells, alt, letters)
}

// lead holds a line of few letters back that may be the end of one whose beginning
// the program does not print again. The next line tells: the archive says it
// behind that. It returns false where there is such a line already.
func (a *archive) lead(t *Terminal, cells []cell, alt bool, letters []byte) bool {
	r := &a.reprint
	if r.leading > 0 {
		return false
	}
	r.lead.push(t, cells, altFlag(alt))
	r.leading = len(letters)
	return true
}

// checkLead drops the places that the letters held in front of a reprint do not
// stand before. When that is all of them, those letters are new.
func (a *archive) checkLead() {
	r := &a.reprint
	if r.leading == 0 {
		return
	}
	var lead []byte
	for i := range r.lead.len() {
		c, k := r.lead.at(i)
		lead = recordLetters(lead, c.record(k))
	}
	places := r.places[:0]
	for _, p := range r.places {
		if p.start > 0 && a.standsBefore(p.start, lead) {
			places = append(places, p)
		}
	}
	if len(places) > 0 {
		r.places = places
		return
	}
	r.first = false
	a.dropLead()
}

// dropLead appends the letters held in front of a reprint that did not begin.
func (a *archive) dropLead() {
	if r := &a.reprint; r.leading > 0 {
		r.leading = 0
		a.appendAll(&r.lead)
	}
}

// standsBefore says whether the archive's letters before a line end in these.
func (a *archive) standsBefore(id LineID, letters []byte) bool {
	for blank := 0; id > a.oldest() && len(letters) > 0 && blank < maxSkip; blank++ {
		id--
		line, ok := a.lettersOf(id)
		if !ok {
			return false
		}
		if len(line) >= len(letters) {
			return bytes.HasSuffix(line, letters)
		}
		if !bytes.HasSuffix(letters, line) {
			return false
		}
		letters = letters[:len(letters)-len(line)]
	}
	return len(letters) == 0
}

// proceed takes a line behind others that matched.
func (a *archive) proceed(t *Terminal, cells []cell, alt bool, letters []byte) {
	r := &a.reprint
	strong := r.strong()
	a.before = append(a.before[:0], r.places...)
	before, after, stay := a.before, a.after[:0], a.stay[:0]
	defer func() { a.after, a.stay = after, stay }()
	part, rest := 0, 0
	for _, p := range before {
		q, n := a.follow(p, letters)
		switch {
		case n == len(letters):
			after = addPlace(after, q)
			continue
		case n == 0 || q.at != 0:
		case q.id == r.end:
			part = max(part, n)
		case strong:
			// The archive says something else from there on.
			if n >= keyLetters {
				rest = max(rest, n)
			}
			if q, ok := a.skip(q, letters[n:]); ok {
				after = addPlace(after, q)
			}
		}
		stay = append(stay, p)
	}
	if len(after) == 0 && part > 0 && (strong || r.first && part >= partLetters) {
		// The archive ends within the line: its rest is new.
		a.append(t, cells[t.cellsBehind(cells, part):], alt)
		a.stop()
		return
	}
	if len(after) == 0 && r.again > 0 {
		if r.again == beginSoon && len(letters) < partLetters && a.lead(t, cells, alt, letters) {
			return
		}
		if a.beginAgain(letters) {
			a.matched(t, cells, alt, letters)
			return
		}
	}
	a.dropLead()
	if len(after) == 0 && strong {
		for _, p := range before[:min(4, len(before))] {
			if q, ok := a.skip(p, letters); ok {
				after = addPlace(after, q)
			}
		}
	}
	if len(after) == 0 && strong {
		var end int
		if after, end = a.elsewhere(t, after, before, letters); end > 0 {
			// Its end is what the archive goes on with: only its beginning is new.
			a.append(t, cells[:t.wordEnd(cells, t.cellsBehind(cells, end))], alt)
		}
	}
	if !strong && len(after) == 0 {
		a.appendAll(&r.held)
		r.places = r.places[:0]
		r.first = false
		a.begin(t, cells, alt, letters)
		return
	}
	moved := len(after) > 0
	if moved && r.again > 0 {
		r.again--
	}
	if strong {
		// The line may be a new one that the archive has by chance, or one that an
		// earlier reprint had more than the archive, which stands at its end.
		for _, p := range stay {
			if p.misses++; p.misses <= maxExtras || !moved {
				after = addPlace(after, p)
			}
		}
	}
	r.places = append(r.places[:0], after...)
	if !moved {
		a.unmatched(t, cells, alt, rest)
		return
	}
	r.extras = 0
	a.matched(t, cells, alt, letters)
}

// beginAgain looks for another reprint that begins at this line. What matched
// of the one before it is forgotten.
func (a *archive) beginAgain(letters []byte) bool {
	r := &a.reprint
	r.again--
	before, end := append([]place(nil), r.places...), r.end
	r.end = a.next
	a.find(letters)
	a.checkLead()
	if len(r.places) == 0 {
		r.places, r.end = append(r.places, before...), end
		return false
	}
	r.held.reset()
	if r.leading > 0 {
		r.held, r.lead = r.lead, r.held
		r.leading = 0
	}
	r.first, r.again = true, 0
	r.lines, r.letters, r.extras = 0, 0, 0
	return true
}

// matched holds a line back, and ends the reprint that is complete.
func (a *archive) matched(t *Terminal, cells []cell, alt bool, letters []byte) {
	r := &a.reprint
	r.held.push(t, cells, altFlag(alt))
	r.lines++
	r.letters = min(r.letters+len(letters), maxReprintLetters)
	proven := r.first || r.strong()
	going := false
	if best := r.best(); best.id == r.end && best.lines >= evidenceLines && r.strong() {
		// Whatever other places there may be, this is it. Some programs go on with
		// what was on the screen before.
		r.held.reset()
		r.restart(reprint{active: true, budget: 2 * beginSoon, end: r.end})
		return
	}
	for _, p := range r.places {
		if p.id < r.end || !proven {
			going = true
		} else if !r.strong() {
			r.held.reset()
		}
	}
	if r.held.len() >= heldLines || r.held.memory() >= heldBytes {
		r.held.reset()
	}
	if going {
		return
	}
	r.places = r.places[:0]
	if r.first = false; r.strong() || r.budget <= 1 {
		a.stop()
		return
	}
	r.budget--
}

// unmatched takes a line that is new within a reprint. Its first n bytes of
// letters are not.
func (a *archive) unmatched(t *Terminal, cells []cell, alt bool, n int) {
	r := &a.reprint
	r.extras++
	sure := r.sure()
	if sure {
		r.held.reset()
	}
	if n > 0 {
		cells = cells[t.cellsBehind(cells, n):]
	}
	a.append(t, cells, alt)
	if r.extras > maxSoftExtras || r.extras > maxExtras && !sure {
		if !sure && !r.ended() {
			a.appendAll(&r.held)
		}
		r.held.reset()
		a.stop()
	}
}

// find makes places of all lines of the archive that begin with these letters.
func (a *archive) find(letters []byte) {
	r := &a.reprint
	r.places = r.places[:0]
	if len(letters) > maxCompared {
		return
	}
	a.findKey(letters)
	if len(r.places) > 0 || len(letters) < partLetters {
		return
	}
	// A program that prints the last screen again begins within a line.
	p := place{id: max(a.oldest(), r.end-min(r.end, reprintInside))}
	if q, ok := a.skip(p, letters); ok {
		q.start, q.skipped = 0, 0
		r.places = append(r.places, q)
	}
}

// findKey is find for lines that begin with these letters.
func (a *archive) findKey(letters []byte) {
	r := &a.reprint
	key := letterKey(letters)
	// behind is the line behind the chunk looked at.
	behind := a.next
	for n := len(a.store.chunks) - 1; n >= 0 && r.end <= behind+reprintWindow; n-- {
		c := a.store.chunks[n]
		first := 0
		if n == 0 {
			first = a.store.head
		}
		if len(c.ends) > 0 {
			a.key(c, 0) // makes room for all
		}
		// Record i is line base+i, and those that count are in [first, last).
		base := int64(behind) - int64(len(c.ends))
		last := min(len(c.ends), int(int64(r.end)-base))
		first = max(first, int(int64(r.end)-base)-reprintWindow)
		behind -= LineID(len(c.ends))
		for i := last - 1; i >= first; i-- {
			k := c.keys[i]
			if k != key && k != keyNone || k == keyNone && a.key(c, i) != key {
				continue
			}
			id := LineID(base + int64(i))
			p, matched := a.follow(place{id: id, start: id}, letters)
			if matched == len(letters) {
				if r.places = addPlace(r.places, p); len(r.places) == maxPlaces {
					return
				}
			}
		}
	}
}

// follow goes on from a place as far as the letters do, and says how many that
// is. It stops at the end of a line of the archive with at 0 in the next.
func (a *archive) follow(p place, letters []byte) (place, int) {
	n := 0
	oldest := a.oldest()
	p.lines, p.misses = p.lines+1, 0
	for blank := 0; n < len(letters) && p.id < a.reprint.end && blank < maxSkip; {
		if p.id < oldest {
			return p, 0
		}
		line, ok := a.lettersOf(p.id)
		if !ok || p.at > len(line) {
			return place{id: p.id, at: 1}, 0
		}
		if len(line) == 0 {
			blank++
		}
		k := commonPrefix(line[p.at:], letters[n:])
		n += k
		if p.at += k; p.at < len(line) {
			break
		}
		p.id++
		p.at = 0
	}
	for blank := 0; p.at == 0 && p.id < a.reprint.end && blank < maxSkip && a.keyOf(p.id) == keyBlank; blank++ {
		p.id++
	}
	return p, n
}

// skip looks for these letters behind a place, not far. Programs that resize cut
// lines at the right before they break them anew, so that letters may be missing
// in the middle of a line. Few letters are looked for near only.
func (a *archive) skip(p place, letters []byte) (place, bool) {
	reach := skipBytes
	if len(letters) < keyLetters {
		reach = skipFewBytes
	}
	if len(letters) < skipLetters || p.id < a.oldest() {
		return p, false
	}
	at, stream, starts := a.lookAhead(p, reach)
	first := letters[:min(len(letters), 3*keyLetters)]
	for tries := 0; tries < maxTries; tries++ {
		k := bytes.Index(stream[at:], first)
		if k < 0 {
			break
		}
		at += k
		line, _ := slices.BinarySearch(starts, at+1)
		line--
		q := place{id: p.id + LineID(line), at: at - starts[line], start: p.start, skipped: p.lines + p.skipped}
		if q, n := a.follow(q, letters); n == len(letters) {
			return q, true
		}
		at++
	}
	return p, false
}

// A lookahead is the letters of some lines of the archive, one after the other.
// A reprint looks for most of its lines behind nearly the same place.
type lookahead struct {
	first LineID
	// starts are where the lines begin in text.
	starts []int
	text   []byte
}

// lookAhead is the letters behind a place, which is at that byte of them, as far
// as a reprint may skip, and where the place's line and those behind it begin.
func (a *archive) lookAhead(p place, reach int) (at int, letters []byte, starts []int) {
	end := min(p.id+reprintInside, a.reprint.end)
	if p.id >= end {
		return 0, nil, nil
	}
	w := &a.ahead
	before := int(p.id - w.first)
	switch {
	case p.id < w.first || p.id-w.first > LineID(len(w.starts)) || before == len(w.starts):
		w.first, before = p.id, 0
		w.starts, w.text = w.starts[:0], w.text[:0]
	case w.starts[before] > skipBytes:
		gone := w.starts[before]
		w.text = w.text[:copy(w.text, w.text[gone:])]
		w.starts = w.starts[:copy(w.starts, w.starts[before:])]
		for i := range w.starts {
			w.starts[i] -= gone
		}
		w.first, before = p.id, 0
	}
	for id := w.first + LineID(len(w.starts)); id < end; id++ {
		if len(w.starts) > before && len(w.text) >= w.starts[before]+p.at+reach {
			break
		}
		line, ok := a.lettersOf(id)
		if !ok {
			break
		}
		w.starts = append(w.starts, len(w.text))
		w.text = append(w.text, line...)
	}
	if len(w.starts) == before {
		return 0, nil, nil // too long to be compared
	}
	starts = w.starts[before:]
	next := len(w.text)
	if len(starts) > 1 {
		next = starts[1]
	}
	if at = starts[0] + p.at; at > next {
		return 0, nil, nil
	}
	letters = w.text
	if n := int(end - p.id); n < len(starts) {
		letters = letters[:starts[n]]
	}
	return at, letters[:min(len(letters), at+reach)], starts
}

// addPlace adds a place, once.
func addPlace(places []place, p place) []place {
	for i, q := range places {
		if q.id == p.id && q.at == p.at {
			places[i].lines, places[i].misses = max(q.lines, p.lines), min(q.misses, p.misses)
			return places
		}
	}
	if len(places) < maxPlaces {
		places = append(places, p)
	}
	return places
}
