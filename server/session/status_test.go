package session

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
)

func TestStatus(t *testing.T) {
	now := time.Now()
	two := 2
	prompt := "Do you want to proceed?\r\n❯ 1. Yes\r\n  2. No\r\n"
	for name, test := range map[string]struct {
		printed string
		meta    wire.SessionMeta
		burst   int
		quiet   time.Duration
		kind    server.StatusKind
		source  server.StatusSource
		text    untrusted.Text
	}{
		"nothing":               {kind: server.StatusIdle, source: server.SourceActivity},
		"echo of some keys":     {burst: 20, kind: server.StatusIdle, source: server.SourceActivity},
		"bytes come":            {burst: burstEnough, kind: server.StatusWorking, source: server.SourceActivity},
		"bytes came":            {burst: burstEnough, quiet: quietAfter + 1, kind: server.StatusIdle, source: server.SourceActivity},
		"an agent falls quiet":  {burst: burstEnough, quiet: quietAfter + 1, meta: wire.SessionMeta{Agent: "claude"}, kind: server.StatusWaiting, source: server.SourceActivity},
		"a dialog":              {printed: prompt, burst: burstEnough, kind: server.StatusNeedsYou, source: server.SourceScreen, text: "Do you want to proceed?"},
		"blocked":               {printed: "\x1b]7501;state=blocked:msg=cGljayBvbmU=\a", kind: server.StatusNeedsYou, source: server.SourceProgram, text: "pick one"},
		"working over a dialog": {printed: prompt + "\x1b]7501;state=working\a", kind: server.StatusWorking, source: server.SourceProgram},
		"done under a dialog":   {printed: prompt + "\x1b]7501;state=done\a", kind: server.StatusNeedsYou, source: server.SourceScreen, text: "Do you want to proceed?"},
		"done":                  {printed: "\x1b]7501;state=done\a", burst: burstEnough, kind: server.StatusDone, source: server.SourceProgram},
		"error":                 {printed: "\x1b]7501;state=error\a", kind: server.StatusFailed, source: server.SourceProgram},
		"cleared":               {printed: "\x1b]7501;state=blocked\a\x1b]7501;state=clear\a", kind: server.StatusIdle, source: server.SourceActivity},
		"gemini asks":           {printed: "\x1b]0;✋  Action Required (x)\a", kind: server.StatusNeedsYou, source: server.SourceTitle, text: "✋ Action Required (x)"},
		"codex asks":            {printed: "\x1b]0;[ ! ] Action Required | x\a", kind: server.StatusNeedsYou, source: server.SourceTitle, text: "[ ! ] Action Required | x"},
		"gemini works":          {printed: "\x1b]0;✦  Working… (x)\a", kind: server.StatusWorking, source: server.SourceTitle, text: "✦ Working… (x)"},
		"codex works":           {printed: "\x1b]0;⠙ x\a", kind: server.StatusWorking, source: server.SourceTitle, text: "⠙ x"},
		"claude rests":          {printed: "\x1b]0;✳ Claude Code\a", burst: burstEnough, kind: server.StatusWaiting, source: server.SourceTitle, text: "✳ Claude Code"},
		"a progress bar":        {printed: "\x1b]9;4;1;50\a", kind: server.StatusWorking, source: server.SourceTitle},
		"a red progress bar":    {printed: "\x1b]9;4;2;50\a", kind: server.StatusFailed, source: server.SourceTitle},
		"a shell's prompt":      {printed: "\x1b]133;A\a$ \x1b]133;B\a", burst: burstEnough, kind: server.StatusIdle, source: server.SourceScreen},
		"a shell's command":     {printed: "\x1b]133;C\a", kind: server.StatusWorking, source: server.SourceScreen},
		"codex rests":           {printed: "\x1b]0;fix the Action Required button | x\a", meta: wire.SessionMeta{Agent: "codex"}, kind: server.StatusWaiting, source: server.SourceActivity},
		"qwen works":            {printed: "\x1b]0;◐︎ Qwen - x\a", kind: server.StatusWorking, source: server.SourceTitle, text: "◐︎ Qwen - x"},
		"qwen rests":            {printed: "\x1b]2;✳︎ Qwen - x\a", kind: server.StatusWaiting, source: server.SourceTitle, text: "✳︎ Qwen - x"},
		"gemini rests":          {printed: "\x1b]0;◇  Ready (x)\a", kind: server.StatusWaiting, source: server.SourceTitle, text: "◇ Ready (x)"},
		"rests, but progresses": {printed: "\x1b]0;✳ Claude Code\a\x1b]9;4;3\a", kind: server.StatusWorking, source: server.SourceTitle, text: "✳ Claude Code"},
		"silent for long":       {printed: "\x1b]7501;state=working\a", quiet: silentAfter + 1, kind: server.StatusIdle, source: server.SourceActivity},
		"quiet for a while":     {printed: "\x1b]7501;state=working\a", quiet: silentAfter, kind: server.StatusWorking, source: server.SourceProgram},
		"a frozen spinner":      {printed: "\x1b]0;⠙ x\a", quiet: silentAfter + 1, meta: wire.SessionMeta{Agent: "codex"}, kind: server.StatusWaiting, source: server.SourceActivity},
		"blocked for long":      {printed: "\x1b]7501;state=blocked\a", quiet: time.Hour, kind: server.StatusNeedsYou, source: server.SourceProgram},
		"left by its agent":     {printed: "\x1b]133;C\a\x1b]0;✦  Working… (x)\a\x1b]9;4;1;5\a\x1b]133;A\a$ ", kind: server.StatusIdle, source: server.SourceScreen},
		"killed while blocked":  {printed: "\x1b]133;C\a\x1b]7501;state=blocked\a\x1b]133;D;137\a\x1b]133;A\a$ ", kind: server.StatusIdle, source: server.SourceScreen},
		"an agent in a shell":   {printed: "\x1b]133;A\a$ \x1b]133;C\a\x1b]0;✋  Action Required (x)\a", kind: server.StatusNeedsYou, source: server.SourceTitle, text: "✋ Action Required (x)"},
		"exited well":           {printed: prompt, meta: wire.SessionMeta{State: "exited"}, kind: server.StatusDone, source: server.SourceProgram},
		"exited badly":          {meta: wire.SessionMeta{State: "exited", ExitCode: &two}, kind: server.StatusFailed, source: server.SourceProgram},
		"killed":                {meta: wire.SessionMeta{State: "exited", ExitSignal: "SIGKILL"}, kind: server.StatusEnded, source: server.SourceProgram, text: "SIGKILL"},
		"a book of a signal":    {meta: wire.SessionMeta{State: "exited", ExitSignal: strings.Repeat("ü", 30)}, kind: server.StatusDone, source: server.SourceProgram},
		"lost":                  {meta: wire.SessionMeta{State: "lost", LostReason: "reboot\x1b[2J"}, kind: server.StatusEnded, source: server.SourceProgram, text: "reboot[2J"},
	} {
		terminal := vt.New(vt.Options{Cols: 80, Rows: 24})
		terminal.Write([]byte(test.printed))
		f := facts{burst: test.burst, activeAt: now.Add(-test.quiet)}
		f.update(test.meta, now)
		got := statusOf(observe(terminal), &f, now)
		if want := (server.Status{Kind: test.kind, Text: test.text, Source: test.source}); got != want {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
}

// reports keeps what a session told.
type reports struct {
	mu   sync.Mutex
	list []Summary
}

func (r *reports) changed(s Summary) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.list = append(r.list, s)
}

func (r *reports) take() []Summary {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := r.list
	r.list = nil
	return list
}

func TestSession_reportsAtMostFourTimesASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r reports
		s := newTestSession(t, Config{Changed: r.changed})
		connect(t, s)
		r.take()
		var offset uint64
		for range 1000 { // ten seconds
			text := "\x1b]0;" + time.Now().String() + "\a\a"
			s.Feed(output(offset, text))
			offset += uint64(len(text))
			time.Sleep(10 * time.Millisecond)
		}
		synctest.Wait()
		if n := len(r.take()); n < 30 || n > 41 {
			t.Errorf("%d reports in ten seconds of change", n)
		}
		// A session that only goes on says so now and then.
		for range 100 {
			s.Feed(output(offset, "\x1b[H"))
			offset += 3
			time.Sleep(100 * time.Millisecond)
		}
		synctest.Wait()
		if n := len(r.take()); n > 4 {
			t.Errorf("%d reports in ten seconds without news", n)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(r.take()); n > 1 {
			t.Errorf("%d reports in an hour of silence", n)
		}
	})
}

