package httpapi

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"

	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
)

// streamWrite bounds one write of an event stream: a reader that does not read
// for so long comes back for a snapshot.
const streamWrite = 30 * time.Second

func (a *API) registerEvents() {
	route(a, operation{method: http.MethodGet, path: "/api/events", id: "events", summary: "Changes of hosts and sessions as they happen", tag: "sessions",
		access: access{scopes: server.ScopeRead},
		description: "Server-sent events. The first is `snapshot` with `{hosts, sessions}`; then `host`, `host_removed`, `session` and `session_removed`, " +
			"each with the whole thing as it is now, and `device` for a browser that was paired just now, to those who could revoke it; `pairing` and `pairing_removed` for a host that asks for a code, to those who could confirm it. A reader that is too slow is cut off and gets a fresh snapshot when it comes back."},
		func(ctx context.Context, _ *struct{}) (*huma.StreamResponse, error) {
			return &huma.StreamResponse{Body: a.streamEvents}, nil
		})
	a.describeEvents()
}

func (a *API) describeEvents() {
	ok := a.huma.OpenAPI().Paths["/api/events"].Get.Responses["200"]
	ok.Content = map[string]*huma.MediaType{"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}}}
}

func (a *API) streamEvents(humaContext huma.Context) {
	r, w := humachi.Unwrap(humaContext)
	principal := callFrom(humaContext.Context()).principal
	ctx, release := a.auth.Track(r.Context(), principal)
	defer release()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	stream := eventStream{w: w, controller: http.NewResponseController(w)}
	if stream.write(": agent-helm\n\n") != nil {
		return
	}
	subscription := a.fleet.Subscribe(principal)
	defer subscription.Close()
	for ctx.Err() == nil {
		events, err := nextEvents(ctx, subscription)
		if err != nil {
			return
		}
		if len(events) == 0 && stream.write(": alive\n\n") != nil {
			return
		}
		for _, event := range events {
			// JSON has no line breaks, so one data line holds it.
			if stream.write(fmt.Sprintf("event: %s\ndata: %s\n\n", event.Kind, event.Body)) != nil {
				return
			}
		}
	}
}

// nextEvents returns nothing when nothing happened for a heartbeat.
func nextEvents(ctx context.Context, subscription Subscription) ([]wire.Event, error) {
	waiting, cancel := context.WithTimeout(ctx, wire.Heartbeat)
	defer cancel()
	events, err := subscription.Next(waiting)
	if err != nil && waiting.Err() != nil && ctx.Err() == nil {
		return nil, nil
	}
	return events, err
}

type eventStream struct {
	w          http.ResponseWriter
	controller *http.ResponseController
}

func (s eventStream) write(text string) error {
	// Without deadlines (a test's recorder) there is nothing to bound.
	_ = s.controller.SetWriteDeadline(time.Now().Add(streamWrite))
	if _, err := s.w.Write([]byte(text)); err != nil {
		return err
	}
	return s.controller.Flush()
}
