package httpapi

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/auth"
)

type pairingsOutput struct {
	Body struct {
		Items []server.Pairing `json:"items" nullable:"false" doc:"Oldest first"`
		Next  *string          `json:"next"`
	}
}

type confirmPairingInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body struct {
		Scopes []string `json:"scopes,omitempty" maxItems:"5" nullable:"false" doc:"What the new device may do; what the host asked for when absent"`
	}
}

func (a *API) registerPairings(admin access) {
	route(a, operation{method: http.MethodGet, path: "/api/pairings", id: "listPairings", summary: "Which hosts ask for the code of a new device?", tag: "access", access: admin,
		description: "Somebody ran `agent-helm pair` there. A host makes no codes: it waits, for five minutes at most, until one of these is confirmed. " +
			"Changes come as the events `pairing` and `pairing_removed`."}, a.listPairings)
	route(a, operation{method: http.MethodPost, path: "/api/pairings/{id}/confirm", id: "confirmPairing", summary: "Let a host show a code", tag: "access",
		status: http.StatusNoContent, access: admin, errors: []server.Code{server.CodeUnknownPairing},
		description: "The code appears on the terminal that asked, and nowhere else. Compare the request's id with the one that is shown there."}, a.confirmPairing)
	route(a, operation{method: http.MethodPost, path: "/api/pairings/{id}/deny", id: "denyPairing", summary: "Refuse a host's request", tag: "access",
		status: http.StatusNoContent, access: admin, errors: []server.Code{server.CodeUnknownPairing}}, a.denyPairing)
}

func (a *API) listPairings(ctx context.Context, _ *struct{}) (*pairingsOutput, error) {
	records, err := a.auth.Pairings(ctx)
	if err != nil {
		return nil, err
	}
	output := &pairingsOutput{}
	output.Body.Items = make([]server.Pairing, 0, len(records))
	now := time.Now()
	for _, record := range records {
		output.Body.Items = append(output.Body.Items, record.Shown(now))
	}
	return output, nil
}

func (a *API) confirmPairing(ctx context.Context, input *confirmPairingInput) (*struct{}, error) {
	var scopes server.Scopes
	if len(input.Body.Scopes) > 0 {
		var err error
		if scopes, err = server.ParseScopes(strings.Join(input.Body.Scopes, ",")); err != nil {
			return nil, err
		}
	}
	_, err := a.auth.ConfirmPairing(ctx, auth.MinterOf(callFrom(ctx).principal), input.ID, scopes)
	return nil, err
}

func (a *API) denyPairing(ctx context.Context, input *idInput) (*struct{}, error) {
	_, err := a.auth.DenyPairing(ctx, auth.MinterOf(callFrom(ctx).principal), input.ID)
	return nil, err
}
