package tailnet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"tailscale.com/client/local"
	"tailscale.com/envknob"
	"tailscale.com/ipn"
	"tailscale.com/tsnet"

	"github.com/agent-helm/agent-helm/internal/logging"
)

// Config says which node to be.
type Config struct {
	// Dir keeps the node's keys and certificates. It is made with mode 0700, and
	// refused when others may read it.
	Dir string
	// Hostname is the name to ask the tailnet for.
	Hostname string
	// AuthKey signs a new node in; empty for a login link. Take it from
	// ReadAuthKey.
	AuthKey string
	// ControlURL is another control server than Tailscale's own.
	ControlURL string
	// Certificate overrides the tailnet's certificates; nil uses them.
	Certificate func(*tls.ClientHelloInfo) (*tls.Certificate, error)
	// Changed is called with each new state, by one goroutine; it must not block
	// for long.
	Changed func(State)
	Log     *slog.Logger
}

// Node is this server in a tailnet.
type Node struct {
	config Config
	server *tsnet.Server
	client *local.Client

	mu    sync.Mutex
	state State // guarded by mu
}

// expiryEvery is how often a node that hears nothing looks at its key's age.
const expiryEvery = time.Hour

// rewatchAfter is how soon a broken watch of the node's state is renewed.
const rewatchAfter = time.Second

// dropEnvironment names what tsnet would read behind our back: keys that every
// child process would inherit, and a control server that nobody asked for.
var dropEnvironment = []string{"TS_AUTHKEY", "TS_AUTH_KEY", "TS_CLIENT_SECRET", "TS_CLIENT_ID", "TS_ID_TOKEN", "TS_AUDIENCE", "TS_CONTROL_URL"}

// Start begins to join the tailnet and returns at once. Call Run to go on, and
// only then is anything served.
func Start(config Config) (*Node, error) {
	if err := checkHostname(config.Hostname); err != nil {
		return nil, err
	}
	if err := makePrivate(config.Dir); err != nil {
		return nil, err
	}
	for _, name := range dropEnvironment {
		if os.Getenv(name) != "" {
			config.Log.Warn("environment variable ignored: give --tailscale-auth-key-file", "name", name)
		}
		if err := os.Unsetenv(name); err != nil {
			return nil, fmt.Errorf("forget %s: %w", name, err)
		}
	}
	// Neither logs nor metrics go to Tailscale.
	envknob.SetNoLogsNoSupport()
	control := config.ControlURL
	if control == "" {
		control = ipn.DefaultControlURL
	}
	n := &Node{config: config, state: State{Phase: PhaseStarting}, server: &tsnet.Server{
		Dir: config.Dir, Hostname: config.Hostname, AuthKey: config.AuthKey, ControlURL: control,
		// Its lines hold login links.
		UserLogf: func(string, ...any) {},
	}}
	if err := n.server.Start(); err != nil {
		return nil, fmt.Errorf("start the tailnet node: %w", err)
	}
	n.server.AuthKey, n.config.AuthKey = "", "" // it has been handed over
	var err error
	if n.client, err = n.server.LocalClient(); err != nil {
		return nil, errors.Join(fmt.Errorf("start the tailnet node: %w", err), n.server.Close())
	}
	return n, nil
}

// State is the node's present state.
func (n *Node) State() State {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state
}

// Run keeps the node until ctx ends. Once the node has an address and a
// certificate it calls serve with the listener for HTTPS, and waits for its
// return in the end. It fails only with what serve returns.
func (n *Node) Run(ctx context.Context, serve func(net.Listener) error) error {
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	var tasks sync.WaitGroup
	served := make(chan error, 1)
	var failure error
	listening, finished := false, false
	changes := make(chan string, 1)
	tasks.Go(func() { n.watch(running, changes) })
	tick := time.NewTicker(expiryEvery)
	defer tick.Stop()
	for failure == nil {
		select {
		case problem := <-changes:
			n.refresh(running, problem)
		case <-tick.C:
			n.refresh(running, "")
		case failure = <-served:
			// Without a failure the server is shutting down: never listen again.
			listening, finished = false, true
		case <-ctx.Done():
			failure = ctx.Err()
		}
		if failure == nil && !listening && !finished && n.State().Phase == PhaseUp {
			var listeners []net.Listener
			if listeners, failure = n.listen(); failure == nil {
				listening = true
				tasks.Go(func() { redirect(listeners[1], func() string { return n.State().URL }) })
				tasks.Go(func() { n.warmCertificate(running) })
				tasks.Go(func() { served <- serve(listeners[0]) })
			}
		}
	}
	cancel()
	closed := n.server.Close()
	tasks.Wait()
	if ctx.Err() != nil {
		failure = nil
		if listening {
			failure = <-served
		}
	}
	return errors.Join(failure, closed)
}

