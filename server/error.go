package server

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/agent-helm/agent-helm/internal/wire"
)

// Code is a stable, machine-readable name of a fault. Codes are never renamed.
type Code string

// The codes. Those that cross the wire as well share its spelling.
const (
	CodeUnsupported     Code = wire.CodeUnsupported
	CodeUnknownSession  Code = wire.CodeUnknownSession
	CodeSessionEnded    Code = wire.CodeSessionEnded
	CodeForbidden       Code = wire.CodeForbidden
	CodeInvalid         Code = wire.CodeInvalid
	CodeHostOffline     Code = wire.CodeHostOffline
	CodeLimit           Code = wire.CodeLimit
	CodeInternal        Code = wire.CodeInternal
	CodeUnauthenticated Code = wire.CodeUnauthenticated

	CodeNotFound      Code = "not_found"
	CodeUnknownHost   Code = "unknown_host"
	CodeUnknownDevice Code = "unknown_device"
	CodeUnknownToken  Code = "unknown_token"
	// CodeUnknownPairing is a host's request that waits for nobody any more.
	CodeUnknownPairing Code = "unknown_pairing"
	CodeConflict       Code = "conflict"
	CodeNameTaken      Code = "name_taken"
	CodeRevoked        Code = "revoked"
	CodeProofRequired  Code = "proof_required"
	CodeOrigin         Code = "origin_refused"
	CodeHostHeader     Code = "host_header_refused"
	CodeWorkerScript   Code = "worker_script_refused"
	CodeMethod         Code = "method_not_allowed"
	CodeMediaType      Code = "unsupported_media_type"
	CodeTooLarge       Code = "too_large"
	CodeTimeout        Code = "timeout"
	CodeTicketUsed     Code = "ticket_used"
	CodeTicketInvalid  Code = "ticket_invalid"
	CodePairCode       Code = "code_refused"
	CodeTooManyTries   Code = "too_many_tries"
	CodeDuplicateHost  Code = "duplicate_host"
	CodeInputLate      Code = "input_late"
	CodeInputBlocked   Code = "input_blocked"
	CodeInputRefused   Code = "input_refused"
	CodeRestarting     Code = "restarting"
	CodeTailnet        Code = "tailnet_refused"
	CodePlainHTTP      Code = "plain_http_refused"
)

