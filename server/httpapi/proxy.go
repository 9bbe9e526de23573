package httpapi

import (
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// ProxySecretHeader carries the secret that a reverse proxy shares with us. An
// address alone proves little: every user of this machine has 127.0.0.1.
const ProxySecretHeader = "X-Agent-Helm-Proxy-Secret"

// maxHops bounds how much of X-Forwarded-For is read.
const maxHops = 16

// Proxies are the reverse proxies that may say which address a request came
// from. They never say who somebody is. The zero value and nil trust nobody.
type Proxies struct {
	// Networks are the addresses of the proxies. They are needed together with
	// Secret, and tell hops that are ours from the caller.
	Networks []netip.Prefix
	// Secret is the hash of what ProxySecretHeader must hold.
	Secret [sha256.Size]byte
	// Socket says that the listener is a unix socket: whoever may open the file
	// is the proxy, and neither address nor secret is asked for.
	Socket bool
}

// ParseProxies reads exact addresses and networks, and the shared secret. Both
// are needed or neither.
func ParseProxies(networks []string, secret string) (*Proxies, error) {
	if len(networks) == 0 && secret == "" {
		return nil, nil
	}
	if len(networks) == 0 || secret == "" {
		return nil, fmt.Errorf("--trusted-proxy and --proxy-secret-file belong together: an address alone does not prove a proxy, as other programs of that machine have it too")
	}
	const minSecret = 16
	if len(secret) < minSecret {
		return nil, fmt.Errorf("the proxy's secret has fewer than %d characters: make one with openssl rand -hex 32", minSecret)
	}
	p := &Proxies{Secret: sha256.Sum256([]byte(secret))}
	for _, text := range networks {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			address, addressErr := netip.ParseAddr(text)
			if addressErr != nil {
				return nil, fmt.Errorf("--trusted-proxy %q: give an address such as 127.0.0.1, or a network such as 172.18.0.0/16", text)
			}
			address = address.Unmap()
			prefix = netip.PrefixFrom(address, address.BitLen())
		}
		if prefix.Bits() == 0 {
			return nil, fmt.Errorf("--trusted-proxy %q is everybody: give the proxy's own address", text)
		}
		p.Networks = append(p.Networks, prefix.Masked())
	}
	return p, nil
}

func (p *Proxies) contains(address netip.Addr) bool {
	address = address.Unmap().WithZone("")
	for _, network := range p.Networks {
		if network.Contains(address) {
			return true
		}
	}
	return false
}

// trusts says whether a request comes from a trusted proxy.
func (p *Proxies) trusts(r *http.Request) bool {
	if p == nil {
		return false
	}
	if p.Socket {
		return true
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !p.contains(peer.Addr()) {
		return false
	}
	secrets := r.Header.Values(ProxySecretHeader)
	if len(secrets) != 1 {
		return false
	}
	got := sha256.Sum256([]byte(secrets[0]))
	return subtle.ConstantTimeCompare(got[:], p.Secret[:]) == 1
}

// client is the rightmost hop of X-Forwarded-For that is not one of the
// proxies: what stands left of it, the caller wrote. It is for limits, audit
// lines and display only.
func (p *Proxies) client(r *http.Request) string {
	hops := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	if len(hops) > maxHops {
		hops = hops[len(hops)-maxHops:]
	}
	last := peerAddress(r)
	for i := len(hops) - 1; i >= 0; i-- {
		address, ok := parseHop(hops[i])
		if !ok {
			break
		}
		last = address.String()
		if !p.contains(address) {
			break
		}
	}
	return last
}

// parseHop reads one entry of X-Forwarded-For; some proxies add a port.
func parseHop(text string) (netip.Addr, bool) {
	text = strings.TrimSpace(text)
	address, err := netip.ParseAddr(strings.Trim(text, "[]"))
	if err != nil {
		withPort, portErr := netip.ParseAddrPort(text)
		if portErr != nil {
			return netip.Addr{}, false
		}
		address = withPort.Addr()
	}
	return address.Unmap().WithZone(""), true
}
