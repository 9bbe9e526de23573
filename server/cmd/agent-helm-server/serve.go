package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/agent-helm/agent-helm/internal/buildinfo"
	"github.com/agent-helm/agent-helm/internal/logging"
	"github.com/agent-helm/agent-helm/server"
	"github.com/agent-helm/agent-helm/server/auth"
	"github.com/agent-helm/agent-helm/server/fleet"
	"github.com/agent-helm/agent-helm/server/httpapi"
	"github.com/agent-helm/agent-helm/server/store/sqlite"
	"github.com/agent-helm/agent-helm/web"
)

type serveCommand struct {
	dataFlag
	Listen      string   `default:"127.0.0.1:7777" placeholder:"ADDR:PORT" help:"Where to listen; port 0 takes a free one (${default})."`
	PublicURL   []string `name:"public-url" placeholder:"URL" help:"Address that browsers and hosts use, such as https://helm.example; stored, and used for links. Give it again for further names, or as none to forget it."`
	TLSCert     string   `name:"tls-cert" placeholder:"FILE" type:"existingfile" help:"Certificate chain in PEM; read again when it changes."`
	TLSKey      string   `name:"tls-key" placeholder:"FILE" type:"existingfile" help:"Its private key in PEM."`
	InsecureLAN bool     `name:"insecure-lan" help:"Allow plain HTTP off loopback: to read, answer and type, never exec or admin, and signed out after a day. Anybody on the network can read along."`
	OpenTicket  bool     `name:"open-ticket" help:"Print a sign-in link once the server listens. Only to a terminal."`
	LinkFile    string   `name:"link-file" placeholder:"FILE" help:"Write a sign-in link to a file that only you can read."`
	AddressFile string   `name:"address-file" placeholder:"FILE" help:"Write the address of this server to a file once it listens."`
	LogLevel    string   `name:"log-level" default:"info" enum:"debug,info,warn,error" help:"debug, info, warn or error (${default})."`
	LogJSON     bool     `name:"log-json" help:"Log JSON lines."`

	tailscaleFlags `group:"Tailnet"`
	proxyFlags     `group:"Reverse proxy"`
	metricsFlags   `group:"Metrics"`
}

// Help is shown by --help.
func (serveCommand) Help() string {
	return "Examples:\n  agent-helm-server serve --data ./data\n" +
		"  agent-helm-server serve --data ./data --listen 127.0.0.1:7777 --public-url https://helm.example\n" +
		"  agent-helm-server serve --data ./data --listen 0.0.0.0:443 --tls-cert cert.pem --tls-key key.pem --public-url https://helm.example\n" +
		"  agent-helm-server serve --data ./data --tailscale --tailscale-hostname helm"
}

// Limits of the HTTP server.
const (
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 32 << 10
	// drainTime is how long requests and sockets have to end at a shutdown, and
	// saveTime how long what is unsaved has to reach the disk after that.
	drainTime = 5 * time.Second
	saveTime  = 10 * time.Second
)

// Run serves until ctx ends.
func (c *serveCommand) Run(ctx context.Context, std streams) (err error) {
	logger, err := logging.New(std.err, logging.Options{Level: c.LogLevel, JSON: c.LogJSON})
	if err != nil {
		return err
	}
	listen, err := parseListen(c.Listen)
	if err != nil {
		return err
	}
	certificates, err := c.certificates()
	if err != nil {
		return err
	}
	store, err := sqlite.Open(ctx, c.Data, sqlite.Options{Server: true})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	public, err := c.publicURLs(ctx, store)
	if err != nil {
		return err
	}
	insecure, err := c.checkPlain(listen, public, certificates != nil)
	if err != nil {
		return err
	}
	proxies, err := c.proxies()
	if err != nil {
		return err
	}
	listener, err := bind(listen)
	if err != nil {
		return err
	}
	defer listener.Close() // a second Close, after Shutdown, is harmless
	bound, err := netip.ParseAddrPort(listener.Addr().String())
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	sites := &httpapi.Sites{Public: public, Listen: bound, TLS: certificates != nil, Insecure: insecure}
	key, err := auth.LoadKey(c.Data)
	if err != nil {
		return err
	}
	s := &service{logger: logger, store: store, auth: auth.New(store, key, logger), sites: sites, public: public, proxies: proxies, certificates: certificates}
	if s.metrics, err = c.metrics(); err != nil {
		return err
	}
	if s.metrics != nil {
		defer s.metrics.listener.Close()
	}
	if c.ProxySocket != "" {
		if s.socketWay, err = socketWay(public); err != nil {
			return err
		}
		if s.socket, err = bindSocket(c.ProxySocket); err != nil {
			return err
		}
		defer s.socket.Close()
	}
	if err := s.storeSettings(ctx); err != nil {
		return err
	}
	if s.tailnet, err = c.tailnet(s, public, std); err != nil {
		return err
	}
	return s.run(ctx, listener, func() error { return c.announce(ctx, s, std) })
}

