package viewer

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/socket/sockettest"
)

var client = wire.ClientID{0xc1}

func TestViewer_seesTypesAndIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		h := w.host("h1", info(3, sessionA))
		v := w.viewer()
		first := decode[snapshot](t, sockettest.Await(v.Peer, eventOf(wire.EventSnapshot)).Body)
		if len(first.Hosts) != 2 || len(first.Sessions) != 1 || first.Sessions[0].ID != sessionA || !first.Sessions[0].Online {
			t.Fatalf("snapshot %+v", first)
		}
		h.print(3, "$ ")
		synctest.Wait()
		attached := v.attach(7, "h1", sessionA, client)
		if attached.Handle != 7 || attached.Mode != wire.AttachedRepaint || attached.Cols != 80 {
			t.Fatalf("attached %+v", attached)
		}
		h.print(3, "hello")
		v.drawUntil(7)
		if v.screen() != "$ hello\n" {
			t.Errorf("screen %q", v.screen())
		}

		v.Send(&wire.Input{Handle: 7, Client: client, Seq: 1, Kind: wire.InputBytes, Age: 5, Sent: v.Sent(), Data: []byte("ls\r")})
		input := sockettest.Await[*wire.Input](h.Peer)
		if input.Handle != 3 || input.Client != client || input.Seq != 1 || string(input.Data) != "ls\r" || input.Age > 50 {
			t.Errorf("input %+v", input)
		}
		h.Send(&wire.InputAck{Handle: 3, Client: client, Seq: 1, Status: wire.InputApplied})
		if ack := sockettest.Await[*wire.InputAck](v.Peer); ack.Handle != 7 || ack.Client != client || ack.Seq != 1 || ack.Status != wire.InputApplied {
			t.Errorf("ack %+v", ack)
		}

		// A client id that the viewer goes on with is routed as well.
		next := wire.ClientID{0xc2}
		v.Send(&wire.Retire{Handle: 7, Client: client}, &wire.Input{Handle: 7, Client: next, Seq: 1, Sent: v.Sent()})
		if f := sockettest.Await[*wire.Retire](h.Peer); f.Handle != 3 || f.Client != client {
			t.Errorf("retire %+v", f)
		}
		sockettest.Await[*wire.Input](h.Peer)
		h.Send(&wire.InputAck{Handle: 3, Client: next, Seq: 1, Status: wire.InputLate})
		if ack := sockettest.Await[*wire.InputAck](v.Peer); ack.Client != next || ack.Status != wire.InputLate {
			t.Errorf("ack %+v", ack)
		}

		v.Send(&wire.ClaimSize{Handle: 7, Client: next, Reason: wire.ClaimFit, Cols: 40, Rows: 20},
			&wire.Presence{Handle: 7, Client: next, Visible: true}, &wire.ReleaseSize{Handle: 7, Client: next})
		if f := sockettest.Await[*wire.ClaimSize](h.Peer); f.Handle != 3 || f.Cols != 40 {
			t.Errorf("claim %+v", f)
		}
		if f := sockettest.Await[*wire.Presence](h.Peer); f.Handle != 3 || !f.Visible {
			t.Errorf("presence %+v", f)
		}
		sockettest.Await[*wire.ReleaseSize](h.Peer)

		// Who owns the size is told to its owner as its own.
		h.Send(&wire.SizeOwner{Handle: 3, Client: next, Kind: wire.OwnerViewer, Cols: 40, Rows: 20})
		if f := sockettest.Await(v.Peer, func(f *wire.SizeOwner) bool { return f.Kind == wire.OwnerViewer }); f.Client != next {
			t.Errorf("owner %+v", f)
		}
		event := sockettest.Await(v.Peer, func(e *wire.Event) bool { return strings.Contains(string(e.Body), `"kind":"viewer"`) })
		if item := decode[server.Session](t, event.Body); !item.SizeOwner.Mine {
			t.Errorf("the owner is told %+v", item.SizeOwner)
		}
		other := w.viewer()
		if s := decode[snapshot](t, sockettest.Await(other.Peer, eventOf(wire.EventSnapshot)).Body); s.Sessions[0].SizeOwner.Mine || s.Sessions[0].SizeOwner.Kind != server.OwnerViewer {
			t.Errorf("another is told %+v", s.Sessions[0].SizeOwner)
		}

		h.Send(&wire.Exit{Handle: 3, Offset: h.offset[3], Code: 1})
		exit := sockettest.Await[*wire.Exit](v.Peer)
		if exit.Handle != 7 || exit.Code != 1 {
			t.Errorf("exit %+v", exit)
		}
	})
}

