package httpapi

import (
	"net/netip"
	"testing"
	"testing/synctest"
	"time"

	"github.com/agent-helm/agent-helm/server/auth"
)

func TestSites(t *testing.T) {
	const (
		refused  = -1
		tls      = int(auth.TransportTLS)
		loopback = int(auth.TransportLoopback)
		lan      = int(auth.TransportLAN)
	)
	own := func() []netip.Addr {
		return []netip.Addr{netip.MustParseAddr("192.168.1.20"), netip.MustParseAddr("fd00::20"), netip.MustParseAddr("fe80::20%eth0")}
	}
	for _, test := range []struct {
		name    string
		sites   *Sites
		public  []string
		hosts   map[string]int
		origins map[string]bool
	}{
		{"loopback", &Sites{Listen: netip.MustParseAddrPort("127.0.0.1:7777")}, nil,
			map[string]int{
				"127.0.0.1:7777": loopback, "localhost:7777": loopback, "LOCALHOST:7777": loopback, "[::1]:7777": loopback,
				"127.0.0.1": refused, "127.0.0.1:80": refused, "127.0.0.2:7777": refused, "evil.example:7777": refused, "": refused,
				"127.0.0.1:7777:7777": refused, "127.0.0.1:": refused, "localhost.evil.example:7777": refused, "192.168.1.20:7777": refused,
				"0.0.0.0:7777": refused, "user@127.0.0.1:7777": refused, "127.0.0.1:7777/": refused, "127.1:7777": refused, "[::ffff:127.0.0.1]:7777": loopback,
			},
			map[string]bool{
				"http://127.0.0.1:7777": true, "http://localhost:7777": true, "https://127.0.0.1:7777": false, "http://127.0.0.1": false, "http://127.0.0.1:7778": false,
				"null": false, "": false, "http://": false, "http://127.0.0.1:7777/": false, "http://127.0.0.1:7777?": true, "http://a@127.0.0.1:7777": false,
				"http://evil.example": false, "http://127.0.0.1:7777.evil.example": false, "chrome-extension://127.0.0.1:7777": false,
			}},
		{"behind a proxy", &Sites{Listen: netip.MustParseAddrPort("127.0.0.1:7777")}, []string{"https://Helm.example", "https://other.example:8443/"},
			map[string]int{"helm.example": tls, "HELM.example:443": tls, "helm.example:80": refused, "other.example:8443": tls, "other.example": refused, "127.0.0.1:7777": loopback, "x.helm.example": refused},
			map[string]bool{"https://helm.example": true, "https://helm.example:443": true, "http://helm.example": false, "https://other.example:8443": true, "https://x.helm.example": false, "http://127.0.0.1:7777": true}},
		{"plain HTTP on the network", &Sites{Listen: netip.MustParseAddrPort("0.0.0.0:7777"), Insecure: true, addresses: own}, []string{"https://helm.example"},
			map[string]int{
				"192.168.1.20:7777": lan, "[fd00::20]:7777": lan, "127.0.0.1:7777": lan, "localhost:7777": lan, "192.168.1.21:7777": refused, "pi.local:7777": refused,
				// The name cannot make it safer: anybody can write it.
				"helm.example": lan,
			},
			map[string]bool{"http://192.168.1.20:7777": true, "http://192.168.1.21:7777": false}},
		{"one address", &Sites{Listen: netip.MustParseAddrPort("192.168.1.20:80"), Insecure: true, addresses: own}, nil,
			map[string]int{"192.168.1.20": lan, "192.168.1.20:80": lan, "127.0.0.1": refused, "localhost": refused},
			map[string]bool{"http://192.168.1.20": true, "http://localhost": false}},
		{"own TLS", &Sites{Listen: netip.MustParseAddrPort("[::]:443"), TLS: true, addresses: own}, nil,
			map[string]int{"192.168.1.20": tls, "[fe80::20]": tls, "localhost": tls, "[::1]:443": tls, "helm.example": refused},
			map[string]bool{"https://192.168.1.20": true, "http://192.168.1.20": false, "https://localhost:443": true}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, text := range test.public {
				test.sites.Public = append(test.sites.Public, publicURL(t, text))
			}
			for host, want := range test.hosts {
				transport, ok := test.sites.TransportOf(host)
				got := int(transport)
				if !ok {
					got = refused
				}
				if got != want {
					t.Errorf("host %q: %d, want %d", host, got, want)
				}
			}
			for origin, want := range test.origins {
				if got := test.sites.Origin(origin); got != want {
					t.Errorf("origin %q: %v, want %v", origin, got, want)
				}
			}
		})
	}
}

