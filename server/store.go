package server

import (
	"context"
	"time"

	"github.com/agent-helm/agent-helm/internal/wire"
)

// Store is everything that outlives the server process. Every method is safe
// for concurrent use, takes effect at once or not at all, and has been written
// to disk when it returns. A thing that is not there is an Error with the
// code that its method names. Times are stored in milliseconds.
type Store interface {
	HostStore
	SessionStore
	DeviceStore
	TokenStore
	TicketStore
	CodeStore
	PairingStore
	AuditStore
	SettingStore

	// Changed returns a number that differs from the last one when something
	// was written since, by this process or by another: a command on the data
	// directory revokes a device while the server runs.
	Changed(ctx context.Context) (int64, error)
	// Close waits for calls in flight.
	Close() error
}

// Hash is SHA-256 of a secret. Stores hold hashes only.
type Hash [32]byte

// HostRecord is an enrolled host.
type HostRecord struct {
	// ID is a UUID.
	ID        string
	Name      string
	CreatedAt time.Time
	// LastSeenAt is zero for a host that never connected.
	LastSeenAt time.Time
	Version    string
}

// HostStore keeps hosts.
type HostStore interface {
	// Host fails with CodeUnknownHost.
	Host(ctx context.Context, id string) (HostRecord, error)
	// Hosts lists all, by name.
	Hosts(ctx context.Context) ([]HostRecord, error)
	// SeeHosts records when hosts were last connected and their version, all in
	// one write: callers batch it (an idle server writes < 1 MB an hour).
	// Unknown hosts are ignored.
	SeeHosts(ctx context.Context, seen []HostSeen) error
	// DeleteHost removes a host, its token and its sessions. It fails with
	// CodeUnknownHost.
	DeleteHost(ctx context.Context, id string) error
}

// HostSeen is one entry of SeeHosts.
type HostSeen struct {
	ID      string
	At      time.Time
	Version string
}

// SessionRecord is what remains of a session when neither its host nor its live
// copy is there: enough to list it.
type SessionRecord struct {
	SessionKey
	Name, Command, Cwd, Agent string
	State                     SessionState
	Exit                      *Exit
	LostReason                string
	Cols, Rows                uint16
	CreatedAt                 time.Time
	ActiveAt                  time.Time
	// EndedAt is zero while the session runs.
	EndedAt  time.Time
	Title    string
	LastLine string
	Status   Status
	Bell     uint64
}

// SessionSnapshot is a terminal's state at a position.
type SessionSnapshot struct {
	Position   wire.Position
	Cols, Rows uint16
	// VT is the version of internal/vt that wrote Data.
	VT   int
	Data []byte
	At   time.Time
}

// SessionStore keeps sessions and the last state of each.
type SessionStore interface {
	// PutSession creates or replaces a record; the snapshot stays. It fails
	// with CodeUnknownHost.
	PutSession(ctx context.Context, record SessionRecord) error
	// Session fails with CodeUnknownSession.
	Session(ctx context.Context, key SessionKey) (SessionRecord, error)
	// Sessions lists all sessions of all hosts, newest id first.
	Sessions(ctx context.Context) ([]SessionRecord, error)
	// PutSnapshot replaces the snapshot of a session. It fails with
	// CodeUnknownSession.
	PutSnapshot(ctx context.Context, key SessionKey, snapshot SessionSnapshot) error
	// Snapshot fails with CodeUnknownSession when there is none.
	Snapshot(ctx context.Context, key SessionKey) (SessionSnapshot, error)
	// DeleteSession removes record and snapshot. It fails with
	// CodeUnknownSession.
	DeleteSession(ctx context.Context, key SessionKey) error
}

// DeviceRecord is a paired browser.
type DeviceRecord struct {
	ID      string
	Name    string
	Scopes  Scopes
	Binding Binding
	// Proof is the hash of the second credential (THREATS S-8).
	Proof      Hash
	CreatedAt  time.Time
	LastSeenAt time.Time
	// ExpiresAt is the absolute end, however often it is used.
	ExpiresAt time.Time
	// Insecure is set for a device paired over plain HTTP off loopback.
	Insecure bool
	Address  string
	// Tailnet is the login or tag that the tailnet gave for its peer when it was
	// paired there; its cookie is good for nobody else (THREATS S-1). Empty for
	// a device that was paired elsewhere.
	Tailnet string
	// RevokedAt is zero for a device that may sign in.
	RevokedAt time.Time
	// Minter is the id of the device or token that let it in; empty for the console.
	Minter string
}

