package viewer

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/socket/sockettest"
)

// frameWants says what each frame is to a viewer's socket: "ends" it, because it
// is not for a viewer to send; is "kept" here, whoever sends it; or needs the
// scope to reach the host. It is written by hand, and a frame that is missing
// here fails the test.
var frameWants = map[wire.Frame]string{
	&wire.Input{Handle: 7, Client: client, Seq: 1, Data: []byte("x")}:    "input",
	&wire.Retire{Handle: 7, Client: client}:                              "input",
	&wire.ClaimSize{Handle: 7, Client: client, Cols: 40, Rows: 20}:       "input",
	&wire.ReleaseSize{Handle: 7, Client: client}:                         "input",
	&wire.Presence{Handle: 7, Client: client, Visible: true}:             "input",
	&wire.Attach{Handle: 8, Host: "h1", Session: sessionA}:               "kept",
	&wire.Page{Handle: 7, Request: 1, Max: 1}:                            "kept",
	&wire.Detach{Handle: 7}:                                              "kept",
	&wire.Ack{Handle: 7, Offset: 1}:                                      "kept",
	&wire.Ping{Nonce: 1}:                                                 "kept",
	&wire.Pong{Nonce: 1}:                                                 "kept",
	&wire.ViewerHello{Proof: "proof"}:                                    "ends",
	&wire.ViewerWelcome{}:                                                "ends",
	&wire.Attached{Handle: 7}:                                            "ends",
	&wire.Event{Kind: wire.EventSession, Body: []byte("{}")}:             "ends",
	&wire.PageReply{Handle: 7}:                                           "ends",
	&wire.Output{Handle: 7, Data: []byte("x")}:                           "ends",
	&wire.Resize{Handle: 7, Cols: 1, Rows: 1}:                            "ends",
	&wire.Gap{Handle: 7}:                                                 "ends",
	&wire.Reset{Handle: 7}:                                               "ends",
	&wire.Exit{Handle: 7}:                                                "ends",
	&wire.State{Handle: 7, Cols: 1, Rows: 1}:                             "ends",
	&wire.Repaint{Handle: 7, Cols: 1, Rows: 1}:                           "ends",
	&wire.Live{Handle: 7}:                                                "ends",
	&wire.InputAck{Handle: 7}:                                            "ends",
	&wire.SizeOwner{Handle: 7}:                                           "ends",
	&wire.HostHello{Instance: "x"}:                                       "ends",
	&wire.HostWelcome{}:                                                  "ends",
	&wire.SessionOpen{SessionInfo: info(9, sessionA)}:                    "ends",
	&wire.SessionResume{Handle: 7}:                                       "ends",
	&wire.SessionUpdate{Handle: 7}:                                       "ends",
	&wire.SessionClosed{Handle: 7}:                                       "ends",
	&wire.RPC{ID: 1, Method: wire.MethodKill}:                            "ends",
	&wire.RPC{ID: 1, Method: wire.MethodPairingRequest}:                  "ends",
	&wire.RPCReply{ID: 1}:                                                "ends",
	&wire.Restarting{}:                                                   "ends",
	&wire.Problem{}:                                                      "ends",
	&wire.HolderHello{Role: wire.RoleTool}:                               "ends",
	&wire.HolderWelcome{}:                                                "ends",
	&wire.HolderAttach{Want: wire.WantStream}:                            "ends",
	&wire.Unknown{FrameType: 0x7f, Body: []byte("of a version to come")}: "kept",
}

// Every frame by every kind of principal, on a session inside its binding and
// on one outside (THREATS S-9): what reaches the host is what its scopes say.
func TestFrames_principals(t *testing.T) {
	covered := map[wire.Type]bool{}
	for f := range frameWants {
		covered[f.Type()] = true
	}
	for number := range 256 {
		if frameType := wire.Type(number); !strings.HasPrefix(frameType.String(), "unknown") && !covered[frameType] {
			t.Errorf("%s is not in the table of this test", frameType)
		}
	}
	bound := server.Binding{Sessions: []server.SessionKey{{Host: "h1", ID: sessionA}}}
	principals := map[string]server.Principal{
		"reader":     {Kind: server.PrincipalDevice, Scopes: server.ScopeRead},
		"answerer":   {Kind: server.PrincipalDevice, Scopes: server.ScopeRead | server.ScopeAnswer},
		"typist":     {Kind: server.PrincipalDevice, Scopes: server.ScopeRead | server.ScopeInput},
		"admin":      {Kind: server.PrincipalToken, Scopes: server.AllScopes},
		"guest":      {Kind: server.PrincipalDevice, Scopes: server.ScopeRead, Binding: bound},
		"boundtoken": {Kind: server.PrincipalToken, Scopes: server.AllScopes, Binding: bound},
	}
	for name, p := range principals {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p.ID, p.Name = name, name
				w := newWorld(t, func(*http.Request) server.Principal { return p })
				h := w.host("h1", info(1, sessionA), info(2, sessionB))
				h.AnswerPings()
				for f, want := range frameWants {
					for _, session := range []string{sessionA, sessionB} {
						sees := p.CanSee(server.SessionKey{Host: "h1", ID: session})
						v := w.viewer()
						v.Send(&wire.Attach{Handle: 7, Host: "h1", Session: session})
						if sees {
							sockettest.Await[*wire.Attached](v.Peer)
						} else {
							sockettest.Await(v.Peer, func(problem *wire.Problem) bool { return problem.Code == wire.CodeUnknownSession })
						}
						synctest.Wait()
						h.Take()
						v.Send(f)
						if want == "ends" {
							if code := v.Closed(); code != wire.CloseProtocol {
								t.Errorf("%s ends the socket with %d", f.Type(), code)
							}
						}
						synctest.Wait()
						reached := false
						for _, got := range h.Take() {
							if got.Type() != wire.TypeAck {
								reached = true
							}
						}
						allowed := want == "input" && sees && p.Scopes.Has(server.ScopeInput)
						if reached != allowed {
							t.Errorf("%s on %s reaches the host: %v, want %v", f.Type(), session, reached, allowed)
						}
						v.Cut()
						synctest.Wait()
					}
				}
			})
		})
	}
}
