package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/agent-helm/agent-helm/daemon/uplink"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// pairingRequest is the body of POST /pairing.
type pairingRequest struct {
	Scopes []string `json:"scopes"`
}

// pairingStep is one line of its answer: that the request waits, and then what
// came of it.
type pairingStep struct {
	ID     string   `json:"id,omitempty"`
	Code   string   `json:"code,omitempty"`
	URL    string   `json:"url,omitempty"`
	Scopes []string `json:"scopes,omitempty"`
	LeftMS int64    `json:"left_ms,omitempty"`

	Failure *failure `json:"failure,omitempty"`
}

// pair serves a request for a code. It lives as long as its connection: when the
// command ends, the request is withdrawn, and the code goes to nobody else.
func (s *Server) pair(w http.ResponseWriter, r *http.Request, handler Handler) {
	var request pairingRequest
	if err := json.NewDecoder(r.Body).Decode(&request); err != nil {
		answer(w, http.StatusBadRequest, failure{"invalid", "the request cannot be read"})
		return
	}
	// Only behind the end of the body does a closed connection show.
	_, _ = io.Copy(io.Discard, r.Body)
	// A person decides: that takes longer than any other answer. The server's own
	// timeout would also end the request's context, by which a gone command shows.
	controller := http.NewResponseController(w)
	if err := errors.Join(controller.SetReadDeadline(time.Time{}), controller.SetWriteDeadline(time.Time{})); err != nil {
		answer(w, http.StatusInternalServerError, failure{"internal", err.Error()})
		return
	}
	step := func(step pairingStep) error {
		encoded, err := json.Marshal(step)
		if err != nil {
			return err
		}
		if _, err := w.Write(append(encoded, '\n')); err != nil {
			return err
		}
		return controller.Flush()
	}
	begun := false
	got, err := handler.Pair(r.Context(), request.Scopes, func(asked uplink.Asked) error {
		begun = true
		w.Header().Set("Content-Type", "application/jsonl")
		w.Header().Set("Cache-Control", "no-store")
		return step(pairingStep{ID: asked.ID, LeftMS: asked.Left.Milliseconds()})
	})
	if err != nil {
		f := failure{"internal", err.Error()}
		var fault *wire.Fault
		if errors.As(err, &fault) {
			f.Code = fault.Code
		}
		if !begun {
			answer(w, http.StatusConflict, f)
			return
		}
		_ = step(pairingStep{Failure: &f}) // nobody is there to be told of a fault of this
		return
	}
	_ = step(pairingStep{Code: got.Code, URL: got.URL, Scopes: got.Scopes, LeftMS: got.Left.Milliseconds()}) // as above
}

// Pair asks the server for the code of a new device, through the daemon, and
// waits until a person decided or ctx ends. noted is called when the request
// waits. ErrNotRunning: there is no daemon. Errors are sentences.
func (c *Client) Pair(ctx context.Context, scopes []string, noted func(uplink.Asked)) (uplink.Answer, error) {
	body, err := json.Marshal(pairingRequest{Scopes: scopes})
	if err != nil {
		return uplink.Answer{}, fmt.Errorf("ask daemon: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+hostName+"/pairing", bytes.NewReader(body))
	if err != nil {
		return uplink.Answer{}, fmt.Errorf("ask daemon: %w", err)
	}
	response, err := c.http.Do(request)
	switch {
	case errors.Is(err, ErrNotRunning):
		return uplink.Answer{}, ErrNotRunning
	case err != nil:
		return uplink.Answer{}, fmt.Errorf("ask daemon: %w", err)
	}
	defer response.Body.Close()
	decoder := json.NewDecoder(io.LimitReader(response.Body, maxAnswer))
	if response.StatusCode >= http.StatusBadRequest {
		var f failure
		if err := decoder.Decode(&f); err != nil || f.Message == "" {
			return uplink.Answer{}, fmt.Errorf("the daemon answered %s", response.Status)
		}
		return uplink.Answer{}, errors.New(f.Message)
	}
	for {
		var step pairingStep
		switch err := decoder.Decode(&step); {
		case ctx.Err() != nil:
			return uplink.Answer{}, context.Cause(ctx)
		case err != nil:
			return uplink.Answer{}, errors.New("the daemon has ended, and the request with it: ask again")
		case step.Failure != nil:
			return uplink.Answer{}, errors.New(step.Failure.Message)
		case step.Code != "":
			return uplink.Answer{Code: step.Code, URL: step.URL, Scopes: step.Scopes, Left: time.Duration(step.LeftMS) * time.Millisecond}, nil
		}
		noted(uplink.Asked{ID: step.ID, Left: time.Duration(step.LeftMS) * time.Millisecond})
	}
}