// What a frame was held up on its way counts for the age of an input.
func TestViewer_inputGrowsOld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		h := w.host("h1", info(1, sessionA))
		v := w.viewer()
		v.attach(7, "h1", sessionA, client)
		v.Send(&wire.Ping{Sent: v.Sent()})
		synctest.Wait()
		sent := v.Sent()
		time.Sleep(4 * time.Second)
		v.Send(&wire.Input{Handle: 7, Client: client, Seq: 1, Age: 1000, Sent: sent})
		input := sockettest.Await[*wire.Input](h.Peer)
		if input.Age < 5000 || input.Age > 5100 {
			t.Errorf("age %d ms, typed 1 s before it was sent and held up 4 s", input.Age)
		}
	})
}

func TestViewer_hostOffline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		h := w.host("h1", info(1, sessionA))
		v := w.viewer()
		h.print(1, "last words")
		synctest.Wait()
		v.attach(7, "h1", sessionA, client)
		h.Cut()
		offline := sockettest.Await(v.Peer, func(e *wire.Event) bool {
			return e.Kind == wire.EventSession && strings.Contains(string(e.Body), `"online":false`)
		})
		if item := decode[server.Session](t, offline.Body); item.State != server.StateRunning {
			t.Errorf("session %+v", item)
		}
		v.Send(&wire.Input{Handle: 7, Client: client, Seq: 4, Sent: v.Sent()})
		if ack := sockettest.Await[*wire.InputAck](v.Peer); ack.Status != wire.InputHostOffline || ack.Seq != 4 || ack.Handle != 7 {
			t.Errorf("ack %+v", ack)
		}
		v.Send(&wire.Retire{Handle: 7, Client: client})
		if ack := sockettest.Await[*wire.InputAck](v.Peer); ack.Status != wire.InputHostOffline {
			t.Errorf("ack %+v", ack)
		}
		// It comes back and the stream goes on where it was.
		h = &host{w.network.Dial(t, "/host/h1", nil), map[uint32]uint64{5: 10}}
		again := info(5, sessionA)
		again.End = wire.Position{Offset: 14}
		h.Send(&wire.HostHello{Instance: "instance of h1", Sessions: []wire.SessionInfo{again}})
		if resume := sockettest.Await[*wire.HostWelcome](h.Peer).Resume[0]; resume.From.Offset != 10 || resume.State {
			t.Fatalf("resume %+v", resume)
		}
		h.print(5, " and more")
		other := w.viewer()
		other.attach(1, "h1", sessionA, wire.ClientID{})
		other.drawUntil(19)
		if other.screen() != "last words and more\n" {
			t.Errorf("screen %q", other.screen())
		}
		v.Send(&wire.Input{Handle: 7, Client: client, Seq: 5, Sent: v.Sent()})
		if f := sockettest.Await[*wire.Input](h.Peer); f.Handle != 5 {
			t.Errorf("input %+v", f)
		}
	})
}