func TestSession_reportsWhatIsImportantAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var r reports
		s := newTestSession(t, Config{Changed: r.changed})
		h := connect(t, s)
		last := func() server.Session {
			synctest.Wait()
			list := r.take()
			if len(list) == 0 {
				t.Fatal("nothing was reported")
			}
			return list[len(list)-1].At(time.Now())
		}
		if item := last(); !item.Online || item.State != server.StateRunning || item.Name != "test" {
			t.Errorf("connected: %+v", item)
		}
		s.Feed(output(0, string(make([]byte, burstEnough))+"text"))
		time.Sleep(reportEvery)
		if item := last(); item.Status.Kind != server.StatusWorking || item.LastLine != "text" {
			t.Errorf("output: %+v", item)
		}
		time.Sleep(2 * quietAfter)
		if item := last(); item.Status.Kind != server.StatusIdle || item.ActiveMS < quietAfter.Milliseconds() {
			t.Errorf("quiet: %+v", item)
		}
		s.Feed(&wire.SizeOwner{Kind: wire.OwnerLocal, Cols: 80, Rows: 24})
		time.Sleep(reportEvery)
		if item := last(); item.SizeOwner.Kind != server.OwnerLocal {
			t.Errorf("owner: %+v", item.SizeOwner)
		}
		if err := s.Update(t.Context(), wire.SessionMeta{Name: "renamed", State: "running", Warning: "disk full"}); err != nil {
			t.Fatal(err)
		}
		if item := last(); item.Name != "renamed" || item.Warning != "disk full" {
			t.Errorf("update: %+v", item)
		}
		s.Disconnect(&testHost{}) // another link's
		s.Disconnect(h)
		time.Sleep(time.Minute)
		if item := last(); item.Online || item.LastSeenMS != time.Minute.Milliseconds() || item.SizeOwner.Kind != server.OwnerNone {
			t.Errorf("offline: %+v", item)
		}
	})
}

