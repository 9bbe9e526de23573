package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/fleet/fleettest"
	"github.com/agent-helm/agent-helm/server/session"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	sessionA = "01kb9fvz3m8q4t6w2x5y7r0s1a"
	sessionB = "01kb9fvz3m8q4t6w2x5y7r0s1b"
)

var (
	keyA1 = server.SessionKey{Host: "h1", ID: sessionA}
	keyB1 = server.SessionKey{Host: "h1", ID: sessionB}
	keyA2 = server.SessionKey{Host: "h2", ID: sessionA}
	admin = server.Principal{Kind: server.PrincipalToken, ID: "t", Name: "admin", Scopes: server.ScopeAdmin}
)

// testLink is a host without a socket.
type testLink struct {
	instance string

	mu     sync.Mutex
	sent   []wire.Frame
	closed *server.Error
	call   func(method string, params any) (json.RawMessage, error)
}

func (l *testLink) Instance() string { return l.instance }
func (l *testLink) Describe() string { return "version 1 at test" }

func (l *testLink) Send(f wire.Frame) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sent = append(l.sent, f)
	return true
}

func (l *testLink) Input(f wire.Input, _ time.Time) bool { return l.Send(&f) }

func (l *testLink) Upstream(uint32) session.Upstream { return l }
func (l *testLink) Acknowledge(uint64)               {}
func (l *testLink) Resume(wire.Position, bool)       {}
func (l *testLink) Alive(context.Context) bool       { return true }

func (l *testLink) Call(_ context.Context, method string, params, result any) error {
	if l.call == nil {
		return server.NewError(server.CodeUnsupported)
	}
	data, err := l.call(method, params)
	if err != nil || result == nil {
		return err
	}
	return json.Unmarshal(data, result)
}

func (l *testLink) Close(reason *server.Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = reason
}

func newStore() *fleettest.Store {
	store := &fleettest.Store{}
	for _, id := range []string{"h1", "h2"} {
		store.AddHost(server.HostRecord{ID: id, Name: "host " + id, CreatedAt: time.Now()})
	}
	return store
}

func open(t *testing.T, store *fleettest.Store) *Fleet {
	t.Helper()
	f, err := Open(t.Context(), Config{Store: store})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeFleet(t, f) })
	return f
}

func closeFleet(t *testing.T, f *Fleet) {
	t.Helper()
	if err := f.Close(context.Background()); err != nil {
		t.Errorf("close: %v", err)
	}
}

func info(handle uint32, id string) wire.SessionInfo {
	return wire.SessionInfo{Handle: handle, ID: id, Cols: 80, Rows: 24, Meta: wire.SessionMeta{Name: "name", Command: "sh", State: "running", AgeMS: 5000}}
}

func connect(t *testing.T, f *Fleet, host string, infos ...wire.SessionInfo) (*Connection, *testLink) {
	t.Helper()
	link := &testLink{instance: "i"}
	c, _, err := f.Connect(t.Context(), host, link, &wire.HostHello{Instance: "i", Version: "1.0", Sessions: infos})
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	return c, link
}

func show(t *testing.T, f *Fleet, key server.SessionKey) string {
	t.Helper()
	screen, err := f.Screen(t.Context(), key, session.FormatText)
	if err != nil {
		t.Fatalf("screen: %v", err)
	}
	return string(screen)
}

func print(c *Connection, handle uint32, offset uint64, text string) {
	c.Feed(handle, &wire.Output{Handle: handle, Offset: offset, Data: []byte(text)})
}