func TestViewer_scopes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bound := server.Binding{Sessions: []server.SessionKey{{Host: "h1", ID: sessionA}}}
		principals := map[string]server.Principal{
			"reader": {Kind: server.PrincipalDevice, ID: "reader", Name: "reader", Scopes: server.ScopeRead},
			"guest":  {Kind: server.PrincipalDevice, ID: "guest", Name: "guest", Scopes: server.ScopeRead | server.ScopeInput, Binding: bound},
			"typist": {Kind: server.PrincipalToken, ID: "typist", Name: "typist", Scopes: server.ScopeInput},
			"host":   {Kind: server.PrincipalHost, ID: "h1", Name: "h1", Scopes: server.AllScopes},
		}
		w := newWorld(t, func(r *http.Request) server.Principal { return principals[r.URL.Query().Get("as")] })
		h := w.host("h1", info(1, sessionA), info(2, sessionB))
		dial := func(as string) *browser { return &browser{Peer: w.network.Dial(t, "/view?as="+as, nil), t: t} }

		for _, as := range []string{"typist", "host"} {
			v := dial(as)
			sockettest.Await[*wire.Problem](v.Peer)
			if code := v.Closed(); code != wire.CloseForbidden {
				t.Errorf("%s: closed with %d", as, code)
			}
		}

		reader := dial("reader")
		reader.Send(&wire.ViewerHello{Proof: "proof"})
		reader.attach(7, "h1", sessionA, client)
		reader.Send(
			&wire.ClaimSize{Handle: 7, Client: client, Cols: 40, Rows: 20},
			&wire.ReleaseSize{Handle: 7, Client: client},
			&wire.Presence{Handle: 7, Client: client, Visible: true},
			&wire.Retire{Handle: 7, Client: client},
			&wire.Input{Handle: 7, Client: client, Seq: 1},
		)
		if ack := sockettest.Await(reader.Peer, func(a *wire.InputAck) bool { return a.Seq == 1 }); ack.Status != wire.InputForbidden {
			t.Errorf("ack %+v", ack)
		}
		synctest.Wait()
		for _, f := range h.Take() {
			switch f.(type) {
			case *wire.Ack:
			default:
				t.Errorf("a reader's frame reached the host: %s", f.Type())
			}
		}

		guest := dial("guest")
		guest.Send(&wire.ViewerHello{Proof: "proof"})
		guest.AnswerPings()
		seen := decode[snapshot](t, sockettest.Await(guest.Peer, eventOf(wire.EventSnapshot)).Body)
		if len(seen.Sessions) != 1 || seen.Sessions[0].ID != sessionA || len(seen.Hosts) != 1 || seen.Hosts[0].Sessions != 1 {
			t.Errorf("the guest sees %+v", seen)
		}
		guest.Send(&wire.Attach{Handle: 8, Host: "h1", Session: sessionB})
		if problem := sockettest.Await[*wire.Problem](guest.Peer); problem.Handle != 8 || problem.Code != wire.CodeUnknownSession {
			t.Errorf("problem %+v", problem)
		}
		guest.attach(9, "h1", sessionA, wire.ClientID{9})
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait()
		before := guest.Bytes()
		// Whatever happens elsewhere, a guest's stream does not show it.
		h.Send(&wire.Output{Handle: 2, Data: []byte("secret\x1b]0;secret\a\a")})
		h.Send(&wire.SessionUpdate{Handle: 2, Meta: wire.SessionMeta{Name: "other", State: "exited"}})
		time.Sleep(5 * time.Second)
		synctest.Wait()
		if grown := guest.Bytes() - before; grown != 0 {
			t.Errorf("%d bytes told the guest of another session", grown)
		}
	})
}

