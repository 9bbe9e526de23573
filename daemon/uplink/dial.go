package uplink

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/coder/websocket"
)

const (
	linkPath     = "/api/hosts/link"
	registerPath = "/api/hosts/register"
)

// errPin says that the server's key is not the one of the pairing.
var errPin = errors.New("the server's key is not the one that was pinned at pairing: somebody may be in between, or the server has a new key; if you trust it, pair again")

// httpError is an answer with a status that is not a success.
type httpError struct {
	status  int
	code    string
	message string
	after   time.Duration
}

func (e *httpError) Error() string { return e.message }

// refusal is an error that only a person can end.
type refusal struct{ err error }

func (e *refusal) Error() string { return e.err.Error() }
func (e *refusal) Unwrap() error { return e.err }

// client returns an HTTP client for a server: no redirects, which would carry
// the token elsewhere, no plain connection off loopback, and the pinned key.
func (u *Uplink) client(config daemon.HostConfig) *http.Client {
	return newClient(config.Server, u.options.Dial, pinnedTLS(config.Pin, nil))
}

func newClient(server string, dial func(ctx context.Context, network, address string) (net.Conn, error), tlsConfig *tls.Config) *http.Client {
	if dial == nil {
		dial = (&net.Dialer{Timeout: dialTimeout, KeepAlive: wire.Heartbeat}).DialContext
	}
	plain := strings.HasPrefix(server, "http:")
	transport := &http.Transport{
		Proxy: http.ProxyFromEnvironment,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			// A name such as localhost can be made to point elsewhere.
			if tcp, ok := conn.RemoteAddr().(*net.TCPAddr); ok && plain && !tcp.IP.IsLoopback() {
				conn.Close()
				return nil, &refusal{fmt.Errorf("plain http would leave this machine (%s): use https", tcp)}
			}
			return conn, nil
		},
		TLSClientConfig:     tlsConfig,
		TLSHandshakeTimeout: dialTimeout,
		// A WebSocket opens on HTTP/1.1; a non-nil map turns HTTP/2 off.
		TLSNextProto:      map[string]func(string, *tls.Conn) http.RoundTripper{},
		DisableKeepAlives: true,
	}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// pinnedTLS trusts exactly the pinned key; without a pin, the system's roots.
// seen receives the key of the connection when it is not nil.
func pinnedTLS(pin string, seen *string) *tls.Config {
	return &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"http/1.1"},
		// With a pin the key itself is what is trusted, and VerifyConnection
		// checks it on every handshake, resumed ones included.
		InsecureSkipVerify: pin != "", //nolint:gosec // see above
		VerifyConnection: func(state tls.ConnectionState) error {
			if len(state.PeerCertificates) == 0 {
				return errPin
			}
			key := spki(state.PeerCertificates[0])
			if seen != nil {
				*seen = key
			}
			if pin != "" && key != pin {
				return errPin
			}
			return nil
		},
	}
}

// spki is the SHA-256 of a certificate's public key, in base64.
func spki(certificate *x509.Certificate) string {
	sum := sha256.Sum256(certificate.RawSubjectPublicKeyInfo)
	return base64.StdEncoding.EncodeToString(sum[:])
}

// dial opens the WebSocket.
func (u *Uplink) dial(ctx context.Context, config daemon.HostConfig) (*websocket.Conn, error) {
	if err := daemon.ValidateServerURL(config.Server); err != nil {
		return nil, &refusal{err}
	}
	address, err := url.JoinPath(config.Server, linkPath)
	if err != nil {
		return nil, &refusal{fmt.Errorf("server URL: %w", err)}
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	client := u.client(config)
	defer client.CloseIdleConnections()
	socket, response, err := websocket.Dial(ctx, address, &websocket.DialOptions{
		HTTPClient:      client,
		HTTPHeader:      http.Header{"Authorization": {"Bearer " + config.Token}, "User-Agent": {"agent-helm/" + u.options.Version}},
		CompressionMode: websocket.CompressionDisabled,
	})
	if err != nil {
		if response != nil && response.StatusCode != http.StatusSwitchingProtocols {
			return nil, readProblem(response)
		}
		return nil, dialError(err)
	}
	socket.SetReadLimit(wire.MaxMessage)
	return socket, nil
}

// dialError shortens the chain of wrappers to what a person can use.
func dialError(err error) error {
	var refused *refusal
	var unknown x509.UnknownAuthorityError
	var host x509.HostnameError
	var plain tls.RecordHeaderError
	var wrapped *url.Error
	var unnamed *net.DNSError
	var network *net.OpError
	switch {
	case errors.Is(err, errPin):
		return &refusal{errPin}
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &unknown):
		return &refusal{errors.New("no authority that this host knows vouches for the server's certificate: pair again with the link that the server prints, which carries its key")}
	case errors.As(err, &host):
		return &refusal{fmt.Errorf("the server's certificate is for another name: %w", host)}
	case errors.As(err, &plain), strings.Contains(err.Error(), "HTTP response to HTTPS client"):
		// net/http hides the error of an answer that looks like HTTP.
		return &refusal{errors.New("the server does not speak TLS on this port")}
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("the server does not answer")
	case errors.As(err, &unnamed):
		return fmt.Errorf("the name %s is not found", untrusted.Clean(unnamed.Name, 100))
	case errors.As(err, &network):
		switch {
		case errors.Is(err, syscall.ECONNREFUSED):
			return fmt.Errorf("nothing listens at %s: connection refused", network.Addr)
		case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
			return fmt.Errorf("there is no way to %s from here", network.Addr)
		}
		return network
	case errors.As(err, &wrapped):
		return wrapped.Err
	}
	return err
}

