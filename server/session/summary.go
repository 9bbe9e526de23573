package session

import (
	"reflect"
	"time"

	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
)

const (
	// reportEvery is the shortest time between two reports of one session,
	// unless something important happened.
	reportEvery = 250 * time.Millisecond
	// reportSoon is how long a change waits for others that belong to it.
	reportSoon = 50 * time.Millisecond
	// activityEvery is how often a session that only goes on is reported.
	activityEvery = 5 * time.Second
)

// Summary is a session as it is shown, with clock readings instead of
// durations: At makes the item of a list.
type Summary struct {
	// Session has no durations, and Online but not LastSeenMS.
	Session                     server.Session
	CreatedAt, ActiveAt, SeenAt time.Time
	EndedAt                     time.Time
	// Owner is the client that owns the size, zero when it is none of ours.
	Owner wire.ClientID
}

// SummaryOf is the summary of a session that has said nothing yet.
func SummaryOf(known Known, hostName string) Summary {
	s := Session{config: Config{Key: known.Record.SessionKey, HostName: hostName}}
	s.facts.load(known)
	return s.summary(time.Now())
}

// At is the session as it is shown at a moment.
func (s Summary) At(now time.Time) server.Session {
	item := s.Session
	item.CreatedMS = max(now.Sub(s.CreatedAt).Milliseconds(), 0)
	item.ActiveMS = max(now.Sub(s.ActiveAt).Milliseconds(), 0)
	if !item.Online && !s.SeenAt.IsZero() {
		item.LastSeenMS = max(now.Sub(s.SeenAt).Milliseconds(), 1)
	}
	return item
}

// Record is what the store keeps of it.
func (s Summary) Record() server.SessionRecord {
	item := s.Session
	return server.SessionRecord{
		SessionKey: item.Key(),
		Name:       string(item.Name), Command: string(item.Command), Cwd: string(item.Cwd), Agent: string(item.Agent),
		State: item.State, Exit: item.Exit, LostReason: string(item.LostReason),
		Cols: item.Cols, Rows: item.Rows,
		CreatedAt: s.CreatedAt, ActiveAt: s.ActiveAt, EndedAt: s.EndedAt,
		Title: string(item.Title), LastLine: string(item.LastLine), Status: item.Status, Bell: item.Bell,
	}
}

// summary reads everything off the terminal.
func (s *Session) summary(now time.Time) Summary {
	f := &s.facts
	item := server.Session{
		ID: s.config.Key.ID, Host: s.config.Key.Host, HostName: s.config.HostName,
		Name: untrusted.Text(f.name), Command: untrusted.Text(f.command), Cwd: untrusted.Text(f.cwd), Agent: untrusted.Text(f.agent),
		State: f.state, Exit: f.exit, LostReason: untrusted.Text(f.lostReason),
		Online: f.isOnline, Cols: f.cols, Rows: f.rows,
		Viewers:      len(s.attachments),
		SizeOwner:    server.SizeOwner{Kind: server.OwnerKindOf(f.owner.Kind)},
		InputBlocked: f.inputBlocked,
		Warning:      untrusted.Text(f.warning),
	}
	if s.terminal == nil {
		item.Title = untrusted.Text(f.saved.Title)
		item.LastLine = untrusted.Text(f.saved.LastLine)
		item.Bell = f.saved.Bell
		item.Status = f.saved.Status
		if f.state.Ended() || item.Status.Kind == "" {
			item.Status = statusOf(observed{}, f, now)
		}
	} else {
		o := observe(s.terminal)
		f.settle(&o, now)
		item.Title = untrusted.Cut(o.title, server.MaxTitle)
		item.LastLine = untrusted.Cut(o.lastLine, server.MaxTitle)
		item.Bell = o.bell
		if o.cwd != "" {
			item.Cwd = untrusted.Cut(o.cwd, server.MaxPath)
		}
		if !f.state.Ended() {
			item.Prompt = o.prompt
		}
		item.Status = statusOf(o, f, now)
		f.remember(o, item.Status, now)
	}
	summary := Summary{Session: item, CreatedAt: f.createdAt, ActiveAt: f.activeAt, SeenAt: f.seenAt, EndedAt: f.endedAt}
	if f.owner.Kind == wire.OwnerViewer {
		summary.Owner = f.owner.Client
	}
	return summary
}

// reporter decides when a change is told.
type reporter struct {
	timer  *time.Timer
	due    time.Time // when the timer fires; zero when it is off
	lastAt time.Time
	last   Summary
}

func (r *reporter) init() {
	r.timer = time.NewTimer(time.Hour)
	r.timer.Stop()
}

// wakeAt makes the timer fire no later than at.
func (r *reporter) wakeAt(at, now time.Time) {
	if r.due.IsZero() || at.Before(r.due) {
		r.due = at
		r.timer.Reset(max(at.Sub(now), 0))
	}
}

// changed says that something that is shown may have changed; important things
// are told at once.
func (s *Session) changed(important bool) {
	now := time.Now()
	if important {
		s.report(now)
		return
	}
	at := now.Add(reportSoon)
	if next := s.reporter.lastAt.Add(reportEvery); next.After(at) {
		at = next
	}
	s.reporter.wakeAt(at, now)
}

func (s *Session) reportDue() {
	s.reporter.due = time.Time{}
	s.report(time.Now())
}

func (s *Session) report(now time.Time) {
	r := &s.reporter
	summary := s.summary(now)
	quietAt := s.facts.activeAt.Add(quietAfter + time.Millisecond)
	switch flooded := s.ring.End().Offset-s.ring.Start().Offset > resumeLimit; {
	case flooded && !now.Before(quietAt):
		s.tidy()
	case flooded:
		r.wakeAt(quietAt, now)
	}
	// Look again when it may have fallen quiet.
	if at := s.facts.changesAt(summary.Session.Status); at.After(now) {
		r.wakeAt(at, now)
	}
	if !r.lastAt.IsZero() {
		before, after := r.last, summary
		before.ActiveAt, before.SeenAt = time.Time{}, time.Time{}
		after.ActiveAt, after.SeenAt = time.Time{}, time.Time{}
		if reflect.DeepEqual(before, after) && (summary.ActiveAt.Equal(r.last.ActiveAt) || now.Sub(r.lastAt) < activityEvery) {
			return
		}
	}
	r.last, r.lastAt = summary, now
	if s.config.Changed != nil {
		s.config.Changed(summary)
	}
}
