package vt

// Options size a Terminal.
type Options struct {
	// Cols and Rows are the size of the screen, clamped to 2–1000 and 1–1000.
	Cols, Rows int
	// Scrollback is how many rows above the screen are kept, as xterm.js's
	// option of that name. 0 means 10,000, negative means none.
	Scrollback int
	// Archive bounds the archive, in bytes. 0 means 4 MiB, negative means none.
	Archive int
}

const (
	defaultScrollback = 10_000
	maxScrollback     = 1_000_000
	defaultArchive    = 4 << 20
	maxArchive        = 64 << 20
)

// A Terminal is one emulated terminal. Its methods must not run concurrently.
type Terminal struct {
	cols, rows int
	main, alt  *screen
	// cur is the screen shown, main or alt.
	cur *screen

	pen      pen
	penID    uint32
	penStale bool
	styles   styles
	clusters clusters
	// odd says that a cell may be of another width than its character's.
	odd   bool
	links map[link]*link

	charset charset
	glevel  int
	gsets   [4]charset
	modes   modes

	parser parser
	rest   []byte
	// lastWidth is the width of the character that a combining mark would
	// join and REP would repeat, 0 after anything but a character.
	lastWidth uint8
	// inRun says that the last code point was printed.
	inRun bool

	scrollback    lineStore
	scrollbackMax int
	// missing counts the oldest rows of the scrollback that are not kept: they
	// were cut for their size or left out of a State.
	missing int
	archive archive
	passing passing

	replies  []byte
	observed observed
	titles   []string
	faults   uint64
	// fed counts the bytes given to Write. ahead is how many bytes before rest are
	// yet to be printed.
	fed   uint64
	ahead int
	// touched counts cells, compared letters.
	touched, compared effort
}

// New returns an empty terminal.
func New(o Options) *Terminal {
	cols, rows := clampSize(o.Cols, o.Rows)
	t := &Terminal{cols: cols, rows: rows, main: new(screen), alt: new(screen), styles: newStyles(0)}
	switch {
	case o.Scrollback == 0:
		t.scrollbackMax = defaultScrollback
	case o.Scrollback > 0:
		t.scrollbackMax = min(o.Scrollback, maxScrollback)
	}
	t.archive.next = 1
	t.scrollback.tables = new(tables)
	t.archive.share(t.scrollback.tables)
	switch {
	case o.Archive == 0:
		t.archive.limit = defaultArchive
	case o.Archive > 0:
		t.archive.limit = min(o.Archive, maxArchive)
	}
	t.modes = defaultModes()
	t.parser.reset()
	t.resetScreens()
	return t
}

// resetScreens gives the terminal two empty screens and no scrollback.
func (t *Terminal) resetScreens() {
	t.main.clear(t.cols, t.rows)
	t.alt.hide()
	t.alt.clear(t.cols, 0)
	t.alt.bottom = t.rows - 1
	t.cur = t.main
	t.scrollback.reset()
	t.missing = 0
	t.pen = pen{}
	t.penStale = true
	t.lastWidth = 0
	t.inRun = false
	open := t.archive.open
	t.archive.open = line{}
	if len(open.cells) > 0 {
		t.archive.open = open
		t.archive.flush(t)
	}
	t.styles.reset()
	t.clusters = clusters{}
	t.odd = false
	t.archive.expectReprint()
}

// ris is ESC c. What xterm.js leaves alone stays: the cursor's visibility, LNM,
// the title.
func (t *Terminal) ris() {
	t.parser.reset()
	t.resetCharsets()
	t.modes.hard()
	t.resetScreens()
}

// Reset empties the terminal as if it were new, but for its size and archive.
func (t *Terminal) Reset() {
	t.ris()
	t.modes = defaultModes()
	t.replies = nil
	t.titles = nil
	t.observed.Title = ""
}

// Write feeds the terminal bytes from a program. It takes all of p, and never
// returns an error or panics: should processing fail, the terminal is reset and
// goes on behind the byte that did it.
func (t *Terminal) Write(p []byte) (int, error) {
	t.rest = p
	t.fed += uint64(len(p))
	for len(t.rest) > 0 {
		t.writeSome()
	}
	t.rest = nil
	return len(p), nil
}

func (t *Terminal) writeSome() {
	defer func() {
		if recover() != nil {
			t.fault()
		}
	}()
	t.parse()
}

// fault is the way back from a state that should not be: everything is made
// anew, but for the numbering of the archive.
func (t *Terminal) fault() {
	t.faults++
	t.ahead = 0
	t.archive = archive{next: t.archive.next, limit: t.archive.limit}
	t.archive.share(t.scrollback.tables)
	t.main, t.alt = new(screen), new(screen)
	t.cur = t.main
	t.Reset()
}

// Faults counts the times that Write had to reset the terminal.
func (t *Terminal) Faults() uint64 { return t.faults }

// Size returns the screen's columns and rows.
func (t *Terminal) Size() (cols, rows int) { return t.cols, t.rows }

// Cursor returns the cursor's column and row, from 0. The column equals the
// number of columns while the next character would wrap.
func (t *Terminal) Cursor() (x, y int) { return t.cur.x, t.cur.y }
