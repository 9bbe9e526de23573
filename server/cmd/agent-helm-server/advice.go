package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/agent-helm/agent-helm/server/httpapi"
	"github.com/agent-helm/agent-helm/server/tailnet"
)

// check says how the ways in are, for GET /api/check/server and for serve's own
// output.
func (s *service) check() httpapi.ServerCheck {
	checked := httpapi.ServerCheck{Listen: s.sites.Local(), Advice: s.advice()}
	for _, u := range s.public {
		checked.Public = append(checked.Public, u.String())
	}
	if s.tailnet != nil {
		state := s.tailnet.node.State()
		checked.Tailnet = &httpapi.TailnetCheck{Phase: string(state.Phase), URL: state.URL, Owner: state.Owner, Problem: state.Problem, KeyExpiresMS: -1}
		if !state.KeyExpires.IsZero() {
			checked.Tailnet.KeyExpiresMS = max(0, time.Until(state.KeyExpires).Milliseconds())
		}
	}
	return checked
}

// advice is what is missing on the ways in, the most important first. It says
// what does not work, and the shortest way to make it work.
func (s *service) advice() []string {
	var list []string
	link := s.sites.Link()
	port := s.sites.Listen.Port()
	if s.tailnet != nil {
		state := s.tailnet.node.State()
		if state.Problem != "" {
			list = append(list, state.Problem)
		}
		if state.Phase == tailnet.PhaseUp && len(s.tailnet.allowed()) == 0 {
			list = append(list, "Nobody may come in over the tailnet, as this machine is tagged and has no owner: give --tailscale-allow.")
		}
	}
	waits := s.tailnet != nil && s.tailnet.node.State().Phase != tailnet.PhaseUp
	switch {
	case strings.HasPrefix(link, "https:"), waits:
	case !reachable(link):
		list = append(list, fmt.Sprintf("Only this machine can open %s. The shortest way for a phone, with HTTPS: tailscale serve --bg %d, "+
			"then start with the address it prints, --public-url https://NAME.ts.net; or start with --tailscale.", link, port))
	default:
		list = append(list, fmt.Sprintf("%s is plain HTTP: no installing, no start without a network, no push, no copying by a tap; anybody on the network can read along. "+
			"The shortest way to HTTPS: tailscale serve --bg %d with --public-url https://NAME.ts.net, or --tailscale.", link, port))
	}
	return list
}

// printAdvice prints what is missing, and where a phone can look for itself.
func printAdvice(w io.Writer, s *service) {
	for _, sentence := range s.advice() {
		fmt.Fprintf(w, "· %s\n", sentence)
	}
	if link := s.sites.Link(); reachable(link) {
		fmt.Fprintf(w, "What works on a device, and whether it is there by this address: %s/check\n", link)
	}
}
