package httpapi

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/agent-helm/agent-helm/server/auth"
)

// Sites are the names that this server answers to, and the origins that its
// own pages can have. They come from the configuration alone: a page that was
// rebound to our address sends its own name as Host and as Origin, so comparing
// the two proves nothing (THREATS S-8).
type Sites struct {
	// Public are the addresses that --public-url gave, first the one for links.
	// Once requests are served it changes through SetPublic alone.
	Public []*url.URL
	// Listen is the address that the server listens on; the zero value for a
	// listener that no address of this machine leads to.
	Listen netip.AddrPort
	// TLS says that the server itself speaks https.
	TLS bool
	// Insecure says that it speaks plain HTTP off loopback, on request.
	Insecure bool

	// addresses lists this machine's own; nil asks the system.
	addresses func() []netip.Addr

	mu       sync.Mutex
	link     string              // guarded by mu
	own      map[netip.Addr]bool // guarded by mu
	ownUntil time.Time           // guarded by mu
}

// ownLifetime is how long the machine's addresses are believed: a laptop or a
// Pi gets another one from its router now and then.
const ownLifetime = 10 * time.Second

// ParsePublicURL reads a --public-url: scheme, host and port and nothing else.
func ParsePublicURL(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSuffix(text, "/"))
	switch {
	case err != nil:
		return nil, fmt.Errorf("public url %q: %w", text, err)
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("public url %q: it must begin with https:// (or http://)", text)
	case u.Hostname() == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("public url %q: give only scheme, name and port, such as https://helm.example:8443", text)
	}
	u.Host = strings.ToLower(u.Host)
	return u, nil
}

// scheme is that of addresses without a public URL.
func (s *Sites) scheme() string {
	if s.TLS {
		return "https"
	}
	return "http"
}

// Link is what links begin with: the public URL, or the address at which other
// machines find this one.
func (s *Sites) Link() string {
	if public := s.public(); len(public) > 0 {
		return public[0].String()
	}
	s.mu.Lock()
	link := s.link
	s.mu.Unlock()
	if link != "" {
		return link
	}
	if address := s.Listen.Addr(); address.IsUnspecified() {
		if outward := outwardAddress(); outward.IsValid() {
			return s.at(outward)
		}
	}
	return s.Local()
}

// SetLink gives links another beginning where there is no public URL: the
// address on a tailnet, once it is known. Empty takes it back.
func (s *Sites) SetLink(link string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.link = link
}

// SetPublic replaces the public addresses: a tailnet may rename its machines.
func (s *Sites) SetPublic(public ...*url.URL) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Public = public
}

func (s *Sites) public() []*url.URL {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Public
}

// isLink says whether a request for host came by the address of our links.
func (s *Sites) isLink(host string) bool {
	u, err := url.Parse(s.Link())
	return err == nil && sameHost(u.Scheme, strings.ToLower(host), strings.ToLower(u.Host))
}

