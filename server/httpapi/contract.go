package httpapi

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
)

// Fleet is what the API needs of the hosts and sessions that are known. Errors
// are server.Errors; anything else is an internal fault. Whether the caller may
// do it was decided before.
type Fleet interface {
	// Hosts and Sessions list what is known, connected or not; sessions newest
	// id first.
	Hosts() []server.Host
	Sessions() []server.Session
	// Find names a session by its id and, if host is not empty, its host's id.
	// It fails with CodeUnknownSession.
	Find(host, id string) (server.SessionKey, error)
	// Session fails with CodeUnknownSession.
	Session(key server.SessionKey) (server.Session, error)

	// Start asks a host for a session. It fails with CodeUnknownHost,
	// CodeHostOffline, or what the host says.
	Start(ctx context.Context, host string, params wire.StartParams) (wire.StartResult, error)
	Rename(ctx context.Context, key server.SessionKey, name string) error
	// Kill hangs up the program's process group, and kills it 5 s later.
	Kill(ctx context.Context, key server.SessionKey) error
	// Forget removes an ended session for good.
	Forget(ctx context.Context, key server.SessionKey) error
	// Signal is one of "esc", "ctrl-c", "hup", "term", "kill".
	Signal(ctx context.Context, key server.SessionKey, signal string) error
	// Input waits, boundedly, for the holder's word. nil: the PTY has taken it.
	Input(ctx context.Context, key server.SessionKey, input Input) error
	// Resize claims the size, without waiting for the host to decide.
	Resize(ctx context.Context, key server.SessionKey, cols, rows uint16) error

	// Screen is the session's terminal as it is now, in a format of
	// GET …/screen. It works for a session whose host is away.
	Screen(ctx context.Context, key server.SessionKey, format string) ([]byte, error)
	// Page is history above a line, newest first, as vt.Page in JSON; before 0
	// is the newest.
	Page(ctx context.Context, key server.SessionKey, before uint64, limit int) (json.RawMessage, error)

	// Search looks for params.Query in the session's screen and history, newest
	// first. complete is false when its host may have older lines and could not
	// be asked. It fails with CodeInvalid for a pattern that cannot be used.
	Search(ctx context.Context, key server.SessionKey, params wire.SearchParams) (result vt.SearchResult, complete bool, err error)
	// Recording reads a piece of the session's recording from its host, behind
	// from or its beginning. It fails with CodeHostOffline.
	Recording(ctx context.Context, key server.SessionKey, from *wire.Position) (wire.RecordingResult, error)

	// Subscribe gives the changes that principal may see.
	Subscribe(principal server.Principal) Subscription

	// AnnounceDevice tells everybody who could revoke it of a new device.
	AnnounceDevice(device server.Device)

	// AddHost takes a host that was enrolled, RemoveHost drops what is kept of
	// one that was removed from the store.
	AddHost(host server.HostRecord)
	RemoveHost(ctx context.Context, host string)
}

// Subscription is a stream of changes. It begins with one snapshot, and has
// another when its reader was slow.
type Subscription interface {
	// Next waits for changes. It fails with the cause of ctx, or when there will
	// be no more.
	Next(ctx context.Context) ([]wire.Event, error)
	Close()
}

// Input is one operation for a session's PTY.
type Input struct {
	Kind wire.InputKind
	Data []byte
	// Idempotency names the input, and whose it is: the same again is not typed
	// twice. Empty: every call is another input.
	Idempotency string
}

// Sockets take over the two WebSockets. Each returns when its socket is gone,
// at the latest when the request's context ends; the context's cause then says
// why, as a server.Error. Name, origin, credential and scope were checked.
type Sockets interface {
	ServeViewer(w http.ResponseWriter, r *http.Request, viewer Viewer)
	ServeHost(w http.ResponseWriter, r *http.Request, host server.Principal)
}

// Viewer is who opened a viewer socket.
type Viewer struct {
	Principal server.Principal
	// CheckProof, when set, must accept ViewerHello.Proof before anything else
	// is done (THREATS S-8). It fails with CodeProofRequired.
	CheckProof func(ctx context.Context, proof string) error
}
