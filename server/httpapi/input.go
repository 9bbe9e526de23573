package httpapi

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
)

type inputInput struct {
	SessionInput
	Key  string `header:"Idempotency-Key" maxLength:"200" doc:"The same key with the same body types once, however often it is sent"`
	Body struct {
		Text   string   `json:"text,omitempty" maxLength:"262144" doc:"Typed as it is; with submit, pasted as one piece"`
		Keys   []string `json:"keys,omitempty" maxItems:"256" nullable:"false" doc:"Names such as up, ctrl+c, shift+tab, enter, f5; after the text" example:"[\"up\",\"enter\"]"`
		Submit bool     `json:"submit,omitempty" doc:"Press Enter after the text, with the pause that the agent needs, as one operation"`
	}
}

type inputOutput struct {
	Body struct {
		Status string `json:"status" enum:"applied" doc:"The program's terminal has taken the last byte"`
	}
}

type resizeInput struct {
	SessionInput
	Body struct {
		Cols uint16 `json:"cols" minimum:"1" maximum:"1000"`
		Rows uint16 `json:"rows" minimum:"1" maximum:"1000"`
	}
}

func (a *API) registerInput() {
	route(a, operation{method: http.MethodPost, path: "/api/sessions/{id}/input", id: "sendInput", summary: "Type into a session", tag: "sessions",
		access: access{scopes: server.ScopeInput}, description: "Answers when the host has the terminal's word, and says when nothing was typed.",
		errors: []server.Code{server.CodeUnknownSession, server.CodeSessionEnded, server.CodeHostOffline, server.CodeTimeout}}, a.sendInput)
	route(a, operation{method: http.MethodPost, path: "/api/sessions/{id}/resize", id: "resizeSession", summary: "Ask for a terminal size", tag: "sessions",
		status: http.StatusAccepted, access: access{scopes: server.ScopeInput},
		errors:      []server.Code{server.CodeUnknownSession, server.CodeSessionEnded, server.CodeHostOffline},
		description: "The host decides; the size is given back when no sign of life follows."}, a.resizeSession)
}

func (a *API) sendInput(ctx context.Context, input *inputInput) (*inputOutput, error) {
	session, err := a.find(ctx, &input.SessionInput, server.ScopeInput)
	if err != nil {
		return nil, err
	}
	inputs, err := a.operationsOf(ctx, input, session.Key())
	if err != nil {
		return nil, err
	}
	for _, one := range inputs {
		if err := a.fleet.Input(ctx, session.Key(), one); err != nil {
			return nil, err
		}
	}
	output := &inputOutput{}
	output.Body.Status = "applied"
	return output, nil
}

// operationsOf splits a request into what the holder takes in one step each.
func (a *API) operationsOf(ctx context.Context, input *inputInput, key server.SessionKey) ([]Input, error) {
	body := input.Body
	var inputs []Input
	switch {
	case body.Submit && len(body.Keys) > 0:
		return nil, server.Errorf(server.CodeInvalid, "submit ends an input: send keys before it, in a request of their own")
	case body.Submit:
		inputs = append(inputs, Input{Kind: wire.InputSubmit, Data: []byte(body.Text)})
	case body.Text != "":
		inputs = append(inputs, Input{Kind: wire.InputBytes, Data: []byte(body.Text)})
	}
	if len(body.Keys) > 0 {
		for _, name := range body.Keys {
			if name == "" || len(name) > 40 || strings.ContainsAny(name, " \t\r\n") {
				return nil, server.Errorf(server.CodeInvalid, "%q is not the name of a key", untrusted.Clean(name, 40))
			}
		}
		inputs = append(inputs, Input{Kind: wire.InputKeys, Data: []byte(strings.Join(body.Keys, " "))})
	}
	if len(inputs) == 0 {
		return nil, server.Errorf(server.CodeInvalid, "send text, keys or submit")
	}
	for _, one := range inputs {
		if len(one.Data) > wire.MaxInput { // the schema counts characters
			return nil, server.NewError(server.CodeTooLarge)
		}
	}
	if input.Key == "" {
		return inputs, nil
	}
	name, err := a.nameInput(ctx, input, key)
	if err != nil {
		return nil, err
	}
	for i := range inputs {
		inputs[i].Idempotency = name + strconv.Itoa(i)
	}
	return inputs, nil
}

// nameInput makes an Idempotency-Key its principal's own, and refuses one that
// came with another body before.
func (a *API) nameInput(ctx context.Context, input *inputInput, key server.SessionKey) (string, error) {
	p := callFrom(ctx).principal
	identity, err := json.Marshal([]string{string(p.Kind), p.ID, key.Host, key.ID, input.Key})
	if err != nil {
		return "", err
	}
	body, err := json.Marshal(input.Body)
	if err != nil {
		return "", err
	}
	name := sha256.Sum256(identity)
	if !a.idempotency.remember(name, sha256.Sum256(body)) {
		return "", server.Errorf(server.CodeConflict, "this Idempotency-Key was used for another input: give each input a key of its own")
	}
	return hex.EncodeToString(name[:]), nil
}

// maxRemembered bounds the Idempotency-Keys whose body is remembered.
const maxRemembered = 1024

// idempotency remembers bodies beside keys, to refuse a key that is used for
// something else. It guards against mistakes in scripts; that nothing is typed
// twice is the holder's doing, and outlives this process.
type idempotency struct {
	mu     sync.Mutex
	bodies map[[32]byte][32]byte // guarded by mu, by name
	order  [][32]byte            // guarded by mu, oldest first
}

// remember reports whether body is the first or the same as before.
func (i *idempotency) remember(name, body [32]byte) bool {
	i.mu.Lock()
	defer i.mu.Unlock()
	if known, ok := i.bodies[name]; ok {
		return known == body
	}
	if i.bodies == nil {
		i.bodies = map[[32]byte][32]byte{}
	}
	if len(i.order) >= maxRemembered {
		delete(i.bodies, i.order[0])
		i.order = append(i.order[:0], i.order[1:]...)
	}
	i.bodies[name] = body
	i.order = append(i.order, name)
	return true
}

func (a *API) resizeSession(ctx context.Context, input *resizeInput) (*struct{}, error) {
	session, err := a.find(ctx, &input.SessionInput, server.ScopeInput)
	if err != nil {
		return nil, err
	}
	if session.State.Ended() {
		return nil, server.NewError(server.CodeSessionEnded)
	}
	return nil, a.fleet.Resize(ctx, session.Key(), input.Body.Cols, input.Body.Rows)
}
