package auth

import (
	"context"
	"net/http"
	"time"

	"github.com/gorilla/securecookie"
	"github.com/gorilla/sessions"

	"github.com/agent-helm/agent-helm/server"
)

// Transport is how a request reached the server. It is known from the server's
// configuration, never from what the request says of itself.
type Transport int

// Transports.
const (
	TransportTLS      Transport = iota // https, by us or by a configured proxy
	TransportLoopback                  // plain HTTP, and the server listens on loopback only
	TransportLAN                       // plain HTTP off loopback, by --insecure-lan
)

// limit is the most that a request over this transport may do.
func (t Transport) limit() server.Scopes {
	if t == TransportLAN {
		return server.InsecureScopes
	}
	return server.AllScopes
}

// Names of the cookie. The prefix __Host- makes browsers refuse it from
// anybody but this host over TLS; they refuse the prefix itself on plain HTTP.
const (
	CookieName       = "agent_helm"
	SecureCookieName = "__Host-agent_helm"
)

// ProofHeader carries the second credential of a cookie session.
const ProofHeader = "X-Agent-Helm-Proof"

// cookieStore is a sessions.Store whose cookie holds nothing but a random id.
// The rest of a session is in the server's store, under the id's hash.
type cookieStore struct {
	name    string
	codec   *securecookie.SecureCookie
	options sessions.Options
}

var _ sessions.Store = (*cookieStore)(nil)

func newCookieStore(key Key, transport Transport) *cookieStore {
	store := &cookieStore{
		name:    CookieName,
		options: sessions.Options{Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode},
	}
	age := DeviceIdle
	switch transport {
	case TransportTLS:
		store.name, store.options.Secure = SecureCookieName, true
	case TransportLAN:
		age = InsecureLifetime
	case TransportLoopback:
	}
	store.codec = securecookie.New(key.derive("cookie "+store.name), nil)
	store.codec.SetSerializer(securecookie.NopEncoder{})
	// Both together: the codec's own limit is 30 days and would sign everybody
	// out on the 31st (THREATS S-17).
	store.codec.MaxAge(int(age / time.Second))
	store.options.MaxAge = int(age / time.Second)
	return store
}

// Get is New: a request's cookie is looked at once.
func (c *cookieStore) Get(r *http.Request, name string) (*sessions.Session, error) {
	return c.New(r, name)
}

// New returns the session of the request's cookie, or a new one without an id.
func (c *cookieStore) New(r *http.Request, name string) (*sessions.Session, error) {
	session := sessions.NewSession(c, name)
	options := c.options
	session.Options, session.IsNew = &options, true
	cookie, err := r.Cookie(name)
	if err != nil {
		return session, nil //nolint:nilerr // no cookie is a new session
	}
	var id []byte
	if err := c.codec.Decode(name, cookie.Value, &id); err != nil {
		return session, err
	}
	if isRandomText(string(id), cookieBytes) {
		session.ID, session.IsNew = string(id), false
	}
	return session, nil
}

// Save sets the cookie, or removes it when the session's MaxAge is negative.
func (c *cookieStore) Save(_ *http.Request, w http.ResponseWriter, session *sessions.Session) error {
	if session.Options.MaxAge < 0 {
		http.SetCookie(w, sessions.NewCookie(session.Name(), "", session.Options))
		return nil
	}
	encoded, err := c.codec.Encode(session.Name(), []byte(session.ID))
	if err != nil {
		return err
	}
	http.SetCookie(w, sessions.NewCookie(session.Name(), encoded, session.Options))
	return nil
}

// SetCookie hands a browser its session.
func (s *Service) SetCookie(w http.ResponseWriter, r *http.Request, transport Transport, id string) error {
	store := s.cookies[transport]
	session := sessions.NewSession(store, store.name)
	options := store.options
	session.ID, session.Options = id, &options
	return session.Save(r, w)
}

// ClearCookie takes the session from a browser.
func (s *Service) ClearCookie(w http.ResponseWriter, r *http.Request, transport Transport) error {
	store := s.cookies[transport]
	session := sessions.NewSession(store, store.name)
	options := store.options
	options.MaxAge = -1
	session.Options = &options
	return session.Save(r, w)
}

