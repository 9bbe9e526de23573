package httpapi

import (
	"context"
	_ "embed"
	"net/http"

	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/auth"
)

// The page at /check says what an address can do in the browser that opens it.
// It needs no sign-in, so it and its script tell nothing of this installation.
var (
	//go:embed check/check.html
	checkPage []byte
	//go:embed check/check.js
	checkScript []byte
	//go:embed check/check.css
	checkStyle []byte
)

// ServerCheck is what an admin wants to know of the ways in.
type ServerCheck struct {
	// Public are the addresses of --public-url.
	Public  []string      `json:"public" nullable:"false" doc:"Addresses of --public-url"`
	Listen  string        `json:"listen" doc:"The listener's own address"`
	Tailnet *TailnetCheck `json:"tailnet,omitempty" doc:"Absent without --tailscale"`
	// Advice are sentences on what is missing, the most important first.
	Advice []string `json:"advice" nullable:"false" doc:"What is missing, as sentences"`
}

// TailnetCheck is how the server's node in a tailnet is.
type TailnetCheck struct {
	Phase        string `json:"phase" enum:"starting,login,approval,no_https,up,failed"`
	URL          string `json:"url" doc:"Empty until it is up"`
	Owner        string `json:"owner" doc:"The login that the machine belongs to; empty for a tagged one"`
	KeyExpiresMS int64  `json:"key_expires_ms" doc:"In how long the machine has to sign in again; -1 for never"`
	Problem      string `json:"problem" doc:"One sentence, empty when all is well"`
}

type checkOutput struct {
	Body struct {
		Secure   bool   `json:"secure" doc:"Whether the request came over TLS, as far as the server knows"`
		Insecure bool   `json:"insecure" doc:"Whether this is plain HTTP off loopback"`
		Public   bool   `json:"public" doc:"Whether links of this server begin with the address that was asked"`
		Tailnet  bool   `json:"tailnet" doc:"Whether the request came over the server's own tailnet node"`
		Proxy    string `json:"proxy" enum:"none,trusted,ignored" doc:"Whether a proxy's headers came, and whether they are believed"`
	}
}

type serverCheckOutput struct {
	Body struct {
		Link string `json:"link" doc:"What links begin with"`
		ServerCheck
	}
}

// checkPath is outside /api because people type it; the rules of /api hold.
const checkPath = "/check"

func (a *API) registerCheck() {
	route(a, operation{method: http.MethodGet, path: "/api/check", id: "check", summary: "How did this request arrive?", tag: "health",
		access:      access{public: true},
		description: "Says only what the caller could see as well. The page at /check reads it."}, a.check)
	route(a, operation{method: http.MethodGet, path: "/api/check/server", id: "checkServer", summary: "What is missing on the ways in?", tag: "health",
		access: access{scopes: server.ScopeAdmin, unbound: true}}, a.checkServer)
	document := func(content []byte, mediaType string) http.HandlerFunc {
		file := &appFile{name: "document", mediaType: mediaType, content: content}
		return func(w http.ResponseWriter, r *http.Request) { file.serveDocument(w, r) }
	}
	a.raw(checkPath, access{public: true}, document(checkPage, mediaTypes[".html"]))
	a.raw("/api/check.js", access{public: true}, document(checkScript, mediaTypes[".js"]))
	a.raw("/api/check.css", access{public: true}, document(checkStyle, mediaTypes[".css"]))
}

func (a *API) check(ctx context.Context, _ *struct{}) (*checkOutput, error) {
	c := callFrom(ctx)
	at := arrivalFrom(ctx)
	output := &checkOutput{}
	output.Body.Secure = c.transport == auth.TransportTLS && !at.plain
	output.Body.Insecure = c.transport == auth.TransportLAN
	output.Body.Public = a.sites.isLink(c.r.Host)
	output.Body.Tailnet = auth.TailnetFrom(ctx) != nil
	output.Body.Proxy = "none"
	switch {
	case at.behindProxy:
		output.Body.Proxy = "trusted"
	case at.ignored:
		output.Body.Proxy = "ignored"
	}
	return output, nil
}

func (a *API) checkServer(context.Context, *struct{}) (*serverCheckOutput, error) {
	output := &serverCheckOutput{}
	output.Body.Link = a.sites.Link()
	if a.checks != nil {
		output.Body.ServerCheck = a.checks()
	}
	if output.Body.Public == nil {
		output.Body.Public = []string{}
	}
	if output.Body.Advice == nil {
		output.Body.Advice = []string{}
	}
	return output, nil
}