// LoginRecord is one cookie of a device. A device has one, or two for the short
// while of a rotation.
type LoginRecord struct {
	// ID is the hash of the random id in the cookie.
	ID         Hash
	Device     string
	CreatedAt  time.Time
	LastSeenAt time.Time
	// Replaces names the login that this one takes over from once it is first
	// used. Zero for the first login of a device, and once that has happened.
	Replaces Hash
	// ReplacedAt is when a successor was first used; zero while there is none.
	ReplacedAt time.Time
}

// DeviceStore keeps devices and their logins.
type DeviceStore interface {
	// Device fails with CodeUnknownDevice. Revoked devices are found.
	Device(ctx context.Context, id string) (DeviceRecord, error)
	// Devices lists those that are not revoked, newest first.
	Devices(ctx context.Context) ([]DeviceRecord, error)
	// RevokeDevice marks a device. Its logins stay, so that its browser can be
	// told. It fails with CodeUnknownDevice; revoking twice is no fault.
	RevokeDevice(ctx context.Context, id string, at time.Time) error
	// RenameDevice fails with CodeUnknownDevice for one that is revoked.
	RenameDevice(ctx context.Context, id, name string) error
	// SeeDevices records in one write when devices were last here.
	SeeDevices(ctx context.Context, seen map[string]time.Time) error
	// Login finds a login and its device. It fails with CodeUnauthenticated.
	Login(ctx context.Context, id Hash) (LoginRecord, DeviceRecord, error)
	// AddLogin adds a login that replaces another, which stays valid until the
	// new one is confirmed. It fails with CodeConflict when the other one is
	// gone or was replaced already.
	AddLogin(ctx context.Context, login LoginRecord) error
	// ConfirmLogin records the first use of a login that replaces another: that
	// one is marked, and other successors of it, which nobody used, are removed.
	ConfirmLogin(ctx context.Context, id Hash, at time.Time) error
}

// TokenRecord is a bearer token: of a script, or of a host when Host is set.
type TokenRecord struct {
	// ID is the public part.
	ID   string
	Name string
	// Secret is the hash of the secret part.
	Secret  Hash
	Host    string
	Scopes  Scopes
	Binding Binding
	// CreatedBy is for display: "device Pixel 7", "console". Minter is its id,
	// empty for the console.
	CreatedBy, Minter string
	CreatedAt         time.Time
	LastUsedAt        time.Time
	// ExpiresAt is zero for a token without end.
	ExpiresAt time.Time
	RevokedAt time.Time
}

// TokenStore keeps tokens.
type TokenStore interface {
	// CreateToken fails with CodeNameTaken when a live token has the name.
	CreateToken(ctx context.Context, token TokenRecord) error
	// Token finds by public id; revoked ones too. It fails with
	// CodeUnknownToken.
	Token(ctx context.Context, id string) (TokenRecord, error)
	// Tokens lists the live tokens of scripts, newest first; those of hosts are
	// not among them.
	Tokens(ctx context.Context) ([]TokenRecord, error)
	// RevokeToken fails with CodeUnknownToken; twice is no fault.
	RevokeToken(ctx context.Context, id string, at time.Time) error
	// RevokeMadeBy ends what a device or token made (THREATS S-35): its tokens,
	// the guests of its links, unused links and codes, and what those made in turn.
	// Devices that see all sessions stay. It returns the tokens and guests that it
	// ended, by kind, id and name.
	RevokeMadeBy(ctx context.Context, minter string, at time.Time) ([]Principal, error)
	// SeeTokens records in one write when tokens were last used.
	SeeTokens(ctx context.Context, seen map[string]time.Time) error
}

// Grant is what a ticket or code gives. It is fixed when it is made.
type Grant struct {
	// Kind is PrincipalDevice or PrincipalHost.
	Kind    PrincipalKind
	Scopes  Scopes
	Binding Binding
	// CreatedBy is for display: "device Pixel 7", "console". Minter is its id,
	// empty for the console.
	CreatedBy, Minter string
	CreatedAt         time.Time
	ExpiresAt         time.Time
}