// Sessions outlive the server: ended ones with their last screen, running ones
// offline, and the stream goes on where the saved terminal stands.
func TestFleet_survivesARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		f := open(t, store)
		c, _ := connect(t, f, "h1", info(1, sessionA), info(2, sessionB))
		print(c, 1, 0, "\x1b]0;title\a\x1b[32mrunning")
		print(c, 2, 0, "done")
		c.Feed(2, &wire.Exit{Handle: 2, Offset: 4, Code: 2})
		synctest.Wait()
		before, err := f.Session(keyB1)
		if err != nil {
			t.Fatal(err)
		}
		closeFleet(t, f)
		c.Close()

		time.Sleep(time.Hour)
		f = open(t, store)
		running, err := f.Session(keyA1)
		if err != nil || running.Online || running.State != server.StateRunning || running.LastSeenMS < time.Hour.Milliseconds() ||
			running.Title != "title" || running.LastLine != "running" || running.CreatedMS < time.Hour.Milliseconds() {
			t.Errorf("running session %+v, %v", running, err)
		}
		ended, err := f.Session(keyB1)
		if err != nil || ended.State != server.StateExited || ended.Exit.Code != 2 || ended.Status.Kind != before.Status.Kind {
			t.Errorf("ended session %+v, %v", ended, err)
		}
		if a, b := show(t, f, keyA1), show(t, f, keyB1); a != "running\n" || b != "done\n" {
			t.Errorf("screens %q, %q", a, b)
		}
		if h, err := f.Host("h1"); err != nil || h.Online || h.LastSeenMS < time.Hour.Milliseconds() || h.Version != "1.0" {
			t.Errorf("host %+v, %v", h, err)
		}
		again := info(1, sessionA)
		again.End = wire.Position{Offset: 1000}
		link := &testLink{instance: "j"}
		c, welcome, err := f.Connect(t.Context(), "h1", link, &wire.HostHello{Instance: "j", Sessions: []wire.SessionInfo{again}})
		if err != nil || welcome.Resume[0].State || welcome.Resume[0].From.Offset != uint64(len("\x1b]0;title\a\x1b[32mrunning")) {
			t.Fatalf("welcome %+v, %v", welcome, err)
		}
		print(c, 1, welcome.Resume[0].From.Offset, " on")
		if got := show(t, f, keyA1); got != "running on\n" {
			t.Errorf("screen %q", got)
		}
		closeFleet(t, f)
	})
}

// The disk is written when something worth it happens, and not else.
func TestFleet_writesLittle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		f := open(t, store)
		c, _ := connect(t, f, "h1", info(1, sessionA))
		time.Sleep(10 * time.Second)
		synctest.Wait()
		start := store.Writes()
		if _, err := store.Session(t.Context(), keyA1); err != nil {
			t.Errorf("a new session is not in the store: %v", err)
		}
		var offset uint64
		for n := range 1000 {
			text := fmt.Sprintf("line %d\r\n\x1b]0;title %d\a", n, n)
			print(c, 1, offset, text)
			offset += uint64(len(text))
			time.Sleep(100 * time.Millisecond)
		}
		synctest.Wait()
		if n := store.Writes() - start; n > 0 {
			t.Errorf("output caused %d writes", n)
		}
		// A host that comes and goes.
		for range 20 {
			c.Close()
			time.Sleep(time.Second)
			c, _ = connect(t, f, "h1", info(1, sessionA))
			print(c, 1, offset, "x")
			offset++
			time.Sleep(time.Second)
		}
		snapshot, err := store.Snapshot(t.Context(), keyA1)
		if err != nil || snapshot.Position.Offset > offset-19 {
			t.Errorf("snapshot at %d of %d, %v: saved more than once in 40 s", snapshot.Position.Offset, offset, err)
		}
		c.Close()
		time.Sleep(snapshotEvery + time.Second)
		synctest.Wait()
		if snapshot, err = store.Snapshot(t.Context(), keyA1); err != nil || snapshot.Position.Offset != offset {
			t.Errorf("snapshot at %d of %d, %v", snapshot.Position.Offset, offset, err)
		}
	})
}

func TestFleet_savesAgainWhenTheDiskIsBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		f := open(t, store)
		c, _ := connect(t, f, "h1", info(1, sessionA))
		time.Sleep(5 * time.Second)
		store.Fail(errors.New("disk full"))
		print(c, 1, 0, "last")
		c.Feed(1, &wire.Exit{Handle: 1, Offset: 4})
		time.Sleep(time.Minute)
		store.Fail(nil)
		time.Sleep(2 * retryAfter)
		synctest.Wait()
		if record, err := store.Session(t.Context(), keyA1); err != nil || record.State != server.StateExited {
			t.Errorf("record %+v, %v", record, err)
		}
		if snapshot, err := store.Snapshot(t.Context(), keyA1); err != nil || snapshot.Position.Offset != 4 {
			t.Errorf("snapshot at %+v, %v", snapshot.Position, err)
		}
	})
}

