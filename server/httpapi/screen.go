package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/server"
)

type screenInput struct {
	SessionInput
	Format string `query:"format" enum:"text,ansi,json" default:"text"`
}

// screenOutput is text or JSON; huma writes bytes as they are.
type screenOutput struct {
	ContentType string `header:"Content-Type"`
	// A program's words on our origin: nothing may run or load from them
	// (THREATS S-22). Browsers apply both policies.
	Policy string `header:"Content-Security-Policy"`
	Body   []byte
}

type scrollbackInput struct {
	SessionInput
	Cursor string `query:"cursor" maxLength:"20" doc:"The next of the answer before; absent for the newest lines"`
	Limit  int    `query:"limit" minimum:"1" maximum:"1000" default:"200"`
}

type scrollbackOutput struct {
	Body struct {
		Items []vt.PageLine `json:"items" nullable:"false" doc:"Logical lines, newest first"`
		Next  *string       `json:"next" doc:"Cursor of older lines, null at the oldest"`
	}
}

func (a *API) registerScreen() {
	found := []server.Code{server.CodeUnknownSession}
	route(a, operation{method: http.MethodGet, path: "/api/sessions/{id}/screen", id: "getScreen", summary: "The screen as it is now", tag: "sessions",
		access: access{scopes: server.ScopeRead}, errors: found,
		description: "`text` and `ansi` are `text/plain`; `ansi` keeps colours and nothing else. `json` is styled lines with the cursor."}, a.getScreen)
	a.describeScreen()
	route(a, operation{method: http.MethodGet, path: "/api/sessions/{id}/scrollback", id: "getScrollback", summary: "History above the screen", tag: "sessions",
		access: access{scopes: server.ScopeRead}, errors: append(found, server.CodeHostOffline, server.CodeTimeout)}, a.getScrollback)
}

func (a *API) getScreen(ctx context.Context, input *screenInput) (*screenOutput, error) {
	session, err := a.find(ctx, &input.SessionInput, server.ScopeRead)
	if err != nil {
		return nil, err
	}
	content, err := a.fleet.Screen(ctx, session.Key(), input.Format)
	if err != nil {
		return nil, err
	}
	output := &screenOutput{ContentType: "text/plain; charset=utf-8", Policy: "sandbox; default-src 'none'; frame-ancestors 'none'", Body: content}
	if input.Format == "json" {
		output.ContentType = "application/json"
	}
	return output, nil
}

// describeScreen tells the OpenAPI document what the bytes are.
func (a *API) describeScreen() {
	api := a.huma.OpenAPI()
	ok := api.Paths["/api/sessions/{id}/screen"].Get.Responses[strconv.Itoa(http.StatusOK)]
	ok.Headers = nil
	ok.Content = map[string]*huma.MediaType{
		"text/plain":       {Schema: &huma.Schema{Type: huma.TypeString}},
		"application/json": {Schema: huma.SchemaFromType(api.Components.Schemas, screenType)},
	}
}

func (a *API) getScrollback(ctx context.Context, input *scrollbackInput) (*scrollbackOutput, error) {
	session, err := a.find(ctx, &input.SessionInput, server.ScopeRead)
	if err != nil {
		return nil, err
	}
	var before uint64
	if input.Cursor != "" {
		if before, err = strconv.ParseUint(input.Cursor, 10, 64); err != nil {
			return nil, server.Errorf(server.CodeInvalid, "the cursor is not one of this server's: begin again without it")
		}
	}
	encoded, err := a.fleet.Page(ctx, session.Key(), before, input.Limit)
	if err != nil {
		return nil, err
	}
	var page vt.Page
	if err := json.Unmarshal(encoded, &page); err != nil {
		return nil, fmt.Errorf("read page: %w", err)
	}
	output := &scrollbackOutput{}
	output.Body.Items = page.Lines
	if output.Body.Items == nil {
		output.Body.Items = []vt.PageLine{}
	}
	if count := len(page.Lines); page.More && count > 0 {
		next := strconv.FormatUint(uint64(page.Lines[count-1].ID), 10)
		output.Body.Next = &next
	}
	return output, nil
}
