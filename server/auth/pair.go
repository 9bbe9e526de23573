package auth

import (
	"context"
	"time"

	"github.com/agent-helm/agent-helm/internal/logging"
	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/server"
)

// PairRequest is a browser that wants in.
type PairRequest struct {
	// Name is the device's, as its person calls it.
	Name string
	// Address is the peer's: for limits and display.
	Address   string
	Transport Transport
	// Tailnet is who the tailnet says is at the other end, a login or a tag. The
	// device's cookie works for nobody else. Empty off the tailnet.
	Tailnet string
}

// Paired is a new device and its two credentials, returned once.
type Paired struct {
	Device server.DeviceRecord
	// Cookie is the random id for SetCookie.
	Cookie string
	// Proof is the second credential, for X-Agent-Helm-Proof.
	Proof string
}

// newDevice makes a device's credentials and the rows that hold their hashes.
func newDevice(request PairRequest, now time.Time) (Paired, server.LoginRecord, error) {
	name, err := cleanName(request.Name, "device")
	if err != nil {
		return Paired{}, server.LoginRecord{}, err
	}
	lifetime := DeviceAbsolute
	if request.Transport == TransportLAN {
		lifetime = InsecureLifetime
	}
	paired := Paired{Cookie: randomText(cookieBytes), Proof: randomText(proofBytes)}
	paired.Device = server.DeviceRecord{
		ID: randomText(deviceIDBytes), Name: name, Proof: hashOf(paired.Proof),
		CreatedAt: now, LastSeenAt: now, ExpiresAt: now.Add(lifetime),
		Insecure: request.Transport == TransportLAN, Address: untrusted.Clean(request.Address, server.MaxName),
		Tailnet: request.Tailnet,
	}
	login := server.LoginRecord{ID: hashOf(paired.Cookie), Device: paired.Device.ID, CreatedAt: now, LastSeenAt: now}
	return paired, login, nil
}

func devicePrincipal(device server.DeviceRecord) server.Principal {
	return server.Principal{Kind: server.PrincipalDevice, ID: device.ID, Name: device.Name, Scopes: device.Scopes, Binding: device.Binding, ExpiresAt: device.ExpiresAt}
}

// CreateTicket makes a single-use link's secret. It fails with CodeForbidden.
func (s *Service) CreateTicket(ctx context.Context, by Minter, scopes server.Scopes) (secret string, expires time.Time, err error) {
	if err := by.mayGive(scopes); err != nil {
		return "", time.Time{}, err
	}
	now := time.Now()
	secret = randomText(ticketBytes)
	record := server.TicketRecord{Secret: hashOf(secret), Grant: server.Grant{
		Kind: server.PrincipalDevice, Scopes: scopes, Binding: by.Binding, CreatedBy: by.label(), Minter: by.ID, CreatedAt: now, ExpiresAt: now.Add(TicketLifetime),
	}}
	if err := s.store.CreateTicket(ctx, record); err != nil {
		return "", time.Time{}, err
	}
	s.audit(ctx, by.line(server.AuditLinkMade, "", scopes.String()))
	return secret, record.ExpiresAt, nil
}

// Bounds of how long a guest may watch.
const (
	GuestLifetime    = time.Hour // when nothing else is said
	MinGuestLifetime = time.Minute
	MaxGuestLifetime = 24 * time.Hour
)

// InviteGuest makes a single-use link that lets one browser watch one session
// until a moment, and do nothing else. The link itself has to be opened within
// TicketLifetime. It fails with CodeForbidden or CodeInvalid.
func (s *Service) InviteGuest(ctx context.Context, by Minter, key server.SessionKey, lifetime time.Duration) (secret string, until, opened time.Time, err error) {
	none := time.Time{}
	if lifetime == 0 {
		lifetime = GuestLifetime
	}
	if lifetime < MinGuestLifetime || lifetime > MaxGuestLifetime {
		return "", none, none, server.Errorf(server.CodeInvalid, "a guest watches for a minute at least and a day at most")
	}
	if err := by.mayGive(server.ScopeRead); err != nil {
		return "", none, none, err
	}
	binding, err := narrow(by.Binding, server.Binding{Sessions: []server.SessionKey{key}})
	if err != nil {
		return "", none, none, err
	}
	now := time.Now()
	until, opened = now.Add(lifetime), now.Add(min(lifetime, TicketLifetime))
	secret = randomText(ticketBytes)
	record := server.TicketRecord{Secret: hashOf(secret), Until: until, Grant: server.Grant{
		Kind: server.PrincipalDevice, Scopes: server.ScopeRead, Binding: binding, CreatedBy: by.label(), Minter: by.ID, CreatedAt: now, ExpiresAt: opened,
	}}
	if err := s.store.CreateTicket(ctx, record); err != nil {
		return "", none, none, err
	}
	s.audit(ctx, by.line(server.AuditGuestInvited, key.String(), "until "+until.UTC().Format(time.RFC3339)))
	return secret, until, opened, nil
}

