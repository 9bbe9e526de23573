package hostlink

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/agent-helm/agent-helm/internal/logging"
	"github.com/agent-helm/agent-helm/internal/wire"
	"github.com/agent-helm/agent-helm/server"
)

// Pairer takes hosts' requests for the code of a new device. It is server/auth,
// which this package does not know.
type Pairer interface {
	// RequestPairing notes a request. It fails with a *server.Error.
	RequestPairing(ctx context.Context, host server.Principal, scopes server.Scopes) (server.PairingRecord, error)
	// AwaitPairing waits for the decision, and makes the code when it was to
	// confirm. When ctx ends, the request does too.
	AwaitPairing(ctx context.Context, id string) (code string, record server.CodeRecord, err error)
}

// maxScopes is how many scopes a request may name: more than there are.
const maxScopes = 8

// pairing is one request of this link's host. It ends with the link, so that a
// code never goes to another connection than the one that asked.
type pairing struct {
	cancel context.CancelFunc
	done   chan struct{} // closed when result or fault is set

	id     string // guarded by link.mu; empty until the request is noted
	waited bool   // guarded by link.mu; somebody waits, or has waited, for the end

	result wire.PairingResult // set before done is closed
	fault  error              // as above
}

// called serves a call of the host. There are none but those about a code.
func (l *link) called(f *wire.RPC) {
	if l.handler.config.Pairer == nil {
		l.answer(f.ID, nil, server.NewError(server.CodeUnsupported))
		return
	}
	switch f.Method {
	case wire.MethodPairingRequest:
		l.ask(f)
	case wire.MethodPairingWait:
		p, err := l.pairing(f, true)
		if err != nil {
			l.answer(f.ID, nil, err)
			return
		}
		l.tasks.Go(func() {
			select {
			case <-p.done:
				l.answer(f.ID, &p.result, p.fault)
			case <-l.ctx.Done():
			}
		})
	case wire.MethodPairingCancel:
		p, err := l.pairing(f, false)
		if err == nil {
			p.cancel()
		}
		l.answer(f.ID, struct{}{}, err)
	default:
		l.answer(f.ID, nil, server.NewError(server.CodeUnsupported))
	}
}

// pairing finds the request that a call names. wait claims the one wait that
// each has.
func (l *link) pairing(f *wire.RPC, wait bool) (*pairing, error) {
	var params wire.PairingID
	if err := json.Unmarshal(f.Params, &params); err != nil {
		return nil, server.Errorf(server.CodeInvalid, "the parameters of the call are malformed")
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	p := l.asked
	if p == nil || p.id == "" || p.id != params.ID || wait && p.waited {
		return nil, server.NewError(server.CodeUnknownPairing)
	}
	p.waited = p.waited || wait
	return p, nil
}

// ask begins a request, unless one is under way.
func (l *link) ask(f *wire.RPC) {
	var params wire.PairingParams
	if err := json.Unmarshal(f.Params, &params); err != nil || len(params.Scopes) > maxScopes {
		l.answer(f.ID, nil, server.Errorf(server.CodeInvalid, "the parameters of the call are malformed"))
		return
	}
	scopes, err := server.ParseScopes(strings.Join(params.Scopes, ","))
	if err != nil {
		l.answer(f.ID, nil, err)
		return
	}
	ctx, cancel := context.WithCancel(l.ctx)
	p := &pairing{cancel: cancel, done: make(chan struct{})}
	l.mu.Lock()
	busy := l.asked != nil && !l.asked.over()
	if !busy {
		l.asked = p
	}
	l.mu.Unlock()
	if busy {
		cancel()
		l.answer(f.ID, nil, server.Errorf(server.CodeLimit, "this host asks for a code already: have that request confirmed or denied, or let it expire"))
		return
	}
	l.tasks.Go(func() {
		defer cancel()
		defer close(p.done)
		l.serve(ctx, f.ID, p, scopes)
	})
}

// serve sees one request through to its end.
func (l *link) serve(ctx context.Context, call uint64, p *pairing, scopes server.Scopes) {
	config := l.handler.config
	record, err := config.Pairer.RequestPairing(ctx, l.host, scopes)
	if err != nil {
		p.fault = err
		l.answer(call, nil, err)
		return
	}
	l.mu.Lock()
	p.id = record.ID
	l.mu.Unlock()
	now := time.Now()
	config.Fleet.AnnouncePairing(record.Shown(now))
	defer config.Fleet.PairingOver(record.ID)
	l.answer(call, wire.PairingRequested{ID: record.ID, ExpiresMS: record.ExpiresAt.Sub(now).Milliseconds()}, nil)
	code, made, err := config.Pairer.AwaitPairing(ctx, record.ID)
	if err != nil {
		p.fault = err
		return
	}
	p.result = wire.PairingResult{Code: code, Scopes: made.Scopes.Names(), ExpiresMS: time.Until(made.ExpiresAt).Milliseconds(), URL: config.Address()}
}

func (p *pairing) over() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// answer answers a call of the host. What is not a server.Error is of this
// server's inside, and only logged.
func (l *link) answer(id uint64, result any, err error) {
	reply := &wire.RPCReply{ID: id}
	if err == nil {
		reply.Result, err = json.Marshal(result)
	}
	if err != nil {
		code := server.CodeOf(err)
		message := err.Error()
		if code == server.CodeInternal {
			message = code.Sentence()
			if l.ctx.Err() == nil {
				l.handler.logger.Error("a host's call failed", logging.KeyHost, l.host.ID, logging.KeyError, err.Error())
			}
		}
		reply.Error = &wire.Fault{Code: string(code), Message: message}
	}
	// A full queue is that of a host that does not read, whose link ends.
	l.socket.Send(reply)
}
