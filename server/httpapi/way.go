package httpapi

import (
	"context"
	"net/http"
	"slices"

	"github.com/agent-helm/agent-helm/server/auth"
)

// Way is one way in: a listener, the names it answers to, and who may say
// something about the caller there. What holds on one way is never believed on
// another, so each listener has its own.
type Way struct {
	Sites *Sites
	// Proxies may say from which address a request came; nil believes nobody.
	Proxies *Proxies
	// Identify names the caller of a tailnet listener by the address of its
	// connection, and refuses strangers with CodeTailnet. Nil on other ways.
	Identify func(ctx context.Context, remoteAddr string) ([]string, error)
}

// By is the handler for a listener. ServeHTTP is By for Config.Sites and
// Config.Proxies.
func (a *API) By(way Way) http.Handler { return a.guard(way, a.router) }

// identityHeaders are those in which proxies say who somebody is. They are
// taken out of every request: a person is known by our own credential alone,
// and whoever reaches a listener can write any header (THREATS S-20).
var identityHeaders = []string{
	"Tailscale-User-Login", "Tailscale-User-Name", "Tailscale-User-Profile-Pic", "Tailscale-App-Capabilities", "Tailscale-Headers-Info",
	"Tailscale-Funnel-Request",
	"X-Webauth-User", "X-Webauth-Login", "X-Webauth-Name", "X-Forwarded-User", "X-Forwarded-Email", "X-Forwarded-Preferred-Username", "X-Forwarded-Groups",
	"X-Auth-Request-User", "X-Auth-Request-Email", "Remote-User", "Remote-Name", "Remote-Email", "Remote-Groups", "X-Remote-User", "X-Authenticated-User",
	"Cf-Access-Authenticated-User-Email", "X-Goog-Authenticated-User-Email",
}

// forwardHeaders are those in which proxies say where a request came from.
var forwardHeaders = []string{
	"X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "X-Forwarded-Port", "X-Forwarded-Server", "X-Forwarded-Ssl", "Forwarded", "X-Real-Ip", "Via",
	"True-Client-Ip", "Cf-Connecting-Ip", "X-Client-Ip", "X-Cluster-Client-Ip", ProxySecretHeader,
}

// arrival is what a way says of a request, before anybody is authenticated.
type arrival struct {
	transport auth.Transport
	// knownHost is whether the way answers to the request's name.
	knownHost bool
	// address is the caller's, for limits, audit lines and display.
	address string
	// behindProxy is whether a trusted proxy brought it, and plain whether that
	// proxy says that it came over plain HTTP.
	behindProxy, plain bool
	// ignored is whether somebody untrusted sent headers of a proxy.
	ignored bool
}

// arrive reads what may be believed of a request and takes everything else out
// of it.
func (way Way) arrive(r *http.Request) arrival {
	var at arrival
	at.transport, at.knownHost = way.Sites.TransportOf(r.Host)
	at.address = peerAddress(r)
	at.behindProxy = way.Proxies.trusts(r)
	if at.behindProxy {
		at.address = way.Proxies.client(r)
		at.plain = slices.Contains(r.Header.Values("X-Forwarded-Proto"), "http")
	}
	for _, name := range forwardHeaders {
		if r.Header.Get(name) != "" {
			at.ignored = at.ignored || !at.behindProxy
			r.Header.Del(name)
		}
	}
	for _, name := range identityHeaders {
		if r.Header.Get(name) != "" {
			at.ignored = at.ignored || !at.behindProxy
			r.Header.Del(name)
		}
	}
	return at
}

type arrivalKey struct{}

func arrivalFrom(ctx context.Context) arrival {
	at, _ := ctx.Value(arrivalKey{}).(arrival)
	return at
}