// codes gives each code its HTTP status and the sentence that a person reads
// when the place of the fault has nothing better to say.
var codes = map[Code]struct {
	status   int
	sentence string
}{
	CodeUnsupported:     {http.StatusNotImplemented, "The other side is too old for this: update agent-helm there."},
	CodeUnknownSession:  {http.StatusNotFound, "There is no such session here: list them with GET /api/sessions."},
	CodeSessionEnded:    {http.StatusConflict, "The session has ended: start a new one."},
	CodeForbidden:       {http.StatusForbidden, "This credential may not do that: use one with the scope that the route needs."},
	CodeInvalid:         {http.StatusUnprocessableEntity, "The request has a field that cannot be used: see the errors."},
	CodeHostOffline:     {http.StatusServiceUnavailable, "The host is not connected: nothing was sent to it. Try again when it is back."},
	CodeLimit:           {http.StatusTooManyRequests, "A limit is reached: close something first."},
	CodeInternal:        {http.StatusInternalServerError, "Something went wrong in the server: its log says what."},
	CodeUnauthenticated: {http.StatusUnauthorized, "Sign in first: open a pairing link, or send a token as Authorization: Bearer."},
	CodeNotFound:        {http.StatusNotFound, "There is nothing at this address: see /api/docs."},
	CodeUnknownHost:     {http.StatusNotFound, "There is no such host here: list them with GET /api/hosts."},
	CodeUnknownDevice:   {http.StatusNotFound, "There is no such device: list them with GET /api/devices."},
	CodeUnknownToken:    {http.StatusNotFound, "There is no such token: list them with GET /api/tokens."},
	CodeUnknownPairing:  {http.StatusNotFound, "There is no such request, or it was decided or has expired: ask again with agent-helm pair on the host."},
	CodeConflict:        {http.StatusConflict, "The thing has changed meanwhile: read it again."},
	CodeNameTaken:       {http.StatusConflict, "The name is taken: choose another."},
	CodeRevoked:         {http.StatusUnauthorized, "This device or token was revoked: pair again."},
	CodeProofRequired:   {http.StatusForbidden, "On plain HTTP a cookie alone is not enough: send X-Agent-Helm-Proof as well, or pair again."},
	CodeOrigin:          {http.StatusForbidden, "The request came from another site: open the app at its own address, or add that address with --public-url."},
	CodeHostHeader:      {http.StatusMisdirectedRequest, "This server does not go by that name: use the address that it printed, or add the name with --public-url."},
	CodeWorkerScript:    {http.StatusForbidden, "Only /sw.js may be a service worker."},
	CodeMethod:          {http.StatusMethodNotAllowed, "This address does not take that method: see /api/docs."},
	CodeMediaType:       {http.StatusUnsupportedMediaType, "Send the body as plain JSON: Content-Type: application/json, no Content-Encoding."},
	CodeTooLarge:        {http.StatusRequestEntityTooLarge, "The body is too large: send less at once."},
	CodeTimeout:         {http.StatusGatewayTimeout, "No answer in time: it may have been done or not. Look before you try again."},
	CodeTicketUsed:      {http.StatusGone, "The link was used already: make a new one with agent-helm-server link."},
	CodeTicketInvalid:   {http.StatusUnauthorized, "The link is not valid or has expired: make a new one with agent-helm-server link."},
	CodePairCode:        {http.StatusUnauthorized, "The code is wrong or has expired: make a new one with agent-helm-server pair."},
	CodeTooManyTries:    {http.StatusTooManyRequests, "Too many tries: wait a minute, or use a link."},
	CodeDuplicateHost:   {http.StatusConflict, "Another running daemon uses this host's token: stop one, or enrol it as a host of its own."},
	CodeInputLate:       {http.StatusConflict, "The input came too late to be typed safely: nothing of it was written. Send it again."},
	CodeInputBlocked:    {http.StatusConflict, "The program does not read its input: nothing of it was written."},
	CodeInputRefused:    {http.StatusConflict, "The host did not take the input: nothing of it was written."},
	CodeTailnet:         {http.StatusForbidden, "The tailnet does not say that you may come in here: the owner of this server can allow it with --tailscale-allow."},
	CodePlainHTTP:       {http.StatusForbidden, "The request came to the proxy over plain HTTP: open the https address instead."},
	CodeRestarting:      {http.StatusServiceUnavailable, "The server restarts: try again in a few seconds."},
}

// Error is a fault that the person at the other end can read and act on.
// Anything else that reaches an edge is CodeInternal there, and only logged.
type Error struct {
	Code Code
	// Message is one sentence that says what happened and what to do. It holds
	// no secret, and text from elsewhere only after untrusted.Clean.
	Message string
}

// Error is the sentence.
func (e *Error) Error() string { return e.Message }

// Is makes errors.Is compare codes.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Code == e.Code
}

// NewError is an Error with the sentence of its code.
func NewError(code Code) *Error { return &Error{Code: code, Message: codes[code].sentence} }

// Errorf is an Error with a sentence of its own.
func Errorf(code Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// CodeOf is the code in err's chain, CodeInternal for an error that has none,
// and empty for nil.
func CodeOf(err error) Code {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Code
	}
	return CodeInternal
}

// Status is the HTTP status of a code; 500 for one that is not in the table.
func (c Code) Status() int {
	if entry, ok := codes[c]; ok {
		return entry.status
	}
	return http.StatusInternalServerError
}

// Sentence is what a person reads when there is nothing better to say.
func (c Code) Sentence() string { return codes[c].sentence }

// Codes lists every code, for documentation and tests.
func Codes() []Code {
	list := make([]Code, 0, len(codes))
	for code := range codes {
		list = append(list, code)
	}
	return list
}
