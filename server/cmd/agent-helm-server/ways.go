package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/agent-helm/agent-helm/internal/logging"
	"github.com/agent-helm/agent-helm/server/httpapi"
)

// proxyFlags say which reverse proxies are believed.
type proxyFlags struct {
	TrustedProxy    []string `name:"trusted-proxy" placeholder:"ADDR" help:"Address or network of a reverse proxy that may say where requests come from, for limits and lists; with --proxy-secret-file."`
	ProxySecretFile string   `name:"proxy-secret-file" placeholder:"FILE" help:"Secret that the proxy sends as X-Agent-Helm-Proxy-Secret."`
	ProxySocket     string   `name:"proxy-socket" placeholder:"PATH" help:"Listen on a unix socket as well, for a reverse proxy; its directory says who may use it. Needs an https --public-url."`
}

func (f proxyFlags) proxies() (*httpapi.Proxies, error) {
	secret := ""
	if f.ProxySecretFile != "" {
		var err error
		if secret, err = readSecret(f.ProxySecretFile); err != nil {
			return nil, err
		}
	}
	return httpapi.ParseProxies(f.TrustedProxy, secret)
}

// readSecret reads a secret from a file of the owner's own. Secrets are never
// taken from the command line or the environment, where other programs see
// them (THREATS S-36).
func readSecret(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("read secret: %w", err)
	}
	if info.Mode().IsRegular() && info.Mode().Perm()&0o007 != 0 {
		return "", fmt.Errorf("everybody may read the secret in %s: chmod 600 it", path)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read secret: %w", err)
	}
	return strings.TrimSpace(string(content)), nil
}

// bindSocket listens on a unix socket that owner and group may open. A socket
// that another process answers on is left alone.
func bindSocket(path string) (net.Listener, error) {
	path, err := filepath.Abs(path)
	if err != nil {
		return nil, fmt.Errorf("--proxy-socket: %w", err)
	}
	info, err := os.Stat(filepath.Dir(path))
	switch {
	case err != nil:
		return nil, fmt.Errorf("--proxy-socket: %w", err)
	case info.Mode().Perm()&0o002 != 0:
		return nil, fmt.Errorf("--proxy-socket %s: everybody may write to its directory, so anybody could put a socket of their own there: use one for the server and the proxy alone", path)
	}
	if info, err := os.Lstat(path); err == nil {
		if info.Mode().Type() != os.ModeSocket {
			return nil, fmt.Errorf("--proxy-socket %s: something else has that name", path)
		}
		if connection, err := net.DialTimeout("unix", path, time.Second); err == nil {
			connection.Close()
			return nil, fmt.Errorf("--proxy-socket %s is in use by another program", path)
		}
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("--proxy-socket: %w", err)
		}
	}
	listener, err := net.Listen("unix", path)
	if err != nil {
		return nil, fmt.Errorf("--proxy-socket: %w", err)
	}
	if err := os.Chmod(path, 0o660); err != nil {
		return nil, errors.Join(fmt.Errorf("--proxy-socket: %w", err), listener.Close())
	}
	return listener, nil
}

// socketWay is the way in through a unix socket. Only the public https names
// are ours there: the server has no address on it.
func socketWay(public []*url.URL) (httpapi.Way, error) {
	var secure []*url.URL
	for _, u := range public {
		if u.Scheme == "https" {
			secure = append(secure, u)
		}
	}
	if len(secure) == 0 {
		return httpapi.Way{}, errors.New("--proxy-socket needs the address that the proxy serves: give --public-url https://…")
	}
	return httpapi.Way{Sites: &httpapi.Sites{Public: secure}, Proxies: &httpapi.Proxies{Socket: true}}, nil
}

// doors are the HTTP servers of all ways in. They share the limits of strangers
// and end together.
type doors struct {
	log         *slog.Logger
	lifetime    context.Context // of every request
	connections httpapi.Connections

	mu      sync.Mutex
	servers []*http.Server // guarded by mu
	closed  bool           // guarded by mu
}

// serve serves until shutdown, or until the listener fails. secure says how to
// speak TLS; nil is plain HTTP.
func (d *doors) serve(listener net.Listener, handler http.Handler, secure func(*http.Server)) error {
	s := &http.Server{
		Handler: handler, ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes,
		BaseContext: func(net.Listener) context.Context { return d.lifetime },
		ConnContext: d.connections.Context, ConnState: d.connections.State,
		ErrorLog: slog.NewLogLogger(d.log.Handler(), slog.LevelDebug),
	}
	if !d.add(s) {
		return listener.Close()
	}
	var err error
	if secure != nil {
		secure(s)
		err = s.ServeTLS(d.connections.Listener(listener), "", "")
	} else {
		err = s.Serve(d.connections.Listener(listener))
	}
	if errors.Is(err, http.ErrServerClosed) || errors.Is(err, net.ErrClosed) && d.lifetime.Err() != nil {
		return nil
	}
	return err
}

func (d *doors) add(s *http.Server) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.closed {
		d.servers = append(d.servers, s)
	}
	return !d.closed
}

// shutdown takes no new requests and waits for those that run, until ctx ends.
func (d *doors) shutdown(ctx context.Context) error {
	d.mu.Lock()
	d.closed = true
	servers := d.servers
	d.mu.Unlock()
	var stopping sync.WaitGroup
	failures := make(chan error, len(servers))
	for _, s := range servers {
		stopping.Go(func() { failures <- s.Shutdown(ctx) })
	}
	stopping.Wait()
	close(failures)
	var all error
	for err := range failures {
		all = errors.Join(all, err)
	}
	if all == nil {
		return nil
	}
	d.log.Warn("requests cut off at shutdown", logging.KeyError, all.Error())
	var closing error
	for _, s := range servers {
		closing = errors.Join(closing, s.Close())
	}
	return closing
}
