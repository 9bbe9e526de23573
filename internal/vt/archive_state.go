package vt

// archive writes the archive with its newest lines, n of them.
func (e *encoder) archive(n int) {
	a := &e.t.archive
	e.u64(uint64(a.next))
	e.stored(&a.store, n)
	e.num(len(a.open.cells))
	e.cells(a.open.cells, 0)
	e.bool(a.openAlt)
	e.u64(a.open.known)
	e.stored(&a.torn, a.torn.len())

	r := &a.reprint
	e.bool(r.active)
	if !r.active {
		return
	}
	e.num(r.budget)
	e.bool(r.first)
	e.num(r.again)
	e.u64(uint64(r.end))
	e.num(r.shown)
	e.num(len(r.places))
	for _, p := range r.places {
		e.u64(uint64(p.id))
		e.u64(uint64(p.start))
		e.num(p.at)
		e.num(p.lines)
		e.num(p.misses)
		e.num(p.skipped)
	}
	e.stored(&r.held, r.held.len())
	e.stored(&r.lead, r.lead.len())
	e.num(r.lines)
	e.num(r.letters)
	e.num(r.extras)
}

func (d *decoder) archive() {
	a := &d.t.archive
	next := d.u64()
	n := d.num(len(d.buf))
	if next == 0 || next > 1<<62 || uint64(n) >= next {
		d.fail()
		return
	}
	a.next = LineID(next) - LineID(n)
	d.archived(n, func(cells []cell, alt bool) {
		if a.limit > 0 {
			a.append(d.t, cells, alt)
		}
	})
	a.next = LineID(next)
	open := d.num(maxCells + maxSize)
	d.row(&a.open, open)
	a.open.grow(open)
	a.open.wrapped = false
	a.openAlt = d.bool()
	a.open.known = d.u64()
	d.archived(d.num(maxTorn+1), func(cells []cell, alt bool) {
		if a.limit > 0 {
			a.torn.push(d.t, cells, altFlag(alt))
		}
	})
	if d.bool() {
		d.reprint()
	}
	if !a.reprint.active && !d.failed {
		a.keepTorn()
	}
}

// archived reads n lines.
func (d *decoder) archived(n int, take func(cells []cell, alt bool)) {
	var l line
	for range n {
		rec := d.bytes(len(d.buf))
		if d.failed || !d.t.decodeRecord(&l, rec, d.styles, maxCells) || rec[0]&recordWrapped != 0 {
			d.fail()
			return
		}
		take(l.cells, rec[0]&recordAlt != 0)
		d.t.sweep()
	}
}

func (d *decoder) reprint() {
	a := &d.t.archive
	r := &a.reprint
	r.active = a.limit > 0
	r.budget = d.num(maxSize + beginSoon)
	r.first = d.bool()
	r.again = d.num(beginSoon)
	r.end = LineID(d.bounded(uint64(a.next)))
	r.shown = d.num(maxSize)
	compared := false
	for range d.num(maxPlaces) {
		p := place{LineID(d.u64()), LineID(d.bounded(uint64(a.next))), d.num(maxCompared), d.num(1 << 30), d.num(1 << 30), d.num(1 << 30)}
		compared = true
		// The archive may be without its oldest lines.
		if p.id >= a.oldest() && p.id <= r.end {
			r.places = append(r.places, p)
		}
	}
	for _, s := range []*lineStore{&r.held, &r.lead} {
		d.archived(d.num(min(heldLines, len(d.buf))), func(cells []cell, alt bool) { s.push(d.t, cells, altFlag(alt)) })
	}
	var lead []byte
	for i := range r.lead.len() {
		c, k := r.lead.at(i)
		lead = recordLetters(lead, c.record(k))
	}
	r.leading = len(lead)
	r.lines = d.num(1 << 30)
	r.letters = d.num(maxReprintLetters)
	r.extras = d.num(maxSoftExtras)
	if compared && len(r.places) == 0 && !d.failed {
		r.held.reset()
		a.appendAll(&r.lead)
		*r = reprint{}
	}
}
