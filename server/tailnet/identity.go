package tailnet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tailscale.com/client/local"
	"tailscale.com/tailcfg"

	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/server"
)

// taggedLogin is the one login of all tagged nodes of every tailnet. It names
// nobody.
const taggedLogin = "tagged-devices"

// Identity is who the tailnet says is at the other end of a connection.
type Identity struct {
	// Login is a person's, empty for a tagged node.
	Login string
	// Tags are a tagged node's.
	Tags []string
	// Node is the machine's name in the tailnet.
	Node string
}

// String is for sentences and audit lines.
func (i Identity) String() string {
	who := i.Login
	if len(i.Tags) > 0 {
		who = strings.Join(i.Tags, ",")
	}
	return untrusted.Clean(who+" on "+i.Node, server.MaxName)
}

// WhoIs finds the identity behind the address of a connection that this node's
// listener accepted, and of no other address: a header is not one. It fails
// with CodeTailnet for what is no machine of the tailnet.
func (n *Node) WhoIs(ctx context.Context, remoteAddr string) (Identity, error) {
	who, err := n.client.WhoIs(ctx, remoteAddr)
	switch {
	case errors.Is(err, local.ErrPeerNotFound):
		return Identity{}, server.Errorf(server.CodeTailnet, "the connection comes from no machine of the tailnet")
	case err != nil:
		return Identity{}, fmt.Errorf("ask the tailnet who is calling: %w", err)
	case who.Node == nil || who.UserProfile == nil:
		return Identity{}, server.Errorf(server.CodeTailnet, "the tailnet does not say who is calling")
	}
	return identityOf(who.Node, who.UserProfile), nil
}

func identityOf(node *tailcfg.Node, user *tailcfg.UserProfile) Identity {
	identity := Identity{Node: strings.TrimSuffix(node.Name, "."), Tags: node.Tags}
	if len(node.Tags) == 0 && user.LoginName != taggedLogin {
		identity.Login = strings.ToLower(user.LoginName)
	}
	return identity
}

// Allow is who may come in over the tailnet at all: logins and tags, each in
// full. There is no wildcard: a node that somebody shared into the tailnet has
// a login of its own, and a pattern would let it in.
type Allow []string

// ParseAllow reads --tailscale-allow.
func ParseAllow(entries []string) (Allow, error) {
	var allow Allow
	for _, entry := range entries {
		entry = strings.ToLower(strings.TrimSpace(entry))
		name, isTag := strings.CutPrefix(entry, "tag:")
		switch {
		case entry == taggedLogin:
			return nil, fmt.Errorf("--tailscale-allow %s: that is the login of every tagged machine; allow the tag instead, such as tag:phones", taggedLogin)
		case strings.ContainsAny(entry, "*?, \t") || isTag && name == "" || !isTag && !strings.Contains(entry, "@"):
			return nil, fmt.Errorf("--tailscale-allow %q: give one login such as alice@example.com, or one tag such as tag:phones", entry)
		}
		allow = append(allow, entry)
	}
	return allow, nil
}

// Admit returns the names of an identity that are allowed: its login, or those
// of its tags. It fails with CodeTailnet when there is none.
func (a Allow) Admit(identity Identity) ([]string, error) {
	var names []string
	if len(identity.Tags) == 0 && identity.Login != "" && slices.Contains(a, identity.Login) {
		names = append(names, identity.Login)
	}
	for _, tag := range identity.Tags {
		if tag = strings.ToLower(tag); slices.Contains(a, tag) {
			names = append(names, tag)
		}
	}
	if len(names) > 0 {
		return names, nil
	}
	example := identity.Login
	if len(identity.Tags) > 0 {
		example = identity.Tags[0]
	}
	return nil, server.Errorf(server.CodeTailnet, "The tailnet says that you are %s, who may not come in here. The owner of this server can allow that with --tailscale-allow %s.",
		identity, untrusted.Clean(example, server.MaxName))
}