// TicketRecord is a single-use link.
type TicketRecord struct {
	Secret Hash
	Grant
	// Until is when the device that it pairs ends at the latest; zero: as any
	// other device does.
	Until time.Time
	// UsedAt is zero for a ticket that was not used. UsedBy is the name and
	// UsedFrom the address of whoever did.
	UsedAt           time.Time
	UsedBy, UsedFrom string
}

// TicketStore keeps tickets. Expired ones are kept a day so that a second use
// can say what became of the first.
type TicketStore interface {
	CreateTicket(ctx context.Context, ticket TicketRecord) error
	// RedeemTicket uses a ticket and creates the device with its first login,
	// all or nothing. The device's scopes and binding are the ticket's, limited
	// to limit. It fails with CodeTicketInvalid for one that is unknown or
	// expired at now, and with CodeTicketUsed, together with the record, for a
	// second use.
	RedeemTicket(ctx context.Context, secret Hash, now time.Time, limit Scopes, device DeviceRecord, login LoginRecord) (TicketRecord, error)
}

// CodeRecord is a six-character code.
type CodeRecord struct {
	// ID is random, for display and for cancelling.
	ID string
	// Secret is a keyed hash: six characters are too few for a plain one.
	Secret Hash
	Grant
	// WrongTries counts wrong codes entered while this one was live.
	WrongTries int
	UsedAt     time.Time
	UsedBy     string
	// CancelledAt is set when too many wrong tries came; CancelledFrom lists
	// the addresses.
	CancelledAt   time.Time
	CancelledFrom string
}

// CodeStore keeps codes.
type CodeStore interface {
	// CreateCode fails with CodeLimit when maxLive codes are live at
	// code.CreatedAt.
	CreateCode(ctx context.Context, code CodeRecord, maxLive int) error
	// LiveCodes lists the codes that can be used at now.
	LiveCodes(ctx context.Context, now time.Time) ([]CodeRecord, error)
	// Code fails with CodeNotFound. A minter asks it what became of a code.
	Code(ctx context.Context, id string) (CodeRecord, error)
	// RedeemDeviceCode uses a code and creates the device with its first login,
	// all or nothing. It fails with CodePairCode when it is not live any more.
	RedeemDeviceCode(ctx context.Context, id string, now time.Time, device DeviceRecord, login LoginRecord) error
	// RedeemHostCode uses a code and creates the host with its token, all or
	// nothing. It fails with CodePairCode when it is not live any more and
	// with CodeNameTaken when a host has the name.
	RedeemHostCode(ctx context.Context, id string, now time.Time, host HostRecord, token TokenRecord) error
	// WrongCode counts one wrong try against every live code and cancels all of
	// them when one has had limit. It reports whether it did.
	WrongCode(ctx context.Context, now time.Time, from string, limit int) (cancelled bool, err error)
}

// PairingRecord is a host's request for the code of a new device (THREATS S-2).
type PairingRecord struct {
	// ID is four characters of the codes' alphabet, for comparing two screens.
	ID   string
	Host string
	// HostName is the host's name; the store looks it up.
	HostName string
	// Scopes are what is asked for, and once confirmed what was granted.
	Scopes Scopes
	// Address is where the host is connected from, for display.
	Address   string
	CreatedAt time.Time
	ExpiresAt time.Time
	State     PairingState
	// DecidedBy is who confirmed or denied it: kind, id and name.
	DecidedBy Principal
}

// PairingState is what became of a request.
type PairingState string

// States of a request. One that waits beyond its ExpiresAt has expired.
const (
	PairingWaiting   PairingState = "waiting"
	PairingConfirmed PairingState = "confirmed"
	PairingDenied    PairingState = "denied"
	PairingCancelled PairingState = "cancelled" // by its host, or because that went away
)

