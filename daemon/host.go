package daemon

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"path/filepath"
)

// ErrNotPaired says that this host has no server yet.
var ErrNotPaired = errors.New("this host is not paired: run agent-helm pair URL CODE")

// HostConfig is host.json: the server this host belongs to. The file is 0600
// because it holds the host's token.
type HostConfig struct {
	// Server is the base URL, https, or http on a loopback address.
	Server string `json:"server"`
	// HostID is the server's id of this host.
	HostID string `json:"host_id"`
	// Name is how the server shows this host.
	Name string `json:"name"`
	// Token is the bearer token of the uplink.
	Token string `json:"token"`
	// Pin is the SHA-256 of the server's SubjectPublicKeyInfo at pairing, in
	// base64; empty for a loopback http server.
	Pin string `json:"pin,omitempty"`
}

// HostConfigPath is where the host's pairing is kept.
func (d Dirs) HostConfigPath() string { return filepath.Join(d.Config, "host.json") }

// LoadHostConfig reads and checks host.json. ErrNotPaired: there is none.
func LoadHostConfig(d Dirs) (HostConfig, error) {
	var config HostConfig
	path := d.HostConfigPath()
	if err := checkPrivateFile(path); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return config, ErrNotPaired
		}
		return config, err
	}
	if err := ReadJSON(path, &config); err != nil {
		return HostConfig{}, err
	}
	if err := config.Validate(); err != nil {
		return HostConfig{}, fmt.Errorf("%s: %w: pair again", path, err)
	}
	return config, nil
}

// Save writes host.json atomically with mode 0600.
func (c HostConfig) Save(d Dirs) error {
	if err := c.Validate(); err != nil {
		return fmt.Errorf("save pairing: %w", err)
	}
	if err := d.Create(); err != nil {
		return err
	}
	return WriteJSON(d.HostConfigPath(), c)
}

// Validate fails when a field is missing or unusable.
func (c HostConfig) Validate() error {
	if err := ValidateServerURL(c.Server); err != nil {
		return err
	}
	if c.HostID == "" || c.Token == "" || c.Name == "" {
		return errors.New("the host's id, name or token is missing")
	}
	if c.Pin != "" {
		if sum, err := base64.StdEncoding.DecodeString(c.Pin); err != nil || len(sum) != sha256.Size {
			return errors.New("the server's pinned key is malformed")
		}
	}
	return nil
}

// ValidateServerURL fails unless the URL is https, or http to a loopback
// address: a token never travels in the clear.
func ValidateServerURL(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return fmt.Errorf("server URL: %w", err)
	}
	if u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return fmt.Errorf("server URL %q: write it as https://name[:port]", u.Redacted())
	}
	switch u.Scheme {
	case "https":
		return nil
	case "http":
		host := u.Hostname()
		if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
			return nil
		}
		return fmt.Errorf("server URL %q: plain http is only for a loopback address; use https", u.Redacted())
	}
	return fmt.Errorf("server URL %q: the scheme is not https", u.Redacted())
}