func TestSession_savesAndRests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var saved server.SessionSnapshot
		loads := 0
		load := func() Config {
			return Config{Load: func(context.Context) (server.SessionSnapshot, error) {
				loads++
				if saved.Data == nil {
					return saved, server.NewError(server.CodeUnknownSession)
				}
				return saved, nil
			}}
		}
		s := newTestSession(t, load())
		if _, ok, err := s.Snapshot(t.Context()); ok || err != nil {
			t.Errorf("a session that showed nothing is saved (%v)", err)
		}
		h := connect(t, s)
		s.Feed(output(0, "\x1b[?2004h\x1b[31msaved"))
		var ok bool
		var err error
		if saved, ok, err = s.Snapshot(t.Context()); !ok || err != nil || saved.Position.Offset != 18 || saved.Cols != 80 {
			t.Fatalf("snapshot %+v, %v, %v", saved.Position, ok, err)
		}
		if rests, err := s.Rest(t.Context(), saved.Position); rests || err != nil {
			t.Errorf("a running session rests (%v)", err)
		}
		s.Disconnect(h)
		v := attach(t, s, AttachOptions{})
		if rests, err := s.Rest(t.Context(), saved.Position); rests || err != nil {
			t.Errorf("a session that is looked at rests (%v)", err)
		}
		loads = 0
		v.attachment.Detach() // the last one to look at it
		if _, ok, err := s.Snapshot(t.Context()); ok || err != nil {
			t.Fatalf("it is still in memory (%v)", err)
		}
		v = attach(t, s, AttachOptions{From: &saved.Position})
		v.terminal = vt.New(vt.Options{Cols: 80, Rows: 24})
		v.receive(true)
		if loads != 1 || v.attached.Mode != wire.AttachedDelta || !v.live {
			t.Errorf("loaded %d times, attached %+v", loads, v.attached)
		}
		next := attach(t, s, AttachOptions{Handle: 9})
		next.receive(true)
		sameScreen(t, s, next)

		// Another server: nothing but record and snapshot.
		other := newTestSession(t, load())
		info := wire.SessionInfo{Handle: 2, ID: testID, End: wire.Position{Offset: 30}, Cols: 80, Rows: 24, Meta: wire.SessionMeta{State: "running"}}
		resume, err := other.Connect(t.Context(), &testHost{}, info)
		if err != nil || resume.State || resume.From != saved.Position {
			t.Errorf("resume %+v, %v", resume, err)
		}
		// A snapshot that cannot be read is as good as none.
		saved.Data = saved.Data[:len(saved.Data)/2]
		broken := newTestSession(t, load())
		info.End.Offset = 2 * wholeStream
		if resume, err = broken.Connect(t.Context(), &testHost{}, info); err != nil || !resume.State {
			t.Errorf("resume %+v, %v", resume, err)
		}
	})
}