func TestSites_addresses_change(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		current := netip.MustParseAddr("192.168.1.20")
		s := &Sites{Listen: netip.MustParseAddrPort("0.0.0.0:7777"), Insecure: true, addresses: func() []netip.Addr { return []netip.Addr{current} }}
		if !s.isListener("192.168.1.20:7777") {
			t.Fatal("its own address is refused")
		}
		current = netip.MustParseAddr("192.168.1.30")
		time.Sleep(ownLifetime + time.Second)
		if s.isListener("192.168.1.20:7777") || !s.isListener("192.168.1.30:7777") {
			t.Error("a new address is not noticed")
		}
	})
}

func TestSites_links(t *testing.T) {
	for _, test := range []struct{ listen, public, link, local string }{
		{"127.0.0.1:7777", "", "http://127.0.0.1:7777", "http://127.0.0.1:7777"},
		{"[::1]:80", "", "http://[::1]", "http://[::1]"},
		{"127.0.0.1:7777", "https://helm.example", "https://helm.example", "http://127.0.0.1:7777"},
	} {
		s := &Sites{Listen: netip.MustParseAddrPort(test.listen)}
		if test.public != "" {
			s.Public = append(s.Public, publicURL(t, test.public))
		}
		if s.Link() != test.link || s.Local() != test.local {
			t.Errorf("%+v: link %s, local %s", test, s.Link(), s.Local())
		}
	}
}

func TestSites_strict(t *testing.T) {
	s := &Sites{Listen: netip.MustParseAddrPort("0.0.0.0:443"), TLS: true}
	s.Public = append(s.Public, publicURL(t, "https://helm.example"), publicURL(t, "https://192.168.1.20"), publicURL(t, "https://localhost"))
	for host, want := range map[string]bool{"helm.example": true, "HELM.example:443": true, "192.168.1.20": false, "localhost": false, "127.0.0.1": false, "x.helm.example": false} {
		if got := s.strict(host); got != want {
			t.Errorf("%s: %v", host, got)
		}
	}
}

func TestParsePublicURL(t *testing.T) {
	for _, bad := range []string{"", "helm.example", "ftp://helm.example", "https://", "https://helm.example/app", "https://a:b@helm.example", "https://helm.example?x=1", "https://helm.example#x", "https://helm.example:port", "javascript:alert(1)"} {
		if u, err := ParsePublicURL(bad); err == nil {
			t.Errorf("%q became %s", bad, u)
		}
	}
}

func FuzzSites(f *testing.F) {
	f.Add("127.0.0.1:7777", "http://127.0.0.1:7777")
	f.Add("[::1]:7777", "http://localhost:7777")
	f.Add("helm.example", "https://helm.example")
	f.Fuzz(func(t *testing.T, host, origin string) {
		s := &Sites{Listen: netip.MustParseAddrPort("127.0.0.1:7777")}
		allowedHosts := map[string]bool{"127.0.0.1:7777": true, "localhost:7777": true, "[::1]:7777": true}
		if _, ok := s.TransportOf(host); ok && !allowedHosts[host] {
			// Other spellings of the same three only.
			name, port, err := splitHost(host, "http")
			if err != nil || port != 7777 {
				t.Fatalf("host %q is ours", host)
			}
			if address, err := netip.ParseAddr(name); err == nil && address.Unmap().IsLoopback() {
				return
			}
			if len(name) != len("localhost") {
				t.Fatalf("host %q is ours", host)
			}
		}
		s.Origin(origin) // must not panic
	})
}
