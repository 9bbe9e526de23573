package session

import (
	"time"

	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
)

// Known is what is known of a session before it says anything itself: from the
// store, or from its host's announcement.
type Known struct {
	Record server.SessionRecord
	// SeenAt is when its host was last connected; zero when never.
	SeenAt time.Time
}

// KnownFrom is what a host announced.
func KnownFrom(key server.SessionKey, info wire.SessionInfo, now time.Time) Known {
	var f facts
	f.update(info.Meta, now)
	return Known{Record: server.SessionRecord{
		SessionKey: key,
		Name:       f.name, Command: f.command, Cwd: f.cwd, Agent: f.agent,
		State: f.state, Exit: f.exit, LostReason: f.lostReason,
		Cols: info.Cols, Rows: info.Rows,
		CreatedAt: f.createdAt, ActiveAt: now, EndedAt: f.endedAt,
	}}
}

// facts is what a session is beside its terminal. Texts are cleaned.
type facts struct {
	name, command, cwd, agent string
	state                     server.SessionState
	exit                      *server.Exit
	lostReason, warning       string
	inputBlocked              bool
	cols, rows                uint16
	owner                     wire.SizeOwner
	createdAt, activeAt       time.Time
	endedAt                   time.Time
	isOnline                  bool
	seenAt                    time.Time // when the host went away
	// burst is how many bytes came without a quiet moment between them, from
	// burstAt on.
	burst   int
	burstAt time.Time
	// worked says that the program has worked; notices is how often it had
	// notified by then.
	worked  bool
	notices uint64
	// prompt is the dialog of the last whole frame, drawsSince when the program
	// began one that is not whole, as far as was seen.
	prompt     *server.Prompt
	drawsSince time.Time
	// saved is what the terminal showed when the record was written. It is used
	// until there is a terminal.
	saved server.SessionRecord
}

func (f *facts) load(known Known) {
	r := known.Record
	*f = facts{
		name: r.Name, command: r.Command, cwd: r.Cwd, agent: r.Agent,
		state: r.State, exit: r.Exit, lostReason: r.LostReason,
		cols: max(r.Cols, 1), rows: max(r.Rows, 1),
		createdAt: r.CreatedAt, activeAt: r.ActiveAt, endedAt: r.EndedAt,
		seenAt: known.SeenAt,
		saved:  r,
	}
}

// update takes in the host's word.
func (f *facts) update(meta wire.SessionMeta, now time.Time) {
	f.name = untrusted.Clean(meta.Name, server.MaxName)
	f.command = untrusted.Clean(meta.Command, server.MaxCommand)
	f.cwd = untrusted.Clean(meta.Cwd, server.MaxPath)
	f.agent = untrusted.Clean(meta.Agent, server.MaxName)
	f.warning = untrusted.Clean(meta.Warning, server.MaxTitle)
	f.inputBlocked = meta.InputBlocked
	if f.createdAt.IsZero() {
		age := time.Duration(min(max(meta.AgeMS, 0), maxAgeMS)) * time.Millisecond
		f.createdAt = now.Add(-age)
	}
	switch server.SessionState(meta.State) {
	case server.StateExited:
		code := 0
		if meta.ExitCode != nil {
			code = *meta.ExitCode
		}
		f.exited(code, meta.ExitSignal, now)
	case server.StateLost:
		f.lose(meta.LostReason, now)
	default:
		f.state, f.exit, f.lostReason, f.endedAt = server.StateRunning, nil, "", time.Time{}
	}
}

// maxAgeMS bounds an age from elsewhere, so that it makes a time: ten years.
const maxAgeMS = 10 * 366 * 24 * 3600 * 1000

func (f *facts) exited(code int, signal string, now time.Time) {
	if f.state != server.StateExited {
		f.endedAt = now
	}
	f.state, f.lostReason = server.StateExited, ""
	if len(signal) > maxSignal {
		signal = "" // no system has such a signal
	}
	f.exit = &server.Exit{Code: code, Signal: untrusted.Cut(signal, maxSignal)}
	f.inputBlocked = false
}

// maxSignal bounds the name of a signal in bytes, as an Exit frame does.
const maxSignal = 32

func (f *facts) lose(reason string, now time.Time) {
	if f.state != server.StateLost {
		f.endedAt = now
	}
	f.state, f.exit = server.StateLost, nil
	f.lostReason = untrusted.Clean(reason, server.MaxTitle)
	f.inputBlocked = false
}

func (f *facts) online(now time.Time) { f.isOnline, f.seenAt = true, now }

func (f *facts) offline(now time.Time) {
	f.isOnline, f.seenAt = false, now
	f.burst = 0
}

func (f *facts) output(n int, now time.Time) {
	if now.Sub(f.activeAt) > quietAfter || f.burst == 0 {
		f.burst, f.burstAt = 0, now
	}
	f.burst = min(f.burst+n, burstEnough)
	f.activeAt = now
}