// Credential is how a principal proved who it is.
type Credential struct {
	// Cookie says that a browser sent it by itself: the request needs an exact
	// Origin, and on plain HTTP a proof.
	Cookie bool
	login  server.LoginRecord
}

// Authenticate finds the principal of a request: a bearer token where there is
// an Authorization header, else the cookie. It fails with CodeUnauthenticated,
// or with CodeRevoked for a credential that was good once. It never looks at
// the source address.
func (s *Service) Authenticate(r *http.Request, transport Transport) (server.Principal, Credential, error) {
	if header := r.Header.Get("Authorization"); header != "" {
		principal, err := s.bearer(r.Context(), header)
		return over(principal, transport), Credential{}, err
	}
	store := s.cookies[transport]
	session, err := store.Get(r, store.name)
	if err != nil || session.IsNew {
		return server.Principal{}, Credential{}, server.NewError(server.CodeUnauthenticated)
	}
	now := time.Now()
	login, device, err := s.store.Login(r.Context(), hashOf(session.ID))
	if err != nil {
		return server.Principal{}, Credential{}, err
	}
	credential := Credential{Cookie: true, login: login}
	if err := checkTailnet(r.Context(), device); err != nil {
		return server.Principal{}, credential, err
	}
	if err := s.loginUsable(r.Context(), login, device, now); err != nil {
		return server.Principal{}, credential, err
	}
	s.sawDevice(device.ID, now)
	return over(devicePrincipal(device), transport), credential, nil
}

// loginUsable checks ages and rotation. A cookie that was replaced more than a
// minute ago is a copy: the device is revoked.
func (s *Service) loginUsable(ctx context.Context, login server.LoginRecord, device server.DeviceRecord, now time.Time) error {
	idle := DeviceIdle
	if device.Insecure {
		idle = InsecureLifetime
	}
	switch {
	case !device.RevokedAt.IsZero():
		return server.NewError(server.CodeRevoked)
	case !now.Before(device.ExpiresAt) || now.Sub(s.lastSeen(device)) >= idle:
		return server.Errorf(server.CodeUnauthenticated, "This device was not here for too long: pair again.")
	case !login.ReplacedAt.IsZero() && now.Sub(login.ReplacedAt) > rotateGrace:
		if err := s.store.RevokeDevice(context.WithoutCancel(ctx), device.ID, now); err != nil {
			return err
		}
		s.cut(server.PrincipalDevice, device.ID)
		s.audit(ctx, server.AuditRecord{Action: server.AuditLoginReplayed, Kind: server.PrincipalDevice, Who: device.ID, Name: device.Name,
			Target: device.ID, Detail: "an old copy of its cookie was used: the device is revoked"})
		if err := s.revokeMadeBy(context.WithoutCancel(ctx), Minter{devicePrincipal(device)}, device.ID, "device "+device.Name); err != nil {
			return err
		}
		s.log.Warn("device revoked after a replaced cookie was used", "id", device.ID)
		return server.Errorf(server.CodeRevoked, "An old copy of this device's sign-in was used, which means that somebody may have copied it: the device is revoked. Pair again.")
	case login.Replaces != (server.Hash{}):
		return s.store.ConfirmLogin(ctx, login.ID, now)
	}
	return nil
}

// RotateCookie gives a browser a new cookie when its own is a day old. The old
// one works until the new one was used, and a minute more.
func (s *Service) RotateCookie(w http.ResponseWriter, r *http.Request, transport Transport, p server.Principal, credential Credential) error {
	now := time.Now()
	old := credential.login
	if !credential.Cookie || transport == TransportLAN || now.Sub(old.CreatedAt) < rotateAfter || !old.ReplacedAt.IsZero() || !s.mayRotate(old.ID, now) {
		return nil
	}
	id := randomText(cookieBytes)
	login := server.LoginRecord{ID: hashOf(id), Device: p.ID, CreatedAt: now, LastSeenAt: now, Replaces: old.ID}
	if err := s.store.AddLogin(r.Context(), login); err != nil {
		if server.CodeOf(err) == server.CodeConflict {
			return nil // signed out or replaced in this very moment
		}
		return err
	}
	return s.SetCookie(w, r, transport, id)
}