// service is everything that runs, between its start and its end.
type service struct {
	logger       *slog.Logger
	store        *sqlite.Store
	auth         *auth.Service
	sites        *httpapi.Sites
	public       []*url.URL       // of --public-url
	proxies      *httpapi.Proxies // nil trusts none
	certificates *certificates    // nil for plain HTTP
	socket       net.Listener     // for a reverse proxy; nil for none
	socketWay    httpapi.Way      // of socket
	tailnet      *tailnetWay      // nil without --tailscale
	metrics      *metricsDoor     // nil without --metrics-listen

	terminal sync.Mutex // held while something is printed to the terminal
}

// run serves on listener until ctx ends, and then ends everything in order:
// no new requests, sockets with a word of when to come back, what is unsaved.
func (s *service) run(ctx context.Context, listener net.Listener, ready func() error) error {
	registry, err := fleet.Open(ctx, fleet.Config{Store: s.store, Logger: s.logger, Owned: func(o fleet.Ownership) {
		s.auth.AuditBy(context.WithoutCancel(ctx), o.By, o.Action, o.Session.String(), o.Detail)
	}})
	if err != nil {
		return err
	}
	sockets := newSockets(registry, s.auth, s.sites.Link, s.logger)
	placeholder := ""
	if !web.Built() {
		placeholder = web.Placeholder
		s.logger.Warn("this binary carries no built app: run make build")
	}
	api, err := httpapi.New(httpapi.Config{
		Auth: s.auth, Fleet: fleetAdapter{registry}, Sockets: sockets, Sites: s.sites, Proxies: s.proxies, Log: s.logger, Version: buildinfo.Version(), Check: s.check,
		App: web.Files(), Placeholder: placeholder,
	})
	if err != nil {
		return errors.Join(err, registry.Close(ctx))
	}

	lifetime, end := context.WithCancelCause(context.WithoutCancel(ctx))
	var background sync.WaitGroup
	background.Go(func() { s.auth.Run(lifetime) })
	background.Go(func() { reconcileHosts(lifetime, s.store, registry, s.logger) })
	doors := &doors{log: s.logger, lifetime: lifetime}
	failed := make(chan error, 4) // one for each listener
	open := func(serve func() error) { background.Go(func() { failed <- serve() }) }
	open(func() error { return doors.serve(listener, api, s.secure()) })
	if s.socket != nil {
		open(func() error { return doors.serve(s.socket, api.By(s.socketWay), nil) })
	}
	if s.metrics != nil {
		open(func() error { return doors.serve(s.metrics.listener, s.metrics.handler(registry), nil) })
	}
	if s.tailnet != nil {
		open(func() error { return s.tailnet.run(lifetime, api, doors) })
	}
	s.logger.Info("listening", logging.KeyAddress, s.sites.Local(), "version", buildinfo.Version())
	err = ready()
	if err == nil {
		select {
		case err = <-failed:
		case <-ctx.Done():
			s.logger.Info("shutting down")
		}
	}

	draining, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	stopped := make(chan error, 1)
	go func() { stopped <- doors.shutdown(draining) }()
	sockets.shutdown(draining)
	// Event streams and whatever waits for a host end with their context.
	end(server.NewError(server.CodeRestarting))
	err = errors.Join(err, <-stopped)
	background.Wait()
	saving, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
	defer cancel()
	return errors.Join(err, registry.Close(saving))
}

// secure makes the main listener speak TLS; nil for plain HTTP.
func (s *service) secure() func(*http.Server) {
	if s.certificates == nil {
		return nil
	}
	return func(main *http.Server) { main.TLSConfig = s.certificates.config() }
}

// parseListen reads an address to listen on. Names other than localhost are
// refused: what they mean may change.
func parseListen(text string) (netip.AddrPort, error) {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("--listen %q: give an address and a port, such as 127.0.0.1:7777", text)
	}
	switch host {
	case "localhost":
		host = "127.0.0.1"
	case "", "*":
		host = "0.0.0.0"
	}
	address, err := netip.ParseAddrPort(net.JoinHostPort(host, port))
	if err != nil {
		return netip.AddrPort{}, fmt.Errorf("--listen %q: give an address and a port, such as 127.0.0.1:7777", text)
	}
	return address, nil
}

// bind listens, and says what to do when the port is taken.
func bind(address netip.AddrPort) (net.Listener, error) {
	network := "tcp"
	if address.Addr().Is4() {
		network = "tcp4"
	}
	listener, err := net.Listen(network, address.String())
	switch {
	case err == nil:
		return listener, nil
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf("%s is in use by another program: stop it, or choose another port with --listen", address)
	case errors.Is(err, syscall.EACCES):
		return nil, fmt.Errorf("this user may not listen on %s: ports below 1024 need a privilege; choose another with --listen", address)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return nil, fmt.Errorf("this machine does not have the address %s: choose another with --listen", address.Addr())
	}
	return nil, fmt.Errorf("listen: %w", err)
}

