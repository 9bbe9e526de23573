package daemon

import "time"

// Limits of one host. Each is a constant because a limit that can be raised by
// configuration has to be tested at every value.
const (
	// MaxSessions is how many sessions may run at once: 64 holders are about
	// 400 MB in the worst case, what a small workstation can spare.
	MaxSessions = 64
	// DefaultLogBytes is how much output a session keeps on disk before the
	// oldest is dropped: several hours of a busy agent.
	DefaultLogBytes = 64 << 20
	// MinLogBytes keeps the log useful for a reader that blinks.
	MinLogBytes = 256 << 10
	// MaxLogBytes bounds what a caller may ask for, so that 64 sessions stay
	// within the 2 GiB that a host may use on disk by default and one cannot
	// fill a disk alone.
	MaxLogBytes = 1 << 30
	// MemoryLogBytes is the log in memory when the disk is full: enough for
	// two readers with a full window each to catch up.
	MemoryLogBytes = 1 << 20
	// HistoryLines is the scrollback that a holder's terminal keeps.
	HistoryLines = 10_000
	// ArchiveBytes bounds the holder's archive of lines that no program can
	// erase: more than HistoryLines of ordinary text. A terminal made from the
	// holder's state has the same bound.
	ArchiveBytes = 1 << 20
	// MaxQueuedInput bounds the input bytes that wait for a program that does
	// not read, per session. One input larger than this is taken when nothing
	// else waits, so that a big paste works.
	MaxQueuedInput = 64 << 10
	// MaxQueuedInputs bounds the number of inputs that wait.
	MaxQueuedInputs = 1024
	// MaxReplyBytes bounds the terminal's own answers that wait for a program
	// that asks without reading (THREATS S-12).
	MaxReplyBytes = 4 << 10
	// MaxInputClients is how many sources of input a holder remembers, live and
	// retired together. A client that was forgotten is refused, never applied.
	MaxInputClients = 1024
	// MaxHolderConnections bounds the connections that one holder serves:
	// the daemon, a few terminals, and scripts that poll.
	MaxHolderConnections = 64

	// MaxNameRunes bounds a session's name.
	MaxNameRunes = 64
	// MaxArguments and MaxArgumentBytes bound an argv; the kernel's own limit
	// is about 2 MiB together with the environment.
	MaxArguments     = 4096
	MaxArgumentBytes = 1 << 20
	// MaxEnvironment and MaxEnvironmentBytes bound the caller's environment.
	MaxEnvironment      = 8192
	MaxEnvironmentBytes = 1 << 20
	// MaxCommandRunes bounds the command line as it is shown.
	MaxCommandRunes = 512

	// DefaultCols and DefaultRows are the size of a session that nobody gave one.
	DefaultCols = 80
	DefaultRows = 24

	// KillGrace is the time between HUP and KILL.
	KillGrace = 5 * time.Second
	// LocalTypingLease is how long typing at a local terminal counts as presence.
	LocalTypingLease = 5 * time.Minute

	// MaxSocketPath bounds a unix socket's path in bytes: macOS takes 104,
	// Linux 108, both with the terminating NUL.
	MaxSocketPath = 100
)
