package auth

import (
	"context"
	"testing"

	"github.com/agent-helm/agent-helm/server"
)

// Revoking a device reaches what it made, with everything that has open
// (THREATS S-35), and stops at whom it let in to stay.
func TestRevokeDevice_reaches_what_it_made(t *testing.T) {
	b := newBench(t)
	phone := MinterOf(devicePrincipal(b.pair(TransportTLS).paired.Device))
	host := b.host("laptop")
	token, text, err := b.CreateToken(t.Context(), phone, TokenRequest{Name: "ci", Scopes: server.AllScopes})
	b.ok(err)
	agent := MinterOf(server.Principal{Kind: server.PrincipalToken, ID: token.ID, Name: "ci", Scopes: server.AllScopes})
	secret, _, _, err := b.InviteGuest(t.Context(), agent, server.SessionKey{Host: host.ID, ID: "01jdq0000000000000000000aa"}, 0)
	b.ok(err)
	guest, err := b.PairWithTicket(t.Context(), secret, from("198.51.100.1"))
	b.ok(err)
	unused, _, err := b.CreateTicket(t.Context(), agent, server.AllScopes)
	b.ok(err)
	code, _, err := b.CreateCode(t.Context(), phone, server.PrincipalDevice, server.AllScopes)
	b.ok(err)
	used, _, err := b.CreateTicket(t.Context(), phone, server.AllScopes)
	b.ok(err)
	tablet, err := b.PairWithTicket(t.Context(), used, from("198.51.100.2"))
	b.ok(err)

	// The one who asks may be among what ends: it is done all the same.
	asking, cancel := b.Hold(t.Context(), agent.Principal)
	defer cancel()
	watching, release := b.Track(t.Context(), devicePrincipal(guest.Device))
	defer release()
	b.ok(b.RevokeDevice(asking, agent, phone.ID))
	for name, ctx := range map[string]context.Context{"the token": asking, "the guest": watching} {
		if server.CodeOf(context.Cause(ctx)) != server.CodeRevoked {
			t.Errorf("%s goes on: %v", name, context.Cause(ctx))
		}
	}
	_, err = b.bearer(t.Context(), "Bearer "+text)
	b.fails(server.CodeRevoked, err)
	_, err = b.PairWithTicket(t.Context(), unused, from("198.51.100.3"))
	b.fails(server.CodeTicketInvalid, err)
	_, err = b.PairWithCode(t.Context(), code, from("198.51.100.3"))
	b.fails(server.CodePairCode, err)
	devices, err := b.Devices(t.Context())
	b.ok(err)
	if len(devices) != 1 || devices[0].ID != tablet.Device.ID {
		t.Errorf("devices %+v", devices)
	}
}
