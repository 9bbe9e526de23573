package httpapi

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/auth"
)

type meOutput struct {
	Body struct {
		Kind     server.PrincipalKind `json:"kind" enum:"device,token"`
		ID       string               `json:"id"`
		Name     string               `json:"name"`
		Scopes   []string             `json:"scopes" nullable:"false"`
		Bound    bool                 `json:"bound" doc:"Whether it reaches single sessions only"`
		Sessions []server.SessionKey  `json:"sessions,omitempty" nullable:"false" doc:"Which ones, when it is bound"`
		// ExpiresMS is -1 for what has no end.
		ExpiresMS int64  `json:"expires_ms" doc:"How long this credential still lives at most, -1 without end"`
		Insecure  bool   `json:"insecure" doc:"Whether this is plain HTTP off loopback: no exec, no admin, and anybody on the network can read along"`
		Version   string `json:"version" doc:"The server's version"`
		URL       string `json:"url" doc:"The address for links"`
	}
}

type pairInput struct {
	Body struct {
		_      struct{} `json:"-" additionalProperties:"true"`
		Ticket string   `json:"ticket,omitempty" maxLength:"100" doc:"From a link; exactly one of ticket and code"`
		Code   string   `json:"code,omitempty" maxLength:"24" doc:"Six characters"`
		Name   string   `json:"name" minLength:"1" maxLength:"200" doc:"What to call this device"`
	}
}

type pairOutput struct {
	Body struct {
		Device   string   `json:"device" doc:"The new device's id"`
		Name     string   `json:"name"`
		Scopes   []string `json:"scopes" nullable:"false"`
		Proof    string   `json:"proof" doc:"Keep it and send it as X-Agent-Helm-Proof: on plain HTTP the cookie alone is not enough"`
		Insecure bool     `json:"insecure"`
	}
}

type devicesOutput struct {
	Body struct {
		Items []server.Device `json:"items" nullable:"false"`
		Next  *string         `json:"next"`
	}
}

type renameDeviceInput struct {
	ID   string `path:"id" maxLength:"64"`
	Body struct {
		Name string `json:"name" minLength:"1" maxLength:"200"`
	}
}

type revokeDevicesOutput struct {
	Body struct {
		Revoked int `json:"revoked" doc:"How many there were"`
	}
}

type inviteGuestInput struct {
	SessionInput
	Body struct {
		ExpiresMS int64 `json:"expires_ms,omitempty" minimum:"60000" maximum:"86400000" doc:"How long the guest may watch from now on; an hour when absent"`
	}
}

type inviteGuestOutput struct {
	Body struct {
		URL       string `json:"url" doc:"The link. It works once, and is shown this once"`
		OpenMS    int64  `json:"open_ms" doc:"How long it can be opened"`
		ExpiresMS int64  `json:"expires_ms" doc:"How long the guest may watch"`
	}
}

type idInput struct {
	ID string `path:"id" maxLength:"64"`
}

// Token is a script's token as it is shown.
type Token struct {
	ID         string              `json:"id"`
	Name       string              `json:"name"`
	Scopes     []string            `json:"scopes" nullable:"false"`
	CreatedBy  string              `json:"created_by"`
	CreatedMS  int64               `json:"created_ms" doc:"How long ago it was made"`
	LastUsedMS int64               `json:"last_used_ms" doc:"How long ago it was last used, -1 when never"`
	ExpiresMS  int64               `json:"expires_ms" doc:"How long it still lives, -1 without end"`
	Sessions   []server.SessionKey `json:"sessions,omitempty" nullable:"false" doc:"The only sessions that it reaches; absent for all"`
}

type tokensOutput struct {
	Body struct {
		Items []Token `json:"items" nullable:"false"`
		Next  *string `json:"next"`
	}
}

type createTokenInput struct {
	Body struct {
		Name      string              `json:"name" minLength:"1" maxLength:"200"`
		Scopes    []string            `json:"scopes" minItems:"1" maxItems:"5" nullable:"false" example:"[\"read\"]"`
		Sessions  []server.SessionKey `json:"sessions,omitempty" maxItems:"64" nullable:"false" doc:"Bind it to these sessions only"`
		ExpiresMS int64               `json:"expires_ms,omitempty" minimum:"0" maximum:"3153600000000" doc:"How long it lives; 0 without end"`
	}
}

type createTokenOutput struct {
	Body struct {
		Token Token  `json:"token"`
		Text  string `json:"text" doc:"The bearer token. It is shown this once"`
	}
}

type createCodeInput struct {
	Body struct {
		Kind   server.PrincipalKind `json:"kind" enum:"device,host"`
		Scopes []string             `json:"scopes,omitempty" maxItems:"5" nullable:"false" doc:"For a device; those of the minter when absent"`
	}
}