// listen opens the listener for HTTPS and the one that leads to it.
func (n *Node) listen() ([]net.Listener, error) {
	secure, err := n.server.Listen("tcp", ":443")
	if err != nil {
		return nil, fmt.Errorf("listen on the tailnet: %w", err)
	}
	plain, err := n.server.Listen("tcp", ":80")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("listen on the tailnet: %w", err), secure.Close())
	}
	return []net.Listener{secure, plain}, nil
}

// TLS is the configuration for the listener that serve gets.
func (n *Node) TLS() *tls.Config {
	certificate := n.config.Certificate
	if certificate == nil {
		certificate = n.client.GetCertificate
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: certificate}
}

// warmCertificate fetches the certificate before the first browser waits for
// it, and says so when that cannot be done.
func (n *Node) warmCertificate(ctx context.Context) {
	if n.config.Certificate != nil {
		return
	}
	if _, _, err := n.client.CertPair(ctx, n.State().Name); err != nil && ctx.Err() == nil {
		n.config.Log.Warn("no certificate from the tailnet yet; the next connection asks again", logging.KeyError, err.Error())
	}
}

// watch tells of changes until ctx ends. What it sends is the backend's own
// message when something failed, else nothing.
func (n *Node) watch(ctx context.Context, changes chan<- string) {
	for ctx.Err() == nil {
		if err := n.watchOnce(ctx, changes); err != nil && ctx.Err() == nil {
			n.config.Log.Debug("watching the tailnet node failed", logging.KeyError, err.Error())
			select {
			case <-ctx.Done():
			case <-time.After(rewatchAfter):
			}
		}
	}
}

func (n *Node) watchOnce(ctx context.Context, changes chan<- string) error {
	watcher, err := n.client.WatchIPNBus(ctx, ipn.NotifyInitialState|ipn.NotifyNoNetMap)
	if err != nil {
		return err
	}
	defer watcher.Close()
	for {
		notice, err := watcher.Next()
		if err != nil {
			return err
		}
		problem := ""
		if notice.ErrMessage != nil {
			problem = *notice.ErrMessage
		}
		select {
		case changes <- problem:
		case <-ctx.Done():
			return nil
		}
	}
}

// refresh asks the node how it is.
func (n *Node) refresh(ctx context.Context, problem string) {
	status, err := n.client.StatusWithoutPeers(ctx)
	if err != nil {
		if ctx.Err() == nil {
			n.config.Log.Debug("asking the tailnet node failed", logging.KeyError, err.Error())
		}
		return
	}
	state := stateOf(status, n.config.Certificate != nil, time.Now())
	if problem != "" && state.Phase == PhaseStarting {
		state.Phase, state.Problem = PhaseFailed, "The tailnet refuses this node: "+strings.TrimSpace(problem)+"."
	}
	n.mu.Lock()
	// Nothing new does not undo a failure: the node does not try again by itself.
	failed := n.state.Phase == PhaseFailed && state.Phase == PhaseStarting
	changed := n.state != state && !failed
	if changed {
		n.state = state
	}
	n.mu.Unlock()
	if changed && n.config.Changed != nil {
		n.config.Changed(state)
	}
}

var hostnamePattern = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`)

func checkHostname(name string) error {
	if !hostnamePattern.MatchString(name) {
		return fmt.Errorf("--tailscale-hostname %q: use small letters, digits and hyphens, such as helm", name)
	}
	return nil
}

// makePrivate makes a directory that only the owner can enter, or fails when
// one is there that others can.
func makePrivate(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return fmt.Errorf("make the tailnet state directory: %w", err)
	}
	err := os.Mkdir(dir, 0o700)
	if err == nil || !errors.Is(err, fs.ErrExist) {
		if err != nil {
			err = fmt.Errorf("make the tailnet state directory: %w", err)
		}
		return err
	}
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return fmt.Errorf("look at the tailnet state directory: %w", err)
	case !info.IsDir():
		return fmt.Errorf("the tailnet state directory %s is not a directory", dir)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("others may read the tailnet state in %s: chmod 700 it", dir)
	}
	return nil
}

// ReadAuthKey reads a key from a file of the owner's own. Keys are never taken
// from the command line or the environment, where other programs see them.
func ReadAuthKey(path string) (string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return "", fmt.Errorf("read the tailnet auth key: %w", err)
	}
	if info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("others may read the auth key in %s: chmod 600 it", path)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the tailnet auth key: %w", err)
	}
	key := strings.TrimSpace(string(content))
	if key == "" || strings.ContainsAny(key, " \t\r\n") {
		return "", fmt.Errorf("%s does not hold one auth key", path)
	}
	return key, nil
}
