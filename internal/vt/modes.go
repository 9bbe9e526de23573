package vt

// MouseProtocol says which mouse events a program wants.
type MouseProtocol uint8

// The mouse protocols; at most one is in force.
const (
	MouseNone   MouseProtocol = iota
	MouseX10                  // mode 9: presses
	MouseNormal               // mode 1000: presses, releases, wheel
	MouseDrag                 // mode 1002: and motion with a button held
	MouseAny                  // mode 1003: and all motion
)

// MouseEncoding says how mouse events are written.
type MouseEncoding uint8

// The mouse encodings.
const (
	MouseDefault   MouseEncoding = iota // X10 bytes
	MouseSGR                            // mode 1006
	MouseSGRPixels                      // mode 1016
)

// CursorShape is what DECSCUSR asked for.
type CursorShape uint8

// The cursor shapes; CursorDefault leaves the choice to the viewer.
const (
	CursorDefault CursorShape = iota
	CursorBlock
	CursorUnderline
	CursorBar
)

// CursorBlinking is what DECSCUSR asked for.
type CursorBlinking uint8

// The states of blinking; BlinkDefault leaves the choice to the viewer.
const (
	BlinkDefault CursorBlinking = iota
	BlinkOff
	BlinkOn
)

// Modes are the modes that key encoding, mouse handling and drawing depend on.
type Modes struct {
	// CursorKeys is DECCKM: arrows and Home/End as SS3.
	CursorKeys bool
	// Keypad is DECKPAM.
	Keypad bool
	// BracketedPaste is mode 2004.
	BracketedPaste bool
	// FocusEvents is mode 1004.
	FocusEvents bool
	// Mouse and MouseEncoding tell which mouse events are wanted, and how.
	Mouse         MouseProtocol
	MouseEncoding MouseEncoding
	// Alternate says that the alternate screen is shown.
	Alternate bool
	// CursorVisible, CursorShape and CursorBlink describe the cursor.
	CursorVisible bool
	CursorShape   CursorShape
	CursorBlink   CursorBlinking
	// Synchronized is mode 2026: the program is in the middle of a frame. The
	// caller decides how long it believes that.
	Synchronized bool
	// Keyboard holds the kitty keyboard flags of the screen shown, 0 … 31.
	Keyboard uint8
	// ModifyOtherKeys is 0, 1 or 2.
	ModifyOtherKeys uint8
	// Wrap is DECAWM, Origin DECOM, Insert IRM, NewLine LNM, ReverseWrap mode 45.
	Wrap, Origin, Insert, NewLine, ReverseWrap bool
}

// Modes returns the modes in force.
func (t *Terminal) Modes() Modes {
	m := &t.modes
	return Modes{
		CursorKeys:      m.cursorKeys,
		Keypad:          m.keypad,
		BracketedPaste:  m.paste,
		FocusEvents:     m.focus,
		Mouse:           m.mouse,
		MouseEncoding:   m.mouseEncoding,
		Alternate:       t.cur == t.alt,
		CursorVisible:   !m.cursorHidden,
		CursorShape:     m.cursorShape,
		CursorBlink:     m.cursorBlink,
		Synchronized:    m.synchronized,
		Keyboard:        t.cur.keyboardFlags(),
		ModifyOtherKeys: m.modifyOtherKeys,
		Wrap:            m.wrap,
		Origin:          m.origin,
		Insert:          m.insert,
		NewLine:         m.newLine,
		ReverseWrap:     m.reverseWrap,
	}
}

// modes are all modes of a terminal. The first group survives RIS in xterm.js,
// the second survives DECSTR.
type modes struct {
	cursorHidden bool
	newLine      bool
	blinkOption  bool // mode 12

	mouse           MouseProtocol
	mouseEncoding   MouseEncoding
	modifyOtherKeys uint8

	insert       bool
	cursorKeys   bool
	keypad       bool
	paste        bool
	origin       bool
	reverseWrap  bool
	focus        bool
	synchronized bool
	wrap         bool
	cursorShape  CursorShape
	cursorBlink  CursorBlinking
}

func defaultModes() modes { return modes{wrap: true} }

// soft is the part of DECSTR that concerns modes.
func (m *modes) soft() {
	*m = modes{
		newLine:         m.newLine,
		blinkOption:     m.blinkOption,
		mouse:           m.mouse,
		mouseEncoding:   m.mouseEncoding,
		modifyOtherKeys: m.modifyOtherKeys,
		wrap:            true,
	}
}

