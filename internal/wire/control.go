package wire

import (
	"encoding/json"
	"fmt"
)

// SessionMeta is what a host says of one of its sessions. All of it is the
// host's word: cap and clean it before showing it.
type SessionMeta struct {
	Name string `json:"name"`
	// Command is the argv joined for display.
	Command string `json:"command"`
	Cwd     string `json:"cwd"`
	// Agent is the known agent's name ("claude", "gemini", "codex", "shell"), or empty.
	Agent string `json:"agent,omitempty"`
	// AgeMS is how long ago the session started, in milliseconds.
	AgeMS int64 `json:"age_ms"`
	// State is "running", "exited" or "lost".
	State string `json:"state"`
	// ExitCode and ExitSignal are set when State is "exited".
	ExitCode   *int   `json:"exit_code,omitempty"`
	ExitSignal string `json:"exit_signal,omitempty"`
	// LostReason is set when State is "lost".
	LostReason string `json:"lost_reason,omitempty"`
	// InputBlocked says that the program does not read its input.
	InputBlocked bool `json:"input_blocked,omitempty"`
	// Warning is a fault that the person should know, such as a full disk.
	Warning string `json:"warning,omitempty"`
}

// SessionInfo announces a session and what its holder's log still has.
type SessionInfo struct {
	Handle uint32      `json:"handle"`
	ID     string      `json:"id"`
	Start  Position    `json:"start"`
	End    Position    `json:"end"`
	Cols   uint16      `json:"cols"`
	Rows   uint16      `json:"rows"`
	Meta   SessionMeta `json:"meta"`
}

// HostHello opens the host's direction.
type HostHello struct {
	// Instance is random, new with every daemon process.
	Instance string `json:"instance"`
	// Version is the program's version, for display.
	Version string `json:"version"`
	// VT is the version of internal/vt's state.
	VT           int           `json:"vt"`
	Capabilities []string      `json:"capabilities,omitempty"`
	Sessions     []SessionInfo `json:"sessions"`
}

// HostWelcome answers HostHello.
type HostWelcome struct {
	Instance string `json:"instance"`
	Version  string `json:"version"`
	// Host is the host's name as the server knows it, from the enrolled token.
	Host   string          `json:"host"`
	Resume []SessionResume `json:"resume"`
	// Capabilities are what this server can do beyond version 1.0's first form.
	Capabilities []string `json:"capabilities,omitempty"`
}

// Capabilities of HostWelcome.
const (
	// CapabilityPairing: the server takes MethodPairingRequest, -Wait and
	// -Cancel from its host. One without it ends the link over such a call.
	CapabilityPairing = "pairing"
)

// SessionOpen announces a session that began after HostHello.
type SessionOpen struct{ SessionInfo }

// SessionResume says from where the server wants a session's stream. State
// means: nothing usable here, send a State first.
type SessionResume struct {
	Handle uint32   `json:"handle"`
	From   Position `json:"from"`
	State  bool     `json:"state,omitempty"`
	// Refused is set when the server will not take the session, with the reason.
	Refused string `json:"refused,omitempty"`
}

// SessionUpdate replaces a session's metadata.
type SessionUpdate struct {
	Handle uint32      `json:"handle"`
	Meta   SessionMeta `json:"meta"`
}

// SessionClosed says that a person had the session forgotten.
type SessionClosed struct {
	Handle uint32 `json:"handle"`
}

// ViewerHello opens the viewer's direction.
type ViewerHello struct {
	Version string `json:"version"`
	// Proof is the second credential of a cookie session (THREATS S-8).
	Proof   string `json:"proof,omitempty"`
	Visible bool   `json:"visible"`
}

// ViewerWelcome answers ViewerHello.
type ViewerWelcome struct {
	Version  string   `json:"version"`
	Instance string   `json:"instance"`
	Device   string   `json:"device"`
	Scopes   []string `json:"scopes"`
}