// PairingStore keeps hosts' requests for codes.
type PairingStore interface {
	// CreatePairing adds a request and cancels an earlier one of the same host.
	// It fails with CodeUnknownHost, with CodeConflict when the id is taken, and
	// with CodeLimit when maxWaiting wait already.
	CreatePairing(ctx context.Context, record PairingRecord, maxWaiting int) error
	// Pairing fails with CodeUnknownPairing.
	Pairing(ctx context.Context, id string) (PairingRecord, error)
	// Pairings lists those that wait at now, oldest first.
	Pairings(ctx context.Context, now time.Time) ([]PairingRecord, error)
	// DecidePairing moves a request that waits at now into another state. scopes
	// is what is granted, at most; by needs no more than kind, id and name. It
	// returns the request as it is then, and fails with CodeUnknownPairing for
	// one that does not wait.
	DecidePairing(ctx context.Context, id string, now time.Time, state PairingState, scopes Scopes, by Principal) (PairingRecord, error)
}

// AuditRecord is one line of what was done, by whom, from where. It holds no
// secret and no terminal content.
type AuditRecord struct {
	ID int64     `json:"id"`
	At time.Time `json:"at"`
	// Action is a stable word such as "device.paired".
	Action string `json:"action"`
	// Who did it. All are empty for somebody unknown.
	Kind PrincipalKind `json:"kind,omitempty"`
	Who  string        `json:"who,omitempty"`
	Name string        `json:"name,omitempty"`
	// Address is the peer's, for display only.
	Address string `json:"address,omitempty"`
	// Target is the id of what it was done to.
	Target string `json:"target,omitempty"`
	Detail string `json:"detail,omitempty"`
}

// Actions of audit lines.
const (
	AuditLinkMade      = "link.made"
	AuditGuestInvited  = "guest.invited"
	AuditExported      = "audit.exported"
	AuditCodeMade      = "code.made"
	AuditCodeFailed    = "code.failed"
	AuditCodeCancelled = "code.cancelled"
	AuditTicketFailed  = "ticket.failed"
	AuditPairingAsked  = "pairing.requested"
	AuditPairingGiven  = "pairing.confirmed"
	AuditPairingDenied = "pairing.denied"
	AuditPairingFlood  = "pairing.refused"
	AuditDevicePaired  = "device.paired"
	AuditDeviceRevoked = "device.revoked"
	AuditDeviceRenamed = "device.renamed"
	AuditSignOut       = "device.signed_out"
	AuditLoginReplayed = "login.replayed"
	AuditHostEnrolled  = "host.enrolled"
	AuditHostRemoved   = "host.removed"
	AuditTokenCreated  = "token.created"
	AuditTokenRevoked  = "token.revoked"
	AuditStart         = "session.started"
	AuditKill          = "session.killed"
	AuditSignal        = "session.signalled"
	AuditForget        = "session.forgotten"
	AuditRename        = "session.renamed"
	AuditSizeOwner     = "session.size_owner"
	AuditInputOwner    = "session.input_owner"
	AuditProxyIgnored  = "proxy.ignored"
)

// AuditQuery names audit lines. Empty fields name all of them.
type AuditQuery struct {
	// Before is the id that all are below, 0 for none.
	Before int64
	// Action is an action, or the part before its dot for all of one thing.
	Action string
	// Who is the id of who did it, Target that of what it was done to.
	Who, Target string
	// Max bounds how many there are.
	Max int
}

// AuditStore keeps audit lines, append only: the store refuses to change or
// remove one. Each line's chain value covers the line and its predecessor's.
type AuditStore interface {
	AppendAudit(ctx context.Context, record AuditRecord) error
	// Audit lists the lines that a query names, newest first.
	Audit(ctx context.Context, query AuditQuery) ([]AuditRecord, error)
	// VerifyAudit recomputes the chain and returns the id of the first line
	// that does not fit, 0 when all do.
	VerifyAudit(ctx context.Context) (int64, error)
}

// Keys of settings.
const (
	SettingPublicURL = "public_url" // addresses of --public-url, separated by spaces
	SettingListenURL = "listen_url" // where the running server listens
	SettingLinkURL   = "link_url"   // what links begin with when there is no public URL
	SettingPin       = "pin"        // SHA-256 of the TLS key that the server itself uses, base64url; empty behind a proxy
)

// SettingStore keeps a few named values that commands on the data directory
// need from the running server.
type SettingStore interface {
	// Setting is the empty string for a key that is not set.
	Setting(ctx context.Context, key string) (string, error)
	PutSetting(ctx context.Context, key, value string) error
}
