// Package demo is a scripted agent: a program that looks and behaves like a
// coding agent in a terminal, without a model and without a network. It works
// in a directory of its own, edits real files there, shows diffs, is busy for
// a while, and asks through plain numbered menus; it says what it is doing in
// its title and by OSC 7501 and OSC 9;4. "make run" shows it and the tests
// drive it.
//
// Besides the agent there are plain programs for tests of the stream:
//
//	counter  prints "count 00000001" and so on, and takes numbers, each ended
//	         by ';', space, CR or LF: each becomes one line of the ledger file
//	         ("key 17") and of the output ("key 17"). Whatever is no number
//	         becomes "bad" and the quoted bytes. ^D ends it.
//	echo     prints "echo ready", then writes back every byte that it reads,
//	         unchanged. ^D ends it.
//	flood    prints a given number of bytes of coloured, numbered lines, then
//	         "flood done" and ends.
//	deaf     never reads its input; prints "deaf" and stays.
//
// Everything is deterministic: pauses and choices come from the seed, seconds
// shown are counted, not measured, and Fast leaves the pauses out. The hidden
// subcommand demo-agent calls Run once and exits with its code.
package demo
