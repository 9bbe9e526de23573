package wire

import (
	"encoding/json"
	"testing"
)

var testClient = ClientID{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}

const (
	testSession = "01kb9fvz3m8q4t6w2x5y7r0s1n"
	bigOffset   = 1<<40 - 1
)

// samples holds one frame of every type, the very ones of the goldens in
// testdata: the key is the golden's name.
func samples() map[string]Frame {
	position := Position{Offset: 300, Marks: 2}
	info := SessionInfo{
		Handle: 7, ID: testSession,
		Start: Position{Offset: 100, Marks: 1}, End: Position{Offset: bigOffset, Marks: 2},
		Cols: 132, Rows: 50,
		Meta: SessionMeta{Name: "fix parser", Command: "claude --resume", Cwd: "/home/kim/src", Agent: "claude", AgeMS: 61000, State: "running"},
	}
	exitCode := 2
	return map[string]Frame{
		"output":  &Output{Handle: 7, Offset: bigOffset, Data: []byte("\x1b[1m\xff\x00")},
		"ack":     &Ack{Handle: 7, Offset: bigOffset},
		"resize":  &Resize{Handle: 7, Offset: 300, Ordinal: 2, Cols: 132, Rows: 50},
		"gap":     &Gap{Handle: 7, Offset: 300, Lost: 1000},
		"reset":   &Reset{Handle: 7, Offset: 300, Ordinal: 3},
		"exit":    &Exit{Handle: 7, Offset: 300, Code: -1, Signal: "SIGKILL"},
		"state":   &State{Handle: 7, Position: position, First: true, Last: true, Cols: 80, Rows: 24, Data: []byte{1, 2, 0xfe}},
		"repaint": &Repaint{Handle: 7, Position: position, Cols: 80, Rows: 24, Data: []byte("\x1bc")},
		"live":    &Live{Handle: 7, Position: position},
		"detach":  &Detach{Handle: 7},

		"input":        &Input{Handle: 7, Client: testClient, Seq: 129, Kind: InputSubmit, Age: 1500, Sent: 70000, Data: []byte("é\r")},
		"input-ack":    &InputAck{Handle: 7, Client: testClient, Seq: 129, Status: InputLate},
		"retire":       &Retire{Handle: 7, Client: testClient},
		"claim-size":   &ClaimSize{Handle: 7, Client: testClient, Reason: ClaimTyping, Cols: 132, Rows: 50},
		"release-size": &ReleaseSize{Handle: 7, Client: testClient},
		"size-owner":   &SizeOwner{Handle: 7, Client: testClient, Kind: OwnerViewer, Cols: 132, Rows: 50},
		"presence":     &Presence{Handle: 7, Client: testClient, Visible: true, Focused: true},
		"ping":         &Ping{Nonce: 1<<53 - 1, Sent: 70000},
		"pong":         &Pong{Nonce: 1<<53 - 1, Sent: 70000},

		"host-hello": &HostHello{Instance: "i-1", Version: "0.1.0", VT: 1, Capabilities: []string{"page"}, Sessions: []SessionInfo{info}},
		"host-welcome": &HostWelcome{Instance: "s-1", Version: "0.1.0", Host: "studio", Resume: []SessionResume{
			{Handle: 7, From: position}, {Handle: 8, State: true}, {Handle: 9, Refused: "too many sessions"},
		}},
		"session-open":   &SessionOpen{SessionInfo: info},
		"session-resume": &SessionResume{Handle: 7, From: position, State: true},
		"session-update": &SessionUpdate{Handle: 7, Meta: SessionMeta{Name: "build", Command: "make all", Cwd: "/srv", AgeMS: 5000, State: "exited", ExitCode: &exitCode}},
		"session-closed": &SessionClosed{Handle: 7},
		"viewer-hello":   &ViewerHello{Version: "0.1.0", Proof: "p-1", Visible: true},
		"viewer-welcome": &ViewerWelcome{Version: "0.1.0", Instance: "s-1", Device: "phone", Scopes: []string{"read", "input"}},
		"attach":         &Attach{Handle: 7, Host: "h1", Session: testSession, From: &position, Client: testClient, Visible: true},
		"attached":       &Attached{Handle: 7, Mode: AttachedRepaint, Cols: 80, Rows: 24, Prompt: "q1"},
		"event":          &Event{Kind: EventSessionRemoved, Body: json.RawMessage(`{"host":"h1","id":"` + testSession + `"}`)},
		"page":           &Page{Handle: 7, Request: 3, Before: 4096, Max: 200},
		"page-reply":     &PageReply{Handle: 7, Request: 3, Body: json.RawMessage(`{"lines":[]}`)},
		"rpc":            &RPC{ID: 5, Method: MethodRename, Params: json.RawMessage(`{"id":"` + testSession + `","name":"new"}`)},
		"rpc-reply":      &RPCReply{ID: 5, Error: &Fault{Code: CodeUnknownSession, Message: "no such session"}},
		"restarting":     &Restarting{AfterMS: 1500},
		"problem":        &Problem{Handle: 7, Code: CodeForbidden, Message: "this device may not type"},
		"holder-hello":   &HolderHello{Role: RoleDaemon, Version: "0.1.0"},
		"holder-welcome": &HolderWelcome{Version: "0.1.0", VT: 1, PID: 4242, Session: info},
		"holder-attach":  &HolderAttach{Want: WantStream, From: position, Window: 262144, LagMS: 3000, History: -1},
	}
}

// edges are frames at the bounds of their fields.
func edges() []Frame {
	full := ClientID{}
	for i := range full {
		full[i] = 0xff
	}
	return []Frame{
		&Output{},
		&Output{Handle: 1<<32 - 1, Offset: 1<<64 - 1},
		&Output{Offset: 1<<64 - 1 - 3, Data: []byte("abc")},
		&Ack{Handle: 1<<32 - 1, Offset: 1<<64 - 1},
		&Resize{Ordinal: 1<<32 - 1, Cols: MaxColumns, Rows: MaxRows},
		&Resize{Cols: 1, Rows: 1},
		&Gap{Offset: 1, Lost: 1<<64 - 2},
		&Exit{Code: -1 << 31},
		&Exit{Code: 1<<31 - 1, Signal: "SIGRTMIN+15"},
		&State{Cols: 1, Rows: 1, Data: make([]byte, MaxStateChunk)},
		&Repaint{Cols: 1, Rows: 1, Data: make([]byte, MaxRepaint)},
		&Input{Client: full, Seq: 1, Data: make([]byte, MaxInput)},
		&Input{Seq: 1<<64 - 1, Kind: 255, Age: 1<<32 - 1, Sent: 1<<32 - 1},
		&SizeOwner{},
		&Presence{},
		&Unknown{FrameType: 0x7f, Body: []byte("later")},
		&Unknown{FrameType: 0},
	}
}

func encode(t testing.TB, frames ...Frame) []byte {
	t.Helper()
	message, err := AppendAll(nil, frames...)
	if err != nil {
		t.Fatalf("encode: %v", err)
	}
	return message
}