// Attach asks for a session's stream on a handle of the viewer's choice.
type Attach struct {
	Handle  uint32 `json:"handle"`
	Host    string `json:"host"`
	Session string `json:"session"`
	// From is what the viewer already shows; absent means a repaint.
	From    *Position `json:"from,omitempty"`
	Client  ClientID  `json:"client"`
	Visible bool      `json:"visible"`
}

// Modes of an attachment.
const (
	AttachedDelta   = "delta"
	AttachedRepaint = "repaint"
)

// Attached answers Attach.
type Attached struct {
	Handle uint32 `json:"handle"`
	// Mode is AttachedDelta or AttachedRepaint.
	Mode string `json:"mode"`
	Cols uint16 `json:"cols"`
	Rows uint16 `json:"rows"`
	// Prompt is the id of the dialog on screen, empty when there is none.
	Prompt string `json:"prompt,omitempty"`
}

// Kinds of Event.
const (
	EventSnapshot       = "snapshot"        // body: {"hosts": […], "sessions": […]}
	EventHost           = "host"            // body: one host
	EventHostRemoved    = "host_removed"    // body: {"id"}
	EventSession        = "session"         // body: one session
	EventSessionRemoved = "session_removed" // body: {"host", "id"}
	EventDevice         = "device"          // body: one device that was paired just now; to those who could revoke it
	EventPairing        = "pairing"         // body: one host's request for a code; to those who could confirm it
	EventPairingRemoved = "pairing_removed" // body: {"id"}: it was decided, or its time is up
)

// Event tells a viewer of a change. Body is the same JSON as in the HTTP API;
// it replaces what the viewer had, so it may come twice.
type Event struct {
	Kind string          `json:"kind"`
	Body json.RawMessage `json:"body"`
}

// Page asks for history above a line. Before 0 is the newest.
type Page struct {
	Handle  uint32 `json:"handle"`
	Request uint32 `json:"request"`
	Before  uint64 `json:"before"`
	Max     int    `json:"max"`
}

// PageReply answers Page; Body is internal/vt's Page as JSON.
type PageReply struct {
	Handle  uint32          `json:"handle"`
	Request uint32          `json:"request"`
	Body    json.RawMessage `json:"body,omitempty"`
	Error   string          `json:"error,omitempty"`
}

// Methods of RPC. The params and results are the structs of the same name.
const (
	MethodStart  = "session.start"  // server → host
	MethodRename = "session.rename" // server → host, client → holder
	MethodKill   = "session.kill"   // server → host, client → holder
	MethodForget = "session.forget" // server → host
	MethodPage   = "session.page"   // server → host, client → holder: params Page, result internal/vt's Page
	MethodSignal = "session.signal" // server → host, client → holder: Stop actions over HTTP
	MethodInfo   = "session.info"   // client → holder: result SessionInfo
	MethodText   = "session.text"   // client → holder: params TextParams, result TextResult
	// 2026-11-30: search and recordings.
	MethodSearch    = "session.search"    // server → host, client → holder: params SearchParams, result internal/vt's SearchResult
	MethodRecording = "session.recording" // server → host: params RecordingParams, result RecordingResult
	// 2026-12-01: a host asks for the code of a new device. The only calls that
	// a host makes.
	MethodPairingRequest = "pairing.request" // host → server: params PairingParams, result PairingRequested
	MethodPairingWait    = "pairing.wait"    // host → server: params PairingID, result PairingResult, once somebody decided
	MethodPairingCancel  = "pairing.cancel"  // host → server: params PairingID, no result
)

// RPC is a call. The caller chooses ID, unique among its open calls.
type RPC struct {
	ID     uint64          `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params,omitempty"`
}

