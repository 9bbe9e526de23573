package auth

import (
	"context"
	"slices"

	"github.com/agent-helm/agent-helm/server"
)

type tailnetKey struct{}

// WithTailnet returns a context that carries whom the tailnet says a request
// comes from: one login, or the tags of a node, those that are allowed here.
func WithTailnet(ctx context.Context, identities []string) context.Context {
	return context.WithValue(ctx, tailnetKey{}, identities)
}

// TailnetFrom is whom WithTailnet gave, the one to remember first; nil for a
// request that did not come over a tailnet.
func TailnetFrom(ctx context.Context) []string {
	identities, _ := ctx.Value(tailnetKey{}).([]string)
	return identities
}

// checkTailnet refuses the cookie of a device that was paired over the tailnet
// when it comes from anybody else there, or from elsewhere: then it is a copy.
// A tailnet identity alone opens nothing (THREATS S-1).
func checkTailnet(ctx context.Context, device server.DeviceRecord) error {
	if device.Tailnet == "" || slices.Contains(TailnetFrom(ctx), device.Tailnet) {
		return nil
	}
	return server.Errorf(server.CodeUnauthenticated, "This device was paired over the tailnet by another login or tag: sign in from there, or pair it again here.")
}