// The terminal of a session that ended rests on disk until it is looked at.
func TestFleet_restsWhatEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, newStore())
		c, _ := connect(t, f, "h1", info(1, sessionA))
		print(c, 1, 0, "\x1b]0;kept\alast screen\a")
		c.Feed(1, &wire.Exit{Handle: 1, Offset: 21})
		time.Sleep(10 * time.Second)
		synctest.Wait()
		e, err := f.entry(keyA1)
		if err != nil {
			t.Fatal(err)
		}
		if _, saved, err := e.session.Snapshot(t.Context()); err != nil || saved {
			t.Errorf("its terminal is still in memory (%v)", err)
		}
		if item, err := f.Session(keyA1); err != nil || item.Title != "kept" || item.LastLine != "last screen" || item.Bell != 1 {
			t.Errorf("session %+v, %v", item, err)
		}
		if got := show(t, f, keyA1); got != "last screen\n" {
			t.Errorf("screen %q", got)
		}
	})
}

func TestFleet_Find(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, newStore())
		if _, err := f.Find("", sessionA); server.CodeOf(err) != server.CodeUnknownSession {
			t.Errorf("nothing is there: %v", err)
		}
		c, _ := connect(t, f, "h1", info(1, sessionA))
		connect(t, f, "h2", info(1, sessionA))
		for _, test := range []struct {
			host string
			want server.SessionKey
		}{{"", keyA1}, {"h1", keyA1}, {"h2", keyA2}} {
			if key, err := f.Find(test.host, sessionA); err != nil || key != test.want {
				t.Errorf("host %q: %v, %v", test.host, key, err)
			}
		}
		if err := c.Forgotten(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if key, err := f.Find("", sessionA); err != nil || key != keyA2 {
			t.Errorf("after the incumbent left: %v, %v", key, err)
		}
	})
}

func TestFleet_Forget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := newStore()
		f := open(t, store)
		c, link := connect(t, f, "h1", info(1, sessionA), info(2, sessionB))
		c.Feed(2, &wire.Exit{Handle: 2})
		time.Sleep(5 * time.Second)
		link.call = func(method string, params any) (json.RawMessage, error) {
			if method != wire.MethodForget {
				t.Errorf("method %s", method)
			}
			return nil, server.NewError(server.CodeForbidden)
		}
		if err := f.Forget(t.Context(), keyA1); server.CodeOf(err) != server.CodeForbidden {
			t.Errorf("the host refuses: %v", err)
		}
		c.Close()
		synctest.Wait()
		if err := f.Forget(t.Context(), keyA1); server.CodeOf(err) != server.CodeHostOffline {
			t.Errorf("a running session of an absent host: %v", err)
		}
		if err := f.Forget(t.Context(), keyB1); err != nil {
			t.Errorf("an ended session of an absent host: %v", err)
		}
		if _, err := store.Session(t.Context(), keyB1); server.CodeOf(err) != server.CodeUnknownSession {
			t.Errorf("it is still in the store: %v", err)
		}
		if err := f.Forget(t.Context(), keyB1); server.CodeOf(err) != server.CodeUnknownSession {
			t.Errorf("twice: %v", err)
		}
	})
}