type createCodeOutput struct {
	Body struct {
		ID        string `json:"id"`
		Code      string `json:"code" example:"K7QP2M"`
		URL       string `json:"url" doc:"The server's address, to be typed beside the code"`
		ExpiresMS int64  `json:"expires_ms"`
	}
}

type codeOutput struct {
	Body struct {
		ID            string `json:"id"`
		State         string `json:"state" enum:"live,used,expired,cancelled"`
		UsedBy        string `json:"used_by,omitempty"`
		WrongTries    int    `json:"wrong_tries"`
		CancelledFrom string `json:"cancelled_from,omitempty" doc:"Where the wrong tries came from"`
		ExpiresMS     int64  `json:"expires_ms"`
	}
}

func (a *API) registerAccess() {
	admin := access{scopes: server.ScopeAdmin, unbound: true}
	route(a, operation{method: http.MethodGet, path: "/api/me", id: "me", summary: "Who am I, and what may I do?", tag: "access"}, a.me)
	route(a, operation{method: http.MethodPost, path: "/api/pair", id: "pair", summary: "Sign a browser in with a link's ticket or a code", tag: "access",
		access: access{public: true}, errors: []server.Code{server.CodeTicketInvalid, server.CodeTicketUsed, server.CodeTooManyTries},
		description: "Sets the session cookie. A ticket works once; a code is refused in the same way whether it is wrong, used or expired."}, a.pair)
	route(a, operation{method: http.MethodPost, path: "/api/signout", id: "signOut", summary: "Sign this browser out for good", tag: "access",
		status: http.StatusNoContent}, a.signOut)
	route(a, operation{method: http.MethodGet, path: "/api/devices", id: "listDevices", summary: "List paired browsers", tag: "access", access: admin}, a.listDevices)
	route(a, operation{method: http.MethodDelete, path: "/api/devices/{id}", id: "revokeDevice", summary: "Revoke a paired browser", tag: "access",
		status: http.StatusNoContent, errors: []server.Code{server.CodeUnknownDevice},
		description: "Its open sockets end at once. A device may revoke itself; any other needs the scope `admin`."}, a.revokeDevice)
	route(a, operation{method: http.MethodPatch, path: "/api/devices/{id}", id: "renameDevice", summary: "Give a paired browser another name", tag: "access",
		status: http.StatusNoContent, errors: []server.Code{server.CodeUnknownDevice},
		description: "A device may rename itself; any other needs the scope `admin`."}, a.renameDevice)
	route(a, operation{method: http.MethodPost, path: "/api/devices/revoke", id: "revokeDevices", summary: "Revoke every browser but this one", tag: "access",
		access: admin, description: "Asked for with a token, it revokes all of them."}, a.revokeDevices)
	route(a, operation{method: http.MethodPost, path: "/api/sessions/{id}/guests", id: "inviteGuest", summary: "Make a link that lets somebody watch this session for a while", tag: "access",
		status: http.StatusCreated, access: admin, errors: []server.Code{server.CodeUnknownSession},
		description: "The guest sees this session only and cannot type. It is listed among the devices and revoked there."}, a.inviteGuest)
	route(a, operation{method: http.MethodGet, path: "/api/tokens", id: "listTokens", summary: "List tokens of scripts", tag: "access", access: admin}, a.listTokens)
	route(a, operation{method: http.MethodPost, path: "/api/tokens", id: "createToken", summary: "Make a token for a script", tag: "access",
		status: http.StatusCreated, access: admin, errors: []server.Code{server.CodeNameTaken}}, a.createToken)
	route(a, operation{method: http.MethodDelete, path: "/api/tokens/{id}", id: "revokeToken", summary: "Revoke a token", tag: "access",
		status: http.StatusNoContent, access: admin, errors: []server.Code{server.CodeUnknownToken}}, a.revokeToken)
	route(a, operation{method: http.MethodPost, path: "/api/codes", id: "createCode", summary: "Make a six-character code for a device or a host", tag: "access",
		status: http.StatusCreated, access: admin, errors: []server.Code{server.CodeLimit}}, a.createCode)
	a.registerPairings(admin)
	route(a, operation{method: http.MethodGet, path: "/api/codes/{id}", id: "getCode", summary: "What became of a code?", tag: "access",
		access: admin, errors: []server.Code{server.CodeNotFound}}, a.getCode)
}

