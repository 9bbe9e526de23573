package httpapi

import (
	"cmp"
	"context"
	"encoding/base64"
	"net/http"
	"slices"
	"strings"

	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
)

// maxListed is the most sessions in one answer.
const maxListed = 500

type listSessionsInput struct {
	Cursor string              `query:"cursor" maxLength:"200" doc:"The next of the answer before"`
	Limit  int                 `query:"limit" minimum:"1" maximum:"500" default:"100"`
	Host   string              `query:"host" maxLength:"64" doc:"Only sessions of this host"`
	State  server.SessionState `query:"state" enum:"running,exited,lost" doc:"Only sessions in this state"`
}

type sessionsOutput struct {
	Body struct {
		Items []server.Session `json:"items" nullable:"false"`
		Next  *string          `json:"next" doc:"Cursor of the next answer, null at the end"`
	}
}

// SessionInput names a session. It is exported because huma reads parameters
// of embedded types only from those that are.
type SessionInput struct {
	ID   string `path:"id" maxLength:"64"`
	Host string `query:"host" maxLength:"64" doc:"Which host's session, where two hosts have one with this id; absent, the one that came first"`
}

type sessionOutput struct {
	Body server.Session
}

type startInput struct {
	Host string `path:"host" maxLength:"64" doc:"The host's id"`
	Body struct {
		Name  string   `json:"name,omitempty" maxLength:"200"`
		Agent string   `json:"agent,omitempty" maxLength:"40" doc:"A known agent; exactly one of agent and argv. Scope: input"`
		Argv  []string `json:"argv,omitempty" maxItems:"256" nullable:"false" doc:"Any command. Scope: exec"`
		Cwd   string   `json:"cwd,omitempty" maxLength:"4096"`
		Cols  uint16   `json:"cols,omitempty" maximum:"1000"`
		Rows  uint16   `json:"rows,omitempty" maximum:"1000"`
	}
}

type startOutput struct {
	Body struct {
		ID   string `json:"id"`
		Host string `json:"host"`
	}
}