// publicURLs reads --public-url and stores it, or takes what is stored.
func (c *serveCommand) publicURLs(ctx context.Context, store server.SettingStore) ([]*url.URL, error) {
	texts := c.PublicURL
	if len(texts) == 0 {
		stored, err := store.Setting(ctx, server.SettingPublicURL)
		if err != nil {
			return nil, err
		}
		texts = strings.Fields(stored)
	}
	var urls []*url.URL
	var canonical []string
	for _, text := range texts {
		if text == "none" && len(texts) == 1 {
			break
		}
		u, err := httpapi.ParsePublicURL(text)
		if err != nil {
			return nil, err
		}
		urls, canonical = append(urls, u), append(canonical, u.String())
	}
	if len(c.PublicURL) == 0 {
		return urls, nil
	}
	return urls, store.PutSetting(ctx, server.SettingPublicURL, strings.Join(canonical, " "))
}

// checkPlain refuses what would carry credentials and keystrokes in the clear
// over a network (THREATS S-13), and says whether it was asked for.
func (c *serveCommand) checkPlain(listen netip.AddrPort, public []*url.URL, tls bool) (insecure bool, err error) {
	exposed := ""
	if !tls && !listen.Addr().IsLoopback() {
		exposed = "listen on " + listen.String()
	}
	for _, u := range public {
		if u.Scheme == "http" && reachable(u.String()) {
			exposed = "serve " + u.String()
		}
	}
	if exposed == "" {
		return false, nil
	}
	if tls {
		return false, fmt.Errorf("the server speaks TLS, so the public URL must begin with https: cannot %s", exposed)
	}
	if !c.InsecureLAN {
		return false, fmt.Errorf("will not %s without TLS: anybody on the network could read the screens and steal the sign-in. "+
			"Give --tls-cert and --tls-key, or listen on 127.0.0.1 behind a TLS proxy with --public-url https://…, "+
			"or accept plain HTTP for reading, answering and typing with --insecure-lan", exposed)
	}
	return true, nil
}

// storeSettings tells commands on the data directory where the server is.
func (s *service) storeSettings(ctx context.Context) error {
	pin := ""
	if s.certificates != nil {
		var err error
		if pin, err = s.certificates.pin(); err != nil {
			return err
		}
	}
	// Written only when it changed: a server that restarts all day writes nothing.
	for key, value := range map[string]string{
		server.SettingListenURL: s.sites.Local(), server.SettingLinkURL: s.sites.Link(), server.SettingPin: pin,
	} {
		stored, err := s.store.Setting(ctx, key)
		if err == nil && stored != value {
			err = s.store.PutSetting(ctx, key, value)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// announce tells the person how to get in. A link is a credential: it goes to
// a terminal or into a file of the owner's, never into a log.
func (c *serveCommand) announce(ctx context.Context, s *service, std streams) error {
	if c.AddressFile != "" {
		if err := writePrivate(c.AddressFile, s.sites.Local()); err != nil {
			return err
		}
	}
	if c.LinkFile != "" {
		link, err := s.newLink(ctx)
		if err != nil {
			return err
		}
		if err := writePrivate(c.LinkFile, link); err != nil {
			return err
		}
	}
	if !isTerminal(std.out) {
		if c.OpenTicket {
			s.logger.Warn("no link printed: stdout is not a terminal; use --link-file, or agent-helm-server link")
		}
		return nil
	}
	s.terminal.Lock()
	defer s.terminal.Unlock()
	fmt.Fprintf(std.out, "agent-helm-server listens on %s\n", s.sites.Local())
	if s.sites.Insecure {
		fmt.Fprintln(std.out, "Plain HTTP: anybody on this network can read along. Nobody can administer or start commands through it.")
	}
	printAdvice(std.out, s)
	devices, err := s.auth.Devices(ctx)
	if err != nil {
		return err
	}
	if !c.OpenTicket && len(devices) > 0 {
		return nil
	}
	link, err := s.newLink(ctx)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(std.out, "Open this link in the browser to sign in (it works once, for 10 minutes):\n\n  %s\n\n", link)
	return err
}

func (s *service) newLink(ctx context.Context) (string, error) {
	ticket, _, err := s.auth.CreateTicket(ctx, auth.Console(), server.AllScopes)
	if err != nil {
		return "", err
	}
	return ticketLink(s.sites.Link(), ticket), nil
}

func isTerminal(w any) bool {
	file, ok := w.(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// writePrivate replaces a file with one line that only the owner can read. A
// reader sees the old file or the whole new one.
func writePrivate(path, line string) error {
	temporary := path + ".new"
	if err := os.Remove(temporary); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("write %s: %w", path, err)
	}
	file, err := os.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	_, err = file.WriteString(line + "\n")
	if err = errors.Join(err, file.Close()); err == nil {
		err = os.Rename(temporary, path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