func (a *API) me(ctx context.Context, _ *struct{}) (*meOutput, error) {
	c := callFrom(ctx)
	if err := a.auth.RotateCookie(c.w, c.r, c.transport, c.principal, c.credential); err != nil {
		return nil, err
	}
	output := &meOutput{}
	output.Body.Kind, output.Body.ID, output.Body.Name = c.principal.Kind, c.principal.ID, c.principal.Name
	output.Body.Scopes, output.Body.Bound = c.principal.Scopes.Names(), !c.principal.Binding.IsZero()
	output.Body.Sessions, output.Body.ExpiresMS = c.principal.Binding.Sessions, -1
	if !c.principal.ExpiresAt.IsZero() {
		output.Body.ExpiresMS = max(0, time.Until(c.principal.ExpiresAt).Milliseconds())
	}
	output.Body.Insecure, output.Body.Version, output.Body.URL = c.principal.Insecure, a.version, a.sites.Link()
	return output, nil
}

func (a *API) pair(ctx context.Context, input *pairInput) (*pairOutput, error) {
	c := callFrom(ctx)
	request := auth.PairRequest{Name: input.Body.Name, Address: server.AddressFrom(ctx), Transport: c.transport}
	if identities := auth.TailnetFrom(ctx); len(identities) > 0 {
		request.Tailnet = identities[0]
	}
	var paired auth.Paired
	var err error
	switch {
	case (input.Body.Ticket == "") == (input.Body.Code == ""):
		return nil, server.Errorf(server.CodeInvalid, "send either the ticket of a link or a code")
	case input.Body.Ticket != "":
		paired, err = a.auth.PairWithTicket(ctx, input.Body.Ticket, request)
	default:
		paired, err = a.auth.PairWithCode(ctx, input.Body.Code, request)
	}
	if err != nil {
		return nil, err
	}
	if err := a.auth.SetCookie(c.w, c.r, c.transport, paired.Cookie); err != nil {
		return nil, err
	}
	a.fleet.AnnounceDevice(deviceItem(paired.Device, server.Principal{}))
	output := &pairOutput{}
	output.Body.Device, output.Body.Name, output.Body.Scopes = paired.Device.ID, paired.Device.Name, paired.Device.Scopes.Names()
	output.Body.Proof, output.Body.Insecure = paired.Proof, paired.Device.Insecure
	return output, nil
}

func (a *API) signOut(ctx context.Context, _ *struct{}) (*struct{}, error) {
	c := callFrom(ctx)
	if err := a.auth.SignOut(ctx, c.principal); err != nil {
		return nil, err
	}
	return nil, a.auth.ClearCookie(c.w, c.r, c.transport)
}

func (a *API) listDevices(ctx context.Context, _ *struct{}) (*devicesOutput, error) {
	records, err := a.auth.Devices(ctx)
	if err != nil {
		return nil, err
	}
	me := callFrom(ctx).principal
	output := &devicesOutput{}
	output.Body.Items = make([]server.Device, 0, len(records))
	for _, record := range records {
		output.Body.Items = append(output.Body.Items, deviceItem(record, me))
	}
	return output, nil
}

// deviceItem is a device as me is shown it.
func deviceItem(record server.DeviceRecord, me server.Principal) server.Device {
	return server.Device{
		ID: record.ID, Name: record.Name, Scopes: record.Scopes.Names(), CreatedMS: since(record.CreatedAt), LastSeenMS: since(record.LastSeenAt),
		Address: record.Address, Insecure: record.Insecure, Sessions: record.Binding.Sessions,
		ExpiresMS: max(0, time.Until(record.ExpiresAt).Milliseconds()), Current: me.Kind == server.PrincipalDevice && me.ID == record.ID,
	}
}

func (a *API) revokeDevice(ctx context.Context, input *idInput) (*struct{}, error) {
	c := callFrom(ctx)
	if c.principal.Kind == server.PrincipalDevice && c.principal.ID == input.ID {
		return a.signOut(ctx, nil)
	}
	if err := checkAccess(c.principal, access{scopes: server.ScopeAdmin, unbound: true}); err != nil {
		return nil, err
	}
	return nil, a.auth.RevokeDevice(ctx, auth.MinterOf(c.principal), input.ID)
}

// owns lets a device act on itself, and an admin on any.
func owns(p server.Principal, id string) error {
	if p.Kind == server.PrincipalDevice && p.ID == id && p.Binding.IsZero() {
		return nil
	}
	return checkAccess(p, access{scopes: server.ScopeAdmin, unbound: true})
}

func (a *API) renameDevice(ctx context.Context, input *renameDeviceInput) (*struct{}, error) {
	p := callFrom(ctx).principal
	if err := owns(p, input.ID); err != nil {
		return nil, err
	}
	return nil, a.auth.RenameDevice(ctx, auth.MinterOf(p), input.ID, input.Body.Name)
}

func (a *API) revokeDevices(ctx context.Context, _ *struct{}) (*revokeDevicesOutput, error) {
	p := callFrom(ctx).principal
	except := ""
	if p.Kind == server.PrincipalDevice {
		except = p.ID
	}
	revoked, err := a.auth.RevokeDevices(ctx, auth.MinterOf(p), except)
	if err != nil {
		return nil, err
	}
	output := &revokeDevicesOutput{}
	output.Body.Revoked = revoked
	return output, nil
}

