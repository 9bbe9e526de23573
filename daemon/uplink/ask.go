package uplink

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// Asked is a request for the code of a new device that the server has noted.
type Asked struct {
	// ID is what the person who confirms compares.
	ID string
	// Left is how long it waits to be decided.
	Left time.Duration
}

// Answer is the code that somebody let this host have.
type Answer struct {
	Code string
	// URL is where the code is typed.
	URL string
	// Scopes are what the device may do: what was granted.
	Scopes []string
	// Left is how long the code works.
	Left time.Duration
}

// answerTimeout bounds the server's first word on a request, which needs no
// person.
const answerTimeout = 10 * time.Second

// ErrNotConnected says that there is no link to ask over.
var ErrNotConnected = errors.New("this host is not connected to its server: agent-helm ls says why")

var errAskBroken = errors.New("the connection to the server broke, and the request with it: ask again")

// AskForCode asks the server for the code of a new device, and waits for a
// person to decide there: this host makes none (THREATS S-2). noted is called
// once, when the request waits. When ctx ends, the request is withdrawn. It
// fails with ErrNotConnected, or with a *wire.Fault that says why there is no code.
func (u *Uplink) AskForCode(ctx context.Context, scopes []string, noted func(Asked) error) (Answer, error) {
	u.mu.Lock()
	l := u.current
	u.mu.Unlock()
	if l == nil {
		return Answer{}, ErrNotConnected
	}
	select {
	case <-l.ready:
	default:
		return Answer{}, ErrNotConnected
	}
	if !slices.Contains(l.serverCan, wire.CapabilityPairing) {
		return Answer{}, &wire.Fault{Code: wire.CodeUnsupported, Message: "the server is too old to be asked for a code: update agent-helm-server there"}
	}
	answer, err := l.askForCode(ctx, scopes, noted)
	var refused *wire.Fault
	switch {
	case errors.As(err, &refused):
		u.options.Audit.pairing(refused.Code)
	case err != nil:
		u.options.Audit.pairing("withdrawn")
	default:
		u.options.Audit.pairing("ok")
	}
	return answer, err
}

func (l *link) askForCode(ctx context.Context, scopes []string, noted func(Asked) error) (Answer, error) {
	var requested wire.PairingRequested
	first, cancel := context.WithTimeoutCause(ctx, answerTimeout, errors.New("the server does not answer: try again"))
	defer cancel()
	if err := l.ask(first, wire.MethodPairingRequest, wire.PairingParams{Scopes: scopes}, &requested); err != nil {
		return Answer{}, err
	}
	asked := Asked{ID: untrusted.Clean(requested.ID, 24), Left: time.Duration(requested.ExpiresMS) * time.Millisecond}
	err := noted(asked)
	var result wire.PairingResult
	if err == nil {
		err = l.ask(ctx, wire.MethodPairingWait, wire.PairingID{ID: requested.ID}, &result)
	}
	var refused *wire.Fault
	if err != nil && !errors.As(err, &refused) {
		// Whoever asked is gone. If the link is as well, the server knows by that.
		_, _ = l.send(wire.MethodPairingCancel, wire.PairingID{ID: requested.ID}, nil)
	}
	if err != nil {
		return Answer{}, err
	}
	answer := Answer{Code: untrusted.Clean(result.Code, 24), URL: untrusted.Clean(result.URL, 300), Left: time.Duration(result.ExpiresMS) * time.Millisecond}
	for _, scope := range result.Scopes {
		answer.Scopes = append(answer.Scopes, untrusted.Clean(scope, 24))
	}
	return answer, nil
}

// ask makes a call of the server and decodes its result.
func (l *link) ask(ctx context.Context, method string, params, result any) error {
	answer := make(chan *wire.RPCReply, 1)
	id, err := l.send(method, params, answer)
	if err != nil {
		return err
	}
	defer func() {
		l.mu.Lock()
		delete(l.asked, id)
		l.mu.Unlock()
	}()
	select {
	case reply := <-answer:
		if reply.Error != nil {
			return &wire.Fault{Code: untrusted.Clean(reply.Error.Code, 64), Message: untrusted.Clean(reply.Error.Message, 300)}
		}
		if err := json.Unmarshal(reply.Result, result); err != nil {
			return errors.New("the server's answer cannot be read: update agent-helm on this host")
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-l.ctx.Done():
		return errAskBroken
	}
}

// send queues a call; its reply goes to answer, unless that is nil.
func (l *link) send(method string, params any, answer chan *wire.RPCReply) (id uint64, err error) {
	encoded, err := json.Marshal(params)
	if err != nil {
		return 0, err
	}
	l.mu.Lock()
	l.asks++
	id = l.asks
	if answer != nil {
		l.asked[id] = answer
	}
	l.mu.Unlock()
	if err := l.box.send(&wire.RPC{ID: id, Method: method, Params: encoded}); err != nil {
		return id, errAskBroken
	}
	return id, nil
}

// answered passes a reply on; one that nobody waits for any more is dropped.
func (l *link) answered(f *wire.RPCReply) {
	l.mu.Lock()
	answer := l.asked[f.ID]
	delete(l.asked, f.ID)
	l.mu.Unlock()
	if answer != nil {
		answer <- f
	}
}