// PairWithTicket redeems a link. It fails with CodeTicketInvalid, with
// CodeTicketUsed and a sentence that says when and by whom, or with CodeInvalid.
func (s *Service) PairWithTicket(ctx context.Context, ticket string, request PairRequest) (Paired, error) {
	now := time.Now()
	paired, login, err := newDevice(request, now)
	if err != nil {
		return Paired{}, err
	}
	limit := request.Transport.limit()
	record, err := s.store.RedeemTicket(ctx, hashOf(ticket), now, limit, paired.Device, login)
	switch server.CodeOf(err) {
	case "":
	case server.CodeTicketUsed:
		if s.mayAlert(now, request.Address) {
			s.audit(ctx, server.AuditRecord{Action: server.AuditTicketFailed, Address: paired.Device.Address,
				Detail: "a used link was opened again; it was used by " + record.UsedBy})
			s.log.Warn("a link that was used already was opened again", logging.KeyAddress, paired.Device.Address)
		}
		return Paired{}, server.Errorf(server.CodeTicketUsed,
			"This link was already used at %s by %s from %s. If that was not you, revoke that device. Make a new link with agent-helm-server link.",
			record.UsedAt.Local().Format("15:04 on 2 January"), record.UsedBy, record.UsedFrom)
	default:
		return Paired{}, err
	}
	paired.Device.Scopes, paired.Device.Binding = record.Scopes.Limit(limit), record.Binding
	if !record.Until.IsZero() && record.Until.Before(paired.Device.ExpiresAt) {
		paired.Device.ExpiresAt = record.Until
	}
	s.auditPaired(ctx, paired, "link made by "+record.CreatedBy)
	return paired, nil
}

func (s *Service) auditPaired(ctx context.Context, paired Paired, by string) {
	d := paired.Device
	s.audit(ctx, server.AuditRecord{Action: server.AuditDevicePaired, Kind: server.PrincipalDevice, Who: d.ID, Name: d.Name,
		Address: d.Address, Target: d.ID, Detail: by + ": " + d.Scopes.String()})
}

// mayAlert keeps strangers from filling the disk with audit lines.
func (s *Service) mayAlert(now time.Time, address string) bool {
	return s.alerts.allow(now, NetworkOf(address))
}

// CreateCode makes a six-character code for a device or a host. It fails with
// CodeForbidden, or with CodeLimit when MaxLiveCodes are waiting.
func (s *Service) CreateCode(ctx context.Context, by Minter, kind server.PrincipalKind, scopes server.Scopes) (code string, record server.CodeRecord, err error) {
	if kind != server.PrincipalDevice && kind != server.PrincipalHost {
		return "", server.CodeRecord{}, server.Errorf(server.CodeInvalid, "a code is for a device or a host")
	}
	if kind == server.PrincipalHost {
		scopes = 0 // a host speaks for itself and has none
	}
	if err := by.mayGive(scopes); err != nil {
		return "", server.CodeRecord{}, err
	}
	return s.createCode(ctx, by.Principal, server.Grant{Kind: kind, Scopes: scopes, Binding: by.Binding, CreatedBy: by.label(), Minter: by.ID})
}

// createCode makes the code of a grant that somebody was allowed to give.
func (s *Service) createCode(ctx context.Context, by server.Principal, grant server.Grant) (code string, record server.CodeRecord, err error) {
	grant.CreatedAt = time.Now()
	grant.ExpiresAt = grant.CreatedAt.Add(CodeLifetime)
	code = drawCode()
	record = server.CodeRecord{ID: randomText(tokenIDBytes), Secret: s.key.hashCode(code), Grant: grant}
	if err := s.store.CreateCode(ctx, record, MaxLiveCodes); err != nil {
		return "", server.CodeRecord{}, err
	}
	s.audit(ctx, Minter{by}.line(server.AuditCodeMade, record.ID, string(grant.Kind)+": "+grant.Scopes.String()))
	return code, record, nil
}

