package holder

import (
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/agent-helm/agent-helm/daemon"
	"github.com/agent-helm/agent-helm/internal/logging"
	"github.com/agent-helm/agent-helm/internal/untrusted"
	"github.com/agent-helm/agent-helm/internal/vt"
	"github.com/agent-helm/agent-helm/internal/wire"
)

const (
	// maxPageLines bounds one page of history.
	maxPageLines = 1000
	// maxTextHistory bounds the lines of history in one text, by which a reply
	// mostly fits into a frame.
	maxTextHistory = daemon.HistoryLines
	// maxKeyNames bounds the keys of one input.
	maxKeyNames = 256
)

var errInvalidInput = errors.New("input is not valid")

// methods are those that a holder knows. Any other is answered "unsupported",
// so that a newer daemon can ask.
var methods = map[string]func(*session, json.RawMessage) (any, *wire.Fault){
	wire.MethodInfo:   (*session).callInfo,
	wire.MethodRename: (*session).callRename,
	wire.MethodKill:   (*session).callKill,
	wire.MethodSignal: (*session).callSignal,
	wire.MethodPage:   (*session).callPage,
	wire.MethodText:   (*session).callText,
	wire.MethodSearch: (*session).callSearch,
}

// call answers one RPC.
func (c *connection) call(f *wire.RPC) *wire.RPCReply {
	reply := &wire.RPCReply{ID: f.ID}
	method, known := methods[f.Method]
	if !known {
		reply.Error = &wire.Fault{Code: wire.CodeUnsupported, Message: "this session's holder does not know " + untrusted.Clean(f.Method, 64)}
		return reply
	}
	result, fault := method(c.session, f.Params)
	if fault != nil {
		reply.Error = fault
		return reply
	}
	encoded, err := json.Marshal(result)
	if err != nil {
		c.session.logger.Error("reply cannot be encoded", logging.KeyError, err)
		reply.Error = &wire.Fault{Code: wire.CodeInternal, Message: "the reply cannot be encoded"}
		return reply
	}
	// Some room is left for the envelope around the result.
	if len(encoded) > wire.MaxFrame-4<<10 {
		reply.Error = &wire.Fault{Code: wire.CodeLimit, Message: "the reply is too large: ask for fewer lines"}
		return reply
	}
	reply.Result = encoded
	return reply
}

// decode reads the params of a method; none is the same as an empty object.
func decode(params json.RawMessage, v any) *wire.Fault {
	if len(params) == 0 {
		return nil
	}
	if err := json.Unmarshal(params, v); err != nil {
		return &wire.Fault{Code: wire.CodeInvalid, Message: "the parameters are malformed"}
	}
	return nil
}

type nothing struct{}

func (s *session) callInfo(json.RawMessage) (any, *wire.Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.info(), nil
}

func (s *session) callRename(raw json.RawMessage) (any, *wire.Fault) {
	var params wire.SessionParams
	if fault := decode(raw, &params); fault != nil {
		return nil, fault
	}
	if err := daemon.ValidateName(params.Name); err != nil {
		return nil, &wire.Fault{Code: wire.CodeInvalid, Message: err.Error()}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := Rename(s.dirs, s.spec.ID, params.Name); err != nil {
		s.logger.Warn("name cannot be kept", logging.KeyError, err)
		return nil, &wire.Fault{Code: wire.CodeInternal, Message: "the name cannot be written to disk"}
	}
	s.name = params.Name
	s.broadcastUpdate()
	return nothing{}, nil
}

func (s *session) callKill(json.RawMessage) (any, *wire.Fault) {
	s.kill()
	return nothing{}, nil
}

// callSignal is what the Stop actions do. Keys go before anything that waits;
// when the program does not read, the interrupt key becomes its signal.
func (s *session) callSignal(raw json.RawMessage) (any, *wire.Fault) {
	var params wire.SessionParams
	if fault := decode(raw, &params); fault != nil {
		return nil, fault
	}
	s.mu.Lock()
	ended := s.exit != nil
	s.mu.Unlock()
	if ended {
		return nil, &wire.Fault{Code: wire.CodeSessionEnded, Message: "the session has ended"}
	}
	switch params.Signal {
	case "esc":
		s.inputs.interject([]byte{0x1b})
	case "ctrl-c":
		if !s.inputs.isStuck() {
			s.inputs.interject([]byte{0x03})
		} else if err := s.process.SignalForeground(syscall.SIGINT); err != nil {
			return nil, &wire.Fault{Code: wire.CodeInternal, Message: "the program cannot be interrupted: " + reason(err)}
		}
	case "hup":
		s.process.Signal(syscall.SIGHUP)
	case "term":
		s.process.Signal(syscall.SIGTERM)
	case "kill":
		s.process.Signal(syscall.SIGKILL)
	default:
		return nil, &wire.Fault{Code: wire.CodeInvalid, Message: "the signal is none of esc, ctrl-c, hup, term, kill"}
	}
	return nothing{}, nil
}

func (s *session) callPage(raw json.RawMessage) (any, *wire.Fault) {
	var params wire.PageParams
	if fault := decode(raw, &params); fault != nil {
		return nil, fault
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.terminal.Page(vt.LineID(params.Before), min(max(params.Max, 1), maxPageLines)), nil
}

func (s *session) callText(raw json.RawMessage) (any, *wire.Fault) {
	var params wire.TextParams
	if fault := decode(raw, &params); fault != nil {
		return nil, fault
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	options := vt.TextOptions{History: min(max(params.History, 0), maxTextHistory)}
	if params.History < 0 {
		options.History = maxTextHistory
	}
	if params.SGR {
		return wire.TextResult{Text: s.terminal.ANSI(options)}, nil
	}
	return wire.TextResult{Text: s.terminal.Text(options)}, nil
}

// harmless says whether a program inside a session may send this frame: it may
// look at what is there, as `ls` does.
func harmless(frame wire.Frame) bool {
	switch f := frame.(type) {
	case *wire.Ping, *wire.Unknown:
		return true
	case *wire.RPC:
		return f.Method == wire.MethodInfo
	}
	return false
}

// noteIntruder shows on the session that one of its programs tried to drive
// sessions (THREATS S-5).
func (s *session) noteIntruder() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.intruder != "" {
		return // it is shown, and need not be told again
	}
	s.logger.Warn("a program inside a session tried to drive it")
	s.intruder = "a program inside a session tried to attach or type and was refused"
	s.broadcastUpdate()
}

// validInput checks what can be checked before an input's turn comes.
func validInput(f *wire.Input) bool {
	switch f.Kind {
	case wire.InputBytes:
		return true
	case wire.InputKeys:
		if len(f.Data) == 0 || !utf8.Valid(f.Data) {
			return false
		}
		count := 0
		for name := range splitNames(string(f.Data)) {
			if count++; count > maxKeyNames {
				return false
			}
			if _, err := vt.EncodeKey(name, vt.Modes{}); err != nil {
				return false
			}
		}
		return count > 0
	case wire.InputPaste, wire.InputSubmit:
		return utf8.Valid(f.Data)
	}
	return false
}

func splitNames(names string) iter.Seq[string] { return strings.SplitSeq(names, " ") }
