package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/agent-helm/agent-helm/internal/logging"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/httpapi"
	"github.com/agent-helm/agent-helm/server/tailnet"
)

// tailscaleFlags make the server a machine of a tailnet.
type tailscaleFlags struct {
	Tailscale            bool     `help:"Join a tailnet and serve HTTPS there, beside --listen. Needs no tailscale on this machine."`
	TailscaleHostname    string   `name:"tailscale-hostname" placeholder:"NAME" default:"agent-helm" help:"Name in the tailnet (${default})."`
	TailscaleAuthKeyFile string   `name:"tailscale-auth-key-file" placeholder:"FILE" help:"File with an auth key; without one a login link is printed."`
	TailscaleAllow       []string `name:"tailscale-allow" placeholder:"WHO" help:"Login (alice@example.com) or tag (tag:phones) that may come in over the tailnet, and then still has to pair. Without it: the login that owns this machine."`
	TailscaleControlURL  string   `name:"tailscale-control-url" placeholder:"URL" help:"Another control server than Tailscale's, such as Headscale."`
}

// loginLinkName is the file in the data directory where a server without a
// terminal leaves the link for signing its node in.
const loginLinkName = "tailscale-login"

// tailnetWay is the way in over a tailnet.
type tailnetWay struct {
	node   *tailnet.Node
	way    httpapi.Way
	allow  tailnet.Allow // empty: the node's owner
	data   string
	out    io.Writer // a terminal, or nil
	s      *service
	public bool // links have a public URL of their own

	mu    sync.Mutex
	shown string // the login link that was printed last; guarded by mu
}

// tailnet prepares the node. It returns nil without --tailscale: nothing of it
// runs then.
func (c *serveCommand) tailnet(s *service, public []*url.URL, std streams) (*tailnetWay, error) {
	if !c.Tailscale {
		if c.TailscaleAuthKeyFile != "" || len(c.TailscaleAllow) > 0 || c.TailscaleControlURL != "" {
			return nil, errors.New("the flags --tailscale-… need --tailscale")
		}
		return nil, nil
	}
	t := &tailnetWay{data: c.Data, s: s, public: len(public) > 0}
	if isTerminal(std.out) {
		t.out = std.out
	}
	var err error
	if t.allow, err = tailnet.ParseAllow(c.TailscaleAllow); err != nil {
		return nil, err
	}
	config := tailnet.Config{
		Dir: filepath.Join(c.Data, "tailscale"), Hostname: c.TailscaleHostname, ControlURL: c.TailscaleControlURL, Changed: t.changed, Log: s.logger,
	}
	if c.TailscaleAuthKeyFile != "" {
		if config.AuthKey, err = tailnet.ReadAuthKey(c.TailscaleAuthKeyFile); err != nil {
			return nil, err
		}
	}
	if s.certificates != nil {
		config.Certificate = s.certificates.get
	}
	t.way = httpapi.Way{Sites: &httpapi.Sites{}, Identify: t.identify}
	if t.node, err = tailnet.Start(config); err != nil {
		return nil, err
	}
	return t, nil
}

// run serves the way in until ctx ends.
func (t *tailnetWay) run(ctx context.Context, api *httpapi.API, doors *doors) error {
	return t.node.Run(ctx, func(listener net.Listener) error {
		return doors.serve(listener, api.By(t.way), func(s *http.Server) { s.TLSConfig = t.node.TLS() })
	})
}

// identify names the caller of a connection and refuses who is not allowed.
func (t *tailnetWay) identify(ctx context.Context, remoteAddr string) ([]string, error) {
	identity, err := t.node.WhoIs(ctx, remoteAddr)
	if err != nil {
		return nil, err
	}
	return t.allowed().Admit(identity)
}

// allowed is who was named, or the owner of the node.
func (t *tailnetWay) allowed() tailnet.Allow {
	if len(t.allow) > 0 {
		return t.allow
	}
	if owner := t.node.State().Owner; owner != "" {
		if allow, err := tailnet.ParseAllow([]string{owner}); err == nil {
			return allow
		}
	}
	return nil
}

// changed tells the person, the log and the other parts of the server how far
// the node has come.
func (t *tailnetWay) changed(state tailnet.State) {
	s := t.s
	switch state.Phase {
	case tailnet.PhaseLogin:
		s.logger.Warn("the tailnet node waits for somebody to sign it in", "terminal", t.out != nil)
	case tailnet.PhaseUp:
		s.logger.Info("listening on the tailnet", logging.KeyAddress, state.URL, "allowed", []string(t.allowed()))
	case tailnet.PhaseApproval, tailnet.PhaseNoHTTPS, tailnet.PhaseFailed, tailnet.PhaseStarting:
	}
	if state.Problem != "" && state.Phase != tailnet.PhaseLogin {
		s.logger.Warn("the tailnet node needs attention", "problem", state.Problem)
	}
	if state.Phase == tailnet.PhaseUp && len(t.allowed()) == 0 {
		s.logger.Warn("nobody may come in over the tailnet: this machine is tagged, so it has no owner; give --tailscale-allow")
	}
	if err := t.follow(state); err != nil {
		s.logger.Error("following the tailnet node failed", logging.KeyError, err.Error())
	}
	t.tell(state)
}

// follow gives links the node's address, and a server without a terminal a
// file with the login link.
func (t *tailnetWay) follow(state tailnet.State) error {
	if state.URL != "" {
		u, err := httpapi.ParsePublicURL(state.URL)
		if err != nil {
			return err
		}
		t.way.Sites.SetPublic(u)
	}
	loginFile := filepath.Join(t.data, loginLinkName)
	if state.Phase == tailnet.PhaseLogin && t.out == nil {
		if err := writePrivate(loginFile, state.LoginURL); err != nil {
			return err
		}
		t.s.logger.Info("the link for signing the node in is in a file", "file", loginFile)
	} else if err := os.Remove(loginFile); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	if t.public {
		return nil
	}
	t.s.sites.SetLink(state.URL)
	// The node's state changes a few times a day at most.
	return t.s.store.PutSetting(context.Background(), server.SettingLinkURL, t.s.sites.Link())
}

// tell prints what a person at the terminal has to know.
func (t *tailnetWay) tell(state tailnet.State) {
	if t.out == nil {
		return
	}
	t.s.terminal.Lock()
	defer t.s.terminal.Unlock()
	t.mu.Lock()
	known := t.shown == state.LoginURL
	t.shown = state.LoginURL
	t.mu.Unlock()
	switch {
	case state.Phase == tailnet.PhaseLogin && !known:
		fmt.Fprintf(t.out, "Sign this server in to the tailnet; open this link on any device:\n\n  %s\n", state.LoginURL)
		if err := printQR(t.out, state.LoginURL); err != nil {
			t.s.logger.Warn("no QR code", logging.KeyError, err.Error())
		}
	case state.Phase == tailnet.PhaseUp && state.Problem == "":
		fmt.Fprintf(t.out, "On the tailnet: %s\n", state.URL)
	case state.Problem != "":
		fmt.Fprintf(t.out, "Tailnet: %s\n", state.Problem)
	}
}
