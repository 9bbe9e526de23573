package httpapi

import (
	"context"
	"net/http"

	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/auth"
)

type registerInput struct {
	Body struct {
		_    struct{} `json:"-" additionalProperties:"true"`
		Code string   `json:"code" minLength:"1" maxLength:"24"`
		Name string   `json:"name" minLength:"1" maxLength:"200" doc:"What to call this host; no two hosts share a name"`
	}
}

type registerOutput struct {
	Body struct {
		HostID string `json:"host_id"`
		Name   string `json:"name"`
		Token  string `json:"token" doc:"The host's bearer token for GET /api/hosts/link. It is shown this once"`
	}
}

type hostsOutput struct {
	Body struct {
		Items []server.Host `json:"items" nullable:"false"`
		Next  *string       `json:"next"`
	}
}

type hostInput struct {
	Host string `path:"host" maxLength:"64" doc:"The host's id"`
}

func (a *API) registerHosts() {
	route(a, operation{method: http.MethodPost, path: "/api/hosts/register", id: "registerHost", summary: "Enrol a host with a code", tag: "hosts",
		status: http.StatusCreated, access: access{public: true}, errors: []server.Code{server.CodePairCode, server.CodeTooManyTries, server.CodeNameTaken}},
		func(ctx context.Context, input *registerInput) (*registerOutput, error) {
			host, token, err := a.auth.EnrolHost(ctx, input.Body.Code, input.Body.Name, server.AddressFrom(ctx))
			if err != nil {
				return nil, err
			}
			a.fleet.AddHost(host)
			output := &registerOutput{}
			output.Body.HostID, output.Body.Name, output.Body.Token = host.ID, host.Name, token
			return output, nil
		})
	route(a, operation{method: http.MethodGet, path: "/api/hosts", id: "listHosts", summary: "List hosts", tag: "hosts", access: access{scopes: server.ScopeRead}},
		func(ctx context.Context, _ *struct{}) (*hostsOutput, error) {
			output := &hostsOutput{}
			output.Body.Items = a.visibleHosts(callFrom(ctx).principal)
			return output, nil
		})
	route(a, operation{method: http.MethodDelete, path: "/api/hosts/{host}", id: "removeHost", summary: "Remove a host, its token and its sessions", tag: "hosts",
		status: http.StatusNoContent, access: access{scopes: server.ScopeAdmin, unbound: true}, errors: []server.Code{server.CodeUnknownHost},
		description: "Programs on the host go on; this server forgets them."},
		func(ctx context.Context, input *hostInput) (*struct{}, error) {
			if err := a.auth.RemoveHost(ctx, auth.MinterOf(callFrom(ctx).principal), input.Host); err != nil {
				return nil, err
			}
			a.fleet.RemoveHost(ctx, input.Host)
			return nil, nil
		})
}

// visibleHosts are all, or for a bound principal those of its sessions.
func (a *API) visibleHosts(p server.Principal) []server.Host {
	visible := []server.Host{}
	for _, host := range a.fleet.Hosts() {
		if p.Binding.IsZero() || boundTo(p.Binding, host.ID) {
			visible = append(visible, host)
		}
	}
	return visible
}

func boundTo(binding server.Binding, host string) bool {
	for _, key := range binding.Sessions {
		if key.Host == host {
			return true
		}
	}
	return false
}