// History that was left out of the saved terminal comes from the host.
func TestFleet_Page(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, newStore())
		c, link := connect(t, f, "h1", info(1, sessionA))
		whole := vt.New(vt.Options{Cols: 80, Rows: 24})
		for n := range 1000 {
			fmt.Fprintf(whole, "line %d\r\n", n)
		}
		c.Feed(1, &wire.Gap{Handle: 1, Lost: 5000})
		c.Feed(1, &wire.State{Handle: 1, Position: wire.Position{Offset: 5000}, First: true, Last: true, Cols: 80, Rows: 24, Data: whole.State(100)})
		asked := 0
		link.call = func(method string, params any) (json.RawMessage, error) {
			asked++
			p, ok := params.(wire.PageParams)
			if method != wire.MethodPage || !ok || p.ID != sessionA {
				t.Errorf("call %s %+v", method, params)
			}
			return json.Marshal(whole.Page(vt.LineID(p.Before), p.Max))
		}
		var before uint64
		lines, pages := 0, 0
		for {
			data, err := f.Page(t.Context(), keyA1, before, 60)
			if err != nil {
				t.Fatal(err)
			}
			var page vt.Page
			if err := json.Unmarshal(data, &page); err != nil {
				t.Fatal(err)
			}
			for _, line := range page.Lines {
				if before != 0 && uint64(line.ID) != before-1 {
					t.Fatalf("line %d after line %d", line.ID, before)
				}
				before = uint64(line.ID)
			}
			lines += len(page.Lines)
			if pages++; pages > 100 || !page.More {
				break
			}
		}
		if before != 1 || asked == 0 || asked == pages {
			t.Errorf("%d lines back to %d on %d pages, %d of them from the host", lines, before, pages, asked)
		}
		c.Close()
		synctest.Wait()
		if _, err := f.Page(t.Context(), keyA1, 5, 60); server.CodeOf(err) != server.CodeHostOffline {
			t.Errorf("older history of an absent host: %v", err)
		}
		if _, err := f.Page(t.Context(), keyA1, 0, 0); server.CodeOf(err) != server.CodeInvalid {
			t.Errorf("no lines: %v", err)
		}
	})
}

func TestFleet_Search(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, newStore())
		c, link := connect(t, f, "h1", info(1, sessionA))
		whole := vt.New(vt.Options{Cols: 80, Rows: 24})
		for n := range 1000 {
			fmt.Fprintf(whole, "line %d\r\n", n)
		}
		c.Feed(1, &wire.Gap{Handle: 1, Lost: 5000})
		c.Feed(1, &wire.State{Handle: 1, Position: wire.Position{Offset: 5000}, First: true, Last: true, Cols: 80, Rows: 24, Data: whole.State(100)})
		asked := 0
		link.call = func(method string, params any) (json.RawMessage, error) {
			asked++
			p, ok := params.(wire.SearchParams)
			if method != wire.MethodSearch || !ok || p.ID != sessionA {
				t.Errorf("call %s %+v", method, params)
			}
			pattern, err := vt.NewPattern(p.Query, vt.PatternOptions{Regexp: p.Regexp, CaseSensitive: p.CaseSensitive})
			if err != nil {
				t.Fatal(err)
			}
			o := vt.SearchOptions{Max: p.Max}
			if err := o.Before.UnmarshalText([]byte(p.Before)); err != nil {
				t.Fatal(err)
			}
			return json.Marshal(whole.Search(pattern, o))
		}
		pattern, err := vt.NewPattern("LINE", vt.PatternOptions{})
		if err != nil {
			t.Fatal(err)
		}
		want := whole.Search(pattern, vt.SearchOptions{Max: 1000}).Matches
		for _, limit := range []int{0, 1000, 100, 76, 7} {
			asked = 0
			params := wire.SearchParams{Query: "LINE", Max: limit}
			var got []vt.Match
			for range 1001 {
				result, complete, err := f.Search(t.Context(), keyA1, params)
				if err != nil || !complete {
					t.Fatalf("complete %t, %v", complete, err)
				}
				got = append(got, result.Matches...)
				if !result.More {
					break
				}
				next, err := result.Next.MarshalText()
				if err != nil {
					t.Fatal(err)
				}
				params.Before = string(next)
			}
			if d := cmp.Diff(want, got); d != "" || asked == 0 {
				t.Errorf("%d at a time, the host asked %d times: %s", limit, asked, d)
			}
		}
		asked = 0
		if result, _, err := f.Search(t.Context(), keyA1, wire.SearchParams{Query: "line", Max: 5}); err != nil || len(result.Matches) != 5 || asked != 0 {
			t.Errorf("the newest: %+v, %v, the host asked %d times", result, err, asked)
		}
		for _, bad := range []wire.SearchParams{{}, {Query: "(", Regexp: true}, {Query: "x", Before: "y"}} {
			if _, _, err := f.Search(t.Context(), keyA1, bad); server.CodeOf(err) != server.CodeInvalid {
				t.Errorf("%+v: %v", bad, err)
			}
		}
		// A host that lies does not make us ask for ever, nor take more than we want.
		link.call = func(string, any) (json.RawMessage, error) {
			return json.Marshal(vt.SearchResult{Matches: []vt.Match{{Text: strings.Repeat("x", 5000)}, {}, {}}, More: true, Next: vt.SearchCursor{Line: 1 << 40}})
		}
		result, _, err := f.Search(t.Context(), keyA1, wire.SearchParams{Query: "absent", Max: 2})
		if err != nil || len(result.Matches) != 2 || len(result.Matches[0].Text) > 200 || result.More {
			t.Errorf("a host that lies: %+v, %v", result, err)
		}
		for _, code := range []server.Code{server.CodeUnsupported, server.CodeForbidden} {
			link.call = func(string, any) (json.RawMessage, error) { return nil, server.NewError(code) }
			if result, complete, err := f.Search(t.Context(), keyA1, wire.SearchParams{Query: "line 99"}); err != nil || complete || len(result.Matches) != 10 {
				t.Errorf("%s: %d matches, complete %t, %v", code, len(result.Matches), complete, err)
			}
		}
		c.Close()
		synctest.Wait()
		if result, complete, err := f.Search(t.Context(), keyA1, wire.SearchParams{Query: "line 99"}); err != nil || complete || len(result.Matches) != 10 {
			t.Errorf("of an absent host: %d matches, complete %t, %v", len(result.Matches), complete, err)
		}
		if _, _, err := f.Search(t.Context(), keyA2, wire.SearchParams{Query: "x"}); server.CodeOf(err) != server.CodeUnknownSession {
			t.Errorf("unknown session: %v", err)
		}
	})
}