func TestViewer_hello(t *testing.T) {
	for name, test := range map[string]struct {
		send func(p *sockettest.Peer)
		want int
	}{
		"no proof":         {func(p *sockettest.Peer) { p.Send(&wire.ViewerHello{}) }, wire.CloseUnauthorized},
		"nothing":          {func(*sockettest.Peer) {}, wire.CloseUnauthorized},
		"only pings":       {func(p *sockettest.Peer) { p.Send(&wire.Ping{}) }, wire.CloseUnauthorized},
		"not our protocol": {func(p *sockettest.Peer) { p.SendBare([]byte("GET / HTTP/1.1")) }, wire.CloseProtocol},
		"another version":  {func(p *sockettest.Peer) { p.SendBare([]byte("AHLM\x02\x00")) }, wire.CloseVersion},
		"a frame before":   {func(p *sockettest.Peer) { p.Send(&wire.Attach{Handle: 1}) }, wire.CloseProtocol},
		"half a frame":     {func(p *sockettest.Peer) { p.SendRaw([]byte{byte(wire.TypeAck), 5, 1}) }, wire.CloseProtocol},
		"a second hello": {func(p *sockettest.Peer) {
			p.Send(&wire.ViewerHello{Proof: "proof"}, &wire.ViewerHello{Proof: "proof"})
		}, wire.CloseProtocol},
		"a host's frame": {func(p *sockettest.Peer) {
			p.Send(&wire.ViewerHello{Proof: "proof"}, &wire.Output{Handle: 1})
		}, wire.CloseProtocol},
		"handle zero": {func(p *sockettest.Peer) {
			p.Send(&wire.ViewerHello{Proof: "proof"}, &wire.Attach{Host: "h1", Session: sessionA})
		}, wire.CloseProtocol},
		"too large a message": {func(p *sockettest.Peer) { p.SendRaw(make([]byte, wire.MaxMessage+1)) }, 1009},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, nil)
				p := w.network.Dial(t, "/view", nil)
				test.send(p)
				if code := p.Closed(); int(code) != test.want {
					t.Errorf("closed with %d, want %d", code, test.want)
				}
			})
		})
	}
}

func TestViewer_isToldWhyItEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		v := w.viewer()
		w.revokeAll(server.NewError(server.CodeRevoked))
		if problem := sockettest.Await[*wire.Problem](v.Peer); problem.Code != string(server.CodeRevoked) {
			t.Errorf("problem %+v", problem)
		}
		if code := v.Closed(); code != wire.CloseUnauthorized {
			t.Errorf("revoked: closed with %d", code)
		}
		v = w.viewer()
		done := make(chan error)
		go func() { done <- w.viewers.Shutdown(t.Context()) }()
		sockettest.Await[*wire.Restarting](v.Peer)
		if code := v.Closed(); code != wire.CloseRestarting {
			t.Errorf("restarting: closed with %d", code)
		}
		if err := <-done; err != nil {
			t.Errorf("shutdown: %v", err)
		}
	})
}

func TestViewer_limits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		h := w.host("h1", info(1, sessionA))
		h.print(1, "x")
		var viewers []*browser
		for range MaxSockets {
			viewers = append(viewers, w.viewer())
		}
		extra := w.network.Dial(t, "/view", nil)
		if code := extra.Closed(); code != wire.CloseLimit {
			t.Errorf("socket %d: closed with %d", MaxSockets+1, code)
		}
		v := viewers[0]
		for handle := uint32(1); handle <= MaxAttachments; handle++ {
			v.attach(handle, "h1", sessionA, wire.ClientID{})
		}
		v.Send(&wire.Attach{Handle: 1000, Host: "h1", Session: sessionA})
		if problem := sockettest.Await[*wire.Problem](v.Peer); problem.Handle != 1000 || problem.Code != wire.CodeLimit {
			t.Errorf("problem %+v", problem)
		}
		v.Send(&wire.Detach{Handle: 5})
		v.attach(1000, "h1", sessionA, wire.ClientID{})
		v.Send(&wire.Attach{Handle: 2000, Host: "h1", Session: sessionB})
		sockettest.Await[*wire.Problem](v.Peer)
		viewers[1].Cut()
		synctest.Wait()
		w.viewer()
	})
}

