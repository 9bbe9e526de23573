package uplink

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/internal/wire"
)

// call runs one call of the server beside the reader. More than maxCalls at
// once are refused.
func (l *link) call(ctx context.Context, f *wire.RPC) error {
	select {
	case l.calls <- struct{}{}:
	default:
		return l.box.send(&wire.RPCReply{ID: f.ID, Error: &wire.Fault{Code: wire.CodeLimit, Message: "this host is busy with other calls: try again"}})
	}
	l.group.Go(func() error {
		defer func() { <-l.calls }()
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		reply := &wire.RPCReply{ID: f.ID}
		result, target, err := l.answer(ctx, f)
		if err != nil {
			reply.Error = fault(err)
			l.u.options.Audit.called(f.Method, target, reply.Error.Code)
		} else {
			reply.Result = result
			if !goesOn(f) {
				l.u.options.Audit.called(f.Method, target, "ok")
			}
		}
		return l.box.sendReply(reply)
	})
	return nil
}

// goesOn says that a call fetches a further piece of what was noted at its
// first.
func goesOn(f *wire.RPC) bool {
	var params wire.RecordingParams
	return f.Method == wire.MethodRecording && decodeParams(f.Params, &params) == nil && params.From != nil
}

// method is one call that a server may make.
type method struct {
	// allowed decides by the policy on the decoded parameters.
	allowed func(daemon.Policy, json.RawMessage) bool
	run     func(context.Context, Sessions, json.RawMessage) (result any, target string, err error)
}

func byInput(p daemon.Policy, _ json.RawMessage) bool { return p.Input }
func byWatch(p daemon.Policy, _ json.RawMessage) bool { return p.Watch }

var methods = map[string]method{
	wire.MethodStart: {
		allowed: func(p daemon.Policy, raw json.RawMessage) bool {
			var params wire.StartParams
			if decodeParams(raw, &params) != nil {
				// run says what is wrong with them.
				return p.Start != daemon.StartOff
			}
			return p.AllowsStart(params.Agent, params.Argv)
		},
		run: func(ctx context.Context, sessions Sessions, raw json.RawMessage) (any, string, error) {
			var params wire.StartParams
			if err := decodeParams(raw, &params); err != nil {
				return nil, "", err
			}
			if (params.Agent == "") == (len(params.Argv) == 0) {
				return nil, "", &wire.Fault{Code: wire.CodeInvalid, Message: "name either an agent or a command to start"}
			}
			id, err := sessions.Start(ctx, params)
			return wire.StartResult{ID: id}, id, err
		},
	},
	wire.MethodRename: {allowed: byInput, run: onSession(func(ctx context.Context, sessions Sessions, params wire.SessionParams) error {
		return sessions.Rename(ctx, params.ID, params.Name)
	})},
	wire.MethodKill: {allowed: byInput, run: onSession(func(ctx context.Context, sessions Sessions, params wire.SessionParams) error {
		return sessions.Kill(ctx, params.ID)
	})},
	wire.MethodSignal: {allowed: byInput, run: onSession(func(ctx context.Context, sessions Sessions, params wire.SessionParams) error {
		return sessions.Signal(ctx, params.ID, params.Signal)
	})},
	wire.MethodForget: {allowed: byInput, run: onSession(func(ctx context.Context, sessions Sessions, params wire.SessionParams) error {
		return sessions.Forget(ctx, params.ID)
	})},
	wire.MethodPage: {
		allowed: byWatch,
		run: func(ctx context.Context, sessions Sessions, raw json.RawMessage) (any, string, error) {
			var params wire.PageParams
			if err := decodeParams(raw, &params); err != nil {
				return nil, "", err
			}
			if !daemon.ValidSessionID(params.ID) {
				return nil, "", errUnknownSession
			}
			page, err := sessions.Page(ctx, params)
			return page, params.ID, err
		},
	},
	wire.MethodSearch: {
		allowed: byWatch,
		run: func(ctx context.Context, sessions Sessions, raw json.RawMessage) (any, string, error) {
			var params wire.SearchParams
			if err := decodeParams(raw, &params); err != nil {
				return nil, "", err
			}
			if !daemon.ValidSessionID(params.ID) {
				return nil, "", errUnknownSession
			}
			result, err := sessions.Search(ctx, params)
			return result, params.ID, err
		},
	},
	wire.MethodRecording: {
		allowed: byWatch,
		run: func(ctx context.Context, sessions Sessions, raw json.RawMessage) (any, string, error) {
			var params wire.RecordingParams
			if err := decodeParams(raw, &params); err != nil {
				return nil, "", err
			}
			if !daemon.ValidSessionID(params.ID) {
				return nil, "", errUnknownSession
			}
			result, err := sessions.Recording(ctx, params)
			return result, params.ID, err
		},
	},
}

var errUnknownSession = &wire.Fault{Code: wire.CodeUnknownSession, Message: "this host has no such session"}

// onSession makes a method of an action on one session.
func onSession(act func(context.Context, Sessions, wire.SessionParams) error) func(context.Context, Sessions, json.RawMessage) (any, string, error) {
	return func(ctx context.Context, sessions Sessions, raw json.RawMessage) (any, string, error) {
		var params wire.SessionParams
		if err := decodeParams(raw, &params); err != nil {
			return nil, "", err
		}
		// The id becomes a file name below; nothing else may.
		if !daemon.ValidSessionID(params.ID) {
			return nil, "", errUnknownSession
		}
		return struct{}{}, params.ID, act(ctx, sessions, params)
	}
}

func decodeParams(raw json.RawMessage, into any) error {
	if err := json.Unmarshal(raw, into); err != nil {
		return &wire.Fault{Code: wire.CodeInvalid, Message: "the parameters of the call are malformed"}
	}
	return nil
}

// answer runs a call under the policy.
func (l *link) answer(ctx context.Context, f *wire.RPC) (result json.RawMessage, target string, err error) {
	m, known := methods[f.Method]
	if !known {
		return nil, "", &wire.Fault{Code: wire.CodeUnsupported, Message: "this host does not know the method: update agent-helm there"}
	}
	policy := l.u.policy()
	if !m.allowed(policy, f.Params) {
		message := "the policy of this host does not allow it: change it there with agent-helm policy"
		if policy.Locked {
			message = "this host is locked: unlock it there with agent-helm unlock"
		}
		return nil, "", &wire.Fault{Code: wire.CodeForbidden, Message: message}
	}
	value, target, err := m.run(ctx, l.u.options.Sessions, f.Params)
	if err != nil {
		return nil, target, err
	}
	if result, err = json.Marshal(value); err != nil {
		return nil, target, err
	}
	return result, target, nil
}

// fault is an error as it crosses the wire. What is not a Fault already is of
// this host's inside and is told in a sentence only.
func fault(err error) *wire.Fault {
	var f *wire.Fault
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, ErrNoHolder):
		return &wire.Fault{Code: wire.CodeSessionEnded, Message: "the session has ended"}
	case errors.Is(err, context.DeadlineExceeded):
		return &wire.Fault{Code: wire.CodeInternal, Message: "the session does not answer: it may be stopped"}
	}
	return &wire.Fault{Code: wire.CodeInternal, Message: untrusted.Clean(err.Error(), 300)}
}