func TestFleet_Recording(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, newStore())
		c, link := connect(t, f, "h1", info(1, sessionA))
		answer := wire.RecordingResult{Cols: 80, Rows: 24, Next: wire.Position{Offset: 10}, AgeMS: -5}
		link.call = func(method string, params any) (json.RawMessage, error) {
			if p, ok := params.(wire.RecordingParams); method != wire.MethodRecording || !ok || p.ID != sessionA {
				t.Errorf("call %s %+v", method, params)
			}
			return json.Marshal(answer)
		}
		first, err := f.Recording(t.Context(), keyA1, nil)
		if err != nil || first.AgeMS != 0 {
			t.Errorf("%+v, %v", first, err)
		}
		if _, err := f.Recording(t.Context(), keyA1, &wire.Position{Offset: 5}); err != nil {
			t.Error(err)
		}
		if _, err := f.Recording(t.Context(), keyA1, &wire.Position{Offset: 10}); err == nil {
			t.Error("a host may stand still")
		}
		answer.Done = true
		if _, err := f.Recording(t.Context(), keyA1, &wire.Position{Offset: 10}); err != nil {
			t.Error(err)
		}
		answer.Cols = 0
		if _, err := f.Recording(t.Context(), keyA1, nil); err == nil {
			t.Error("a terminal has no columns")
		}
		c.Close()
		synctest.Wait()
		if _, err := f.Recording(t.Context(), keyA1, nil); server.CodeOf(err) != server.CodeHostOffline {
			t.Errorf("of an absent host: %v", err)
		}
	})
}

func next(t *testing.T, s *Subscription) []wire.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	events, err := s.Next(ctx)
	if err != nil {
		t.Fatalf("next: %v", err)
	}
	return events
}

func kinds(events []wire.Event) (list []string) {
	for _, e := range events {
		list = append(list, e.Kind)
	}
	return list
}

