package server

// Bounds of text from programs and other machines, in runes. They say how much
// a person can use in a list, not what the source may hold.
const (
	MaxName    = 80   // names of hosts, sessions, devices and tokens
	MaxTitle   = 200  // a terminal's title, its last line, a status message
	MaxCommand = 400  // an argv joined for display
	MaxPath    = 1024 // a working directory
	MaxText    = 4096 // anything else
)
