package httpapi

import (
	"context"
	"fmt"
	"net/http"

	"github.com/agent-helm/agent-helm/internal/wire"
)

// Health and version are for everybody, so they tell nothing of hosts,
// sessions or configuration.

type healthOutput struct {
	Body struct {
		Status string `json:"status" enum:"ok"`
	}
}

type versionOutput struct {
	Body struct {
		Version string `json:"version"`
		Wire    string `json:"wire" doc:"Version of the WebSocket protocol" example:"1.0"`
	}
}

func (a *API) registerHealth() {
	route(a, operation{method: http.MethodGet, path: "/api/health", id: "health", summary: "Is the server up?", tag: "health",
		access: access{public: true}},
		func(context.Context, *struct{}) (*healthOutput, error) {
			output := &healthOutput{}
			output.Body.Status = "ok"
			return output, nil
		})
	route(a, operation{method: http.MethodGet, path: "/api/version", id: "version", summary: "Which version is it?", tag: "health",
		access: access{public: true}},
		func(context.Context, *struct{}) (*versionOutput, error) {
			output := &versionOutput{}
			output.Body.Version = a.version
			output.Body.Wire = fmt.Sprintf("%d.%d", wire.VersionMajor, wire.VersionMinor)
			return output, nil
		})
}