// problem is RFC 9457's body as our server writes it.
type problem struct {
	Title  string `json:"title"`
	Detail string `json:"detail"`
	Code   string `json:"code"`
}

// readProblem turns an answer that is not a success into an error with a
// sentence. What the server wrote is capped and cleaned.
func readProblem(response *http.Response) error {
	defer response.Body.Close()
	result := &httpError{status: response.StatusCode}
	if seconds, err := strconv.Atoi(response.Header.Get("Retry-After")); err == nil && seconds > 0 {
		result.after = min(time.Duration(seconds)*time.Second, refusedMax)
	}
	var p problem
	if body, err := io.ReadAll(io.LimitReader(response.Body, 64<<10)); err == nil {
		// A proxy in between may answer with HTML; then the status has to do.
		if json.Unmarshal(body, &p) == nil {
			result.code = untrusted.Clean(p.Code, 64)
		}
	}
	sentence := p.Detail
	if sentence == "" {
		sentence = p.Title
	}
	sentence = untrusted.Clean(sentence, 300)
	switch {
	case sentence != "":
		result.message = fmt.Sprintf("the server says: %s (%d)", sentence, response.StatusCode)
	case response.StatusCode >= 300 && response.StatusCode < 400:
		result.message = fmt.Sprintf("the server sends us elsewhere (%d to %s): pair with that address", response.StatusCode, untrusted.Clean(response.Header.Get("Location"), 200))
	case response.StatusCode == http.StatusNotFound:
		result.message = "there is no agent-helm server at this address (404)"
	default:
		result.message = fmt.Sprintf("the server answered %d %s", response.StatusCode, http.StatusText(response.StatusCode))
	}
	return result
}

// Sentences for the close codes that a person has to act upon.
var closeReasons = map[websocket.StatusCode]string{
	wire.CloseVersion:      "this program and the server speak different versions: update the older one",
	wire.CloseUnauthorized: "the server does not know this host any more: pair again",
	wire.CloseForbidden:    "the server does not let this host in",
	wire.CloseDuplicate:    "another running daemon uses this host's token: stop one of them, or pair one again",
	wire.CloseLimit:        "the server has reached its limit of hosts",
}

// classify turns the error that ended an attempt or link into what is shown
// and done next.
func classify(err error) ended {
	var refused *refusal
	var answered *httpError
	var closed websocket.CloseError
	switch {
	case errors.As(err, &refused), errors.Is(err, wire.ErrVersion), errors.Is(err, wire.ErrMagic):
		return ended{state: StateRefused, err: err}
	case errors.As(err, &answered):
		switch {
		case answered.status == http.StatusTooManyRequests || answered.status >= 500 || answered.status == http.StatusRequestTimeout:
			return ended{state: StateReconnecting, err: err, after: answered.after}
		case answered.status == http.StatusUnauthorized && answered.code == "":
			return ended{state: StateRefused, err: errors.New(closeReasons[wire.CloseUnauthorized])}
		}
		return ended{state: StateRefused, err: err}
	case errors.As(err, &closed):
		reason := untrusted.Clean(closed.Reason, 200)
		if sentence, known := closeReasons[closed.Code]; known {
			if reason != "" {
				sentence += " (" + reason + ")"
			}
			return ended{state: StateRefused, err: errors.New(sentence)}
		}
		if reason == "" {
			reason = "without a reason"
		}
		return ended{state: StateReconnecting, err: fmt.Errorf("the server closed the link: %s (code %d)", reason, closed.Code)}
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return ended{state: StateReconnecting, err: errors.New("the connection was cut")}
	}
	return ended{state: StateReconnecting, err: err}
}