// CodeStatus says what became of a code. It fails with CodeNotFound.
func (s *Service) CodeStatus(ctx context.Context, id string) (server.CodeRecord, error) {
	return s.store.Code(ctx, id)
}

// PairWithCode redeems a device's code. It fails with CodePairCode, the same
// for a wrong, used, expired or cancelled one and after the same time, with
// CodeTooManyTries, or with CodeInvalid.
func (s *Service) PairWithCode(ctx context.Context, typed string, request PairRequest) (Paired, error) {
	now := time.Now()
	paired, login, err := newDevice(request, now)
	if err != nil {
		return Paired{}, err
	}
	err = s.redeemCode(ctx, typed, server.PrincipalDevice, request.Address, func(code server.CodeRecord) error {
		paired.Device.Scopes, paired.Device.Binding, paired.Device.Minter = code.Scopes.Limit(request.Transport.limit()), code.Binding, code.Minter
		return s.store.RedeemDeviceCode(ctx, code.ID, now, paired.Device, login)
	})
	if err != nil {
		return Paired{}, err
	}
	s.auditPaired(ctx, paired, "code")
	return paired, nil
}

// EnrolHost redeems a host's code and returns the host with its token, once. It
// fails as PairWithCode does, and with CodeNameTaken, which leaves the code live.
func (s *Service) EnrolHost(ctx context.Context, typed, name, address string) (server.HostRecord, string, error) {
	name, err := cleanName(name, "host")
	if err != nil {
		return server.HostRecord{}, "", err
	}
	now := time.Now()
	host := server.HostRecord{ID: newUUID(), Name: name, CreatedAt: now}
	token, text := newToken("host "+name, now)
	token.Host, token.CreatedBy = host.ID, "code"
	err = s.redeemCode(ctx, typed, server.PrincipalHost, address, func(code server.CodeRecord) error {
		return s.store.RedeemHostCode(ctx, code.ID, now, host, token)
	})
	if err != nil {
		return server.HostRecord{}, "", err
	}
	s.audit(ctx, server.AuditRecord{Action: server.AuditHostEnrolled, Kind: server.PrincipalHost, Who: host.ID, Name: host.Name,
		Address: address, Target: host.ID})
	return host, text, nil
}

// redeemCode finds the live code that was typed and hands it to use.
func (s *Service) redeemCode(ctx context.Context, typed string, kind server.PrincipalKind, address string, use func(server.CodeRecord) error) error {
	start := time.Now()
	if !s.limits.allow(start, NetworkOf(address)) {
		return server.NewError(server.CodeTooManyTries)
	}
	live, err := s.store.LiveCodes(ctx, start)
	if err != nil {
		return err
	}
	code, valid := normalizeCode(typed)
	hash := s.key.hashCode(code)
	var found *server.CodeRecord
	for i := range MaxLiveCodes { // as many comparisons with none live as with all
		var candidate server.CodeRecord
		if i < len(live) {
			candidate = live[i]
		}
		if sameHash(candidate.Secret, hash) && candidate.Kind == kind && valid {
			found = &candidate
		}
	}
	if found != nil {
		err := use(*found)
		if server.CodeOf(err) != server.CodePairCode {
			return err
		}
		// Somebody else used it in this very moment: as wrong as any other.
	}
	if err := s.refuseCode(ctx, address, start); err != nil {
		return err
	}
	return server.NewError(server.CodePairCode)
}

// refuseCode counts a wrong try and lets the refusal take its fixed time.
func (s *Service) refuseCode(ctx context.Context, address string, start time.Time) error {
	shown := untrusted.Clean(address, server.MaxName)
	cancelled, err := s.store.WrongCode(ctx, start, shown, wrongCodeLimit)
	if err != nil {
		return err
	}
	s.audit(ctx, server.AuditRecord{Action: server.AuditCodeFailed, Address: shown})
	if cancelled {
		s.audit(ctx, server.AuditRecord{Action: server.AuditCodeCancelled, Address: shown, Detail: "too many wrong tries: every code is void"})
		s.log.Warn("codes cancelled after too many wrong tries", logging.KeyAddress, shown)
	}
	select {
	case <-time.After(codeAnswerTime - time.Since(start)):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