// hard is the part of RIS that concerns modes.
func (m *modes) hard() {
	*m = modes{
		cursorHidden: m.cursorHidden,
		newLine:      m.newLine,
		blinkOption:  m.blinkOption,
		wrap:         true,
	}
}

func (t *Terminal) setMode(n int32, on bool) {
	switch n {
	case 4:
		t.modes.insert = on
	case 20:
		t.modes.newLine = on
	}
}

func (t *Terminal) setPrivateMode(n int32, on bool) {
	m := &t.modes
	switch n {
	case 1:
		m.cursorKeys = on
	case 2:
		if on {
			t.gsets = [4]charset{}
			t.charset = 0
		}
	case 6:
		m.origin = on
		t.setCursor(0, 0)
	case 7:
		m.wrap = on
	case 9:
		t.setMouse(MouseX10, on)
	case 12:
		m.blinkOption = on
	case 25:
		m.cursorHidden = !on
	case 45:
		m.reverseWrap = on
	case 47, 1047:
		if on {
			t.enterAlt()
		} else {
			t.leaveAlt()
		}
	case 66:
		m.keypad = on
	case 1000:
		t.setMouse(MouseNormal, on)
	case 1002:
		t.setMouse(MouseDrag, on)
	case 1003:
		t.setMouse(MouseAny, on)
	case 1004:
		m.focus = on
	case 1006:
		t.setMouseEncoding(MouseSGR, on)
	case 1016:
		t.setMouseEncoding(MouseSGRPixels, on)
	case 1048:
		if on {
			t.saveCursor()
		} else {
			t.restoreCursor()
		}
	case 1049:
		if on {
			t.saveCursor()
			t.enterAlt()
		} else {
			t.leaveAlt()
			t.restoreCursor()
		}
	case 2004:
		m.paste = on
	case 2026:
		m.synchronized = on
	}
}

func (t *Terminal) setMouse(p MouseProtocol, on bool) {
	if !on {
		p = MouseNone
	}
	t.modes.mouse = p
}

func (t *Terminal) setMouseEncoding(e MouseEncoding, on bool) {
	if !on {
		e = MouseDefault
	}
	t.modes.mouseEncoding = e
}

// Answers to DECRQM.
const (
	modeUnknown     = 0
	modeSet         = 1
	modeReset       = 2
	modeAlwaysSet   = 3
	modeAlwaysReset = 4
)

func modeState(on bool) int {
	if on {
		return modeSet
	}
	return modeReset
}

// ansiMode is the state of an ANSI mode for DECRQM.
func (t *Terminal) ansiMode(n int32) int {
	switch n {
	case 2:
		return modeAlwaysReset
	case 4:
		return modeState(t.modes.insert)
	case 12:
		return modeAlwaysSet
	case 20:
		return modeState(t.modes.newLine)
	}
	return modeUnknown
}

// privateMode is the state of a private mode for DECRQM.
func (t *Terminal) privateMode(n int32) int {
	m := &t.modes
	switch n {
	case 1:
		return modeState(m.cursorKeys)
	case 6:
		return modeState(m.origin)
	case 7:
		return modeState(m.wrap)
	case 8, 1048:
		if n == 8 {
			return modeAlwaysSet
		}
		return modeSet
	case 9:
		return modeState(m.mouse == MouseX10)
	case 12:
		return modeState(m.blinkOption)
	case 25:
		return modeState(!m.cursorHidden)
	case 45:
		return modeState(m.reverseWrap)
	case 47, 1047, 1049:
		return modeState(t.cur == t.alt)
	case 66:
		return modeState(m.keypad)
	case 67, 1005, 1015:
		return modeAlwaysReset
	case 1000:
		return modeState(m.mouse == MouseNormal)
	case 1002:
		return modeState(m.mouse == MouseDrag)
	case 1003:
		return modeState(m.mouse == MouseAny)
	case 1004:
		return modeState(m.focus)
	case 1006:
		return modeState(m.mouseEncoding == MouseSGR)
	case 1016:
		return modeState(m.mouseEncoding == MouseSGRPixels)
	case 2004:
		return modeState(m.paste)
	case 2026:
		return modeState(m.synchronized)
	}
	return modeUnknown
}
