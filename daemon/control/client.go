package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"syscall"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/daemon/holder"
)

// ErrNotRunning says that no daemon serves this installation.
var ErrNotRunning = errors.New("the daemon is not running: start it with agent-helm daemon")

// maxAnswer bounds what the daemon may answer, in bytes.
const maxAnswer = 4 << 20

// Client asks the daemon of an installation. It keeps no connection.
type Client struct{ http *http.Client }

// NewClient returns a client of an installation's daemon. Nothing is connected yet.
func NewClient(dirs daemon.Dirs) *Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		var dialer net.Dialer
		conn, err := dialer.DialContext(ctx, "unix", dirs.DaemonSocket())
		switch {
		case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
			return nil, ErrNotRunning
		case err != nil:
			return nil, err
		}
		unix, ok := conn.(*net.UnixConn)
		if !ok {
			return nil, errors.Join(errors.New("not a unix socket"), conn.Close())
		}
		if uid, _, err := holder.Peer(unix); err != nil || uid != os.Getuid() {
			return nil, errors.Join(fmt.Errorf("the socket %s belongs to another user's process", dirs.DaemonSocket()), conn.Close())
		}
		return conn, nil
	}
	return &Client{http: &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}}
}

// Status asks how the daemon is. ErrNotRunning: there is none.
func (c *Client) Status(ctx context.Context) (Status, error) {
	var status Status
	err := c.do(ctx, http.MethodGet, "/status", &status)
	return status, err
}

// Nudge tells the daemon that something changed: a session, the pairing or the
// policy. ErrNotRunning: there is none, and nobody needs to know.
func (c *Client) Nudge(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/nudge", nil)
}

// Shutdown ends the daemon. The sessions go on.
func (c *Client) Shutdown(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/shutdown", nil)
}

func (c *Client) do(ctx context.Context, method, path string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, "http://"+hostName+path, nil)
	if err != nil {
		return fmt.Errorf("ask daemon: %w", err)
	}
	response, err := c.http.Do(request)
	switch {
	case errors.Is(err, ErrNotRunning):
		return ErrNotRunning
	case errors.Is(err, context.DeadlineExceeded):
		return errors.New("the daemon does not answer: it may be stopped")
	case err != nil:
		return fmt.Errorf("ask daemon: %w", err)
	}
	defer response.Body.Close()
	body := io.LimitReader(response.Body, maxAnswer)
	if response.StatusCode >= http.StatusBadRequest {
		var f failure
		if err := json.NewDecoder(body).Decode(&f); err != nil || f.Message == "" {
			return fmt.Errorf("the daemon answered %s", response.Status)
		}
		return errors.New(f.Message)
	}
	if into == nil {
		return nil
	}
	if err := json.NewDecoder(body).Decode(into); err != nil {
		return fmt.Errorf("read the daemon's answer: %w", err)
	}
	return nil
}
