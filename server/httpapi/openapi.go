package httpapi

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"reflect"
	"slices"
	"testing/fstest"

	"github.com/danielgtaylor/huma/v2"

	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/auth"
)

//go:generate go run ../cmd/agent-helm-server openapi --output openapi.json

var screenType = reflect.TypeFor[vt.Screen]()

// The page at /api/docs is ours: huma's loads scripts from elsewhere onto our
// cookie's origin (THREATS S-11).
var (
	//go:embed docs/docs.html
	docsPage []byte
	//go:embed docs/docs.js
	docsScript []byte
	//go:embed docs/docs.css
	docsStyle []byte
)

func humaConfig() huma.Config {
	config := huma.DefaultConfig("agent-helm", "1")
	config.Info.Description = "Sessions of terminal programs on all your hosts. Send a token as `Authorization: Bearer ah_…`, or sign a browser in " +
		"with `POST /api/pair`. Every refusal is a problem document (RFC 9457) with a stable `code`. Times are durations in milliseconds."
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"bearer": {Type: "http", Scheme: "bearer", Description: "A token of `agent-helm-server token create` or `POST /api/tokens`"},
		"cookie": {Type: "apiKey", In: "cookie", Name: auth.CookieName, Description: "A paired browser. On plain HTTP " + auth.ProofHeader +
			" is needed as well; under TLS the name is " + auth.SecureCookieName},
	}
	// Ours are below; the schema links are for editors and cost every answer a field.
	config.OpenAPIPath, config.DocsPath, config.SchemasPath = "", "", ""
	config.CreateHooks = nil
	config.Formats = map[string]huma.Format{"application/json": huma.DefaultJSONFormat, "json": huma.DefaultJSONFormat}
	return config
}

// registerDocuments serves the API's description. It is the same for every
// installation and says nothing of this one, so it is public.
func (a *API) registerDocuments() {
	a.allowNull("Session", "exit", "prompt")
	a.huma.OpenAPI().Extensions = map[string]any{"x-codes": describedCodes()}
	document := func(content []byte, mediaType string) http.HandlerFunc {
		file := &appFile{name: "document", mediaType: mediaType, content: content}
		return func(w http.ResponseWriter, r *http.Request) { file.serveDocument(w, r) }
	}
	description, err := a.OpenAPI()
	if err != nil { // cannot happen: a test encodes the same document
		a.log.Error("OpenAPI document not available", "error", err)
	}
	a.raw("/api/openapi.json", access{public: true}, document(description, "application/json"))
	a.raw("/api/docs", access{public: true}, document(docsPage, mediaTypes[".html"]))
	a.raw("/api/docs.js", access{public: true}, document(docsScript, mediaTypes[".js"]))
	a.raw("/api/docs.css", access{public: true}, document(docsStyle, mediaTypes[".css"]))
}

func (file *appFile) serveDocument(w http.ResponseWriter, r *http.Request) {
	content := file.content
	w.Header().Set("Content-Type", file.mediaType)
	w.Header().Set("Vary", "Accept-Encoding")
	if compressed := file.gzipped(); compressed != nil && acceptsGzip(r.Header.Get("Accept-Encoding")) {
		w.Header().Set("Content-Encoding", "gzip")
		content = compressed
	}
	_, _ = w.Write(content) // the reader may be gone
}

// allowNull says in the document what Go's types cannot say to huma: that a
// field holds an object or null.
func (a *API) allowNull(schema string, fields ...string) {
	properties := a.huma.OpenAPI().Components.Schemas.Map()[schema].Properties
	for _, field := range fields {
		property := properties[field]
		properties[field] = &huma.Schema{Description: property.Description, AnyOf: []*huma.Schema{{Ref: property.Ref}, {Type: "null"}}}
	}
}

// describedCode is one code of Problem for the documentation.
type describedCode struct {
	Code    server.Code `json:"code"`
	Status  int         `json:"status"`
	Meaning string      `json:"meaning"`
}

func describedCodes() []describedCode {
	codes := server.Codes()
	slices.Sort(codes)
	described := make([]describedCode, 0, len(codes))
	for _, code := range codes {
		described = append(described, describedCode{Code: code, Status: code.Status(), Meaning: code.Sentence()})
	}
	return described
}

// OpenAPI is the API's description as indented JSON, the same for the same
// source.
func (a *API) OpenAPI() ([]byte, error) {
	encoded, err := json.Marshal(a.huma.OpenAPI())
	if err != nil {
		return nil, fmt.Errorf("encode OpenAPI document: %w", err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, encoded, "", "  "); err != nil {
		return nil, fmt.Errorf("encode OpenAPI document: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

// Describe returns the description without a server behind it.
func Describe() ([]byte, error) {
	a, err := New(Config{
		Sites: &Sites{}, Log: slog.New(slog.DiscardHandler),
		App: fstest.MapFS{"index.html": &fstest.MapFile{}},
	})
	if err != nil {
		return nil, err
	}
	return a.OpenAPI()
}