// Local is the address for a browser or daemon on this machine.
func (s *Sites) Local() string {
	address := s.Listen.Addr()
	if address.IsUnspecified() {
		address = netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return s.at(address)
}

func (s *Sites) at(address netip.Addr) string {
	return s.scheme() + "://" + canonicalHost(s.scheme(), netip.AddrPortFrom(address.Unmap(), s.Listen.Port()).String())
}

// outwardAddress is the address from which this machine would reach others. A
// connected UDP socket sends nothing; 192.0.2.1 is reserved for documentation.
func outwardAddress() netip.Addr {
	socket, err := net.Dial("udp4", "192.0.2.1:9")
	if err != nil {
		return netip.Addr{}
	}
	defer socket.Close()
	address, err := netip.ParseAddrPort(socket.LocalAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	return address.Addr()
}

// TransportOf says how a request for host reached us, and false when this
// server does not go by that name.
func (s *Sites) TransportOf(host string) (auth.Transport, bool) {
	plain := auth.TransportLoopback
	if s.Insecure {
		// Whoever asks can write any name here, so the name cannot make it safer.
		plain = auth.TransportLAN
	}
	host = strings.ToLower(host)
	for _, public := range s.public() {
		if sameHost(public.Scheme, host, public.Host) {
			if public.Scheme == "https" && !s.Insecure {
				return auth.TransportTLS, true
			}
			return plain, true
		}
	}
	if !s.isListener(host) {
		return 0, false
	}
	if s.TLS {
		return auth.TransportTLS, true
	}
	return plain, true
}

// strict says whether a browser may be told to use nothing but https for host:
// a name that the configuration gives to this server alone. Addresses and
// localhost have other services, on other ports.
func (s *Sites) strict(host string) bool {
	for _, public := range s.public() {
		if _, err := netip.ParseAddr(public.Hostname()); err == nil || public.Hostname() == "localhost" {
			continue
		}
		if public.Scheme == "https" && sameHost(public.Scheme, strings.ToLower(host), public.Host) {
			return true
		}
	}
	return false
}

// Origin says whether a page of ours can have this origin.
func (s *Sites) Origin(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil || u.Host == "" || u.User != nil || u.Path != "" || u.RawQuery != "" || u.Fragment != "" || u.Opaque != "" {
		return false
	}
	for _, public := range s.public() {
		if u.Scheme == public.Scheme && sameHost(u.Scheme, strings.ToLower(u.Host), public.Host) {
			return true
		}
	}
	return u.Scheme == s.scheme() && s.isListener(strings.ToLower(u.Host))
}

// isListener says whether host is the listener by an address of this machine or
// by a name that can only mean this machine.
func (s *Sites) isListener(host string) bool {
	name, port, err := splitHost(host, s.scheme())
	if err != nil || !s.Listen.IsValid() || port != s.Listen.Port() {
		return false
	}
	listen := s.Listen.Addr().Unmap()
	if name == "localhost" {
		return listen.IsLoopback() || listen.IsUnspecified()
	}
	address, err := netip.ParseAddr(name)
	if err != nil {
		return false
	}
	address = address.Unmap()
	switch {
	case address == listen && !listen.IsUnspecified():
		return true
	case address.IsLoopback():
		// 127.0.0.2 would be as much ours, but nobody types it.
		return (listen.IsLoopback() || listen.IsUnspecified()) && (address == netip.IPv6Loopback() || address == netip.AddrFrom4([4]byte{127, 0, 0, 1}))
	case listen.IsUnspecified():
		return s.isOwn(address.WithZone(""))
	}
	return false
}

func (s *Sites) isOwn(address netip.Addr) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if now := time.Now(); now.After(s.ownUntil) {
		list := s.addresses
		if list == nil {
			list = systemAddresses
		}
		s.own, s.ownUntil = map[netip.Addr]bool{}, now.Add(ownLifetime)
		for _, own := range list() {
			s.own[own.Unmap().WithZone("")] = true
		}
	}
	return s.own[address]
}

func systemAddresses() []netip.Addr {
	interfaces, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	var list []netip.Addr
	for _, address := range interfaces {
		if prefix, err := netip.ParsePrefix(address.String()); err == nil {
			list = append(list, prefix.Addr())
		}
	}
	return list
}

func defaultPort(scheme string) uint16 {
	if scheme == "https" {
		return 443
	}
	return 80
}

// splitHost takes a Host header or the host of an origin apart.
func splitHost(host, scheme string) (name string, port uint16, err error) {
	u := url.URL{Host: host}
	name, text := u.Hostname(), u.Port()
	if name == "" || strings.ContainsAny(host, "/?#@\\ ") {
		return "", 0, fmt.Errorf("host %q is malformed", host)
	}
	if text == "" {
		if strings.HasSuffix(host, ":") {
			return "", 0, fmt.Errorf("host %q is malformed", host)
		}
		return name, defaultPort(scheme), nil
	}
	number, err := strconv.ParseUint(text, 10, 16)
	return name, uint16(number), err
}

func sameHost(scheme, a, b string) bool {
	nameA, portA, errA := splitHost(a, scheme)
	nameB, portB, errB := splitHost(b, scheme)
	return errA == nil && errB == nil && nameA == nameB && portA == portB
}

// canonicalHost leaves out the port that the scheme implies.
func canonicalHost(scheme, host string) string {
	name, port, err := net.SplitHostPort(host)
	if err != nil || port != strconv.Itoa(int(defaultPort(scheme))) {
		return host
	}
	if strings.Contains(name, ":") {
		return "[" + name + "]"
	}
	return name
}