func TestSubscription(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, newStore())
		s := f.Subscribe(admin)
		defer s.Close()
		if got := kinds(next(t, s)); !cmp.Equal(got, []string{wire.EventSnapshot}) {
			t.Fatalf("first %v", got)
		}
		c, _ := connect(t, f, "h1", info(1, sessionA))
		synctest.Wait()
		if got := kinds(next(t, s)); !cmp.Equal(got, []string{wire.EventHost, wire.EventSession}) {
			t.Errorf("a host came: %v", got)
		}
		// A hundred changes are told as one, the newest.
		for n := range uint64(100) {
			print(c, 1, n*10, fmt.Sprintf("line %03d\r\n", n))
			time.Sleep(time.Second)
		}
		synctest.Wait()
		events := next(t, s)
		if len(events) != 1 || !strings.Contains(string(events[0].Body), `"last_line":"line 099"`) {
			t.Errorf("changes %+v", events)
		}
		if err := c.Forgotten(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if got := kinds(next(t, s)); !cmp.Equal(got, []string{wire.EventSessionRemoved, wire.EventHost}) {
			t.Errorf("a session went: %v", got)
		}
		f.AddHost(server.HostRecord{ID: "h3", Name: "third"})
		f.RemoveHost(t.Context(), "h2")
		if got := kinds(next(t, s)); !cmp.Equal(got, []string{wire.EventHost, wire.EventHostRemoved}) {
			t.Errorf("hosts came and went: %v", got)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := s.Next(ctx); err == nil {
			t.Error("nothing happened, and Next returned")
		}
		c.Close()
		closeFleet(t, f)
		for {
			if _, err := s.Next(t.Context()); err != nil {
				if server.CodeOf(err) != server.CodeRestarting {
					t.Errorf("fleet closed: %v", err)
				}
				break
			}
		}
	})
}

// A subscriber that does not ask for long is given a new snapshot.
func TestSubscription_overflow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, newStore())
		s := f.Subscribe(admin)
		defer s.Close()
		next(t, s)
		for n := range maxDirty + 1 {
			f.AddHost(server.HostRecord{ID: fmt.Sprint("host ", n), Name: fmt.Sprint(n)})
		}
		if len(s.order) != 0 || len(s.dirty) != 0 {
			t.Errorf("%d changes are kept", len(s.order))
		}
		events := next(t, s)
		if got := kinds(events); !cmp.Equal(got, []string{wire.EventSnapshot}) || !strings.Contains(string(events[0].Body), "host 512") {
			t.Errorf("after an overflow: %v", got)
		}
	})
}

// More sessions than a frame holds are told in parts, none larger than a frame.
func TestSubscription_manySessions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, newStore())
		long := info(1, sessionA)
		long.Meta.State = "exited"
		long.Meta.Command = strings.Repeat("ü", 400)
		long.Meta.Cwd = "/" + strings.Repeat("ü", 1000)
		total := 0
		for _, host := range []string{"h1", "h2"} {
			var infos []wire.SessionInfo
			for n := range MaxListed {
				long.ID, long.Handle = fmt.Sprintf("01kb9fvz3m8q4t6w2x5y7r%04d", n), uint32(n+1)
				infos = append(infos, long)
				total++
			}
			connect(t, f, host, infos...)
		}
		synctest.Wait()
		s := f.Subscribe(admin)
		defer s.Close()
		events := next(t, s)
		var first struct{ Sessions []json.RawMessage }
		if err := json.Unmarshal(events[0].Body, &first); err != nil || events[0].Kind != wire.EventSnapshot {
			t.Fatalf("%s: %v", events[0].Kind, err)
		}
		if told := len(first.Sessions) + len(events) - 1; told != total || len(events) == 1 {
			t.Errorf("%d sessions told, %d of them behind the snapshot; there are %d", told, len(events)-1, total)
		}
		for i := range events {
			if _, err := wire.Append(nil, &events[i]); err != nil {
				t.Errorf("event %d: %v", i, err)
			}
		}
	})
}

func TestFleet_hostIsRenamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := open(t, newStore())
		connect(t, f, "h1", info(1, sessionA))
		f.AddHost(server.HostRecord{ID: "h1", Name: "studio"})
		time.Sleep(time.Second)
		synctest.Wait()
		h, err := f.Host("h1")
		item, sessionErr := f.Session(keyA1)
		if err != nil || sessionErr != nil || h.Name != "studio" || !h.Online || item.HostName != "studio" {
			t.Errorf("host %+v, session %+v, %v, %v", h, item, err, sessionErr)
		}
	})
}