// RPCReply answers an RPC.
type RPCReply struct {
	ID     uint64          `json:"id"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *Fault          `json:"error,omitempty"`
}

// Fault is an error that crosses the wire: a stable code and a sentence that
// says what to do.
type Fault struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Error is the sentence.
func (f *Fault) Error() string { return f.Message }

// Codes of Fault and Problem that both ends know.
const (
	CodeUnsupported     = "unsupported"
	CodeUnknownSession  = "unknown_session"
	CodeSessionEnded    = "session_ended"
	CodeForbidden       = "forbidden"
	CodeInvalid         = "invalid"
	CodeHostOffline     = "host_offline"
	CodeLimit           = "limit_reached"
	CodeInternal        = "internal"
	CodeUnauthenticated = "unauthenticated"
)

// StartParams are those of MethodStart. Exactly one of Agent and Argv is set.
type StartParams struct {
	Name  string   `json:"name,omitempty"`
	Agent string   `json:"agent,omitempty"`
	Argv  []string `json:"argv,omitempty"`
	Cwd   string   `json:"cwd,omitempty"`
	Cols  uint16   `json:"cols,omitempty"`
	Rows  uint16   `json:"rows,omitempty"`
}

// StartResult is that of MethodStart.
type StartResult struct {
	ID string `json:"id"`
}

// SessionParams name a session; Name is used by MethodRename, Signal by
// MethodSignal ("esc", "ctrl-c", "hup", "term", "kill").
type SessionParams struct {
	ID     string `json:"id,omitempty"`
	Name   string `json:"name,omitempty"`
	Signal string `json:"signal,omitempty"`
}

// PageParams are those of MethodPage.
type PageParams struct {
	ID     string `json:"id,omitempty"`
	Before uint64 `json:"before"`
	Max    int    `json:"max"`
}

// TextParams are those of MethodText: the screen and up to History lines above
// it, plain or with SGR.
type TextParams struct {
	History int  `json:"history"`
	SGR     bool `json:"sgr"`
}

// TextResult is that of MethodText.
type TextResult struct {
	Text string `json:"text"`
}

// SearchParams are those of MethodSearch.
type SearchParams struct {
	ID    string `json:"id,omitempty"`
	Query string `json:"query"`
	// Regexp takes Query as RE2 syntax.
	Regexp        bool `json:"regexp,omitempty"`
	CaseSensitive bool `json:"case_sensitive,omitempty"`
	// Before is the Next of the result before, empty for the newest.
	Before string `json:"before,omitempty"`
	// Max is how many matches are wanted, 0 for the callee's own choice.
	Max int `json:"max,omitempty"`
}

// PairingParams are those of MethodPairingRequest.
type PairingParams struct {
	// Scopes are what the device shall be able to do; a person decides.
	Scopes []string `json:"scopes"`
}

// PairingRequested is the result of MethodPairingRequest.
type PairingRequested struct {
	// ID names the request to the person who is to confirm it. It is no secret.
	ID string `json:"id"`
	// ExpiresMS is how long it waits to be decided.
	ExpiresMS int64 `json:"expires_ms"`
}

// PairingID names a request of this host.
type PairingID struct {
	ID string `json:"id"`
}

// PairingResult is that of MethodPairingWait. A request that was denied, or
// that nobody decided in time, is a Fault instead.
type PairingResult struct {
	Code string `json:"code"`
	// Scopes are what the person granted, which may be less than was asked for.
	Scopes    []string `json:"scopes"`
	ExpiresMS int64    `json:"expires_ms"`
	// URL is the server's address for browsers.
	URL string `json:"url"`
}

// RecordingParams are those of MethodRecording: a piece of the log behind From,
// or its beginning when that is absent.
type RecordingParams struct {
	ID   string    `json:"id"`
	From *Position `json:"from,omitempty"`
	// Max is about how many bytes of output are wanted, 0 for the host's choice.
	Max int `json:"max,omitempty"`
}

// RecordingResult is that of MethodRecording.
type RecordingResult struct {
	// Cols, Rows, BeginMS and AgeMS describe the recording's beginning: its size,
	// its time as events count, and how long ago it was.
	Cols    uint16           `json:"cols"`
	Rows    uint16           `json:"rows"`
	BeginMS int64            `json:"begin_ms"`
	AgeMS   int64            `json:"age_ms"`
	Events  []RecordingEvent `json:"events"`
	// Next is where to go on, End where the log ended at the time of the call.
	Next Position `json:"next"`
	End  Position `json:"end"`
	// Done says that Events end with the last one there is.
	Done bool `json:"done"`
}

// RecordingEvent is output, a new size, or a remark of the host about the
// recording. AtMS counts milliseconds from the log's beginning.
type RecordingEvent struct {
	AtMS   int64  `json:"at_ms"`
	Data   []byte `json:"data,omitempty"`
	Cols   uint16 `json:"cols,omitempty"`
	Rows   uint16 `json:"rows,omitempty"`
	Remark string `json:"remark,omitempty"`
}

// Restarting says that the server goes away on purpose; come back after AfterMS.
type Restarting struct {
	AfterMS int64 `json:"after_ms"`
}

// Problem reports a fault of one handle, or of the connection when Handle is 0.
type Problem struct {
	Handle  uint32 `json:"handle,omitempty"`
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Roles in HolderHello.
const (
	RoleDaemon = "daemon" // carries the input of viewers; every client behind it is a viewer
	RoleLocal  = "local"  // one local terminal
	RoleTool   = "tool"   // ls, send, logs, kill
)

// HolderHello opens a client's direction on a holder's socket.
type HolderHello struct {
	Role    string `json:"role"`
	Version string `json:"version"`
}

// HolderWelcome answers HolderHello.
type HolderWelcome struct {
	Version string      `json:"version"`
	VT      int         `json:"vt"`
	PID     int         `json:"pid"`
	Session SessionInfo `json:"session"`
}

// Ways to begin a HolderAttach.
const (
	WantStream  = "stream"  // from From; falls back to state when the log no longer has it
	WantState   = "state"   // a State at the present position, then the stream
	WantRepaint = "repaint" // a Repaint at the present position, then the stream
)

// HolderAttach begins the stream on this connection; a second one replaces the first.
type HolderAttach struct {
	Want string   `json:"want"`
	From Position `json:"from"`
	// Window is the largest number of unacknowledged bytes, 0 for the default.
	Window uint32 `json:"window,omitempty"`
	// LagMS is how far this reader may fall behind, measured by its own rate,
	// before it is given Gap and State; 0 means only when the log has dropped it.
	LagMS uint32 `json:"lag_ms,omitempty"`
	// History is how many lines of history a State carries, -1 for all.
	History int `json:"history,omitempty"`
}

func (f *HostHello) Type() Type     { return TypeHostHello }
func (f *HostWelcome) Type() Type   { return TypeHostWelcome }
func (f *SessionOpen) Type() Type   { return TypeSessionOpen }
func (f *SessionResume) Type() Type { return TypeSessionResume }
func (f *SessionUpdate) Type() Type { return TypeSessionUpdate }
func (f *SessionClosed) Type() Type { return TypeSessionClosed }
func (f *ViewerHello) Type() Type   { return TypeViewerHello }
func (f *ViewerWelcome) Type() Type { return TypeViewerWelcome }
func (f *Attach) Type() Type        { return TypeAttach }
func (f *Attached) Type() Type      { return TypeAttached }
func (f *Event) Type() Type         { return TypeEvent }
func (f *Page) Type() Type          { return TypePage }
func (f *PageReply) Type() Type     { return TypePageReply }
func (f *RPC) Type() Type           { return TypeRPC }
func (f *RPCReply) Type() Type      { return TypeRPCReply }
func (f *Restarting) Type() Type    { return TypeRestarting }
func (f *Problem) Type() Type       { return TypeProblem }
func (f *HolderHello) Type() Type   { return TypeHolderHello }
func (f *HolderWelcome) Type() Type { return TypeHolderWelcome }
func (f *HolderAttach) Type() Type  { return TypeHolderAttach }

func appendJSON(dst []byte, v any) ([]byte, error) {
	encoded, err := json.Marshal(v)
	if err != nil {
		return dst, err
	}
	return append(dst, encoded...), nil
}

func decodeJSON(body []byte, v any) error {
	if err := json.Unmarshal(body, v); err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	return nil
}

func (f *HostHello) appendBody(dst []byte) ([]byte, error)     { return appendJSON(dst, f) }
func (f *HostWelcome) appendBody(dst []byte) ([]byte, error)   { return appendJSON(dst, f) }
func (f *SessionOpen) appendBody(dst []byte) ([]byte, error)   { return appendJSON(dst, f) }
func (f *SessionResume) appendBody(dst []byte) ([]byte, error) { return appendJSON(dst, f) }
func (f *SessionUpdate) appendBody(dst []byte) ([]byte, error) { return appendJSON(dst, f) }
func (f *SessionClosed) appendBody(dst []byte) ([]byte, error) { return appendJSON(dst, f) }
func (f *ViewerHello) appendBody(dst []byte) ([]byte, error)   { return appendJSON(dst, f) }
func (f *ViewerWelcome) appendBody(dst []byte) ([]byte, error) { return appendJSON(dst, f) }
func (f *Attach) appendBody(dst []byte) ([]byte, error)        { return appendJSON(dst, f) }
func (f *Attached) appendBody(dst []byte) ([]byte, error)      { return appendJSON(dst, f) }
func (f *Event) appendBody(dst []byte) ([]byte, error)         { return appendJSON(dst, f) }
func (f *Page) appendBody(dst []byte) ([]byte, error)          { return appendJSON(dst, f) }
func (f *PageReply) appendBody(dst []byte) ([]byte, error)     { return appendJSON(dst, f) }
func (f *RPC) appendBody(dst []byte) ([]byte, error)           { return appendJSON(dst, f) }
func (f *RPCReply) appendBody(dst []byte) ([]byte, error)      { return appendJSON(dst, f) }
func (f *Restarting) appendBody(dst []byte) ([]byte, error)    { return appendJSON(dst, f) }
func (f *Problem) appendBody(dst []byte) ([]byte, error)       { return appendJSON(dst, f) }
func (f *HolderHello) appendBody(dst []byte) ([]byte, error)   { return appendJSON(dst, f) }
func (f *HolderWelcome) appendBody(dst []byte) ([]byte, error) { return appendJSON(dst, f) }
func (f *HolderAttach) appendBody(dst []byte) ([]byte, error)  { return appendJSON(dst, f) }

func (f *HostHello) decodeBody(b []byte) error     { return decodeJSON(b, f) }
func (f *HostWelcome) decodeBody(b []byte) error   { return decodeJSON(b, f) }
func (f *SessionOpen) decodeBody(b []byte) error   { return decodeJSON(b, f) }
func (f *SessionResume) decodeBody(b []byte) error { return decodeJSON(b, f) }
func (f *SessionUpdate) decodeBody(b []byte) error { return decodeJSON(b, f) }
func (f *SessionClosed) decodeBody(b []byte) error { return decodeJSON(b, f) }
func (f *ViewerHello) decodeBody(b []byte) error   { return decodeJSON(b, f) }
func (f *ViewerWelcome) decodeBody(b []byte) error { return decodeJSON(b, f) }
func (f *Attach) decodeBody(b []byte) error        { return decodeJSON(b, f) }
func (f *Attached) decodeBody(b []byte) error      { return decodeJSON(b, f) }
func (f *Event) decodeBody(b []byte) error         { return decodeJSON(b, f) }
func (f *Page) decodeBody(b []byte) error          { return decodeJSON(b, f) }
func (f *PageReply) decodeBody(b []byte) error     { return decodeJSON(b, f) }
func (f *RPC) decodeBody(b []byte) error           { return decodeJSON(b, f) }
func (f *RPCReply) decodeBody(b []byte) error      { return decodeJSON(b, f) }
func (f *Restarting) decodeBody(b []byte) error    { return decodeJSON(b, f) }
func (f *Problem) decodeBody(b []byte) error       { return decodeJSON(b, f) }
func (f *HolderHello) decodeBody(b []byte) error   { return decodeJSON(b, f) }
func (f *HolderWelcome) decodeBody(b []byte) error { return decodeJSON(b, f) }
func (f *HolderAttach) decodeBody(b []byte) error  { return decodeJSON(b, f) }

// frameTypes maps numbers to names and constructors. It is filled once, below,
// and only read afterwards.
var frameTypes map[Type]frameEntry

type frameEntry struct {
	name string
	make func() Frame
}

func init() {
	frameTypes = map[Type]frameEntry{
		TypeHostHello:     {"HostHello", func() Frame { return new(HostHello) }},
		TypeHostWelcome:   {"HostWelcome", func() Frame { return new(HostWelcome) }},
		TypeSessionOpen:   {"SessionOpen", func() Frame { return new(SessionOpen) }},
		TypeSessionResume: {"SessionResume", func() Frame { return new(SessionResume) }},
		TypeSessionUpdate: {"SessionUpdate", func() Frame { return new(SessionUpdate) }},
		TypeSessionClosed: {"SessionClosed", func() Frame { return new(SessionClosed) }},
		TypeViewerHello:   {"ViewerHello", func() Frame { return new(ViewerHello) }},
		TypeViewerWelcome: {"ViewerWelcome", func() Frame { return new(ViewerWelcome) }},
		TypeAttach:        {"Attach", func() Frame { return new(Attach) }},
		TypeAttached:      {"Attached", func() Frame { return new(Attached) }},
		TypeDetach:        {"Detach", func() Frame { return new(Detach) }},
		TypeLive:          {"Live", func() Frame { return new(Live) }},
		TypeEvent:         {"Event", func() Frame { return new(Event) }},
		TypeOutput:        {"Output", func() Frame { return new(Output) }},
		TypeAck:           {"Ack", func() Frame { return new(Ack) }},
		TypeResize:        {"Resize", func() Frame { return new(Resize) }},
		TypeGap:           {"Gap", func() Frame { return new(Gap) }},
		TypeReset:         {"Reset", func() Frame { return new(Reset) }},
		TypeExit:          {"Exit", func() Frame { return new(Exit) }},
		TypeState:         {"State", func() Frame { return new(State) }},
		TypeRepaint:       {"Repaint", func() Frame { return new(Repaint) }},
		TypeInput:         {"Input", func() Frame { return new(Input) }},
		TypeInputAck:      {"InputAck", func() Frame { return new(InputAck) }},
		TypeRetire:        {"Retire", func() Frame { return new(Retire) }},
		TypeClaimSize:     {"ClaimSize", func() Frame { return new(ClaimSize) }},
		TypeReleaseSize:   {"ReleaseSize", func() Frame { return new(ReleaseSize) }},
		TypeSizeOwner:     {"SizeOwner", func() Frame { return new(SizeOwner) }},
		TypePresence:      {"Presence", func() Frame { return new(Presence) }},
		TypePage:          {"Page", func() Frame { return new(Page) }},
		TypePageReply:     {"PageReply", func() Frame { return new(PageReply) }},
		TypeRPC:           {"RPC", func() Frame { return new(RPC) }},
		TypeRPCReply:      {"RPCReply", func() Frame { return new(RPCReply) }},
		TypeRestarting:    {"Restarting", func() Frame { return new(Restarting) }},
		TypeProblem:       {"Problem", func() Frame { return new(Problem) }},
		TypePing:          {"Ping", func() Frame { return new(Ping) }},
		TypePong:          {"Pong", func() Frame { return new(Pong) }},
		TypeHolderHello:   {"HolderHello", func() Frame { return new(HolderHello) }},
		TypeHolderWelcome: {"HolderWelcome", func() Frame { return new(HolderWelcome) }},
		TypeHolderAttach:  {"HolderAttach", func() Frame { return new(HolderAttach) }},
	}
}

func newFrame(frameType Type) Frame {
	if entry, ok := frameTypes[frameType]; ok {
		return entry.make()
	}
	return &Unknown{FrameType: frameType}
}