// A session of an absent host that was never saved shows an empty screen.
func TestSession_nothingToShow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newTestSession(t, Config{})
		v := attach(t, s, AttachOptions{})
		v.receive(true)
		if !v.live || v.terminal.Text(vt.TextOptions{}) != "" {
			t.Errorf("live %v, screen %q", v.live, v.terminal.Text(vt.TextOptions{}))
		}
		if _, err := s.Screen(t.Context(), "png"); server.CodeOf(err) != server.CodeInvalid {
			t.Errorf("unknown format: %v", err)
		}
		s.Close()
		if _, err := s.Summary(t.Context()); err == nil {
			t.Error("a closed session answers")
		}
		v.attachment.Ack(3)
		s.Feed(output(0, "late"))
	})
}

// TestSession_worksAndRests plays what an agent shows over time and watches its
// status.
func TestSession_worksAndRests(t *testing.T) {
	type step struct {
		printed string
		every   time.Duration // it is printed again and again
		lasts   time.Duration
		want    server.StatusKind
		text    untrusted.Text
	}
	screen := strings.Repeat("agent's first screen\r\n", 20)
	spinner := "\r⠋ Thinking… (esc to cancel)"
	for name, steps := range map[string][]step{
		"starts and waits": {
			{printed: screen, lasts: time.Second, want: server.StatusWorking},
			{lasts: time.Minute, want: server.StatusWaiting},
		},
		"rhythm alone": {
			{printed: screen, lasts: time.Minute, want: server.StatusWaiting},
			{printed: spinner, every: 100 * time.Millisecond, lasts: 10 * time.Minute, want: server.StatusWorking},
			{lasts: time.Minute, want: server.StatusDone},
			{printed: "h", every: 300 * time.Millisecond, lasts: 3 * time.Second, want: server.StatusDone}, // keys echo
			{lasts: time.Minute, want: server.StatusDone},
			{printed: spinner, every: 100 * time.Millisecond, lasts: 20 * time.Second, want: server.StatusWorking},
			{printed: "\r\x1b[JDo you want to proceed?\r\n❯ 1. Yes\r\n  2. No\r\n", lasts: time.Hour, want: server.StatusNeedsYou, text: "Do you want to proceed?"},
			{printed: "\x1b[H\x1b[J" + spinner, every: 100 * time.Millisecond, lasts: 20 * time.Second, want: server.StatusWorking},
			{lasts: time.Minute, want: server.StatusDone},
		},
		"titles": {
			{printed: "\x1b]0;◇  Ready (x)\a", lasts: time.Minute, want: server.StatusWaiting, text: "◇ Ready (x)"},
			{printed: "\x1b]0;✦  Working… (x)\a", every: time.Minute, lasts: time.Hour, want: server.StatusWorking, text: "✦ Working… (x)"},
			{printed: "\x1b]0;◇  Ready (x)\a", lasts: time.Hour, want: server.StatusDone, text: "◇ Ready (x)"},
			{printed: "\x1b]0;✋  Action Required (x)\a", lasts: time.Hour, want: server.StatusNeedsYou, text: "✋ Action Required (x)"},
			{printed: "\x1b]0;✦  Working… (x)\a", lasts: silentAfter - time.Second, want: server.StatusWorking, text: "✦ Working… (x)"},
			{lasts: time.Minute, want: server.StatusDone}, // stopped or killed
		},
		"notifies": {
			{printed: "\x1b]9;an old one\a\x1b]0;✳ Claude Code\a", lasts: time.Second, want: server.StatusWaiting, text: "✳ Claude Code"},
			{printed: "\x1b]0;◐ Claude Code\a", lasts: 10 * time.Second, want: server.StatusWorking, text: "◐ Claude Code"},
			{printed: "\x1b]0;✳ Claude Code\a", lasts: time.Second, want: server.StatusDone, text: "✳ Claude Code"},
			{printed: "\x1b]777;notify;Claude;all tests are green\a", lasts: time.Second, want: server.StatusDone, text: "all tests are green"},
		},
		"program": {
			{printed: "\x1b]7501;state=idle:app=codex\a", lasts: time.Minute, want: server.StatusIdle},
			{printed: "\x1b]7501;state=working:app=codex\a", lasts: time.Minute, want: server.StatusWorking},
			{printed: "\x1b]7501;state=blocked:kind=permission:msg=YXBwcm92ZQ==\a", lasts: time.Hour, want: server.StatusNeedsYou, text: "approve"},
			{printed: "\x1b]7501;state=done\a", lasts: time.Hour, want: server.StatusDone},
			{printed: "\x1b]7501;state=clear\a", lasts: time.Minute, want: server.StatusDone},
		},
		"frames": {
			{printed: "Do you want to proceed?\r\n❯ 1. Yes\r\n  2. No\r\n", lasts: time.Minute, want: server.StatusNeedsYou, text: "Do you want to proceed?"},
			{printed: "\x1b[?2026h\x1b[2J", lasts: frameTime / 2, want: server.StatusNeedsYou, text: "Do you want to proceed?"},
			{lasts: 5 * time.Second, want: server.StatusWaiting}, // it never ends the frame
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var r reports
				s := newTestSession(t, Config{Changed: r.changed})
				connect(t, s)
				if err := s.Update(t.Context(), wire.SessionMeta{State: "running", Agent: "gemini"}); err != nil {
					t.Fatal(err)
				}
				var last Summary
				var offset uint64
				for i, step := range steps {
					for left := step.lasts; ; left -= step.every {
						if step.printed != "" {
							s.Feed(output(offset, step.printed))
							offset += uint64(len(step.printed))
						}
						if step.every == 0 {
							time.Sleep(left)
							break
						}
						if left <= step.every {
							break
						}
						time.Sleep(step.every)
					}
					synctest.Wait()
					if list := r.take(); len(list) > 0 {
						last = list[len(list)-1]
					}
					if got := last.Session.Status; got.Kind != step.want || got.Text != step.text {
						t.Errorf("step %d: %+v, want %s %q", i, got, step.want, step.text)
					}
				}
			})
		})
	}
}