type renameInput struct {
	SessionInput
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"200"`
	}
}

type endOutput struct {
	Body struct {
		Done string `json:"done" enum:"killed,forgotten"`
	}
}

type signalInput struct {
	SessionInput
	Body struct {
		Signal string `json:"signal" enum:"esc,ctrl-c,hup,term,kill"`
	}
}

func (a *API) registerSessions() {
	found := []server.Code{server.CodeUnknownSession}
	remote := append(slices.Clone(found), server.CodeHostOffline, server.CodeTimeout)
	route(a, operation{method: http.MethodGet, path: "/api/sessions", id: "listSessions", summary: "List sessions of all hosts, newest first", tag: "sessions",
		access: access{scopes: server.ScopeRead}}, a.listSessions)
	route(a, operation{method: http.MethodPost, path: "/api/hosts/{host}/sessions", id: "startSession", summary: "Start a session on a host", tag: "sessions",
		status: http.StatusCreated, access: access{unbound: true}, errors: []server.Code{server.CodeUnknownHost, server.CodeHostOffline, server.CodeTimeout},
		description: "Scope: `input` for a known agent, `exec` for any command; the host's own policy has the last word."}, a.startSession)
	route(a, operation{method: http.MethodGet, path: "/api/sessions/{id}", id: "getSession", summary: "One session", tag: "sessions",
		access: access{scopes: server.ScopeRead}, errors: found},
		func(ctx context.Context, input *SessionInput) (*sessionOutput, error) {
			session, err := a.find(ctx, input, server.ScopeRead)
			return &sessionOutput{Body: session}, err
		})
	route(a, operation{method: http.MethodPatch, path: "/api/sessions/{id}", id: "renameSession", summary: "Rename a session", tag: "sessions",
		status: http.StatusNoContent, access: access{scopes: server.ScopeInput}, errors: remote}, a.renameSession)
	route(a, operation{method: http.MethodDelete, path: "/api/sessions/{id}", id: "endSession", summary: "Kill a session that runs, or forget one that ended", tag: "sessions",
		access: access{scopes: server.ScopeInput}, errors: remote,
		description: "Kill hangs up the whole process group, and kills it 5 s later. Forget removes the last screen and the history for good."}, a.endSession)
	route(a, operation{method: http.MethodPost, path: "/api/sessions/{id}/signal", id: "signalSession", summary: "Stop what a session does", tag: "sessions",
		status: http.StatusNoContent, access: access{scopes: server.ScopeInput}, errors: append(remote, server.CodeSessionEnded)}, a.signalSession)
}

// find resolves a session's id for the principal of ctx. What lies outside its
// binding does not exist for it.
func (a *API) find(ctx context.Context, input *SessionInput, needed server.Scopes) (server.Session, error) {
	principal := callFrom(ctx).principal
	key, err := a.keyOf(principal.Binding, input)
	if err != nil {
		return server.Session{}, err
	}
	if err := principal.RequireSession(needed, key); err != nil {
		return server.Session{}, err
	}
	return a.fleet.Session(key)
}

// keyOf looks first among the sessions that a principal is bound to: a bare id
// means one of those, whatever other hosts claim.
func (a *API) keyOf(binding server.Binding, input *SessionInput) (server.SessionKey, error) {
	for _, key := range binding.Sessions {
		if key.ID == input.ID && (input.Host == "" || input.Host == key.Host) {
			return key, nil
		}
	}
	return a.fleet.Find(input.Host, input.ID)
}

// newestFirst orders sessions: ids are ordered by time.
func newestFirst(a, b server.SessionKey) int {
	if order := cmp.Compare(b.ID, a.ID); order != 0 {
		return order
	}
	return cmp.Compare(a.Host, b.Host)
}

func (a *API) listSessions(ctx context.Context, input *listSessionsInput) (*sessionsOutput, error) {
	after, err := parseCursor(input.Cursor)
	if err != nil {
		return nil, err
	}
	principal := callFrom(ctx).principal
	listed := []server.Session{}
	for _, session := range a.fleet.Sessions() {
		switch {
		case !principal.CanSee(session.Key()):
		case input.Host != "" && session.Host != input.Host:
		case input.State != "" && session.State != input.State:
		case after != nil && newestFirst(session.Key(), *after) <= 0:
		default:
			listed = append(listed, session)
		}
	}
	output := &sessionsOutput{}
	if limit := min(input.Limit, maxListed); len(listed) > limit {
		listed = listed[:limit]
		next := formatCursor(listed[limit-1].Key())
		output.Body.Next = &next
	}
	output.Body.Items = listed
	return output, nil
}

// A cursor is the key of the last session that was listed.
func formatCursor(key server.SessionKey) string {
	return base64.RawURLEncoding.EncodeToString([]byte(key.ID + "\n" + key.Host))
}

func parseCursor(cursor string) (*server.SessionKey, error) {
	if cursor == "" {
		return nil, nil
	}
	decoded, err := base64.RawURLEncoding.DecodeString(cursor)
	id, host, ok := strings.Cut(string(decoded), "\n")
	if err != nil || !ok {
		return nil, server.Errorf(server.CodeInvalid, "the cursor is not one of this server's: begin again without it")
	}
	return &server.SessionKey{Host: host, ID: id}, nil
}

func (a *API) startSession(ctx context.Context, input *startInput) (*startOutput, error) {
	c := callFrom(ctx)
	body := input.Body
	needed := server.ScopeInput
	switch {
	case (body.Agent == "") == (len(body.Argv) == 0):
		return nil, server.Errorf(server.CodeInvalid, "send either agent, the name of a known one, or argv, a command")
	case body.Agent == "":
		needed = server.ScopeExec
	}
	if err := c.principal.Require(needed); err != nil {
		return nil, err
	}
	if (body.Cols == 0) != (body.Rows == 0) {
		return nil, server.Errorf(server.CodeInvalid, "send both cols and rows, or neither")
	}
	started, err := a.fleet.Start(ctx, input.Host, wire.StartParams{
		Name: untrusted.Clean(body.Name, server.MaxName), Agent: body.Agent, Argv: body.Argv, Cwd: body.Cwd, Cols: body.Cols, Rows: body.Rows,
	})
	if err != nil {
		return nil, err
	}
	a.auth.Audit(ctx, server.AuditStart, input.Host+"/"+started.ID, untrusted.Clean(body.Agent+strings.Join(body.Argv, " "), server.MaxCommand))
	output := &startOutput{}
	output.Body.ID, output.Body.Host = started.ID, input.Host
	return output, nil
}

func (a *API) renameSession(ctx context.Context, input *renameInput) (*struct{}, error) {
	session, err := a.find(ctx, &input.SessionInput, server.ScopeInput)
	if err != nil {
		return nil, err
	}
	name := untrusted.Clean(input.Body.Name, server.MaxName)
	if name == "" {
		return nil, server.Errorf(server.CodeInvalid, "a session needs a name that can be seen")
	}
	if err := a.fleet.Rename(ctx, session.Key(), name); err != nil {
		return nil, err
	}
	a.auth.Audit(ctx, server.AuditRename, session.Key().String(), name)
	return nil, nil
}

func (a *API) endSession(ctx context.Context, input *SessionInput) (*endOutput, error) {
	session, err := a.find(ctx, input, server.ScopeInput)
	if err != nil {
		return nil, err
	}
	output := &endOutput{}
	action := server.AuditKill
	output.Body.Done = "killed"
	if session.State.Ended() {
		action, output.Body.Done = server.AuditForget, "forgotten"
		err = a.fleet.Forget(ctx, session.Key())
	} else {
		err = a.fleet.Kill(ctx, session.Key())
	}
	if err != nil {
		return nil, err
	}
	a.auth.Audit(ctx, action, session.Key().String(), "")
	return output, nil
}

func (a *API) signalSession(ctx context.Context, input *signalInput) (*struct{}, error) {
	session, err := a.find(ctx, &input.SessionInput, server.ScopeInput)
	if err != nil {
		return nil, err
	}
	if session.State.Ended() {
		return nil, server.NewError(server.CodeSessionEnded)
	}
	if err := a.fleet.Signal(ctx, session.Key(), input.Body.Signal); err != nil {
		return nil, err
	}
	a.auth.Audit(ctx, server.AuditSignal, session.Key().String(), input.Body.Signal)
	return nil, nil
}
