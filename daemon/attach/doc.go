// Package attach is the terminal client of a holder on the same host: it joins
// the terminal that a person sits at to a running session and gives it back as
// it was. The commands run and attach call it; it starts no session and knows
// no daemon and no server.
//
// # Output
//
// While the session's grid has the window's size, output goes to the terminal
// unchanged but for two things: queries, which the holder alone answers
// (vt.QueryFilter), and writes to the clipboard, unless the person allowed
// them. The screen is scrolled into the terminal's own history first and then
// drawn from the holder's state, so that the cursor stands where the holder
// believes it to be.
//
// While somebody else owns another size, the session is drawn through vt at
// the owner's grid, cut to the window, with a status line below it.
//
// # Input
//
// Every read of the terminal is one wire.Input with this client's next number.
// Taken out of it are the detach key in every encoding that a program can
// switch on, focus reports (they become presence), and answers of the real
// terminal to queries of whoever ran in it before. What the holder did not
// apply is dropped with a bell, and the client id retired: a key never arrives
// late or twice.
//
// # Ends
//
// The detach key, a terminal that closes and SIGTERM detach; the session runs
// on. On every way out, a panic included, exactly those modes are reset that
// the session had set.
package attach