// mayRotate lets one of many parallel requests rotate: the browser keeps the
// cookie of whichever answer comes last, so there must be only one.
func (s *Service) mayRotate(id server.Hash, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at, ok := s.rotated[id]; ok && now.Sub(at) < rotateGrace {
		return false
	}
	s.rotated[id] = now
	return true
}

// over limits a principal to what its transport allows.
func over(p server.Principal, transport Transport) server.Principal {
	p.Scopes = p.Scopes.Limit(transport.limit())
	p.Insecure = transport == TransportLAN
	return p
}

// CheckProof compares the second credential of a device. It fails with
// CodeProofRequired when it is missing or wrong.
func (s *Service) CheckProof(ctx context.Context, p server.Principal, proof string) error {
	if p.Kind != server.PrincipalDevice {
		return nil
	}
	device, err := s.store.Device(ctx, p.ID)
	if err != nil {
		return err
	}
	if !sameHash(device.Proof, hashOf(proof)) {
		return server.NewError(server.CodeProofRequired)
	}
	return nil
}

// NeedsProof says whether a cookie alone is too little over this transport:
// browsers send cookies to every port of a host (THREATS S-8).
func (t Transport) NeedsProof() bool { return t != TransportTLS }

// SignOut ends a device's cookies and what it has open.
func (s *Service) SignOut(ctx context.Context, p server.Principal) error {
	if p.Kind != server.PrincipalDevice {
		return server.Errorf(server.CodeInvalid, "only a paired browser signs out: revoke a token instead")
	}
	if err := s.store.RevokeDevice(ctx, p.ID, time.Now()); err != nil {
		return err
	}
	s.cut(server.PrincipalDevice, p.ID)
	s.audit(ctx, server.AuditRecord{Action: server.AuditSignOut, Kind: p.Kind, Who: p.ID, Name: p.Name, Target: p.ID})
	return nil
}

// Devices lists the devices that can still sign in, newest first.
func (s *Service) Devices(ctx context.Context) ([]server.DeviceRecord, error) {
	devices, err := s.store.Devices(ctx)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	usable := devices[:0]
	for _, device := range devices {
		device.LastSeenAt = s.lastSeen(device)
		idle := DeviceIdle
		if device.Insecure {
			idle = InsecureLifetime
		}
		if now.Before(device.ExpiresAt) && now.Sub(device.LastSeenAt) < idle {
			usable = append(usable, device)
		}
	}
	return usable, nil
}

// RenameDevice gives a device another name. It fails with CodeUnknownDevice or
// CodeInvalid.
func (s *Service) RenameDevice(ctx context.Context, by Minter, id, name string) error {
	name, err := cleanName(name, "device")
	if err != nil {
		return err
	}
	device, err := s.store.Device(ctx, id)
	if err != nil {
		return err
	}
	if err := s.store.RenameDevice(ctx, id, name); err != nil {
		return err
	}
	s.audit(ctx, by.line(server.AuditDeviceRenamed, id, device.Name+" is now "+name))
	return nil
}

// RevokeDevices ends every device but one, and returns how many there were.
// except is empty to end all of them.
func (s *Service) RevokeDevices(ctx context.Context, by Minter, except string) (revoked int, err error) {
	ctx = context.WithoutCancel(ctx) // the caller may be among what ends
	devices, err := s.store.Devices(ctx)
	if err != nil {
		return 0, err
	}
	for _, device := range devices {
		if device.ID == except {
			continue
		}
		if err := s.RevokeDevice(ctx, by, device.ID); err != nil {
			return revoked, err
		}
		revoked++
	}
	return revoked, nil
}

// RevokeDevice ends a device, what it has open, and what it made: tokens, links,
// codes and guests, not whoever it let in to stay. It fails with
// CodeUnknownDevice.
func (s *Service) RevokeDevice(ctx context.Context, by Minter, id string) error {
	ctx = context.WithoutCancel(ctx) // whoever hangs up, or is what ends, does not leave it half done
	device, err := s.store.Device(ctx, id)
	if err != nil {
		return err
	}
	if err := s.store.RevokeDevice(ctx, id, time.Now()); err != nil {
		return err
	}
	s.cut(server.PrincipalDevice, id)
	s.audit(ctx, by.line(server.AuditDeviceRevoked, id, device.Name))
	return s.revokeMadeBy(ctx, by, id, "device "+device.Name)
}