// A viewer that stops reading costs nobody anything, ends after the heartbeat's
// time, and one that reads again in time is brought to the present.
func TestViewer_stopsReading(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		h := w.host("h1", info(1, sessionA))
		dead, slow, fast := w.viewer(), w.viewer(), w.viewer()
		for i, v := range []*browser{dead, slow, fast} {
			v.attach(uint32(i+1), "h1", sessionA, wire.ClientID{})
		}
		dead.Pause()
		slow.Pause()
		for n := range 3000 {
			h.print(1, strings.Repeat(line(n), 40))
			if n%10 == 0 {
				synctest.Wait()
				fast.draw()
			}
		}
		fast.drawUntil(h.offset[1])
		if got := slow.Bytes(); got > 256<<10 {
			t.Errorf("%d bytes sent to a viewer that does not read", got)
		}
		slow.Resume()
		slow.drawUntil(h.offset[1])
		if slow.screen() != fast.screen() {
			t.Errorf("slow viewer shows\n%s\nfast viewer\n%s", slow.screen(), fast.screen())
		}
		// The first, one that still fitted the window, and the one that counts.
		if slow.repaints > 3 {
			t.Errorf("slow viewer was repainted %d times", slow.repaints)
		}
		time.Sleep(wire.HeartbeatTimeout + time.Second)
		if code := dead.Closed(); code != -1 {
			t.Errorf("dead viewer closed with %d", code)
		}
	})
}

func TestViewer_heartbeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		v := w.viewer()
		for range 10 {
			time.Sleep(wire.Heartbeat)
			synctest.Wait()
			v.Send(&wire.Ping{Nonce: 5, Sent: v.Sent()})
			sockettest.Await(v.Peer, func(p *wire.Pong) bool { return p.Nonce == 5 })
		}
		sockettest.Await[*wire.Event](w.viewer().Peer) // the other still works
		sockettest.Await(v.Peer, func(p *wire.Ping) bool { return p.Sent > 0 })
	})
}

func TestViewer_tenViewersOfAFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(r *http.Request) server.Principal {
			p := phone
			p.ID = r.URL.Query().Get("n")
			return p
		})
		h := w.host("h1", info(1, sessionA), info(2, sessionB))
		var viewers []*browser
		for range 8 {
			v := w.viewer()
			v.attach(1, "h1", sessionA, wire.ClientID{})
			viewers = append(viewers, v)
		}
		for n := range 500 {
			h.print(1, strings.Repeat(line(n), 200))
			synctest.Wait()
			for _, v := range viewers {
				v.draw()
			}
		}
		for i, v := range viewers {
			v.drawUntil(h.offset[1])
			if v.repaints != 1 {
				t.Errorf("viewer %d, which keeps up, was repainted %d times", i, v.repaints-1)
			}
			if v.screen() != viewers[0].screen() {
				t.Errorf("viewer %d shows another screen", i)
			}
		}
	})
}

func TestViewer_pages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		h := w.host("h1", info(1, sessionA))
		v := w.viewer()
		v.attach(7, "h1", sessionA, wire.ClientID{})
		for n := range 100 {
			h.print(1, line(n))
		}
		v.drawUntil(h.offset[1])
		v.Send(&wire.Page{Handle: 7, Request: 1, Max: 10})
		type page struct {
			Lines []struct{ ID uint64 }
			More  bool
		}
		reply := sockettest.Await[*wire.PageReply](v.Peer)
		got := decode[page](t, reply.Body)
		if reply.Request != 1 || reply.Handle != 7 || len(got.Lines) != 10 || !got.More {
			t.Fatalf("page %+v", got)
		}
		// All of the history is here: nobody asks the host.
		v.Send(&wire.Page{Handle: 7, Request: 2, Before: got.Lines[9].ID, Max: 1000})
		if got = decode[page](t, sockettest.Await[*wire.PageReply](v.Peer).Body); got.More || got.Lines[len(got.Lines)-1].ID != 1 {
			t.Fatalf("page of %d lines, more %v", len(got.Lines), got.More)
		}
		v.Send(&wire.Page{Handle: 99, Request: 3, Max: 10}, &wire.Page{Handle: 7, Request: 4, Max: 0})
		for range 2 {
			if reply := sockettest.Await[*wire.PageReply](v.Peer); reply.Error == "" {
				t.Errorf("reply %+v", reply)
			}
		}
	})
}

