package uplink

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/buildinfo"
)

// pinParameter is the key in a pairing link's fragment that carries the
// server's public key: https://name/#pin=BASE64.
const pinParameter = "pin"

// registration is what a host tells of itself when it is paired, and
// registered what the server answers.
type registration struct {
	Code    string `json:"code"`
	Name    string `json:"name"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
	Version string `json:"version"`
}

type registered struct {
	HostID string `json:"host_id"`
	Name   string `json:"name"`
	Token  string `json:"token"`
}

// Pair redeems a pairing code at the server and returns the host's new
// configuration, which the caller saves. The address is https, or http on a
// loopback address. Over https the server's public key is recorded: the one
// that the address names in its fragment (#pin=…), which must then match and
// needs no authority, or else that of a certificate which this host's
// authorities vouch for. Errors are sentences.
func Pair(ctx context.Context, server, code, name string) (daemon.HostConfig, error) {
	server, pin, err := cutPin(strings.TrimSpace(server))
	if err != nil {
		return daemon.HostConfig{}, err
	}
	if err := daemon.ValidateServerURL(server); err != nil {
		return daemon.HostConfig{}, err
	}
	if err := daemon.ValidateName(name); err != nil {
		return daemon.HostConfig{}, fmt.Errorf("name of this host: %w", err)
	}
	code = strings.TrimSpace(code)
	if code == "" {
		return daemon.HostConfig{}, errors.New("a pairing code is needed: the server prints one with agent-helm-server pair")
	}
	address, err := url.JoinPath(server, registerPath)
	if err != nil {
		return daemon.HostConfig{}, fmt.Errorf("server URL: %w", err)
	}
	body, err := json.Marshal(registration{Code: code, Name: name, OS: runtime.GOOS, Arch: runtime.GOARCH, Version: buildinfo.Version()})
	if err != nil {
		return daemon.HostConfig{}, fmt.Errorf("encode registration: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	var key string
	client := newClient(server, nil, pinnedTLS(pin, &key))
	defer client.CloseIdleConnections()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return daemon.HostConfig{}, fmt.Errorf("server URL: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	response, err := client.Do(request)
	if err != nil {
		return daemon.HostConfig{}, fmt.Errorf("reach the server: %w", dialError(err))
	}
	defer response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return daemon.HostConfig{}, readProblem(response)
	}
	var answer registered
	if err := json.NewDecoder(io.LimitReader(response.Body, 64<<10)).Decode(&answer); err != nil {
		return daemon.HostConfig{}, errors.New("the answer is not that of an agent-helm server: check the address")
	}
	config := daemon.HostConfig{Server: strings.TrimSuffix(server, "/"), HostID: answer.HostID, Name: answer.Name, Token: answer.Token}
	if strings.HasPrefix(server, "https:") {
		config.Pin = key
	}
	if err := config.Validate(); err != nil {
		return daemon.HostConfig{}, fmt.Errorf("the answer is not that of an agent-helm server: %w", err)
	}
	return config, nil
}

// cutPin takes the pin out of a pairing address. Both alphabets of base64 are
// read, because a plus sign does not survive every way of copying a link.
func cutPin(server string) (base, pin string, err error) {
	base, fragment, found := strings.Cut(server, "#")
	if !found || fragment == "" {
		return base, "", nil
	}
	value, found := strings.CutPrefix(fragment, pinParameter+"=")
	if !found {
		return "", "", errors.New("the address is for a browser: use the one for hosts, or leave out what follows the #")
	}
	value = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/").Replace(value), "=")
	sum, err := base64.RawStdEncoding.DecodeString(value)
	if err != nil || len(sum) != 32 {
		return "", "", errors.New("the key in the address is damaged: copy the address again")
	}
	return base, base64.StdEncoding.EncodeToString(sum), nil
}
