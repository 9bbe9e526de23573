package server

import (
	"strings"

	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// SessionKey names a session. A session's id is unique only inside its host.
type SessionKey struct {
	Host string `json:"host"`
	ID   string `json:"id"`
}

// String is for logs.
func (k SessionKey) String() string { return k.Host + "/" + k.ID }

// SessionIDLength is the length of a session id: 128 bits in Crockford base32.
const SessionIDLength = 26

// ValidSessionID says whether id has the form that hosts give: 26 lower-case
// characters of Crockford's base32. A host's word is checked before it is used
// as a key or shown.
func ValidSessionID(id string) bool {
	if len(id) != SessionIDLength {
		return false
	}
	for i := range len(id) {
		if !strings.ContainsRune("0123456789abcdefghjkmnpqrstvwxyz", rune(id[i])) {
			return false
		}
	}
	return true
}

// SessionState is where a session is in its life.
type SessionState string

// States of a session. Unreachable is none of them: see Session.Online.
const (
	StateRunning SessionState = "running"
	StateExited  SessionState = "exited"
	StateLost    SessionState = "lost"
)

// Ended says that the program is gone.
func (s SessionState) Ended() bool { return s == StateExited || s == StateLost }

// Session is a session as it is shown: one item of GET /api/sessions and the
// body of a viewer's session event. Times are durations in milliseconds.
type Session struct {
	ID       string         `json:"id" doc:"Unique inside its host"`
	Host     string         `json:"host" doc:"The host's id"`
	HostName string         `json:"host_name"`
	Name     untrusted.Text `json:"name"`
	Command  untrusted.Text `json:"command" doc:"The argv joined for display"`
	Cwd      untrusted.Text `json:"cwd"`
	Agent    untrusted.Text `json:"agent" doc:"Known agent: claude, gemini, codex, shell …; empty when unknown"`
	State    SessionState   `json:"state" enum:"running,exited,lost"`
	Exit     *Exit          `json:"exit" doc:"Set when the state is exited"`
	// LostReason is set when State is StateLost.
	LostReason untrusted.Text `json:"lost_reason,omitempty"`
	Online     bool           `json:"online" doc:"Whether the host is connected"`
	LastSeenMS int64          `json:"last_seen_ms" doc:"How long ago the host was last connected; 0 while online"`
	Cols       uint16         `json:"cols"`
	Rows       uint16         `json:"rows"`
	CreatedMS  int64          `json:"created_ms" doc:"Age"`
	ActiveMS   int64          `json:"active_ms" doc:"How long ago the last output came"`
	Title      untrusted.Text `json:"title" doc:"The terminal's title: the program's word"`
	Status     Status         `json:"status"`
	LastLine   untrusted.Text `json:"last_line" doc:"Last line on screen that is not blank"`
	Prompt     *Prompt        `json:"prompt" doc:"A question with numbered or y/n options on screen, unverified"`
	Bell       uint64         `json:"bell" doc:"How often the bell rang"`
	Viewers    int            `json:"viewers" doc:"Viewers attached right now"`
	SizeOwner  SizeOwner      `json:"size_owner"`
	// InputBlocked says that the program does not read its input.
	InputBlocked bool `json:"input_blocked,omitempty"`
	// Warning is a fault on the host that the person should know.
	Warning untrusted.Text `json:"warning,omitempty"`
}

// Key is the session's key.
func (s Session) Key() SessionKey { return SessionKey{Host: s.Host, ID: s.ID} }

// Exit is how a program ended. Signal is empty when it exited with Code.
type Exit struct {
	Code   int            `json:"code"`
	Signal untrusted.Text `json:"signal"`
}

// StatusKind is what a session is doing, as far as can be told.
type StatusKind string

// Kinds of status, in the order of UX's list.
const (
	StatusNeedsYou StatusKind = "needs_you"
	StatusWorking  StatusKind = "working"
	StatusWaiting  StatusKind = "waiting"
	StatusIdle     StatusKind = "idle"
	StatusDone     StatusKind = "done"
	StatusFailed   StatusKind = "failed"
	StatusEnded    StatusKind = "ended"
)

// StatusSource is how a status is known.
type StatusSource string

// Sources of a status, from the most to the least certain.
const (
	SourceProgram  StatusSource = "program"  // OSC 7501
	SourceScreen   StatusSource = "screen"   // a prompt on screen
	SourceTitle    StatusSource = "title"    // title, progress, notification
	SourceActivity StatusSource = "activity" // bytes came, or did not
)

// Status is what a session is doing and how that is known.
type Status struct {
	Kind   StatusKind     `json:"kind" enum:"needs_you,working,waiting,idle,done,failed,ended"`
	Text   untrusted.Text `json:"text"`
	Source StatusSource   `json:"source" enum:"program,screen,title,activity"`
}

// Prompt is a question on screen. It is what the screen says and nothing more:
// it never carries a verdict.
type Prompt struct {
	ID       string         `json:"id"`
	Question untrusted.Text `json:"question"`
	Options  []PromptOption `json:"options" nullable:"false"`
}

// PromptOption is one answer that the screen offers. Key has the names of the keys
// to press, parted by single spaces ("1", "esc", "y enter"); they come from tables,
// never from the screen's text.
type PromptOption struct {
	Key   string         `json:"key"`
	Label untrusted.Text `json:"label"`
}

// SizeOwnerKind says what sort of client decides a session's size.
type SizeOwnerKind string

// Kinds of size owner.
const (
	OwnerNone   SizeOwnerKind = "none"
	OwnerViewer SizeOwnerKind = "viewer"
	OwnerLocal  SizeOwnerKind = "local"
)

// SizeOwner says who decides the size. Mine is true only in what is sent to the
// very viewer that does.
type SizeOwner struct {
	Kind SizeOwnerKind `json:"kind" enum:"viewer,local,none"`
	Mine bool          `json:"mine"`
}

// OwnerKindOf is the JSON word for a wire owner kind.
func OwnerKindOf(kind wire.OwnerKind) SizeOwnerKind {
	switch kind {
	case wire.OwnerViewer:
		return OwnerViewer
	case wire.OwnerLocal:
		return OwnerLocal
	default:
		return OwnerNone
	}
}

// Host is a host as it is shown: one item of GET /api/hosts and the body of a
// viewer's host event.
type Host struct {
	ID   string `json:"id"`
	Name string `json:"name" doc:"Given at enrolment"`
	// Online says that its uplink is open.
	Online      bool           `json:"online"`
	ConnectedMS int64          `json:"connected_ms" doc:"How long it has been connected; 0 while offline"`
	LastSeenMS  int64          `json:"last_seen_ms" doc:"How long ago it was last connected; 0 while online, -1 when never"`
	CreatedMS   int64          `json:"created_ms" doc:"How long ago it was enrolled"`
	Version     untrusted.Text `json:"version" doc:"The daemon's version, empty when never connected"`
	Sessions    int            `json:"sessions" doc:"Sessions that run"`
	// Problem is a standing fault, such as a second daemon with the same token.
	Problem untrusted.Text `json:"problem,omitempty"`
}

// Device is a paired browser as it is shown.
type Device struct {
	ID         string   `json:"id"`
	Name       string   `json:"name"`
	Scopes     []string `json:"scopes" nullable:"false"`
	CreatedMS  int64    `json:"created_ms" doc:"How long ago it was paired"`
	LastSeenMS int64    `json:"last_seen_ms" doc:"How long ago it was last here"`
	Address    string   `json:"address" doc:"Where it was paired from; for display only"`
	Insecure   bool     `json:"insecure" doc:"Whether it was paired over plain HTTP off loopback"`
	Current    bool     `json:"current" doc:"Whether it is the one that asks"`
	// Sessions are those that a guest may see; empty for everybody else.
	Sessions  []SessionKey `json:"sessions,omitempty" nullable:"false" doc:"The only sessions that a guest sees; absent for a device of one's own"`
	ExpiresMS int64        `json:"expires_ms" doc:"How long it lives at most, unless it is paired again"`
}
