package main

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"

	"github.com/agent-helm/agent-helm/server/httpapi"
)

func TestAdvice(t *testing.T) {
	public, err := httpapi.ParsePublicURL("https://helm.example")
	if err != nil {
		t.Fatal(err)
	}
	loopback := netip.MustParseAddrPort("127.0.0.1:7777")
	for _, test := range []struct {
		name    string
		sites   *httpapi.Sites
		wants   []string
		missing string
	}{
		{"for this machine only", &httpapi.Sites{Listen: loopback}, []string{"Only this machine", "tailscale serve --bg 7777", "--tailscale"}, "/check"},
		{"plain HTTP on the network", &httpapi.Sites{Listen: netip.MustParseAddrPort("192.168.1.20:80"), Insecure: true}, []string{"plain HTTP", "no push", "http://192.168.1.20/check"}, "Only this machine"},
		{"https", func() *httpapi.Sites { s := &httpapi.Sites{Listen: loopback}; s.SetPublic(public); return s }(), []string{"https://helm.example/check"}, "·"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			printAdvice(&out, &service{sites: test.sites})
			for _, want := range test.wants {
				if !strings.Contains(out.String(), want) {
					t.Errorf("no %q in %s", want, out.String())
				}
			}
			if strings.Contains(out.String(), test.missing) {
				t.Errorf("%q in %s", test.missing, out.String())
			}
		})
	}
	checked := (&service{sites: &httpapi.Sites{Listen: loopback}}).check()
	if checked.Listen != "http://127.0.0.1:7777" || len(checked.Advice) != 1 || checked.Tailnet != nil {
		t.Errorf("%+v", checked)
	}
}