// What happens in sessions that a principal may not see changes nothing in what
// it is told.
func TestSubscription_binding(t *testing.T) {
	told := func(t *testing.T, disturb bool) (bodies []string) {
		f := open(t, newStore())
		guest := server.Principal{
			Kind: server.PrincipalDevice, ID: "g", Name: "guest", Scopes: server.ScopeRead,
			Binding: server.Binding{Sessions: []server.SessionKey{keyA1}},
		}
		s := f.Subscribe(guest)
		defer s.Close()
		collect := func() {
			synctest.Wait()
			events, err := s.Take()
			if err != nil {
				t.Fatal(err)
			}
			for _, e := range events {
				bodies = append(bodies, e.Kind+" "+string(e.Body))
			}
		}
		collect()
		c, _ := connect(t, f, "h1", info(1, sessionA))
		collect()
		if disturb {
			if _, err := c.Open(t.Context(), info(2, sessionB)); err != nil {
				t.Fatal(err)
			}
			print(c, 2, 0, "secret")
			connect(t, f, "h2", info(1, sessionA))
			f.refused("h1", "another daemon")
			c.Feed(2, &wire.Exit{Handle: 2, Offset: 6})
			synctest.Wait()
			if err := c.Forgotten(t.Context(), 2); err != nil {
				t.Fatal(err)
			}
			f.RemoveHost(t.Context(), "h2")
		}
		collect()
		print(c, 1, 0, "mine")
		time.Sleep(time.Second)
		collect()
		c.Close()
		closeFleet(t, f)
		return bodies
	}
	var quiet, disturbed []string
	synctest.Test(t, func(t *testing.T) { quiet = told(t, false) })
	synctest.Test(t, func(t *testing.T) { disturbed = told(t, true) })
	if len(quiet) < 3 {
		t.Errorf("the guest is told %v", quiet)
	}
	if diff := cmp.Diff(quiet, disturbed); diff != "" {
		t.Errorf("the guest is told of other sessions (-alone +with others):\n%s", diff)
	}
	synctest.Test(t, func(t *testing.T) {
		f := open(t, newStore())
		connect(t, f, "h1", info(1, sessionA))
		s := f.Subscribe(server.Principal{Scopes: server.ScopeInput})
		defer s.Close()
		if body := string(next(t, s)[0].Body); body != `{"hosts":[],"sessions":[]}` {
			t.Errorf("a principal that may not read is told %s", body)
		}
	})
}