// Changes that a viewer has not taken yet are not followed by more: they wait
// where newer ones replace them, and what the viewer shows does not wait behind
// them.
func TestViewer_changesDoNotFillTheLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		var infos []wire.SessionInfo
		for n := range 60 {
			infos = append(infos, info(uint32(n+1), fmt.Sprintf("01kb9fvz3m8q4t6w2x5y7r%04d", n)))
		}
		h := w.host("h1", infos...)
		v := &browser{Peer: w.network.Dial(t, "/view", nil), t: t}
		v.Send(&wire.ViewerHello{Proof: "proof"})
		first, ping := sockettest.Await[*wire.Event](v.Peer), sockettest.Await[*wire.Ping](v.Peer)
		v.attach(1, "h1", infos[0].ID, wire.ClientID{})
		synctest.Wait()
		before := v.Bytes()
		for n := range 10 { // its Pong is on its way
			for handle := uint32(1); handle <= 60; handle++ {
				h.print(handle, line(n))
			}
			time.Sleep(time.Second)
			v.Send(&wire.Ack{Handle: 1, Offset: h.offset[1]})
		}
		synctest.Wait()
		if grown := v.Bytes() - before; first.Kind != wire.EventSnapshot || grown > 4<<10 {
			t.Errorf("%d bytes behind a batch that was not taken", grown)
		}
		v.AnswerPings()
		v.Send(&wire.Pong{Nonce: ping.Nonce})
		told := map[string]int{}
		for range 60 {
			event := sockettest.Await(v.Peer, eventOf(wire.EventSession))
			item := decode[server.Session](t, event.Body)
			told[item.ID]++
			if item.LastLine != "line 9" {
				t.Errorf("an old change was told: %q", item.LastLine)
			}
		}
		if len(told) != 60 {
			t.Errorf("%d sessions were told in 60 events", len(told))
		}
	})
}

// A handle that shows another session now gets nothing of the one before.
func TestViewer_attachReplacesWhatAHandleShows(t *testing.T) {
	w := newWorld(t, nil)
	h := w.host("h1", info(1, sessionA), info(2, sessionB))
	v := w.viewer()
	for n := range 200 {
		session, other := sessionA, "b"
		if n%2 == 1 {
			session, other = sessionB, "a"
		}
		h.print(1, strings.Repeat("a", 1000))
		h.print(2, strings.Repeat("b", 1000))
		v.Send(&wire.Attach{Handle: 7, Host: "h1", Session: session})
		sockettest.Await[*wire.Attached](v.Peer)
		sockettest.Await[*wire.Live](v.Peer)
		for _, f := range v.Take() {
			if f, ok := f.(*wire.Output); ok && strings.Contains(string(f.Data), other) {
				t.Fatalf("round %d: output of the session before", n)
			}
		}
	}
}

func TestViewer_sessionIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		h := w.host("h1", info(1, sessionA))
		v := w.viewer()
		h.print(1, "x")
		synctest.Wait()
		v.attach(7, "h1", sessionA, client)
		h.Send(&wire.SessionClosed{Handle: 1}, &wire.Output{Handle: 1, Offset: 1, Data: []byte("late")})
		synctest.Wait()
		told, removed := false, false
		for _, f := range v.Take() { // in either order
			switch f := f.(type) {
			case *wire.Problem:
				told = f.Handle == 7 && f.Code == wire.CodeUnknownSession
			case *wire.Event:
				removed = removed || f.Kind == wire.EventSessionRemoved
			}
		}
		if !told || !removed {
			t.Errorf("the viewer was told of the handle %v, of the list %v", told, removed)
		}
		v.Send(&wire.Input{Handle: 7, Client: client, Seq: 1}, &wire.Ack{Handle: 7, Offset: 1})
		if ack := sockettest.Await[*wire.InputAck](v.Peer); ack.Status != wire.InputHostOffline {
			t.Errorf("ack %+v", ack)
		}
	})
}
