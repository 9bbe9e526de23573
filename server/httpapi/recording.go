package httpapi

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"

	"github.com/agent-helm/agent-helm/internal/logging"
	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
)

func (a *API) registerRecording() {
	const path = "/api/sessions/{id}/recording"
	route(a, operation{method: http.MethodGet, path: path, id: "getRecording", summary: "What a session printed, as a recording that plays", tag: "sessions",
		access: access{scopes: server.ScopeRead}, errors: []server.Code{server.CodeUnknownSession, server.CodeHostOffline, server.CodeTimeout, server.CodeUnsupported, server.CodeLimit},
		description: "asciicast v2, from the host's log up to now. What was typed is not in it. When the oldest output is gone it begins with the screen of a later " +
			"moment and a marker. A connection that breaks off means an incomplete recording. One recording at a time."}, a.getRecording)
	ok := a.huma.OpenAPI().Paths[path].Get.Responses["200"]
	ok.Content = map[string]*huma.MediaType{vt.CastType: {Schema: &huma.Schema{Type: huma.TypeString}}}
}

// getRecording fetches the first piece before it promises anything.
func (a *API) getRecording(ctx context.Context, input *SessionInput) (*huma.StreamResponse, error) {
	session, err := a.find(ctx, input, server.ScopeRead)
	if err != nil {
		return nil, err
	}
	release, err := a.recording.enter(ctx, callFrom(ctx).principal)
	if err != nil {
		return nil, err
	}
	first, err := a.fleet.Recording(ctx, session.Key(), nil)
	if err != nil {
		release()
		return nil, err
	}
	// Also when huma should not come to the body.
	context.AfterFunc(ctx, release)
	return &huma.StreamResponse{Body: func(humaContext huma.Context) {
		defer release()
		a.streamRecording(humaContext, session, first)
	}}, nil
}

func (a *API) streamRecording(humaContext huma.Context, session server.Session, piece wire.RecordingResult) {
	r, w := humachi.Unwrap(humaContext)
	ctx, release := a.auth.Track(r.Context(), callFrom(humaContext.Context()).principal)
	defer release()
	header := w.Header()
	header.Set("Content-Type", vt.CastType)
	header.Set("Content-Disposition", `attachment; filename="`+fileName(session)+`.cast"`)
	header.Set("Content-Security-Policy", "sandbox; default-src 'none'; frame-ancestors 'none'")
	w.WriteHeader(http.StatusOK)
	controller := http.NewResponseController(w)
	head := vt.CastHeader{
		Cols: int(piece.Cols), Rows: int(piece.Rows), Title: session.Name.String(), Term: "xterm-256color",
		Start: time.Now().Add(-time.Duration(piece.AgeMS) * time.Millisecond).Unix(),
	}
	var cast vt.Cast
	begin, end := piece.BeginMS, piece.End
	lines := head.Append(nil)
	for {
		for _, event := range piece.Events {
			lines = appendRecorded(lines, &cast, event, begin)
		}
		// The session may print faster than this is read, so it ends where its
		// log ended at the beginning.
		last := piece.Done || end.Before(piece.Next)
		if last {
			lines = cast.AppendEnd(lines)
		}
		// Without deadlines (a test's recorder) there is nothing to bound.
		_ = controller.SetWriteDeadline(time.Now().Add(streamWrite))
		if _, err := w.Write(lines); err != nil {
			return
		}
		if last {
			return
		}
		lines = lines[:0]
		next, err := a.fleet.Recording(ctx, session.Key(), &piece.Next)
		if err != nil {
			a.log.Info("recording broken off", logging.KeyHost, session.Host, logging.KeySession, session.ID, logging.KeyError, err)
			// An ordinary end would look like the recording's.
			panic(http.ErrAbortHandler)
		}
		piece = next
	}
}

// appendRecorded writes what a host says as lines of a recording.
func appendRecorded(lines []byte, cast *vt.Cast, event wire.RecordingEvent, begin int64) []byte {
	at := time.Duration(min(max(event.AtMS-begin, 0), maxRecorded.Milliseconds())) * time.Millisecond
	if event.Remark != "" {
		lines = cast.AppendMarker(lines, at, untrusted.Clean(event.Remark, server.MaxTitle))
	}
	if event.Cols >= 1 && event.Cols <= wire.MaxColumns && event.Rows >= 1 && event.Rows <= wire.MaxRows {
		lines = cast.AppendResize(lines, at, int(event.Cols), int(event.Rows))
	}
	return cast.AppendOutput(lines, at, event.Data)
}

// maxRecorded bounds what a host may say of how long a recording is.
const maxRecorded = 100 * 365 * 24 * time.Hour

// fileName is a session's name as every file system takes it.
func fileName(session server.Session) string {
	name := strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '-'
	}, string(session.Name)), ".-")
	if name == "" {
		return session.ID
	}
	return name[:min(len(name), 60)]
}
