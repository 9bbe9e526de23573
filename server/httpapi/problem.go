package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/agent-helm/agent-helm/internal/logging"
	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
)

// Problem is what every refusal and fault looks like (RFC 9457).
type Problem struct {
	Type   string         `json:"type" doc:"Where the code is described" example:"/api/docs#forbidden"`
	Title  string         `json:"title" doc:"The HTTP status in words"`
	Status int            `json:"status" doc:"The HTTP status"`
	Code   server.Code    `json:"code" doc:"Stable name of the fault" example:"forbidden"`
	Detail string         `json:"detail" doc:"One sentence that says what happened and what to do"`
	Errors []ProblemField `json:"errors,omitempty" doc:"Fields that cannot be used"`
}

// ProblemField is one field of a request that cannot be used.
type ProblemField struct {
	Location string `json:"location" example:"body.cols"`
	Message  string `json:"message"`
}

// Error is the sentence.
func (p *Problem) Error() string { return p.Detail }

// GetStatus is the HTTP status.
func (p *Problem) GetStatus() int { return p.Status }

// ContentType names the document's type to huma.
func (p *Problem) ContentType(string) string { return problemType }

// GetHeaders are the headers that go with the document.
func (p *Problem) GetHeaders() http.Header {
	header := http.Header{}
	switch p.Code {
	case server.CodeUnauthenticated, server.CodeRevoked:
		header.Set("WWW-Authenticate", "Bearer")
	case server.CodeTooManyTries:
		header.Set("Retry-After", "60")
	case server.CodeRestarting:
		header.Set("Retry-After", "5")
	}
	return header
}

const problemType = "application/problem+json"

func newProblem(code server.Code, detail string) *Problem {
	status := code.Status()
	if detail == "" {
		detail = code.Sentence()
	}
	return &Problem{Type: "/api/docs#" + string(code), Title: http.StatusText(status), Status: status, Code: code, Detail: detail}
}

// problemOf turns an error into what the caller is told. Faults that are not
// the caller's are logged here and told as "internal".
func problemOf(ctx context.Context, log *slog.Logger, err error) *Problem {
	if known, ok := errors.AsType[*Problem](err); ok {
		return known
	}
	if known, ok := errors.AsType[*server.Error](err); ok {
		return newProblem(known.Code, known.Message)
	}
	if fault, ok := errors.AsType[*wire.Fault](err); ok {
		// A host's sentence is its own word.
		return newProblem(faultCode(fault.Code), untrusted.Clean(fault.Message, server.MaxTitle))
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return newProblem(server.CodeTimeout, "")
	case ctx.Err() != nil:
		// The server ends, or the caller hung up and nobody reads this.
		if cause, ok := errors.AsType[*server.Error](context.Cause(ctx)); ok {
			return newProblem(cause.Code, cause.Message)
		}
		return newProblem(server.CodeTimeout, "")
	}
	log.Error("request failed", logging.KeyError, err)
	return newProblem(server.CodeInternal, "")
}

// faultCode keeps codes that a host may use; others would let it write
// "unauthenticated" and sign a browser out.
func faultCode(code string) server.Code {
	switch c := server.Code(code); c {
	case server.CodeUnsupported, server.CodeUnknownSession, server.CodeSessionEnded, server.CodeForbidden, server.CodeInvalid, server.CodeLimit, server.CodeHostOffline:
		return c
	default:
		return server.CodeInternal
	}
}

func writeProblem(w http.ResponseWriter, problem *Problem) {
	maps.Copy(w.Header(), problem.GetHeaders())
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(problem.Status)
	// The caller may be gone; there is nobody else to tell.
	_ = json.NewEncoder(w).Encode(problem)
}

// statusCodes names what huma itself refuses with.
var statusCodes = map[int]server.Code{
	http.StatusBadRequest:            server.CodeInvalid,
	http.StatusUnprocessableEntity:   server.CodeInvalid,
	http.StatusNotFound:              server.CodeNotFound,
	http.StatusMethodNotAllowed:      server.CodeMethod,
	http.StatusNotAcceptable:         server.CodeInvalid,
	http.StatusRequestTimeout:        server.CodeTimeout,
	http.StatusRequestEntityTooLarge: server.CodeTooLarge,
	http.StatusUnsupportedMediaType:  server.CodeMediaType,
}

// huma makes the errors of its own validation through this variable, and reads
// the shape of errors for the OpenAPI document from what it returns. It is set
// once, before any API exists.
func init() {
	huma.NewError = func(status int, message string, errs ...error) huma.StatusError {
		code, ok := statusCodes[status]
		if !ok {
			code = server.CodeInternal
		}
		problem := newProblem(code, "")
		if code == server.CodeInvalid {
			problem.Status, problem.Title = status, http.StatusText(status)
		}
		for _, err := range errs {
			if detailer, ok := err.(huma.ErrorDetailer); ok {
				detail := detailer.ErrorDetail()
				problem.Errors = append(problem.Errors, ProblemField{Location: detail.Location, Message: untrusted.Clean(detail.Message, server.MaxTitle)})
			}
		}
		if code == server.CodeInvalid && len(problem.Errors) == 0 && message != "" {
			problem.Errors = append(problem.Errors, ProblemField{Location: "body", Message: untrusted.Clean(message, server.MaxTitle)})
		}
		return problem
	}
}
