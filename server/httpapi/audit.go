package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humachi"

	"github.com/agent-helm/agent-helm/server"
)

// AuditLine is a line of the audit as it is shown.
type AuditLine struct {
	ID      int64                `json:"id"`
	At      time.Time            `json:"at" doc:"By the server's clock"`
	AgoMS   int64                `json:"ago_ms" doc:"How long ago"`
	Action  string               `json:"action" example:"device.paired"`
	Kind    server.PrincipalKind `json:"kind,omitempty" doc:"What did it; absent when that is unknown"`
	Who     string               `json:"who,omitempty" doc:"The id of who did it"`
	Name    string               `json:"name,omitempty"`
	Address string               `json:"address,omitempty" doc:"Where from; for display only"`
	Target  string               `json:"target,omitempty" doc:"The id of what it was done to"`
	Detail  string               `json:"detail,omitempty"`
}

// AuditFilter names lines of the audit.
type AuditFilter struct {
	Action string `query:"action" maxLength:"64" doc:"An action such as device.paired, or what stands before its dot"`
	Who    string `query:"who" maxLength:"200" doc:"The id of who did it"`
	Target string `query:"target" maxLength:"200" doc:"The id of what it was done to"`
}

type auditInput struct {
	AuditFilter
	Cursor string `query:"cursor" maxLength:"20" doc:"The next of the answer before; absent for the newest lines"`
	Limit  int    `query:"limit" minimum:"1" maximum:"500" default:"100"`
}

type auditOutput struct {
	Body struct {
		Items []AuditLine `json:"items" nullable:"false" doc:"Newest first"`
		Next  *string     `json:"next"`
	}
}

func (f AuditFilter) query(before int64, limit int) server.AuditQuery {
	return server.AuditQuery{Before: before, Action: f.Action, Who: f.Who, Target: f.Target, Max: limit}
}

func (a *API) registerAudit() {
	admin := access{scopes: server.ScopeAdmin, unbound: true}
	route(a, operation{method: http.MethodGet, path: "/api/audit", id: "listAudit", summary: "Who did what, from where", tag: "access", access: admin,
		description: "Lines are only ever added, and each covers the one before: `agent-helm-server audit verify` finds a change. They hold no keystrokes and no secrets."}, a.listAudit)
	route(a, operation{method: http.MethodGet, path: "/api/audit/export", id: "exportAudit", summary: "All audit lines as JSON lines, oldest last", tag: "access", access: admin},
		func(_ context.Context, input *AuditFilter) (*huma.StreamResponse, error) {
			filter := *input
			return &huma.StreamResponse{Body: func(c huma.Context) { a.exportAudit(c, filter) }}, nil
		})
	ok := a.huma.OpenAPI().Paths["/api/audit/export"].Get.Responses[strconv.Itoa(http.StatusOK)]
	ok.Content = map[string]*huma.MediaType{"application/jsonl": {Schema: &huma.Schema{Type: huma.TypeString}}}
}

func (a *API) listAudit(ctx context.Context, input *auditInput) (*auditOutput, error) {
	var before int64
	if input.Cursor != "" {
		var err error
		if before, err = strconv.ParseInt(input.Cursor, 10, 64); err != nil || before < 1 {
			return nil, server.Errorf(server.CodeInvalid, "the cursor is not one of this server's: begin again without it")
		}
	}
	records, err := a.auth.AuditLines(ctx, input.query(before, input.Limit))
	if err != nil {
		return nil, err
	}
	output := &auditOutput{}
	output.Body.Items = make([]AuditLine, 0, len(records))
	for _, r := range records {
		output.Body.Items = append(output.Body.Items, AuditLine{ID: r.ID, At: r.At, AgoMS: since(r.At), Action: r.Action, Kind: r.Kind,
			Who: r.Who, Name: r.Name, Address: r.Address, Target: r.Target, Detail: r.Detail})
	}
	if len(records) == input.Limit && records[len(records)-1].ID > 1 {
		next := strconv.FormatInt(records[len(records)-1].ID, 10)
		output.Body.Next = &next
	}
	return output, nil
}

// exportPage is how many lines are read at once for an export.
const exportPage = 500

func (a *API) exportAudit(c huma.Context, filter AuditFilter) {
	_, w := humachi.Unwrap(c)
	ctx := c.Context()
	a.auth.Audit(ctx, server.AuditExported, "", "")
	w.Header().Set("Content-Type", "application/jsonl")
	w.Header().Set("Content-Disposition", fmt.Sprintf(`attachment; filename="agent-helm-audit-%s.jsonl"`, time.Now().UTC().Format("2006-01-02")))
	w.WriteHeader(http.StatusOK)
	encoder := json.NewEncoder(eventWriter{eventStream{w: w, controller: http.NewResponseController(w)}})
	for before := int64(0); ; {
		records, err := a.auth.AuditLines(ctx, filter.query(before, exportPage))
		if err != nil || len(records) == 0 {
			return // the status is written: a short file is all that can be said
		}
		for _, record := range records {
			if encoder.Encode(record) != nil {
				return
			}
			before = record.ID
		}
	}
}

// eventWriter writes with the deadline of an event stream.
type eventWriter struct{ eventStream }

func (w eventWriter) Write(p []byte) (int, error) {
	if err := w.write(string(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}