// Every kind of event by every kind of principal (THREATS S-9): who is told is
// written by hand, and a kind that is missing here fails the test.
func TestSubscription_principals(t *testing.T) {
	bound := server.Binding{Sessions: []server.SessionKey{keyA1}}
	principals := map[string]server.Principal{
		"owner":          {Kind: server.PrincipalDevice, ID: "owner", Scopes: server.AllScopes},
		"the new device": {Kind: server.PrincipalDevice, ID: "new", Scopes: server.AllScopes},
		"admin token":    {Kind: server.PrincipalToken, ID: "t", Scopes: server.AllScopes},
		"all but admin":  {Kind: server.PrincipalDevice, ID: "some", Scopes: server.AllScopes &^ server.ScopeAdmin},
		"reader":         {Kind: server.PrincipalDevice, ID: "reader", Scopes: server.ScopeRead},
		"typist":         {Kind: server.PrincipalToken, ID: "typist", Scopes: server.ScopeInput},
		"guest":          {Kind: server.PrincipalDevice, ID: "guest", Scopes: server.ScopeRead, Binding: bound},
		"bound token":    {Kind: server.PrincipalToken, ID: "b", Scopes: server.AllScopes, Binding: bound},
		"host":           {Kind: server.PrincipalHost, ID: "h1"},
	}
	everybody := []string{"owner", "the new device", "admin token", "all but admin", "reader"}
	bounded := append(slices.Clone(everybody), "guest", "bound token")
	synctest.Test(t, func(t *testing.T) {
		f := open(t, newStore())
		c, _ := connect(t, f, "h1", info(1, sessionA), info(2, sessionB))
		connect(t, f, "h2", info(1, sessionA))
		synctest.Wait()
		told := map[string]*Subscription{}
		for name, p := range principals {
			s := f.Subscribe(p)
			defer s.Close()
			next(t, s) // the snapshot
			told[name] = s
		}
		check := func(what, kind string, want []string) {
			t.Helper()
			time.Sleep(time.Second)
			synctest.Wait()
			for name, s := range told {
				events, err := s.Take()
				if err != nil {
					t.Fatal(err)
				}
				got := slices.ContainsFunc(events, func(e wire.Event) bool { return e.Kind == kind })
				if got != slices.Contains(want, name) {
					t.Errorf("%s: %s is told %v, want %v", what, name, got, !got)
				}
			}
		}
		covered := []string{wire.EventSnapshot}
		for _, step := range []struct {
			what, kind string
			act        func()
			want       []string
		}{
			{"a bound session", wire.EventSession, func() { print(c, 1, 0, "x") }, bounded},
			{"another session", wire.EventSession, func() { print(c, 2, 0, "x") }, everybody},
			{"a device", wire.EventDevice, func() { f.AnnounceDevice(server.Device{ID: "new", Name: "Pixel"}) }, []string{"owner", "admin token"}},
			{"a request", wire.EventPairing, func() { f.AnnouncePairing(server.Pairing{ID: "K7QP"}) }, []string{"owner", "the new device", "admin token"}},
			{"its end", wire.EventPairingRemoved, func() { f.PairingOver("K7QP") }, []string{"owner", "the new device", "admin token"}},
			{"another host goes", wire.EventHostRemoved, func() { f.RemoveHost(t.Context(), "h2") }, everybody},
			{"another session goes", wire.EventSessionRemoved, func() {
				if err := c.Forgotten(t.Context(), 2); err != nil {
					t.Fatal(err)
				}
			}, everybody},
			{"a bound session goes", wire.EventSessionRemoved, func() {
				if err := c.Forgotten(t.Context(), 1); err != nil {
					t.Fatal(err)
				}
			}, bounded},
			{"its host goes offline", wire.EventHost, func() { c.Close() }, bounded},
		} {
			step.act()
			check(step.what, step.kind, step.want)
			covered = append(covered, step.kind)
		}
		for _, kind := range eventKinds(t) {
			if !slices.Contains(covered, kind) {
				t.Errorf("the event %q is not in this test", kind)
			}
		}
		closeFleet(t, f)
	})
}

// eventKinds reads the kinds of events out of the wire's source.
func eventKinds(t *testing.T) (kinds []string) {
	t.Helper()
	source, err := os.ReadFile("../../internal/wire/control.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`(?m)^\tEvent\w+ += "(\w+)"`).FindAllSubmatch(source, -1) {
		kinds = append(kinds, string(found[1]))
	}
	if len(kinds) < 8 {
		t.Fatalf("only %v were found", kinds)
	}
	return kinds
}

// Hosts, viewers and subscribers come and go at once while the fleet closes.
func TestFleet_closesUnderLoad(t *testing.T) {
	f := open(t, newStore())
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var workers sync.WaitGroup
	for n := range 4 {
		workers.Go(func() {
			host := []string{"h1", "h2"}[n%2]
			for ctx.Err() == nil {
				link := &testLink{instance: fmt.Sprint(n % 2)}
				c, _, err := f.Connect(ctx, host, link, &wire.HostHello{Instance: link.instance, Sessions: []wire.SessionInfo{info(1, sessionA), info(2, sessionB)}})
				if err != nil {
					return
				}
				print(c, 1, 0, "x")
				c.Close()
			}
		})
		workers.Go(func() {
			s := f.Subscribe(admin)
			defer s.Close()
			for {
				if _, err := s.Next(ctx); err != nil {
					return
				}
			}
		})
	}
	for len(f.Sessions()) < 3 {
		if _, err := f.Find("h1", sessionA); err == nil {
			show(t, f, keyA1)
		}
	}
	closeFleet(t, f)
	workers.Wait()
}
