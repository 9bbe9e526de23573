package viewer

import (
	"net/http"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/fleet"
	"github.com/agent-helm/agent-helm/server/socket/sockettest"
)

// Who takes a session over is told, what they type is not.
func TestViewer_ownership_is_told(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, func(r *http.Request) server.Principal {
			return server.Principal{Kind: server.PrincipalDevice, ID: r.URL.Path, Name: r.URL.Path[1:], Scopes: server.ScopeRead | server.ScopeInput}
		})
		h := w.host("h1", info(1, sessionA))
		h.AnswerPings()
		open := func(name string, client wire.ClientID) *sockettest.Peer {
			p := w.network.Dial(t, "/"+name, nil)
			p.Send(&wire.ViewerHello{Version: "1.2.3", Proof: "proof", Visible: true})
			p.AnswerPings()
			sockettest.Await[*wire.ViewerWelcome](p)
			p.Send(&wire.Attach{Handle: 1, Host: "h1", Session: sessionA, Client: client, Visible: true})
			sockettest.Await[*wire.Attached](p)
			return p
		}
		ann, bob := open("ann", wire.ClientID{1}), open("bob", wire.ClientID{2})
		types := func(p *sockettest.Peer, client byte, seq uint64, status wire.InputStatus) {
			p.Send(&wire.Input{Handle: 1, Client: wire.ClientID{client}, Seq: seq, Sent: p.Sent(), Data: []byte("secret")})
			got := sockettest.Await(h.Peer, func(f *wire.Input) bool { return f.Client == wire.ClientID{client} && f.Seq == seq })
			h.Send(&wire.InputAck{Handle: 1, Client: got.Client, Seq: seq, Status: status})
			sockettest.Await(p, func(f *wire.InputAck) bool { return f.Seq == seq })
		}
		owns := func(kind wire.OwnerKind, client byte) {
			h.Send(&wire.SizeOwner{Handle: 1, Kind: kind, Client: wire.ClientID{client}, Cols: 100, Rows: 30})
			time.Sleep(time.Second) // summaries are told at their own pace
		}
		want := func(what string, list ...string) {
			t.Helper()
			if got := w.owners(); !slices.Equal(got, list) {
				t.Errorf("%s: %q, want %q", what, got, list)
			}
		}
		types(ann, 1, 1, wire.InputApplied)
		want("the first", "session.input_owner ann")
		for seq := range uint64(50) {
			types(ann, 1, 2+seq, wire.InputApplied)
		}
		want("the same again")
		types(bob, 2, 1, wire.InputForbidden)
		want("somebody whose keys were refused")
		types(bob, 2, 2, wire.InputApplied)
		want("somebody else", "session.input_owner bob")
		// Ten seconds for each: nobody is missed, and nobody fills the disk.
		for seq := range uint64(100) {
			types(ann, 1, 100+seq, wire.InputApplied)
			types(bob, 2, 100+seq, wire.InputApplied)
		}
		want("in turns")
		time.Sleep(2 * time.Minute)
		want("in the end", "session.input_owner bob")

		owns(wire.OwnerViewer, 1)
		want("a size", "session.size_owner ann 80×24")
		owns(wire.OwnerLocal, 9)
		want("a local size", "session.size_owner host h1 80×24, a terminal on the host")
		owns(wire.OwnerViewer, 77)
		want("a client that nobody here has")
		owns(wire.OwnerNone, 0)
		want("nobody")
		time.Sleep(time.Minute)
		owns(wire.OwnerViewer, 1)
		want("again", "session.size_owner ann 80×24")
		// Over HTTP it is whoever asked.
		ctx := server.WithAddress(server.WithPrincipal(t.Context(), server.Principal{Kind: server.PrincipalToken, ID: "t", Name: "ci"}), "192.0.2.7")
		if err := w.fleet.Resize(ctx, server.SessionKey{Host: "h1", ID: sessionA}, 90, 20); err != nil {
			t.Fatal(err)
		}
		claim := sockettest.Await[*wire.ClaimSize](h.Peer)
		h.Send(&wire.SizeOwner{Handle: 1, Kind: wire.OwnerViewer, Client: claim.Client})
		time.Sleep(time.Second)
		synctest.Wait()
		if len(w.owned) != 1 || w.owned[0].By != (server.Actor{Kind: server.PrincipalToken, ID: "t", Name: "ci", Address: "192.0.2.7"}) {
			t.Errorf("over HTTP: %+v", w.owned)
		}
	})
}

// A host that invents owners is told of at a bounded rate.
func TestViewer_ownership_flood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		var infos []wire.SessionInfo
		for i := range uint32(fleet.MaxSessions) {
			infos = append(infos, info(i+1, sessionA[:24]+string([]byte{'0' + byte(i/32), "0123456789abcdefghjkmnpqrstvwxyz"[i%32]})))
		}
		h := w.host("h1", infos...)
		h.AnswerPings()
		for round := range 60 {
			kind := []wire.OwnerKind{wire.OwnerLocal, wire.OwnerNone}[round%2]
			for i := range infos {
				h.Send(&wire.SizeOwner{Handle: uint32(i + 1), Kind: kind, Cols: 80, Rows: 24})
			}
			time.Sleep(time.Second)
		}
		if told := len(w.owners()); told == 0 || told > 40+60/2+1 {
			t.Errorf("%d changes were told in a minute", told)
		}
	})
}