func (a *API) inviteGuest(ctx context.Context, input *inviteGuestInput) (*inviteGuestOutput, error) {
	session, err := a.find(ctx, &input.SessionInput, server.ScopeAdmin)
	if err != nil {
		return nil, err
	}
	secret, until, opened, err := a.auth.InviteGuest(ctx, auth.MinterOf(callFrom(ctx).principal), session.Key(), time.Duration(input.Body.ExpiresMS)*time.Millisecond)
	if err != nil {
		return nil, err
	}
	output := &inviteGuestOutput{}
	output.Body.URL = a.sites.Link() + "/#t=" + secret
	output.Body.OpenMS, output.Body.ExpiresMS = time.Until(opened).Milliseconds(), time.Until(until).Milliseconds()
	return output, nil
}

func tokenItem(record server.TokenRecord) Token {
	item := Token{ID: record.ID, Name: record.Name, Scopes: record.Scopes.Names(), CreatedBy: record.CreatedBy, Sessions: record.Binding.Sessions,
		CreatedMS: since(record.CreatedAt), LastUsedMS: -1, ExpiresMS: -1}
	if !record.LastUsedAt.IsZero() {
		item.LastUsedMS = since(record.LastUsedAt)
	}
	if !record.ExpiresAt.IsZero() {
		item.ExpiresMS = max(0, time.Until(record.ExpiresAt).Milliseconds())
	}
	return item
}

func (a *API) listTokens(ctx context.Context, _ *struct{}) (*tokensOutput, error) {
	records, err := a.auth.Tokens(ctx)
	if err != nil {
		return nil, err
	}
	output := &tokensOutput{}
	output.Body.Items = make([]Token, 0, len(records))
	for _, record := range records {
		output.Body.Items = append(output.Body.Items, tokenItem(record))
	}
	return output, nil
}

func (a *API) createToken(ctx context.Context, input *createTokenInput) (*createTokenOutput, error) {
	scopes, err := server.ParseScopes(strings.Join(input.Body.Scopes, ","))
	if err != nil {
		return nil, err
	}
	record, text, err := a.auth.CreateToken(ctx, auth.MinterOf(callFrom(ctx).principal), auth.TokenRequest{
		Name: input.Body.Name, Scopes: scopes, Binding: server.Binding{Sessions: input.Body.Sessions},
		Lifetime: time.Duration(input.Body.ExpiresMS) * time.Millisecond,
	})
	if err != nil {
		return nil, err
	}
	output := &createTokenOutput{}
	output.Body.Token, output.Body.Text = tokenItem(record), text
	return output, nil
}

func (a *API) revokeToken(ctx context.Context, input *idInput) (*struct{}, error) {
	return nil, a.auth.RevokeToken(ctx, auth.MinterOf(callFrom(ctx).principal), input.ID)
}

func (a *API) createCode(ctx context.Context, input *createCodeInput) (*createCodeOutput, error) {
	minter := auth.MinterOf(callFrom(ctx).principal)
	scopes := minter.Scopes
	if len(input.Body.Scopes) > 0 {
		var err error
		if scopes, err = server.ParseScopes(strings.Join(input.Body.Scopes, ",")); err != nil {
			return nil, err
		}
	}
	code, record, err := a.auth.CreateCode(ctx, minter, input.Body.Kind, scopes)
	if err != nil {
		return nil, err
	}
	output := &createCodeOutput{}
	output.Body.ID, output.Body.Code, output.Body.URL = record.ID, code, a.sites.Link()
	output.Body.ExpiresMS = time.Until(record.ExpiresAt).Milliseconds()
	return output, nil
}

func (a *API) getCode(ctx context.Context, input *idInput) (*codeOutput, error) {
	record, err := a.auth.CodeStatus(ctx, input.ID)
	if err != nil {
		return nil, err
	}
	output := &codeOutput{}
	output.Body.ID, output.Body.WrongTries, output.Body.UsedBy = record.ID, record.WrongTries, record.UsedBy
	output.Body.CancelledFrom = record.CancelledFrom
	output.Body.ExpiresMS = max(0, time.Until(record.ExpiresAt).Milliseconds())
	switch {
	case !record.UsedAt.IsZero():
		output.Body.State = "used"
	case !record.CancelledAt.IsZero():
		output.Body.State = "cancelled"
	case output.Body.ExpiresMS == 0:
		output.Body.State = "expired"
	default:
		output.Body.State = "live"
	}
	return output, nil
}

// since is how long ago, in milliseconds, never negative.
func since(t time.Time) int64 { return max(0, time.Since(t).Milliseconds()) }
