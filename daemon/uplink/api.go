package uplink

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/agent-helm/agent-helm/daemon"
)

// maxAnswer bounds an answer of the server's API, in bytes.
const maxAnswer = 4 << 20

// API calls the server of a pairing with a token of a person's own, over the
// same pinned connection that the link uses. A host's token opens nothing there.
type API struct {
	config daemon.HostConfig
	token  string
}

// NewAPI returns an API. Nothing is connected yet.
func NewAPI(config daemon.HostConfig, token string) *API { return &API{config, token} }

// Do makes one call and decodes its answer into result, if that is not nil.
// Errors are sentences.
func (a *API) Do(ctx context.Context, method, path string, body, result any) error {
	address, err := url.JoinPath(a.config.Server, path)
	if err != nil {
		return fmt.Errorf("server URL: %w", err)
	}
	var content io.Reader = http.NoBody
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("encode request: %w", err)
		}
		content = bytes.NewReader(encoded)
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, method, address, content)
	if err != nil {
		return fmt.Errorf("server URL: %w", err)
	}
	request.Header.Set("Authorization", "Bearer "+a.token)
	request.Header.Set("Accept", "application/json")
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	client := newClient(a.config.Server, nil, pinnedTLS(a.config.Pin, nil))
	defer client.CloseIdleConnections()
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("reach the server: %w", dialError(err))
	}
	defer response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return readProblem(response)
	}
	if result == nil {
		return nil
	}
	if err := json.NewDecoder(io.LimitReader(response.Body, maxAnswer)).Decode(result); err != nil {
		return errors.New("the answer is not that of an agent-helm server: check the address")
	}
	return nil
}
